//! System calls, and the functions of the kernel's own vDSO.

use super::{EINVAL, Timespec, Timeval, config};
use crate::counter::{read, read_ordered};
use crate::layout::BY_CALL;
use core::arch::asm;

const GETTIMEOFDAY: usize = 96;
const TIME: usize = 201;
const CLOCK_GETTIME: usize = 228;
const CLOCK_GETRES: usize = 229;
const GETCPU: usize = 309;
const ENOSYS: isize = 38;

/// A system call with up to three arguments.
///
/// # Safety
/// The requirements of the system call `number`.
#[inline(always)]
unsafe fn call(number: usize, one: usize, two: usize, three: usize) -> isize {
    let result: isize;
    // SAFETY: the kernel's convention: rcx and r11 are overwritten. The caller is responsible for the rest.
    unsafe {
        asm!("syscall", inlateout("rax") number => result, in("rdi") one, in("rsi") two,
            in("rdx") three, lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    result
}

pub(crate) fn clock_gettime(id: i32, time: *mut Timespec) -> i32 {
    // SAFETY: the kernel checks the address.
    unsafe { call(CLOCK_GETTIME, id as usize, time as usize, 0) as i32 }
}

pub(crate) fn gettimeofday(time: *mut Timeval, zone: *mut u64) -> i32 {
    // SAFETY: as above.
    unsafe { call(GETTIMEOFDAY, time as usize, zone as usize, 0) as i32 }
}

/// A function of the original, if there is one.
macro_rules! original {
    ($name:ident: $type:ty, $($argument:expr),*; else $instead:expr) => {{
        let address = config().original.$name;
        if address == 0 {
            $instead
        } else {
            // SAFETY: the address of that function of the kernel's vDSO, which stays where it is;
            // the arguments are the caller's.
            unsafe {
                let function: $type = core::mem::transmute(address as usize);
                function($($argument),*)
            }
        }
    }};
}

pub(crate) fn original_clock_gettime(id: i32, time: *mut Timespec) -> i32 {
    original!(clock_gettime: extern "C" fn(i32, *mut Timespec) -> i32, id, time;
        else clock_gettime(id, time))
}

pub(crate) fn original_gettimeofday(time: *mut Timeval, zone: *mut u64) -> i32 {
    original!(gettimeofday: extern "C" fn(*mut Timeval, *mut u64) -> i32, time, zone;
        else gettimeofday(time, zone))
}

pub(crate) fn original_time(time: *mut i64) -> i64 {
    // SAFETY: the kernel checks the address.
    original!(time: extern "C" fn(*mut i64) -> i64, time;
        else unsafe { call(TIME, time as usize, 0, 0) as i64 })
}

pub(crate) fn original_getcpu(cpu: *mut u32, node: *mut u32, cache: *mut u8) -> i64 {
    // SAFETY: as above.
    original!(getcpu: extern "C" fn(*mut u32, *mut u32, *mut u8) -> i64, cpu, node, cache;
        else unsafe { call(GETCPU, cpu as usize, node as usize, 0) as i64 })
}

pub(crate) fn original_clock_getres(id: i32, resolution: *mut Timespec) -> i32 {
    // SAFETY: as above.
    original!(clock_getres: extern "C" fn(i32, *mut Timespec) -> i32, id, resolution;
        else unsafe { call(CLOCK_GETRES, id as usize, resolution as usize, 0) as i32 })
}

/// Callers request the size of the state first (by a length of `!0`), and do without the function
/// if that fails, as on an older kernel.
pub(crate) fn original_getrandom(
    buffer: *mut u8,
    length: usize,
    flags: u32,
    state: *mut u8,
    state_length: usize,
) -> isize {
    original!(getrandom: extern "C" fn(*mut u8, usize, u32, *mut u8, usize) -> isize,
        buffer, length, flags, state, state_length; else -ENOSYS)
}

/// Reads the clock, and then waits until the read has taken the configured time.
#[inline(always)]
pub(crate) fn slowly(answer: impl Fn(bool) -> i32) -> i32 {
    let config = config();
    let begin = read_ordered();
    let result = answer(config.flags & BY_CALL != 0);
    if result == -EINVAL {
        return result;
    }
    let took = read_ordered().wrapping_sub(begin);
    let end = config.least.max(took.saturating_add(config.extra));
    // A counter that is set back meanwhile is past any end.
    while read().wrapping_sub(begin) < end {
        core::hint::spin_loop();
    }
    result
}
