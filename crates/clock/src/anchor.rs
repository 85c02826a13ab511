//! Conversion between the monotonic clock and other clocks.

use crate::clocks;
use crate::instant::Instant;
use crate::timestamp::Timestamp;
use core::time::Duration;
use std::time::SystemTime;

/// Readings for one anchor.
const READINGS: u32 = 8;

/// A moment on three clocks: [`Instant`], `std::time::Instant` and the wall clock.
///
/// It is taken once, in about a microsecond, and then converts moments for as long as it is kept,
/// earlier moments included.
///
/// `std::time::Instant` is the same clock as another type, so its conversion stays valid; it is off
/// by a constant of [`uncertainty_ns`](Self::uncertainty_ns) at most. The wall clock is not: it is
/// set, and slewed against the monotonic one. **The offset is that of the moment of the anchor.**
/// Take a new anchor to follow the wall clock.
///
/// ```
/// use clocksmith::{Anchor, Instant};
///
/// let moment = Instant::now();
/// let anchor = Anchor::now();
/// println!("it was {}", anchor.timestamp(moment));
/// assert_eq!(anchor.of_unix_ns(anchor.unix_ns(moment)), moment);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Anchor {
    at: Instant,
    std: std::time::Instant,
    unix_ns: u64,
    uncertainty_ns: u64,
}

impl Anchor {
    /// Takes an anchor. It reads the clocks alternately, and so knows how far apart the readings
    /// are at most.
    #[must_use]
    pub fn now() -> Self {
        let mut at = clocks::monotonic_ordered_ns();
        let mut anchor = Self {
            at: Instant::from_nanos(at),
            std: std::time::Instant::now(),
            unix_ns: clocks::realtime_ordered_ns(),
            uncertainty_ns: u64::MAX,
        };
        let mut best = [u64::MAX; 2];
        for _ in 0..READINGS {
            let std = std::time::Instant::now();
            let between = clocks::monotonic_ordered_ns();
            let unix_ns = clocks::realtime_ordered_ns();
            let end = clocks::monotonic_ordered_ns();
            let width = between.saturating_sub(at);
            if width < best[0] {
                best[0] = width;
                anchor.at = Instant::from_nanos(at + width / 2);
                anchor.std = std;
                anchor.uncertainty_ns = width.div_ceil(2);
            }
            let width = end.saturating_sub(between);
            if width < best[1] {
                best[1] = width;
                // The values of the clock's beginning, for now: `at` may still change.
                anchor.unix_ns = unix_ns.wrapping_sub(between + width / 2);
            }
            at = end;
        }
        anchor.unix_ns = anchor.unix_ns.wrapping_add(anchor.at.as_nanos());
        anchor
    }

    /// The moment of the anchor.
    #[must_use]
    pub const fn instant(&self) -> Instant {
        self.at
    }

    /// By how many nanoseconds conversions to and from `std::time::Instant` are off at most: a
    /// few tens.
    #[must_use]
    pub const fn uncertainty_ns(&self) -> u64 {
        self.uncertainty_ns
    }

    /// The same moment as a `std::time::Instant`; `None` if that cannot hold it, which happens on
    /// systems other than Linux for moments before the start of the machine.
    #[must_use]
    pub fn std_instant(&self, moment: Instant) -> Option<std::time::Instant> {
        match moment.checked_duration_since(self.at) {
            Some(later) => self.std.checked_add(later),
            None => self.std.checked_sub(self.at.saturating_duration_since(moment)),
        }
    }

    /// The same moment as an [`Instant`]. Saturates at both ends of its range.
    #[must_use]
    pub fn of_std_instant(&self, moment: std::time::Instant) -> Instant {
        match moment.checked_duration_since(self.std) {
            Some(later) => self.at.saturating_add(later),
            None => self.at.saturating_sub(self.std.saturating_duration_since(moment)),
        }
    }

    /// Nanoseconds since 1970 of a moment, by the wall clock as it was at the moment of the
    /// anchor. Saturates at 0 and at `u64::MAX` (the year 2554).
    #[must_use]
    pub const fn unix_ns(&self, moment: Instant) -> u64 {
        moved(self.unix_ns, self.at.as_nanos(), moment.as_nanos())
    }

    /// The moment at which the wall clock, as it was at the moment of the anchor, shows this number
    /// of nanoseconds since 1970. Saturates at both ends of the range of an [`Instant`].
    #[must_use]
    pub const fn of_unix_ns(&self, ns: u64) -> Instant {
        Instant::from_nanos(moved(self.at.as_nanos(), self.unix_ns, ns))
    }

    /// The wall clock at a moment: [`unix_ns`](Self::unix_ns) as a [`Timestamp`].
    #[must_use]
    pub const fn timestamp(&self, moment: Instant) -> Timestamp {
        Timestamp::from_unix_nanos(self.unix_ns(moment))
    }

    /// The moment at which the wall clock, as it was at the moment of the anchor, shows that time:
    /// [`of_unix_ns`](Self::of_unix_ns).
    #[must_use]
    pub const fn of_timestamp(&self, time: Timestamp) -> Instant {
        self.of_unix_ns(time.as_unix_nanos())
    }

    /// The wall clock at a moment: [`unix_ns`](Self::unix_ns) as a `SystemTime`.
    #[must_use]
    pub fn system_time(&self, moment: Instant) -> SystemTime {
        let since = Duration::from_nanos(self.unix_ns(moment));
        // Every platform's `SystemTime` reaches to 2554.
        SystemTime::UNIX_EPOCH.checked_add(since).unwrap_or(SystemTime::UNIX_EPOCH)
    }

