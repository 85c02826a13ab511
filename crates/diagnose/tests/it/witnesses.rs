//! Further evidence in a text about the clocks that the watchdog compared: a second reference, the half second that is
//! due, the processor, another machine.
#![allow(clippy::unwrap_used)]

use crate::common::why;
use clocksmith_diagnose::{Cause, CauseId, Confidence, Report};

fn cause(report: &Report, id: CauseId) -> Option<&Cause> {
    report.causes.iter().find(|cause| cause.id == id)
}

fn confidence(report: &Report, id: CauseId) -> Option<Confidence> {
    cause(report, id).map(|cause| cause.confidence)
}

#[test]
fn second_reference_that_agrees_with_the_tsc_blames_the_first_one() {
    let check = |second: i64| {
        why(&format!(
            "clocksource: timekeeping watchdog on CPU118: Marking clocksource 'tsc' as unstable because the skew is too large:\n\
             clocksource:                       'sgi_rtc' wd_nsec: 511302794 wd_now: 1cb50e4c4b wd_last: 1ca7097111 mask: ffffffffffffff\n\
             clocksource:                       'hpet' wd2_nsec: {second} wd2_now: 65892719 wd2_last: 64c5d684 mask: ffffffff\n\
             clocksource:                       'tsc' cs_nsec: 512006458 cs_now: 86b5982cb1 cs_last: 867581bbab mask: ffffffffffffffff\n\
             clocksource:                       'tsc' skewed 703664 ns (0 ms) over watchdog 'sgi_rtc' interval of 511302794 ns (511 ms)\n\
             tsc: Marking TSC unstable due to clocksource watchdog\n"
        ))
    };
    let report = check(512_005_960);
    assert_eq!(confidence(&report, CauseId::WatchdogAtFault), Some(Confidence::High));
    assert!(cause(&report, CauseId::TscSkew).is_none(), "{:?}", report.causes);
    let words = &cause(&report, CauseId::WatchdogAtFault).unwrap().summary;
    assert!(words.contains("hpet agrees with the TSC"), "{words}");
    let report = check(511_302_800);
    assert_eq!(confidence(&report, CauseId::TscSkew), Some(Confidence::High));
    assert!(cause(&report, CauseId::WatchdogAtFault).is_none(), "{:?}", report.causes);
    // A value between the two proves nothing.
    let report = check(511_650_000);
    assert_ne!(confidence(&report, CauseId::WatchdogAtFault), Some(Confidence::High));
}

/// A boot on hardware, with a check of tsc-early.
fn check(cpu: &str, hpet: &str, tsc: &str) -> Report {
    why(&format!(
        "[    0.000000] Linux version 5.6.0 (build@example) (gcc 9 x86_64-linux-gnu) #1 SMP\n\
         [    0.000000] DMI: Example Laptop/Board, BIOS V1 2010\n\
         [    0.000000] tsc: Detected 2294.218 MHz processor\n\
         [    0.040000] Booting paravirtualized kernel on bare hardware\n\
         [    0.100000] smpboot: CPU0: {cpu}\n\
         [    0.200000] hpet0: 4 comparators, 64-bit 14.318180 MHz counter\n\
         [    0.300000] clocksource: Switched to clocksource tsc-early\n\
         [    1.600653] clocksource: timekeeping watchdog on CPU0: Marking clocksource 'tsc-early' as unstable because \
         the skew is too large:\n\
         [    1.600655] clocksource:                       'hpet' {hpet} mask: ffffffff\n\
         [    1.600656] clocksource:                       'tsc-early' {tsc} mask: ffffffffffffffff\n\
         [    1.600657] tsc: Marking TSC unstable due to clocksource watchdog\n"
    ))
}

