//! The reads themselves, one type each, so that every loop is compiled around its own read.

use super::row::{ClockId, Instruction, LibraryRead, Row, Via, What};
use super::vdso::{ClockGettime, Gettimeofday, Time, Vdso};
use crate::reads;
use clocksmith_raw::counter;
use std::mem::MaybeUninit;

/// A read that can be repeated.
pub trait Read: Copy + Send + 'static {
    /// Reads once; the result is kept from being optimised away.
    fn read(self);

    /// Reads once and returns the value: nanoseconds, or ticks of the counter. `None` if the read failed.
    fn value(self) -> Option<u64>;
}

/// An operation on a read whose type only the row determines.
pub trait Visitor {
    /// The result of the operation.
    type Out;
    /// Does the operation with a read.
    fn visit<R: Read>(self, read: R) -> Self::Out;
}

/// Calls the visitor with the read of this row.
///
/// # Errors
/// Returns the reason if this read does not exist here.
pub fn visit<V: Visitor>(row: Row, vdso: &Vdso, visitor: V) -> Result<V::Out, String> {
    const NO_FUNCTION: &str = "the kernel maps no such function";
    match (row.what, row.via) {
        (What::Clock(id), Via::Libc) => working(LibcClock(id), visitor),
        (What::Clock(id), Via::Vdso) => {
            working(VdsoClock(vdso.clock_gettime.ok_or(NO_FUNCTION)?, id), visitor)
        }
        (What::Clock(id), _) => working(SyscallClock(id), visitor),
        (What::Gettimeofday, Via::Libc) => working(LibcGettimeofday(), visitor),
        (What::Gettimeofday, Via::Vdso) => {
            working(VdsoGettimeofday(vdso.gettimeofday.ok_or(NO_FUNCTION)?), visitor)
        }
        (What::Gettimeofday, _) => working(SyscallGettimeofday(), visitor),
        (What::Time, Via::Libc) => working(LibcTime(), visitor),
        (What::Time, Via::Vdso) => working(VdsoTime(vdso.time.ok_or(NO_FUNCTION)?), visitor),
        (What::Time, _) => working(SyscallTime(), visitor),
        (What::Counter(instruction), _) => {
            counter::INSTRUCTION.ok_or("no counter that this program knows")?;
            reads::counter_allowed()?;
            match instruction {
                Instruction::Plain => working(Plain(), visitor),
                Instruction::Fenced => working(Fenced(), visitor),
                Instruction::Rdtscp if has_rdtscp() => working(Rdtscp(), visitor),
                Instruction::Rdtscp => Err("this processor has no rdtscp".to_owned()),
            }
        }
        (What::Library(read), _) => match read {
            LibraryRead::Monotonic => working(Function(clocksmith::monotonic_ns), visitor),
            LibraryRead::MonotonicOrdered => {
                working(Function(clocksmith::monotonic_ordered_ns), visitor)
            }
            LibraryRead::MonotonicCoarse => {
                working(Function(clocksmith::monotonic_coarse_ns), visitor)
            }
            LibraryRead::Realtime => working(Function(clocksmith::realtime_ns), visitor),
        },
    }
}

/// Refuses a read that fails: its cost means nothing.
fn working<R: Read, V: Visitor>(read: R, visitor: V) -> Result<V::Out, String> {
    match read.value() {
        Some(_) => Ok(visitor.visit(read)),
        None => Err(format!("the kernel refuses it: {}", std::io::Error::last_os_error())),
    }
}

fn nanoseconds(time: libc::timespec) -> Option<u64> {
    let seconds = u64::try_from(time.tv_sec).ok()?;
    seconds.checked_mul(1_000_000_000)?.checked_add(u64::try_from(time.tv_nsec).ok()?)
}

fn microseconds(time: libc::timeval) -> Option<u64> {
    let seconds = u64::try_from(time.tv_sec).ok()?;
    let within = u64::try_from(time.tv_usec).ok()?.checked_mul(1000)?;
    seconds.checked_mul(1_000_000_000)?.checked_add(within)
}

/// The old system calls write two longs on every architecture.
type Longs = [libc::c_long; 2];

