//! Whether a thread waits by the wall clock: what was seen of its waits and of its reads. Pure.
//!
//! Two things tell, and neither is how often the wall clock is read, which a program that writes a log does
//! as well:
//!
//! - the wait itself names a time of the wall clock, as `pthread_cond_timedwait` and `sem_timedwait` do
//!   by default;
//! - the time-outs of one wait after the other fall as fast as time passes, so they are what is left until
//!   some time, and the thread reads the wall clock and no other.

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
    /// What was seen.
    pub seen: Seen,
}

/// What was seen of waits.
#[derive(Clone, Debug, PartialEq)]
pub enum Seen {
    /// So many looks found a wait until a time of the wall clock.
    WallDeadline {
        /// Looks.
        looks: u64,
    },
    /// Time-outs that fall as time passes.
    Remaining {
        /// Looks that found the time-out fallen by about the time since the look before.
        falls: u64,
        /// Reads of the wall clock by the thread.
        wall: u64,
        /// Reads of any other clock.
        others: u64,
        /// Who read the wall clock, where that was seen.
        reader: Option<Arc<[Frame]>>,
    },
}

/// Looks that must have found a fall.
pub const FALLS: u64 = 3;
/// Reads of the wall clock that must have been seen.
const READS: u64 = 4;

/// Whether a time-out that was `before` and is `after` (nanoseconds, at looks that are `between` apart) is
/// what is left until some time. A time-out that is always the same is not, nor is one wait that was seen twice;
/// when within a wait it was looked at is chance, so half as much and nearly twice as much are taken.
#[must_use]
pub fn falls(before: u64, after: u64, between: u64) -> bool {
    /// Time-outs of `poll` are whole milliseconds; below a few of them nothing is to be said.
    const LEAST: u64 = 4_000_000;
    let fell = before.saturating_sub(after);
    fell >= LEAST && fell >= between / 2 && fell <= between.saturating_mul(9) / 5
}

/// Whether falling time-outs of a call are the program's doing: the kernel itself leaves what is left in the
/// argument of `select`, and of a sleep that a signal has ended.
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

/// What is to be said of waits: how sure, the evidence, and what it does not tell.
#[must_use]
pub fn judge(waiting: &Waiting) -> Option<(Confidence, String, &'static str)> {
    let call = waiting.call;
    match &waiting.seen {
        Seen::WallDeadline { looks: 0 } => None,
        Seen::WallDeadline { looks } => Some((
            Confidence::High,
            format!(
                "{} waited in {call} until a time of CLOCK_REALTIME: it is off by as much as somebody sets the \
                 clock",
                times(*looks)
            ),
            "an appointment at a time of day is the wall clock's",
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
                "what it waits for is not seen; an appointment at a time of day is the wall clock's",
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
        let frame = Frame { name: name.into(), module: "program".into(), kind: FrameKind::Native };
        vec![frame].into()
    }

    fn remaining(falls: u64, wall: u64, others: u64, reader: Option<&str>) -> Waiting {
        let reader = reader.map(frames);
        let seen = Seen::Remaining { falls, wall, others, reader };
        Waiting { process: 0, call: "poll", frames: frames("pump"), seen }
    }

    #[test]
    fn only_what_is_left_falls_with_time() {
        let ms = 1_000_000;
        assert!(falls(500 * ms, 475 * ms, 25 * ms));
        assert!(falls(500 * ms, 460 * ms, 25 * ms));
        // Always the same; one wait seen twice; a new one that is longer; by far too much, or too little.
        for (before, after) in [(500, 500), (475, 500), (500, 400), (500, 490)] {
            assert!(!falls(before * ms, after * ms, 25 * ms), "{before} {after}");
        }
        // Next to nothing says nothing.
        assert!(!falls(3 * ms, ms, 2 * ms));
    }

    #[test]
    fn what_the_kernel_lets_fall_says_nothing() {
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
