//! Excerpts as users paste them: nothing is concluded from the missing part.
#![allow(clippy::unwrap_used)]

use crate::common::why;
use clocksmith_diagnose::{CauseId, Report, Verdict};

fn has(report: &Report, id: CauseId) -> bool {
    report.causes.iter().any(|cause| cause.id == id)
}

#[test]
fn switch_before_user_space_is_not_by_hand() {
    let boot = |switches: &str, after: &str| {
        why(&format!(
            "Using IPI Shortcut mode\n{switches}ACPI: one\nBIOS: two\n{after}input: keyboard\nusb: three\n"
        ))
    };
    let switches = "Time: tsc clocksource has been installed.\n\
                    Time: acpi_pm clocksource has been installed.\n";
    for began in
        ["Freeing unused kernel memory: 172k freed\n", "VFS: Mounted root (ext3 filesystem).\n"]
    {
        let report = boot(switches, began);
        assert_eq!(report.verdict, Verdict::Slow);
        assert!(!has(&report, CauseId::RuntimeOverride), "{}", report.headline);
        let report = boot("", &format!("{began}{switches}"));
        assert!(has(&report, CauseId::RuntimeOverride), "{}", report.headline);
    }
}

#[test]
fn rhel_6_without_failover_keeps_the_tsc() {
    let report = why(
        "Jul 16 05:00:05 host kernel: Clocksource tsc unstable (delta = -95170000000 ns).  Enable clocksource \
         failover by adding clocksource_failover kernel parameter.\n",
    );
    assert!(!report.headline.contains("demoted"), "{}", report.headline);
    assert!(has(&report, CauseId::InsufficientEvidence));
    let refused: Vec<_> =
        report.remedies.iter().filter_map(|r| r.refused_because.as_ref()).collect();
    assert!(!refused.iter().any(|why| why.contains("until the next boot")), "{refused:?}");
}

/// The initial Xen domain up to the registration of the TSC at 9.0 s, and the lines after it.
fn dom0(more: &str) -> Report {
    why(&format!(
        "[    0.000000] Linux version 4.9.0-8-amd64 (builder@example) (gcc version 6.3.0) #1 SMP\n\
         [    0.000000] ACPI: PM-Timer IO Port: 0x408\n\
         [    0.000000] Booting paravirtualized kernel on Xen\n\
         [    3.484000] clocksource: Switched to clocksource xen\n\
         [    4.000000] pci 0000:00:00.0: one\n[    5.000000] pci 0000:00:01.0: two\n\
         [    6.000000] pci 0000:00:02.0: three\n[    7.000000] pci 0000:00:03.0: four\n\
         [    8.124000] Freeing unused kernel memory: 1564K\n\
         [    9.028000] clocksource: tsc: mask: 0xffffffffffffffff max_cycles: 0x19e3310ad8a, max_idle_ns: \
         440795241292 ns\n[    9.200000] usb 1-1: five\n[    9.280000] usb 1-2: six\n{more}"
    ))
}

#[test]
fn dom0_takes_the_tsc_by_itself() {
    let report =
        dom0("[   10.053000] clocksource: Switched to clocksource tsc\n[   20.0] usb 1-3: seven\n");
    assert!(!has(&report, CauseId::RuntimeOverride), "{}", report.headline);
    assert_eq!(report.clocksource.current.as_deref(), Some("tsc"));
    // The log ends while the watchdog has yet to verify the TSC.
    assert_eq!(dom0("").verdict, Verdict::Unknown, "{}", dom0("").headline);
}

#[test]
fn reading_of_sysfs_is_not_undone_by_an_older_line_quoted_behind_it() {
    let report = why(
        "root@host:~# cat /sys/devices/system/clocksource/clocksource0/current_clocksource\ntsc\ndmesg says:\n\
         Time: acpi_pm clocksource has been installed.\n",
    );
    assert_eq!(report.clocksource.current.as_deref(), Some("tsc"), "{}", report.headline);
}

