//! The setting in the environment, and the C library's own function.

use core::ffi::{CStr, c_char, c_int};
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The behaviour of reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Settings {
    /// The line, with its rate.
    Line { ordered: bool, rate: u64 },
    /// The kernel's coarse clocks.
    Coarse,
    /// No setting.
    Nothing,
}

/// The rate, which is below 2^62, with two bits above it that state its use.
static KNOWN: AtomicU64 = AtomicU64::new(0);
const ORDERED: u64 = 1 << 62;
const OTHER: u64 = 1 << 63;

#[inline(always)]
pub(crate) fn settings() -> Settings {
    match KNOWN.load(Ordering::Relaxed) {
        0 => read(),
        word if word & OTHER == 0 => {
            Settings::Line { ordered: word & ORDERED != 0, rate: word & (ORDERED - 1) }
        }
        word if word & 1 == 1 => Settings::Coarse,
        _ => Settings::Nothing,
    }
}

#[cold]
#[inline(never)]
fn read() -> Settings {
    // SAFETY: a name that ends with a zero. Reading the environment is safe in a signal handler as
    // long as no thread changes it.
    let value = unsafe { libc::getenv(c"CLOCKSMITH_PRELOAD".as_ptr()) };
    let settings = if value.is_null() {
        Settings::Nothing
    } else {
        // SAFETY: a string of the environment.
        parse(unsafe { CStr::from_ptr(value) }.to_bytes())
    };
    let word = match settings {
        Settings::Line { ordered, rate } => rate | if ordered { ORDERED } else { 0 },
        Settings::Coarse => OTHER | 1,
        Settings::Nothing => OTHER,
    };
    KNOWN.store(word, Ordering::Relaxed);
    settings
}

fn parse(text: &[u8]) -> Settings {
    if text == b"coarse" {
        return Settings::Coarse;
    }
    let (ordered, number) = if let Some(number) = text.strip_prefix(b"ordered:") {
        (true, number)
    } else if let Some(number) = text.strip_prefix(b"relaxed:") {
        (false, number)
    } else {
        return Settings::Nothing;
    };
    let rate = core::str::from_utf8(number).ok().and_then(|number| number.parse().ok());
    match rate {
        Some(rate) if (1..ORDERED).contains(&rate) => Settings::Line { ordered, rate },
        _ => Settings::Nothing,
    }
}

type Function = unsafe extern "C" fn(libc::clockid_t, *mut libc::timespec) -> c_int;

/// Finds the C library's own function; `None` if there is none.
pub(crate) fn original(clock: libc::clockid_t, time: *mut libc::timespec) -> Option<c_int> {
    static KNOWN: AtomicUsize = AtomicUsize::new(0);
    let mut address = KNOWN.load(Ordering::Relaxed);
    if address == 0 {
        const NAME: *const c_char = c"clock_gettime".as_ptr();
        // SAFETY: a name that ends with a zero.
        address = unsafe { libc::dlsym(libc::RTLD_NEXT, NAME) } as usize;
        if address == 0 {
            return None;
        }
        KNOWN.store(address, Ordering::Relaxed);
    }
    // SAFETY: the function of that name, with its arguments.
    let result = unsafe {
        let function: Function = core::mem::transmute(address);
        function(clock, time)
    };
    // SAFETY: the C library's own, of this thread.
    Some(if result == 0 { 0 } else { -unsafe { *libc::__errno_location() } })
}
