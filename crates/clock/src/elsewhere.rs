//! The clocks of targets that have no clock of this crate's own: the standard library's.

use crate::source::Source;
use crate::synchrony::{Refused, Synchrony};
pub(crate) use clocksmith_raw::clock_id::ClockId;
use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime};

/// The time that the clock shows at the first read in the process: 36 years.
///
/// Rust's `Instant` has no number, and its distance from the start of the machine is not known. So the number is one
/// that no machine has reached, and there are moments before the first read, whatever a program subtracts.
const FIRST_NS: u64 = 1 << 60;

#[inline]
pub(crate) fn monotonic() -> u64 {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    let passed = ORIGIN.get_or_init(Instant::now).elapsed().as_nanos();
    u64::try_from(passed).unwrap_or(u64::MAX).saturating_add(FIRST_NS)
}

#[inline]
pub(crate) fn monotonic_ordered() -> u64 {
    monotonic()
}

#[inline]
pub(crate) fn exact<const ORDERED: bool>(id: ClockId) -> u64 {
    match id {
        ClockId::Realtime | ClockId::RealtimeCoarse | ClockId::Tai => SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .map_or(0, |passed| u64::try_from(passed.as_nanos()).unwrap_or(u64::MAX)),
        _ => monotonic(),
    }
}

#[inline]
pub(crate) fn coarse(id: ClockId) -> u64 {
    exact::<false>(id)
}

pub(crate) fn source() -> Source {
    Source::Std
}

pub(crate) fn restrict(_best: Source) {}

pub(crate) fn trust(_limit: Duration) -> Result<Synchrony, Refused> {
    Err(Refused::Unsupported)
}

pub(crate) fn distrust() {}

pub(crate) fn rate() -> Option<(u32, u32)> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_before_the_first_read_exist() {
        let now = monotonic();
        let year = crate::Instant::from_nanos(now).checked_sub(Duration::from_secs(365 * 86_400));
        assert!(year.is_some());
        assert!(monotonic_ordered() >= now && coarse(ClockId::Boottime) >= now);
    }

    // (Miri isolates programs from the wall clock.)
    #[cfg(not(miri))]
    #[test]
    fn wall_clock_is_the_system_s() {
        let unix = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos();
        let before = unix();
        let ours = u128::from(exact::<true>(ClockId::Realtime));
        assert!((before..=unix()).contains(&ours));
    }

    #[test]
    fn source_is_std_and_trusts_no_counter() {
        restrict(Source::Syscall);
        assert_eq!(source(), Source::Std);
        assert_eq!(trust(Duration::ZERO), Err(Refused::Unsupported));
        distrust();
        assert_eq!(rate(), None);
    }
}
