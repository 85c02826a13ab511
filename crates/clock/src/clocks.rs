//! The clocks of the process.

use crate::source::Source;
#[cfg(feature = "std")]
use crate::synchrony::{Refused, Synchrony};
#[cfg(feature = "std")]
use core::time::Duration;

#[cfg(engine)]
mod served {
    use crate::engine::{Asked, Engine};
    pub(crate) use crate::kernel::ClockId;
    use crate::source::Source;
    #[cfg(feature = "std")]
    use crate::synchrony::{Refused, Synchrony};
    use clocksmith_raw::counter::Hardware;
    #[cfg(feature = "std")]
    use core::time::Duration;

    pub(crate) static ENGINE: Engine = Engine::new();

    #[inline(always)]
    pub(crate) fn monotonic() -> u64 {
        ENGINE.monotonic::<Hardware, Asked>()
    }

    #[inline(always)]
    pub(crate) fn monotonic_ordered() -> u64 {
        ENGINE.monotonic_ordered::<Hardware, Asked>()
    }

    #[inline(always)]
    pub(crate) fn exact<const ORDERED: bool>(id: ClockId) -> u64 {
        ENGINE.exact::<Hardware, Asked, ORDERED>(id)
    }

    #[inline(always)]
    pub(crate) fn coarse(id: ClockId) -> u64 {
        ENGINE.coarse::<Hardware, Asked>(id)
    }

    pub(crate) fn source() -> Source {
        ENGINE.source::<Hardware, Asked>()
    }

    pub(crate) fn restrict(best: Source) {
        ENGINE.restrict::<Hardware>(best);
    }

    #[cfg(feature = "std")]
    pub(crate) fn trust(limit: Duration) -> Result<Synchrony, Refused> {
        let found = crate::synchrony::test_counters(limit)?;
        ENGINE.trust::<Hardware>(true);
        Ok(found)
    }

    pub(crate) fn distrust() {
        ENGINE.trust::<Hardware>(false);
    }

    pub(crate) fn rate() -> Option<(u32, u32)> {
        ENGINE.rate::<Hardware, Asked>()
    }
}

#[cfg(all(not(engine), feature = "std"))]
use crate::elsewhere as served;
use served::ClockId;

/// `CLOCK_MONOTONIC` in nanoseconds, read unordered: the fastest clock available.
///
/// Within one thread it never goes backward. The processor may execute the read a few nanoseconds
/// early, before loads that precede it have completed: compared with a time that *another thread*
/// took and published, it may seem too early by this amount. If that matters, use
/// [`monotonic_ordered_ns`]; [`crate::guide::which_function`] explains when it does.
///
/// Never fails and never waits. Async-signal-safe. The first call in a process finds out which
/// [`Source`] serves (25 to 50 us).
#[inline]
#[must_use]
pub fn monotonic_ns() -> u64 {
    served::monotonic()
}

/// `CLOCK_MONOTONIC` in nanoseconds, ordered as the vDSO orders it: a time that is taken after
/// another thread's time has been seen is never earlier than that.
///
/// It comes from the kernel's own numbers or from the kernel, never from the library's own line.
#[inline]
#[must_use]
pub fn monotonic_ordered_ns() -> u64 {
    served::monotonic_ordered()
}

/// `CLOCK_MONOTONIC_COARSE` in nanoseconds: the monotonic clock at the last tick, 1 to 10 ms ago
/// (`CONFIG_HZ`). Costs one or two loads. Only the kernel's tick updates it, so it also works in a
/// forked child.
#[inline]
#[must_use]
pub fn monotonic_coarse_ns() -> u64 {
    served::coarse(ClockId::MonotonicCoarse)
}

/// `CLOCK_REALTIME_COARSE`: nanoseconds since 1970 at the last tick.
#[inline]
#[must_use]
pub fn realtime_coarse_ns() -> u64 {
    served::coarse(ClockId::RealtimeCoarse)
}

/// `CLOCK_REALTIME`: nanoseconds since 1970, read unordered.
///
/// When the wall clock is set, the next read sees it: this clock is served by the kernel's page or
/// by the kernel, never by the library's own line.
#[inline]
#[must_use]
pub fn realtime_ns() -> u64 {
    served::exact::<false>(ClockId::Realtime)
}

