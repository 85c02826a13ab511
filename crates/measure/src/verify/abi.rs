//! The edges of the kernel's interface: unknown clock ids, null pointers, pointers to nothing. The functions that the
//! kernel maps into every process must return the results of its system calls; where a system call returns EFAULT,
//! SIGSEGV may end a function, since it writes to the address itself. Each call is made in a child.

use crate::bench::vdso::Vdso;
use serde::Serialize;
use std::ptr::null_mut;

/// An address that no process has.
const NOWHERE: usize = 1;
/// Clock ids that no kernel has.
const UNKNOWN: [libc::clockid_t; 4] = [63, 1_000, libc::clockid_t::MAX, libc::clockid_t::MIN];

/// The end of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// It returned this error number; 0 is success.
    Answered(i32),
    /// A signal killed the child.
    Signal(i32),
    /// The child could not be started, or ended in another way.
    Unknown,
}

/// One call, by two paths.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AbiCase {
    /// The call.
    pub call: String,
    /// The result of the vDSO function; null where there is none.
    pub vdso: Option<Ended>,
    /// The result of the system call.
    pub syscall: Ended,
    /// Whether both results agree and are what POSIX and Linux promise; null where that is not known.
    pub right: Option<bool>,
}

/// Makes every call.
#[must_use]
pub fn abi() -> Vec<AbiCase> {
    let vdso = Vdso::find();
    let mut out = Vec::new();
    let monotonic = libc::CLOCK_MONOTONIC;
    let mut clock = |call: String, id: libc::clockid_t, to: usize, expected: i32| {
        let function = vdso.clock_gettime.map(|function| {
            // SAFETY: in a child, which a signal may end; the address is either unmapped, or the child's own buffer.
            in_child(move || unsafe { function(id, pointer(to).cast()) })
        });
        // SAFETY: the kernel checks the address.
        let kernel = in_child(move || unsafe {
            number(libc::syscall(libc::SYS_clock_gettime, id, pointer(to)))
        });
        out.push(case(call, function, kernel, expected));
    };
    for id in UNKNOWN {
        clock(format!("clock_gettime({id}, buffer)"), id, 0, libc::EINVAL);
    }
    clock(
        "clock_gettime(CLOCK_MONOTONIC, bad pointer)".to_owned(),
        monotonic,
        NOWHERE,
        libc::EFAULT,
    );
    clock(
        "clock_gettime(CLOCK_THREAD_CPUTIME_ID, bad pointer)".to_owned(),
        libc::CLOCK_THREAD_CPUTIME_ID,
        NOWHERE,
        libc::EFAULT,
    );
    let mut day = |call: &str, to: usize, expected: i32| {
        let to = move || if to == 0 { null_mut() } else { pointer(to) };
        let function = vdso.gettimeofday.map(|function| {
            // SAFETY: in a child; null is allowed, and the bad address is unmapped.
            in_child(move || unsafe { function(to().cast(), null_mut()) })
        });
        // SAFETY: the kernel checks the address.
        let kernel = in_child(move || unsafe {
            number(libc::syscall(libc::SYS_gettimeofday, to(), null_mut::<libc::c_void>()))
        });
        out.push(case(call.to_owned(), function, kernel, expected));
    };
    day("gettimeofday(NULL, NULL)", 0, 0);
    day("gettimeofday(bad pointer, NULL)", NOWHERE, libc::EFAULT);
    // SAFETY: with a null pointer the call writes nothing.
    let resolution = in_child(|| unsafe {
        number(libc::syscall(
            libc::SYS_clock_getres,
            libc::CLOCK_MONOTONIC,
            null_mut::<libc::timespec>(),
        ))
    });
    out.push(case("clock_getres(CLOCK_MONOTONIC, NULL)".to_owned(), None, resolution, 0));
    out
}

/// A buffer of the child, or the unmapped address.
fn pointer(to: usize) -> *mut libc::c_void {
    static mut BUFFER: [u64; 4] = [0; 4];
    // Each child has its own copy, and one thread.
    if to == 0 { (&raw mut BUFFER).cast() } else { std::ptr::without_provenance_mut(to) }
}

