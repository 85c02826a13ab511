//! Ctrl-C and SIGTERM as a request to stop, so that the measurements so far are kept.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// The first signal that came, or 0.
static WISHED: AtomicI32 = AtomicI32::new(0);

/// Returns whether a signal has requested the measurement to stop.
#[must_use]
pub fn wished() -> bool {
    signal().is_some()
}

/// Returns the signal that requested the measurement to stop: the first one that came.
#[must_use]
pub fn signal() -> Option<i32> {
    Some(WISHED.load(Ordering::Relaxed)).filter(|signal| *signal != 0)
}

/// Whether a request also ends the running measurement.
static BREAKS: AtomicBool = AtomicBool::new(false);

/// From now on a signal also ends a run of [`crate::verify`] before its time. The measurements until then are not a
/// result, and the caller of the run must drop them.
pub fn breaks_runs() {
    BREAKS.store(true, Ordering::Relaxed);
}

/// Returns whether a run must end before its time.
pub(crate) fn breaks() -> bool {
    wished() && BREAKS.load(Ordering::Relaxed)
}

/// The signals that came, a bit for each number.
static SEEN: AtomicU64 = AtomicU64::new(0);
/// Whether no signal ends the program.
static HELD: AtomicBool = AtomicBool::new(false);

/// From now on no number of signals ends the program, until [`release`]: it is restoring a half-made change, and a
/// second signal of a kind, such as that of a terminal that closes under a shell, would prevent that.
pub fn hold() {
    HELD.store(true, Ordering::Relaxed);
}

/// The second signal of a kind ends the program again.
pub fn release() {
    HELD.store(false, Ordering::Relaxed);
}

/// Returns whether signals wait ([`hold`]).
#[must_use]
pub fn is_held() -> bool {
    HELD.load(Ordering::Relaxed)
}

/// Whether signals are requests.
static LISTENS: AtomicBool = AtomicBool::new(false);
/// Whether only [`whole`] keeps a signal from ending the program.
static ENDS: AtomicBool = AtomicBool::new(false);
/// How many calls of [`whole`] run.
static WITHIN: AtomicUsize = AtomicUsize::new(0);

/// Runs a piece of work that a signal must not end in its middle, such as writing a file next to the one that it
/// replaces. The first signal ends the program when the work is done, the second one of a kind at once. If signals are
/// already requests ([`listen`]), or are ignored, that does not change.
pub fn whole<T>(work: impl FnOnce() -> T) -> T {
    if !LISTENS.load(Ordering::SeqCst) {
        ENDS.store(true, Ordering::SeqCst);
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT] {
            if !is_ignored(signal) {
                listen_to(&[signal]);
            }
        }
    }
    WITHIN.fetch_add(1, Ordering::SeqCst);
    let done = work();
    if WITHIN.fetch_sub(1, Ordering::SeqCst) == 1
        && ENDS.load(Ordering::SeqCst)
        && let Some(signal) = signal()
    {
        // To this thread, which therefore goes no further: a signal to the process may reach another thread, and later.
        // SAFETY: sends a signal, whose handler makes only calls that are allowed in one.
        unsafe { libc::raise(signal) };
    }
    done
}

/// The last actions of a forced end.
static LAST: [OnceLock<fn()>; 4] = [const { OnceLock::new() }; 4];

extern "C" fn note(signal: libc::c_int) {
    let _ = WISHED.compare_exchange(0, signal, Ordering::Relaxed, Ordering::Relaxed);
    let bit = 1u64 << (signal & 63);
    let first = SEEN.fetch_or(bit, Ordering::Relaxed) & bit == 0;
    let ends = !first || (ENDS.load(Ordering::SeqCst) && WITHIN.load(Ordering::SeqCst) == 0);
    if !ends || HELD.load(Ordering::Relaxed) {
        return;
    }
    for last in LAST.iter().filter_map(OnceLock::get) {
        last();
    }
    // SAFETY: all calls are allowed in a signal handler; the signal is blocked while this runs, and ends the program
    // when it returns, except for process 1 of a container, for which the kernel has no default action.
    unsafe {
        if libc::getpid() == 1 {
            libc::_exit(128 + signal);
        }
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}

/// Adds an action of the second signal of a kind before it ends the program, such as restoring a terminal. It runs in a
/// signal handler, so it may only call functions that signal-safety(7) allows. There are at most four, each done once.
pub fn before_forced_end(last: fn()) {
    let known = |it: &OnceLock<fn()>| it.get().is_some_and(|it| std::ptr::fn_addr_eq(*it, last));
    if !LAST.iter().any(known) {
        let _ = LAST.iter().find(|it| it.set(last).is_ok());
    }
}

/// Ends the program this long after the first signal, by its number, even while a thread is in a system call that does
/// not return (a file system that does not respond): then `last` is run, and the exit code is the shell's for the
/// signal.
///
/// # Errors
/// Returns an error if no thread can be started.
pub fn end_within(
    patience: impl Fn(i32) -> Duration + Send + 'static,
    last: impl FnOnce() + Send + 'static,
) -> std::io::Result<()> {
    /// How often a request to end is checked.
    const BEAT: Duration = Duration::from_millis(200);
    let wait = move || {
        let signal = loop {
            std::thread::sleep(BEAT);
            if let Some(signal) = signal() {
                break signal;
            }
        };
        std::thread::sleep(patience(signal));
        last();
        // SAFETY: ends the process and all its threads; no code of this program runs after it.
        unsafe { libc::_exit(128 + signal) }
    };
    std::thread::Builder::new().name("deadline".to_owned()).spawn(wait).map(|_| ())
}

/// Returns whether the parent had a signal ignored: SIGINT of a background command of a script, SIGHUP by `nohup`.
fn is_ignored(signal: libc::c_int) -> bool {
    // SAFETY: `sigaction` is a C struct of integers and a pointer, for which all zeros is valid; the call only writes it.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut now) == 0
            && now.sa_sigaction == libc::SIG_IGN
    }
}

