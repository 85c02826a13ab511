//! The interface of `coarsetime` 0.1: `use clocksmith::compat::coarsetime::{Duration, Instant}`.
//!
//! Differences: a tick of `as_ticks` is a nanosecond. A recent time that has never been updated is the kernel's last
//! tick, not zero, even in a forked child of a process with an [`Updater`].
//! Instants never go backward. Arithmetic saturates; only a division by zero panics.
//!
//! ```
//! use clocksmith::compat::coarsetime::{Clock, Duration, Instant};
//!
//! let begin = Instant::now();
//! assert!(begin.elapsed() < Duration::from_hours(1));
//! println!("{} s since 1970", Clock::now_since_epoch().as_secs());
//! ```

mod duration;
mod instant;

pub use duration::Duration;
pub use instant::Instant;

use crate::cached::CachedClock;
use crate::clocks;
use std::io;

/// The time that `recent` reads.
static RECENT: CachedClock = CachedClock::new();
/// The time that `recent_since_epoch` reads.
static RECENT_WALL: CachedClock = CachedClock::new();

/// The time since 1970.
pub type UnixTimeStamp = Duration;

/// The wall clock.
#[derive(Clone, Copy, Debug)]
pub struct Clock;

impl Clock {
    /// The time since 1970 at the kernel's last tick.
    #[inline]
    #[must_use]
    pub fn now_since_epoch() -> UnixTimeStamp {
        Duration::from_ns(clocks::realtime_coarse_ns())
    }

    /// The same at the last update.
    #[inline]
    #[must_use]
    pub fn recent_since_epoch() -> UnixTimeStamp {
        Duration::from_ns(RECENT_WALL.realtime_ns())
    }

    /// Updates the time that [`recent_since_epoch`](Self::recent_since_epoch) returns.
    pub fn update() {
        Self::set_recent_since_epoch(Self::now_since_epoch());
    }

    /// Sets the time that [`recent_since_epoch`](Self::recent_since_epoch) returns, for tests. Zero
    /// reverts this.
    pub fn set_recent_since_epoch(recent: UnixTimeStamp) {
        RECENT_WALL.remember(clocks::monotonic_ns(), recent.as_nanos());
    }
}

/// A thread that updates both recent times.
#[derive(Debug)]
pub struct Updater {
    period: core::time::Duration,
    running: Option<[crate::Updater; 2]>,
}

impl Updater {
    /// Sets the interval in milliseconds.
    #[must_use]
    pub const fn new(period_millis: u64) -> Self {
        Self { period: core::time::Duration::from_millis(period_millis), running: None }
    }

    /// Starts the thread.
    ///
    /// # Errors
    ///
    /// Returns an error if a thread cannot be started.
    pub fn start(mut self) -> io::Result<Self> {
        let instants = crate::Updater::spawn(&RECENT, self.period, Box::new(Instant::update))?;
        let wall = crate::Updater::spawn(&RECENT_WALL, self.period, Box::new(Clock::update))?;
        self.running = Some([instants, wall]);
        Ok(self)
    }

    /// Stops the thread, as dropping this does.
    ///
    /// # Errors
    ///
    /// Never returns an error.
    pub fn stop(self) -> io::Result<()> {
        Ok(())
    }
}