/// Returns the kernel's result in the form of a vDSO function, from that of the C library.
fn number(result: libc::c_long) -> i32 {
    if result == 0 { 0 } else { -std::io::Error::last_os_error().raw_os_error().unwrap_or(0) }
}

fn case(call: String, vdso: Option<Ended>, syscall: Ended, expected: i32) -> AbiCase {
    AbiCase { call, vdso, syscall, right: right(vdso, syscall, expected) }
}

/// Returns whether both results are as promised.
fn right(vdso: Option<Ended>, syscall: Ended, expected: i32) -> Option<bool> {
    let faults = |ended| expected == libc::EFAULT && ended == Ended::Signal(libc::SIGSEGV);
    let is = |ended: Ended| match ended {
        // A filter of seccomp returns the error in place of the kernel.
        Ended::Unknown
        | Ended::Answered(libc::EPERM | libc::EACCES | libc::ENOSYS)
        | Ended::Signal(libc::SIGSYS) => None,
        ended => Some(ended == Ended::Answered(expected) || faults(ended)),
    };
    let kernel = is(syscall)? && !faults(syscall);
    Some(kernel && vdso.map_or(Some(true), is)?)
}

/// Makes a call in a child and returns how it ended.
fn in_child(call: impl Fn() -> i32) -> Ended {
    // SAFETY: between fork and exit the child makes system calls and one call of a function of the kernel's, which are
    // allowed there for any activity of other threads.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: take plain numbers. The end of this child is not a crash to record, and the parent's handlers must
        // not run in it.
        unsafe {
            libc::prctl(libc::PR_SET_DUMPABLE, 0);
            libc::signal(libc::SIGSEGV, libc::SIG_DFL);
        }
        let answer = call();
        // Error numbers are below 128.
        // SAFETY: ends the child at once, without running its parent's exit handlers.
        unsafe { libc::_exit(answer.unsigned_abs().min(255) as i32) };
    }
    if child < 0 {
        return Ended::Unknown;
    }
    let mut status = 0;
    loop {
        // SAFETY: the pointer is to a live int of our own; the child is ours and waited for only here.
        let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
        if waited == child {
            return if libc::WIFEXITED(status) {
                Ended::Answered(libc::WEXITSTATUS(status))
            } else if libc::WIFSIGNALED(status) {
                Ended::Signal(libc::WTERMSIG(status))
            } else {
                Ended::Unknown
            };
        }
        if std::io::Error::last_os_error().kind() != std::io::ErrorKind::Interrupted {
            return Ended::Unknown;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn right_allows_a_signal_only_where_the_kernel_says_efault() {
        let (efault, einval) = (Ended::Answered(libc::EFAULT), Ended::Answered(libc::EINVAL));
        let segv = Ended::Signal(libc::SIGSEGV);
        assert_eq!(right(Some(segv), efault, libc::EFAULT), Some(true));
        assert_eq!(right(Some(efault), efault, libc::EFAULT), Some(true));
        assert_eq!(right(Some(segv), einval, libc::EINVAL), Some(false));
        assert_eq!(right(Some(Ended::Answered(0)), einval, libc::EINVAL), Some(false));
        assert_eq!(right(None, Ended::Answered(0), 0), Some(true));
        assert_eq!(right(Some(efault), segv, libc::EFAULT), Some(false));
        assert_eq!(right(Some(Ended::Unknown), efault, libc::EFAULT), None);
        for filtered in [Ended::Answered(libc::EPERM), Ended::Signal(libc::SIGSYS)] {
            assert_eq!(right(Some(segv), filtered, libc::EFAULT), None);
            assert_eq!(right(Some(filtered), efault, libc::EFAULT), None);
        }
    }

    #[test]
    fn abi_of_this_kernel_is_right() {
        let all = abi();
        assert_eq!(all.len(), UNKNOWN.len() + 5);
        assert!(all.iter().all(|case| case.right == Some(true)), "{all:#?}");
    }
}