#[test]
fn figure_of_the_half_second_that_is_due_is_of_the_clock_that_was_right() {
    let intel = "Intel(R) Pentium(R) Dual-Core CPU T4500 @ 2.30GHz (family: 0x6, model: 0x17, stepping: 0xa)";
    let amd = "AMD Ryzen 5 4600H with Radeon Graphics (family: 0x17, model: 0x60, stepping: 0x1)";
    // The TSC counted 552 ms, the HPET 72.85 s.
    let report =
        check(intel, "wd_now: 3f49d046 wd_last: 11deedd", "cs_now: 220211f6de cs_last: 21b68bbb1f");
    assert_eq!(confidence(&report, CauseId::WatchdogAtFault), Some(Confidence::Medium));
    assert_eq!(confidence(&report, CauseId::TscJump).unwrap_or(Confidence::Low), Confidence::Low);
    // The HPET counted 506.9 ms, the TSC 1.005 s: a late check explains either.
    let report =
        check(amd, "wd_now: e3fdcc wd_last: 753f95", "cs_now: 1b1c3f8e12 cs_last: 1aa3379e12");
    assert_eq!(report.causes[0].id, CauseId::InsufficientEvidence, "{:?}", report.causes);
}

#[test]
fn difference_of_old_kernels_may_be_that_of_a_changed_core_frequency() {
    let delta = |ns: i64, more: &str| {
        why(&format!("{more}[   79.001056] Clocksource tsc unstable (delta = {ns} ns)\n"))
    };
    for ns in [-220_174_698, -152_000_000, -558_000_000] {
        let report = delta(ns, "");
        assert_eq!(
            confidence(&report, CauseId::TscFrequencyChanges),
            Some(Confidence::Low),
            "{ns}"
        );
    }
    let none = |report: &Report| cause(report, CauseId::TscFrequencyChanges).is_none();
    let nehalem = "[    0.100000] CPU0: Intel(R) Core(TM) i7 CPU 920 @ 2.67GHz (fam: 06, model: 1a, stepping: 05)\n";
    assert!(none(&delta(-220_174_698, nehalem)));
    let later = "[    0.000000] Linux version 3.2.0 (build@example) (gcc 4.6) #1 SMP\n";
    assert!(none(&delta(-220_174_698, later)));
    // A larger difference than any change of a rate causes in an interval.
    assert!(none(&delta(-4_679_290_018, "")));
}

#[test]
fn wraps_of_the_pm_timer_explain_nothing_where_an_hpet_is_the_reference() {
    let line = "[   19.233707] Clocksource tsc unstable (delta = -4679290018 ns)\n";
    let alone = why(line);
    assert_eq!(confidence(&alone, CauseId::WatchdogAtFault), Some(Confidence::Medium));
    let hpet = why(&format!("{line}[   19.234000] Switching to clocksource hpet\n"));
    assert_eq!(confidence(&hpet, CauseId::WatchdogAtFault), Some(Confidence::Low));
}

#[test]
fn interval_of_a_clock_that_counts_nanoseconds_is_reported_without_the_rate_of_the_tsc() {
    // The text as a mailer wraps each line of it.
    let report = why("> [   26.402239] clocksource: timekeeping watchdog on CPU0: Marking\n\
                      > clocksource 'tsc' as unstable because the skew is too large:\n\
                      > [   26.407029] clocksource:                       'kvm-clock' wd_now:\n\
                      > 635480f3c wd_last: 3ce94a718 mask: ffffffffffffffff\n\
                      > [   26.407632] clocksource:                       'tsc' cs_now:\n\
                      > 92d2e5d08 cs_last: 81305ceee mask: ffffffffffffffff\n\
                      > [   26.409097] tsc: Marking TSC unstable due to clocksource watchdog\n");
    let text = serde_json::to_string(&report.causes).unwrap();
    assert!(text.contains("10.31 s") && text.contains("due"), "{text}");
    // Its lines are quoted completely.
    assert!(text.contains("wd_last: 3ce94a718"), "{text}");
}

#[test]
fn refinement_that_differs_is_not_a_fault_where_the_watchdog_let_it_pass() {
    let report = |end: f64| {
        why(&format!(
            "[    0.000000] Linux version 5.15.0 (build@example) (gcc 11 x86_64-linux-gnu) #1 SMP\n\
             [    0.000000] tsc: Detected 2370.523 MHz processor\n\
             [    0.040000] Booting paravirtualized kernel on bare hardware\n\
             [    0.100000] smpboot: CPU0: AMD Ryzen 5 4500U with Radeon Graphics (family: 0x17, model: 0x60, stepping: 0x1)\n\
             [    0.200000] NET: one\n[    0.210000] SCSI two\n[    0.220000] VFS: three\n[    0.230000] pnp: four\n\
             [    0.240000] pci five\n[    0.250000] clocksource: Switched to clocksource tsc-early\n\
             [    1.400444] tsc: Refined TSC clocksource calibration: 2388.586 MHz\n\
             [    1.400461] clocksource: tsc: mask: 0xffffffffffffffff max_cycles: 0x226e1ae3c9e, max_idle_ns: 440795266262 ns\n\
             [    1.400500] clocksource: Switched to clocksource tsc\n\
             [    {end:.6}] systemd[1]: Reached target Basic System.\n"
        ))
    };
    assert!(cause(&report(3.0), CauseId::TscMiscalibrated).is_some());
    assert!(cause(&report(119.0), CauseId::TscMiscalibrated).is_none());
}