#[test]
fn log_in_a_comment_is_read() {
    let report = why(
        "kernelParams = [\n  # kernel: clocksource: timekeeping watchdog on CPU0: Marking clocksource 'tsc' as \
         unstable because the skew is too large:\n  # [    2.500000] clocksource: Switched to clocksource hpet\n  \
         \"tsc=unstable\"\n",
    );
    assert_eq!(report.clocksource.current.as_deref(), Some("hpet"), "{}", report.headline);
    assert!(report.headline.contains("demoted"), "{}", report.headline);
    assert_eq!(
        why("# kernel: 6.1\n[    1.0] clocksource: Switched to clocksource hpet\n").machine.kernel,
        None
    );
}

#[test]
fn emphasis_around_a_message_is_read() {
    for (open, close) in [("**", "**"), ("`", "`")] {
        let report = why(&format!(
            "[    0.773000] {open}Switching to clocksource hpet{close}\n\
             [    1.500000] rtc_cmos 00:03: setting system clock\n\
             [    1.948000] {open}Switching to clocksource tsc{close}\n"
        ));
        assert_eq!(report.clocksource.current.as_deref(), Some("tsc"), "{}", report.headline);
    }
}

#[test]
fn warp_at_a_resume_is_not_called_one_at_boot_and_begins_no_boot() {
    let report = why("[33987.814689] smpboot cpu 1: start_ip = 98000\n\
         [33987.845817] TSC synchronization [CPU#0 -> CPU#1]:\n\
         [33987.845818] Measured 3483092704 cycles TSC warp between CPUs, turning off TSC clock.\n\
         [    0.008000] Marking TSC unstable due to check_tsc_sync_source failed\n\
         [33989.609551] Switching to clocksource hpet\n");
    assert_eq!(report.machine.boots_in_log, Some(1));
    let warp = report.causes.iter().find(|cause| cause.id == CauseId::TscWarp).unwrap();
    assert!(!warp.summary.contains("at boot"), "{}", warp.summary);
    assert!(
        warp.evidence.iter().any(|line| line.text.contains("3483092704")),
        "{:?}",
        warp.evidence
    );
}

#[test]
fn messages_of_kvm_guests_mark_a_guest() {
    for line in [
        "kvm-clock: cpu 1, msr 77601041, secondary cpu clock",
        "kvm-stealtime: cpu 1, msr 7a50d000",
    ] {
        let report = why(&format!(
            "[   85.080240] {line}\n\
             [   85.090000] Measured 1000 cycles TSC warp between CPUs, turning off TSC clock.\n\
             [   85.090001] tsc: Marking TSC unstable due to check_tsc_sync_source failed\n"
        ));
        assert_eq!(report.machine.hypervisor.as_deref(), Some("KVM"), "{line}");
        let offered = report.remedies.iter().filter(|r| r.refused_because.is_none());
        assert!(offered.clone().all(|r| r.id != "update-firmware"), "{line}");
    }
}

#[test]
fn choice_of_every_boot_is_not_lost_at_reboot() {
    let report = why(
        "[    0.000000] Linux version 3.13.0-48-generic (builder@example) (gcc version 4.8.2) x86_64 #80 SMP\n\
         [    0.000000] Booting paravirtualized kernel on Xen\n\
         [    0.500000] Switched to clocksource xen\n[    1.0] one\n[    2.0] two\n[    3.0] three\n\
         [    4.0] four\n[    5.0] five\n[   30.0] EXT4-fs (xvda1): mounted filesystem\n",
    );
    let keep = report.remedies.iter().find(|r| r.id == "keep-tsc-at-boot").unwrap();
    assert!(!keep.risk.contains("lost at reboot"), "{}", keep.risk);
    let now = report.remedies.iter().find(|r| r.id == "switch-to-tsc-now").unwrap();
    assert!(now.risk.contains("lost at reboot"), "{}", now.risk);
}

