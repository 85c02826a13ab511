//! A moment of the monotonic clock, read unordered.

use crate::instant::Instant;
use core::ops::Sub;
use core::time::Duration;

/// An [`Instant`] that is read unordered: the cheapest way to measure how long something took, where
/// it begins and ends **in one thread**.
///
/// [`now`](Self::now) and [`elapsed`](Self::elapsed) have no fence; this is the only difference. Within
/// a thread it never goes backward. A moment that another thread took may be later than this thread's
/// next one by a few hundred nanoseconds: their difference is then zero. A task of an async runtime may be on
/// another thread after any `.await`. To compare moments of several threads, use [`Instant`].
///
/// It is a separate type so that the type of a moment shows how it was read. [`From`] converts in
/// both directions.
///
/// ```
/// use clocksmith::FastInstant;
///
/// let begin = FastInstant::now();
/// let sum: u64 = (0..1_000).sum();
/// println!("{sum} after {:?}", begin.elapsed());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct FastInstant(Instant);

impl FastInstant {
    /// The earliest moment.
    pub const ZERO: Self = Self(Instant::ZERO);
    /// The latest moment.
    pub const MAX: Self = Self(Instant::MAX);

    /// Now, read unordered: [`monotonic_ns`](crate::monotonic_ns).
    #[inline(always)]
    #[must_use]
    pub fn now() -> Self {
        Self(Instant::now_unordered())
    }

    /// Nanoseconds of `CLOCK_MONOTONIC`.
    #[inline]
    #[must_use]
    pub const fn as_nanos(&self) -> u64 {
        self.0.as_nanos()
    }

    /// The moment with that number of nanoseconds of `CLOCK_MONOTONIC`.
    #[inline]
    #[must_use]
    pub const fn from_nanos(ns: u64) -> Self {
        Self(Instant::from_nanos(ns))
    }

    /// The time since this moment, at least zero. The clock is read unordered.
    #[inline(always)]
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        Self::now().duration_since(*self)
    }

    /// The time from `earlier` to this moment; zero if it is not earlier.
    #[inline(always)]
    #[must_use]
    pub const fn duration_since(&self, earlier: Self) -> Duration {
        self.0.saturating_duration_since(earlier.0)
    }

    /// The time from `earlier` to this moment; zero if it is not earlier.
    #[inline(always)]
    #[must_use]
    pub const fn saturating_duration_since(&self, earlier: Self) -> Duration {
        self.0.saturating_duration_since(earlier.0)
    }

    /// The time from `earlier` to this moment; `None` if it is later.
    #[inline]
    #[must_use]
    pub const fn checked_duration_since(&self, earlier: Self) -> Option<Duration> {
        self.0.checked_duration_since(earlier.0)
    }

    /// A later moment; `None` if 64 bits of nanoseconds do not hold it.
    #[inline]
    #[must_use]
    pub const fn checked_add(&self, duration: Duration) -> Option<Self> {
        match self.0.checked_add(duration) {
            Some(sum) => Some(Self(sum)),
            None => None,
        }
    }

    /// An earlier moment; `None` if it is before the clock's zero.
    #[inline]
    #[must_use]
    pub const fn checked_sub(&self, duration: Duration) -> Option<Self> {
        match self.0.checked_sub(duration) {
            Some(difference) => Some(Self(difference)),
            None => None,
        }
    }

    /// A later moment, [`MAX`](Self::MAX) at the latest.
    #[inline]
    #[must_use]
    pub const fn saturating_add(&self, duration: Duration) -> Self {
        Self(self.0.saturating_add(duration))
    }

    /// An earlier moment, [`ZERO`](Self::ZERO) at the earliest.
    #[inline]
    #[must_use]
    pub const fn saturating_sub(&self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(duration))
    }
}

impl From<FastInstant> for Instant {
    #[inline]
    fn from(moment: FastInstant) -> Self {
        moment.0
    }
}

impl From<Instant> for FastInstant {
    #[inline]
    fn from(moment: Instant) -> Self {
        Self(moment)
    }
}

crate::operators::duration_operators!(FastInstant);

impl Sub for FastInstant {
    type Output = Duration;

    /// Saturates at zero.
    #[inline]
    fn sub(self, earlier: Self) -> Duration {
        self.0 - earlier.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn arithmetic_is_that_of_instants(a: u64, b: u64) {
            let (x, y) = (Instant::from_nanos(a), Instant::from_nanos(b));
            let (fast_x, fast_y) = (FastInstant::from_nanos(a), FastInstant::from(y));
            let d = Duration::from_nanos(b);
            prop_assert_eq!(fast_x - fast_y, x - y);
            prop_assert_eq!(fast_x.duration_since(fast_y), x.duration_since(y));
            prop_assert_eq!(fast_x.checked_duration_since(fast_y), x.checked_duration_since(y));
            prop_assert_eq!(Instant::from(fast_x + d), x + d);
            prop_assert_eq!(Instant::from(fast_x - d), x - d);
            prop_assert_eq!(fast_x.checked_add(d).map(Instant::from), x.checked_add(d));
            prop_assert_eq!(fast_x.checked_sub(d).map(Instant::from), x.checked_sub(d));
            prop_assert_eq!(Instant::from(fast_x.saturating_add(d)), x.saturating_add(d));
            prop_assert_eq!(Instant::from(fast_x.saturating_sub(d)), x.saturating_sub(d));
            prop_assert!(FastInstant::ZERO <= fast_x && fast_x <= FastInstant::MAX);
            prop_assert_eq!(fast_x.cmp(&fast_y), a.cmp(&b));
        }
    }

    #[test]
    fn elapsed_rises_in_a_thread() {
        let begin = FastInstant::now();
        std::thread::sleep(Duration::from_millis(2));
        assert!(begin.elapsed() >= Duration::from_millis(2));
        assert!(Instant::from(begin) <= Instant::now());
        assert_eq!(size_of::<FastInstant>(), 8);
    }
}
