//! A moment of the wall clock.

#[cfg(any(
    feature = "std",
    feature = "jiff",
    feature = "jiff-02",
    feature = "chrono",
    feature = "time"
))]
mod convert;
#[cfg(feature = "serde")]
mod serde;
mod text;

#[cfg(feature = "serde")]
pub use self::serde::unix_nanos;
pub use text::{NotATimestamp, Rfc3339Text};

use crate::instant::nanos;
use core::fmt;
use core::time::Duration;

/// A moment of the wall clock: 8 bytes, nanoseconds since 1970-01-01 00:00 UTC, up to the year 2554.
///
/// It is used like `std::time::SystemTime`. Three things differ:
///
/// - It is a number, [`as_unix_nanos`](Self::as_unix_nanos), and there is none before 1970.
/// - The operators never panic: they saturate at [`UNIX_EPOCH`](Self::UNIX_EPOCH) and [`MAX`](Self::MAX). The
///   `checked_` methods report such cases.
/// - It can be shown and parsed: `2026-03-01T09:05:07.123456789Z` (RFC 3339).
///
/// It converts to and from `std::time::SystemTime`, and, with the features of those names, to and from
/// `jiff::Timestamp`, `chrono::DateTime<Utc>` and `time::OffsetDateTime`. The feature `serde` reads and writes it: as
/// text (RFC 3339, with nine digits) in formats that people read, such as JSON, and as a `u64` of nanoseconds in
/// others. With `#[serde(flatten)]` and in untagged enums a format of the second kind needs `#[serde(with =
/// "clocksmith::unix_nanos")]`.
///
/// # What it promises
///
/// [`now`](Self::now) is what `CLOCK_REALTIME` shows at that moment, exactly. So it has the properties of that clock:
///
/// - **It is not monotonic.** When the clock is set, forward or backward, the next moment shows that;
///   [`duration_since`](Self::duration_since) and [`elapsed`](Self::elapsed) report it. For intervals use
///   [`Instant`](crate::Instant).
/// - While a time daemon slews the clock, its seconds are longer or shorter: by up to 500 ppm by `adjtime(3)`, and up to
///   a tenth by chrony.
/// - **It does not count leap seconds**: a day has 86,400 s. If the kernel inserts one, 23:59:59 is shown twice, and a
///   moment in it cannot be distinguished from one a second earlier. If the time servers smear it, the clock differs
///   from UTC by up to a second for about a day, and nothing marks the moments of that day. No text with `:60` is
///   parsed.
/// - [`realtime_bounded`](crate::realtime_bounded) returns the bound of its error, if the kernel knows it.
///
/// ```
/// use clocksmith::Timestamp;
/// use std::time::{Duration, SystemTime};
///
/// let now = Timestamp::now();
/// let deadline = now + Duration::from_secs(30);
/// assert_eq!(deadline.duration_since(now), Ok(Duration::from_secs(30)));
/// assert!(SystemTime::from(now) <= SystemTime::now());
///
/// let written: Timestamp = "2026-03-01T10:05:07.5+01:00".parse()?;
/// assert_eq!(written.to_string(), "2026-03-01T09:05:07.500000000Z");
/// # Ok::<(), clocksmith::NotATimestamp>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Timestamp(u64);

impl Timestamp {
    /// 1970-01-01 00:00 UTC, the earliest moment.
    pub const UNIX_EPOCH: Self = Self(0);
    /// The latest moment, in July 2554.
    pub const MAX: Self = Self(u64::MAX);

    /// Now, ordered between threads: [`realtime_ordered_ns`](crate::realtime_ordered_ns).
    #[inline(always)]
    #[must_use]
    pub fn now() -> Self {
        Self(crate::clocks::realtime_ordered_ns())
    }

    /// Returns the current time with an unordered read, at about half the cost: [`realtime_ns`](crate::realtime_ns).
    /// Use it for times that are not compared with those of other threads.
    #[inline(always)]
    #[must_use]
    pub fn now_unordered() -> Self {
        Self(crate::clocks::realtime_ns())
    }

    /// The last tick of the kernel, 1 to 10 ms ago: [`realtime_coarse_ns`](crate::realtime_coarse_ns).
    #[inline(always)]
    #[must_use]
    pub fn now_coarse() -> Self {
        Self(crate::clocks::realtime_coarse_ns())
    }

    /// The moment with that number of nanoseconds since 1970. Any number is a moment.
    #[inline]
    #[must_use]
    pub const fn from_unix_nanos(ns: u64) -> Self {
        Self(ns)
    }

    /// Nanoseconds since 1970.
    #[inline]
    #[must_use]
    pub const fn as_unix_nanos(&self) -> u64 {
        self.0
    }

    /// Whole seconds since 1970, cut off.
    #[inline]
    #[must_use]
    pub const fn as_unix_seconds(&self) -> u64 {
        self.0 / 1_000_000_000
    }

    /// Nanoseconds since the last whole second, below 1,000,000,000.
    #[inline]
    #[must_use]
    pub const fn subsec_nanos(&self) -> u32 {
        (self.0 % 1_000_000_000) as u32
    }

