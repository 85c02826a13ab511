//! The cached clock, and the thread that keeps it up to date.

use crate::{AGAIN, DONE, INVALID};
use clocksmith::{CachedClock, Updater};
use core::ffi::c_int;
use core::time::Duration;

/// `struct clocksmith_cached_clock`, in memory of the caller. Zero bytes are a clock that remembers nothing.
#[repr(C, align(8))]
pub struct Cached {
    clock: CachedClock,
    /// The header reserves a cache line.
    reserved: [u8; 64 - size_of::<CachedClock>()],
}

// As in the header.
const _: () = assert!(size_of::<Cached>() == 64 && align_of::<Cached>() == 8);

/// Reads the clocks and remembers their times.
///
/// # Safety
///
/// `clock` points to a clock: zero bytes at first, changed by these functions only.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clocksmith_cached_update(clock: *mut Cached) {
    // SAFETY: by the contract. All changes are atomic.
    unsafe { &(*clock).clock }.update();
}

/// The remembered `CLOCK_MONOTONIC`.
///
/// # Safety
///
/// See [`clocksmith_cached_update`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clocksmith_cached_monotonic_ns(clock: *const Cached) -> u64 {
    // SAFETY: by the contract.
    unsafe { &(*clock).clock }.monotonic_ns()
}

/// The remembered `CLOCK_REALTIME`.
///
/// # Safety
///
/// See [`clocksmith_cached_update`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clocksmith_cached_realtime_ns(clock: *const Cached) -> u64 {
    // SAFETY: by the contract.
    unsafe { &(*clock).clock }.realtime_ns()
}

/// Starts a thread that updates the clock at that interval. Returns 0, or a number of `errno`.
///
/// # Safety
///
/// See [`clocksmith_cached_update`]. The clock must stay where it is until the updater has been
/// stopped. `updater` is null, which is refused, or points to a pointer that may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clocksmith_cached_start(
    clock: *mut Cached,
    interval_ns: u64,
    updater: *mut *mut Updater,
) -> c_int {
    // Without a place for the updater nothing could stop the thread.
    if interval_ns == 0 || updater.is_null() {
        return INVALID;
    }
    // SAFETY: by the contract: the thread has ended before the clock does.
    let clock: &'static CachedClock = unsafe { &(*clock).clock };
    let started = {
        let _blocked = Blocked::new();
        clock.spawn_updater(Duration::from_nanos(interval_ns))
    };
    match started {
        Ok(started) => {
            // SAFETY: by the contract.
            unsafe { updater.write(Box::into_raw(Box::new(started))) };
            DONE
        }
        // An error without a number.
        Err(error) => error.raw_os_error().unwrap_or(AGAIN),
    }
}

/// Stops the thread, and waits until it has ended.
///
/// # Safety
///
/// `updater` is null, or from [`clocksmith_cached_start`], and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clocksmith_cached_stop(updater: *mut Updater) {
    if !updater.is_null() {
        // SAFETY: by the contract.
        drop(unsafe { Box::from_raw(updater) });
    }
}

/// Blocks all signals in this thread until it is dropped. The updater's thread inherits that: a program's handlers run
/// in the program's threads.
struct Blocked {
    #[cfg(target_os = "linux")]
    before: Option<libc::sigset_t>,
}

impl Blocked {
    #[cfg(target_os = "linux")]
    fn new() -> Self {
        // SAFETY: sets of this function; zero bytes are an empty set.
        unsafe {
            let (mut all, mut before) = (core::mem::zeroed(), core::mem::zeroed());
            libc::sigfillset(&raw mut all);
            let done = libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
            Self { before: (done == 0).then_some(before) }
        }
    }

    #[cfg(not(target_os = "linux"))]
    const fn new() -> Self {
        Self {}
    }
}

#[cfg(target_os = "linux")]
impl Drop for Blocked {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // SAFETY: the set that was there before.
            unsafe {
                libc::pthread_sigmask(libc::SIG_SETMASK, before, core::ptr::null_mut());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_bytes_are_a_clock() {
        // SAFETY: zero bytes are a clock, of this test only.
        unsafe {
            let mut clock = core::mem::zeroed::<Cached>();
            let at = &raw mut clock;
            let before = clocksmith::monotonic_coarse_ns();
            assert!(clocksmith_cached_monotonic_ns(at) >= before);
            clocksmith_cached_update(at);
            let (ns, wall) =
                (clocksmith_cached_monotonic_ns(at), clocksmith_cached_realtime_ns(at));
            std::thread::sleep(Duration::from_millis(2));
            assert_eq!(clocksmith_cached_monotonic_ns(at), ns);
            assert_eq!(clocksmith_cached_realtime_ns(at), wall);
            clocksmith_cached_update(at);
            assert!(clocksmith_cached_monotonic_ns(at) >= ns + 2_000_000);
        }
    }

    #[test]
    fn an_interval_of_zero_and_no_place_for_the_updater_are_refused() {
        let mut updater = core::ptr::null_mut();
        // SAFETY: a clock and a pointer of this test; null is nothing to stop, and no place.
        let results = unsafe {
            let mut clock = core::mem::zeroed::<Cached>();
            clocksmith_cached_stop(updater);
            [
                clocksmith_cached_start(&raw mut clock, 0, &raw mut updater),
                clocksmith_cached_start(&raw mut clock, 1_000_000, core::ptr::null_mut()),
            ]
        };
        assert_eq!(results, [INVALID; 2]);
        assert!(updater.is_null());
    }
}
