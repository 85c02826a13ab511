//! The kernel's method (`check_tsc_warp()`): the thread that has the lock compares its read with that of the
//! thread before it. A later read that returns less is a warp.

use super::deadline::{Deadline, Patience, now};
use super::samples::Locked;
use super::source::Source;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// Reads between two looks at the time, at most.
const BATCH: u32 = 64;
/// Turns of a loop for which a thread waits for another one to take its turn.
const TURNS: u32 = 64;

/// The last value that any thread read, under a lock.
#[repr(align(128))]
#[derive(Default)]
pub(crate) struct Last {
    locked: AtomicBool,
    any: AtomicBool,
    value: AtomicU64,
    reader: AtomicU32,
}

/// The observations of one thread.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    /// Against its own read before.
    pub(crate) within: Locked,
    /// Against the last read of any thread.
    pub(crate) across: Locked,
    /// The smallest step forward within the thread.
    pub(crate) smallest: Option<u64>,
    /// Reads that gave the same as the one before, within the thread.
    pub(crate) same: u64,
}

impl Locked {
    /// Compares a value with the one read before it; values may wrap.
    fn compare(&mut self, before: u64, now: u64) {
        self.reads += 1;
        let step = now.wrapping_sub(before) as i64;
        if step < 0 {
            self.back += 1;
            self.largest = self.largest.max(step.unsigned_abs());
        }
    }
}

impl Last {
    /// Reads as thread number `me` until the time is up. `read` returns `None` if the clock does not exist.
    pub(crate) fn run<S: Source>(
        &self,
        source: &S,
        me: u32,
        deadline: Deadline,
        read: impl Fn() -> Option<u64>,
    ) -> Seen {
        let mut seen = Seen::default();
        let mut own = None;
        let mut batch = 1;
        loop {
            let begun = now(source);
            for _ in 0..batch {
                if !self.lock(source, deadline) {
                    return seen;
                }
                let before = self.value.load(Ordering::Relaxed);
                let reader = self.reader.load(Ordering::Relaxed);
                let Some(value) = read() else {
                    self.locked.store(false, Ordering::Release);
                    return seen;
                };
                let any = self.any.load(Ordering::Relaxed);
                self.value.store(value, Ordering::Relaxed);
                self.reader.store(me, Ordering::Relaxed);
                self.any.store(true, Ordering::Relaxed);
                self.locked.store(false, Ordering::Release);
                if any {
                    seen.across.compare(before, value);
                    seen.across.handovers += u64::from(reader != me);
                }
                if let Some(own) = own {
                    seen.step(own, value);
                }
                own = Some(value);
                self.let_in(me);
            }
            if deadline.is_over(source) {
                return seen;
            }
            // An emulated counter is thousands of times slower than a real one.
            batch = match now(source).saturating_sub(begun) {
                ..=20_000 => BATCH.min(batch * 2),
                200_000.. => (batch / 2).max(1),
                _ => batch,
            };
            // Lets the other threads in; one of them may share this processor.
            std::thread::yield_now();
        }
    }

    /// Waits a moment for another thread to take its turn: the thread that released the lock is the first to get it
    /// again, and one thread alone finds no warp.
    fn let_in(&self, me: u32) {
        for _ in 0..TURNS {
            if self.reader.load(Ordering::Relaxed) != me || self.locked.load(Ordering::Relaxed) {
                return;
            }
            std::hint::spin_loop();
        }
    }

    fn lock<S: Source>(&self, source: &S, deadline: Deadline) -> bool {
        let mut patience = Patience::default();
        while self
            .locked
            .compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed)
            .is_err()
        {
            if !patience.turn(source, deadline) {
                return false;
            }
        }
        true
    }
}

impl Seen {
    fn step(&mut self, before: u64, now: u64) {
        self.within.compare(before, now);
        let step = now.wrapping_sub(before) as i64;
        self.same += u64::from(step == 0);
        if let Ok(step @ 1..) = u64::try_from(step) {
            self.smallest = Some(self.smallest.map_or(step, |smallest| smallest.min(step)));
        }
    }

    /// Adds the observations of another thread.
    pub(crate) fn merge(&mut self, other: Self) {
        self.within.merge(other.within);
        self.across.merge(other.across);
        self.same = self.same.saturating_add(other.same);
        self.smallest = match (self.smallest, other.smallest) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::source::Real;
    use proptest::prelude::*;
    use std::cell::Cell;
    use std::time::Duration;

    fn run(values: &[u64]) -> Seen {
        let at = Cell::new(0);
        let deadline = Deadline::after(&Real, Duration::from_secs(60));
        Last::default().run(&Real, 1, deadline, || {
            let value = values.get(at.get()).copied();
            at.set(at.get() + 1);
            value
        })
    }

    #[test]
    fn steps_are_counted() {
        let seen = run(&[u64::MAX - 1, 3, 3, 13, 10, 11]);
        assert_eq!((seen.within.reads, seen.within.back, seen.within.largest), (5, 1, 3));
        assert_eq!((seen.across.reads, seen.across.back, seen.across.largest), (5, 1, 3));
        assert_eq!((seen.smallest, seen.same, seen.across.handovers), (Some(1), 1, 0));
    }

    #[test]
    fn a_lock_that_is_never_given_back_ends_with_the_time() {
        let last = Last::default();
        last.locked.store(true, Ordering::Relaxed);
        let deadline = Deadline::after(&Real, Duration::from_millis(20));
        assert_eq!(last.run(&Real, 1, deadline, || Some(1)).across.reads, 0);
    }

    proptest! {
        #[test]
        fn any_values(values in proptest::collection::vec(any::<u64>(), 0..20)) {
            let seen = run(&values);
            prop_assert_eq!(seen.within.reads as usize, values.len().saturating_sub(1));
            prop_assert!(seen.within.back + seen.same <= seen.within.reads);
        }
    }
}
