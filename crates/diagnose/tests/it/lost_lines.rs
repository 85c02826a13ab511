//! A log that lost the line of the kernel's last choice names no other clocksource with certainty: a result that is the
//! same with and without the line is reported, the rest is open.
#![allow(clippy::unwrap_used)]

use crate::common::why;
use clocksmith_diagnose::{CauseId, Verdict};

/// A boot that ends in user space, with its first switch and the lines in between, and without the switch to tsc.
fn boot(release: &str, before: &str, first: &str, between: &str) -> String {
    let prefix =
        if release.starts_with('2') || release.starts_with('3') { "" } else { "clocksource: " };
    let verb = if release.starts_with("2.6") { "Switching" } else { "Switched" };
    format!(
        "[    0.000000] Linux version {release} (build@x86_64.example) (gcc x86_64-linux-gnu) #1 SMP\n\
         [    0.000000] Command line: ro quiet\n{before}\
         [    0.004000] tsc: Detected 2199.998 MHz processor\n\
         [    0.100000] x86/fpu: Enabled\n[    0.200000] NET: Registered protocol family 16\n\
         [    0.300000] SCSI subsystem initialized\n[    0.310000] pnp: PnP ACPI init\n\
         [    0.320000] VFS: Disk quotas\n[    0.330000] pci 0000:00:01.0: one\n\
         [    0.590043] {prefix}{verb} to clocksource {first}\n{between}\
         [   15.200000] EXT4-fs (sda1): mounted filesystem with ordered data mode\n\
         [   16.200000] systemd[1]: Reached target Basic System.\n"
    )
}

/// Messages of many subsystems, as each boot has them.
const REST: &str = "\
[    0.812000] NET: Registered protocol family 2
[    0.813000] TCP: Hash tables configured (established 8192 bind 8192)
[    0.814000] UDP hash table entries: 512 (order: 2, 16384 bytes)
[    1.000000] Freeing initrd memory: 20000K
[    1.110000] Key type asymmetric registered
[    1.120000] io scheduler cfq registered (default)
[    1.130000] Serial: 8250/16550 driver, 32 ports, IRQ sharing enabled
[    1.150000] i8042: PNP: No PS/2 controller found.
[    1.160000] mousedev: PS/2 mouse device common for all mice
[    1.170000] rtc_cmos 00:03: registered as rtc0
[    1.180000] usbcore: registered new interface driver usbhid
[    1.190000] Freeing unused kernel memory: 1500K
";

const KVM: &str = "[    0.000000] Hypervisor detected: KVM\n\
                   [    0.000001] kvm-clock: Using msrs 4b564d01 and 4b564d00\n";
const HYPERV: &str = "[    0.000000] Hypervisor detected: Microsoft Hyper-V\n";
const STABLE: &str = "[    0.700000] sched_clock: Marking stable (1000, 2000)->(3000, -1)\n";
const TSC: &str = "[    1.260171] clocksource: tsc: mask: 0xffffffffffffffff max_cycles: 0x1fb6328d05a, max_idle_ns: \
                   440795256800 ns\n";

#[test]
fn paravirtual_clock_with_no_line_of_a_later_choice_is_not_the_only_answer() {
    let stable = format!("{STABLE}{TSC}");
    for (release, between) in
        [("5.4.0", stable.as_str()), ("6.14.0", stable.as_str()), ("5.15.0", STABLE)]
    {
        let report = why(&boot(release, KVM, "kvm-clock", between));
        assert_eq!(report.verdict, Verdict::Ok, "{release}: {}", report.headline);
        assert!(
            report.clocksource.source.contains("or tsc"),
            "{release}: {}",
            report.clocksource.source
        );
    }
    // If the two clocksources differ in cost, the result is open.
    let report = why(&boot("6.6.0", HYPERV, "hyperv_clocksource_msr", TSC));
    assert_eq!(report.verdict, Verdict::Unknown, "{}", report.headline);
    assert!(report.settles.iter().any(|settle| settle.how.contains("current_clocksource")));
}

