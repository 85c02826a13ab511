//! The call that a sleeping thread waits in, and its time-out: `/proc/PID/task/TID/syscall`, whose read does not
//! stop the thread. Only calls with a time-out count.

use super::patient;
use crate::clock::ClockId;

/// A thread that sleeps in a system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocked {
    /// The number of the call.
    pub number: u64,
    /// Its arguments.
    pub arguments: [u64; 6],
    /// The stack pointer.
    pub sp: u64,
    /// The address after the instruction that made the call.
    pub ip: u64,
}

/// A wait that ends by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The call.
    pub call: &'static str,
    /// When it ends.
    pub end: End,
}

/// When a wait ends by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// At a time of a clock.
    Until(ClockId),
    /// So many nanoseconds after its beginning.
    After(u64),
}

/// Reads a line of `/proc/PID/task/TID/syscall`: a number, six arguments, the stack pointer and the
/// instruction pointer (`Documentation/filesystems/proc.rst`); `running`, or -1 for a thread that sleeps
/// elsewhere, gives `None`.
#[must_use]
pub fn parse(text: &str) -> Option<Blocked> {
    let mut words = text.split_ascii_whitespace();
    let number = words.next()?.parse().ok()?;
    let mut numbers = words.map(|word| u64::from_str_radix(word.strip_prefix("0x")?, 16).ok());
    let mut next = || numbers.next().flatten();
    let arguments = [next()?, next()?, next()?, next()?, next()?, next()?];
    Some(Blocked { number, arguments, sp: next()?, ip: next()? })
}

/// The call that a thread sleeps in; `None` if it runs, is gone, or may not be examined.
#[must_use]
pub fn blocked(pid: u32, tid: i32) -> Option<Blocked> {
    let path = format!("/proc/{pid}/task/{tid}/syscall");
    parse(&patient::ask(pid, || std::fs::read_to_string(path).ok())?)
}

/// Numbers of x86-64 (`arch/x86/entry/syscalls/syscall_64.tbl`, never changed).
mod number {
    pub(super) const POLL: u64 = 7;
    pub(super) const SELECT: u64 = 23;
    pub(super) const NANOSLEEP: u64 = 35;
    pub(super) const FUTEX: u64 = 202;
    pub(super) const CLOCK_NANOSLEEP: u64 = 230;
    pub(super) const EPOLL_WAIT: u64 = 232;
    pub(super) const PSELECT6: u64 = 270;
    pub(super) const PPOLL: u64 = 271;
    pub(super) const EPOLL_PWAIT: u64 = 281;
    pub(super) const EPOLL_PWAIT2: u64 = 441;
    pub(super) const FUTEX_WAIT: u64 = 455;
}

/// `include/uapi/linux/futex.h`.
mod futex {
    pub(super) const WAIT: u64 = 0;
    pub(super) const LOCK_PI: u64 = 6;
    pub(super) const WAIT_BITSET: u64 = 9;
    pub(super) const WAIT_REQUEUE_PI: u64 = 11;
    pub(super) const LOCK_PI2: u64 = 13;
    pub(super) const PRIVATE: u64 = 128;
    pub(super) const CLOCK_REALTIME: u64 = 256;
}

/// `TIMER_ABSTIME`.
const ABSOLUTE: u64 = 1;

impl Blocked {
    /// Decodes the wait; `pair` reads two words of the program's memory. `None` for a call that is not a wait, or that
    /// has no time-out.
    #[must_use]
    pub fn wait(&self, pair: impl Fn(u64) -> Option<(u64, u64)>) -> Option<Wait> {
        let [first, second, third, fourth, fifth, sixth] = self.arguments;
        // A time-out of -1 means no time-out; the upper half of the register is undefined.
        let milliseconds = |argument: u64| {
            let ms = u64::try_from(argument as i32).ok()?;
            Some(End::After(ms * 1_000_000))
        };
        let time = |pointer: u64, unit: u64| {
            let (seconds, parts) = pair(pointer).filter(|_| pointer != 0)?;
            Some(End::After(
                seconds.checked_mul(1_000_000_000)?.checked_add(parts.checked_mul(unit)?)?,
            ))
        };
        let (call, end) = match self.number {
            number::POLL => ("poll", milliseconds(third)?),
            number::EPOLL_WAIT => ("epoll_wait", milliseconds(fourth)?),
            number::EPOLL_PWAIT => ("epoll_pwait", milliseconds(fourth)?),
            number::EPOLL_PWAIT2 => ("epoll_pwait2", time(fourth, 1)?),
            number::PPOLL => ("ppoll", time(third, 1)?),
            number::SELECT => ("select", time(fifth, 1000)?),
            number::PSELECT6 => ("pselect6", time(fifth, 1)?),
            number::NANOSLEEP => ("nanosleep", time(first, 1)?),
            number::CLOCK_NANOSLEEP if second & ABSOLUTE != 0 => {
                ("clock_nanosleep", End::Until(ClockId(first as i32)))
            }
            number::CLOCK_NANOSLEEP => ("clock_nanosleep", time(third, 1)?),
            number::FUTEX => ("futex", futex_end(second, fourth, |at| time(at, 1))?),
            number::FUTEX_WAIT if fifth != 0 => ("futex_wait", End::Until(ClockId(sixth as i32))),
            _ => return None,
        };
        Some(Wait { call, end })
    }
}

