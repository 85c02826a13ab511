//! Conclusions from one interval of the watchdog, and their limits; the machines for which each advice is given.
#![allow(clippy::unwrap_used)]

use clocksmith_diagnose::{
    Cause, CauseId, Confidence, Measured, Report, Severity, Verdict, assess,
};
use clocksmith_facts::Facts;
use clocksmith_facts::log::KernelLog;

const METAL: &str = "[    0.000000] DMI: Dell Inc. PowerEdge R7425/02MJ3T, BIOS 1.7.6 01/14/2019\n\
                     [    0.000010] Booting paravirtualized kernel on bare hardware\n";
const GUEST: &str =
    "[    0.000000] DMI: QEMU Standard PC (Q35 + ICH9, 2009), BIOS 1.16.2-1 04/01/2014\n";

fn read(machine: &str, lines: &str) -> Report {
    let text = format!("[    0.000000] Linux version 6.1.0 (x)\n{machine}{lines}");
    let facts = Facts::from_log(KernelLog::scan(text.as_bytes(), "dmesg").unwrap());
    assess(facts, Measured::default()).report
}

fn cause(seen: &Report, id: CauseId) -> Option<&Cause> {
    seen.causes.iter().find(|cause| cause.id == id)
}

fn is_advised(seen: &Report, id: &str) -> bool {
    seen.remedies.iter().any(|r| r.id == id && r.refused_because.is_none())
}

fn reliable_is_refused_because(seen: &Report) -> &str {
    let refused = seen.remedies.iter().find(|r| r.id == "tsc-reliable").unwrap();
    refused.refused_because.as_deref().unwrap()
}

fn marked(wd: &str, cs: &str) -> String {
    format!(
        "[    0.000020] tsc: Detected 2400.000 MHz processor\n\
         [   99.000000] clocksource: timekeeping watchdog on CPU1: Marking clocksource 'tsc' as unstable because the skew is too large:\n\
         [   99.000001] clocksource:                       {wd}\n\
         [   99.000002] clocksource:                       {cs}\n\
         [   99.000003] tsc: Marking TSC unstable due to clocksource watchdog\n\
         [   99.100000] clocksource: Switched to clocksource hpet\n"
    )
}

const OLD: &str = "[   31.590808] Clocksource tsc unstable (delta = -1052658846 ns)\n\
                   [   31.600000] Switching to clocksource hpet\n";
const SKIPPED: &str = "[    1.4] clocksource: Switched to clocksource tsc\n\
    [   50.876040] clocksource: Long readout interval, skipping watchdog check: cs_nsec: 57471994482 wd_nsec: 502738831\n";

/// A late read, a paused guest and a halted TSC can each cause this, too.
#[test]
fn one_interval_names_candidates_and_no_culprit() {
    let behind = marked(
        "'hpet' wd_nsec: 1729500000 wd_now: 17a1e80 wd_last: 0 mask: ffffffff",
        "'tsc' cs_nsec: 512000000 cs_now: 4943f0a00 cs_last: 44b000000 mask: ffffffffffffffff",
    );
    let ahead = marked(
        "'hpet' wd_nsec: 483279020 wd_now: 699640 wd_last: 0 mask: ffffffff",
        "'tsc' cs_nsec: 808300000 cs_now: 4c0b5ce80 cs_last: 44b000000 mask: ffffffffffffffff",
    );
    for (lines, machine) in
        [(OLD, ""), (&behind, METAL), (&ahead, METAL), (&ahead, GUEST), (OLD, GUEST)]
    {
        let seen = read(machine, lines);
        let jump = cause(&seen, CauseId::TscJump).unwrap();
        assert_eq!(jump.confidence, Confidence::Low, "{jump:?}");
        let lead = &seen.causes[0];
        assert_eq!(lead.id, CauseId::InsufficientEvidence, "{:?}", seen.causes);
        assert!(lead.summary.contains("the watchdog demoted the TSC"), "{}", lead.summary);
        assert!(!seen.headline.contains("jumped"), "{}", seen.headline);
        assert!(seen.headline.contains("the watchdog demoted the TSC"), "{}", seen.headline);
        assert!(!is_advised(&seen, "update-firmware"), "{:?}", seen.remedies);
        for id in ["tsc-reliable", "tsc-nowatchdog"] {
            assert!(!is_advised(&seen, id), "{id}");
        }
        assert!(reliable_is_refused_because(&seen).contains("not known"));
    }
}

