//! What is verified: a counter, the clocks, and the processors on which they are read.
//!
//! Everything here is asked through [`Source`], which costs nothing on the real machine: calls are
//! resolved when the program is built. Tests give machines that are wrong in chosen ways.

use super::counter;
use crate::{pin, reads};
use serde::Serialize;

/// A clock of `clock_gettime(2)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum ClockId {
    /// Time since boot, slewed by NTP.
    #[serde(rename = "CLOCK_MONOTONIC")]
    Monotonic,
    /// Time since boot, at the rate of the clocksource.
    #[serde(rename = "CLOCK_MONOTONIC_RAW")]
    MonotonicRaw,
    /// Time since boot, that of suspend included.
    #[serde(rename = "CLOCK_BOOTTIME")]
    Boottime,
    /// Wall clock time.
    #[serde(rename = "CLOCK_REALTIME")]
    Realtime,
    /// International atomic time.
    #[serde(rename = "CLOCK_TAI")]
    Tai,
    /// Time since boot at the last tick.
    #[serde(rename = "CLOCK_MONOTONIC_COARSE")]
    MonotonicCoarse,
    /// Wall clock time at the last tick.
    #[serde(rename = "CLOCK_REALTIME_COARSE")]
    RealtimeCoarse,
    /// CPU time of the process.
    #[serde(rename = "CLOCK_PROCESS_CPUTIME_ID")]
    ProcessCputime,
    /// CPU time of the thread.
    #[serde(rename = "CLOCK_THREAD_CPUTIME_ID")]
    ThreadCputime,
}

impl ClockId {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Monotonic,
        Self::MonotonicRaw,
        Self::Boottime,
        Self::Realtime,
        Self::Tai,
        Self::MonotonicCoarse,
        Self::RealtimeCoarse,
        Self::ProcessCputime,
        Self::ThreadCputime,
    ];

    /// The name in C.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Monotonic => "CLOCK_MONOTONIC",
            Self::MonotonicRaw => "CLOCK_MONOTONIC_RAW",
            Self::Boottime => "CLOCK_BOOTTIME",
            Self::Realtime => "CLOCK_REALTIME",
            Self::Tai => "CLOCK_TAI",
            Self::MonotonicCoarse => "CLOCK_MONOTONIC_COARSE",
            Self::RealtimeCoarse => "CLOCK_REALTIME_COARSE",
            Self::ProcessCputime => "CLOCK_PROCESS_CPUTIME_ID",
            Self::ThreadCputime => "CLOCK_THREAD_CPUTIME_ID",
        }
    }

    /// Whether somebody may set it, also back.
    #[must_use]
    pub fn can_be_set(self) -> bool {
        matches!(self, Self::Realtime | Self::Tai | Self::RealtimeCoarse)
    }

    /// Whether it counts work rather than time.
    #[must_use]
    pub fn counts_work(self) -> bool {
        matches!(self, Self::ProcessCputime | Self::ThreadCputime)
    }

    fn id(self) -> libc::clockid_t {
        match self {
            Self::Monotonic => libc::CLOCK_MONOTONIC,
            Self::MonotonicRaw => libc::CLOCK_MONOTONIC_RAW,
            Self::Boottime => libc::CLOCK_BOOTTIME,
            Self::Realtime => libc::CLOCK_REALTIME,
            Self::Tai => libc::CLOCK_TAI,
            Self::MonotonicCoarse => libc::CLOCK_MONOTONIC_COARSE,
            Self::RealtimeCoarse => libc::CLOCK_REALTIME_COARSE,
            Self::ProcessCputime => libc::CLOCK_PROCESS_CPUTIME_ID,
            Self::ThreadCputime => libc::CLOCK_THREAD_CPUTIME_ID,
        }
    }
}