fn futex_end(operation: u64, time_out: u64, after: impl Fn(u64) -> Option<End>) -> Option<End> {
    if time_out == 0 {
        return None;
    }
    let clock =
        if operation & futex::CLOCK_REALTIME == 0 { ClockId::MONOTONIC } else { ClockId::REALTIME };
    match operation & 0xffff_ffff & !(futex::PRIVATE | futex::CLOCK_REALTIME) {
        futex::WAIT => after(time_out),
        futex::WAIT_BITSET | futex::WAIT_REQUEUE_PI | futex::LOCK_PI2 => Some(End::Until(clock)),
        // It has always used the wall clock (futex(2)).
        futex::LOCK_PI => Some(End::Until(ClockId::REALTIME)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn wait(number: u64, arguments: [u64; 6]) -> Option<Wait> {
        let blocked = Blocked { number, arguments, sp: 1, ip: 2 };
        blocked.wait(|at| (at == 0x1000).then_some((2, 5)))
    }

    #[test]
    fn lines() {
        let line = "202 0x7f 0x189 0x0 0x7ffe10 0x0 0xffffffff 0x7ffe00 0x7f12\n";
        let blocked = parse(line).unwrap();
        assert_eq!((blocked.number, blocked.arguments[1]), (202, 0x189));
        assert_eq!((blocked.sp, blocked.ip), (0x7ffe00, 0x7f12));
        for other in
            ["running\n", "", "-1 0x7ffe00 0x7f12\n", "202 0x7f 0x189\n", "0 7 8 9 1 2 3 4 5\n"]
        {
            assert_eq!(parse(other), None, "{other}");
        }
    }

    #[test]
    fn ends() {
        let end = |number, arguments| wait(number, arguments).map(|wait| wait.end);
        let wall = Some(End::Until(ClockId::REALTIME));
        // pthread_cond_timedwait and sem_timedwait; the same without an end; by CLOCK_MONOTONIC.
        assert_eq!(end(202, [1, 0x189, 0, 0x1000, 0, 0]), wall);
        assert_eq!(end(202, [1, 0x189, 0, 0, 0, 0]), None);
        assert_eq!(end(202, [1, 0x89, 0, 0x1000, 0, 0]), Some(End::Until(ClockId::MONOTONIC)));
        assert_eq!(end(202, [1, 0x80, 0, 0x1000, 0, 0]), Some(End::After(2_000_000_005)));
        assert_eq!(end(202, [1, 0x81, 0, 0x1000, 0, 0]), None);
        assert_eq!(end(202, [1, 0x86, 0, 0x1000, 0, 0]), wall);
        // sleep(3) names the wall clock, but does not wait for a time of it.
        assert_eq!(end(230, [0, 0, 0x1000, 0, 0, 0]), Some(End::After(2_000_000_005)));
        assert_eq!(end(230, [0, 1, 0x1000, 0, 0, 0]), wall);
        assert_eq!(end(455, [1, 2, 3, 4, 0x1000, 0]), wall);
        assert_eq!(end(7, [1, 1, 250, 0, 0, 0]), Some(End::After(250_000_000)));
        assert_eq!(end(7, [1, 1, 0xffff_ffff, 0, 0, 0]), None);
        assert_eq!(end(23, [1, 0, 0, 0, 0x1000, 0]), Some(End::After(2_000_005_000)));
        assert_eq!(end(271, [1, 1, 0x2000, 0, 0, 0]), None);
        assert_eq!(end(0, [0; 6]), None);
    }

    proptest! {
        #[test]
        fn any_text(text: String) {
            let _ = parse(&text);
        }

        #[test]
        fn any_call(number in 0u64..500, arguments: [u64; 6], pair: (u64, u64)) {
            let _ = Blocked { number, arguments, sp: 0, ip: 0 }.wait(|_| Some(pair));
        }
    }
}
