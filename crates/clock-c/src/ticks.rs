//! Ticks of the counter, the anchors that make times of them, and the counter that the kernel does not use.

use crate::{DONE, write_text};
use clocksmith::{Instant, TickAnchor, TickScale, Ticks};
use core::ffi::{c_char, c_int, c_uint};
use core::time::Duration;

/// `ENOTSUP` on Linux: the counter cannot be used.
const NOT_SUPPORTED: c_int = 95;

/// `struct clocksmith_tick_anchor`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Anchor {
    ticks: u64,
    monotonic_ns: u64,
}

impl Anchor {
    const fn known(self) -> TickAnchor {
        TickAnchor::from_parts(Ticks::from_u64(self.ticks), Instant::from_nanos(self.monotonic_ns))
    }
}

/// A reading of the counter, unordered.
#[unsafe(no_mangle)]
pub extern "C" fn clocksmith_ticks() -> u64 {
    Ticks::now().as_u64()
}

/// A reading of the counter, ordered.
#[unsafe(no_mangle)]
pub extern "C" fn clocksmith_ticks_ordered() -> u64 {
    Ticks::now_ordered().as_u64()
}

/// Ticks in a second by the kernel's present scale; 0 where the kernel does not publish it.
#[unsafe(no_mangle)]
pub extern "C" fn clocksmith_ticks_per_second() -> u64 {
    TickScale::of_kernel().map_or(0, |scale| scale.ticks_per_second())
}

/// A moment in ticks and on `CLOCK_MONOTONIC`.
#[unsafe(no_mangle)]
pub extern "C" fn clocksmith_tick_anchor_now() -> Anchor {
    let anchor = TickAnchor::now();
    Anchor { ticks: anchor.ticks().as_u64(), monotonic_ns: anchor.instant().as_nanos() }
}

/// The time of `ticks` on the straight line through two anchors.
#[unsafe(no_mangle)]
pub extern "C" fn clocksmith_ticks_to_ns(first: Anchor, second: Anchor, ticks: u64) -> u64 {
    first.known().interpolate(&second.known(), Ticks::from_u64(ticks)).as_nanos()
}

/// Uses the counter although the kernel does not, after a test. Returns 0, or `ENOTSUP` with the reason.
///
/// # Safety
///
/// `reason` is null, or points to `size` bytes that may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clocksmith_trust_counter(
    limit_ms: c_uint,
    reason: *mut c_char,
    size: usize,
) -> c_int {
    let tested = clocksmith::trust_counter(Duration::from_millis(limit_ms.into()));
    // SAFETY: by the contract.
    unsafe {
        match &tested {
            Ok(_) => write_text(reason, size, &""),
            Err(refused) => write_text(reason, size, refused),
        }
    }
    if tested.is_ok() { DONE } else { NOT_SUPPORTED }
}

/// Takes `clocksmith_trust_counter` back.
#[unsafe(no_mangle)]
pub extern "C" fn clocksmith_distrust_counter() {
    clocksmith::distrust_counter();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_between_anchors_are_times_between_them() {
        let first = clocksmith_tick_anchor_now();
        let (ticks, ordered) = (clocksmith_ticks(), clocksmith_ticks_ordered());
        let second = clocksmith_tick_anchor_now();
        assert!(ticks <= ordered);
        for ticks in [ticks, ordered] {
            let ns = clocksmith_ticks_to_ns(first, second, ticks);
            assert!(first.monotonic_ns <= ns && ns <= second.monotonic_ns);
        }
        assert_eq!(clocksmith_ticks_to_ns(first, first, 7), first.monotonic_ns);
        assert_eq!(
            clocksmith_ticks_per_second(),
            TickScale::of_kernel().map_or(0, |scale| scale.ticks_per_second())
        );
    }

    #[test]
    fn trust_says_why_not() {
        let mut text = [1; 200];
        // SAFETY: the bytes of this test; then none.
        let (result, none) = unsafe {
            let result = clocksmith_trust_counter(0, text.as_mut_ptr().cast(), text.len());
            (result, clocksmith_trust_counter(0, core::ptr::null_mut(), 0))
        };
        for result in [result, none] {
            assert!(result == DONE || result == NOT_SUPPORTED);
        }
        assert_eq!(text[0] == 0, result == DONE);
        clocksmith_distrust_counter();
    }
}
