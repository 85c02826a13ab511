//! The clocks of clocksmith for C: `include/clocksmith.h` declares and documents these functions.
//!
//! None of these functions panics, no read fails or waits, and nothing runs when the library is loaded: the
//! first read of a clock finds the source that serves it.

pub mod cached;
pub mod ticks;
pub mod vmclock;

use clocksmith::Source;
use core::ffi::{CStr, c_char, c_int, c_uint};

/// The result of `clocksmith_restrict` on success.
const DONE: c_int = 0;
/// `EINVAL`, which has this value on every system; for a number that is not a source.
const INVALID: c_int = 22;
/// `EAGAIN` on Linux: the value is not known now.
const AGAIN: c_int = 11;

/// `CLOCK_MONOTONIC` in nanoseconds, unordered.
#[unsafe(no_mangle)]
pub extern "C" fn clocksmith_monotonic_ns() -> u64 {
    clocksmith::monotonic_ns()
}

/// `CLOCK_MONOTONIC` in nanoseconds, ordered.
#[unsafe(no_mangle)]
pub extern "C" fn clocksmith_monotonic_ordered_ns() -> u64 {
    clocksmith::monotonic_ordered_ns()
}

/// `CLOCK_MONOTONIC_COARSE` in nanoseconds.
#[unsafe(no_mangle)]
pub extern "C" fn clocksmith_monotonic_coarse_ns() -> u64 {
    clocksmith::monotonic_coarse_ns()
}

/// `CLOCK_REALTIME` in nanoseconds since 1970, unordered.
#[unsafe(no_mangle)]
pub extern "C" fn clocksmith_realtime_ns() -> u64 {
    clocksmith::realtime_ns()
}

/// `CLOCK_REALTIME` in nanoseconds since 1970, ordered.
#[unsafe(no_mangle)]
pub extern "C" fn clocksmith_realtime_ordered_ns() -> u64 {
    clocksmith::realtime_ordered_ns()
}

/// `CLOCK_REALTIME_COARSE` in nanoseconds since 1970.
#[unsafe(no_mangle)]
pub extern "C" fn clocksmith_realtime_coarse_ns() -> u64 {
    clocksmith::realtime_coarse_ns()
}

/// Gets the two times between which true time lies. Returns 0, or `EAGAIN` if they are not known.
///
/// # Safety
///
/// Each pointer is null, or points to a number that may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clocksmith_realtime_bounded_ns(
    earliest: *mut u64,
    latest: *mut u64,
) -> c_int {
    let bounds = clocksmith::realtime_bounded();
    for (at, bound) in [(earliest, bounds.0), (latest, bounds.1)] {
        if !at.is_null() {
            // SAFETY: by the contract.
            unsafe { at.write(bound) };
        }
    }
    if bounds == (0, u64::MAX) { AGAIN } else { DONE }
}

/// `CLOCK_BOOTTIME` in nanoseconds, unordered.
#[unsafe(no_mangle)]
pub extern "C" fn clocksmith_boottime_ns() -> u64 {
    clocksmith::boottime_ns()
}

/// `CLOCK_MONOTONIC_RAW` in nanoseconds, unordered.
#[unsafe(no_mangle)]
pub extern "C" fn clocksmith_monotonic_raw_ns() -> u64 {
    clocksmith::monotonic_raw_ns()
}

/// `CLOCK_TAI` in nanoseconds since 1970, unordered.
#[unsafe(no_mangle)]
pub extern "C" fn clocksmith_tai_ns() -> u64 {
    clocksmith::tai_ns()
}

/// `clock_gettime(2)` with the same arguments, result and `errno`; ordered.
///
/// # Safety
///
/// The requirements of `clock_gettime(2)`: `time` points to a `struct timespec` that may be
/// written.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clocksmith_gettime(
    clock: libc::clockid_t,
    time: *mut libc::timespec,
) -> c_int {
    let ns = match clock {
        // The C library handles a null pointer.
        _ if time.is_null() => None,
        libc::CLOCK_MONOTONIC => Some(clocksmith::monotonic_ordered_ns()),
        libc::CLOCK_REALTIME => Some(clocksmith::realtime_ordered_ns()),
        libc::CLOCK_MONOTONIC_COARSE => Some(clocksmith::monotonic_coarse_ns()),
        libc::CLOCK_REALTIME_COARSE => Some(clocksmith::realtime_coarse_ns()),
        libc::CLOCK_BOOTTIME => Some(clocksmith::boottime_ordered_ns()),
        libc::CLOCK_MONOTONIC_RAW => Some(clocksmith::monotonic_raw_ordered_ns()),
        libc::CLOCK_TAI => Some(clocksmith::tai_ordered_ns()),
        // Clocks of processes, threads and devices, alarms, and ids that do not exist.
        _ => None,
    };
    let Some(ns) = ns else {
        // SAFETY: by the contract.
        return unsafe { libc::clock_gettime(clock, time) };
    };
    // Below 2^34 and below 10^9: both fit.
    let (seconds, rest) = (ns / 1_000_000_000, ns % 1_000_000_000);
    let value = libc::timespec { tv_sec: seconds as libc::time_t, tv_nsec: rest as libc::c_long };
    // SAFETY: by the contract.
    unsafe { time.write(value) };
    DONE
}

