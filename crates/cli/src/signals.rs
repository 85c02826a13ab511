//! The signals that this program needs, independent of its parent's settings: set once, before anything else.
//!
//! A process inherits the signals that its parent blocked and ignored. A program that waits for its children cannot see
//! their end where SIGCHLD is ignored (wait(2)); a program whose SIGTERM is blocked does not end. And the kernel does
//! not apply the default action of a signal to process 1 of a container (pid_namespaces(7)). A signal that was ignored
//! on purpose, such as SIGHUP by `nohup`, stays ignored. No constructor: six system calls at the start of `main`.

use crate::ui::screen;
use libc::{SIG_DFL, SIG_IGN};

/// Signals whose default action ends a process.
const ENDS: [libc::c_int; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];

/// Sets the signals. Verbs that end in an orderly way on these signals replace these handlers.
pub(crate) fn at_start() {
    unblock();
    if action(libc::SIGCHLD) == SIG_IGN {
        set(libc::SIGCHLD, SIG_DFL);
    }
    // A write beyond `ulimit -f` is then an error that names the file. A handler, and not SIG_IGN, which children would
    // inherit.
    if action(libc::SIGXFSZ) == SIG_DFL {
        set(libc::SIGXFSZ, nothing as extern "C" fn(libc::c_int) as libc::sighandler_t);
    }
    if std::process::id() == 1 {
        for signal in ENDS {
            if action(signal) == SIG_DFL {
                set(signal, end as extern "C" fn(libc::c_int) as libc::sighandler_t);
            }
        }
    }
}

extern "C" fn nothing(_: libc::c_int) {}

/// Ends the program as the kernel's default action does, with the exit code that a shell gives to the signal.
extern "C" fn end(signal: libc::c_int) {
    screen::put_back();
    // SAFETY: allowed in a signal handler; nothing of this process runs after it.
    unsafe { libc::_exit(128 + signal) }
}

fn unblock() {
    // SAFETY: all bits zero are a value of this structure of integers.
    let mut none: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: the pointers are to a live value.
    unsafe {
        libc::sigemptyset(&raw mut none);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
    }
}

/// Returns the action of a signal.
fn action(signal: libc::c_int) -> libc::sighandler_t {
    // SAFETY: all bits zero are a value of this structure of integers and a pointer that may be null.
    let mut now: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: only writes to a live structure.
    unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut now) };
    now.sa_sigaction
}

fn set(signal: libc::c_int, to: libc::sighandler_t) {
    // SAFETY: as in `action`.
    let mut new: libc::sigaction = unsafe { std::mem::zeroed() };
    new.sa_sigaction = to;
    new.sa_flags = libc::SA_RESTART;
    // SAFETY: the structure lives through the call; this file's handlers make only calls allowed in one.
    unsafe { libc::sigaction(signal, &raw const new, std::ptr::null_mut()) };
}
