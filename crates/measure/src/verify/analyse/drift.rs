//! The counter against the kernel's clocks over time: rate, jumps, stalls.

use super::lines::{self, Bar};
use super::{Found, shown};
use crate::verify::outcome::{Drift, FindingId, Interval, Weight};
use crate::verify::samples::{Point, Samples};

/// Points that an analysis needs.
const LEAST: usize = 8;
/// Points wider than this many medians are left out.
const WIDE: f64 = 8.0;
/// Slack of every comparison, in nanoseconds: rounding, and the order of reads within a bracket.
const SLACK_NS: f64 = 100.0;
/// Wander of the rate that is not a fault, as a share.
const WANDER: f64 = 20e-6;
/// A change of the rate from which on it is a fault, in millionths.
const CHANGE_PPM: f64 = 10.0;
/// A gap from which on it is a stall, in nanoseconds.
const STALL_NS: f64 = 50e6;
/// Jumps from which on it is the rate that changes.
const MANY: usize = 5;
/// The coarsest step of a clock that is allowed for, in nanoseconds: twice that of the ACPI PM timer.
const COARSEST_NS: f64 = 600.0;

/// The results from the points.
pub(super) struct Course {
    pub(super) drift: Drift,
    /// The smallest jump that would have been seen, in nanoseconds.
    pub(super) jump_ns: f64,
    pub(super) jumped: bool,
    /// Ticks in a second of `CLOCK_MONOTONIC`.
    pub(super) monotonic: Interval,
}

/// A point in local units: nanoseconds and ticks since the first one.
struct Local {
    raw: Bar,
    mono: Bar,
    user: Bar,
}

pub(super) fn find(samples: &Samples, found: &mut Found) -> Option<Course> {
    let points = &samples.points;
    stalls(points, found);
    if samples.counter_gap.is_some() {
        return None;
    }
    let too_few = |found: &mut Found, count: usize| {
        found.untested.push(format!(
            "rate and jumps of the counter: it was read only {count} times beside the kernel's clock"
        ));
    };
    let all: Vec<Local> = points.first().map_or_else(Vec::new, |first| locals(first, points));
    let mut widths: Vec<f64> = all.iter().map(|local| local.raw.width()).collect();
    let Some(width) = lines::median(&mut widths) else {
        too_few(found, 0);
        return None;
    };
    let is_narrow = |local: &Local| {
        local.raw.width() <= WIDE * width + 1.0 && local.mono.width() <= WIDE * width + 1.0
    };
    let (kept, wide): (Vec<Local>, Vec<Local>) = all.into_iter().partition(is_narrow);
    if kept.len() < LEAST {
        too_few(found, kept.len());
        return None;
    }
    let raw: Vec<Bar> = kept.iter().map(|local| local.raw).collect();
    let mono: Vec<Bar> = kept.iter().map(|local| local.mono).collect();
    let user: Vec<Bar> = kept.iter().map(|local| local.user).collect();
    let rate = lines::robust(&raw, 4).unwrap_or(0.0);
    if !(rate.is_finite() && rate > 0.0) {
        found.add(
            FindingId::CounterRate,
            Weight::Counter,
            "The counter does not go forward".to_owned(),
            vec![format!("{rate} ticks in a nanosecond of CLOCK_MONOTONIC_RAW")],
        );
        return None;
    }
    let grain = grain(samples);
    let (jump_ns, pieces) = jumps(&raw, rate, width, (grain, samples.wander), found);
    let jumped = pieces.len() > 1;
    let piece = pieces.into_iter().max_by_key(ExactSizeIterator::len)?;
    let (raw, mono) = (raw.get(piece.clone())?, mono.get(piece)?);
    let slack = (20.0 + grain) * rate;
    let slope = lines::slope(raw, slack)?;
    let steered = lines::slope(mono, slack)?;
    let change = change(raw, slack, CHANGE_PPM.max(samples.wander * 1e6), found);
    let per_second =
        |interval: Interval| Interval { low: interval.low * 1e9, high: interval.high * 1e9 };
    let steering = Interval {
        low: ppm(slope.interval.low, steered.interval.high),
        high: ppm(slope.interval.high, steered.interval.low),
    };
    let user =
        lines::slope(&user, 20.0).map_or(Interval { low: f64::MIN, high: f64::MAX }, |slope| {
            Interval { low: slope.interval.low * 1e6, high: slope.interval.high * 1e6 }
        });
    let seconds = raw.last()?.x - raw.first()?.x;
    let drift = Drift {
        points: kept.len(),
        left_out: wide.len(),
        seconds: seconds / 1e9,
        width_ns: width / rate,
        hz: slope.best * 1e9,
        hz_interval: per_second(slope.interval),
        monotonic_hz: steered.best * 1e9,
        steering_ppm: steering,
        user_ppm: user,
        change_ppm: change,
    };
    Some(Course { drift, jump_ns, jumped, monotonic: per_second(steered.interval) })
}