#[test]
fn skipped_check_of_one_long_interval_is_not_a_verdict() {
    let seen = read("", SKIPPED);
    assert_eq!(cause(&seen, CauseId::TscJump).unwrap().confidence, Confidence::Low);
    assert_ne!(seen.verdict, Verdict::Untrustworthy, "{}", seen.headline);
    assert!(!is_advised(&seen, "update-firmware"));
    // On hardware that did not sleep, only a jump or a stopped reference explains it.
    let seen = read(METAL, SKIPPED);
    assert_eq!(cause(&seen, CauseId::TscJump).unwrap().confidence, Confidence::Medium);
    assert!(is_advised(&seen, "update-firmware"));
    let slept =
        format!("[   20.0] PM: suspend entry (deep)\n[   21.0] PM: suspend exit\n{SKIPPED}");
    let seen = read(METAL, &slept);
    assert_eq!(cause(&seen, CauseId::TscJump).unwrap().confidence, Confidence::Low);
}

#[test]
fn tsc_that_went_back_is_at_fault_for_sure() {
    let lines = marked(
        "'hpet' wd_nsec: 500000000 wd_now: 6d3d32 wd_last: 0 mask: ffffffff",
        "'tsc' cs_nsec: 0 cs_now: 44b000000 cs_last: 4943f0a00 mask: ffffffffffffffff",
    );
    let seen = read(METAL, &lines);
    assert_eq!(cause(&seen, CauseId::TscJump).unwrap().confidence, Confidence::High);
    assert!(reliable_is_refused_because(&seen).contains("seen to jump"));
    assert!(is_advised(&seen, "update-firmware"));
    // A guest has no firmware that could help, whatever the evidence of the guest is.
    assert!(!is_advised(&read(GUEST, &lines), "update-firmware"));
    let kvm = "[    0.000000] Hypervisor detected: KVM\n";
    assert!(!is_advised(&read(kvm, &lines), "update-firmware"));
}

#[test]
fn tsc_with_two_equal_reads_is_called_halted() {
    let lines = marked(
        "'hpet' wd_nsec: 500000000 wd_now: 6d3d32 wd_last: 0 mask: ffffffff",
        "'tsc' cs_nsec: 0 cs_now: 44b000000 cs_last: 44b000000 mask: ffffffffffffffff",
    );
    let seen = read(METAL, &lines);
    let halted = cause(&seen, CauseId::TscHaltsInIdle).unwrap();
    assert_eq!(halted.confidence, Confidence::Medium);
    assert!(halted.summary.contains("this TSC stopped"), "{}", halted.summary);
    assert!(cause(&seen, CauseId::WatchdogAtFault).is_none());
    for id in ["tsc-reliable", "tsc-nowatchdog"] {
        assert!(!is_advised(&seen, id), "{id}");
    }
    // The kernel's zero can also mean a TSC that went back.
    let zero = "[   99.0] clocksource: Clocksource 'tsc' skewed -485515617 ns (-485 ms) over watchdog 'acpi_pm' interval of 485515617 ns (485 ms)\n\
                [   99.1] tsc: Marking TSC unstable due to clocksource watchdog\n";
    let seen = read(METAL, zero);
    assert!(
        seen.causes
            .iter()
            .all(|c| c.confidence == Confidence::Low || c.id == CauseId::InsufficientEvidence)
    );
    for id in [CauseId::TscJump, CauseId::TscHaltsInIdle, CauseId::WatchdogAtFault] {
        assert!(cause(&seen, id).is_some(), "{id:?} {:?}", seen.causes);
    }
    assert!(!is_advised(&seen, "tsc-nowatchdog"));
}

#[test]
fn one_turn_of_the_pm_timer_acquits_the_tsc() {
    let lines = "rce:                       Clocksource 'tsc'\n\
        skewed 4687076445 ns (4687 ms) over watchdog 'acpi_pm' interval of\n633206175 ns (633 ms)\n\
        <6>[   41.889615] tsc: Marking TSC unstable due to clocksource watchdog\n";
    let facts = Facts::from_log(KernelLog::scan(lines.as_bytes(), "dmesg").unwrap());
    let seen = assess(facts, Measured::default()).report;
    assert_eq!(seen.causes[0].id, CauseId::WatchdogAtFault, "{:?}", seen.causes);
    assert!(seen.causes[0].summary.contains("wrapped once"), "{}", seen.causes[0].summary);
}

