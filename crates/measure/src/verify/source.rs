//! The subject of the test: a counter, the clocks, and the processors on which they are read.
//!
//! All access is through [`Source`], which costs nothing on the real machine: calls are resolved when the program is
//! built. Tests provide machines that are wrong in chosen ways.

use super::counter;
use crate::{pin, reads};
pub use clocksmith_raw::clock_id::ClockId;
use clocksmith_raw::counter::{INSTRUCTION, read_ordered};

/// A machine with a counter and clocks.
pub trait Source: Sync {
    /// Checks that the counter may be read.
    ///
    /// # Errors
    /// Returns the reason if it may not be read.
    fn counter_allowed(&self) -> Result<(), String>;
    /// Reads the counter after all earlier instructions. Any value, at any time.
    fn counter(&self) -> u64;
    /// A clock as programs read it, in user space where that is possible; nanoseconds, `None` if
    /// the kernel does not have the clock.
    fn clock(&self, id: ClockId) -> Option<i64>;
    /// Reads the same clock by a system call, so in the kernel.
    fn kernel_clock(&self, id: ClockId) -> Option<i64>;
    /// The step that the kernel claims for a clock, in nanoseconds.
    fn claimed_step(&self, id: ClockId) -> Option<i64>;
    /// The processors that this process may run on.
    fn cpus(&self) -> Vec<u32>;
    /// Binds this thread to a processor.
    ///
    /// # Errors
    /// Returns the reason if the thread cannot be bound.
    fn pin(&self, cpu: u32) -> Result<(), String>;
    /// Returns the ticks of the counter in a second by the numbers with which the kernel computes times from it, if it
    /// does so and publishes them.
    fn kernel_hz(&self) -> Option<f64>;
    /// Returns the sources that confirm the rate of the kernel's clock, each with its possible error, in millionths.
    fn confirmed(&self) -> Vec<(String, f64)> {
        Vec::new()
    }
    /// The second of the board's real-time clock, if it may be read.
    fn rtc_seconds(&self) -> Option<i64> {
        None
    }
}

/// A clock that NTP keeps synchronised is off by at most this, in millionths: the kernel's limit of a correction
/// (`MAXFREQ`).
const SYNCHRONISED_PPM: f64 = 500.0;

/// The machine that runs this.
#[derive(Clone, Copy, Debug, Default)]
pub struct Real;

impl Source for Real {
    fn counter_allowed(&self) -> Result<(), String> {
        let allowed = reads::counter_allowed();
        if allowed.is_err() && INSTRUCTION.is_some() && counter::is_answered() {
            return Ok(());
        }
        allowed
    }

    #[inline]
    fn counter(&self) -> u64 {
        read_ordered()
    }

    #[inline]
    fn clock(&self, id: ClockId) -> Option<i64> {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the pointer is to a live, exclusively borrowed `timespec`, which is written to.
        let result = unsafe { libc::clock_gettime(id.number(), &raw mut time) };
        (result == 0).then(|| nanoseconds(time.tv_sec, time.tv_nsec))
    }

    #[inline]
    fn kernel_clock(&self, id: ClockId) -> Option<i64> {
        // This call writes two longs on every architecture (a 32-bit one has a second call for 64-bit times).
        let mut time = [0 as libc::c_long; 2];
        // SAFETY: the pointer is to two live, exclusively borrowed longs, to which the call writes.
        let result =
            unsafe { libc::syscall(libc::SYS_clock_gettime, id.number(), time.as_mut_ptr()) };
        (result == 0).then(|| nanoseconds(time[0], time[1]))
    }

    fn claimed_step(&self, id: ClockId) -> Option<i64> {
        let mut step = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the pointer is to a live, exclusively borrowed `timespec`, which is written to.
        let result = unsafe { libc::clock_getres(id.number(), &raw mut step) };
        (result == 0).then(|| nanoseconds(step.tv_sec, step.tv_nsec))
    }

    fn cpus(&self) -> Vec<u32> {
        pin::allowed()
    }

    fn pin(&self, cpu: u32) -> Result<(), String> {
        pin::bind(cpu)
    }

    fn confirmed(&self) -> Vec<(String, f64)> {
        // SAFETY: `timex` is a C struct of integers, for which all zeros is valid; without modes nothing is changed.
        let mut state: libc::timex = unsafe { std::mem::zeroed() };
        // SAFETY: the pointer is to a live, exclusively borrowed `timex`, which is written to.
        let answer = unsafe { libc::adjtimex(&raw mut state) };
        let synchronised =
            answer >= 0 && answer != libc::TIME_ERROR && state.status & libc::STA_UNSYNC == 0;
        if synchronised {
            vec![("NTP: the kernel's clock is synchronised".to_owned(), SYNCHRONISED_PPM)]
        } else {
            Vec::new()
        }
    }

    fn rtc_seconds(&self) -> Option<i64> {
        // Without a separate device, and without rights.
        clocksmith_facts::given::text("/sys/class/rtc/rtc0/since_epoch").ok()?.trim().parse().ok()
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
