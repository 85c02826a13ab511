use super::*;
use crate::judge::tests::report;
use crate::reason::{self, Meaning};
use clocksmith_diagnose::{Path, Read};
use clocksmith_facts::log::{Event as Said, KernelLog};
use proptest::prelude::*;

const LOG: &str = "\
[    0.000000] Linux version 6.1.0-13-amd64 (debian-kernel@lists.debian.org)\n\
[    1.000000] clocksource: Switched to clocksource tsc\n";
const GIVEN_UP: &str = "\
[  900.000000] clocksource: timekeeping watchdog on CPU1: Marking clocksource 'tsc' as unstable because the skew is too large:\n\
[  900.000001] clocksource:                       'hpet' wd_nsec: 512000000 wd_now: 9c5d0440 wd_last: 9bf64291 mask: ffffffff\n\
[  900.000002] clocksource:                       'tsc' cs_nsec: 522000000 cs_now: 2000000000 cs_last: 1fa2c7a680 mask: ffffffffffffffff\n\
[  900.000003] tsc: Marking TSC unstable due to clocksource watchdog\n\
[  900.000009] clocksource: Switched to clocksource hpet\n";
const ALL: &str = "tsc hpet acpi_pm";

fn devices(current: &str, available: &str) -> Observation<'static> {
    Observation::Clocksources(vec![
        ClocksourceDevice::parse("clocksource0", current, available).unwrap(),
    ])
}

fn assessed(current: &str, available: &str, log: &str, ns: f64) -> Observation<'static> {
    let path = if ns > 150.0 { Path::Syscall } else { Path::Vdso };
    let clock = "CLOCK_MONOTONIC".to_owned();
    let reads = vec![Read { clock, path, ns: Some(ns), syscall_ns: Some(200.0) }];
    let report = Box::new(report(current, available, Some(log), reads));
    Observation::Assessed { report, log: true }
}

fn watching() -> Watch {
    let mut watch = Watch::new(100.0, Thresholds::default(), true, History::default());
    watch.observe(100.0, devices("tsc", ALL));
    watch.started(100.0, Some("boot"));
    watch.observe(100.0, assessed("tsc", ALL, LOG, 25.0));
    assert_eq!(watch.take_events().len(), 1);
    watch
}

fn kinds(events: &[Event]) -> Vec<Kind> {
    events.iter().map(|event| event.kind).collect()
}

#[test]
fn a_demotion_is_reported_with_its_cause() {
    let mut watch = watching();
    assert!(watch.observe(200.0, Observation::KernelSaid(GIVEN_UP)).confirm);
    assert!(watch.observe(200.0, devices("hpet", "hpet acpi_pm")).assess);
    assert!(kinds(&watch.take_events()).contains(&Kind::AvailableChange));
    let log = format!("{LOG}{GIVEN_UP}");
    let want = watch.observe(200.1, assessed("hpet", "hpet acpi_pm", &log, 1_300.0));
    assert!(!want.assess);
    let events = watch.take_events();
    assert_eq!(kinds(&events), [Kind::Demotion, Kind::ClocksourceChange, Kind::StateChange]);
    let change = &events[1];
    assert_eq!((change.from.as_deref(), change.to.as_deref()), (Some("tsc"), Some("hpet")));
    let reason = change.reason.as_ref().unwrap();
    assert_eq!(reason.cause.as_deref(), Some("tsc-skew"));
    assert!(reason.evidence.as_ref().unwrap().contains("Marking"), "{reason:?}");
    assert_eq!(change.state, State::Warning);
    // An administrator makes another change: the earlier demotion is not its reason.
    watch.observe(300.0, devices("acpi_pm", "hpet acpi_pm"));
    watch.observe(300.0, assessed("acpi_pm", "hpet acpi_pm", &log, 2_000.0));
    let events = watch.take_events();
    let reason = events[0].reason.as_ref().unwrap();
    assert_eq!(reason.cause.as_deref(), Some("runtime-override"), "{events:?}");
}