    /// The moment at which the wall clock, as it was at the moment of the anchor, shows that time. Saturates at
    /// both ends of the range of an [`Instant`], even for times before 1970 and after 2554.
    #[must_use]
    pub fn of_system_time(&self, time: SystemTime) -> Instant {
        let unix = SystemTime::UNIX_EPOCH + Duration::from_nanos(self.unix_ns);
        match time.duration_since(unix) {
            Ok(later) => self.at.saturating_add(later),
            Err(earlier) => self.at.saturating_sub(earlier.duration()),
        }
    }
}

impl Default for Anchor {
    /// The same as [`Anchor::now`].
    fn default() -> Self {
        Self::now()
    }
}

/// `there + (to - from)`, saturating.
const fn moved(there: u64, from: u64, to: u64) -> u64 {
    if to >= from { there.saturating_add(to - from) } else { there.saturating_sub(from - to) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn anchor(at: u64, unix_ns: u64) -> Anchor {
        let std = std::time::Instant::now();
        Anchor { at: Instant::from_nanos(at), std, unix_ns, uncertainty_ns: 0 }
    }

    proptest! {
        #[test]
        fn wall_times_are_exact_or_saturate(at: u64, unix: u64, x: u64) {
            let anchor = anchor(at, unix);
            let clamp = |wide: i128| wide.clamp(0, i128::from(u64::MAX)) as u64;
            let wide = i128::from(x) - i128::from(at) + i128::from(unix);
            prop_assert_eq!(anchor.unix_ns(Instant::from_nanos(x)), clamp(wide));
            let wide = i128::from(x) - i128::from(unix) + i128::from(at);
            prop_assert_eq!(anchor.of_unix_ns(x).as_nanos(), clamp(wide));
            let time = SystemTime::UNIX_EPOCH + Duration::from_nanos(x);
            prop_assert_eq!(anchor.of_system_time(time), anchor.of_unix_ns(x));
            let moment = Instant::from_nanos(x);
            prop_assert_eq!(anchor.timestamp(moment).as_unix_nanos(), anchor.unix_ns(moment));
            prop_assert_eq!(anchor.of_timestamp(Timestamp::from_unix_nanos(x)), anchor.of_unix_ns(x));
            prop_assert_eq!(
                anchor.system_time(moment),
                SystemTime::UNIX_EPOCH + Duration::from_nanos(anchor.unix_ns(moment))
            );
        }

        #[test]
        fn any_system_time_is_exact_or_saturates(at: u64, unix: u64, seconds in 0..1u64 << 40, ns in 0..1_000_000_000u32) {
            let anchor = anchor(at, unix);
            let since = Duration::new(seconds, ns);
            let clamp = |wide: i128| wide.clamp(0, i128::from(u64::MAX)) as u64;
            for (time, since) in [
                (SystemTime::UNIX_EPOCH.checked_add(since), since.as_nanos() as i128),
                (SystemTime::UNIX_EPOCH.checked_sub(since), -(since.as_nanos() as i128)),
            ] {
                let Some(time) = time else { continue };
                let wide = since - i128::from(unix) + i128::from(at);
                prop_assert_eq!(anchor.of_system_time(time).as_nanos(), clamp(wide));
            }
        }

        #[test]
        fn std_there_and_back(at: u64, x: u64) {
            let anchor = anchor(at, 0);
            let moment = Instant::from_nanos(x);
            if let Some(std) = anchor.std_instant(moment) {
                prop_assert_eq!(anchor.of_std_instant(std), moment);
            } else {
                prop_assert!(!cfg!(target_os = "linux"));
            }
        }

        #[test]
        fn std_beyond_the_range_saturates(at: u64, seconds in 0..1u64 << 40) {
            let anchor = anchor(at, 0);
            let far = Duration::from_secs(seconds);
            if let Some(later) = anchor.std.checked_add(far) {
                prop_assert_eq!(anchor.of_std_instant(later), anchor.at + far);
            }
            if let Some(earlier) = anchor.std.checked_sub(far) {
                prop_assert_eq!(anchor.of_std_instant(earlier), anchor.at - far);
            }
        }
    }

    #[test]
    fn conversions_agree_with_the_clocks() {
        let before = Instant::now_ordered();
        let std_before = std::time::Instant::now();
        let anchor = Anchor::now();
        let std_after = std::time::Instant::now();
        let after = Instant::now_ordered();
        assert!(before <= anchor.instant() && anchor.instant() <= after);
        let off = Duration::from_nanos(anchor.uncertainty_ns());
        // It is found within the readings around it, however long they took.
        assert!(off <= after - before, "{off:?} in {:?}", after - before);
        // Before the anchor, and after it.
        assert!(anchor.std_instant(before).unwrap() <= std_before + off);
        assert!(anchor.std_instant(after).unwrap() + off >= std_after);
        assert!(anchor.of_std_instant(std_before) + off >= before);
        assert!(anchor.of_std_instant(std_after) <= after + off);
        // The wall clock may be slewed meanwhile, but not by much.
        let wall = anchor.system_time(Instant::now());
        let apart = |a: SystemTime, b| a.duration_since(b).unwrap_or_else(|e| e.duration());
        let now = SystemTime::now();
        let late = std_after.elapsed();
        assert!(apart(now, wall) < Duration::from_millis(100) + 2 * late);
        assert!(anchor.of_system_time(SystemTime::now()) > before);
        assert_eq!(anchor.of_system_time(SystemTime::UNIX_EPOCH), anchor.of_unix_ns(0));
    }
}
