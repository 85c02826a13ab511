//! `adjtimex(2)`, read-only.

use crate::Missing;
use crate::ntp::Timex;
use crate::tree::from_io;
use std::mem::MaybeUninit;

/// The state of the kernel's clock discipline; nothing is changed.
///
/// # Errors
/// Returns the system's error; a sandbox may refuse the call.
pub fn timex() -> Result<Timex, Missing> {
    // SAFETY: `timex` is a C struct of integers, for which all zeros is a valid value. `modes` 0 requests no change.
    let mut timex: libc::timex = unsafe { MaybeUninit::zeroed().assume_init() };
    // SAFETY: the pointer is to a live, exclusively borrowed `timex`, which the call fills.
    let state = unsafe { libc::adjtimex(&raw mut timex) };
    if state == -1 {
        return Err(from_io(&std::io::Error::last_os_error(), "adjtimex(2)".to_owned()));
    }
    // The fields are C longs, which are narrower on 32-bit machines.
    #[allow(clippy::unnecessary_cast)]
    Ok(Timex {
        status: i64::from(timex.status),
        freq: timex.freq as i64,
        offset: timex.offset as i64,
        tick: timex.tick as i64,
        esterror: timex.esterror as i64,
        maxerror: timex.maxerror as i64,
        state: Some(i64::from(state)),
        constant: Some(timex.constant as i64),
        tai: Some(i64::from(timex.tai)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tick_is_about_ten_milliseconds() {
        // The kernel accepts 9000 to 11000 us only.
        if let Ok(timex) = timex() {
            assert!((9_000..=11_000).contains(&timex.tick), "{timex:?}");
        }
    }
}