    /// The time from `earlier` to this moment.
    ///
    /// # Errors
    ///
    /// Returns an error if `earlier` is later than this moment: the clock was set back in between, or the two moments
    /// were swapped.
    #[inline]
    pub const fn duration_since(&self, earlier: Self) -> Result<Duration, Backward> {
        match self.0.checked_sub(earlier.0) {
            Some(ns) => Ok(Duration::from_nanos(ns)),
            None => Err(Backward(Duration::from_nanos(earlier.0 - self.0))),
        }
    }

    /// The time from `earlier` to this moment; zero if it is not earlier.
    #[inline]
    #[must_use]
    pub const fn saturating_duration_since(&self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// The time since this moment, according to [`now`](Self::now).
    ///
    /// # Errors
    ///
    /// Returns an error if this moment is in the future.
    #[inline]
    pub fn elapsed(&self) -> Result<Duration, Backward> {
        Self::now().duration_since(*self)
    }

    /// A later moment; `None` if it is beyond [`MAX`](Self::MAX).
    #[inline]
    #[must_use]
    pub const fn checked_add(&self, duration: Duration) -> Option<Self> {
        let Some(ns) = nanos(duration) else { return None };
        match self.0.checked_add(ns) {
            Some(sum) => Some(Self(sum)),
            None => None,
        }
    }

    /// An earlier moment; `None` if it is before 1970.
    #[inline]
    #[must_use]
    pub const fn checked_sub(&self, duration: Duration) -> Option<Self> {
        let Some(ns) = nanos(duration) else { return None };
        match self.0.checked_sub(ns) {
            Some(difference) => Some(Self(difference)),
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

    /// An earlier moment, [`UNIX_EPOCH`](Self::UNIX_EPOCH) at the earliest.
    #[inline]
    #[must_use]
    pub const fn saturating_sub(&self, duration: Duration) -> Self {
        match self.checked_sub(duration) {
            Some(difference) => difference,
            None => Self::UNIX_EPOCH,
        }
    }
}

crate::operators::duration_operators!(Timestamp);

/// A moment that should have been earlier is later, by [`duration`](Self::duration).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backward(Duration);

impl Backward {
    /// By how much.
    #[inline]
    #[must_use]
    pub const fn duration(&self) -> Duration {
        self.0
    }
}

impl fmt::Display for Backward {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the second moment is later, by {:?}", self.0)
    }
}

impl core::error::Error for Backward {}

/// A moment of another type is before 1970 or after July 2554, so no [`Timestamp`] holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfRange(());

impl fmt::Display for OutOfRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the moment is before 1970 or after July 2554")
    }
}

impl core::error::Error for OutOfRange {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn arithmetic_is_exact_or_saturates(a: u64, b: u64, seconds: u64, ns in 0..1_000_000_000u32) {
            let (x, y) = (Timestamp::from_unix_nanos(a), Timestamp::from_unix_nanos(b));
            let apart = Duration::from_nanos(a.abs_diff(b));
            let expected = if a >= b { Ok(apart) } else { Err(Backward(apart)) };
            prop_assert_eq!(x.duration_since(y), expected);
            prop_assert_eq!(x.saturating_duration_since(y), expected.unwrap_or_default());
            prop_assert_eq!(x.cmp(&y), a.cmp(&b));
            prop_assert_eq!(u128::from(x.as_unix_seconds()) * 1_000_000_000 + u128::from(x.subsec_nanos()), u128::from(a));
            for d in [Duration::new(seconds, ns), Duration::from_nanos(b), Duration::MAX, Duration::ZERO] {
                let sum = u64::try_from(u128::from(a) + d.as_nanos()).ok();
                prop_assert_eq!(x.checked_add(d).map(|t| t.as_unix_nanos()), sum);
                prop_assert_eq!((x + d).as_unix_nanos(), sum.unwrap_or(u64::MAX));
                let difference = u128::from(a).checked_sub(d.as_nanos()).map(|ns| ns as u64);
                prop_assert_eq!(x.checked_sub(d).map(|t| t.as_unix_nanos()), difference);
                prop_assert_eq!((x - d).as_unix_nanos(), difference.unwrap_or(0));
                let (mut up, mut down) = (x, x);
                up += d;
                down -= d;
                prop_assert_eq!((up, down), (x + d, x - d));
            }
        }
    }

    #[cfg(not(miri))]
    #[test]
    fn moments_are_those_of_the_wall_clock() {
        let before = crate::realtime_ordered_ns();
        let moments = [Timestamp::now(), Timestamp::now_unordered()];
        let after = crate::realtime_ordered_ns();
        for moment in moments {
            // An unordered read may be a few nanoseconds early.
            assert!(before <= moment.as_unix_nanos() + 1_000 && moment.as_unix_nanos() <= after);
        }
        assert!(Timestamp::now_coarse() <= Timestamp::now());
        assert!(moments[0].elapsed().is_ok());
        let late = Timestamp::MAX.elapsed().unwrap_err();
        assert!(late.duration() > Duration::from_secs(1) && late.to_string().contains("later, by"));
        assert_eq!(size_of::<Timestamp>(), 8);
    }
}