fn from_longs(longs: Longs, unit: u64) -> Option<u64> {
    let [seconds, within] = longs.map(|long| u64::try_from(long).ok());
    seconds?.checked_mul(1_000_000_000)?.checked_add(within?.checked_mul(unit)?)
}

/// In one cache line at any position of the stack: otherwise some runs would pay for two.
#[repr(align(32))]
struct Aligned<T>(T);

/// Defines reads of a time into a buffer. The buffer stays in place: copying the value that was just written costs more
/// than some of these reads.
macro_rules! reads_into {
    ($($(#[$doc:meta])* $name:ident ($($field:ty),*), $buffer:ty, $convert:expr,
       |$self:ident, $to:ident| $call:expr;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy)]
        struct $name($($field),*);

        impl $name {
            #[inline(always)]
            fn into($self, $to: *mut $buffer) -> bool {
                let status = $call;
                status == 0
            }
        }

        impl Read for $name {
            #[inline(always)]
            fn read(self) {
                let mut time = Aligned(MaybeUninit::<$buffer>::uninit());
                // Calls of foreign functions are never optimised away, and neither is where they write.
                self.into(time.0.as_mut_ptr());
            }

            #[inline]
            fn value(self) -> Option<u64> {
                let mut time = MaybeUninit::<$buffer>::uninit();
                let read = self.into(time.as_mut_ptr());
                // SAFETY: a read that succeeded has written the time.
                if read { $convert(unsafe { time.assume_init() }) } else { None }
            }
        }
    )+};
}

/// Defines reads that return the time.
macro_rules! reads_returning {
    ($($(#[$doc:meta])* $name:ident ($($field:ty),*), $convert:expr, |$self:ident| $value:expr;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy)]
        struct $name($($field),*);

        impl Read for $name {
            #[inline(always)]
            fn read($self) {
                keep($value as usize);
            }

            #[inline]
            fn value($self) -> Option<u64> {
                $convert($value)
            }
        }
    )+};
}

const NO_ZONE: *mut libc::c_void = std::ptr::null_mut();

reads_into! {
    LibcClock(ClockId), libc::timespec, nanoseconds, |self, to| {
        // SAFETY: `to` points to a live, exclusively borrowed `timespec`, which is written to.
        unsafe { libc::clock_gettime(self.0.number(), to) }
    };
    VdsoClock(ClockGettime, ClockId), libc::timespec, nanoseconds, |self, to| {
        // SAFETY: as above, with the kernel's function.
        unsafe { (self.0)(self.1.number(), to) }
    };
    SyscallClock(ClockId), Longs, |longs| from_longs(longs, 1), |self, to| {
        // SAFETY: the call writes two longs, and `to` points to two.
        unsafe { libc::syscall(libc::SYS_clock_gettime, self.0.number(), to) }
    };
    LibcGettimeofday(), libc::timeval, microseconds, |self, to| {
        // SAFETY: `to` points to a live, exclusively borrowed `timeval`; the pointer for the time zone is null.
        unsafe { libc::gettimeofday(to, NO_ZONE.cast()) }
    };
    VdsoGettimeofday(Gettimeofday), libc::timeval, microseconds, |self, to| {
        // SAFETY: as above, with the kernel's function.
        unsafe { (self.0)(to, NO_ZONE) }
    };
    SyscallGettimeofday(), Longs, |longs| from_longs(longs, 1000), |self, to| {
        // SAFETY: the call writes two longs, and `to` points to two.
        unsafe { libc::syscall(libc::SYS_gettimeofday, to, NO_ZONE) }
    };
}

reads_returning! {
    LibcTime(), seconds, |self| {
        // SAFETY: without a pointer the time is only returned.
        unsafe { libc::time(std::ptr::null_mut()) }
    };
    VdsoTime(Time), seconds, |self| {
        // SAFETY: without a pointer the time is only returned.
        unsafe { (self.0)(std::ptr::null_mut()) }
    };
    /// `time` by system call; only old architectures have it.
    SyscallTime(), seconds, |self| time_by_call();
    /// The bare counter.
    Plain(), Some, |self| counter::read();
    /// The counter after a fence.
    Fenced(), Some, |self| {
        super::shape::fence();
        counter::read()
    };
    /// The ordered read of x86.
    Rdtscp(), Some, |self| counter::read_rdtscp();
}

/// Prevents the compiler from removing a result, and keeps it in a register: storing it would cost more than some of
/// these reads.
#[inline(always)]
fn keep(value: usize) {
    #[cfg(any(target_arch = "x86_64", target_arch = "x86", target_arch = "aarch64"))]
    // SAFETY: the instruction is empty.
    unsafe {
        std::arch::asm!("/* {} */", in(reg) value, options(nomem, nostack, preserves_flags));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "x86", target_arch = "aarch64")))]
    std::hint::black_box(value);
}

