//! The image, which programs call instead of the kernel's vDSO.
//!
//! `build.rs` compiles it separately, without a standard library, and `image.lds` links it. Its functions have the C
//! calling convention, need only a few hundred bytes of stack, and may be called in any thread and any signal handler:
//! they allocate nothing, wait only briefly, and do not use `errno` (an error is a negative number, as in the kernel's
//! vDSO).
mod calls;
mod count;
mod memory;

use crate::clock_id::ClockId;
use crate::counter;
use crate::layout::{Config, Mode, ORDERED};
use crate::timeline::{
    Answer, Clock, Environment, Local, Parameters, Shared, Timeline, not_before,
};

/// `struct timespec`.
#[repr(C)]
pub struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

/// `struct timeval`.
#[repr(C)]
pub struct Timeval {
    seconds: i64,
    microseconds: i64,
}

unsafe extern "C" {
    // Defined by the linker script: pages in front of the image. The program that loads the image
    // maps them.
    static clocksmith_config: Config;
    static clocksmith_local: Local;
    static clocksmith_shared: Shared;
}

const EINVAL: i32 = 22;

#[inline(always)]
fn config() -> &'static Config {
    // SAFETY: the page is mapped, and is not written after the program has started.
    unsafe { &clocksmith_config }
}

#[inline(always)]
fn is(mode: Mode) -> bool {
    config().mode == mode as u32
}

/// The processor and the kernel.
struct Real<const IN_ORDER: bool>;

impl<const IN_ORDER: bool> Environment for Real<IN_ORDER> {
    #[inline(always)]
    fn counter(&self) -> u64 {
        if IN_ORDER { counter::read_ordered() } else { counter::read() }
    }

    #[inline(never)]
    fn kernel(&self, clock: Clock) -> Option<u64> {
        let mut time = Timespec { seconds: 0, nanoseconds: 0 };
        let result = calls::clock_gettime(clock.number(), &raw mut time);
        (result == 0).then(|| {
            (time.seconds as u64).wrapping_mul(1_000_000_000).wrapping_add(time.nanoseconds as u64)
        })
    }
}

/// Returns the line's time, or the kernel's if there is no longer a line.
#[inline(always)]
fn line(clock: Clock) -> Result<u64, i32> {
    let config = config();
    // SAFETY: the pages are mapped; zero bytes are valid, and everything is atomic.
    let (shared, local) = unsafe { (&clocksmith_shared, &clocksmith_local) };
    let parameters = Parameters { rate: config.rate, slack: config.slack };
    let timeline = Timeline { shared, local, parameters };
    let answer = if config.flags & ORDERED != 0 {
        timeline.read(&Real::<true>, clock)
    } else {
        timeline.read(&Real::<false>, clock)
    };
    match answer {
        Answer::Time(ns) => Ok(ns),
        Answer::Retired { floor } => by_kernel(clock, floor),
    }
}

#[cold]
#[inline(never)]
fn by_kernel(clock: Clock, floor: u64) -> Result<u64, i32> {
    let mut time = Timespec { seconds: 0, nanoseconds: 0 };
    match calls::original_clock_gettime(clock.number(), &raw mut time) {
        0 => {
            let ns = (time.seconds as u64)
                .wrapping_mul(1_000_000_000)
                .wrapping_add(time.nanoseconds as u64);
            Ok(not_before(floor, ns))
        }
        error => Err(error),
    }
}

/// Seconds and nanoseconds. (The wall clock may be before 1970 where the kernel's may.)
#[inline(always)]
fn split(ns: u64) -> Timespec {
    const SECOND: u64 = 1_000_000_000;
    if ns >> 63 == 0 {
        Timespec { seconds: (ns / SECOND) as i64, nanoseconds: (ns % SECOND) as i64 }
    } else {
        let ns = ns as i64;
        let second = SECOND as i64;
        Timespec { seconds: ns.div_euclid(second), nanoseconds: ns.rem_euclid(second) }
    }
}

