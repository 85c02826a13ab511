//! Clocks, real and mocked.

use super::instant::Instant;
use crate::cached::CachedClock;
use core::cell::RefCell;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use core::time::Duration;
use std::sync::Arc;

/// The time that `recent` reads.
pub(super) static RECENT: CachedClock = CachedClock::new();

/// A clock: the machine's, or one that the program moves.
#[derive(Clone, Debug, Default)]
pub struct Clock(Option<Arc<Mock>>);

impl Clock {
    /// The machine's clock. Costs nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self(None)
    }

    /// A clock that shows zero until its [`Mock`] is moved.
    #[must_use]
    pub fn mock() -> (Self, Arc<Mock>) {
        let mock = Arc::new(Mock(AtomicU64::new(0)));
        (Self(Some(Arc::clone(&mock))), mock)
    }

    /// Now, ordered between threads.
    #[inline]
    #[must_use]
    pub fn now(&self) -> Instant {
        match &self.0 {
            None => Instant(crate::Instant::now()),
            Some(mock) => self.scaled(mock.value()),
        }
    }

    /// A time for [`delta`](Self::delta) and [`scaled`](Self::scaled). It is nanoseconds already. Read
    /// unordered.
    #[inline]
    #[must_use]
    pub fn raw(&self) -> u64 {
        match &self.0 {
            None => crate::clocks::monotonic_ns(),
            Some(mock) => mock.value(),
        }
    }

    /// A raw time as a moment.
    #[inline]
    #[must_use]
    pub fn scaled(&self, value: u64) -> Instant {
        Instant(crate::Instant::from_nanos(value))
    }

    /// The time between two raw times; zero if `end` is earlier.
    #[inline]
    #[must_use]
    pub fn delta(&self, start: u64, end: u64) -> Duration {
        Duration::from_nanos(self.delta_as_nanos(start, end))
    }

    /// The same in nanoseconds.
    #[inline]
    #[must_use]
    pub fn delta_as_nanos(&self, start: u64, end: u64) -> u64 {
        end.saturating_sub(start)
    }

    /// The recent time; of a mock clock, the time.
    #[inline]
    #[must_use]
    pub fn recent(&self) -> Instant {
        match &self.0 {
            None => recent(),
            Some(_) => self.now(),
        }
    }
}

/// Moves a mock clock.
#[derive(Debug)]
pub struct Mock(AtomicU64);

impl Mock {
    /// Moves the clock forward, to the latest moment at most.
    pub fn increment<N: IntoNanoseconds>(&self, amount: N) {
        let by = amount.into_nanos();
        self.change(|now| now.saturating_add(by));
    }

    /// Moves the clock back, to zero at most.
    pub fn decrement<N: IntoNanoseconds>(&self, amount: N) {
        let by = amount.into_nanos();
        self.change(|now| now.saturating_sub(by));
    }

    /// Its time in nanoseconds.
    #[must_use]
    pub fn value(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    fn change(&self, to: impl Fn(u64) -> u64) {
        let mut now = self.0.load(Ordering::Relaxed);
        while let Err(there) =
            self.0.compare_exchange_weak(now, to(now), Ordering::AcqRel, Ordering::Relaxed)
        {
            now = there;
        }
    }
}

/// A number of nanoseconds, or a duration.
pub trait IntoNanoseconds {
    /// Nanoseconds.
    fn into_nanos(self) -> u64;
}

impl IntoNanoseconds for u64 {
    fn into_nanos(self) -> u64 {
        self
    }
}

impl IntoNanoseconds for Duration {
    /// Saturates at 584 years.
    fn into_nanos(self) -> u64 {
        crate::instant::nanos(self).unwrap_or(u64::MAX)
    }
}

/// Sets the recent time, unless it has already been set to a later one.
pub fn set_recent(instant: Instant) {
    // The wall clock is not used here, but zero would mean that no time is remembered.
    RECENT.remember(instant.0.as_nanos(), 1);
}

pub(super) fn recent() -> Instant {
    Instant(RECENT.instant())
}

/// How many threads have replaced the clock. While it is 0, calls do not look at the thread-local
/// clock.
static REPLACED: AtomicUsize = AtomicUsize::new(0);

std::thread_local! {
    static CLOCK: RefCell<Option<Clock>> = const { RefCell::new(None) };
}

/// Runs a function in which [`Instant::now`] and [`Instant::recent`] of this thread are those of
/// that clock.
pub fn with_clock<T>(clock: &Clock, f: impl FnOnce() -> T) -> T {
    struct Before(Option<Clock>);
    impl Drop for Before {
        fn drop(&mut self) {
            CLOCK.with(|there| there.replace(self.0.take()));
            REPLACED.fetch_sub(1, Ordering::Relaxed);
        }
    }
    REPLACED.fetch_add(1, Ordering::Relaxed);
    let _before = Before(CLOCK.with(|there| there.replace(Some(clock.clone()))));
    f()
}

#[inline(always)]
pub(super) fn is_replaced() -> bool {
    REPLACED.load(Ordering::Relaxed) != 0
}

#[cold]
pub(super) fn replaced_now() -> Instant {
    replaced().unwrap_or_default().now()
}

#[cold]
pub(super) fn replaced_recent() -> Instant {
    replaced().unwrap_or_default().recent()
}

/// This thread's, if it is this one that has replaced it.
fn replaced() -> Option<Clock> {
    CLOCK.try_with(|clock| clock.borrow().clone()).ok().flatten()
}
