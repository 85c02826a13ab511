//! The end of waits. Every wait for another thread checks it, so no wait is endless.

use super::source::{ClockId, Source};
use crate::interrupt;
use std::time::Duration;

/// A moment of the kernel's own monotonic clock, read by system call: a clock that is read in user space may be the
/// faulty one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline(i64);

impl Deadline {
    /// The moment after this time from now.
    pub(crate) fn after<S: Source>(source: &S, time: Duration) -> Self {
        Self(now(source).saturating_add(i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)))
    }

    /// This moment, or the one after this time from now, whichever is sooner.
    pub(crate) fn sooner<S: Source>(self, source: &S, time: Duration) -> Self {
        Self(self.0.min(Self::after(source, time).0))
    }

    pub(crate) fn is_over<S: Source>(self, source: &S) -> bool {
        now(source) >= self.0 || interrupt::breaks()
    }

    /// Returns the remaining time.
    pub(crate) fn left<S: Source>(self, source: &S) -> Duration {
        if interrupt::breaks() {
            return Duration::ZERO;
        }
        let left = self.0.saturating_sub(now(source));
        Duration::from_nanos(u64::try_from(left).unwrap_or(0))
    }
}

/// Nanoseconds of the kernel's monotonic clock. If the kernel refuses the call (a filter of seccomp), of the one that
/// is read in user space: nothing waits for ever.
pub(crate) fn now<S: Source>(source: &S) -> i64 {
    let id = ClockId::Monotonic;
    source.kernel_clock(id).or_else(|| source.clock(id)).unwrap_or(0)
}

/// A place in a loop that waits for another thread: usually spins, sometimes lets others run, and reports when the time
/// is up.
#[derive(Debug, Default)]
pub(crate) struct Patience(u32);

impl Patience {
    /// Makes one turn of the loop; returns whether to continue.
    #[inline]
    pub(crate) fn turn<S: Source>(&mut self, source: &S, deadline: Deadline) -> bool {
        self.0 = self.0.wrapping_add(1);
        if !self.0.is_multiple_of(2_048) {
            std::hint::spin_loop();
            return true;
        }
        std::thread::yield_now();
        !deadline.is_over(source)
    }
}