#[test]
fn rhel_6_listed_tsc_that_differed_is_refused() {
    let pasted = |current: &str| {
        why(&format!(
            "[2423264.824259] Clocksource tsc unstable (delta = 6824818792 ns).  Enable clocksource failover by adding \
             clocksource_failover kernel parameter.\n\n\
             # cat /sys/devices/system/clocksource/clocksource0/available_clocksource\n\
             kvm-clock tsc acpi_pm\n\n\
             # cat /sys/devices/system/clocksource/clocksource0/current_clocksource\n{current}\n"
        ))
    };
    for current in ["kvm-clock", "acpi_pm"] {
        let report = pasted(current);
        for id in ["switch-to-tsc-now", "keep-tsc-at-boot"] {
            let remedy = report.remedies.iter().find(|remedy| remedy.id == id);
            let because = remedy.and_then(|remedy| remedy.refused_because.as_deref());
            assert!(because.unwrap().contains("demotes nothing"), "{current}: {id}");
        }
        let offers = |text: &str| {
            let offered = report.remedies.iter().filter(|r| r.refused_because.is_none());
            offered.flat_map(|r| &r.commands).any(|command| command.contains(text))
        };
        assert!(!offers("tsc"), "{current}");
        assert!(!report.causes.iter().any(|cause| cause.summary.contains("also usable here")));
    }
}

#[test]
fn an_older_mail_that_is_quoted_is_not_the_present_state() {
    let reply =
        "After the update it says:\n\n   time.c: Using HPET/TSC based timekeeping.\n\nA. wrote:\n";
    let older = ">> > warning: many lost ticks.\n>> > Falling back to HPET\n";
    let report = crate::common::why(&format!("{reply}{older}"));
    assert_eq!(report.verdict, clocksmith_diagnose::Verdict::Unknown, "{}", report.headline);
    assert!(report.headline.contains("newest part names tsc"), "{}", report.headline);
    assert!(report.headline.contains("an older quoted part names hpet"));
    // One level alone, and the same state twice.
    let quoted = "> [    1.790171] clocksource: Switched to clocksource hpet\n\
                  > [   19.000000] EXT4-fs (sda1): mounted filesystem\n";
    let report = crate::common::why(quoted);
    assert!(!report.headline.contains("two states"), "{}", report.headline);
    let report = crate::common::why(&format!(
        "[    1.790171] clocksource: Switched to clocksource hpet\n{quoted}"
    ));
    assert!(!report.headline.contains("two states"), "{}", report.headline);
}

#[test]
fn overflowed_difference_of_a_kept_tsc_speaks_against_no_clock() {
    let kept = |delta: &str| {
        why(&format!(
            "Jul 16 05:00:05 host kernel: Clocksource tsc unstable (delta = {delta} ns).  Enable clocksource \
             failover by adding clocksource_failover kernel parameter.\n"
        ))
    };
    let report = kept("-42949671234");
    let cause = report.causes.iter().find(|cause| cause.id == CauseId::WatchdogAtFault).unwrap();
    assert!(cause.summary.contains("5 times 2^33 ns minus 1.7 us"), "{}", cause.summary);
    assert!(report.remedies.iter().all(|r| r.id != "switch-to-tsc-now"), "{:?}", report.remedies);
    assert!(has(&kept("-42990000000"), CauseId::InsufficientEvidence));
}

#[test]
fn cross_check_of_one_cpu_shows_that_the_tsc_was_demoted() {
    for line in [
        "Not enough CPUs to check clocksource 'tsc'.",
        "Checking clocksource tsc synchronization from CPU 1 to CPUs 0.",
    ] {
        let report = why(&format!(
            "[46668.574749] clocksource: {line}\n[46668.574854] clocksource: Switched to clocksource hpet\n"
        ));
        assert!(
            report.headline.contains("the kernel marked the TSC unstable"),
            "{}",
            report.headline
        );
        let refused = report
            .remedies
            .iter()
            .any(|r| r.id == "switch-to-tsc-now" && r.refused_because.is_some());
        assert!(refused, "{:?}", report.remedies.iter().map(|r| &r.id).collect::<Vec<_>>());
    }
}
