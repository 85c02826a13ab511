//! The hypervisor's data about this machine's clock.

use crate::{AGAIN, DONE, write_text};
use clocksmith::vmclock::{Maintenance, State, Unavailable, VmClock};
use core::ffi::{c_char, c_int};

/// `ENODEV`, `EACCES` and `ENOTSUP` on Linux: there is no device, it may not be opened, it cannot be used.
const NO_DEVICE: c_int = 19;
const NO_ACCESS: c_int = 13;
const NOT_SUPPORTED: c_int = 95;

/// `struct clocksmith_vmclock`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct VmClockState {
    disruption_marker: u64,
    vm_generation: u64,
    esterror_ns: u64,
    maxerror_ns: u64,
    tai_offset_seconds: i32,
    valid: u32,
    status: u8,
    leap: u8,
    maintenance: u8,
    is_monotonic: u8,
    reserved: [u8; 4],
}

const GENERATION: u32 = 1;
const ESTERROR: u32 = 2;
const MAXERROR: u32 = 4;
const TAI_OFFSET: u32 = 8;

impl From<State> for VmClockState {
    fn from(state: State) -> Self {
        let bit = |is: bool, bit| if is { bit } else { 0 };
        Self {
            disruption_marker: state.disruption_marker,
            vm_generation: state.vm_generation.unwrap_or(0),
            esterror_ns: state.esterror_ns.unwrap_or(0),
            maxerror_ns: state.maxerror_ns.unwrap_or(0),
            tai_offset_seconds: state.tai_offset_seconds.unwrap_or(0).into(),
            valid: bit(state.vm_generation.is_some(), GENERATION)
                | bit(state.esterror_ns.is_some(), ESTERROR)
                | bit(state.maxerror_ns.is_some(), MAXERROR)
                | bit(state.tai_offset_seconds.is_some(), TAI_OFFSET),
            status: state.status.number(),
            leap: state.leap.number(),
            maintenance: match state.maintenance {
                Some(Maintenance::Soon) => 1,
                Some(Maintenance::Imminent) => 2,
                _ => 0,
            },
            is_monotonic: state.is_monotonic.into(),
            reserved: [0; 4],
        }
    }
}

const fn number(why: Unavailable) -> c_int {
    match why {
        Unavailable::Absent => NO_DEVICE,
        Unavailable::Refused => NO_ACCESS,
        _ => NOT_SUPPORTED,
    }
}

/// The marker that changes when this machine was migrated or restored. Returns 0, or why there is none.
///
/// # Safety
///
/// `marker` is null, or points to a number that may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clocksmith_disruption_marker(marker: *mut u64) -> c_int {
    let (value, result) = match VmClock::open() {
        Ok(clock) => (clock.disruption_marker(), DONE),
        Err(why) => (0, number(why)),
    };
    if !marker.is_null() {
        // SAFETY: by the contract.
        unsafe { marker.write(value) };
    }
    result
}

/// Gets the device's state at one moment. Returns 0, or the reason why there is none.
///
/// # Safety
///
/// `state` is null, or points to a structure that may be written; `reason` is null, or points to `size` bytes that may
/// be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clocksmith_vmclock_state(
    state: *mut VmClockState,
    reason: *mut c_char,
    size: usize,
) -> c_int {
    let opened = VmClock::open();
    let read = opened.map(|clock| clock.state());
    let (value, result) = match read {
        Ok(Some(state)) => (state.into(), DONE),
        Ok(None) => (VmClockState::default(), AGAIN),
        Err(why) => (VmClockState::default(), number(why)),
    };
    // SAFETY: by the contract.
    unsafe {
        if !state.is_null() {
            state.write(value);
        }
        match read {
            Ok(Some(_)) => write_text(reason, size, &""),
            Ok(None) => write_text(reason, size, &"the hypervisor is writing the page"),
            Err(why) => write_text(reason, size, &why),
        }
    }
    result
}

/// Gets the two times between which UTC lies, according to the hypervisor. Returns 0, or the reason why there are none.
///
/// # Safety
///
/// Each pointer is null, or points to a number that may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clocksmith_vmclock_utc_bounded_ns(
    earliest: *mut u64,
    latest: *mut u64,
) -> c_int {
    let (bounds, result) = match VmClock::open().map(|clock| clock.utc_bounded()) {
        Ok(Some(bounds)) => (bounds, DONE),
        Ok(None) => ((0, u64::MAX), AGAIN),
        Err(why) => ((0, u64::MAX), number(why)),
    };
    for (at, bound) in [(earliest, bounds.0), (latest, bounds.1)] {
        if !at.is_null() {
            // SAFETY: by the contract.
            unsafe { at.write(bound) };
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_those_of_the_library() {
        let expected = VmClock::open().map_or_else(number, |_| DONE);
        let (mut marker, mut state, mut text) = (1, VmClockState::default(), [1u8; 200]);
        let (mut earliest, mut latest) = (1, 1);
        // SAFETY: numbers, a structure and bytes of this test; then null.
        let results = unsafe {
            [
                clocksmith_disruption_marker(&raw mut marker),
                clocksmith_disruption_marker(core::ptr::null_mut()),
                clocksmith_vmclock_state(&raw mut state, text.as_mut_ptr().cast(), text.len()),
                clocksmith_vmclock_state(core::ptr::null_mut(), core::ptr::null_mut(), 0),
                clocksmith_vmclock_utc_bounded_ns(&raw mut earliest, &raw mut latest),
                clocksmith_vmclock_utc_bounded_ns(core::ptr::null_mut(), core::ptr::null_mut()),
            ]
        };
        for result in results {
            // A device may exist and not provide the state.
            assert!(result == expected || expected == DONE && result == AGAIN);
        }
        if expected != DONE {
            assert_eq!(
                (marker, state, earliest, latest),
                (0, VmClockState::default(), 0, u64::MAX)
            );
            assert_ne!(text[0], 0);
        }
        assert_eq!(size_of::<VmClockState>(), 48);
    }

    #[test]
    fn each_reason_has_a_number() {
        let numbers =
            [Unavailable::Absent, Unavailable::Refused, Unavailable::NotAVmClock].map(number);
        assert_eq!(numbers, [NO_DEVICE, NO_ACCESS, NOT_SUPPORTED]);
    }
}