/// A machine with a counter and clocks.
pub trait Source: Sync {
    /// Whether the counter may be read; the text says why not.
    ///
    /// # Errors
    /// Why not.
    fn counter_allowed(&self) -> Result<(), String>;
    /// The counter, read after everything before it in program order. Any value, at any time.
    fn counter(&self) -> u64;
    /// A clock as programs read it, in user space where that is possible; nanoseconds, `None` if
    /// the kernel does not have the clock.
    fn clock(&self, id: ClockId) -> Option<i64>;
    /// The same by a system call, so in the kernel.
    fn kernel_clock(&self, id: ClockId) -> Option<i64>;
    /// The step that the kernel claims for a clock, in nanoseconds.
    fn claimed_step(&self, id: ClockId) -> Option<i64>;
    /// The processors that this process may run on.
    fn cpus(&self) -> Vec<u32>;
    /// Ties this thread to a processor.
    ///
    /// # Errors
    /// Why it is not tied.
    fn pin(&self, cpu: u32) -> Result<(), String>;
    /// Ticks of the counter in a second by the numbers with which the kernel makes times of it,
    /// where it does and says so.
    fn kernel_hz(&self) -> Option<f64>;
}

/// The machine that runs this.
#[derive(Clone, Copy, Debug, Default)]
pub struct Real;

impl Source for Real {
    fn counter_allowed(&self) -> Result<(), String> {
        let allowed = reads::counter_allowed();
        if allowed.is_err() && reads::counter_name().is_some() && counter::is_answered() {
            return Ok(());
        }
        allowed
    }

    #[inline]
    fn counter(&self) -> u64 {
        counter::read_ordered()
    }

    #[inline]
    fn clock(&self, id: ClockId) -> Option<i64> {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the pointer is to a live, exclusively borrowed `timespec`, which is written to.
        let result = unsafe { libc::clock_gettime(id.id(), &raw mut time) };
        (result == 0).then(|| nanoseconds(time.tv_sec, time.tv_nsec))
    }

    #[inline]
    fn kernel_clock(&self, id: ClockId) -> Option<i64> {
        // Two longs are what this call writes on every architecture (a 32-bit one has a second
        // call for 64-bit times).
        let mut time = [0 as libc::c_long; 2];
        // SAFETY: the pointer is to two live, exclusively borrowed longs, which is what the call
        // writes to.
        let result = unsafe { libc::syscall(libc::SYS_clock_gettime, id.id(), time.as_mut_ptr()) };
        (result == 0).then(|| nanoseconds(time[0], time[1]))
    }

    fn claimed_step(&self, id: ClockId) -> Option<i64> {
        let mut step = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the pointer is to a live, exclusively borrowed `timespec`, which is written to.
        let result = unsafe { libc::clock_getres(id.id(), &raw mut step) };
        (result == 0).then(|| nanoseconds(step.tv_sec, step.tv_nsec))
    }

    fn cpus(&self) -> Vec<u32> {
        pin::allowed()
    }

    fn pin(&self, cpu: u32) -> Result<(), String> {
        pin::bind(cpu)
    }

    fn kernel_hz(&self) -> Option<f64> {
        if !clocksmith::Ticks::are_cycles() {
            return None;
        }
        let scale = clocksmith::TickScale::of_kernel()?;
        // Over a thousand seconds, so that rounding to whole ticks does not matter.
        let hz = scale.ticks(1_000_000_000_000) as f64 / 1e3;
        (hz.is_finite() && hz > 0.0).then_some(hz)
    }
}

/// Saturates: the kernel's own times end before.
#[allow(clippy::useless_conversion)]
fn nanoseconds(seconds: libc::c_long, nanoseconds: libc::c_long) -> i64 {
    i64::from(seconds).saturating_mul(1_000_000_000).saturating_add(i64::from(nanoseconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_answers() {
        for id in ClockId::ALL {
            let (user, kernel) = (Real.clock(id).unwrap(), Real.kernel_clock(id).unwrap());
            assert!(user <= kernel || id.can_be_set(), "{}: {user} {kernel}", id.name());
            assert!(Real.claimed_step(id).unwrap() > 0);
            assert_eq!(serde_json::to_value(id).unwrap(), id.name());
        }
        assert!(!Real.cpus().is_empty());
        assert!(Real.pin(u32::MAX).is_err());
        if let Some(hz) = Real.kernel_hz() {
            assert!(hz > 1e6, "{hz}");
        }
    }
}
