//! Durations in one word.

use core::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Sub, SubAssign};

const NS_PER_SECOND: u64 = 1_000_000_000;

/// A duration in nanoseconds, 584 years at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(u64);

impl Duration {
    pub(super) const fn from_ns(ns: u64) -> Self {
        Self(ns)
    }

    /// Of seconds and nanoseconds. Saturates.
    #[must_use]
    pub const fn new(sec: u64, nanos: u32) -> Self {
        Self(Self::from_secs(sec).0.saturating_add(nanos as u64))
    }

    /// Of days. Saturates.
    #[must_use]
    pub const fn from_days(days: u64) -> Self {
        Self(days.saturating_mul(86_400 * NS_PER_SECOND))
    }

    /// Of hours. Saturates.
    #[must_use]
    pub const fn from_hours(hours: u64) -> Self {
        Self(hours.saturating_mul(3600 * NS_PER_SECOND))
    }

    /// Of minutes. Saturates.
    #[must_use]
    pub const fn from_mins(mins: u64) -> Self {
        Self(mins.saturating_mul(60 * NS_PER_SECOND))
    }

    /// Of seconds. Saturates.
    #[must_use]
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(NS_PER_SECOND))
    }

    /// Of milliseconds. Saturates.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// Whole days.
    #[must_use]
    pub const fn as_days(&self) -> u64 {
        self.0 / (86_400 * NS_PER_SECOND)
    }

    /// Whole hours.
    #[must_use]
    pub const fn as_hours(&self) -> u64 {
        self.0 / (3600 * NS_PER_SECOND)
    }

    /// Whole minutes.
    #[must_use]
    pub const fn as_mins(&self) -> u64 {
        self.0 / (60 * NS_PER_SECOND)
    }

    /// Whole seconds.
    #[must_use]
    pub const fn as_secs(&self) -> u64 {
        self.0 / NS_PER_SECOND
    }

    /// Whole milliseconds.
    #[must_use]
    pub const fn as_millis(&self) -> u64 {
        self.0 / 1_000_000
    }

    /// Whole microseconds.
    #[must_use]
    pub const fn as_micros(&self) -> u64 {
        self.0 / 1000
    }

    /// Nanoseconds.
    #[must_use]
    pub const fn as_nanos(&self) -> u64 {
        self.0
    }

    /// Nanoseconds beyond the whole seconds.
    #[must_use]
    pub const fn subsec_nanos(&self) -> u32 {
        (self.0 % NS_PER_SECOND) as u32
    }

    /// The number of nanoseconds, which [`from_ticks`](Self::from_ticks) accepts.
    #[must_use]
    pub const fn as_ticks(&self) -> u64 {
        self.0
    }

    /// A duration of such a number.
    #[must_use]
    pub const fn from_ticks(ticks: u64) -> Self {
        Self(ticks)
    }

    /// Seconds.
    #[must_use]
    pub fn as_f64(&self) -> f64 {
        self.0 as f64 / NS_PER_SECOND as f64
    }

    /// How far apart the two are.
    #[must_use]
    pub const fn abs_diff(&self, other: Self) -> Self {
        Self(self.0.abs_diff(other.0))
    }

    /// The sum, the longest duration at most.
    #[must_use]
    pub const fn saturating_add(self, rhs: Self) -> Self {
        Self(self.0.saturating_add(rhs.0))
    }

    /// The sum, if 64 bits hold it.
    #[must_use]
    pub fn checked_add(self, rhs: Self) -> Option<Self> {
        self.0.checked_add(rhs.0).map(Self)
    }

    /// The difference, zero at least.
    #[must_use]
    pub const fn saturating_sub(self, rhs: Self) -> Self {
        Self(self.0.saturating_sub(rhs.0))
    }

    /// The difference, if it is not negative.
    #[must_use]
    pub fn checked_sub(self, rhs: Self) -> Option<Self> {
        self.0.checked_sub(rhs.0).map(Self)
    }

    /// The product, the longest duration at most.
    #[must_use]
    pub const fn saturating_mul(self, rhs: u32) -> Self {
        Self(self.0.saturating_mul(rhs as u64))
    }

    /// The product, if 64 bits hold it.
    #[must_use]
    pub fn checked_mul(self, rhs: u32) -> Option<Self> {
        self.0.checked_mul(u64::from(rhs)).map(Self)
    }

    /// The quotient, rounded down; `None` for a division by zero.
    #[must_use]
    pub fn checked_div(self, rhs: u32) -> Option<Self> {
        self.0.checked_div(u64::from(rhs)).map(Self)
    }
}

