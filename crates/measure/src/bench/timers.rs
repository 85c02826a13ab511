//! How late waits end: `clock_nanosleep`, `timerfd`, `futex` and `epoll` with a time-out, each with the same time many
//! times. The delay comes from the timer's slack, the interrupt, the idle state that the processor leaves, and the
//! scheduler; `CLOCK_MONOTONIC` is read before and after.

use super::distribution::Distribution;
use serde::{Deserialize, Serialize};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

/// The requested duration of each wait.
pub const ASKED: Duration = Duration::from_millis(1);
/// Waits of each kind.
pub const WAITS: usize = 100;
/// The most time for one kind.
const MOST: Duration = Duration::from_secs(2);

/// A way to wait, by a clock.
#[derive(Clone, Copy, Debug)]
struct Way {
    call: &'static str,
    clock: &'static str,
    wait: fn(libc::clockid_t) -> Result<(), String>,
    id: libc::clockid_t,
}

const WAYS: [Way; 7] = [
    Way {
        call: "clock_nanosleep",
        clock: "CLOCK_MONOTONIC",
        wait: nanosleep,
        id: libc::CLOCK_MONOTONIC,
    },
    Way {
        call: "clock_nanosleep",
        clock: "CLOCK_REALTIME",
        wait: nanosleep,
        id: libc::CLOCK_REALTIME,
    },
    Way {
        call: "clock_nanosleep",
        clock: "CLOCK_BOOTTIME",
        wait: nanosleep,
        id: libc::CLOCK_BOOTTIME,
    },
    Way { call: "timerfd", clock: "CLOCK_MONOTONIC", wait: timerfd, id: libc::CLOCK_MONOTONIC },
    Way { call: "timerfd", clock: "CLOCK_REALTIME", wait: timerfd, id: libc::CLOCK_REALTIME },
    Way { call: "futex", clock: "CLOCK_MONOTONIC", wait: futex, id: libc::CLOCK_MONOTONIC },
    Way { call: "epoll_wait", clock: "CLOCK_MONOTONIC", wait: epoll, id: libc::CLOCK_MONOTONIC },
];

/// The delay of waits of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Late {
    /// The system call.
    pub call: String,
    /// The clock of the wait.
    pub clock: String,
    /// The requested time, in nanoseconds.
    pub asked_ns: u64,
    /// The delay of the end, in nanoseconds; null where the wait was not possible.
    pub late: Option<Distribution>,
    /// Waits that ended before the requested time. There should be none.
    pub early: u64,
    /// Why the wait was not possible.
    pub missing: Option<String>,
}

/// Waits in every way, as long as `go_on` returns true.
#[must_use]
pub fn run(go_on: &dyn Fn(f64) -> bool) -> Vec<Late> {
    let mut out = Vec::new();
    for (index, way) in WAYS.iter().enumerate() {
        out.push(one(way));
        if !go_on((index + 1) as f64 / WAYS.len() as f64) {
            break;
        }
    }
    out
}

fn one(way: &Way) -> Late {
    let mut waits = Vec::with_capacity(WAITS);
    let mut missing = None;
    let begun = Instant::now();
    while waits.len() < WAITS && begun.elapsed() < MOST {
        let asked = Instant::now();
        if let Err(why) = (way.wait)(way.id) {
            missing = Some(why);
            break;
        }
        waits.push(asked.elapsed());
    }
    let late = |wait: &Duration| wait.checked_sub(ASKED).map(|late| late.as_nanos() as f64);
    Late {
        call: way.call.to_owned(),
        clock: way.clock.to_owned(),
        asked_ns: u64::try_from(ASKED.as_nanos()).unwrap_or(u64::MAX),
        late: Distribution::of(waits.iter().filter_map(late), 1.0),
        early: waits.iter().filter(|wait| late(wait).is_none()).count() as u64,
        missing,
    }
}

/// A failed call that a signal interrupted is not a fault: the next wait is measured.
fn failed(call: &str) -> Result<(), String> {
    let error = std::io::Error::last_os_error();
    if error.kind() == std::io::ErrorKind::Interrupted {
        return Ok(());
    }
    Err(format!("{call}: {error}"))
}

fn asked() -> libc::timespec {
    // A millisecond fits.
    libc::timespec { tv_sec: 0, tv_nsec: ASKED.subsec_nanos() as libc::c_long }
}

fn nanosleep(id: libc::clockid_t) -> Result<(), String> {
    let time = asked();
    // SAFETY: the pointer is to a live `timespec`; the pointer for the remaining time is null.
    let error = unsafe { libc::clock_nanosleep(id, 0, &raw const time, std::ptr::null_mut()) };
    match error {
        0 | libc::EINTR => Ok(()),
        error => Err(format!("clock_nanosleep: {}", std::io::Error::from_raw_os_error(error))),
    }
}

fn timerfd(id: libc::clockid_t) -> Result<(), String> {
    // SAFETY: takes plain numbers.
    let fd = unsafe { libc::timerfd_create(id, libc::TFD_CLOEXEC) };
    if fd < 0 {
        return failed("timerfd_create");
    }
    // SAFETY: the descriptor is new, and has no other owner.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    let none = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let time = libc::itimerspec { it_interval: none, it_value: asked() };
    // SAFETY: the pointer is to a live `itimerspec`; the pointer for the old value is null.
    if unsafe { libc::timerfd_settime(fd.as_raw_fd(), 0, &raw const time, std::ptr::null_mut()) }
        != 0
    {
        return failed("timerfd_settime");
    }
    let mut count = [0u8; 8];
    // SAFETY: the buffer is live, exclusively borrowed, and eight bytes long, and eight bytes are read.
    if unsafe { libc::read(fd.as_raw_fd(), count.as_mut_ptr().cast(), count.len()) } < 0 {
        return failed("read of a timerfd");
    }
    Ok(())
}

fn futex(_: libc::clockid_t) -> Result<(), String> {
    let word = std::sync::atomic::AtomicU32::new(0);
    let time = asked();
    // SAFETY: the word and the time live through the call; no other thread has the word's address.
    let result = unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
            0,
            &raw const time,
        )
    };
    let timed_out = std::io::Error::last_os_error().raw_os_error() == Some(libc::ETIMEDOUT);
    if result == 0 || timed_out { Ok(()) } else { failed("futex") }
}

fn epoll(_: libc::clockid_t) -> Result<(), String> {
    // SAFETY: takes plain numbers.
    let fd = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
    if fd < 0 {
        return failed("epoll_create1");
    }
    // SAFETY: the descriptor is new, and has no other owner.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    let mut event = libc::epoll_event { events: 0, u64: 0 };
    let time = i32::try_from(ASKED.as_millis()).unwrap_or(1);
    // SAFETY: the pointer is to one live, exclusively borrowed event.
    if unsafe { libc::epoll_wait(fd.as_raw_fd(), &raw mut event, 1, time) } < 0 {
        return failed("epoll_wait");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_every_way_waits_at_least_as_long_as_asked() {
        let all = run(&|_| true);
        assert_eq!(all.len(), WAYS.len());
        for one in &all {
            assert!(one.missing.is_none() && one.early == 0, "{one:?}");
            assert!(one.late.as_ref().is_some_and(|late| late.calls > 0 && late.min <= late.max));
        }
        assert_eq!(run(&|_| false).len(), 1);
    }
}
