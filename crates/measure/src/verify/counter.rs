//! Whether a read of a faulting counter returns a value nevertheless.

use clocksmith_raw::counter::read_ordered;

/// Returns whether a read of the counter succeeds although the kernel makes it fault: a tracer of this process (an
/// emulator, a debugger) may emulate it. A child tries it, because the signal of a read that is not emulated ends the
/// process.
pub(crate) fn is_answered() -> bool {
    // SAFETY: between fork and exit the child only makes system calls and reads the counter, which is allowed there for
    // any activity of other threads.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: takes plain numbers. The end of this child is not a crash to record.
        unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0) };
        std::hint::black_box(read_ordered());
        // SAFETY: ends the child at once, without running its parent's exit handlers.
        unsafe { libc::_exit(0) };
    }
    if child < 0 {
        return false;
    }
    let mut status = 0;
    loop {
        // SAFETY: the pointer is to a live int of our own; the child is ours and waited for only here.
        let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
        if waited == child {
            return libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0;
        }
        if std::io::Error::last_os_error().kind() != std::io::ErrorKind::Interrupted {
            return false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_that_nobody_answers_is_found_out() {
        let allowed = crate::reads::counter_allowed().is_ok();
        assert!(is_answered() || !allowed);
        #[cfg(target_arch = "x86_64")]
        {
            const PR_SET_TSC: libc::c_int = 26;
            const PR_TSC_SIGSEGV: libc::c_int = 2;
            let answer = std::thread::spawn(|| {
                // SAFETY: changes only whether this thread may read the counter; it does not.
                let set = unsafe { libc::prctl(PR_SET_TSC, PR_TSC_SIGSEGV) };
                set != 0 || !is_answered()
            });
            assert!(answer.join().unwrap());
        }
    }
}