/// From now on SIGINT, SIGTERM and SIGHUP are requests, the first time each; the second one ends the program at once.
/// SIGINT and SIGHUP stay ignored if they are: a signal before this call is then lost, and one that comes later would
/// not be.
pub fn listen() {
    LISTENS.store(true, Ordering::SeqCst);
    ENDS.store(false, Ordering::SeqCst);
    listen_to(&[libc::SIGINT, libc::SIGTERM, libc::SIGHUP]);
}

/// As [`listen`], and also SIGQUIT (Ctrl-\): for a program that must not end in the middle of a change.
pub fn listen_with_quit() {
    LISTENS.store(true, Ordering::SeqCst);
    ENDS.store(false, Ordering::SeqCst);
    listen_to(&[libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT]);
}

fn listen_to(signals: &[libc::c_int]) {
    for &signal in signals {
        if signal != libc::SIGTERM && is_ignored(signal) {
            continue;
        }
        // SAFETY: `sigaction` is a C struct of integers and a pointer, for which all zeros is valid.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = note as extern "C" fn(libc::c_int) as libc::sighandler_t;
        action.sa_flags = libc::SA_RESTART;
        // SAFETY: the handler makes only calls that are allowed in one; the structure lives through the calls.
        // With SIGTTOU blocked, a terminal can also be restored from the background.
        unsafe {
            libc::sigaddset(&raw mut action.sa_mask, libc::SIGTTOU);
            libc::sigaction(signal, &raw const action, std::ptr::null_mut());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It ends a process, so another one gets it: this test runs itself.
    #[test]
    fn whole_work_is_done_before_a_signal_ends_the_program() {
        use rustix::process::Signal;
        use std::os::unix::process::ExitStatusExt;
        use std::process::{Command, Stdio};
        const FILE: &str = "CLOCKSMITH_TEST_WHOLE";
        const ENDS: &str = "CLOCKSMITH_TEST_WHOLE_ENDS";
        if let Some(path) = std::env::var_os(FILE) {
            let ends = std::env::var_os(ENDS).is_some();
            let signal = if ends { Signal::TERM } else { Signal::HUP };
            let send = || {
                rustix::process::kill_process(rustix::process::getpid(), signal).unwrap();
                // It may come to another thread.
                while ends && super::signal().is_none() {
                    std::thread::yield_now();
                }
            };
            whole(|| whole(|| 1) + 1);
            whole(|| {
                whole(send);
                std::fs::write(&path, "done").unwrap();
            });
            std::fs::write(path, "went on").unwrap();
            return;
        }
        for ends in [true, false] {
            if ends && is_ignored(libc::SIGTERM) {
                eprintln!("skipped: this process was started with SIGTERM ignored");
                continue;
            }
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("made");
            let mut command = Command::new("/bin/sh");
            if ends {
                command.env(ENDS, "1");
            }
            let status = command
                .args(["-c", "trap '' HUP; exec \"$0\" \"$@\""])
                .arg(std::env::current_exe().unwrap())
                .args([
                    "--exact",
                    "interrupt::tests::whole_work_is_done_before_a_signal_ends_the_program",
                ])
                .env(FILE, &path)
                .stdout(Stdio::null())
                .status()
                .unwrap();
            assert_eq!(status.signal(), ends.then_some(libc::SIGTERM), "{status}");
            let made = std::fs::read_to_string(path).unwrap();
            assert_eq!(made, if ends { "done" } else { "went on" });
        }
    }

    #[test]
    fn a_signal_is_a_wish_unless_it_was_ignored() {
        // SAFETY: no other test of this process is about it.
        unsafe { libc::signal(libc::SIGHUP, libc::SIG_IGN) };
        listen();
        // SAFETY: sends signals to this process, which ignores the first one, and has a handler for the other one.
        unsafe { libc::raise(libc::SIGHUP) };
        assert!(!wished());
        // SAFETY: as above.
        unsafe { libc::raise(libc::SIGTERM) };
        assert!(wished());
        assert_eq!(signal(), Some(libc::SIGTERM));
        // While signals are held, any number of them does not end the process; otherwise this process would end.
        hold();
        listen_with_quit();
        for signal in
            [libc::SIGTERM, libc::SIGTERM, libc::SIGQUIT, libc::SIGQUIT, libc::SIGINT, libc::SIGINT]
        {
            // SAFETY: as above.
            unsafe { libc::raise(signal) };
        }
        assert!(is_held());
    }
}
