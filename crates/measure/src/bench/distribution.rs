//! How the cost of single calls is distributed; outliers are kept. Pure, except for its [`Timer`].

use super::row::Row;
use super::shape::{Loops, fence};
use super::vdso::Vdso;
use crate::reads;
use clocksmith_raw::counter;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// Figures are kept in tenths of a nanosecond.
const PER_NS: f64 = 10.0;
/// The longest call that is kept exactly: ten minutes. Longer ones count as that.
const MOST: u64 = 600 * 10_000_000_000;
/// Buckets of a plot for each doubling.
const PER_DOUBLING: f64 = 6.0;

/// The distribution of single calls, in nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Distribution {
    /// Number of calls.
    pub calls: u64,
    /// The fastest.
    pub min: f64,
    /// The median.
    pub p50: f64,
    /// One in ten takes longer.
    pub p90: f64,
    /// One in a hundred takes longer.
    pub p99: f64,
    /// One in a thousand takes longer.
    pub p999: f64,
    /// The slowest.
    pub max: f64,
    /// For plots: upper end in nanoseconds and number of calls, without empty ones.
    pub buckets: Vec<(f64, u64)>,
}

impl Distribution {
    /// The distribution of costs in nanoseconds; `None` without any. `step_ns` is the timer's step: no figure is finer.
    #[must_use]
    pub fn of(costs: impl IntoIterator<Item = f64>, step_ns: f64) -> Option<Self> {
        let mut histogram = Histogram::<u64>::new_with_bounds(1, MOST, 3).ok()?;
        for ns in costs {
            // Saturates; a cost below a tenth of a nanosecond counts as that.
            histogram.saturating_record(((ns.max(0.0) * PER_NS).round() as u64).clamp(1, MOST));
        }
        if histogram.is_empty() {
            return None;
        }
        let exact = |value: u64| if value <= 1 { 0.0 } else { value as f64 / PER_NS };
        let ns = |value: u64| whole_steps(exact(value), step_ns);
        let at = |quantile| ns(histogram.value_at_quantile(quantile).min(histogram.max()));
        let mut buckets: Vec<(f64, u64)> = Vec::new();
        for recorded in histogram.iter_recorded() {
            let upper = bucket(exact(recorded.value_iterated_to()));
            let count = recorded.count_since_last_iteration();
            match buckets.last_mut() {
                Some((last, calls)) if *last >= upper => *calls += count,
                _ => buckets.push((upper, count)),
            }
        }
        Some(Self {
            calls: histogram.len(),
            min: ns(histogram.min()),
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p999: at(0.999),
            max: ns(histogram.max()),
            buckets,
        })
    }
}

/// The nearest multiple of a step; the figure itself where the step is not known.
fn whole_steps(ns: f64, step_ns: f64) -> f64 {
    if step_ns > 1.0 / PER_NS && step_ns.is_finite() {
        (ns / step_ns).round() * step_ns
    } else {
        ns
    }
}

/// The step of a timer: the greatest number that divides all differences between its readings. 0 if all were zero.
fn common_step(readings: &[u64]) -> u64 {
    let divisor = |mut a: u64, mut b: u64| {
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    readings
        .windows(2)
        .filter_map(|two| Some(two.get(1)?.wrapping_sub(*two.first()?)))
        .fold(0, divisor)
}

/// The step of the counter on this processor, in ticks: on some it moves by several at once.
#[must_use]
pub fn counter_step() -> u64 {
    let readings: Vec<u64> = (0..1_000).map(|_| counter::read()).collect();
    common_step(&readings).max(1)
}

/// The upper end of the bucket that a figure falls into.
fn bucket(ns: f64) -> f64 {
    let index = (ns.max(1.0).log2() * PER_DOUBLING).floor() + 1.0;
    ((index / PER_DOUBLING).exp2() * PER_NS).round() / PER_NS
}

/// How single calls are timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Timer {
    /// By the processor's counter, with a fence on either side.
    Counter,
    /// By `CLOCK_MONOTONIC`: the counter may not be read, or the thread may move to another CPU.
    Clock,
}

impl Timer {
    /// The best one for this thread.
    #[must_use]
    pub fn best(pinned: bool) -> Self {
        let counter = pinned && counter::INSTRUCTION.is_some() && reads::counter_allowed().is_ok();
        if counter { Self::Counter } else { Self::Clock }
    }

    fn time(self, run: impl FnOnce()) -> u64 {
        match self {
            Self::Counter => {
                fence();
                let begun = counter::read();
                fence();
                run();
                fence();
                counter::read().wrapping_sub(begun)
            }
            Self::Clock => {
                let begun = Instant::now();
                run();
                u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX)
            }
        }
    }
}

