//! Whether the kernel's own clock is the counter, where its page does not show this.

use crate::kernel::{self, ClockId};
use clocksmith_raw::counter::{CLOCKSOURCE, Counter};

/// The file in which the kernel names its clocksource.
const FILE: &core::ffi::CStr = c"/sys/devices/system/clocksource/clocksource0/current_clocksource";

/// Whether sysfs names the counter as the clocksource, and reads behave like it: the vDSO must serve
/// the clock without a system call. (sysfs may be another machine's, or forged.)
pub(crate) fn by_behaviour<C: Counter>() -> bool {
    is_named() && is_served_without_call::<C>()
}

fn is_named() -> bool {
    current(&mut [0; 32]) == CLOCKSOURCE.as_bytes()
}

/// The name of the clocksource in sysfs; empty if it is not readable.
pub(crate) fn current(text: &mut [u8; 32]) -> &[u8] {
    // SAFETY: opens a file by a name that ends with a zero, reads it into a local buffer, and
    // closes it. All three are async-signal-safe.
    let length = unsafe {
        let flags = libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NONBLOCK;
        let file = libc::open(FILE.as_ptr(), flags);
        if file < 0 {
            return &[];
        }
        let length = libc::read(file, text.as_mut_ptr().cast(), text.len());
        libc::close(file);
        length
    };
    let text = usize::try_from(length).ok().and_then(|length| text.get(..length));
    text.map_or(&[], <[u8]>::trim_ascii)
}

/// Compares the best of some readings with the best of some real system calls.
pub(crate) fn is_served_without_call<C: Counter>() -> bool {
    let best = |read: fn(ClockId) -> Option<u64>| {
        (0..16)
            .map(|_| {
                let begin = C::read_ordered();
                let there = read(ClockId::Monotonic).is_some();
                let took = C::read_ordered().wrapping_sub(begin);
                if there { took } else { u64::MAX }
            })
            .min()
            .unwrap_or(u64::MAX)
    };
    let (usual, by_call) = (best(kernel::time), best(kernel::time_by_call));
    usual != u64::MAX && usual < by_call / 2
}
