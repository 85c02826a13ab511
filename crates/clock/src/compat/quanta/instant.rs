//! Moments, which `with_clock` can make those of a mock clock.

use super::clock;
use core::fmt;
use core::ops::{Add, AddAssign, Sub, SubAssign};
use core::time::Duration;

/// A moment of the monotonic clock: [`crate::Instant`] with `quanta`'s methods; the two convert into each other.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Instant(pub(super) crate::Instant);

impl Instant {
    /// Now; by the clock of [`with_clock`](super::with_clock), in one.
    #[inline]
    #[must_use]
    pub fn now() -> Self {
        if clock::is_replaced() { clock::replaced_now() } else { Self(crate::Instant::now()) }
    }

    /// The time that [`Upkeep`](super::Upkeep) or [`set_recent`](super::set_recent) has left;
    /// otherwise the kernel's last tick.
    #[inline]
    #[must_use]
    pub fn recent() -> Self {
        if clock::is_replaced() { clock::replaced_recent() } else { clock::recent() }
    }

    /// The time from `earlier` to this moment; zero if it is not earlier.
    #[inline]
    #[must_use]
    pub fn duration_since(&self, earlier: Self) -> Duration {
        self.0.saturating_duration_since(earlier.0)
    }

    /// The time from `earlier` to this moment; `None` if it is later.
    #[inline]
    #[must_use]
    pub fn checked_duration_since(&self, earlier: Self) -> Option<Duration> {
        self.0.checked_duration_since(earlier.0)
    }

    /// The time from `earlier` to this moment; zero if it is not earlier.
    #[inline]
    #[must_use]
    pub fn saturating_duration_since(&self, earlier: Self) -> Duration {
        self.0.saturating_duration_since(earlier.0)
    }

    /// The time since this moment, at least zero.
    #[inline]
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        Self::now().saturating_duration_since(*self)
    }

    /// A later moment, if 64 bits of nanoseconds hold it.
    #[inline]
    #[must_use]
    pub fn checked_add(&self, duration: Duration) -> Option<Self> {
        self.0.checked_add(duration).map(Self)
    }

    /// An earlier moment, if there is one.
    #[inline]
    #[must_use]
    pub fn checked_sub(&self, duration: Duration) -> Option<Self> {
        self.0.checked_sub(duration).map(Self)
    }
}

impl From<crate::Instant> for Instant {
    fn from(moment: crate::Instant) -> Self {
        Self(moment)
    }
}

impl From<Instant> for crate::Instant {
    fn from(moment: Instant) -> Self {
        moment.0
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    /// Saturates.
    fn add(self, duration: Duration) -> Self {
        Self(self.0 + duration)
    }
}

impl AddAssign<Duration> for Instant {
    /// Saturates.
    fn add_assign(&mut self, duration: Duration) {
        self.0 += duration;
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;

    /// Saturates.
    fn sub(self, duration: Duration) -> Self {
        Self(self.0 - duration)
    }
}

impl SubAssign<Duration> for Instant {
    /// Saturates.
    fn sub_assign(&mut self, duration: Duration) {
        self.0 -= duration;
    }
}

impl Sub for Instant {
    type Output = Duration;

    /// Saturates.
    fn sub(self, earlier: Self) -> Duration {
        self.0 - earlier.0
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