/// Points that go forward, relative to the first one. A reading that went back within itself is left out; its
/// neighbours show the fault.
fn locals(first: &Point, points: &[Point]) -> Vec<Local> {
    let ticks = |value: u64| value.wrapping_sub(first.ticks.0) as i64 as f64;
    let ns = |value: i64, base: i64| value.saturating_sub(base) as f64;
    points
        .iter()
        .filter(|point| {
            let (a, b, c) = point.ticks;
            b.wrapping_sub(a) as i64 >= 0 && c.wrapping_sub(b) as i64 >= 0
        })
        .map(|point| {
            let (a, b, c) = point.ticks;
            let (before, user, after) = point.user;
            Local {
                raw: Bar { x: ns(point.raw, first.raw), low: ticks(a), high: ticks(b) },
                mono: Bar { x: ns(point.mono, first.mono), low: ticks(b), high: ticks(c) },
                user: Bar {
                    x: ns(before, first.user.0),
                    low: ns(user, after),
                    high: ns(user, before),
                },
            }
        })
        .collect()
}

/// The step in which the kernel's clock moves, in nanoseconds, as far as it was seen.
fn grain(samples: &Samples) -> f64 {
    use crate::verify::source::ClockId;
    samples
        .steps
        .iter()
        .find(|steps| steps.clock == Some(ClockId::MonotonicRaw))
        .and_then(|steps| steps.smallest)
        .map_or(COARSEST_NS, |step| (step as f64).min(COARSEST_NS))
}

/// Returns the smallest detectable jump, and the parts between jumps.
fn jumps(
    bars: &[Bar],
    rate: f64,
    width: f64,
    (grain, wander): (f64, f64),
    found: &mut Found,
) -> (f64, Vec<std::ops::Range<usize>>) {
    let span = bars.last().map_or(0.0, |last| last.x) / 4.0;
    let wander = (2.0 * width / rate / span.max(1.0)).max(WANDER).max(wander);
    let mut pieces = Vec::new();
    let (mut begin, mut seen) = (0, 0.0f64);
    let mut evidence = Vec::new();
    let mut largest = 0.0f64;
    for (index, two) in bars.windows(2).enumerate() {
        let &[a, b] = two else { continue };
        // The expected place of the second bar, by the first one and the rate; in nanoseconds.
        let run = b.x - a.x;
        let low = (b.low - a.high) / rate - run;
        let high = (b.high - a.low) / rate - run;
        let slack = SLACK_NS + 2.0 * grain + wander * run.abs();
        seen = seen.max((a.width() + b.width()) / rate + slack);
        let beyond = Interval { low, high }.beyond_zero();
        if beyond > slack {
            let size = f64::midpoint(low, high);
            largest = if size.abs() > largest.abs() { size } else { largest };
            evidence.push(format!(
                "{} {} after {:.3} s, between two readings {} apart",
                shown(size.abs()),
                if size > 0.0 { "forward" } else { "back" },
                a.x / 1e9,
                shown(run)
            ));
            pieces.push(begin..index + 1);
            begin = index + 1;
        }
    }
    pieces.push(begin..bars.len());
    // A difference that occurs all the time is not a jump.
    if evidence.len() >= MANY {
        found.add(
            FindingId::CounterRateChanged,
            Weight::Counter,
            "The counter's rate against the kernel's clock is not constant".to_owned(),
            evidence,
        );
    } else if !evidence.is_empty() {
        let times = match evidence.len() {
            1 => "once, by",
            _ => "several times, at most by",
        };
        found.add(
            FindingId::CounterJump,
            Weight::Counter,
            format!(
                "The counter jumped against the kernel's clock {times} {}",
                shown(largest.abs())
            ),
            evidence,
        );
    }
    (seen, pieces)
}

/// Returns how much faster the second half ran than the first.
fn change(bars: &[Bar], slack: f64, limit: f64, found: &mut Found) -> Option<Interval> {
    let (first, second) = bars.split_at(bars.len() / 2);
    if first.len() < LEAST {
        return None;
    }
    let (first, second) = (lines::slope(first, slack)?, lines::slope(second, slack)?);
    let change = Interval {
        low: ppm(second.interval.low, first.interval.high),
        high: ppm(second.interval.high, first.interval.low),
    };
    if change.beyond_zero() > limit {
        found.add(
            FindingId::CounterRateChanged,
            Weight::Counter,
            format!("The counter's rate changed by {:.0} ppm or more", change.beyond_zero()),
            vec![format!(
                "{:.0} Hz in the first half, {:.0} Hz in the second",
                first.best * 1e9,
                second.best * 1e9
            )],
        );
    }
    Some(change)
}

/// Returns how much larger `value` is than `base`, in millionths.
pub(super) fn ppm(value: f64, base: f64) -> f64 {
    (value / base - 1.0) * 1e6
}

/// Times in which nothing was read, though it should have been.
fn stalls(points: &[Point], found: &mut Found) {
    let mut gaps: Vec<f64> = points
        .windows(2)
        .filter_map(|two| {
            let &[a, b] = two else { return None };
            Some(b.raw.saturating_sub(a.raw) as f64)
        })
        .collect();
    let all = gaps.clone();
    let Some(usual) = lines::median(&mut gaps) else { return };
    let long: Vec<f64> = all.into_iter().filter(|gap| *gap > STALL_NS.max(10.0 * usual)).collect();
    if long.is_empty() {
        return;
    }
    let longest = long.iter().copied().fold(0.0, f64::max);
    found.add(
        FindingId::Stall,
        Weight::Note,
        format!(
            "Nothing could be read for up to {}: this thread, or the whole machine, was stopped, \
             and the clocks continued",
            shown(longest)
        ),
        long.iter().map(|gap| format!("{} between two readings", shown(*gap))).collect(),
    );
}
