//! `clock_gettime` and `gettimeofday` in front of the C library's, served by the clock of
//! `clocksmith-raw`. For `LD_PRELOAD`, where a program's vDSO cannot be replaced.
//!
//! The variable `CLOCKSMITH_PRELOAD` sets its behaviour: `ordered:RATE` or `relaxed:RATE`, with the rate in
//! nanoseconds per cycle times 2^48; or `coarse`. Without it, or with any other value, reads use the
//! kernel.
//!
//! No constructor runs. Only one block of memory is allocated, at the first read; a forked child finds it
//! partly empty. `errno` is set where the C library would set it. A thread that cannot get the memory
//! uses the kernel.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod settings;

use clocksmith_raw::counter;
use clocksmith_raw::layout::PAGE;
use clocksmith_raw::timeline::{
    Answer, Clock, Environment, Local, Parameters, Shared, Timeline, not_before,
};
use core::ffi::c_int;
use core::sync::atomic::{AtomicPtr, Ordering};
use settings::{Settings, settings};

/// By how much a counter may be behind, in nanoseconds.
const SLACK_NS: u64 = 5_000;

/// The clock's memory: a page that a child finds empty, and one that it does not.
static MEMORY: AtomicPtr<u8> = AtomicPtr::new(core::ptr::null_mut());

struct Real {
    ordered: bool,
}

impl Environment for Real {
    #[inline(always)]
    fn counter(&self) -> u64 {
        // The program that preloads this library has tested the counter.
        if self.ordered { counter::read_ordered() } else { counter::read() }
    }

    fn kernel(&self, clock: Clock) -> Option<u64> {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        (by_call(clock.number(), &raw mut time) == 0).then(|| nanoseconds(&time))
    }
}

fn nanoseconds(time: &libc::timespec) -> u64 {
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}

/// The call, without `errno`: 0 or a negative error number.
fn by_call(id: libc::clockid_t, time: *mut libc::timespec) -> c_int {
    let result: isize;
    // SAFETY: the kernel's convention; it checks the address.
    unsafe {
        core::arch::asm!("syscall", inlateout("rax") libc::SYS_clock_gettime as isize => result,
            in("rdi") id as isize, in("rsi") time, lateout("rcx") _, lateout("r11") _,
            options(nostack));
    }
    result as c_int
}

/// The memory, made at the first read. Async-signal-safe.
fn memory() -> Option<(&'static Local, &'static Shared)> {
    let mut there = MEMORY.load(Ordering::Acquire);
    if there.is_null() {
        there = make()?;
    }
    // SAFETY: two pages that were mapped below, and are never unmapped; zero bytes are valid for
    // both, and everything in them is atomic.
    Some(unsafe { (&*there.cast::<Local>(), &*there.add(PAGE).cast::<Shared>()) })
}

#[cold]
fn make() -> Option<*mut u8> {
    // SAFETY: new memory at any address. `errno` may change, and is restored.
    unsafe {
        let errno = *libc::__errno_location();
        let memory = libc::mmap(
            core::ptr::null_mut(),
            2 * PAGE,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        );
        let wiped =
            memory != libc::MAP_FAILED && libc::madvise(memory, PAGE, libc::MADV_WIPEONFORK) == 0;
        *libc::__errno_location() = errno;
        if !wiped {
            return None;
        }
        let memory = memory.cast::<u8>();
        let kept = MEMORY.compare_exchange(
            core::ptr::null_mut(),
            memory,
            Ordering::AcqRel,
            Ordering::Acquire,
        );
        Some(match kept {
            Ok(_) => memory,
            Err(others) => {
                libc::munmap(memory.cast(), 2 * PAGE);
                others
            }
        })
    }
}

#[inline(always)]
fn line(clock: Clock, ordered: bool, rate: u64) -> Result<u64, c_int> {
    let answer = match memory() {
        Some((local, shared)) => {
            let slack = (u128::from(SLACK_NS) << 48) / u128::from(rate.max(1));
            let parameters = Parameters { rate, slack: slack as u64 };
            Timeline { shared, local, parameters }.read(&Real { ordered }, clock)
        }
        None => Answer::Retired { floor: 0 },
    };
    match answer {
        Answer::Time(ns) => Ok(ns),
        Answer::Retired { floor } => {
            let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            match by_call(clock.number(), &raw mut time) {
                0 => Ok(not_before(floor, nanoseconds(&time))),
                error => Err(error),
            }
        }
    }
}

/// A time of one of the clocks that are served here; `None` for others.
#[inline(always)]
fn time_of(clock: libc::clockid_t, time: *mut libc::timespec) -> Option<c_int> {
    let served = match clock {
        libc::CLOCK_MONOTONIC => Clock::Monotonic,
        libc::CLOCK_REALTIME => Clock::Realtime,
        libc::CLOCK_BOOTTIME => Clock::Boottime,
        _ => return None,
    };
    let (ordered, rate) = match settings() {
        Settings::Line { ordered, rate } => (ordered, rate),
        Settings::Coarse | Settings::Nothing => return None,
    };
    Some(match line(served, ordered, rate) {
        Ok(ns) => {
            let seconds = (ns / 1_000_000_000) as libc::time_t;
            let rest = (ns % 1_000_000_000) as libc::c_long;
            // SAFETY: by the contract of `clock_gettime`.
            unsafe { time.write(libc::timespec { tv_sec: seconds, tv_nsec: rest }) };
            0
        }
        Err(error) => error,
    })
}

/// Sets `errno`, if the result is an error.
fn finish(result: c_int) -> c_int {
    if result < 0 {
        // SAFETY: the C library's own, of this thread.
        unsafe { *libc::__errno_location() = -result };
        return -1;
    }
    result
}

/// # Safety
/// The requirements of `clock_gettime(3)`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_gettime(clock: libc::clockid_t, time: *mut libc::timespec) -> c_int {
    if let Some(result) = time_of(clock, time) {
        return finish(result);
    }
    let clock = match (settings(), clock) {
        (Settings::Coarse, libc::CLOCK_MONOTONIC) => libc::CLOCK_MONOTONIC_COARSE,
        (Settings::Coarse, libc::CLOCK_REALTIME) => libc::CLOCK_REALTIME_COARSE,
        (_, other) => other,
    };
    // The coarse ones, which are wanted for their cost, are the C library's to find in the vDSO.
    finish(settings::original(clock, time).unwrap_or_else(|| by_call(clock, time)))
}

/// # Safety
/// The requirements of `gettimeofday(3)`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gettimeofday(time: *mut libc::timeval, zone: *mut libc::c_void) -> c_int {
    if !zone.is_null() {
        // SAFETY: the kernel checks both addresses.
        return unsafe { libc::syscall(libc::SYS_gettimeofday, time, zone) } as c_int;
    }
    if time.is_null() {
        return 0;
    }
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a local place.
    let result = unsafe { clock_gettime(libc::CLOCK_REALTIME, &raw mut now) };
    if result == 0 {
        // SAFETY: by the contract.
        unsafe {
            time.write(libc::timeval { tv_sec: now.tv_sec, tv_usec: now.tv_nsec / 1000 });
        }
    }
    result
}