#[test]
fn may_concern_passes_all_that_has_a_meaning() {
    for message in [
        "clocksource: Switched to clocksource hpet",
        "Switched to clocksource hpet",
        "Switching to clocksource hpet",
        "tsc: Marking TSC unstable due to clocksource watchdog",
        "Marking TSC unstable due to TSC halts in idle",
        "TSC found unstable after boot, most likely due to broken BIOS. Use 'tsc=unstable'.",
        "Clocksource tsc unstable (delta = 5000000000 ns)",
        "clocksource: timekeeping watchdog on CPU1: Marking clocksource 'tsc' as unstable because the skew is too large:",
        "timekeeping watchdog: Marking clocksource 'tsc' as unstable, because the skew is too large:",
        "clocksource: Marking clocksource tsc unstable due to frequency skew",
        "Measured 66930 cycles TSC warp between CPUs, turning off TSC clock.",
        "TSC warped randomly between CPUs",
        "clocksource: Long readout interval, skipping watchdog check: cs_nsec: 1280000000 wd_nsec: 1290000000",
    ] {
        let said = KernelLog::message(message).unwrap();
        let matters =
            matches!(said, Said::Switched(_)) || reason::meaning(&said) != Meaning::Nothing;
        assert!(matters, "{message}");
        for line in [format!("[    9.000000] {message}"), format!("May 1 host kernel: {message}")] {
            assert!(line_may_concern(&line), "{line}");
        }
    }
    assert!(!line_may_concern(
        "[    9.000000] tmpfs: Unknown parameter 'x\\x0atsc: Marking TSC unstable'"
    ));
}

const FORGED: &str = "[ 9.0] tsc: Marking TSC unstable due to clocksource watchdog\n\
                      [ 9.0] clocksource: Switched to clocksource hpet\n\
                      [ 9.0] Measured 512340 cycles TSC warp between CPUs, turning off TSC clock.\n";

#[test]
fn kernel_said_what_sysfs_contradicts_is_not_an_event() {
    let mut watch = watching();
    let mut told = Vec::new();
    for i in 0..5_000u32 {
        let time = 200.0 + f64::from(i) / 200.0;
        let want = watch.observe(time, Observation::KernelSaid(FORGED));
        // No diagnosis for lines that nothing confirms.
        assert!(!want.assess && want.confirm);
        if i % 200 == 0 {
            assert!(!watch.observe(time, devices("tsc", ALL)).assess);
        }
        told.extend(watch.take_events());
    }
    assert_eq!(kinds(&told), [Kind::ContradictedEvidence]);
    assert_eq!(told[0].state, State::Ok);
    let suppressed = watch.suppressed().find(|(kind, _)| *kind == Kind::ContradictedEvidence);
    assert!(suppressed.unwrap().1 > 2);
    // A true demotion among forged ones is reported, with its reason.
    watch.observe(226.0, Observation::KernelSaid(&FORGED.repeat(50)));
    watch.observe(226.0, Observation::KernelSaid(GIVEN_UP));
    watch.observe(226.0, devices("hpet", "hpet acpi_pm"));
    watch.observe(226.1, assessed("hpet", "hpet acpi_pm", &format!("{LOG}{GIVEN_UP}"), 1_300.0));
    let events = kinds(&watch.take_events());
    for kind in [Kind::AvailableChange, Kind::Demotion, Kind::ClocksourceChange] {
        assert!(events.contains(&kind), "{kind:?} {events:?}");
    }
}

#[test]
fn demotion_is_reported_whichever_comes_first() {
    let log = format!("{LOG}{GIVEN_UP}");
    for sysfs_first in [false, true] {
        let mut watch = watching();
        if sysfs_first {
            watch.observe(200.0, devices("hpet", "hpet acpi_pm"));
            watch.observe(201.0, Observation::KernelSaid(GIVEN_UP));
            watch.observe(201.0, devices("hpet", "hpet acpi_pm"));
        } else {
            watch.observe(200.0, Observation::KernelSaid(GIVEN_UP));
            // The thread that changes the rating has not run yet.
            watch.observe(200.0, devices("tsc", ALL));
            watch.observe(201.0, devices("hpet", "hpet acpi_pm"));
        }
        watch.observe(202.0, assessed("hpet", "hpet acpi_pm", &log, 1_300.0));
        let events = kinds(&watch.take_events());
        assert!(events.contains(&Kind::Demotion), "{sysfs_first} {events:?}");
        assert!(!events.contains(&Kind::ContradictedEvidence), "{sysfs_first} {events:?}");
    }
}

