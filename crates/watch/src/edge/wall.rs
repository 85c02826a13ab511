//! The wall clock of this machine: read, and heard when it is set.

use crate::state::{Other, WallReading};
use clocksmith_facts::probe;
use clocksmith_facts::wall::Clocks;
use rustix::io::Errno;
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime,
    timerfd_create, timerfd_settime,
};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// The number of readings; the one with the narrowest bounds is used.
const READINGS: usize = 5;
/// A moment that no clock reaches, in seconds since 1970.
const NEVER_S: i64 = 1 << 40;

/// Hears when the wall clock is set, and reads it.
#[derive(Debug)]
pub struct WallEdge {
    /// A timer that ends in [`Errno::CANCELED`] when the clock is set; `None` if the system lacks such a timer: then
    /// a step is seen at the next reading.
    timer: Option<OwnedFd>,
}

impl Default for WallEdge {
    fn default() -> Self {
        Self::new()
    }
}

impl WallEdge {
    /// Hears from now on.
    #[must_use]
    pub fn new() -> Self {
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let edge = Self { timer: timerfd_create(TimerfdClockId::Realtime, flags).ok() };
        edge.arm();
        edge
    }

    /// The kernel cancels the timer at each step of the clock (`clock_was_set()` in `kernel/time/hrtimer.c`, since 3.0),
    /// and at no slew.
    fn arm(&self) {
        let never = Itimerspec {
            it_interval: Timespec { tv_sec: 0, tv_nsec: 0 },
            it_value: Timespec { tv_sec: NEVER_S, tv_nsec: 0 },
        };
        let flags = TimerfdTimerFlags::ABSTIME | TimerfdTimerFlags::CANCEL_ON_SET;
        if let Some(timer) = &self.timer {
            // Without it a step is seen at the next reading.
            let _ = timerfd_settime(timer, flags, &never);
        }
    }

    /// A descriptor that is readable when the clock was set.
    #[must_use]
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.timer.as_ref().map(AsFd::as_fd)
    }

    /// Returns whether the clock was set since the last call; arms the timer again.
    pub fn was_set(&self) -> bool {
        let Some(timer) = &self.timer else { return false };
        let read = rustix::io::read(timer, &mut [0_u8; 8]);
        let set = matches!(read, Err(Errno::CANCELED));
        if set || read.is_ok() {
            self.arm();
        }
        set
    }

    /// Reads the wall clock. `guest`: also reads a clock outside.
    #[must_use]
    pub fn read(&self, guest: bool) -> WallReading {
        let ns = |clock| {
            let time = clock_gettime(clock);
            time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec)
        };
        let reading = || {
            let before = ns(ClockId::Realtime);
            let since = ns(ClockId::Boottime);
            let after = ns(ClockId::Realtime);
            let window = after.saturating_sub(before);
            // The clock was set between the two readings: try again.
            let window = if window < 0 { i64::MAX / 8 } else { window };
            (window, before.saturating_add(window / 2).saturating_sub(since))
        };
        let (window_ns, offset_ns) =
            (0..READINGS).map(|_| reading()).min().unwrap_or((i64::MAX / 8, 0));
        let other = guest.then(other).flatten();
        WallReading { offset_ns, window_ns, timex: probe::adjtimex::timex().ok(), other }
    }
}

/// Returns the clock outside: the host's, otherwise the real-time clock.
fn other() -> Option<Other> {
    let clocks = Clocks::parse(&probe::wall::clocks(Path::new("/"))).ok()?;
    if let Some(host) = clocks.host {
        return Some(Other { name: host.device, ahead_ns: host.ahead_ns, is_host: true });
    }
    let rtc = clocks.rtc?;
    Some(Other { name: rtc.name, ahead_ns: rtc.ahead_ns, is_host: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_readings_of_a_clock_that_was_not_set_agree() {
        let edge = WallEdge::new();
        let (first, second) = (edge.read(true), edge.read(false));
        let noise = first.window_ns + second.window_ns;
        assert!((first.offset_ns - second.offset_ns).abs() <= noise, "{first:?} {second:?}");
        assert!(!edge.was_set());
    }
}
