//! Exact counts of calls, from whoever counts them: the place where a counting vDSO, or a tracepoint,
//! is joined to the samples. Pure.

use crate::clock::{Api, ClockId};
use schemars::JsonSchema;
use serde::Serialize;

/// Calls of one function for one clock, counted one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// The function.
    pub api: Api,
    /// The clock; `None` where the function takes none, or the counter does not tell it from others.
    pub clock: Option<ClockId>,
    /// Calls.
    pub calls: u64,
}

/// Reads whose thread had read so long before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Interval {
    /// At least so many nanoseconds.
    pub from_ns: u64,
    /// Less than so many.
    pub to_ns: u64,
    /// Reads.
    pub reads: u64,
}

/// What was counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// One for each function and clock.
    pub counts: Vec<Count>,
    /// Times between reads, shortest first; a thread's first read is in none.
    pub intervals: Vec<Interval>,
    /// Processes that the counts are of.
    pub processes: u64,
    /// What is not in them, in words.
    pub lost: Vec<String>,
}

/// A source of exact counts for the whole of a recording: started with it, asked at its end.
pub trait Counter {
    /// How it counts, in words.
    fn method(&self) -> String;
    /// The counts so far.
    ///
    /// # Errors
    /// Why there are none.
    fn counts(&mut self) -> Result<Counted, String>;
}

/// A row of exact counts.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ExactRow {
    /// The function.
    pub api: Api,
    /// The clock's name; null where the function takes none, or it is one of the clocks that are
    /// counted together (those of processes, threads and devices).
    pub clock: Option<String>,
    /// Calls.
    pub calls: u64,
    /// Calls in each second.
    pub per_second: f64,
    /// Share of all calls, 0 to 1.
    pub share: f64,
}

/// What exact counts come from, and how close the reads are to each other.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ExactSummary {
    /// How it was counted.
    pub method: String,
    /// All calls.
    pub calls: u64,
    /// Processes that they are of.
    pub processes: u64,
    /// Times between reads of one thread, shortest first.
    pub intervals: Vec<Interval>,
    /// How many reads could have been served by a clock of the last tick; null where it is not known.
    pub coarse: Option<CoarseCandidates>,
}

/// Reads of a clock that has a coarse sibling, closer to the thread's previous read than a tick. Whether the
/// program can do with the time of the last tick is not known: they are candidates, no more.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CoarseCandidates {
    /// The length of a tick, in nanoseconds.
    pub tick_ns: f64,
    /// At most so many.
    pub reads: u64,
    /// Their share of all calls, 0 to 1: an upper bound.
    pub share: f64,
}

/// Exact counts, most frequent first.
#[must_use]
pub fn rows(counts: &[Count], seconds: f64) -> Vec<ExactRow> {
    let all = all(counts);
    let mut rows: Vec<ExactRow> = counts
        .iter()
        .filter(|count| count.calls > 0)
        .map(|count| ExactRow {
            api: count.api,
            clock: count.clock.map(ClockId::name),
            calls: count.calls,
            per_second: count.calls as f64 / seconds.max(1e-9),
            share: count.calls as f64 / all.max(1) as f64,
        })
        .collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.calls));
    rows
}

/// The summary; the length of a tick is in nanoseconds.
#[must_use]
pub fn summary(method: String, counted: &Counted, tick_ns: Option<f64>) -> ExactSummary {
    ExactSummary {
        method,
        calls: all(&counted.counts),
        processes: counted.processes,
        intervals: counted.intervals.iter().filter(|one| one.reads > 0).copied().collect(),
        coarse: tick_ns
            .filter(|_| !counted.intervals.is_empty())
            .map(|tick_ns| candidates(counted, tick_ns)),
    }
}

/// An upper bound: a class of intervals that a tick cuts is taken whole, and the intervals are those of
/// all clocks.
fn candidates(counted: &Counted, tick_ns: f64) -> CoarseCandidates {
    let close = counted
        .intervals
        .iter()
        .filter(|one| (one.from_ns as f64) < tick_ns)
        .fold(0u64, |sum, one| sum.saturating_add(one.reads));
    let fine = counted
        .counts
        .iter()
        .filter(|count| match count.clock {
            Some(clock) => matches!(clock, ClockId::REALTIME | ClockId::MONOTONIC),
            None => count.api == Api::Gettimeofday,
        })
        .fold(0u64, |sum, count| sum.saturating_add(count.calls));
    let reads = close.min(fine);
    CoarseCandidates { tick_ns, reads, share: reads as f64 / all(&counted.counts).max(1) as f64 }
}

fn all(counts: &[Count]) -> u64 {
    counts.iter().fold(0, |sum, count| sum.saturating_add(count.calls))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(clock: ClockId, calls: u64) -> Count {
        Count { api: Api::ClockGettime, clock: Some(clock), calls }
    }

    #[test]
    fn shares_add_up() {
        let counts = [count(ClockId::REALTIME, 1), count(ClockId::MONOTONIC, 3)];
        let rows = rows(&counts, 2.0);
        assert_eq!(rows[0].clock.as_deref(), Some("CLOCK_MONOTONIC"));
        assert_eq!((rows[0].calls, rows[0].per_second, rows[0].share), (3, 1.5, 0.75));
        assert!(super::rows(&[count(ClockId::TAI, 0)], 0.0).is_empty());
    }

    #[test]
    fn candidates_are_an_upper_bound() {
        let interval = |from_ns, to_ns, reads| Interval { from_ns, to_ns, reads };
        let intervals = vec![
            interval(32, 64, 50),
            interval(3_000_000, 6_000_000, 7),
            interval(1 << 30, 1 << 31, 9),
        ];
        let mut counted = Counted {
            counts: vec![count(ClockId::MONOTONIC, 60), count(ClockId::TAI, 8)],
            intervals,
            processes: 1,
            lost: Vec::new(),
        };
        let of = |counted: &Counted| summary(String::new(), counted, Some(4e6)).coarse.unwrap();
        // The class that a tick cuts is in it, what is longer is not.
        assert_eq!((of(&counted).reads, of(&counted).share), (57, 57.0 / 68.0));
        // Clocks that have no coarse sibling, or are one, are no candidates.
        counted.counts = vec![count(ClockId::MONOTONIC, 5), count(ClockId::MONOTONIC_COARSE, 63)];
        assert_eq!(of(&counted).reads, 5);
        assert_eq!(summary(String::new(), &counted, None).coarse, None);
    }
}