/// # Safety
/// The requirements of `clock_gettime(2)`: `time` can be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __vdso_clock_gettime(id: i32, time: *mut Timespec) -> i32 {
    if is(Mode::Line) {
        let Some(clock) = Clock::from_number(id) else {
            return calls::original_clock_gettime(id, time);
        };
        return match line(clock) {
            Ok(ns) => {
                // SAFETY: by the contract.
                unsafe { time.write(split(ns)) };
                0
            }
            Err(error) => error,
        };
    }
    other_clock_gettime(id, time)
}

#[inline(never)]
fn other_clock_gettime(id: i32, time: *mut Timespec) -> i32 {
    if is(Mode::Count) {
        count::read(
            usize::try_from(id)
                .ok()
                .filter(|id| *id < crate::layout::OTHER)
                .unwrap_or(crate::layout::OTHER),
        );
    }
    if is(Mode::Coarse) {
        let id = match Clock::from_number(id) {
            Some(Clock::Monotonic) => ClockId::MonotonicCoarse.number(),
            Some(Clock::Realtime) => ClockId::RealtimeCoarse.number(),
            _ => id,
        };
        return calls::original_clock_gettime(id, time);
    }
    let fine = |id: &ClockId| !id.is_coarse() && !id.is_cpu_time();
    let slow = is(Mode::Slow) && ClockId::from_number(id).as_ref().is_some_and(fine);
    if slow {
        return calls::slowly(|by_call| {
            if by_call {
                calls::clock_gettime(id, time)
            } else {
                calls::original_clock_gettime(id, time)
            }
        });
    }
    calls::original_clock_gettime(id, time)
}

/// # Safety
/// The requirements of `gettimeofday(2)`: both are null or can be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __vdso_gettimeofday(time: *mut Timeval, zone: *mut u64) -> i32 {
    if is(Mode::Count) {
        count::read(crate::layout::GETTIMEOFDAY);
    }
    if is(Mode::Slow) && !time.is_null() {
        return calls::slowly(|by_call| {
            if by_call {
                calls::gettimeofday(time, zone)
            } else {
                calls::original_gettimeofday(time, zone)
            }
        });
    }
    if time.is_null() || !(is(Mode::Line) || is(Mode::Coarse)) {
        return calls::original_gettimeofday(time, zone);
    }
    if !zone.is_null() {
        let result = calls::original_gettimeofday(core::ptr::null_mut(), zone);
        if result != 0 {
            return result;
        }
    }
    let now = if is(Mode::Line) {
        match line(Clock::Realtime) {
            Ok(ns) => split(ns),
            Err(error) => return error,
        }
    } else {
        let mut now = Timespec { seconds: 0, nanoseconds: 0 };
        let result = calls::original_clock_gettime(ClockId::RealtimeCoarse.number(), &raw mut now);
        if result != 0 {
            return result;
        }
        now
    };
    // SAFETY: by the contract.
    unsafe {
        time.write(Timeval { seconds: now.seconds, microseconds: now.nanoseconds / 1000 });
    }
    0
}

/// # Safety
/// The requirements of `time(2)`: null, or can be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __vdso_time(time: *mut i64) -> i64 {
    // It is coarse by itself: the kernel's own function is cheap with any clocksource.
    if is(Mode::Count) {
        count::read(crate::layout::TIME);
    }
    calls::original_time(time)
}

/// # Safety
/// The requirements of `getcpu(2)`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __vdso_getcpu(cpu: *mut u32, node: *mut u32, cache: *mut u8) -> i64 {
    calls::original_getcpu(cpu, node, cache)
}

/// # Safety
/// The requirements of `clock_getres(2)`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __vdso_clock_getres(id: i32, resolution: *mut Timespec) -> i32 {
    calls::original_clock_getres(id, resolution)
}

/// # Safety
/// The requirements of the vDSO's function of this name (since 6.11).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __vdso_getrandom(
    buffer: *mut u8,
    length: usize,
    flags: u32,
    state: *mut u8,
    state_length: usize,
) -> isize {
    calls::original_getrandom(buffer, length, flags, state, state_length)
}

/// Nothing here panics; the linker needs the symbol, and a test sees that it is not called.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}