#[test]
fn demotion_of_a_clocksource_that_is_not_in_use_is_reported() {
    let mut watch = Watch::new(100.0, Thresholds::default(), true, History::default());
    watch.observe(100.0, devices("hpet", ALL));
    let said = "[ 9.0] tsc: Marking TSC unstable due to clocksource watchdog\n";
    watch.observe(200.0, Observation::KernelSaid(said));
    watch.observe(200.5, devices("hpet", "hpet acpi_pm"));
    assert!(kinds(&watch.take_events()).contains(&Kind::AvailableChange));
    watch.observe(200.6, assessed("hpet", "hpet acpi_pm", LOG, 1_300.0));
    assert_eq!(kinds(&watch.take_events()), [Kind::Demotion]);
}

#[test]
fn switch_there_and_back_between_two_looks_is_reported() {
    let mut watch = watching();
    let said = "[ 9.0] clocksource: Switched to clocksource hpet\n\
                [ 9.5] clocksource: Switched to clocksource tsc\n";
    watch.observe(200.0, Observation::KernelSaid(said));
    watch.observe(200.1, devices("tsc", ALL));
    watch.observe(210.0, devices("tsc", ALL));
    let told = watch.take_events();
    assert_eq!(kinds(&told), [Kind::ContradictedEvidence]);
    assert!(told[0].text.contains("tsc -> hpet -> tsc"), "{}", told[0].text);
    assert!(!told[0].line().contains("did not happen"), "{}", told[0].line());
}

#[test]
fn time_that_went_backwards_is_reported_without_a_verdict() {
    let mut watch = watching();
    watch.observe(
        200.0,
        Observation::KernelSaid("[ 9.0] clocksource/1: Time went backwards: ret=1 delta=-2\n"),
    );
    watch.observe(
        200.0,
        Observation::KernelSaid("[ 9.0] Timer ISR/0: Time went backwards: delta=-2 shadow=1\n"),
    );
    watch.observe(200.1, devices("tsc", ALL));
    watch.observe(210.0, devices("tsc", ALL));
    let told = watch.take_events();
    assert_eq!(kinds(&told), [Kind::ContradictedEvidence]);
    let line = told[0].line();
    assert!(
        line.contains("neither confirms nor disproves") && !line.contains("did not happen"),
        "{line}"
    );
}

/// With periodic ticks the kernel lists a demoted clocksource, at the end.
#[test]
fn demotion_with_periodic_ticks_is_reported() {
    let mut watch = watching();
    watch.observe(200.0, Observation::KernelSaid(GIVEN_UP));
    watch.observe(200.1, devices("hpet", "hpet acpi_pm tsc"));
    watch.observe(200.2, assessed("hpet", "hpet acpi_pm tsc", LOG, 1_300.0));
    let events = kinds(&watch.take_events());
    assert!(events.contains(&Kind::Demotion), "{events:?}");
}

#[test]
fn an_old_demotion_is_not_a_reason_for_a_new_change() {
    let mut watch = watching();
    let said = "[ 9.0] tsc: Marking TSC unstable due to clocksource watchdog\n";
    watch.observe(200.0, Observation::KernelSaid(said));
    watch.observe(200.0, devices("tsc", ALL));
    watch.observe(203.0, devices("tsc", ALL));
    assert_eq!(kinds(&watch.take_events()), [Kind::ContradictedEvidence]);
    watch.observe(5_000.0, devices("hpet", ALL));
    watch.observe(5_000.0, assessed("hpet", ALL, LOG, 1_200.0));
    let events = watch.take_events();
    assert_eq!(events[0].reason.as_ref().unwrap().cause.as_deref(), Some("runtime-override"));
}

