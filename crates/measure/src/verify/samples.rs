//! The measurements of the threads, before the analysis. Counters are as they were read: any values.

use super::outcome::Frequency;
use super::source::ClockId;

/// Reads of the counter by two processors in turn under a lock, as `check_tsc_warp()` does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Locked {
    /// Reads in all.
    pub(crate) reads: u64,
    /// Reads that returned less than the one before them.
    pub(crate) back: u64,
    /// The largest step back, in units of the read.
    pub(crate) largest: u64,
    /// How often the previous reader was another thread.
    pub(crate) handovers: u64,
}

impl Locked {
    pub(crate) fn merge(&mut self, other: Self) {
        self.reads = self.reads.saturating_add(other.reads);
        self.back = self.back.saturating_add(other.back);
        self.largest = self.largest.max(other.largest);
        self.handovers = self.handovers.saturating_add(other.handovers);
    }
}

/// The messages between two processors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    pub(crate) one: u32,
    pub(crate) other: u32,
    pub(crate) exchanges: u64,
    /// The least cycles that a message took from `one` to `other`, by their two counters.
    pub(crate) there: Option<i64>,
    /// The same, back.
    pub(crate) back: Option<i64>,
    pub(crate) locked: Locked,
    /// When messages came through, in nanoseconds since the beginning of the run: the first time, the last time, how often,
    /// and the longest time between two.
    pub(crate) heard: Option<Heard>,
    /// The least cycles of both ways in the last part of the run; before it begins, those of the last test.
    pub(crate) last: Option<(i64, i64)>,
    /// Whether `last` comes from the last part of the run.
    pub(crate) ending: bool,
    /// Why it could not be tested, or only with low precision.
    pub(crate) trouble: Option<String>,
}

/// When two processors were compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Heard {
    pub(crate) first: i64,
    pub(crate) last: i64,
    pub(crate) times: u64,
    pub(crate) longest: i64,
}

impl Heard {
    /// A test that began at that moment. Its messages may have passed at any time until it ended, which on a busy
    /// machine is much later: only their beginning is bounded.
    pub(crate) fn once(begun: i64) -> Self {
        Self { first: begun, last: begun, times: 1, longest: 0 }
    }

    /// Combines this test with a later one.
    pub(crate) fn then(self, later: Self) -> Self {
        let pause = later.first.saturating_sub(self.last).max(0);
        Self {
            first: self.first.min(later.first),
            last: self.last.max(later.last),
            times: self.times.saturating_add(later.times),
            longest: self.longest.max(later.longest).max(pause),
        }
    }
}

impl Pair {
    pub(crate) fn new(one: u32, other: u32) -> Self {
        Self {
            one,
            other,
            exchanges: 0,
            there: None,
            back: None,
            locked: Locked::default(),
            heard: None,
            last: None,
            ending: false,
            trouble: None,
        }
    }

    /// Adds the results of a later test of the same pair.
    pub(crate) fn merge(&mut self, later: Self) {
        let least = |a: Option<i64>, b: Option<i64>| match (a, b) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        self.exchanges = self.exchanges.saturating_add(later.exchanges);
        self.there = least(self.there, later.there);
        self.back = least(self.back, later.back);
        self.locked.merge(later.locked);
        self.heard = match (self.heard, later.heard) {
            (Some(earlier), Some(later)) => Some(earlier.then(later)),
            (a, b) => a.or(b),
        };
        self.last = match (self.last, later.last) {
            (Some(a), Some(b)) if self.ending && later.ending => Some((a.0.min(b.0), a.1.min(b.1))),
            (a, b) => b.or(a),
        };
        self.ending |= later.ending;
        // A later test that succeeded makes good for an earlier one that was too busy.
        self.trouble =
            if self.exchanges > 0 { None } else { self.trouble.take().or(later.trouble) };
    }
}

/// A moment: readings of the kernel's clocks between readings of the counter, each the narrowest of
/// a few.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Point {
    /// The counter before `raw`, between the two, and after `mono`; 0 without a counter.
    pub(crate) ticks: (u64, u64, u64),
    /// `CLOCK_MONOTONIC_RAW` by system call.
    pub(crate) raw: i64,
    /// `CLOCK_MONOTONIC` by system call.
    pub(crate) mono: i64,
    /// `CLOCK_MONOTONIC` by system call, in user space, and by system call again.
    pub(crate) user: (i64, i64, i64),
    /// `CLOCK_BOOTTIME` and `CLOCK_REALTIME`, less `CLOCK_MONOTONIC`; accurate to the time of three calls.
    pub(crate) boottime: i64,
    pub(crate) realtime: i64,
}

/// How far `CLOCK_MONOTONIC`, read in user space on one processor, was outside of two system calls
/// around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Agreement {
    pub(crate) cpu: u32,
    pub(crate) reads: u64,
    /// Nanoseconds before the system call before; 0 if never.
    pub(crate) early: i64,
    /// Nanoseconds after the system call after; 0 if never.
    pub(crate) late: i64,
}

/// One clock, or the counter, read by all threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Steps {
    /// `None` is the counter.
    pub(crate) clock: Option<ClockId>,
    /// The step that the kernel claims, in nanoseconds.
    pub(crate) claimed: Option<i64>,
    /// In each thread by itself.
    pub(crate) within: Locked,
    /// Over all threads, in turn under a lock; no reads where that means nothing.
    pub(crate) across: Locked,
    /// The smallest step forward that was seen, in nanoseconds or cycles.
    pub(crate) smallest: Option<u64>,
    /// Reads that returned the same as the one before them.
    pub(crate) same: u64,
}

/// All samples of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Samples {
    /// Why the counter was not read.
    pub(crate) counter_gap: Option<String>,
    pub(crate) cpus: Vec<u32>,
    /// The CPUs of the machine; empty where that is not known.
    pub(crate) machine_cpus: Vec<u32>,
    /// Processors that no thread could be tied to, with the reason.
    pub(crate) unpinned: Vec<(u32, String)>,
    pub(crate) pairs: Vec<Pair>,
    pub(crate) points: Vec<Point>,
    /// The processor on which the points were taken; `None`: on any.
    pub(crate) points_cpu: Option<u32>,
    pub(crate) agreements: Vec<Agreement>,
    pub(crate) steps: Vec<Steps>,
    /// Stated rates of the counter.
    pub(crate) claims: Vec<Frequency>,
    /// Whether the kernel makes its clocks of the counter.
    pub(crate) counter_is_clock: bool,
    /// How early a read of the counter may be, in nanoseconds.
    pub(crate) early_ns: f64,
    /// By how much the rate of the kernel's clock may wander, as a share.
    pub(crate) wander: f64,
    /// Whether programs read the kernel's clock through the counter, so that a comparison of both paths tests the
    /// counter.
    pub(crate) user_clock_is_counter: bool,
    /// Sources that confirm the rate of the kernel's clock, each with the remaining uncertainty in millionths.
    pub(crate) confirmed: Vec<(String, f64)>,
    /// How long the counter was read in turn by all processors, in nanoseconds.
    pub(crate) turns_ns: i64,
    /// Whether the last part of the run has begun.
    pub(crate) ending: bool,
    /// Whether the run was ended before its time.
    pub(crate) cut_short: bool,
    /// Threads at the same time, at most.
    pub(crate) threads: usize,
    /// How long it took, in seconds.
    pub(crate) seconds: f64,
}
