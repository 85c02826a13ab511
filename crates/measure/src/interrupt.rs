//! Ctrl-C and SIGTERM as a wish to stop, so that what was measured so far is kept.

use std::sync::atomic::{AtomicBool, Ordering};

static WISHED: AtomicBool = AtomicBool::new(false);

/// Whether somebody wants the measurement to stop.
#[must_use]
pub fn wished() -> bool {
    WISHED.load(Ordering::Relaxed)
}

extern "C" fn note(_signal: libc::c_int) {
    WISHED.store(true, Ordering::Relaxed);
}

/// From now on SIGINT, SIGTERM and SIGHUP are wishes, the first time each; the second one ends the
/// program at once.
pub fn listen() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: `sigaction` is a C struct of integers and a pointer, for which all zeros is valid.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = note as extern "C" fn(libc::c_int) as libc::sighandler_t;
        action.sa_flags = libc::SA_RESETHAND | libc::SA_RESTART;
        // SAFETY: the handler only stores to an atomic, which is allowed in a signal handler; the
        // structure lives through the call.
        unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_is_a_wish() {
        listen();
        assert!(!wished());
        // SAFETY: sends a signal to this process, for which there is a handler now.
        unsafe { libc::raise(libc::SIGHUP) };
        assert!(wished());
    }
}