#[test]
fn a_switch_counts_when_sysfs_shows_it() {
    let mut watch = watching();
    let said = "[ 1.0] clocksource: Switched to clocksource hpet\n\
                [ 1.1] clocksource: Switched to clocksource acpi_pm\n\
                [ 1.2] clocksource: Switched to clocksource tsc\n";
    watch.observe(200.0, Observation::KernelSaid(said));
    // sysfs does not show it: the change was temporary or never happened, and is not
    // reported.
    watch.observe(200.0, devices("tsc", ALL));
    watch.observe(210.0, devices("tsc", ALL));
    assert_eq!(kinds(&watch.take_events()), [Kind::ContradictedEvidence]);
    // The log first, and sysfs confirms it.
    let said = "[ 2.0] clocksource: Switched to clocksource hpet\n";
    assert!(watch.observe(220.0, Observation::KernelSaid(said)).confirm);
    assert!(watch.observe(220.0, devices("hpet", ALL)).assess);
    watch.observe(220.0, assessed("hpet", ALL, LOG, 1_200.0));
    let events = watch.take_events();
    assert_eq!(kinds(&events), [Kind::ClocksourceChange, Kind::StateChange]);
    // The reverse order: sysfs first, the log later.
    let mut watch = watching();
    watch.observe(201.0, devices("hpet", ALL));
    watch.observe(201.0, Observation::KernelSaid(said));
    watch.observe(201.0, assessed("hpet", ALL, LOG, 1_200.0));
    let events = watch.take_events();
    assert_eq!(kinds(&events), [Kind::ClocksourceChange, Kind::StateChange]);
    assert_eq!(
        events[0].line(),
        "tsc -> hpet: a service, a tool or a person wrote hpet to \
        current_clocksource: tsc is still available, and the kernel did not complain about it \
        [runtime-override]"
    );
    // A mirror without sysfs has nothing but the log.
    let mut deaf = Watch::new(100.0, Thresholds::default(), true, History::default());
    deaf.observe(
        101.0,
        Observation::KernelSaid("[ 1.0] clocksource: Switched to clocksource tsc\n"),
    );
    deaf.observe(102.0, Observation::KernelSaid(said));
    deaf.observe(103.0, assessed("hpet", ALL, LOG, 1_200.0));
    assert_eq!(kinds(&deaf.take_events()), [Kind::ClocksourceChange]);
}

#[test]
fn change_between_two_watches_is_reported() {
    let mut earlier = watching();
    earlier.observe(150.0, devices("hpet", ALL));
    earlier.observe(150.0, assessed("hpet", ALL, LOG, 1_200.0));
    let begin = |boot: &str, current: &str| {
        let mut history = History::default();
        history.load(&earlier.history().json_lines());
        let mut watch = Watch::new(500.0, Thresholds::default(), true, history);
        watch.observe(500.0, devices(current, ALL));
        watch.started(500.0, Some(boot));
        watch.observe(500.0, assessed(current, ALL, LOG, 30.0));
        kinds(&watch.take_events())
    };
    assert_eq!(begin("boot", "hpet"), [Kind::Started]);
    assert_eq!(begin("boot", "tsc"), [Kind::Started, Kind::ClocksourceChange]);
    assert_eq!(begin("another", "tsc"), [Kind::Started]);
}

#[test]
fn a_cost_that_stays_high_is_reported_once() {
    let mut watch = watching();
    for i in 0..10 {
        assert!(!watch.observe(f64::from(i), assessed("tsc", ALL, LOG, 25.0)).again);
    }
    assert!(watch.observe(20.0, assessed("tsc", ALL, LOG, 60.0)).again);
    assert!(watch.observe(21.0, assessed("tsc", ALL, LOG, 61.0)).again);
    assert!(!watch.observe(22.0, assessed("tsc", ALL, LOG, 60.0)).again);
    watch.observe(23.0, assessed("tsc", ALL, LOG, 60.0));
    let events = watch.take_events();
    assert_eq!(kinds(&events), [Kind::CostChange]);
    assert!(events[0].text.contains("60 ns (before: 25 ns)"), "{}", events[0].text);
}

