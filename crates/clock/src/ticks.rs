//! Raw ticks of the counter, for programs that record many more times than they convert.

use core::fmt;

/// A reading of the processor's counter, without the conversion to a time.
///
/// If the counter serves as the machine's clock and may be read, a tick is one of its cycles (the
/// TSC on x86, `CNTVCT_EL0` on aarch64). Everywhere else a tick is a nanosecond of
/// [`monotonic_ns`](crate::monotonic_ns). Which of the two applies is decided at the first read in
/// the process (or in its parent) and never changes: all ticks of a process are the same unit. A
/// process that is going to forbid itself the counter (`PR_SET_TSC`) must do so before that.
///
/// Ticks become times later: see [`TickAnchor`](crate::TickAnchor) and
/// [`TickScale`](crate::TickScale). Those of different machines, or from before a restart, have
/// nothing to do with each other.
///
/// ```
/// use clocksmith::{TickScale, Ticks};
///
/// let begin = Ticks::now();
/// let took = Ticks::now().since(begin);
/// if let Some(scale) = TickScale::of_kernel() {
///     println!("{} ns", scale.ns(took));
/// }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Ticks(u64);

impl Ticks {
    /// Now, unordered: the processor may do it a few nanoseconds early. Async-signal-safe, and
    /// needs no preparation. The first read in a process takes a few microseconds.
    #[inline(always)]
    #[must_use]
    pub fn now() -> Self {
        Self(unit::read::<false>())
    }

    /// Now, after everything that comes before it in the program.
    #[inline(always)]
    #[must_use]
    pub fn now_ordered() -> Self {
        Self(unit::read::<true>())
    }

    /// The ticks with that number.
    #[inline]
    #[must_use]
    pub const fn from_u64(ticks: u64) -> Self {
        Self(ticks)
    }

    /// Their number.
    #[inline]
    #[must_use]
    pub const fn as_u64(self) -> u64 {
        self.0
    }

    /// Ticks from `earlier` to these. Wraps: if `earlier` is later, this is a very large number.
    #[inline(always)]
    #[must_use]
    pub const fn since(self, earlier: Self) -> u64 {
        self.0.wrapping_sub(earlier.0)
    }

    /// Ticks from `other` to these, negative if `other` is later. Valid as long as the two are
    /// less than 2^63 ticks apart.
    #[inline]
    #[must_use]
    pub const fn distance(self, other: Self) -> i64 {
        self.0.wrapping_sub(other.0) as i64
    }

    /// Whether ticks of this process are cycles of the processor's counter; otherwise they are
    /// nanoseconds.
    #[must_use]
    pub fn are_cycles() -> bool {
        unit::are_cycles()
    }
}

impl fmt::Debug for Ticks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ticks({})", self.0)
    }
}

#[cfg(engine)]
mod unit {
    use crate::clocks;
    use crate::{eligible, kernel};
    use clocksmith_raw::counter::{Counter, Hardware};
    use core::sync::atomic::{AtomicU8, Ordering};

    const UNKNOWN: u8 = 0;
    const CYCLES: u8 = 1;
    const NANOSECONDS: u8 = 2;

    static UNIT: AtomicU8 = AtomicU8::new(UNKNOWN);

    #[inline(always)]
    pub(super) fn read<const ORDERED: bool>() -> u64 {
        if UNIT.load(Ordering::Relaxed) == CYCLES { cycles::<ORDERED>() } else { slow::<ORDERED>() }
    }

    #[inline(always)]
    fn cycles<const ORDERED: bool>() -> u64 {
        if ORDERED { Hardware::read_ordered() } else { Hardware::read() }
    }

    #[cold]
    #[inline(never)]
    fn slow<const ORDERED: bool>() -> u64 {
        if are_cycles() {
            cycles::<ORDERED>()
        } else if ORDERED {
            clocks::monotonic_ordered_ns()
        } else {
            clocks::monotonic_ns()
        }
    }

    pub(super) fn are_cycles() -> bool {
        match UNIT.load(Ordering::Relaxed) {
            UNKNOWN => decide() == CYCLES,
            unit => unit == CYCLES,
        }
    }

    #[cold]
    fn decide() -> u8 {
        // A counter that the kernel does not use may differ between processors.
        let serves = kernel::keep_errno(|| {
            // A source that is the counter was found to be allowed at the first read of a clock. The kernel is not
            // queried again: a filter that was installed meanwhile may kill the process for that.
            clocks::source().is_counter()
                || kernel::counter_is_allowed() && eligible::by_behaviour::<Hardware>()
        });
        let unit = if serves { CYCLES } else { NANOSECONDS };
        // If another thread has a different result, that one was first and is used.
        match UNIT.compare_exchange(UNKNOWN, unit, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => unit,
            Err(there) => there,
        }
    }
}

#[cfg(not(engine))]
mod unit {
    use crate::clocks;

    #[inline]
    pub(super) fn read<const ORDERED: bool>() -> u64 {
        if ORDERED { clocks::monotonic_ordered_ns() } else { clocks::monotonic_ns() }
    }

    pub(super) fn are_cycles() -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn differences_wrap(a: u64, d: u64) {
            let (x, y) = (Ticks::from_u64(a), Ticks::from_u64(a.wrapping_add(d)));
            prop_assert_eq!(y.since(x), d);
            prop_assert_eq!(y.distance(x), d as i64);
            prop_assert_eq!(x.distance(y), (d as i64).wrapping_neg());
            prop_assert_eq!(Ticks::from_u64(x.as_u64()), x);
        }
    }

    #[test]
    fn ticks_run_forward_in_a_thread() {
        let mut last = Ticks::now_ordered();
        for _ in 0..10_000 {
            let now = Ticks::now_ordered();
            assert!(now.distance(last) >= 0);
            last = now;
        }
        assert!(Ticks::now().distance(last) > -100_000);
        assert_eq!(format!("{:?}", Ticks::from_u64(7)), "Ticks(7)");
    }

    #[cfg(all(engine, any(target_arch = "x86_64", target_arch = "x86")))]
    // (Miri starts no programs.)
    #[cfg(not(miri))]
    #[test]
    fn a_forbidden_counter_is_not_read() {
        // In a fresh process, because the unit is decided once: this program, started again.
        if std::env::var_os("CLOCKSMITH_TEST_TICKS").is_some() {
            // SAFETY: from here on rdtsc in this thread is fatal; that is the test.
            let forbidden = unsafe { libc::prctl(libc::PR_SET_TSC, libc::PR_TSC_SIGSEGV) };
            assert_eq!(forbidden, 0);
            let begin = Ticks::now();
            assert!(!Ticks::are_cycles());
            assert!(Ticks::now_ordered().since(begin) < 60_000_000_000);
            // Ticks are nanoseconds, and the kernel confirms that.
            let scale = crate::TickScale::of_kernel().unwrap();
            assert_eq!((scale.ns(12_345), scale.ticks_per_second()), (12_345, 1_000_000_000));
            let anchor = crate::TickAnchor::now();
            let apart = anchor.ticks().as_u64().abs_diff(anchor.instant().as_nanos());
            assert!(apart < 1_000_000_000);
            return;
        }
        let status = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "ticks::tests::a_forbidden_counter_is_not_read", "--nocapture"])
            .env("CLOCKSMITH_TEST_TICKS", "1")
            .output()
            .unwrap();
        assert!(status.status.success(), "{status:?}");
    }
}