/// Converts seconds to nanoseconds; a failed call returns -1.
fn seconds(time: impl TryInto<u64>) -> Option<u64> {
    time.try_into().ok()?.checked_mul(1_000_000_000)
}

/// A function of the library. Its type is that of one function, so it is inlined as in a program.
#[derive(Clone, Copy)]
struct Function<F>(F);

impl<F: Fn() -> u64 + Copy + Send + 'static> Read for Function<F> {
    #[inline(always)]
    fn read(self) {
        keep((self.0)() as usize);
    }

    #[inline]
    fn value(self) -> Option<u64> {
        Some((self.0)())
    }
}

#[inline(always)]
fn time_by_call() -> libc::c_long {
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    {
        const NOWHERE: *mut libc::c_long = std::ptr::null_mut();
        // SAFETY: without a pointer the time is only returned.
        unsafe { libc::syscall(libc::SYS_time, NOWHERE) }
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "x86")))]
    {
        -1
    }
}

/// Returns whether the processor has `rdtscp`, by `/proc/cpuinfo`.
fn has_rdtscp() -> bool {
    cfg!(any(target_arch = "x86_64", target_arch = "x86"))
        && clocksmith_facts::given::text("/proc/cpuinfo").is_ok_and(|text| {
            text.lines()
                .find(|line| line.starts_with("flags"))
                .is_some_and(|line| line.split_whitespace().any(|flag| flag == "rdtscp"))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Value;

    impl Visitor for Value {
        type Out = u64;
        fn visit<R: Read>(self, read: R) -> u64 {
            read.read();
            read.value().unwrap()
        }
    }

    #[test]
    fn every_row_reads_its_time() {
        let vdso = Vdso::find();
        let value = |row| visit(row, &vdso, Value);
        for id in super::super::row::CLOCKS {
            let [libc, syscall] =
                [Via::Libc, Via::Syscall].map(|via| value(Row::clock(id, via)).unwrap());
            assert!(syscall >= libc && syscall - libc < 1_000_000_000, "{}", id.name());
            if let Ok(direct) = value(Row::clock(id, Via::Vdso)) {
                assert!(direct >= syscall && direct - syscall < 1_000_000_000, "{}", id.name());
            }
        }
        let wall = value(Row::clock(ClockId::Realtime, Via::Libc)).unwrap();
        for what in [What::Gettimeofday, What::Time] {
            for via in [Via::Libc, Via::Vdso, Via::Syscall] {
                if let Ok(value) = value(Row { what, via }) {
                    assert!(value.abs_diff(wall) < 3_000_000_000, "{what:?} {via:?}");
                }
            }
        }
        let monotonic = value(Row::clock(ClockId::Monotonic, Via::Libc)).unwrap();
        let library = value(Row::library(LibraryRead::Monotonic)).unwrap();
        assert!(library.abs_diff(monotonic) < 1_000_000_000);
    }

    #[test]
    fn what_is_not_there_says_why() {
        let row = Row::clock(ClockId::Tai, Via::Vdso);
        let error = visit(row, &Vdso::default(), Value).unwrap_err();
        assert!(error.contains("maps no such function"));
    }

    #[test]
    fn times_that_cannot_be_are_none() {
        assert_eq!(nanoseconds(libc::timespec { tv_sec: -1, tv_nsec: 0 }), None);
        assert_eq!(nanoseconds(libc::timespec { tv_sec: 2, tv_nsec: 3 }), Some(2_000_000_003));
        assert_eq!(from_longs([1, 2], 1000), Some(1_000_002_000));
        assert_eq!(from_longs([1, -2], 1000), None);
    }
}
