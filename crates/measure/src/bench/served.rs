//! The path that served a read: determined by its cost and by its CPU time.

use super::row::Via;
use crate::Path;
use crate::reads;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// The path that served a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Served {
    /// The kernel's code in user space.
    Vdso,
    /// The instruction itself.
    Counter,
    /// The library, without entering the kernel.
    Library,
    /// The kernel.
    Syscall,
    /// Unknown.
    Unknown,
}

impl Served {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Vdso => "vdso",
            Self::Counter => "counter",
            Self::Library => "library",
            Self::Syscall => "syscall",
            Self::Unknown => "unknown",
        }
    }

    /// Determines the path by the behaviour of a read, and by the path that was requested.
    #[must_use]
    pub fn of(via: Via, behaviour: Path) -> Self {
        match (behaviour, via) {
            (Path::Unknown, _) => Self::Unknown,
            (Path::Syscall, _) => Self::Syscall,
            (Path::Vdso, Via::Counter) => Self::Counter,
            (Path::Vdso, Via::Library) => Self::Library,
            // No other path serves the kernel's clocks in user space. A read that costs far less than a system call
            // cannot be one.
            (Path::Vdso, Via::Libc | Via::Vdso) => Self::Vdso,
            (Path::Vdso, Via::Syscall) => Self::Unknown,
        }
    }
}

/// The shares of CPU time of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Shares {
    /// In user space, 0 to 1.
    pub user: f64,
    /// In the kernel, 0 to 1.
    pub system: f64,
}

/// Ticks of CPU time from which on its split is used: the kernel may count whole ticks only.
const ENOUGH_TICKS: u32 = 5;
/// By which factor a thread may exceed the planned time to get its CPU time.
const MORE: u32 = 6;

impl Shares {
    /// Computes the shares from CPU time, and the length of a tick; `None` if that is too little to be reliable.
    #[must_use]
    pub fn of(user: Duration, system: Duration, tick: Duration) -> Option<Self> {
        let total = user + system;
        let enough = total >= tick * ENOUGH_TICKS && !total.is_zero();
        enough.then(|| {
            let system = system.as_secs_f64() / total.as_secs_f64();
            Self { user: 1.0 - system, system }
        })
    }

    /// Runs a loop for the time `wall` and measures the split of its CPU time. Must run in a fresh
    /// thread, because the split is scaled by all ticks since a thread began.
    ///
    /// # Errors
    /// Returns the reason if the split is not known.
    pub fn measure(wall: Duration, mut run: impl FnMut(u32)) -> Result<Self, String> {
        let tick = reads::resolution(reads::ClockId::MonotonicCoarse);
        let enough = tick * (ENOUGH_TICKS + 1);
        let total = || reads::cpu_time().map(|(user, system)| user + system);
        let begun = Instant::now();
        // On a busy machine a thread gets less CPU time than the time that passes; the loop then
        // runs longer.
        while begun.elapsed() < wall
            || (begun.elapsed() < wall * MORE && total().is_some_and(|total| total < enough))
        {
            run(1000);
        }
        let (user, system) = reads::cpu_time()
            .ok_or("the kernel does not report how much CPU time this thread used")?;
        Self::of(user, system, tick).ok_or_else(|| {
            format!(
                "the kernel accounted {} ms of CPU time to this thread, and its split is used only \
                 from {} ms on",
                (user + system).as_millis(),
                (tick * ENOUGH_TICKS).as_millis()
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_ticks_say_nothing() {
        let ms = Duration::from_millis;
        assert_eq!(Shares::of(ms(4), ms(8), ms(4)), None);
        assert_eq!(Shares::of(ms(0), ms(0), ms(0)), None);
        let shares = Shares::of(ms(10), ms(30), ms(4)).unwrap();
        assert_eq!((shares.user, shares.system), (0.25, 0.75));
    }

    #[test]
    fn names_follow_behaviour() {
        assert_eq!(Served::of(Via::Libc, Path::Vdso), Served::Vdso);
        assert_eq!(Served::of(Via::Vdso, Path::Syscall), Served::Syscall);
        assert_eq!(Served::of(Via::Library, Path::Vdso), Served::Library);
        assert_eq!(Served::of(Via::Counter, Path::Vdso), Served::Counter);
        assert_eq!(Served::of(Via::Syscall, Path::Vdso), Served::Unknown);
        assert_eq!(Served::of(Via::Libc, Path::Unknown), Served::Unknown);
    }
}