#[test]
fn warps_and_stalls() {
    let mut watch = watching();
    let warp = "[ 5.0] Measured 66930 cycles TSC warp between CPUs, turning off TSC clock.\n";
    watch.observe(1.0, Observation::KernelSaid(warp));
    // The kernel turns the TSC off, and sysfs shows it.
    watch.observe(1.0, devices("hpet", "hpet acpi_pm"));
    let told = kinds(&watch.take_events());
    assert_eq!(told, [Kind::AvailableChange, Kind::Warp]);
    watch.observe(2.0, Observation::Tested { cpus: vec![0, 1], faults: vec!["offset".to_owned()] });
    watch.observe(3.0, Observation::Tested { cpus: vec![0, 1], faults: vec!["offset".to_owned()] });
    watch.observe(4.0, Observation::Tested { cpus: vec![0, 1], faults: Vec::new() });
    let late = |seconds, waited, suspended| Observation::Late { seconds, waited, suspended };
    watch.observe(5.0, late(5.0, Some(0.0), 0.0));
    watch.observe(6.0, late(5.0, Some(4.9), 0.0));
    watch.observe(7.0, late(60.0, None, 60.0));
    let events = watch.take_events();
    use Kind::{Stall, Warp};
    assert_eq!(kinds(&events), [Warp, Stall, Stall, Stall]);
    assert!(events[1].line().contains("did not run for"));
    assert!(events[2].line().contains("busy"));
    assert!(events[3].line().contains("suspended"));
    assert_eq!(watch.counts().find(|(kind, ..)| *kind == Warp).unwrap().1, 2);
}

proptest! {
    #[test]
    fn a_kernel_may_say_anything(text in any::<String>(), more in "[a-z:' 0-9]{0,80}") {
        let mut watch = watching();
        watch.observe(1.0, Observation::KernelSaid(&text));
        watch.observe(1.0, Observation::KernelSaid(&format!("clocksource: {more}")));
    }

    /// Lines that any user can write into the log do not cause events as long as sysfs does not change.
    #[test]
    fn log_alone_makes_no_event(lines in proptest::collection::vec(0usize..4, 1..60)) {
        let mut watch = watching();
        let forged: Vec<&str> = FORGED.lines().chain(["x"]).collect();
        for (second, line) in (0u32..).zip(lines) {
            let time = 200.0 + f64::from(second);
            watch.observe(time, Observation::KernelSaid(forged[line]));
            watch.observe(time, devices("tsc", ALL));
        }
        watch.observe(400.0, devices("tsc", ALL));
        let told = kinds(&watch.take_events());
        prop_assert!(told.iter().all(|kind| *kind == Kind::ContradictedEvidence), "{told:?}");
    }

    #[test]
    fn no_switch_is_lost_and_none_invented(names in proptest::collection::vec(0usize..3, 1..40)) {
        let all = ["tsc", "hpet", "acpi_pm"];
        let mut watch = watching();
        let mut current = "tsc";
        let mut switches = 0;
        for (second, name) in (0u32..).zip(names) {
            // Slower than the limit of events.
            let time = f64::from(second) * 10.0;
            if all[name] != current {
                switches += 1;
                current = all[name];
                let said = format!("[ 9.0] clocksource: Switched to clocksource {current}\n");
                watch.observe(time, Observation::KernelSaid(&said));
            }
            watch.observe(time, devices(current, ALL));
        }
        watch.observe(1_000.0, assessed(current, ALL, LOG, 25.0));
        let told = kinds(&watch.take_events()).into_iter().filter(|kind| *kind == Kind::ClocksourceChange);
        prop_assert_eq!(told.count(), switches);
    }
}

#[test]
fn a_look_that_does_not_end_makes_the_state_unknown() {
    let mut watch = watching();
    watch.look_begins(10.0);
    watch.notice_overdue(130.0, 39.0);
    assert_eq!(watch.latest().unwrap().judgement.state, State::Ok);
    watch.notice_overdue(131.0, 41.0);
    assert_eq!(watch.latest().unwrap().judgement.state, State::Unknown);
    watch.notice_overdue(132.0, 42.0);
    let events = watch.take_events();
    assert_eq!(kinds(&events), [Kind::StateChange]);
    assert_eq!(events[0].to.as_deref(), Some("unknown"));
    watch.look_ended();
    watch.observe(140.0, assessed("tsc", ALL, LOG, 25.0));
    assert_eq!(watch.latest().unwrap().judgement.state, State::Ok);
    assert_eq!(kinds(&watch.take_events()), [Kind::StateChange]);
    // Without one, the passing of time is not an examination.
    watch.notice_overdue(900.0, 900.0);
    assert_eq!(watch.latest().unwrap().judgement.state, State::Ok);
}
