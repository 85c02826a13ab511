//! Claims about the counter's frequency, compared with each other and with the measurement.

use super::Found;
use super::drift::{Course, ppm};
use crate::verify::outcome::{FindingId, Frequency, Interval, RateReference, Weight};
use crate::verify::samples::Samples;

/// An error of the rate in user space from which on it is a fault, in millionths. Both ways of
/// reading are made of the same numbers, so a healthy machine has none at all.
pub(super) const USER_PPM: f64 = 10.0;

pub(super) fn find(
    samples: &Samples,
    course: Option<&Course>,
    found: &mut Found,
) -> Vec<Frequency> {
    let mut claims = samples.claims.clone();
    claims.retain(|claim| claim.hz.is_finite() && claim.hz > 0.0);
    differ(&claims, found);
    let Some(course) = course else { return claims };
    let mut evidence = Vec::new();
    let mut notes = Vec::new();
    let user = course.drift.user_ppm;
    // After a jump a straight line through all points has no meaning.
    if !course.jumped && user.beyond_zero() > USER_PPM {
        evidence.push(format!(
            "CLOCK_MONOTONIC in user space, which is computed from the counter, runs {} than in the \
             kernel",
            faster(user)
        ));
    }
    for claim in &mut claims {
        let measured = if claim.steered { course.monotonic } else { course.drift.hz_interval };
        let off = Interval { low: ppm(measured.low, claim.hz), high: ppm(measured.high, claim.hz) };
        claim.measured_ppm = Some(off);
        if off.beyond_zero() > claim.doubt_ppm {
            let line = format!(
                "{:.6} MHz according to {}; measured {:.6} MHz, {} (up to {:.0} ppm would be within \
                 the error)",
                claim.hz / 1e6,
                claim.source,
                course.drift.hz / 1e6,
                faster(off),
                claim.doubt_ppm
            );
            if claim.decisive { evidence.push(line) } else { notes.push(line) }
        }
    }
    if !evidence.is_empty() {
        let summary = "The counter does not run at the rate that the kernel assumes".to_owned();
        found.add(FindingId::CounterRate, Weight::Counter, summary, evidence);
    }
    if !notes.is_empty() {
        let summary = "The counter does not run at a frequency that is stated for it".to_owned();
        found.add(FindingId::FrequenciesDiffer, Weight::Note, summary, notes);
    }
    claims
}

fn differ(claims: &[Frequency], found: &mut Found) {
    let mut evidence = Vec::new();
    for (index, a) in claims.iter().enumerate() {
        for b in claims.iter().skip(index + 1) {
            let apart = ppm(a.hz, b.hz).abs();
            if apart > a.doubt_ppm + b.doubt_ppm {
                evidence.push(format!(
                    "{:.6} MHz according to {}, {:.6} MHz according to {}: {apart:.0} ppm apart",
                    a.hz / 1e6,
                    a.source,
                    b.hz / 1e6,
                    b.source
                ));
            }
        }
    }
    if !evidence.is_empty() {
        let summary = "The stated frequencies of the counter differ".to_owned();
        found.add(FindingId::FrequenciesDiffer, Weight::Note, summary, evidence);
    }
}

fn faster(off: Interval) -> String {
    let (low, high) = (off.low, off.high);
    if low > 0.0 {
        format!("{low:.0} to {high:.0} ppm faster")
    } else {
        format!("{:.0} to {:.0} ppm slower", -high, -low)
    }
}

/// A reference for the rate of the clocks that is independent of the counter, and the error that it leaves possible.
pub(super) fn reference(
    samples: &Samples,
    course: Option<&Course>,
    frequencies: &[Frequency],
) -> RateReference {
    let width = |interval: Interval| interval.high - interval.low;
    let claimed = frequencies
        .iter()
        .filter(|claim| claim.independent)
        // A claim that the measurement contradicts confirms nothing.
        .filter(|claim| claim.measured_ppm.is_some_and(|off| off.beyond_zero() <= claim.doubt_ppm))
        .filter_map(|claim| {
            Some((claim.source.clone(), 2.0 * claim.doubt_ppm + width(claim.measured_ppm?)))
        });
    // The counter was measured against a clock that is not made of it.
    let other = course
        .filter(|_| !samples.counter_is_clock)
        .and_then(|course| Some((course, frequencies.iter().find(|claim| claim.decisive)?)))
        .and_then(|(_, claim)| {
            let error = 2.0 * claim.doubt_ppm + width(claim.measured_ppm?);
            Some(("the kernel's clock, which is not based on the counter".to_owned(), error))
        });
    let best = claimed
        .chain(samples.confirmed.iter().cloned())
        .chain(other)
        .filter(|(_, error)| error.is_finite())
        .min_by(|a, b| a.1.total_cmp(&b.1));
    RateReference {
        error_ppm: best.as_ref().map(|(_, error)| *error),
        source: best.map(|(source, _)| source),
        only_gap: false,
    }
}

/// The smallest constant error of the rate that would have been found, in millionths.
pub(super) fn detectable(
    samples: &Samples,
    course: &Course,
    frequencies: &[Frequency],
) -> Option<f64> {
    // An error is found once its whole interval is beyond the limit, wherever in it the truth is.
    let width = |interval: Interval| interval.high - interval.low;
    let by_user = samples
        .user_clock_is_counter
        .then(|| USER_PPM + width(course.drift.user_ppm))
        .filter(|ppm| ppm.is_finite());
    let by_claim = frequencies
        .iter()
        .filter(|claim| claim.decisive)
        // The claim itself may be off by its doubt, in the other direction.
        .filter_map(|claim| Some(2.0 * claim.doubt_ppm + width(claim.measured_ppm?)))
        .min_by(f64::total_cmp);
    match (by_user, by_claim) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
