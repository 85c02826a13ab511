//! The clocks of clocksmith for C: `include/clocksmith.h` declares and documents what stands here.
//!
//! None of these functions fails, waits or panics, and nothing runs when the library is loaded: the
//! first read of a clock finds out what serves it.

use clocksmith::Source;
use core::ffi::{CStr, c_char, c_int, c_uint};

/// What `clocksmith_restrict` returns when it has done it.
const DONE: c_int = 0;
/// `EINVAL`, which has this value on every system; for a number that is no source.
const INVALID: c_int = 22;
/// `EAGAIN` on Linux: the error of the wall clock is not known now.
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

/// Between which two times true time lies. 0, or `EAGAIN` when that is not known.
///
/// # Safety
///
/// Each pointer is null or to a number that may be written.
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

/// The way by which `clocksmith_monotonic_ns` is served now.
#[unsafe(no_mangle)]
pub extern "C" fn clocksmith_source() -> c_uint {
    c_uint::from(clocksmith::source() as u8)
}

/// The name of a source; "unknown" for a number that is none. Static.
#[unsafe(no_mangle)]
pub extern "C" fn clocksmith_source_name(source: c_uint) -> *const c_char {
    entry(source).map_or(c"unknown", |(_, name)| *name).as_ptr()
}

/// Sets the best source that may be used. 0, or `EINVAL` when the number is no source.
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
        // 256 + 1 is Vvar if somebody cuts it to a byte.
        assert_eq!(clocksmith_restrict(257), INVALID);
        assert_eq!(clocksmith_restrict(Source::Vvar as c_uint), DONE);
    }

    #[test]
    fn the_version_is_the_package_s() {
        assert_eq!(text(clocksmith_version()), env!("CARGO_PKG_VERSION"));
    }
}
