//! A moment of the monotonic clock.

use core::ops::Sub;
use core::time::Duration;

/// A moment of `CLOCK_MONOTONIC`: 8 bytes, available as a number.
///
/// It is used like `std::time::Instant`, and is likewise ordered between threads: a moment that is taken
/// after another thread's moment has been seen is not earlier than that moment. So it may be handed from
/// thread to thread, and from task to task of an async runtime. [`FastInstant`](crate::FastInstant) is the
/// unordered one, for intervals that begin and end in one thread. Three things differ from std's:
///
/// - It is a number, [`as_nanos`](Self::as_nanos): nanoseconds since some moment at or before the
///   start of the machine, up to 584 years of them.
/// - The operators never panic. They saturate: a sum that is too late is the latest moment, and a
///   difference that would be negative is zero, or the earliest moment. The `checked_` methods
///   report such cases.
/// - There is no moment before [`ZERO`](Self::ZERO), which on Linux is the start of the machine; std's has such moments there.
///   `Instant::now() - month` is `ZERO` in a machine that has run for a day, and a day has elapsed since then, not a month.
///   To make something due at once use `Option<Instant>`, or [`checked_sub`](Self::checked_sub).
///
/// Moments of different machines, or from before a restart, must not be compared. Nor must those
/// of different time namespaces.
///
/// ```
/// use clocksmith::Instant;
/// use std::time::Duration;
///
/// let begin = Instant::now();
/// let deadline = begin + Duration::from_millis(5);
/// assert!(begin.elapsed() < Duration::from_secs(3600));
/// assert_eq!(deadline - begin, Duration::from_millis(5));
/// assert_eq!(begin - deadline, Duration::ZERO);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Instant(u64);

impl Instant {
    /// The earliest moment.
    pub const ZERO: Self = Self(0);
    /// The latest moment.
    pub const MAX: Self = Self(u64::MAX);

    /// Now, and after everything that this thread has seen of others:
    /// [`monotonic_ordered_ns`](crate::monotonic_ordered_ns).
    #[inline(always)]
    #[must_use]
    pub fn now() -> Self {
        Self(crate::clocks::monotonic_ordered_ns())
    }

    /// The same as [`now`](Self::now), by a name that states the guarantee.
    #[inline(always)]
    #[must_use]
    pub fn now_ordered() -> Self {
        Self::now()
    }

    /// Now, read unordered, at about half the cost: [`monotonic_ns`](crate::monotonic_ns). For comparisons
    /// with moments that the same thread took; see [`FastInstant`](crate::FastInstant).
    #[inline(always)]
    #[must_use]
    pub fn now_unordered() -> Self {
        Self(crate::clocks::monotonic_ns())
    }

    /// The last tick of the kernel, 1 to 10 ms ago:
    /// [`monotonic_coarse_ns`](crate::monotonic_coarse_ns). It may be earlier than a moment that
    /// [`now`](Self::now) returned before.
    #[inline(always)]
    #[must_use]
    pub fn now_coarse() -> Self {
        Self(crate::clocks::monotonic_coarse_ns())
    }

    /// The moment with that number of nanoseconds of `CLOCK_MONOTONIC`. Any number is a moment.
    #[inline]
    #[must_use]
    pub const fn from_nanos(ns: u64) -> Self {
        Self(ns)
    }

    /// Nanoseconds of `CLOCK_MONOTONIC`.
    #[inline]
    #[must_use]
    pub const fn as_nanos(&self) -> u64 {
        self.0
    }

    /// The time since this moment, at least zero. The clock is read as by [`now`](Self::now).
    #[inline(always)]
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        Self::now().saturating_duration_since(*self)
    }

    /// The time from `earlier` to this moment; zero if it is not earlier.
    #[inline(always)]
    #[must_use]
    pub const fn duration_since(&self, earlier: Self) -> Duration {
        self.saturating_duration_since(earlier)
    }

    /// The time from `earlier` to this moment; zero if it is not earlier.
    #[inline(always)]
    #[must_use]
    pub const fn saturating_duration_since(&self, earlier: Self) -> Duration {
        duration(self.0.saturating_sub(earlier.0))
    }

    /// The time from `earlier` to this moment; `None` if it is later.
    #[inline]
    #[must_use]
    pub const fn checked_duration_since(&self, earlier: Self) -> Option<Duration> {
        match self.0.checked_sub(earlier.0) {
            Some(ns) => Some(Duration::from_nanos(ns)),
            None => None,
        }
    }

    /// A later moment; `None` if it is beyond [`MAX`](Self::MAX).
    #[inline]
    #[must_use]
    pub const fn checked_add(&self, duration: Duration) -> Option<Self> {
        match nanos(duration) {
            Some(ns) => match self.0.checked_add(ns) {
                Some(sum) => Some(Self(sum)),
                None => None,
            },
            None => None,
        }
    }

    /// An earlier moment; `None` if it is before [`ZERO`](Self::ZERO).
    #[inline]
    #[must_use]
    pub const fn checked_sub(&self, duration: Duration) -> Option<Self> {
        match nanos(duration) {
            Some(ns) => match self.0.checked_sub(ns) {
                Some(difference) => Some(Self(difference)),
                None => None,
            },
            None => None,
        }
    }

    /// A later moment, [`MAX`](Self::MAX) at the latest.
    #[inline]
    #[must_use]
    pub const fn saturating_add(&self, duration: Duration) -> Self {
        match self.checked_add(duration) {
            Some(sum) => sum,
            None => Self::MAX,
        }
    }

    /// An earlier moment, [`ZERO`](Self::ZERO) at the earliest.
    #[inline]
    #[must_use]
    pub const fn saturating_sub(&self, duration: Duration) -> Self {
        match self.checked_sub(duration) {
            Some(difference) => difference,
            None => Self::ZERO,
        }
    }
}