/// The kernel chooses when a clocksource registers: in a log with all its lines the choice would follow.
#[test]
fn kvm_clock_of_a_whole_boot_in_which_the_tsc_registered_is_the_answer() {
    let report = why(&boot("5.15.0", KVM, "kvm-clock", &format!("{STABLE}{TSC}{REST}")));
    assert!(!report.clocksource.source.contains("or tsc"), "{}", report.headline);
    assert_eq!(report.clocksource.current.as_deref(), Some("kvm-clock"));
    // Hyper-V's are rated below the TSC.
    let report = why(&boot("6.6.0", HYPERV, "hyperv_clocksource_msr", &format!("{TSC}{REST}")));
    assert_eq!(report.verdict, Verdict::Unknown, "{}", report.headline);
}

#[test]
fn paravirtual_clock_that_always_outranks_the_tsc_is_the_answer() {
    let report = why(&boot("4.9.0", KVM, "kvm-clock", &format!("{STABLE}{TSC}")));
    assert!(!report.clocksource.source.contains("or tsc"), "{}", report.headline);
    let lost = "[    0.004100] tsc: Marking TSC unstable due to TSCs unsynchronized\n";
    let report = why(&boot("5.15.0", &format!("{KVM}{lost}"), "kvm-clock", STABLE));
    assert!(!report.clocksource.source.contains("or tsc"), "{}", report.headline);
}

#[test]
fn device_clock_of_a_whole_boot_with_nothing_against_the_tsc_is_not_the_last_word() {
    for release in ["2.6.32-642.el6.x86_64", "3.16.0", "4.4.0", "4.15.0"] {
        for name in ["hpet", "acpi_pm", "refined-jiffies"] {
            if name == "refined-jiffies" && release.starts_with('2') {
                continue;
            }
            let report = why(&boot(release, "", name, ""));
            assert_eq!(report.verdict, Verdict::Unknown, "{release} {name}: {}", report.headline);
            assert_eq!(report.clocksource.current, None, "{release} {name}");
        }
    }
}

#[test]
fn device_clock_of_a_boot_that_says_why_is_the_answer() {
    let lost = "[    0.400000] Marking TSC unstable due to TSC halts in idle\n";
    let report = why(&boot("3.16.0", lost, "hpet", ""));
    assert_eq!(report.verdict, Verdict::Slow, "{}", report.headline);
    // Without the beginning of the boot the reason may be before it; everything after it is present.
    let text = boot("3.16.0", "", "hpet", REST);
    let late = text.lines().skip(4).map(|line| format!("{line}\n")).collect::<String>();
    assert_eq!(why(&late).clocksource.current.as_deref(), Some("hpet"));
}

#[test]
fn switch_whose_stamp_is_not_later_is_of_another_boot() {
    let lines = |name: &str| {
        format!(
            "[    1.500000] clocksource: Switched to clocksource tsc\n\
             [    0.400000] clocksource: hpet: mask: 0xffffffff max_cycles: 0xffffffff, max_idle_ns: 133484882848 ns\n\
             [    0.500000] clocksource: Switched to clocksource {name}\n"
        )
    };
    for name in ["hpet", "acpi_pm", "tsc-early"] {
        let report = why(&lines(name));
        assert_eq!(report.verdict, Verdict::Unknown, "{name}: {}", report.headline);
        assert!(!report.headline.contains("a person or a program"), "{name}: {}", report.headline);
    }
}

#[test]
fn cross_check_without_the_demotion_shows_that_the_counters_differ() {
    let report = why(
        "[  152.590860] clocksource:         CPUs 8 ahead of CPU 5 for clocksource tsc.\n\
         [  152.597196] clocksource:         CPU 5 check durations 14197ns - 124761ns for clocksource tsc.\n\
         [  152.602675] clocksource: Switched to clocksource xen\n",
    );
    let cause = report.causes.iter().find(|cause| cause.id == CauseId::TscSkew);
    assert!(cause.is_some_and(|cause| cause.summary.contains("ahead of or behind")), "{report:?}");
}
