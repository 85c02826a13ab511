//! How long a tick is, and when it was.

use crate::clocks;
use crate::instant::Instant;
use crate::ticks::Ticks;

/// Readings for one anchor.
const READINGS: u32 = 4;

/// Nanoseconds per tick, as `mult / 2^shift`: for durations in [`Ticks`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TickScale {
    mult: u64,
    shift: u32,
}

impl TickScale {
    /// One tick is one nanosecond.
    const NANOSECONDS: Self = Self { mult: 1, shift: 0 };

    /// The kernel's present scale, without any measurement: the numbers by which it converts the
    /// counter to times itself, NTP's steering included. `None` if it does not publish them to
    /// user space; then use [`between`](Self::between) two anchors.
    #[must_use]
    pub fn of_kernel() -> Option<Self> {
        if !Ticks::are_cycles() {
            return Some(Self::NANOSECONDS);
        }
        let (mult, shift) = clocks::rate()?;
        Some(Self { mult: u64::from(mult), shift })
    }

    /// The scale between two anchors, which the caller took at two moments; a larger distance gives
    /// a better scale. At 50 ns of doubt in each, anchors one second apart give the rate to 1e-7.
    /// `None` if `later` is not later.
    #[must_use]
    pub fn between(earlier: &TickAnchor, later: &TickAnchor) -> Option<Self> {
        let ticks = u64::try_from(later.ticks.distance(earlier.ticks)).ok().filter(|t| *t > 0)?;
        let ns = later.ns.checked_sub(earlier.ns).filter(|ns| *ns > 0)?;
        // As many bits as `mult` holds; more than 64 of fraction are of no use.
        let shift = ns.leading_zeros() + (63 - ticks.leading_zeros());
        let shift = shift.min(64);
        let mult = ((u128::from(ns) << shift) + u128::from(ticks / 2)) / u128::from(ticks);
        Some(Self { mult: u64::try_from(mult).unwrap_or(u64::MAX), shift })
    }

    /// The nanoseconds in this number of ticks, rounded down. Saturates at `u64::MAX`.
    #[inline]
    #[must_use]
    pub const fn ns(&self, ticks: u64) -> u64 {
        let ns = (ticks as u128 * self.mult as u128) >> self.shift;
        if ns > u64::MAX as u128 { u64::MAX } else { ns as u64 }
    }

    /// The ticks in this number of nanoseconds, rounded down. Saturates at `u64::MAX`.
    #[must_use]
    pub const fn ticks(&self, ns: u64) -> u64 {
        // `shift` is 64 at most, and `mult` is not zero.
        let ticks = ((ns as u128) << self.shift) / self.mult as u128;
        if ticks > u64::MAX as u128 { u64::MAX } else { ticks as u64 }
    }

    /// Ticks in a second: about 2.6e9 for a TSC, 1e9 where a tick is a nanosecond.
    #[must_use]
    pub const fn ticks_per_second(&self) -> u64 {
        self.ticks(1_000_000_000)
    }
}

/// A moment both in [`Ticks`] and in nanoseconds of `CLOCK_MONOTONIC`.
///
/// A logger or tracer writes raw ticks, and now and then an anchor. The reader of the log converts
/// the ticks to times by the anchors before and after them. This follows the kernel's clock, with
/// its steering, and needs no knowledge of the machine.
///
/// ```
/// use clocksmith::{TickAnchor, Ticks};
///
/// let before = TickAnchor::now();
/// let event = Ticks::now();
/// let after = TickAnchor::now();
///
/// let when = before.interpolate(&after, event);
/// assert!(before.instant() <= when && when <= after.instant());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TickAnchor {
    ticks: Ticks,
    ns: u64,
}

impl TickAnchor {
    /// Takes an anchor: a reading of the clock between two of the counter, the best of a few.
    #[must_use]
    pub fn now() -> Self {
        let mut best = Self { ticks: Ticks::from_u64(0), ns: 0 };
        let mut width = u64::MAX;
        let mut begin = Ticks::now_ordered();
        for _ in 0..READINGS {
            let ns = clocks::monotonic_ordered_ns();
            let end = Ticks::now_ordered();
            if end.since(begin) < width {
                width = end.since(begin);
                let ticks = Ticks::from_u64(begin.as_u64().wrapping_add(width / 2));
                best = Self { ticks, ns };
            }
            begin = end;
        }
        best
    }

    /// An anchor that was written down.
    #[must_use]
    pub const fn from_parts(ticks: Ticks, instant: Instant) -> Self {
        Self { ticks, ns: instant.as_nanos() }
    }

    /// Its ticks.
    #[must_use]
    pub const fn ticks(&self) -> Ticks {
        self.ticks
    }

    /// Its time.
    #[must_use]
    pub const fn instant(&self) -> Instant {
        Instant::from_nanos(self.ns)
    }

    /// The time of `ticks`, on the straight line through this anchor and another one: exact at
    /// both, and never backward. Ticks outside of the two continue the line.
    ///
    /// Saturates at both ends of the range of an [`Instant`]. If the anchors have the same ticks,
    /// or ticks and times that run in opposite directions, there is no line: then the result is
    /// this anchor's time.
    #[must_use]
    pub const fn interpolate(&self, other: &Self, ticks: Ticks) -> Instant {
        let run = other.ticks.distance(self.ticks) as i128;
        let rise = other.ns as i128 - self.ns as i128;
        if run == 0 || (run < 0) != (rise < 0) && rise != 0 {
            return Instant::from_nanos(self.ns);
        }
        // 2^63 * (2^64 - 1) at most: it fits.
        let product = ticks.distance(self.ticks) as i128 * rise;
        clamped((self.ns as i128).saturating_add(product.div_euclid(run)))
    }

