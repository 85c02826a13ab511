//! The interface of `minstant` 0.1: `use clocksmith::compat::minstant::Instant`.
//!
//! Differences: nothing runs before `main`; where the counter cannot be used, times are the
//! kernel's exact ones, not coarse ones; arithmetic saturates and never panics. Moments are ordered
//! between threads, which the original's are not: [`crate::FastInstant`] is the unordered type.
//!
//! ```
//! use clocksmith::compat::minstant::{Anchor, Instant};
//!
//! let anchor = Anchor::new();
//! let begin = Instant::now();
//! println!("{} ns since 1970, {:?} ago", begin.as_unix_nanos(&anchor), begin.elapsed());
//! ```

pub use crate::anchor::Anchor;
pub use crate::instant::Instant;
use core::sync::atomic::{AtomicU64, Ordering};

impl Instant {
    /// Nanoseconds since 1970: [`Anchor::unix_ns`].
    #[must_use]
    pub const fn as_unix_nanos(&self, anchor: &Anchor) -> u64 {
        anchor.unix_ns(*self)
    }
}

impl Anchor {
    /// The same as [`Anchor::now`].
    #[must_use]
    pub fn new() -> Self {
        Self::now()
    }
}

/// Whether times come from the processor's counter now.
#[must_use]
pub fn is_tsc_available() -> bool {
    crate::clocks::source().is_counter()
}

/// An [`Instant`] that can be exchanged by several threads. The memory orders are those of
/// `AtomicU64`.
#[derive(Debug)]
pub struct Atomic(AtomicU64);

impl Atomic {
    /// Creates one that holds that moment.
    #[must_use]
    pub const fn new(v: Instant) -> Self {
        Self(AtomicU64::new(v.as_nanos()))
    }

    /// The moment that it holds.
    ///
    /// # Panics
    ///
    /// If the order is `Release` or `AcqRel`, as with all atomics.
    #[inline]
    #[must_use]
    pub fn load(&self, order: Ordering) -> Instant {
        Instant::from_nanos(self.0.load(order))
    }

    /// Holds another moment from now on.
    ///
    /// # Panics
    ///
    /// If the order is `Acquire` or `AcqRel`, as with all atomics.
    #[inline]
    pub fn store(&self, val: Instant, order: Ordering) {
        self.0.store(val.as_nanos(), order);
    }

    /// Holds another moment from now on. Returns the previous one.
    #[inline]
    pub fn swap(&self, val: Instant, order: Ordering) -> Instant {
        Instant::from_nanos(self.0.swap(val.as_nanos(), order))
    }

    /// Holds the later of its moment and another one. Returns the previous one.
    #[inline]
    pub fn fetch_max(&self, val: Instant, order: Ordering) -> Instant {
        Instant::from_nanos(self.0.fetch_max(val.as_nanos(), order))
    }

    /// Holds the earlier of its moment and another one. Returns the previous one.
    #[inline]
    pub fn fetch_min(&self, val: Instant, order: Ordering) -> Instant {
        Instant::from_nanos(self.0.fetch_min(val.as_nanos(), order))
    }

    /// The moment that it held.
    #[must_use]
    pub fn into_instant(self) -> Instant {
        Instant::from_nanos(self.0.into_inner())
    }
}

impl From<Instant> for Atomic {
    fn from(v: Instant) -> Self {
        Self::new(v)
    }
}
