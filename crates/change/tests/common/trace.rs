//! Kills a process at one of its system calls.

#![allow(clippy::unwrap_used, clippy::panic)]
#![allow(unreachable_pub, reason = "a module of a test program")]

use std::collections::{BTreeMap, BTreeSet};

/// Which system calls are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// All.
    All,
    /// Those after which anything outside of the process may be different.
    Changing,
}

/// The traced process, and the one to kill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Victim {
    /// The process itself, at one of its own stops. Its children continue.
    Alone,
    /// The process and all that it started, at a stop of something that it started.
    Everything,
    /// Something that the process started, at its own stop. The process runs on.
    Child,
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// There was no such stop.
    Finished(i32),
    /// It was killed.
    Killed,
    /// A child was killed, and the process ended so.
    Survived(i32),
}

const SYSCALL_STOP: i32 = libc::SIGTRAP | 0x80;

/// Runs `job` in a process of its own, and kills at the stop of this number, from 1. Every system call
/// has two stops: one before it, one after it.
pub fn killed_at(stop: usize, count_what: Count, victim: Victim, job: impl FnOnce() -> i32) -> End {
    // SAFETY: the child runs `job`, which is given by tests, and leaves without unwinding into them.
    let main = unsafe { libc::fork() };
    assert!(main >= 0);
    if main == 0 {
        // SAFETY: these take numbers only.
        unsafe {
            libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0);
            libc::raise(libc::SIGSTOP);
        }
        let status = std::panic::catch_unwind(std::panic::AssertUnwindSafe(job)).unwrap_or(101);
        // SAFETY: ends this process.
        unsafe { libc::_exit(status) };
    }
    let follow = if victim == Victim::Alone {
        0
    } else {
        libc::PTRACE_O_TRACEFORK
            | libc::PTRACE_O_TRACEVFORK
            | libc::PTRACE_O_TRACECLONE
            | libc::PTRACE_O_TRACEEXEC
    };
    let mut status = 0;
    let mut count = 0;
    let mut known = BTreeSet::from([main]);
    let mut started = BTreeSet::new();
    let mut end = None;
    let mut struck = false;
    let mut inside = BTreeMap::new();
    // SAFETY: `status` lives, and the rest are numbers.
    unsafe {
        assert_eq!(libc::waitpid(main, &raw mut status, libc::__WALL), main);
        let options = libc::PTRACE_O_EXITKILL | libc::PTRACE_O_TRACESYSGOOD | follow;
        assert_eq!(libc::ptrace(libc::PTRACE_SETOPTIONS, main, 0, options), 0);
        libc::ptrace(libc::PTRACE_SYSCALL, main, 0, 0);
    }
    started.insert(main);
    while !known.is_empty() {
        // SAFETY: as above; only children of this thread, others have their own.
        let pid = unsafe { libc::waitpid(-1, &raw mut status, libc::__WALL | libc::__WNOTHREAD) };
        if pid < 0 {
            break;
        }
        if libc::WIFEXITED(status) || libc::WIFSIGNALED(status) {
            known.remove(&pid);
            if pid == main {
                end = libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status));
            }
            continue;
        }
        known.insert(pid);
        let signal = libc::WSTOPSIG(status);
        let mut deliver = 0;
        if signal == SYSCALL_STOP {
            // The number of the call is known before it only.
            let changing = match inside.remove(&pid) {
                Some(changing) => changing,
                None => {
                    let changing = count_what == Count::All || changes(pid);
                    inside.insert(pid, changing);
                    changing
                }
            };
            if changing && (victim == Victim::Alone || pid != main) {
                count += 1;
                if count == stop {
                    struck = true;
                    let victims = match victim {
                        Victim::Alone => vec![main],
                        Victim::Everything => known.iter().copied().collect(),
                        Victim::Child => vec![pid],
                    };
                    for victim in victims {
                        // SAFETY: numbers only; they are children of this process, and not waited
                        // for yet.
                        unsafe { libc::kill(victim, libc::SIGKILL) };
                    }
                }
            }
        } else if status >> 16 == 0 && !(signal == libc::SIGSTOP && started.insert(pid)) {
            deliver = signal;
        }
        // SAFETY: numbers only; fails where it was killed.
        unsafe { libc::ptrace(libc::PTRACE_SYSCALL, pid, 0, deliver) };
    }
    match (struck, end) {
        (false, Some(status)) => End::Finished(status),
        (true, Some(status)) => End::Survived(status),
        (_, None) => End::Killed,
    }
}

/// Whether the system call that this process is about to make changes anything outside of it. When in
/// doubt it does.
fn changes(pid: i32) -> bool {
    let mut info = std::mem::MaybeUninit::<libc::ptrace_syscall_info>::zeroed();
    let size = size_of::<libc::ptrace_syscall_info>();
    // SAFETY: `info` has room for `size` bytes, and zeros are a valid one.
    let info = unsafe {
        libc::ptrace(libc::PTRACE_GET_SYSCALL_INFO, pid, size, info.as_mut_ptr());
        info.assume_init()
    };
    if info.op != libc::PTRACE_SYSCALL_INFO_ENTRY {
        return true;
    }
    // SAFETY: `op` says that this member was filled.
    let entry = unsafe { info.u.entry };
    let number = i64::try_from(entry.nr).unwrap_or(-1);
    if number == libc::SYS_openat {
        return entry.args[2] & (libc::O_CREAT | libc::O_TRUNC) as u64 != 0;
    }
    ![
        libc::SYS_brk,
        libc::SYS_clock_nanosleep,
        libc::SYS_close,
        libc::SYS_faccessat,
        libc::SYS_faccessat2,
        libc::SYS_fcntl,
        libc::SYS_fgetxattr,
        libc::SYS_flistxattr,
        libc::SYS_fstat,
        libc::SYS_futex,
        libc::SYS_getcwd,
        libc::SYS_getdents64,
        libc::SYS_getpid,
        libc::SYS_getppid,
        libc::SYS_getrandom,
        libc::SYS_ioctl,
        libc::SYS_lgetxattr,
        libc::SYS_llistxattr,
        libc::SYS_lseek,
        libc::SYS_madvise,
        libc::SYS_mmap,
        libc::SYS_mprotect,
        libc::SYS_mremap,
        libc::SYS_munmap,
        libc::SYS_newfstatat,
        libc::SYS_pread64,
        libc::SYS_prlimit64,
        libc::SYS_read,
        libc::SYS_readlinkat,
        libc::SYS_rseq,
        libc::SYS_rt_sigaction,
        libc::SYS_rt_sigprocmask,
        libc::SYS_sched_getaffinity,
        libc::SYS_set_robust_list,
        libc::SYS_set_tid_address,
        libc::SYS_sigaltstack,
        libc::SYS_statx,
        libc::SYS_wait4,
        libc::SYS_waitid,
    ]
    .contains(&number)
}
