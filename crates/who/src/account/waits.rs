//! Whether a thread waits by the wall clock, from observations of its waits and reads. Pure.
//!
//! There are two kinds of evidence. The number of reads of the wall clock is not one of them, because a
//! program that writes a log reads it as well:
//!
//! - the wait itself names a time of the wall clock, as `pthread_cond_timedwait` and `sem_timedwait` do
//!   by default;
//! - the time-outs of successive waits decrease as fast as time passes, so they are the remaining time
//!   until some deadline, and the thread reads the wall clock and no other.

use crate::clock::{Api, ClockId};
use crate::symbols::Frame;
pub use clocksmith_facts::Confidence;
use std::sync::Arc;

/// Waits of one kind at one place.
#[derive(Clone, Debug, PartialEq)]
pub struct Waiting {
    /// Which of [`crate::recording::Recording::processes`].
    pub process: usize,
    /// The call that waits.
    pub call: &'static str,
    /// The functions that wait, innermost first.
    pub frames: Arc<[Frame]>,
    /// The observations.
    pub seen: Seen,
}

/// The observations of waits.
#[derive(Clone, Debug, PartialEq)]
pub enum Seen {
    /// Looks found a wait until a time of the wall clock.
    WallDeadline {
        /// The number of these looks.
        looks: u64,
    },
    /// Time-outs that decrease as time passes.
    Remaining {
        /// Looks that found the time-out lower by about the time since the previous look.
        falls: u64,
        /// Reads of the wall clock by the thread.
        wall: u64,
        /// Reads of any other clock.
        others: u64,
        /// The functions that read the wall clock, if that was observed.
        reader: Option<Arc<[Frame]>>,
    },
}

/// Looks that must have found a decrease.
pub const FALLS: u64 = 3;
/// Reads of the wall clock that must have been seen.
const READS: u64 = 4;

/// Whether a time-out is the remaining time until a deadline: it was `before` at one examination and
/// `after` at the next one, `between` later (all in nanoseconds). A constant time-out is not, nor is
/// one wait that was seen twice. The moment of an examination within a wait is random, so a decrease
/// counts if it is between half of `between` and nearly twice that.
#[must_use]
pub fn falls(before: u64, after: u64, between: u64) -> bool {
    /// Time-outs of `poll` are whole milliseconds; a few of them are not evidence.
    const LEAST: u64 = 4_000_000;
    let fell = before.saturating_sub(after);
    fell >= LEAST && fell >= between / 2 && fell <= between.saturating_mul(9) / 5
}

/// Whether decreasing time-outs of a call come from the program: the kernel itself writes the remaining time
/// into the argument of `select`, and of a sleep that a signal has ended.
#[must_use]
pub fn may_fall(call: &str) -> bool {
    !matches!(call, "select" | "nanosleep" | "clock_nanosleep")
}

/// Whether a read is one of the wall clock.
#[must_use]
pub fn is_wall(api: Api, clock: Option<ClockId>) -> bool {
    match api {
        Api::ClockGettime => clock.is_some_and(ClockId::is_wall),
        Api::Gettimeofday | Api::Time => true,
        Api::Rdtsc | Api::Rdtscp => false,
    }
}

/// The verdict on waits: how sure, the evidence, and its limits.
#[must_use]
pub fn judge(waiting: &Waiting) -> Option<(Confidence, String, &'static str)> {
    let call = waiting.call;
    match &waiting.seen {
        Seen::WallDeadline { looks: 0 } => None,
        Seen::WallDeadline { looks } => Some((
            Confidence::High,
            format!(
                "{} waited in {call} until a time of CLOCK_REALTIME: the wait is off by every step of that \
                 clock",
                times(*looks)
            ),
            "a wait for a time of day should use the wall clock",
        )),
        Seen::Remaining { falls, wall, others, reader } => {
            if *falls < FALLS || *wall < READS || *others > 0 {
                return None;
            }
            let waits = super::site(&waiting.frames).function;
            let reads = reader.as_ref().map(|frames| super::site(frames).function);
            let same = reads.as_ref() == Some(&waits) && waits != "?";
            let who = match reads {
                Some(name) if !same && name != "?" => format!(" (in {name})"),
                _ => String::new(),
            };
            Some((
                if same { Confidence::High } else { Confidence::Medium },
                format!(
                    "its time-outs in {call} fell as time passed ({}), and of {wall} reads of its thread{who} all \
                     were of the wall clock",
                    times(*falls)
                ),
                "what it waits for is not seen; a wait for a time of day should use the wall clock",
            ))
        }
    }
}

fn times(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbols::FrameKind;

    fn frames(name: &str) -> Arc<[Frame]> {
        let frame = Frame {
            name: name.into(),
            module: "program".into(),
            kind: FrameKind::Native,
            place: None,
        };
        vec![frame].into()
    }

    fn remaining(falls: u64, wall: u64, others: u64, reader: Option<&str>) -> Waiting {
        let reader = reader.map(frames);
        let seen = Seen::Remaining { falls, wall, others, reader };
        Waiting { process: 0, call: "poll", frames: frames("pump"), seen }
    }

    #[test]
    fn falls_only_for_remaining_time() {
        let ms = 1_000_000;
        assert!(falls(500 * ms, 475 * ms, 25 * ms));
        assert!(falls(500 * ms, 460 * ms, 25 * ms));
        // Always the same; one wait seen twice; a new one that is longer; by far too much, or too little.
        for (before, after) in [(500, 500), (475, 500), (500, 400), (500, 490)] {
            assert!(!falls(before * ms, after * ms, 25 * ms), "{before} {after}");
        }
        // A decrease of a few milliseconds is not evidence.
        assert!(!falls(3 * ms, ms, 2 * ms));
    }

    #[test]
    fn falls_by_the_kernel_are_not_evidence() {
        assert!(may_fall("poll") && may_fall("epoll_wait") && may_fall("futex"));
        assert!(!may_fall("select") && !may_fall("nanosleep") && !may_fall("clock_nanosleep"));
    }

    #[test]
    fn another_clock_acquits() {
        let sure = |waiting: &Waiting| judge(waiting).map(|(confidence, ..)| confidence);
        assert_eq!(sure(&remaining(5, 9, 0, Some("pump"))), Some(Confidence::High));
        assert_eq!(sure(&remaining(5, 9, 0, Some("now"))), Some(Confidence::Medium));
        assert_eq!(sure(&remaining(5, 9, 0, None)), Some(Confidence::Medium));
        // A log beside a wait by CLOCK_MONOTONIC; a log beside waits of one length; too little seen.
        for waiting in
            [remaining(5, 9, 1, None), remaining(0, 99, 0, None), remaining(5, 1, 0, None)]
        {
            assert_eq!(sure(&waiting), None, "{waiting:?}");
        }
        let (_, evidence, _) = judge(&remaining(5, 9, 0, Some("now"))).unwrap();
        assert!(evidence.contains("(in now)") && evidence.contains("5 times"), "{evidence}");
    }

    #[test]
    fn a_time_of_the_wall_clock_is_enough() {
        let waiting = Waiting { seen: Seen::WallDeadline { looks: 1 }, ..remaining(0, 0, 0, None) };
        assert_eq!(judge(&waiting).unwrap().0, Confidence::High);
    }
}