/// `CLOCK_REALTIME`, ordered: see [`monotonic_ordered_ns`]. For time stamps of several threads that
/// are compared with each other.
#[inline]
#[must_use]
pub fn realtime_ordered_ns() -> u64 {
    served::exact::<true>(ClockId::Realtime)
}

/// `CLOCK_BOOTTIME` in nanoseconds: monotonic, and continues while the machine sleeps. Unordered.
#[inline]
#[must_use]
pub fn boottime_ns() -> u64 {
    served::exact::<false>(ClockId::Boottime)
}

/// `CLOCK_BOOTTIME` in nanoseconds, ordered: see [`monotonic_ordered_ns`].
#[inline]
#[must_use]
pub fn boottime_ordered_ns() -> u64 {
    served::exact::<true>(ClockId::Boottime)
}

/// `CLOCK_MONOTONIC_RAW` in nanoseconds: monotonic, and not steered. Unordered.
#[inline]
#[must_use]
pub fn monotonic_raw_ns() -> u64 {
    served::exact::<false>(ClockId::MonotonicRaw)
}

/// `CLOCK_MONOTONIC_RAW` in nanoseconds, ordered: see [`monotonic_ordered_ns`].
#[inline]
#[must_use]
pub fn monotonic_raw_ordered_ns() -> u64 {
    served::exact::<true>(ClockId::MonotonicRaw)
}

/// `CLOCK_TAI`: nanoseconds since 1970 with leap seconds, if their number has been set in the
/// kernel (otherwise the same as [`realtime_ns`]). Unordered.
#[inline]
#[must_use]
pub fn tai_ns() -> u64 {
    served::exact::<false>(ClockId::Tai)
}

/// `CLOCK_TAI` in nanoseconds, ordered: see [`monotonic_ordered_ns`].
#[inline]
#[must_use]
pub fn tai_ordered_ns() -> u64 {
    served::exact::<true>(ClockId::Tai)
}

/// The [`Source`] that serves [`monotonic_ns`] now.
#[must_use]
pub fn source() -> Source {
    served::source()
}

/// Sets the best [`Source`] that may be used, for the whole process: `restrict(Source::Vdso)` uses
/// the kernel's functions at every read, `restrict(Source::Vvar)` reverts that. A switch for
/// operators, and for tests; times stay monotonic across it.
pub fn restrict(best: Source) {
    served::restrict(best);
}

/// Uses the counter although the kernel does not: for machines whose kernel has chosen hpet,
/// acpi_pm or another slow clocksource, when **you** know that the TSC is good.
///
/// First the counters of all processors are tested against each other, for at most about `limit` (100
/// ms is plenty on a quiet machine). These are the processors that the calling thread may run on: call this
/// in a thread that is not bound to some of them. Then [`monotonic_ns`] follows the kernel's clock with a line
/// ([`Source::Disciplined`]), which is renewed from the kernel's clock every few milliseconds: a counter that jumps or
/// changes its rate is then noticed, and no longer used.
///
/// # Risk
///
/// The kernel had a reason. A virtual machine that is moved to another host, firmware that writes
/// the TSC, or a sleeping processor can break a counter that passed the test; times may then be
/// wrong by up to a window (16 ms) before it is noticed, and differ between threads by the difference of
/// their counters. [`monotonic_ordered_ns`] and the wall clock stay with the kernel.
///
/// # Errors
///
/// Returns the reason if the counter is not used; nothing then changes.
#[cfg(feature = "std")]
pub fn trust_counter(limit: Duration) -> Result<Synchrony, Refused> {
    served::trust(limit)
}

/// Reverts `trust_counter`.
pub fn distrust_counter() {
    served::distrust();
}

/// Nanoseconds per cycle of the counter by the numbers that are in use now, as (mult, shift); `None`
/// if the counter is not used. `mult` is not zero, and `shift` is below 64.
pub(crate) fn rate() -> Option<(u32, u32)> {
    served::rate()
}
