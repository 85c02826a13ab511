//! Bounds that a text proves: the architecture, the versions that a date allows, the hypervisor that firmware names,
//! and the boot of the last lines.

#![allow(clippy::unwrap_used)]

use crate::common::why;
use clocksmith_diagnose::{CauseId, Measured, Report, Verdict, assess};
use clocksmith_facts::Facts;
use clocksmith_facts::log::KernelLog;

fn words(report: &Report) -> String {
    let causes = report.causes.iter().map(|cause| cause.summary.clone());
    let remedies = report.remedies.iter().map(|remedy| {
        format!("{} {:?} {:?}", remedy.summary, remedy.commands, remedy.instructions)
    });
    causes.chain(remedies).chain([report.headline.clone()]).collect::<Vec<_>>().join("\n")
}

#[test]
fn demoted_counter_of_another_architecture_is_not_a_matter_of_the_tsc() {
    let seen = why(
        "[  142.873000] clocksource: timekeeping watchdog on CPU0: Marking clocksource 'arch_sys_counter' as unstable because the skew is too large:\n\
         [  142.874000] clocksource: Switched to clocksource jiffies\n",
    );
    let all = words(&seen);
    assert!(!all.contains("TSC") && !all.contains("tsc="), "{all}");
    assert!(
        all.contains("arch_sys_counter was demoted") || all.contains("demoted arch_sys_counter")
    );
}

#[test]
fn marked_counter_of_another_architecture_may_not_be_in_use() {
    let marked = "clocksource: timekeeping watchdog on CPU0: Marking clocksource 'MIPS' as unstable because the skew is too large:\n\
                  clocksource:                       'jiffies' wd_nsec: 500000000 wd_now: ffff8bde wd_last: ffff8bac mask: ffffffff\n\
                  clocksource:                       'MIPS' cs_nsec: 940634468 cs_now: 310181c4 cs_last: 28090a09 mask: ffffffff\n\
                  clocksource:                       'MIPS' is current clocksource.\n";
    for front in ["", "clocksource: Switched to clocksource MIPS\n"] {
        let seen = why(&format!("{front}{marked}"));
        assert_eq!(seen.verdict, Verdict::Unknown);
        assert_eq!(seen.clocksource.current, None, "{}", seen.headline);
        assert!(!seen.headline.contains("The clocksource is MIPS"), "{}", seen.headline);
    }
    // What the kernel chose then.
    let seen = why(&format!("{marked}clocksource: Switched to clocksource GIC\n"));
    assert_eq!(seen.clocksource.current.as_deref(), Some("GIC"), "{}", seen.headline);
}

#[test]
fn parameters_are_offered_where_the_kernel_can_have_them() {
    // The messages are of 2.6.18 to 2.6.27, the difference is one period of the PM timer.
    let old = "[   20.1] Time: acpi_pm clocksource has been installed.\n\
               [   30.1] Clocksource tsc unstable (delta = 4687308187 ns)\n";
    let all = words(&why(old));
    assert!(!all.contains("nowatchdog") && !all.contains("5.16"), "{all}");
    assert!(!all.contains("5.19 s"), "{all}");
    let idle = "[    0.0] Linux version 2.6.27 (x@y) (gcc version 4.3) #1 SMP\n\
                [    1.0] Marking TSC unstable due to TSC halts in idle\n";
    let all = words(&why(idle));
    assert!(all.contains("processor.max_cstate=1") && !all.contains("intel_idle"), "{all}");
}

#[test]
fn tsc_adjust_is_not_assumed_of_processors_without_it() {
    let log = |cpu: &str| {
        format!(
            "[    0.000000] Linux version 5.17.0 (x@y) (gcc 11) #1 SMP\n\
             [    0.200000] smpboot: CPU0: {cpu}\n\
             [    1.600000] clocksource: Switched to clocksource tsc\n"
        )
    };
    for cpu in [
        "AMD Ryzen 3 4300G (family: 0x17, model: 0x60, stepping: 0x1)",
        "Intel(R) Pentium(R) Dual-Core CPU E5300 @ 2.60GHz (family: 0x6, model: 0x17, stepping: 0xa)",
    ] {
        let log = KernelLog::scan(log(cpu).as_bytes(), "log").unwrap();
        let machine = assess(Facts::from_log(log), Measured::default()).machine;
        assert!(!machine.tsc_adjust.value, "{cpu}");
    }
}