impl From<u64> for Duration {
    /// Of a number of [`as_ticks`](Self::as_ticks).
    fn from(ticks: u64) -> Self {
        Self(ticks)
    }
}

impl From<Duration> for core::time::Duration {
    fn from(duration: Duration) -> Self {
        Self::from_nanos(duration.0)
    }
}

impl From<core::time::Duration> for Duration {
    /// Saturates.
    fn from(duration: core::time::Duration) -> Self {
        Self(crate::instant::nanos(duration).unwrap_or(u64::MAX))
    }
}

impl Add for Duration {
    type Output = Self;

    /// Saturates.
    fn add(self, rhs: Self) -> Self {
        self.saturating_add(rhs)
    }
}

impl AddAssign for Duration {
    /// Saturates.
    fn add_assign(&mut self, rhs: Self) {
        *self = *self + rhs;
    }
}

impl Sub for Duration {
    type Output = Self;

    /// Saturates.
    fn sub(self, rhs: Self) -> Self {
        self.saturating_sub(rhs)
    }
}

impl SubAssign for Duration {
    /// Saturates.
    fn sub_assign(&mut self, rhs: Self) {
        *self = *self - rhs;
    }
}

impl Mul<u32> for Duration {
    type Output = Self;

    /// Saturates.
    fn mul(self, rhs: u32) -> Self {
        self.saturating_mul(rhs)
    }
}

impl MulAssign<u32> for Duration {
    /// Saturates.
    fn mul_assign(&mut self, rhs: u32) {
        *self = *self * rhs;
    }
}

impl Div<u32> for Duration {
    type Output = Self;

    /// Rounds down.
    ///
    /// # Panics
    ///
    /// A division by zero.
    fn div(self, rhs: u32) -> Self {
        Self(self.0 / u64::from(rhs))
    }
}

impl DivAssign<u32> for Duration {
    /// As `/`.
    fn div_assign(&mut self, rhs: u32) {
        *self = *self / rhs;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn arithmetic_is_exact_or_saturates(a: u64, b: u64, n: u32) {
            let (x, y) = (Duration::from_ticks(a), Duration::from(b));
            prop_assert_eq!((x + y).as_nanos(), a.saturating_add(b));
            prop_assert_eq!((x - y).as_nanos(), a.saturating_sub(b));
            prop_assert_eq!((x * n).as_nanos(), a.saturating_mul(n.into()));
            prop_assert_eq!(x.checked_add(y), a.checked_add(b).map(Duration));
            prop_assert_eq!(x.checked_sub(y), a.checked_sub(b).map(Duration));
            prop_assert_eq!(x.checked_mul(n), a.checked_mul(n.into()).map(Duration));
            prop_assert_eq!(x.checked_div(n), a.checked_div(n.into()).map(Duration));
            prop_assert_eq!(x.abs_diff(y), y.abs_diff(x));
            prop_assert_eq!(Duration::new(x.as_secs(), x.subsec_nanos()), x);
            prop_assert_eq!(Duration::from(core::time::Duration::from(x)), x);
        }

        #[test]
        fn units_are_exact_or_saturate(n: u64) {
            let exact = |n: u64, unit: u64| Duration(n.saturating_mul(unit));
            prop_assert_eq!(Duration::from_millis(n), exact(n, 1_000_000));
            prop_assert_eq!(Duration::from_secs(n), exact(n, NS_PER_SECOND));
            prop_assert_eq!(Duration::from_mins(n), exact(n, 60 * NS_PER_SECOND));
            prop_assert_eq!(Duration::from_hours(n), exact(n, 3600 * NS_PER_SECOND));
            prop_assert_eq!(Duration::from_days(n), exact(n, 86_400 * NS_PER_SECOND));
            let small = n % 100_000;
            prop_assert_eq!(Duration::from_days(small).as_hours(), small * 24);
            prop_assert_eq!(Duration::from_hours(small).as_mins(), small * 60);
            prop_assert_eq!(Duration::from_mins(small).as_secs(), small * 60);
            prop_assert_eq!(Duration::from_secs(small).as_millis(), small * 1000);
            prop_assert_eq!(Duration::from_millis(small).as_micros(), small * 1000);
            prop_assert_eq!(Duration::from_secs(small).as_f64(), small as f64);
        }
    }
}