/// Whether reading the kernel's clock is slow here: 1 yes, 0 no, -1 if the test does not show it.
/// Writes the reason to `reason`.
///
/// # Safety
///
/// `reason` is null, or points to `size` bytes that may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clocksmith_is_slow(reason: *mut c_char, size: usize) -> c_int {
    let test = clocksmith::is_slow();
    // SAFETY: by the contract.
    unsafe { write_text(reason, size, &test) };
    test.slow.map_or(-1, c_int::from)
}

/// Writes a text, cut to the size with the zero at its end.
///
/// # Safety
///
/// `to` is null, or points to `size` bytes that may be written.
unsafe fn write_text(to: *mut c_char, size: usize, text: &dyn core::fmt::Display) {
    use std::io::Write as _;
    if to.is_null() || size == 0 {
        return;
    }
    // SAFETY: by the contract.
    let bytes = unsafe { core::slice::from_raw_parts_mut(to.cast::<u8>(), size) };
    bytes.fill(0);
    // The last byte remains zero. Text that does not fit is left out.
    let mut rest = bytes.get_mut(..size - 1).unwrap_or_default();
    let _ = write!(rest, "{text}");
}

/// The source that serves `clocksmith_monotonic_ns` now.
#[unsafe(no_mangle)]
pub extern "C" fn clocksmith_source() -> c_uint {
    c_uint::from(clocksmith::source() as u8)
}

/// The name of a source; "unknown" for a number that is not a source. Static.
#[unsafe(no_mangle)]
pub extern "C" fn clocksmith_source_name(source: c_uint) -> *const c_char {
    entry(source).map_or(c"unknown", |(_, name)| *name).as_ptr()
}

/// Sets the best source that may be used. Returns 0, or `EINVAL` if the number is not a source.
#[unsafe(no_mangle)]
pub extern "C" fn clocksmith_restrict(best: c_uint) -> c_int {
    let Some((source, _)) = entry(best) else { return INVALID };
    clocksmith::restrict(*source);
    DONE
}

/// The version of the library, such as "0.1.0". Static.
#[unsafe(no_mangle)]
pub extern "C" fn clocksmith_version() -> *const c_char {
    VERSION.as_ptr()
}

const VERSION: &CStr =
    match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(version) => version,
        Err(_) => c"",
    };

/// The sources with their names as C has them.
const SOURCES: [(Source, &CStr); 7] = [
    (Source::Vvar, c"vvar"),
    (Source::Disciplined, c"disciplined"),
    (Source::Vdso, c"vdso"),
    (Source::Syscall, c"syscall"),
    (Source::Std, c"std"),
    (Source::Pvclock, c"pvclock"),
    (Source::HypervPage, c"hyperv-page"),
];

fn entry(number: c_uint) -> Option<&'static (Source, &'static CStr)> {
    SOURCES.iter().find(|(source, _)| c_uint::from(*source as u8) == number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: *const c_char) -> &'static str {
        // SAFETY: every string of this library is static and ends with a zero.
        unsafe { CStr::from_ptr(text) }.to_str().unwrap()
    }

    #[test]
    fn names_are_those_of_the_sources() {
        for (source, name) in SOURCES {
            assert_eq!(name.to_str(), Ok(source.name()));
            assert_eq!(text(clocksmith_source_name(source as c_uint)), source.name());
        }
        assert_eq!(text(clocksmith_source_name(clocksmith_source())), clocksmith::source().name());
        assert_eq!(text(clocksmith_source_name(0)), "unknown");
        assert_eq!(text(clocksmith_source_name(c_uint::MAX)), "unknown");
    }

    #[test]
    fn bounds_are_those_of_the_library() {
        let (mut earliest, mut latest) = (1, 1);
        // SAFETY: numbers of this test, or null.
        let (result, none) = unsafe {
            let none = clocksmith_realtime_bounded_ns(core::ptr::null_mut(), core::ptr::null_mut());
            (clocksmith_realtime_bounded_ns(&raw mut earliest, &raw mut latest), none)
        };
        assert_eq!(result, none);
        assert_eq!(result, if (earliest, latest) == (0, u64::MAX) { AGAIN } else { DONE });
        assert!(earliest < clocksmith_realtime_ns() && latest > earliest);
    }

    #[test]
    fn only_sources_restrict() {
        assert_eq!(clocksmith_restrict(0), INVALID);
        assert_eq!(clocksmith_restrict(8), INVALID);
        // 256 + 1 would be Vvar if it were truncated to a byte.
        assert_eq!(clocksmith_restrict(257), INVALID);
        assert_eq!(clocksmith_restrict(Source::Vvar as c_uint), DONE);
    }

    #[test]
    fn the_version_is_the_package_s() {
        assert_eq!(text(clocksmith_version()), env!("CARGO_PKG_VERSION"));
    }
}
