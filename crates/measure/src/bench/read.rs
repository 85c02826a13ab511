//! The reads themselves, one type each, so that every loop is compiled around its own read.

use super::row::{ClockId, Instruction, LibraryRead, Row, Via, What};
use super::vdso::{ClockGettime, Gettimeofday, Time, Vdso};
use crate::reads;
use std::hint::black_box;
use std::mem::MaybeUninit;

/// A read that can be repeated.
pub trait Read: Copy + Send + 'static {
    /// Reads once; the result is kept from being optimised away.
    fn read(self);

    /// Reads once and tells what was read: nanoseconds, or ticks of the counter. `None` if the read
    /// failed.
    fn value(self) -> Option<u64>;
}

/// Whoever wants to do something with a read whose type only the row knows.
pub trait Visitor {
    /// What comes out.
    type Out;
    /// Does it.
    fn visit<R: Read>(self, read: R) -> Self::Out;
}

/// Calls the visitor with the read of this row.
///
/// # Errors
/// Why there is no such read here.
pub fn visit<V: Visitor>(row: Row, vdso: &Vdso, visitor: V) -> Result<V::Out, String> {
    const NO_FUNCTION: &str = "the kernel maps no such function";
    match (row.what, row.via) {
        (What::Clock(id), Via::Libc) => working(LibcClock(id), visitor),
        (What::Clock(id), Via::Vdso) => {
            working(VdsoClock(vdso.clock_gettime.ok_or(NO_FUNCTION)?, id), visitor)
        }
        (What::Clock(id), _) => working(SyscallClock(id), visitor),
        (What::Gettimeofday, Via::Libc) => working(LibcGettimeofday, visitor),
        (What::Gettimeofday, Via::Vdso) => {
            working(VdsoGettimeofday(vdso.gettimeofday.ok_or(NO_FUNCTION)?), visitor)
        }
        (What::Gettimeofday, _) => working(SyscallGettimeofday, visitor),
        (What::Time, Via::Libc) => working(LibcTime, visitor),
        (What::Time, Via::Vdso) => working(VdsoTime(vdso.time.ok_or(NO_FUNCTION)?), visitor),
        (What::Time, _) => working(SyscallTime, visitor),
        (What::Counter(instruction), _) => {
            reads::counter_name().ok_or("no counter that this program knows")?;
            reads::counter_allowed()?;
            match instruction {
                Instruction::Plain => working(Plain, visitor),
                Instruction::Fenced => working(Fenced, visitor),
                Instruction::Rdtscp if has_rdtscp() => working(Rdtscp, visitor),
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

/// A read that fails costs nothing that anybody wants to know.
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

/// Two longs are what the old system calls write on every architecture.
type Longs = [libc::c_long; 2];

fn from_longs(longs: Longs, unit: u64) -> Option<u64> {
    let [seconds, within] = longs.map(|long| u64::try_from(long).ok());
    seconds?.checked_mul(1_000_000_000)?.checked_add(within?.checked_mul(unit)?)
}

macro_rules! reads {
    ($($(#[$doc:meta])* $name:ident $(($($field:ty),+))?, |$self:ident| $value:expr;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy)]
        struct $name $(($($field),+))?;

        impl Read for $name {
            #[inline(always)]
            fn read($self) {
                black_box($value);
            }

            #[inline]
            fn value($self) -> Option<u64> {
                Answer::value($value)
            }
        }
    )+};
}

/// What a read gave: a status and a buffer that is only then written to.
trait Answer {
    fn value(self) -> Option<u64>;
}

impl Answer for (libc::c_int, MaybeUninit<libc::timespec>) {
    fn value(self) -> Option<u64> {
        // SAFETY: with status 0 the function has written the time.
        if self.0 == 0 { nanoseconds(unsafe { self.1.assume_init() }) } else { None }
    }
}

impl Answer for (libc::c_int, MaybeUninit<libc::timeval>) {
    fn value(self) -> Option<u64> {
        // SAFETY: with status 0 the function has written the time.
        if self.0 == 0 { microseconds(unsafe { self.1.assume_init() }) } else { None }
    }
}

/// Status, what was written, and its unit within a second in nanoseconds.
impl Answer for (libc::c_long, Longs, u64) {
    fn value(self) -> Option<u64> {
        if self.0 == 0 { from_longs(self.1, self.2) } else { None }
    }
}

/// Seconds.
impl Answer for libc::time_t {
    fn value(self) -> Option<u64> {
        u64::try_from(self).ok()?.checked_mul(1_000_000_000)
    }
}

/// Ticks.
impl Answer for u64 {
    fn value(self) -> Option<u64> {
        Some(self)
    }
}

reads! {
    LibcClock(ClockId), |self| {
        let mut time = MaybeUninit::<libc::timespec>::uninit();
        // SAFETY: the pointer is to a live, exclusively borrowed `timespec`, which is written to.
        (unsafe { libc::clock_gettime(self.0.id(), black_box(time.as_mut_ptr())) }, time)
    };
    VdsoClock(ClockGettime, ClockId), |self| {
        let mut time = MaybeUninit::<libc::timespec>::uninit();
        // SAFETY: the function is the kernel's; the pointer is to a live, exclusively borrowed
        // `timespec`, which is written to.
        (unsafe { (self.0)(self.1.id(), black_box(time.as_mut_ptr())) }, time)
    };
    SyscallClock(ClockId), |self| {
        let mut time: Longs = [0; 2];
        // SAFETY: the call writes two longs, to two live, exclusively borrowed longs.
        let status = unsafe {
            libc::syscall(libc::SYS_clock_gettime, self.0.id(), black_box(time.as_mut_ptr()))
        };
        (status, time, 1u64)
    };
    LibcGettimeofday, |self| {
        let mut time = MaybeUninit::<libc::timeval>::uninit();
        // SAFETY: the pointer is to a live, exclusively borrowed `timeval`; no time zone is asked for.
        (unsafe { libc::gettimeofday(black_box(time.as_mut_ptr()), std::ptr::null_mut()) }, time)
    };
    VdsoGettimeofday(Gettimeofday), |self| {
        let mut time = MaybeUninit::<libc::timeval>::uninit();
        // SAFETY: as above, with the kernel's function.
        (unsafe { (self.0)(black_box(time.as_mut_ptr()), std::ptr::null_mut()) }, time)
    };
    LibcTime, |self| {
        // SAFETY: without a pointer the time is only returned.
        unsafe { libc::time(std::ptr::null_mut()) }
    };
    VdsoTime(Time), |self| {
        // SAFETY: without a pointer the time is only returned.
        unsafe { (self.0)(std::ptr::null_mut()) }
    };
    /// The bare counter.
    Plain, |self| reads::counter();
    /// Behind a fence.
    Fenced, |self| {
        super::shape::fence();
        reads::counter()
    };
    /// The ordered read of x86.
    Rdtscp, |self| rdtscp();
}

/// A function of the library. Its type is that of one function, so it is inlined as in a program.
#[derive(Clone, Copy)]
struct Function<F>(F);

impl<F: Fn() -> u64 + Copy + Send + 'static> Read for Function<F> {
    #[inline(always)]
    fn read(self) {
        black_box((self.0)());
    }

    #[inline]
    fn value(self) -> Option<u64> {
        Some((self.0)())
    }
}

/// By system call; new architectures have it no more.
#[derive(Clone, Copy)]
struct SyscallGettimeofday;

impl Read for SyscallGettimeofday {
    #[inline(always)]
    fn read(self) {
        let mut time: Longs = [0; 2];
        black_box((gettimeofday_by_call(&mut time), time));
    }

    fn value(self) -> Option<u64> {
        let mut time: Longs = [0; 2];
        (gettimeofday_by_call(&mut time) == 0).then(|| from_longs(time, 1000)).flatten()
    }
}

#[inline(always)]
fn gettimeofday_by_call(time: &mut Longs) -> libc::c_long {
    const NO_ZONE: *mut libc::c_void = std::ptr::null_mut();
    // SAFETY: the call writes two longs, to two live, exclusively borrowed longs.
    unsafe { libc::syscall(libc::SYS_gettimeofday, black_box(time.as_mut_ptr()), NO_ZONE) }
}

/// By system call; only old architectures have it.
#[derive(Clone, Copy)]
struct SyscallTime;

impl Read for SyscallTime {
    #[inline(always)]
    fn read(self) {
        black_box(time_by_call());
    }

    fn value(self) -> Option<u64> {
        u64::try_from(time_by_call()).ok()?.checked_mul(1_000_000_000)
    }
}

#[inline(always)]
fn time_by_call() -> libc::c_long {
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    {
        const NOWHERE: *mut libc::time_t = std::ptr::null_mut();
        // SAFETY: without a pointer the time is only returned.
        unsafe { libc::syscall(libc::SYS_time, NOWHERE) }
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "x86")))]
    {
        -1
    }
}

#[inline(always)]
fn rdtscp() -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        let mut aux = 0u32;
        // SAFETY: only used where the processor has the instruction; it writes to `aux`.
        unsafe { std::arch::x86_64::__rdtscp(&raw mut aux) }
    }
    #[cfg(target_arch = "x86")]
    {
        let mut aux = 0u32;
        // SAFETY: only used where the processor has the instruction; it writes to `aux`.
        unsafe { std::arch::x86::__rdtscp(&raw mut aux) }
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "x86")))]
    {
        0
    }
}

/// Whether the processor has `rdtscp`, as the kernel says.
fn has_rdtscp() -> bool {
    cfg!(any(target_arch = "x86_64", target_arch = "x86"))
        && std::fs::read_to_string("/proc/cpuinfo").is_ok_and(|text| {
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
        for id in ClockId::ALL {
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