#[test]
fn steering_beyond_the_limit_is_reported_of_any_clocksource() {
    for (name, id) in [
        ("tsc", CauseId::TscMiscalibrated),
        ("hpet", CauseId::InsufficientEvidence),
        ("kvm-clock", CauseId::ParavirtClockBroken),
    ] {
        let seen = read(
            METAL,
            &format!(
                "[    3.0] clocksource: Switched to clocksource {name}\n\
                 [   91.907007] Adjusting {name} more than 11% (7517526 vs 7180534)\n"
            ),
        );
        let found = cause(&seen, id).unwrap_or_else(|| panic!("{name}: {:?}", seen.causes));
        assert!(found.severity == Severity::Warning && found.summary.contains("11 %"), "{found:?}");
        assert!(!seen.headline.contains("Nothing to fix"), "{}", seen.headline);
        assert!(!is_advised(&seen, "update-firmware"));
    }
}

#[test]
fn cpus_that_are_apart_on_hardware_need_firmware() {
    let apart = format!(
        "{}[   99.200000] clocksource: Checking clocksource tsc synchronization from CPU 1 to CPUs 0,48.\n\
         [   99.200001] clocksource:         CPUs 48 ahead of CPU 1 for clocksource tsc.\n",
        "[   99.000000] clocksource: timekeeping watchdog on CPU1: Marking clocksource 'tsc' as unstable because the skew is too large:\n"
    );
    let seen = read(METAL, &apart);
    assert_eq!(cause(&seen, CauseId::TscSkew).unwrap().confidence, Confidence::High);
    assert!(is_advised(&seen, "update-firmware"), "{:?}", seen.remedies);
    assert!(!is_advised(&read(GUEST, &apart), "update-firmware"));
    // A wrong rate is the same on all CPUs.
    let rate = marked(
        "'hpet' wd_nsec: 500000000 wd_now: 6d3d32 wd_last: 0 mask: ffffffff",
        "'tsc' cs_nsec: 505000000 cs_now: 4943f0a00 cs_last: 44b000000 mask: ffffffffffffffff",
    );
    assert!(!is_advised(&read(METAL, &rate), "update-firmware"));
}

#[test]
fn headline_of_an_early_end_says_that_it_is_not_known() {
    let seen = read(
        "",
        "[    0.3] clocksource: Switched to clocksource tsc-early\n\
         [    1.4] tsc: Refined TSC clocksource calibration: 2599.999 MHz\n\
         [    1.5] clocksource: tsc: mask: 0xffffffffffffffff max_cycles: 0x257a34a6eea, max_idle_ns: 440795264358 ns\n",
    );
    assert!(
        seen.headline.starts_with("It is not known which clocksource is in use"),
        "{}",
        seen.headline
    );
    assert!(!seen.headline.contains("probably"), "{}", seen.headline);
}

#[test]
fn slow_read_of_another_clocksource_under_test_says_nothing_of_the_tsc() {
    let line = "[   36.513464] clocksource: timekeeping watchdog on CPU0: wd-wdtest-ktime-wd excessive read-back delay \
        of 1000880ns vs. limit of 125000ns, wd-wd read-back delay only 46ns, attempt 3, marking wdtest-ktime unstable\n";
    let facts = Facts::from_log(KernelLog::scan(line.as_bytes(), "dmesg").unwrap());
    let seen = assess(facts, Measured::default()).report;
    assert_eq!(seen.verdict, Verdict::Unknown, "{}", seen.headline);
    assert!(!seen.headline.contains("is wdtest-ktime"), "{}", seen.headline);
    assert!(!is_advised(&seen, "tsc-nowatchdog"));
}

#[test]
fn check_of_all_cpus_proves_the_demotion_whose_line_is_missing() {
    let seen = read(
        "",
        "[  152.583751] clocksource: Checking clocksource tsc synchronization from CPU 5 to CPUs 0,3,8.\n\
         [  152.590860] clocksource:         CPUs 8 ahead of CPU 5 for clocksource tsc.\n\
         [  152.602675] clocksource: Switched to clocksource xen\n",
    );
    assert!(
        seen.remedies.iter().all(|r| r.refused_because.is_some() || !r.id.contains("choose-tsc"))
    );
    assert!(
        !is_advised(&seen, "tsc-reliable") && !is_advised(&seen, "clocksource-tsc"),
        "{:?}",
        seen.remedies
    );
}

#[test]
fn switch_of_a_log_without_stamps_and_user_space_is_put_down_to_no_person() {
    let lines = "Using IPI Shortcut mode\nTime: tsc clocksource has been installed.\n\
                 Time: acpi_pm clocksource has been installed.\nACPI: (supports S0 S3 S4 S5)\n";
    let facts = Facts::from_log(KernelLog::scan(lines.as_bytes(), "dmesg").unwrap());
    let seen = assess(facts, Measured::default()).report;
    assert!(cause(&seen, CauseId::RuntimeOverride).is_none(), "{:?}", seen.causes);
}
