//! Joins exact counts of calls, from a counting vDSO or a tracepoint, to the samples. Pure.

use crate::clock::{Api, ClockId};
use serde::Serialize;

/// Calls of one function for one clock, counted one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// The function.
    pub api: Api,
    /// The clock; `None` if the function takes none, or the counter does not distinguish it from
    /// others.
    pub clock: Option<ClockId>,
    /// Calls.
    pub calls: u64,
}

/// Reads by the time since the same thread's previous read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Interval {
    /// The lower end, in nanoseconds.
    pub from_ns: u64,
    /// The upper end, in nanoseconds; not included.
    pub to_ns: u64,
    /// Reads.
    pub reads: u64,
}

/// The counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counted {
    /// One for each function and clock.
    pub counts: Vec<Count>,
    /// Times between reads, shortest first; a thread's first read is in none.
    pub intervals: Vec<Interval>,
    /// Processes that the counts are of.
    pub processes: u64,
    /// The calls that the counts lack, in words.
    pub lost: Vec<String>,
    /// For how many seconds it was counted, if that is known.
    pub seconds: Option<f64>,
    /// The same by thread, where threads were counted one by one.
    pub threads: Vec<ThreadCalls>,
    /// Calls of `clock_getres`, which read no clock and are in none of the counts.
    pub resolutions: u64,
}

impl Counted {
    /// Adds calls.
    pub fn add(&mut self, one: Count) {
        let same = |known: &&mut Count| (known.api, known.clock) == (one.api, one.clock);
        match self.counts.iter_mut().find(same) {
            Some(known) => known.calls = known.calls.saturating_add(one.calls),
            None => self.counts.push(one),
        }
    }
}

/// Calls of one thread, with those of the threads and processes that it has started meanwhile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadCalls {
    /// Its process.
    pub pid: u32,
    /// The thread.
    pub tid: i32,
    /// Its name.
    pub name: String,
    /// One for each function and clock.
    pub counts: Vec<Count>,
}

/// A source of exact counts for a whole recording: started with it, read at its end.
pub trait Counter {
    /// The method of counting, in words.
    fn method(&self) -> String;
    /// The counts so far.
    ///
    /// # Errors
    /// Returns the reason if counts are missing.
    fn counts(&mut self) -> Result<Counted, String>;
}

/// A row of exact counts.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExactRow {
    /// The function that was called.
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

/// The source of exact counts, and the intervals between reads.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExactSummary {
    /// How the reads were counted.
    pub method: String,
    /// All calls.
    pub calls: u64,
    /// Number of processes that were counted.
    pub processes: u64,
    /// Times between reads of one thread, shortest first.
    pub intervals: Vec<Interval>,
    /// How many reads could have been served by a coarse clock; null where it is not known.
    pub coarse: Option<CoarseCandidates>,
}

/// Reads of a clock that has a coarse sibling, closer to the thread's previous read than a tick. Whether the
/// program can do with the time of the last tick is not known: they are candidates, no more.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CoarseCandidates {
    /// The length of a tick, in nanoseconds.
    pub tick_ns: f64,
    /// The largest possible number of such reads.
    pub reads: u64,
    /// Their share of all calls, 0 to 1: an upper bound.
    pub share: f64,
}

/// System calls that read clocks, counted one by one: reads that did not use the vDSO, or that the
/// vDSO could not serve.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SystemCalls {
    /// How the calls were counted.
    pub method: String,
    /// All of them.
    pub calls: u64,
    /// By function and clock, most frequent first.
    pub rows: Vec<ExactRow>,
    /// By thread, most calls first; empty where the whole machine was watched. A thread that began while
    /// it was counted is in the row of the one that started it.
    pub threads: Vec<ThreadRow>,
    /// Calls of `clock_getres`, which read no clock and are in no other number.
    pub resolution_calls: u64,
}

/// System calls of one thread.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThreadRow {
    /// The process of the thread.
    pub pid: u32,
    /// The thread.
    pub tid: i32,
    /// Its name.
    pub name: String,
    /// Calls of the thread, including those of threads and processes that it started meanwhile.
    pub calls: u64,
    /// The same by function and clock, most frequent first.
    pub rows: Vec<ExactRow>,
}

/// The counts of system calls; `seconds` is the duration, if the counter does not know it.
#[must_use]
pub fn system_calls(method: String, counted: &Counted, seconds: f64) -> SystemCalls {
    let seconds = counted.seconds.unwrap_or(seconds);
    let mut threads: Vec<ThreadRow> = counted
        .threads
        .iter()
        .map(|thread| ThreadRow {
            pid: thread.pid,
            tid: thread.tid,
            name: thread.name.clone(),
            calls: all(&thread.counts),
            rows: rows(&thread.counts, seconds),
        })
        .filter(|thread| thread.calls > 0)
        .collect();
    threads.sort_by_key(|thread| (std::cmp::Reverse(thread.calls), thread.tid));
    SystemCalls {
        method,
        calls: all(&counted.counts),
        rows: rows(&counted.counts, seconds),
        threads,
        resolution_calls: counted.resolutions,
    }
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
    fn threads_are_added_up_and_silent_ones_left_out() {
        let mut counted = Counted { seconds: Some(2.0), resolutions: 3, ..Counted::default() };
        for (tid, calls) in [(1, 5), (2, 0), (3, 7)] {
            let counts = vec![count(ClockId::REALTIME, calls), count(ClockId::TAI, 1.min(calls))];
            counts.iter().for_each(|one| counted.add(*one));
            counted.threads.push(ThreadCalls { pid: 1, tid, name: "t".to_owned(), counts });
        }
        let all = system_calls(String::new(), &counted, 9.0);
        assert_eq!((all.calls, all.rows[0].calls, all.rows[0].per_second), (14, 12, 6.0));
        let threads: Vec<_> = all.threads.iter().map(|row| (row.tid, row.calls)).collect();
        assert_eq!(threads, [(3, 8), (1, 6)]);
        assert_eq!(all.resolution_calls, 3);
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
            ..Counted::default()
        };
        let of = |counted: &Counted| summary(String::new(), counted, Some(4e6)).coarse.unwrap();
        // The class that a tick cuts is included, longer ones are not.
        assert_eq!((of(&counted).reads, of(&counted).share), (57, 57.0 / 68.0));
        // Clocks without a coarse sibling, and coarse clocks, are not candidates.
        counted.counts = vec![count(ClockId::MONOTONIC, 5), count(ClockId::MONOTONIC_COARSE, 63)];
        assert_eq!(of(&counted).reads, 5);
        assert_eq!(summary(String::new(), &counted, None).coarse, None);
    }
}
