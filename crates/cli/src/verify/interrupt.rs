//! Ctrl-C and SIGTERM end a long watch after its round, so that the summary is still printed.

use std::sync::atomic::{AtomicBool, Ordering};

static CAME: AtomicBool = AtomicBool::new(false);

extern "C" fn note(_signal: libc::c_int) {
    // The second one ends the program as usual.
    if CAME.swap(true, Ordering::Relaxed) {
        // SAFETY: ends the process at once; allowed in a signal handler.
        unsafe { libc::_exit(130) };
    }
}

/// From now on the first signal is noted, and the second one ends the program.
pub(crate) fn listen() {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        let handler = note as extern "C" fn(libc::c_int);
        // SAFETY: the handler does nothing but touch an atomic and end the process, and it lives as
        // long as the program.
        unsafe { libc::signal(signal, handler as libc::sighandler_t) };
    }
}

/// Whether one came.
pub(crate) fn came() -> bool {
    CAME.load(Ordering::Relaxed)
}