/// Times up to `most` single calls within `limit`, alternating with empty timings; returns the costs in units of the
/// timer, and the cost of an empty timing (the median), not yet subtracted.
///
/// # Errors
/// Returns the reason if the row cannot be read.
pub fn single_calls(
    row: Row,
    vdso: &Vdso,
    timer: Timer,
    most: usize,
    limit: Duration,
) -> Result<(Vec<u64>, u64), String> {
    let (loops, nothing) = (Loops::of(row, vdso)?, Loops::empty());
    for _ in 0..100 {
        timer.time(|| loops.once());
    }
    let begun = Instant::now();
    let mut costs = Vec::with_capacity(most);
    let mut empty = Vec::with_capacity(most / CHUNK + CHUNK);
    while costs.len() < most && begun.elapsed() < limit {
        for _ in 0..CHUNK.min(most - costs.len()) {
            costs.push(timer.time(|| loops.once()));
        }
        for _ in 0..CHUNK / 8 {
            empty.push(timer.time(|| nothing.once()));
        }
    }
    empty.sort_unstable();
    Ok((costs, empty.get(empty.len() / 2).copied().unwrap_or_default()))
}

/// Calls between two looks at the time that is left.
const CHUNK: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::row::{ClockId, Via};
    use proptest::prelude::*;

    #[test]
    fn outliers_are_kept() {
        let costs = std::iter::repeat_n(20.0, 9_990).chain(std::iter::repeat_n(5_000_000.0, 10));
        let d = Distribution::of(costs, 0.0).unwrap();
        assert_eq!(d.calls, 10_000);
        assert!((d.min - 20.0).abs() < 0.1 && (d.p99 - 20.0).abs() < 0.1, "{d:?}");
        assert!((d.max - 5e6).abs() < 5e3, "{d:?}");
        assert_eq!(d.buckets.iter().map(|b| b.1).sum::<u64>(), 10_000);
        assert_eq!(d.buckets.len(), 2);
    }

    #[test]
    fn of_coarse_timer_has_no_figure_between_its_steps() {
        // A counter of 24 MHz: a read of 20 ns is seen as 0 or as a step.
        let step = 1e3 / 24.0;
        let costs = (0..1_000).map(|i| if i % 3 == 0 { step } else { 0.0 });
        let d = Distribution::of(costs, step).unwrap();
        for ns in [d.min, d.p50, d.p90, d.p99, d.p999, d.max] {
            let steps = ns / step;
            assert!((steps - steps.round()).abs() < 1e-9, "{d:?}");
        }
        assert_eq!((d.p50, d.p90), (0.0, step));
    }

    #[test]
    fn common_step_divides_all() {
        assert_eq!(common_step(&[100, 126, 178, 178, 204]), 26);
        assert_eq!(common_step(&[5, 5]), 0);
        assert_eq!(common_step(&[u64::MAX, 3, 11]), 4);
        assert!(counter_step() >= 1);
    }

    #[test]
    fn nothing_and_what_cannot_be() {
        assert_eq!(Distribution::of([], 0.0), None);
        let d = Distribution::of([f64::NAN, -3.0, f64::INFINITY], 0.0).unwrap();
        assert_eq!((d.calls, d.min), (3, 0.0));
    }

    #[test]
    fn calls_are_timed_one_by_one() {
        let row = Row::clock(ClockId::Monotonic, Via::Syscall);
        let limit = Duration::from_secs(5);
        let (costs, _) = single_calls(row, &Vdso::find(), Timer::Clock, 200, limit).unwrap();
        assert_eq!(costs.len(), 200);
        assert!(costs.iter().any(|cost| *cost > 0));
        let none = single_calls(row, &Vdso::find(), Timer::Clock, 200, Duration::ZERO).unwrap();
        assert!(none.0.is_empty());
    }

    proptest! {
        #[test]
        fn quantiles_are_in_order(costs in proptest::collection::vec(0.0f64..1e9, 1..300)) {
            let d = Distribution::of(costs.iter().copied(), 0.0).unwrap();
            let all = [d.min, d.p50, d.p90, d.p99, d.p999, d.max];
            prop_assert!(all.windows(2).all(|pair| pair[0] <= pair[1]), "{:?}", d);
            prop_assert_eq!(d.calls, costs.len() as u64);
            prop_assert_eq!(d.buckets.iter().map(|b| b.1).sum::<u64>(), d.calls);
            prop_assert!(d.buckets.windows(2).all(|pair| pair[0].0 < pair[1].0));
        }
    }
}
