//! Moments at ticks of the kernel.

use super::{Duration, RECENT};
use crate::clocks;
use core::ops::{Add, AddAssign, Sub, SubAssign};

/// A moment of the monotonic clock, as old as the kernel's last tick: 1 to 10 ms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(crate::Instant);

impl Instant {
    /// Now, at the last tick. Also the recent moment from now on.
    #[inline]
    #[must_use]
    pub fn now() -> Self {
        let now = clocks::monotonic_coarse_ns();
        // The wall clock has a separate slot; zero would mean that no time is remembered.
        RECENT.remember(now, 1);
        Self::from_ticks(now)
    }

    /// Now, at the last tick.
    #[inline]
    #[must_use]
    pub fn now_without_cache_update() -> Self {
        Self::from_ticks(clocks::monotonic_coarse_ns())
    }

    /// The moment of the last update.
    #[inline]
    #[must_use]
    pub fn recent() -> Self {
        Self(RECENT.instant())
    }

    /// Updates the recent moment.
    pub fn update() {
        let _ = Self::now();
    }

    /// The time from `earlier` to this moment; zero if it is not earlier.
    #[inline]
    #[must_use]
    pub fn duration_since(&self, earlier: Self) -> Duration {
        *self - earlier
    }

    /// The time from this moment to the recent one.
    #[inline]
    #[must_use]
    pub fn elapsed_since_recent(&self) -> Duration {
        Self::recent() - *self
    }

    /// The time since this moment. Updates the recent one.
    #[inline]
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        Self::now() - *self
    }

    /// The number of nanoseconds, which [`from_ticks`](Self::from_ticks) accepts.
    #[inline]
    #[must_use]
    pub const fn as_ticks(&self) -> u64 {
        self.0.as_nanos()
    }

    /// Of such a number.
    #[inline]
    #[must_use]
    pub const fn from_ticks(ticks: u64) -> Self {
        Self(crate::Instant::from_nanos(ticks))
    }

    /// A later moment, the latest one at most.
    #[must_use]
    pub const fn saturating_add(self, rhs: Duration) -> Self {
        Self::from_ticks(self.as_ticks().saturating_add(rhs.as_nanos()))
    }

    /// A later moment, if there is one.
    #[must_use]
    pub fn checked_add(self, rhs: Duration) -> Option<Self> {
        self.as_ticks().checked_add(rhs.as_nanos()).map(Self::from_ticks)
    }

    /// An earlier moment, the earliest one at most.
    #[must_use]
    pub const fn saturating_sub(self, rhs: Duration) -> Self {
        Self::from_ticks(self.as_ticks().saturating_sub(rhs.as_nanos()))
    }

    /// An earlier moment, if there is one.
    #[must_use]
    pub fn checked_sub(self, rhs: Duration) -> Option<Self> {
        self.as_ticks().checked_sub(rhs.as_nanos()).map(Self::from_ticks)
    }
}

impl Default for Instant {
    /// Now.
    fn default() -> Self {
        Self::now()
    }
}

impl From<Instant> for crate::Instant {
    fn from(moment: Instant) -> Self {
        moment.0
    }
}

impl Sub for Instant {
    type Output = Duration;

    /// Saturates.
    #[inline]
    fn sub(self, earlier: Self) -> Duration {
        Duration::from_ns(self.as_ticks().saturating_sub(earlier.as_ticks()))
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    /// Saturates.
    fn add(self, rhs: Duration) -> Self {
        self.saturating_add(rhs)
    }
}

impl AddAssign<Duration> for Instant {
    /// Saturates.
    fn add_assign(&mut self, rhs: Duration) {
        *self = *self + rhs;
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;

    /// Saturates.
    fn sub(self, rhs: Duration) -> Self {
        self.saturating_sub(rhs)
    }
}

impl SubAssign<Duration> for Instant {
    /// Saturates.
    fn sub_assign(&mut self, rhs: Duration) {
        *self = *self - rhs;
    }
}