    /// The time of `ticks`, at that scale from this anchor on, or back. Saturates at both ends of
    /// the range of an [`Instant`].
    #[must_use]
    pub const fn extrapolate(&self, scale: &TickScale, ticks: Ticks) -> Instant {
        let distance = ticks.distance(self.ticks);
        let ns = scale.ns(distance.unsigned_abs()) as i128;
        clamped(self.ns as i128 + if distance < 0 { -ns } else { ns })
    }
}

const fn clamped(ns: i128) -> Instant {
    if ns < 0 {
        Instant::ZERO
    } else if ns > u64::MAX as i128 {
        Instant::MAX
    } else {
        Instant::from_nanos(ns as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;
    use proptest::prelude::*;

    fn anchor(ticks: u64, ns: u64) -> TickAnchor {
        TickAnchor::from_parts(Ticks::from_u64(ticks), Instant::from_nanos(ns))
    }

    /// Ticks close to `a` that may have wrapped, and a time.
    fn later(a: &TickAnchor, run: u64, rise: u64) -> TickAnchor {
        anchor(a.ticks.as_u64().wrapping_add(run), a.ns.saturating_add(rise))
    }

    proptest! {
        #[test]
        fn lines_go_through_their_anchors(t: u64, ns: u64, run in 1..i64::MAX as u64, rise: u64) {
            let a = anchor(t, ns);
            let b = later(&a, run, rise);
            prop_assert_eq!(a.interpolate(&b, a.ticks), a.instant());
            prop_assert_eq!(a.interpolate(&b, b.ticks), b.instant());
            prop_assert_eq!(b.interpolate(&a, a.ticks), a.instant());
            prop_assert_eq!(b.interpolate(&a, b.ticks), b.instant());
        }

        #[test]
        fn lines_never_go_backward(
            t: u64, ns: u64, run in 1..1u64 << 60, rise in 0..1u64 << 60,
            x in -(1i64 << 61)..1i64 << 61, y in -(1i64 << 61)..1i64 << 61,
        ) {
            let a = anchor(t, ns);
            let b = later(&a, run, rise);
            let (x, y) = (x.min(y), x.max(y));
            let at = |d: i64| a.interpolate(&b, Ticks::from_u64(t.wrapping_add(d as u64)));
            prop_assert!(at(x) <= at(y));
            if (0..=run as i64).contains(&x) {
                prop_assert!(a.instant() <= at(x) && at(x) <= b.instant());
            }
        }

        #[test]
        fn any_anchors_at_all(a: (u64, u64), b: (u64, u64), t: u64) {
            let (a, b) = (anchor(a.0, a.1), anchor(b.0, b.1));
            let _ = a.interpolate(&b, Ticks::from_u64(t));
            if let Some(scale) = TickScale::between(&a, &b) {
                let _ = a.extrapolate(&scale, Ticks::from_u64(t));
                let _ = (scale.ns(t), scale.ticks(t), scale.ticks_per_second());
            }
        }

        #[test]
        fn scales_are_as_good_as_their_anchors(
            t: u64, ns in 0..1u64 << 62, run in 1..1u64 << 62, rise in 1..1u64 << 62,
        ) {
            let a = anchor(t, ns);
            let b = later(&a, run, rise);
            let scale = TickScale::between(&a, &b).unwrap();
            prop_assert!(scale.ns(run).abs_diff(rise) <= 2);
            let back = scale.ticks(scale.ns(run));
            prop_assert!(back <= run + 2 + 2 * (run / rise));
            prop_assert_eq!(a.extrapolate(&scale, a.ticks), a.instant());
            prop_assert_eq!(scale.ns(0), 0);
        }

        #[test]
        fn the_scale_of_nanoseconds_changes_nothing(x: u64) {
            prop_assert_eq!(TickScale::NANOSECONDS.ns(x), x);
            prop_assert_eq!(TickScale::NANOSECONDS.ticks(x), x);
        }
    }

    #[test]
    fn no_line_where_there_is_none() {
        let (a, b) = (anchor(10, 100), anchor(10, 200));
        assert_eq!(a.interpolate(&b, Ticks::from_u64(99)), a.instant());
        let b = anchor(20, 50);
        assert_eq!(a.interpolate(&b, Ticks::from_u64(15)), a.instant());
        for (from, to) in [(&a, &a), (&a, &b), (&b, &a), (&a, &anchor(20, 100))] {
            assert_eq!(TickScale::between(from, to), None);
        }
    }

    #[test]
    fn ticks_become_the_times_of_the_clock() {
        let first = TickAnchor::now();
        std::thread::sleep(Duration::from_millis(20));
        let (before, event, after) =
            (Instant::now_ordered(), Ticks::now_ordered(), Instant::now_ordered());
        std::thread::sleep(Duration::from_millis(20));
        let second = TickAnchor::now();
        // A moved thread may spoil an anchor; by a millisecond would be strange.
        let off = Duration::from_millis(1);
        let is_right = |when: Instant| before - off <= when && when <= after + off;
        assert!(is_right(first.interpolate(&second, event)));
        let measured = TickScale::between(&first, &second).unwrap();
        assert!(is_right(first.extrapolate(&measured, event)));
        assert!(is_right(second.extrapolate(&measured, event)));
        if let Some(scale) = TickScale::of_kernel() {
            assert!(is_right(first.extrapolate(&scale, event)));
            let (a, b) = (scale.ticks_per_second(), measured.ticks_per_second());
            // Miri takes milliseconds from one read to the next on a busy machine.
            assert!(cfg!(miri) || a.abs_diff(b) <= a / 50, "{a} {b}");
        }
    }
}
