//! A clock for `governor`'s rate limiters. Needs the feature `governor`.

use crate::instant::Instant;
use core::ops::Add;
use governor::clock::{Clock, ReasonablyRealtime, Reference};
use governor::nanos::Nanos;

/// A clock for `governor`, made from any [`Clock`](crate::Clock) of this crate.
///
/// The default is [`SystemClock`](crate::SystemClock), which is ordered: the threads that use a limiter
/// share its state, a moment of the latest one. With [`FastClock`](crate::FastClock) a thread may be a
/// few hundred nanoseconds earlier than that moment, which the limiter's arithmetic treats as zero. This is
/// good enough where quotas are microseconds or more.
///
/// ```
/// use clocksmith::SystemClock;
/// use clocksmith::governor::GovernorClock;
/// use governor::{Quota, RateLimiter};
/// use std::num::NonZeroU32;
///
/// let quota = Quota::per_second(NonZeroU32::MIN);
/// let limiter = RateLimiter::direct_with_clock(quota, GovernorClock(SystemClock));
/// assert!(limiter.check().is_ok());
/// assert!(limiter.check().is_err());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GovernorClock<C = crate::SystemClock>(pub C);

/// An [`Instant`], with `governor`'s arithmetic. All of it saturates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(pub Instant);

impl Reference for Moment {
    #[inline]
    fn duration_since(&self, earlier: Self) -> Nanos {
        Nanos::new(self.0.as_nanos().saturating_sub(earlier.0.as_nanos()))
    }

    #[inline]
    fn saturating_sub(&self, duration: Nanos) -> Self {
        Self(Instant::from_nanos(self.0.as_nanos().saturating_sub(duration.as_u64())))
    }
}

impl Add<Nanos> for Moment {
    type Output = Self;

    #[inline]
    fn add(self, duration: Nanos) -> Self {
        Self(Instant::from_nanos(self.0.as_nanos().saturating_add(duration.as_u64())))
    }
}

impl<C: crate::Clock + Clone> Clock for GovernorClock<C> {
    type Instant = Moment;

    #[inline]
    fn now(&self) -> Moment {
        Moment(self.0.now())
    }
}

/// Waiting for a limiter makes sense only with a clock of the machine; a mock clock does not advance by
/// itself.
impl ReasonablyRealtime for GovernorClock<crate::SystemClock> {}
impl ReasonablyRealtime for GovernorClock<crate::OrderedClock> {}
impl ReasonablyRealtime for GovernorClock<crate::FastClock> {}
impl ReasonablyRealtime for GovernorClock<crate::CoarseClock> {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MockClock, SystemClock};
    use core::num::NonZeroU32;
    use core::time::Duration;
    use governor::{Quota, RateLimiter};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn arithmetic_is_exact_or_saturates(a: u64, b: u64) {
            let (x, y) = (Moment(Instant::from_nanos(a)), Moment(Instant::from_nanos(b)));
            prop_assert_eq!(x.duration_since(y).as_u64(), a.saturating_sub(b));
            let d = Nanos::new(b);
            prop_assert_eq!((x + d).0.as_nanos(), a.saturating_add(b));
            prop_assert_eq!(x.saturating_sub(d).0.as_nanos(), a.saturating_sub(b));
        }
    }

    #[test]
    fn a_limiter_by_a_mock_clock() {
        let clock = MockClock::new();
        let quota = Quota::per_second(NonZeroU32::new(2).unwrap());
        let limiter = RateLimiter::direct_with_clock(quota, GovernorClock(clock.clone()));
        assert!(limiter.check().is_ok() && limiter.check().is_ok());
        assert!(limiter.check().is_err());
        clock.advance(Duration::from_millis(499));
        assert!(limiter.check().is_err());
        clock.advance(Duration::from_millis(1));
        assert!(limiter.check().is_ok());
        assert!(limiter.check().is_err());
    }

    #[test]
    fn a_limiter_by_the_machine() {
        let quota = Quota::with_period(Duration::from_millis(20)).unwrap();
        let limiter = RateLimiter::direct_with_clock(quota, GovernorClock(SystemClock));
        assert!(limiter.check().is_ok() && limiter.check().is_err());
        std::thread::sleep(Duration::from_millis(25));
        assert!(limiter.check().is_ok());
    }
}
