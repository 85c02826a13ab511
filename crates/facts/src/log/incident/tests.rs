use super::*;

fn decode(text: &str) -> (Incident, Decoded) {
    let log = KernelLog::scan(text.as_bytes(), "log").unwrap();
    let rates = Rates::of(&log);
    let incident = incidents(&log).into_iter().next().expect("an incident");
    let decoded = incident.decode(&rates);
    (incident, decoded)
}

fn first(decoded: &Decoded) -> Reading {
    *decoded.readings.first().expect("a reading")
}

const WRAPPED: &str = "[  384.2] clocksource: timekeeping watchdog: Marking clocksource 'tsc' as \
     unstable, because the skew is too large:\n\
     [  384.3] \t'acpi_pm' wd_now: 8d5199 wd_last: 60e92e mask: ffffff\n\
     [  384.4] \t'tsc' cs_now: 1981c973dc9 cs_last: 1940283c820 mask: ffffffffffffffff\n";

#[test]
fn pm_timer_wrapped_without_tsc_rate_gives_every_number_of_wraps_that_fits() {
    let (incident, decoded) = decode(WRAPPED);
    assert_eq!(incident.watchdog.as_deref(), Some("acpi_pm"));
    let Reading { hypothesis: Hypothesis::StoodStill { wraps, wraps_most, seconds }, fit } =
        first(&decoded)
    else {
        panic!("{decoded:?}");
    };
    assert_eq!((wraps, wraps_most), (1, 6));
    assert!((seconds - 5.500).abs() < 0.001, "{seconds}");
    assert_eq!(fit, Fit::Possible);
}

#[test]
fn pm_timer_wrapped_with_tsc_rate_gives_one_number_of_wraps() {
    let (_, decoded) =
        decode(&format!("[    0.0] tsc: Detected 3202.955 MHz processor\n{WRAPPED}"));
    let hypothesis = first(&decoded).hypothesis;
    assert!(
        matches!(hypothesis, Hypothesis::StoodStill { wraps: 1, wraps_most: 1, .. }),
        "{decoded:?}"
    );
}

#[test]
fn a_jump_of_hours_is_a_jump() {
    let (_, decoded) = decode(
        "[1346249.931484] clocksource: timekeeping watchdog on CPU17: Marking clocksource 'tsc' \
         as unstable because the skew is too large:\n\
         [1346249.931486] clocksource: 'hpet' wd_now: 9c5d0440 wd_last: 9bf64291 mask: ffffffff\n\
         [1346249.931487] clocksource: 'tsc' cs_now: 103b19f57d0eb5 cs_last: fc461fd0ba3a6 mask: \
         ffffffffffffffff\n",
    );
    assert!(decoded.readings.iter().any(
        |r| matches!(r.hypothesis, Hypothesis::ClocksourceJumped { seconds } if seconds > 10_000.0)
    ));
    assert!(!decoded.readings.iter().any(|r| matches!(r.hypothesis, Hypothesis::Rate { .. })));
}

#[test]
fn one_interval_of_nothing_is_a_glitch_or_a_step_back() {
    let (_, decoded) = decode(
        "Sep 11 07:03:06 kernel: clocksource: Clocksource 'tsc' skewed -485515617 ns (-485 ms) \
         over watchdog 'acpi_pm' interval of 485515617 ns (485 ms)\n\
         Sep 11 07:03:06 kernel: tsc: Marking TSC unstable due to clocksource watchdog\n",
    );
    assert_eq!(first(&decoded).hypothesis, Hypothesis::ClocksourceStuck);
}

#[test]
fn lines_of_two_consoles_are_one_incident() {
    let line = "[ 10.0] clocksource: Clocksource 'tsc' skewed -485515617 ns (-485 ms) over \
                watchdog 'acpi_pm' interval of 490000000 ns (490 ms)\n";
    let log = KernelLog::scan(format!("{line}{line}").as_bytes(), "log").unwrap();
    assert_eq!(incidents(&log).len(), 1);
}

#[test]
fn skipped_checks_demote_nothing() {
    let text = "[ 1.0] clocksource: timekeeping watchdog on CPU8: hpet wd-wd read-back delay of \
                92539ns\n[ 1.1] clocksource: wd-tsc-wd read-back delay of 90933ns, clock-skew \
                test skipped!\n";
    let log = KernelLog::scan(text.as_bytes(), "log").unwrap();
    assert!(!tsc_demoted(&log));
}

