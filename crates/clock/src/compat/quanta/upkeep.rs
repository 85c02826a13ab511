//! The thread that updates the recent time.

use super::clock::{Clock, RECENT, set_recent};
use crate::updater::Updater;
use core::fmt;
use core::sync::atomic::Ordering;
use core::time::Duration;
use std::io;

/// Settings of a thread that updates the recent time.
#[derive(Debug)]
pub struct Upkeep {
    interval: Duration,
    clock: Clock,
}

/// Updates the recent time until it is dropped.
#[derive(Debug)]
pub struct Handle(#[expect(dead_code, reason = "dropped with this")] Updater);

/// Why no thread was started.
#[derive(Debug)]
pub enum Error {
    /// This process already has one.
    UpkeepRunning,
    /// The system could not start one, or had no memory for it.
    FailedToSpawnUpkeepThread(io::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UpkeepRunning => f.write_str("the recent time is already kept by a thread"),
            Self::FailedToSpawnUpkeepThread(error) => {
                write!(f, "cannot start a thread for the recent time: {error}")
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::UpkeepRunning => None,
            Self::FailedToSpawnUpkeepThread(error) => Some(error),
        }
    }
}

impl Upkeep {
    /// Reads the machine's clock at that interval.
    #[must_use]
    pub const fn new(interval: Duration) -> Self {
        Self::new_with_clock(interval, Clock::new())
    }

    /// Reads that clock at that interval.
    #[must_use]
    pub const fn new_with_clock(interval: Duration, clock: Clock) -> Self {
        Self { interval, clock }
    }

    /// Starts the thread.
    ///
    /// # Errors
    ///
    /// Returns an error if such a thread already runs, or if the system cannot start one. A forked
    /// child does not inherit its parent's thread.
    pub fn start(self) -> Result<Handle, Error> {
        let Self { interval, clock } = self;
        let kept = RECENT.kept().map_err(Error::FailedToSpawnUpkeepThread)?;
        if kept.keepers.load(Ordering::Acquire) != 0 {
            return Err(Error::UpkeepRunning);
        }
        let update = Box::new(move || set_recent(clock.now()));
        Updater::spawn(&RECENT, interval, update)
            .map(Handle)
            .map_err(Error::FailedToSpawnUpkeepThread)
    }
}
