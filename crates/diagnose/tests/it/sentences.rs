//! The first sentence and the verdict: they agree, and claim no more than the evidence shows.
#![allow(clippy::unwrap_used)]

use crate::common::{pasted, why};
use clocksmith_diagnose::Verdict;

#[test]
fn tsc_that_the_watchdog_still_compares_is_fast_so_far() {
    let log = |release: &str, more: &str| {
        format!(
            "[    0.000000] Linux version {release} (a@b) (x86_64-linux-gnu-gcc 9.3.0) #21 SMP\n{more}\
             [    0.200000] NET: Registered protocol family 16\n[    0.300000] SCSI subsystem initialized\n\
             [    0.400000] VFS: Disk quotas dquot_6.6.0\n[    0.500000] Freeing unused kernel memory: 1204K\n\
             [    1.000000] clocksource: Switched to clocksource tsc\n[    2.000000] EXT4-fs (sda1): mounted filesystem\n\
             [  118.648402] binder: transaction failed\n"
        )
    };
    for (release, more, so_far) in [
        ("4.9.0-8-amd64", "", true),
        ("6.12.0-1-amd64", "", false),
        ("4.9.0-8-amd64", "[    0.000000] Command line: ro tsc=reliable\n", false),
        ("4.9.0-8-amd64", "[    0.000000] Hypervisor detected: VMware\n", false),
    ] {
        let report = why(&log(release, more));
        assert_eq!(report.verdict, Verdict::Ok, "{release} {more}: {}", report.headline);
        assert_eq!(
            report.headline.contains("so far"),
            so_far,
            "{release} {more}: {}",
            report.headline
        );
        assert!(report.headline.contains("fast") && report.headline.ends_with("Nothing to fix."));
    }
}

#[test]
fn verdict_and_sentence_agree_where_the_width_is_open() {
    let sysfs = "/sys/devices/system/clocksource/clocksource0";
    let text = |line: &str| {
        format!(
            "{line}$ cat {sysfs}/available_clocksource\ntsc acpi_pm\n$ cat {sysfs}/current_clocksource\ntsc\n"
        )
    };
    let open = pasted(&text(""));
    assert_eq!(open.verdict, Verdict::Ok);
    assert!(open.headline.starts_with("Reading the time is fast here"), "{}", open.headline);
    assert!(open.headline.contains("32-bit kernel before 3.15"), "{}", open.headline);
    // Kernels that know of this are later than the 32-bit vDSO.
    let late = pasted(&text("[    0.296550] hpet: HPET dysfunctional in PC10. Force disabled.\n"));
    assert_eq!(late.verdict, Verdict::Ok);
    assert!(!late.headline.contains("32-bit"), "{}", late.headline);
}

#[test]
fn words_of_a_later_kernel_leave_earlier_rules_out() {
    let text = "    Switched to clocksource tsc\n    Clocksource tsc unstable (delta = -131624372 ns)\n    Switched to clocksource hpet\n";
    let report = why(text);
    let refused = report.remedies.iter().filter_map(|remedy| remedy.refused_because.as_deref());
    for because in refused {
        assert!(!because.contains("2.6.31"), "{because}");
    }
}

#[test]
fn boots_without_a_banner_may_be_of_several_machines() {
    let boot = |first: &str, at: &str| {
        format!(
            "[    {first}] clocksource: hyperv_clocksource_tsc_page: mask: 0xffffffffffffffff max_cycles: 0x24e6a1710, max_idle_ns: 440795202120 ns\n\
             [   {at}] clocksource: Switched to clocksource hyperv_clocksource_tsc_page\n"
        )
    };
    let (one, other) = (boot("0.004000", "16.995672"), boot("0.005000", "13.259868"));
    let words = |text: &str| why(text).machine.boots();
    let two = format!("new\n{one}before\n{other}");
    assert!(words(&two).unwrap().contains("perhaps of several machines"), "{:?}", words(&two));
    let banner = "[    0.000000] Linux version 6.1.0 (a@b) (gcc) #1 SMP\n";
    let named = format!("{banner}{one}{banner}{other}");
    assert_eq!(
        words(&named).as_deref(),
        Some("contains 2 boots; this report is about the last one")
    );
    assert_eq!(words(&one), None);
}

#[test]
fn sentence_names_the_clocksource_that_a_lost_line_may_have_chosen() {
    let text = "[    0.000000] Linux version 5.19.0-41-generic (a@b) (gcc 11.3.0) #42-Ubuntu SMP\n\
        [    0.000000] Hypervisor detected: KVM\n\
        [    0.000000] clocksource: kvm-clock: mask: 0xffffffffffffffff max_cycles: 0x1cd42e4dffb, max_idle_ns: 881590591483 ns\n\
        [    0.500000] clocksource: Switched to clocksource kvm-clock\n[    0.600000] NET: Registered protocol family 16\n\
        [    0.700000] sched_clock: Marking stable (1, 2)->(3, 4)\n[    0.800000] VFS: Disk quotas dquot_6.6.0\n\
        [    0.900000] Freeing unused kernel memory: 1204K\n\
        [    1.984021] tsc: Refined TSC clocksource calibration: 2591.997 MHz\n\
        [    1.985021] clocksource: tsc: mask: 0xffffffffffffffff max_cycles: 0x255cb5c6a11, max_idle_ns: 440795249002 ns\n\
        [    3.000000] EXT4-fs (sda1): mounted filesystem\n[   40.000000] audit: denied\n";
    let report = why(text);
    assert!(
        report.headline.contains("kvm-clock (or tsc, if the line about it"),
        "{}",
        report.headline
    );
    assert!(
        report.clocksource.source.contains("or tsc, if the line about it"),
        "{}",
        report.clocksource.source
    );
}
