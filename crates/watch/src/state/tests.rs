use super::*;
use crate::judge::tests::diagnosis;
use clocksmith_diagnose::{Path, Read};
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
    let diagnosis = Box::new(diagnosis(current, available, Some(log), reads));
    Observation::Assessed { diagnosis, counter_ns: Some(8.0), log: true }
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
fn a_demotion_is_told_with_its_cause() {
    let mut watch = watching();
    assert!(watch.observe(200.0, Observation::KernelSaid(GIVEN_UP)).assess);
    watch.observe(200.0, devices("hpet", "hpet acpi_pm"));
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
    // Somebody goes on by hand: the demotion of before is no reason for that.
    watch.observe(300.0, devices("acpi_pm", "hpet acpi_pm"));
    watch.observe(300.0, assessed("acpi_pm", "hpet acpi_pm", &log, 2_000.0));
    let events = watch.take_events();
    let reason = events[0].reason.as_ref().unwrap();
    assert_eq!(reason.cause.as_deref(), Some("runtime-override"), "{events:?}");
}

#[test]
fn an_old_demotion_is_no_reason_for_a_new_change() {
    let mut watch = watching();
    watch.observe(
        200.0,
        Observation::KernelSaid("[ 9.0] tsc: Marking TSC unstable due to clocksource watchdog\n"),
    );
    watch.observe(200.0, assessed("tsc", ALL, LOG, 25.0));
    assert_eq!(kinds(&watch.take_events()), [Kind::Demotion]);
    watch.observe(5_000.0, devices("hpet", ALL));
    watch.observe(5_000.0, assessed("hpet", ALL, LOG, 1_200.0));
    let events = watch.take_events();
    assert_eq!(events[0].reason.as_ref().unwrap().cause.as_deref(), Some("runtime-override"));
}

#[test]
fn every_switch_counts_also_between_two_looks_at_sysfs() {
    let mut watch = watching();
    let said = "[ 1.0] clocksource: Switched to clocksource hpet\n\
                [ 1.1] clocksource: Switched to clocksource acpi_pm\n\
                [ 1.2] clocksource: Switched to clocksource tsc\n";
    watch.observe(200.0, Observation::KernelSaid(said));
    // sysfs shows nothing of it.
    watch.observe(200.0, devices("tsc", ALL));
    watch.observe(200.0, assessed("tsc", ALL, LOG, 25.0));
    assert_eq!(kinds(&watch.take_events()), [Kind::ClocksourceChange; 3]);
    // And the other way around: sysfs first, the log later.
    watch.observe(201.0, devices("hpet", ALL));
    watch.observe(
        201.0,
        Observation::KernelSaid("[ 2.0] clocksource: Switched to clocksource hpet\n"),
    );
    watch.observe(201.0, assessed("hpet", ALL, LOG, 1_200.0));
    let events = watch.take_events();
    assert_eq!(kinds(&events), [Kind::ClocksourceChange, Kind::StateChange]);
    assert_eq!(
        events[0].line(),
        "tsc -> hpet: somebody (a service, a tool, a person) wrote hpet to \
        current_clocksource: tsc is still available, and the kernel did not complain about it \
        [runtime-override]"
    );
}

#[test]
fn what_changed_while_nobody_watched_is_told() {
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
fn a_cost_that_stays_high_is_told_once() {
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
    watch.observe(2.0, Observation::Tested { cpus: vec![0, 1], faults: vec!["offset".to_owned()] });
    watch.observe(3.0, Observation::Tested { cpus: vec![0, 1], faults: vec!["offset".to_owned()] });
    watch.observe(4.0, Observation::Tested { cpus: vec![0, 1], faults: Vec::new() });
    let late = |seconds, waited, suspended| Observation::Late { seconds, waited, suspended };
    watch.observe(5.0, late(5.0, Some(0.0), 0.0));
    watch.observe(6.0, late(5.0, Some(4.9), 0.0));
    watch.observe(7.0, late(60.0, None, 60.0));
    let events = watch.take_events();
    use Kind::{Stall, Warp};
    assert_eq!(kinds(&events), [Warp, Warp, Stall, Stall, Stall]);
    assert!(events[2].line().contains("stood still"));
    assert!(events[3].line().contains("busy"));
    assert!(events[4].line().contains("suspended"));
    assert_eq!(watch.counts().find(|(kind, ..)| *kind == Warp).unwrap().1, 2);
}

proptest! {
    #[test]
    fn a_kernel_may_say_anything(text in any::<String>(), more in "[a-z:' 0-9]{0,80}") {
        let mut watch = watching();
        watch.observe(1.0, Observation::KernelSaid(&text));
        watch.observe(1.0, Observation::KernelSaid(&format!("clocksource: {more}")));
    }

    #[test]
    fn no_switch_is_lost_and_none_invented(names in proptest::collection::vec(0usize..3, 1..40)) {
        let all = ["tsc", "hpet", "acpi_pm"];
        let mut watch = watching();
        let mut current = "tsc";
        let mut switches = 0;
        for name in names {
            if all[name] != current {
                switches += 1;
                current = all[name];
                let said = format!("[ 9.0] clocksource: Switched to clocksource {current}\n");
                watch.observe(1.0, Observation::KernelSaid(&said));
            }
            watch.observe(1.0, devices(current, ALL));
        }
        watch.observe(1.0, assessed(current, ALL, LOG, 25.0));
        let told = kinds(&watch.take_events()).into_iter().filter(|kind| *kind == Kind::ClocksourceChange);
        prop_assert_eq!(told.count(), switches);
    }
}
