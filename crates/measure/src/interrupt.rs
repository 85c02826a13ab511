//! Ctrl-C and SIGTERM as a wish to stop, so that what was measured so far is kept.

use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

/// The first signal that came, or 0.
static WISHED: AtomicI32 = AtomicI32::new(0);

/// Whether somebody wants the measurement to stop.
#[must_use]
pub fn wished() -> bool {
    signal().is_some()
}

/// The signal by which somebody wants the measurement to stop: the first one that came.
#[must_use]
pub fn signal() -> Option<i32> {
    Some(WISHED.load(Ordering::Relaxed)).filter(|signal| *signal != 0)
}

extern "C" fn note(signal: libc::c_int) {
    let _ = WISHED.compare_exchange(0, signal, Ordering::Relaxed, Ordering::Relaxed);
}

/// Ends the program so long after the first signal, also where a thread is in a system call that does not return (a
/// file system that does not answer): then `last` is done, and the exit code is the shell's for the signal.
///
/// # Errors
/// No thread can be started.
pub fn end_within(patience: Duration, last: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    /// How often the wish is looked at.
    const BEAT: Duration = Duration::from_millis(200);
    let wait = move || {
        let signal = loop {
            std::thread::sleep(BEAT);
            if let Some(signal) = signal() {
                break signal;
            }
        };
        std::thread::sleep(patience);
        last();
        // SAFETY: ends the process, whatever its threads do; nothing of this program runs after it.
        unsafe { libc::_exit(128 + signal) }
    };
    std::thread::Builder::new().name("deadline".to_owned()).spawn(wait).map(|_| ())
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
        assert_eq!(signal(), Some(libc::SIGHUP));
    }
}
