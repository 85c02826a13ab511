//! A clock that the test moves.

use crate::clock::Clock;
use crate::instant::{self, Instant};
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::sync::Arc;

/// A clock for tests, which advances only when the test moves it.
///
/// Clones are the same clock: give one to the code under test and keep one to move it by. It may
/// be moved and read by several threads.
///
/// ```
/// use clocksmith::{Clock, MockClock};
/// use std::time::Duration;
///
/// let clock = MockClock::new();
/// let begin = clock.now();
/// clock.advance(Duration::from_secs(3));
/// assert_eq!(clock.now() - begin, Duration::from_secs(3));
/// ```
#[derive(Clone, Debug)]
pub struct MockClock {
    ns: Arc<AtomicU64>,
}

impl MockClock {
    /// A clock that shows one hour, so that there are moments before it.
    #[must_use]
    pub fn new() -> Self {
        Self::starting_at(Instant::from_nanos(3_600_000_000_000))
    }

    /// A clock that shows the given moment.
    #[must_use]
    pub fn starting_at(now: Instant) -> Self {
        Self { ns: Arc::new(AtomicU64::new(now.as_nanos())) }
    }

    /// Moves the clock forward, to [`Instant::MAX`] at most. Returns the new time.
    pub fn advance(&self, by: Duration) -> Instant {
        let by = instant::nanos(by).unwrap_or(u64::MAX);
        let mut now = self.ns.load(Ordering::Relaxed);
        loop {
            let then = now.saturating_add(by);
            match self.ns.compare_exchange_weak(now, then, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return Instant::from_nanos(then),
                Err(there) => now = there,
            }
        }
    }

    /// Sets the clock, forward or backward.
    pub fn set(&self, now: Instant) {
        self.ns.store(now.as_nanos(), Ordering::Release);
    }
}

impl Default for MockClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for MockClock {
    #[inline]
    fn now(&self) -> Instant {
        Instant::from_nanos(self.ns.load(Ordering::Acquire))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn advances_like_an_instant(a: u64, s in 0..u64::MAX, ns in 0..1_000_000_000u32) {
            let (start, by) = (Instant::from_nanos(a), Duration::new(s, ns));
            let clock = MockClock::starting_at(start);
            prop_assert_eq!(clock.advance(by), start + by);
            prop_assert_eq!(clock.now(), start + by);
            clock.set(start);
            prop_assert_eq!(clock.now(), start);
        }
    }

    #[test]
    fn clones_are_one_clock_in_all_threads() {
        let clock = MockClock::default();
        let begin = clock.now();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                let clock = clock.clone();
                scope.spawn(move || {
                    for _ in 0..1000 {
                        clock.advance(Duration::from_nanos(1));
                    }
                });
            }
        });
        assert_eq!(clock.elapsed_since(begin), Duration::from_nanos(4000));
    }
}