#[test]
fn guest_by_its_firmware_is_not_bare_metal() {
    let log = |firmware: &str| {
        format!(
            "[    0.000000] Linux version 5.12.0 (x@y) (gcc 10) #1 SMP\n{firmware}\n\
             [    0.020000] Booting paravirtualized kernel on bare hardware\n\
             [    0.030000] tsc: Marking TSC unstable due to TSCs unsynchronized\n"
        )
    };
    let kind = |firmware: &str| {
        let log = KernelLog::scan(log(firmware).as_bytes(), "log").unwrap();
        Facts::from_log(log).hypervisor.value().cloned()
    };
    assert_eq!(kind("[    0.000000] DMI: Dell Inc. OptiPlex 7050/0XHGX6, BIOS 1.8.3"), Some(None));
    let qemu =
        "[    0.000000] DMI: QEMU Standard PC (i440FX + PIIX, 1996), BIOS 1.14.0-2 04/01/2014";
    assert_eq!(kind(qemu), None);
    assert_eq!(kind("[    0.000000] CPU MTRRs all blank - virtualized system."), None);
    assert!(why(&log(qemu)).remedies.iter().any(|r| r.id == "expose-invariant-tsc"));
}

#[test]
fn lines_quoted_behind_a_boot_do_not_take_its_place() {
    let boot = "[    0.000000] Linux version 6.8.0 (x@y) (gcc 13) #1 SMP\n\
                [    0.390000] clocksource: Switched to clocksource tsc\n\
                [   40.000000] x: tsc: late\n";
    let seen = why(&format!(
        "{boot}\n[    0.000149] sched_clock: 32 bits at 250MHz\n[    0.000200] tsc: x\n"
    ));
    assert_eq!(seen.clocksource.current.as_deref(), Some("tsc"));
}

#[test]
fn one_failed_check_after_many_that_passed_shows_no_other_rate() {
    let at = |seconds: u32| {
        format!(
            "[{seconds:>5}.000000] clocksource: timekeeping watchdog on CPU6: Marking clocksource 'tsc' as unstable because the skew is too large:\n\
             [{seconds:>5}.000010] clocksource:  'hpet' wd_nsec: 503484590 wd_now: 26d0ef4a wd_last: 2662ef33 mask: ffffffff\n\
             [{seconds:>5}.000020] clocksource:  'tsc' cs_nsec: 503993664 cs_now: 9b86fc99fb0 cs_last: 9b806d8306b mask: ffffffffffffffff\n"
        )
    };
    let likely = |report: &Report| {
        report.causes.iter().any(|cause| cause.id == CauseId::TscSkew && cause.blames_tsc())
    };
    assert!(!likely(&why(&at(3045))));
    assert!(words(&why(&at(3045))).contains("late read"));
    // Half a millisecond in one interval never proves a fault of either clock; 3.5 ms soon after the boot prove a wrong
    // rate.
    assert!(!likely(&why(&at(3))));
    let more = at(3).replace("wd_nsec: 503484590", "wd_nsec: 500484590");
    let detected = "[    0.000010] tsc: Detected 3493.400 MHz processor\n";
    assert!(
        likely(&why(&format!("{detected}{more}"))),
        "{:?}",
        why(&format!("{detected}{more}")).causes
    );
}

#[test]
fn rate_of_an_hpet_that_no_line_states_gives_no_seconds() {
    let seen = why(
        "[   90.0] clocksource: timekeeping watchdog: Marking clocksource 'tsc' as unstable, because the skew is too large:\n\
         [   90.1]  'hpet' wd_now: 24f422b8 wd_last: 247dea41 mask: ffffffff\n\
         [   90.2]  'tsc' cs_now: 1981c973dc9 cs_last: 197e1c973dc mask: ffffffffffffffff\n",
    );
    let all = words(&seen);
    assert!(!all.contains("hpet counted 5"), "{all}");
    assert!(!all.contains(" MHz, a rate"), "{all}");
}

#[test]
fn coarse_counter_is_reported() {
    let seen =
        why("[    0.000000] Linux version 5.4.238 (x@y) (arm-linux-gnueabihf-gcc 9) #1 SMP\n\
         [    0.000000] arch_timer: cp15 timer(s) running at 0.03MHz (virt).\n\
         [    0.700000] clocksource: Switched to clocksource arch_sys_counter\n");
    assert!(words(&seen).contains("coarse"), "{seen:?}");
    let registered = why(
        "[    0.000000] Linux version 5.4.238 (x@y) (arm-linux-gnueabihf-gcc 9) #1 SMP\n\
         [    0.000000] clocksource: arch_sys_counter: mask: 0xffffffffffffff max_cycles: 0x10eb00226, max_idle_ns: 56421785894076 ns\n\
         [    0.700000] clocksource: Switched to clocksource arch_sys_counter\n",
    );
    assert!(words(&registered).contains("36 kHz") && words(&registered).contains("28 us"));
    assert!(!seen.headline.contains("Nothing to fix"), "{}", seen.headline);
}