#[test]
fn texts_of_two_machines_are_not_taken_for_one() {
    let first = "[    0.034843] Booting paravirtualized kernel on KVM\n";
    let second = "[    0.000000] vmware: TSC freq read from hypervisor : 3092.734 MHz\n\
                  [    0.016771] Booting paravirtualized kernel on VMware hypervisor\n";
    let prompts = format!(
        "me@one:~$ dmesg | grep -E \"hyper|virt\"\n{first}root@two:/tmp# dmesg | grep -E \"hyper|virt\"\n{second}"
    );
    let report = why(&prompts);
    assert_eq!(report.machine.hypervisor.as_deref(), Some("VMware"), "{report:?}");
    assert_eq!(report.machine.boots_in_log, Some(2), "{report:?}");
    // Without prompts the kernel's messages separate the machines: those of the other one are not mixed in.
    let report = why(&format!("{second}{first}"));
    assert_eq!(report.machine.hypervisor.as_deref(), Some("KVM"), "{report:?}");
    let same =
        why(&format!("me@one:~$ dmesg | grep virt\n{first}root@one:~# dmesg | grep tsc\n{first}"));
    assert_ne!(same.machine.boots_in_log, Some(2), "{same:?}");
}

#[test]
fn expectation_that_does_not_explain_what_is_in_use_is_not_told() {
    let report = why(
        "[    0.000000] Linux version 6.1.0 (build@example) (riscv64-linux-gnu-gcc 12) #1\n\
                      [    0.000000] clocksource: riscv_clocksource: mask: 0xffffffffffffffff max_cycles: 0x588fe9dc0, max_idle_ns: 440795202592 ns\n\
                      [    0.000100] clocksource: timer: mask: 0xffffffff max_cycles: 0xffffffff, max_idle_ns: 79635851949 ns\n\
                      [    0.300000] clocksource: Switched to clocksource timer\n",
    );
    assert_eq!(report.clocksource.current.as_deref(), Some("timer"));
    assert_eq!(report.expected.current, None);
}

#[test]
fn list_of_clocksources_behind_a_prompt_is_read_without_the_one_in_use() {
    for prompt in ["[me@box ~]$", "#", "me@box:~$", "[root@box tmp]#"] {
        let report = why(&format!(
            "Clocksource tsc unstable (delta = 92016075 ns).  Enable clocksource failover by adding clocksource_failover kernel parameter.\n\
             {prompt} cat /sys/devices/system/clocksource/clocksource0/available_clocksource\ntsc acpi_pm \n"
        ));
        let listed = report.clocksource.available.as_deref().unwrap_or_default();
        assert_eq!(listed, ["tsc", "acpi_pm"], "{prompt}");
        assert_eq!(report.clocksource.current, None, "{prompt}");
        let offered = report.remedies.iter().filter(|remedy| remedy.refused_because.is_none());
        assert!(
            offered.into_iter().all(|remedy| !remedy.id.contains("tsc")),
            "{:?}",
            report.remedies
        );
    }
}

#[test]
fn what_only_a_hypervisor_could_do_comes_last_on_hardware() {
    let report = why("[    0.000000] Booting paravirtualized kernel on bare hardware\n\
                      [   14.006258] Measured 3976891932 cycles TSC warp between CPUs, turning off TSC clock.\n\
                      [   14.006263] Marking TSC unstable due to: check_tsc_sync_source failed.\n");
    let first = report.remedies.first().map(|remedy| remedy.id.clone());
    assert_eq!(first.as_deref(), Some("update-firmware"), "{:?}", report.remedies);
}
