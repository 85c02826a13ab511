//! Two threads on two processors pass messages to and fro, each with the counter of its sender.
//!
//! A counter that is read after the message came must be beyond the one in the message, if the two
//! counters agree. So the shortest way there bounds from above how far the other counter is ahead,
//! and the shortest way back bounds it from below: without locks, and whatever the way takes.

use super::deadline::{Deadline, Patience};
use super::samples::Pair;
use super::source::Source;
use std::sync::atomic::{AtomicU64, Ordering};

/// Exchanges in one go; more hardly shorten the shortest way.
const EXCHANGES: u64 = 4_000;

/// A message with a counter; 0 is none. Alone in its cache line.
#[repr(align(128))]
struct Letterbox(AtomicU64);

impl Letterbox {
    fn take<S: Source>(&self, source: &S, deadline: Deadline) -> Option<u64> {
        let mut patience = Patience::default();
        loop {
            let value = self.0.load(Ordering::Acquire);
            if value != 0 {
                self.0.store(0, Ordering::Relaxed);
                return Some(value);
            }
            if !patience.turn(source, deadline) {
                return None;
            }
        }
    }

    fn put(&self, value: u64) {
        self.0.store(value.max(1), Ordering::Release);
    }
}

/// The place where two threads meet.
pub(crate) struct Meeting {
    there: Letterbox,
    back: Letterbox,
}

/// What one of the two found.
pub(crate) struct Side {
    /// The least cycles of a message to it.
    pub(crate) least: Option<i64>,
    pub(crate) exchanges: u64,
}

impl Meeting {
    pub(crate) fn new() -> Self {
        Self { there: Letterbox(AtomicU64::new(0)), back: Letterbox(AtomicU64::new(0)) }
    }

    /// The thread that begins.
    pub(crate) fn ask<S: Source>(&self, source: &S, deadline: Deadline) -> Side {
        let mut side = Side { least: None, exchanges: 0 };
        while side.exchanges < EXCHANGES {
            self.there.put(source.counter());
            let Some(answer) = self.back.take(source, deadline) else { break };
            side.took(source.counter(), answer);
        }
        side
    }

    /// The thread that answers.
    pub(crate) fn answer<S: Source>(&self, source: &S, deadline: Deadline) -> Side {
        let mut side = Side { least: None, exchanges: 0 };
        while side.exchanges < EXCHANGES {
            let Some(sent) = self.there.take(source, deadline) else { break };
            side.took(source.counter(), sent);
            self.back.put(source.counter());
        }
        side
    }
}

impl Side {
    fn took(&mut self, now: u64, sent: u64) {
        // Counters may wrap; what is apart by more than half of all values counts as behind.
        let took = now.wrapping_sub(sent) as i64;
        self.least = Some(self.least.map_or(took, |least| least.min(took)));
        self.exchanges += 1;
    }
}

/// Both sides as a pair.
pub(crate) fn pair(one: u32, other: u32, asked: &Side, answered: &Side) -> Pair {
    Pair {
        exchanges: asked.exchanges,
        there: answered.least,
        back: asked.least,
        ..Pair::new(one, other)
    }
}