/// 3 204 229 287 cycles are 128.17 s at 25 MHz, and with two more wraps they match the TSC's count.
#[test]
fn hpet_of_unknown_rate_that_agrees_after_wraps_shows_a_stall() {
    let (_, decoded) = decode(
        "[ 2410.6] clocksource: timekeeping watchdog on CPU262: Marking clocksource 'tsc' as unstable because the skew is too large:\n\
         [ 2410.7] clocksource:   'hpet' wd_nsec: 0 wd_now: ffd70be2 wd_last: 40da633b mask: ffffffff\n\
         [ 2410.7] clocksource:   'tsc' cs_nsec: 471766594285 cs_now: 44f62c184e9 cs_last: 394a7a43771 mask: ffffffffffffffff\n",
    );
    assert!(!decoded.wd_rate_known);
    let Reading { hypothesis: Hypothesis::StoodStill { wraps, seconds, .. }, fit } =
        first(&decoded)
    else {
        panic!("{decoded:?}");
    };
    assert_eq!((wraps, fit), (2, Fit::Likely));
    assert!((seconds - 471.7666).abs() < 0.001, "{seconds}");
}

#[test]
fn difference_beyond_the_uptime_is_no_jump() {
    for (at, ns) in
        [(1.0, 4_397_484_128_212_i64), (27.06, 4_398_046_077_023), (2.0, 9_000_000_000_000)]
    {
        let (_, decoded) =
            decode(&format!("[    {at:.6}] Clocksource tsc unstable (delta = {ns} ns)\n"));
        let jumped = |r: &Reading| {
            matches!(
                r.hypothesis,
                Hypothesis::ClocksourceJumped { .. } | Hypothesis::ReferenceJumped { .. }
            )
        };
        assert!(!decoded.readings.iter().any(jumped), "{at}: {decoded:?}");
    }
}

#[test]
fn figures_that_no_kernel_prints_are_not_a_measurement() {
    let with = |wd: &str, cs: &str| {
        let (incident, _) = decode(&format!(
            "[ 9217.400000] clocksource: timekeeping watchdog on CPU1: Marking clocksource 'tsc' as unstable because the skew \
             is too large:\n[ 9217.400000] clocksource:   'hpet' {wd}\n[ 9217.400000] clocksource:   'tsc' {cs}\n"
        ));
        (incident.wd.is_some(), incident.cs.is_some())
    };
    let all = "ffffffffffffffff";
    for (wd, cs) in [
        (
            format!("wd_nsec: 18446744073709551615 wd_now: {all} wd_last: {all} mask: {all}"),
            format!("cs_nsec: 18446744073709551615 cs_now: {all} cs_last: {all} mask: {all}"),
        ),
        (
            "wd_nsec: -1 wd_now: -1 wd_last: -1 mask: -1".to_owned(),
            "cs_nsec: -1 cs_now: -1 cs_last: -1 mask: -1".to_owned(),
        ),
        (
            "wd_nsec: 503000000 wd_now: 7d wd_last: 7c mask: 0".to_owned(),
            "cs_nsec: 503000000 cs_now: 7d cs_last: 7c mask: 0".to_owned(),
        ),
        (
            format!("wd_nsec: 1 wd_now: {all}ffff wd_last: 0 mask: ffffffff"),
            format!("cs_nsec: 9223372036854775808 cs_now: 0 cs_last: {all} mask: {all}"),
        ),
        (
            "wd_nsec: 503000000 wd_now: 7c wd_last: 7c mask: ffffffff".to_owned(),
            format!("cs_nsec: 503000000 cs_now: 7c cs_last: 7c mask: {all}"),
        ),
    ] {
        assert_eq!(with(&wd, &cs), (false, false), "{wd}");
    }
    let right =
        format!("cs_nsec: 503000000 cs_now: 3fc1d8f2a1b0 cs_last: 3fc19d8f2a1b mask: {all}");
    assert_eq!(
        with("wd_nsec: 503845 wd_now: 9c5d0440 wd_last: 9bf64291 mask: ffffffff", &right),
        (true, true)
    );
}
