//! A stack that is large enough, independent of `ulimit -s`.
//!
//! The limits on nesting assume the usual 8 MiB. If the limit is lower, the program runs in a thread with its own
//! stack; otherwise no thread is started.

use crate::exit::Code;
use crate::ui::err;
use rustix::process::{Resource, getrlimit};
use std::process::ExitCode;

/// The size of the program's stack, in bytes.
pub(crate) const SIZE: usize = 8 << 20;
/// A limit below this is too low.
const ENOUGH: u64 = 4 << 20;

/// Runs the program on such a stack.
pub(crate) fn run(program: fn() -> ExitCode) -> ExitCode {
    if getrlimit(Resource::Stack).current.is_none_or(|limit| limit >= ENOUGH) {
        return program();
    }
    let thread = match std::thread::Builder::new().stack_size(SIZE).spawn(program) {
        Ok(thread) => thread,
        Err(error) => {
            err::line(&format!(
                "clocksmith: cannot make a stack of 8 MiB: {error}. The limits of this process are too low (ulimit -a)"
            ));
            return Code::Usage.into();
        }
    };
    leave_signals();
    // The panic was already reported.
    thread.join().unwrap_or(ExitCode::from(101))
}

/// Leaves signals to the other thread: a signal in this one would not interrupt the other one's waits.
fn leave_signals() {
    // SAFETY: all bits zero are a value of this structure of integers.
    let mut all: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: the pointers are to a live value.
    unsafe {
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const all, std::ptr::null_mut());
    }
}