/// `Duration::from_nanos`, without its division for times below a second, as most measured times
/// are: 2 ns less from the counter to the result.
#[inline(always)]
const fn duration(ns: u64) -> Duration {
    if ns < 1_000_000_000 { Duration::new(0, ns as u32) } else { Duration::from_nanos(ns) }
}

/// Nanoseconds of a duration, if 64 bits hold them: 584 years.
#[inline]
pub(crate) const fn nanos(duration: Duration) -> Option<u64> {
    match duration.as_secs().checked_mul(1_000_000_000) {
        Some(ns) => ns.checked_add(duration.subsec_nanos() as u64),
        None => None,
    }
}

crate::operators::duration_operators!(Instant);

impl Sub for Instant {
    type Output = Duration;

    /// Saturates at zero.
    #[inline]
    fn sub(self, earlier: Self) -> Duration {
        self.saturating_duration_since(earlier)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_duration() -> impl Strategy<Value = Duration> {
        prop_oneof![
            any::<u64>().prop_map(Duration::from_nanos),
            (any::<u64>(), 0..1_000_000_000u32).prop_map(|(s, ns)| Duration::new(s, ns)),
            Just(Duration::MAX),
            Just(Duration::ZERO),
        ]
    }

    proptest! {
        #[test]
        fn differences_are_exact_or_saturate(a: u64, b: u64) {
            let (x, y) = (Instant::from_nanos(a), Instant::from_nanos(b));
            let wide = i128::from(a) - i128::from(b);
            prop_assert_eq!((x - y).as_nanos(), u128::try_from(wide).unwrap_or(0));
            prop_assert_eq!(x.duration_since(y), x - y);
            let checked = x.checked_duration_since(y).map(|d| d.as_nanos());
            prop_assert_eq!(checked, u128::try_from(wide).ok());
            prop_assert_eq!(x.cmp(&y), a.cmp(&b));
        }

        #[test]
        fn sums_are_exact_or_saturate(a: u64, d in any_duration()) {
            let x = Instant::from_nanos(a);
            let sum = u128::from(a) + d.as_nanos();
            let exact = u64::try_from(sum).ok();
            prop_assert_eq!(x.checked_add(d).map(|i| i.as_nanos()), exact);
            prop_assert_eq!((x + d).as_nanos(), exact.unwrap_or(u64::MAX));
            let exact = u128::from(a).checked_sub(d.as_nanos()).map(|ns| ns as u64);
            prop_assert_eq!(x.checked_sub(d).map(|i| i.as_nanos()), exact);
            prop_assert_eq!((x - d).as_nanos(), exact.unwrap_or(0));
            let (mut up, mut down) = (x, x);
            up += d;
            down -= d;
            prop_assert_eq!((up, down), (x + d, x - d));
        }

        #[test]
        fn there_and_back(a: u64, d: u64) {
            let (x, d) = (Instant::from_nanos(a), Duration::from_nanos(d));
            if let Some(later) = x.checked_add(d) {
                prop_assert_eq!(later - x, d);
                prop_assert_eq!(later.checked_sub(d), Some(x));
            }
        }
    }

    #[test]
    fn the_clock_runs_forward() {
        let begin = Instant::now();
        let ordered = Instant::now_ordered();
        assert!(begin <= ordered && Instant::now_unordered().as_nanos() > 0);
        assert!(Instant::now_coarse() <= Instant::now_ordered());
        assert!(begin.as_nanos() > 0 && ordered.as_nanos() > 0);
        std::thread::sleep(Duration::from_millis(2));
        assert!(begin.elapsed() >= Duration::from_millis(2));
        assert!(begin.elapsed() < Duration::from_secs(60));
        assert_eq!(size_of::<Instant>(), 8);
    }
}
