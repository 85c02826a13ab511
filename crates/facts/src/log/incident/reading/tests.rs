use super::*;

const PM: f64 = 16_777_216.0 / 3_579_545.0;

fn pair(wd: f64, cs: f64) -> Pair {
    Pair {
        wd,
        cs: Some(cs),
        cs_hz: Some(3e9),
        repeats: true,
        wd_rate_known: true,
        ..Pair::default()
    }
}

fn has(found: &[Reading], test: impl Fn(&Hypothesis) -> bool) -> bool {
    found.iter().any(|reading| test(&reading.hypothesis))
}

#[test]
fn readings_short_reference_names_rate_without_a_culprit() {
    let found = readings(&pair(0.4275, 0.513));
    assert!(matches!(
        found.first(),
        Some(Reading { hypothesis: Hypothesis::Rate { .. }, fit: Fit::Likely })
    ));
}

#[test]
fn readings_reference_far_ahead_names_a_jump_and_no_rate() {
    for wd in [2.0, 5.0, 26.0, 60.0, 3600.0, 86_400.0] {
        let found = readings(&Pair { cs_hz: None, ..pair(wd, 0.48) });
        assert!(has(&found, |h| matches!(h, Hypothesis::ClocksourceJumped { .. })), "{found:?}");
        assert!(has(&found, |h| matches!(h, Hypothesis::ReferenceJumped { .. })), "{found:?}");
        assert!(!has(&found, |h| matches!(h, Hypothesis::Rate { .. })), "{found:?}");
        assert!(!has(&found, |h| matches!(h, Hypothesis::LateRead { .. })), "{found:?}");
        assert!(found.iter().all(|r| r.fit < Fit::Shown), "{found:?}");
    }
}

#[test]
fn readings_difference_of_a_read_blames_neither() {
    for (wd, cs) in [(88e-6, 86.1e-6), (772e-6, 770.4e-6), (0.511_979, 0.512_179)] {
        let found = readings(&pair(wd, cs));
        assert!(matches!(found[..], [Reading { hypothesis: Hypothesis::TooSmall { .. }, .. }]));
    }
}

#[test]
fn readings_bracketed_reads_explain_a_quarter_of_a_millisecond_at_most() {
    let first = |repeats| readings(&Pair { repeats, ..pair(0.495_115, 0.495_992) })[0].hypothesis;
    assert!(matches!(first(true), Hypothesis::Rate { .. }));
    assert!(matches!(first(false), Hypothesis::TooSmall { .. }));
}

#[test]
fn readings_of_difference_at_the_overflow_name_no_jump() {
    for difference in [4_398.037_966, 4_398.045_289] {
        let found = readings_of_difference(difference, &[PM]);
        assert!(matches!(found[..], [Reading { hypothesis: Hypothesis::Overflow { .. }, .. }]));
    }
}

#[test]
fn readings_of_difference_at_a_multiple_of_a_scale_of_31_bits_are_first_an_overflow() {
    for difference in [-8.589_935_096, -17.179_860_571, -137.438_883_487] {
        let found = readings_of_difference(difference, &[PM]);
        assert!(matches!(found[0].hypothesis, Hypothesis::Overflow { .. }), "{found:?}");
        assert!(has(&found, |h| matches!(h, Hypothesis::ClocksourceJumped { .. })), "{found:?}");
    }
    // A clocksource that is ahead, and an interval that only resembles a multiple.
    for difference in [8.589_935_096, -8.5925, -137.43] {
        let found = readings_of_difference(difference, &[PM]);
        assert!(!has(&found, |h| matches!(h, Hypothesis::Overflow { .. })), "{found:?}");
    }
}

#[test]
fn readings_without_rate_above_every_processor_are_open() {
    let at =
        |hz: f64| Pair { cs: None, cs_hz: None, cs_cycles: Some(0.19 * hz), ..pair(0.19, 0.0) };
    let found = readings(&Pair { repeats: false, ..at(5.1e9) });
    assert!(!has(&found, |h| matches!(h, Hypothesis::PlausibleRate { .. })), "{found:?}");
    assert!(found.iter().all(|reading| reading.fit == Fit::Possible), "{found:?}");
    assert!(has(&readings(&at(3e9)), |h| matches!(h, Hypothesis::PlausibleRate { .. })));
}

#[test]
fn readings_wrap_with_known_rate_is_shown() {
    let found = readings(&Pair { period: Some(PM), ..pair(0.813, 0.813 + PM) });
    assert!(matches!(
        found[..],
        [Reading { hypothesis: Hypothesis::StoodStill { wraps: 1, .. }, fit: Fit::Shown }]
    ));
}

#[test]
fn readings_clocksource_back_is_shown_by_its_own_reads() {
    let found = readings(&pair(0.5, -190_000.0));
    assert!(matches!(
        found[..],
        [Reading { hypothesis: Hypothesis::ClocksourceJumped { .. }, fit: Fit::Shown }]
    ));
}

#[test]
fn readings_of_difference_takes_wraps_of_both_signs() {
    let wrapped = readings_of_difference(4.6869, &[PM]);
    assert!(has(&wrapped, |h| matches!(h, Hypothesis::StoodStill { wraps: 1, .. })));
    let back = readings_of_difference(-4.679, &[PM]);
    assert!(matches!(
        back.first(),
        Some(Reading { hypothesis: Hypothesis::ReferenceJumped { .. }, fit: Fit::Likely })
    ));
    let far = readings_of_difference(-8.7, &[PM]);
    assert!(matches!(far[0].hypothesis, Hypothesis::ClocksourceJumped { .. }), "{far:?}");
}

#[test]
fn readings_of_difference_names_no_rate_in_ppm() {
    let found = readings_of_difference(-0.1316, &[PM]);
    assert!(has(&found, |h| matches!(h, Hypothesis::Rate { ppm: None })));
    assert!(found.iter().all(|reading| reading.fit == Fit::Possible));
}

#[test]
fn readings_of_a_reference_of_ticks_behind_are_first_lost_ticks() {
    for (wd, cs) in [(0.5, 1.214), (0.484, 0.5696), (0.548, 0.8708)] {
        let found = readings(&Pair { ticks: true, repeats: false, ..pair(wd, cs) });
        assert!(matches!(found[0].hypothesis, Hypothesis::TicksLost { .. }), "{found:?}");
        assert!(!has(&found, |h| matches!(h, Hypothesis::HeldUp { .. })), "{found:?}");
    }
}
