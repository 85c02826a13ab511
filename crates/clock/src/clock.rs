//! Clocks as values: for code that is generic over the clock that it reads.

use crate::instant::Instant;
use core::time::Duration;
#[cfg(feature = "std")]
use std::{rc::Rc, sync::Arc};

/// A source of [`Instant`]s.
///
/// Code that takes a `C: Clock` is compiled for each clock: with [`SystemClock`], which has no
/// size, it is the same as calling [`Instant::now`]. There is no global hook, so a
/// [`MockClock`](crate::MockClock) costs nothing if it is not used.
///
/// ```
/// use clocksmith::{Clock, Instant, MockClock, SystemClock};
/// use std::time::Duration;
///
/// struct Cache<C> {
///     clock: C,
///     filled: Instant,
/// }
///
/// impl<C: Clock> Cache<C> {
///     fn is_fresh(&self) -> bool {
///         self.clock.elapsed_since(self.filled) < Duration::from_secs(60)
///     }
/// }
///
/// let clock = MockClock::new();
/// let cache = Cache { clock: clock.clone(), filled: clock.now() };
/// assert!(cache.is_fresh());
/// clock.advance(Duration::from_secs(61));
/// assert!(!cache.is_fresh());
///
/// let cache = Cache { clock: SystemClock, filled: Instant::now() };
/// assert!(cache.is_fresh());
/// ```
pub trait Clock {
    /// The time.
    fn now(&self) -> Instant;

    /// The time since `earlier`; zero if it is later.
    #[inline]
    fn elapsed_since(&self, earlier: Instant) -> Duration {
        self.now().saturating_duration_since(earlier)
    }
}

impl<C: Clock + ?Sized> Clock for &C {
    #[inline(always)]
    fn now(&self) -> Instant {
        C::now(self)
    }
}

impl<C: Clock + ?Sized> Clock for &mut C {
    #[inline(always)]
    fn now(&self) -> Instant {
        C::now(self)
    }
}

/// Whatever holds a clock is a clock: `Box<dyn Clock>` is chosen when the program runs.
#[cfg(feature = "std")]
macro_rules! held {
    ($($holder:ident),*) => {$(
        impl<C: Clock + ?Sized> Clock for $holder<C> {
            #[inline(always)]
            fn now(&self) -> Instant {
                C::now(self)
            }
        }
    )*};
}

#[cfg(feature = "std")]
held!(Arc, Box, Rc);

/// [`Instant::now`]: exact, and ordered between threads. A clock that is a value goes into caches, limiters
/// and queues, whose moments come from several threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[inline(always)]
    fn now(&self) -> Instant {
        Instant::now()
    }
}

/// [`Instant::now_ordered`]: the same as [`SystemClock`], by a name that states the guarantee.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct OrderedClock;

impl Clock for OrderedClock {
    #[inline(always)]
    fn now(&self) -> Instant {
        Instant::now_ordered()
    }
}

/// [`Instant::now_unordered`]: the cheapest exact clock, for moments that are compared within one thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FastClock;

impl Clock for FastClock {
    #[inline(always)]
    fn now(&self) -> Instant {
        Instant::now_unordered()
    }
}

/// [`Instant::now_coarse`]: the kernel's last tick.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CoarseClock;

impl Clock for CoarseClock {
    #[inline(always)]
    fn now(&self) -> Instant {
        Instant::now_coarse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads_forward(clock: impl Clock) {
        let begin = clock.now();
        std::thread::sleep(Duration::from_millis(30));
        assert!(clock.elapsed_since(begin) >= Duration::from_millis(5));
        assert_eq!(clock.elapsed_since(Instant::MAX), Duration::ZERO);
    }

    #[test]
    fn clocks_of_the_machine() {
        reads_forward(SystemClock);
        let borrowed = &OrderedClock;
        reads_forward(borrowed);
        reads_forward(FastClock);
        reads_forward(std::sync::Arc::new(CoarseClock));
        let clock: &dyn Clock = &SystemClock;
        reads_forward(clock);
        let clock: Box<dyn Clock> = Box::new(SystemClock);
        reads_forward(clock);
        let clock: Rc<dyn Clock> = Rc::new(SystemClock);
        reads_forward(clock);
        let mut clock = SystemClock;
        let borrowed: &mut dyn Clock = &mut clock;
        reads_forward(borrowed);
        assert_eq!(size_of::<(SystemClock, OrderedClock, CoarseClock)>(), 0);
    }
}
