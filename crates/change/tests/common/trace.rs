//! Kills a process at one of its system calls.

use std::collections::BTreeSet;

/// Who is traced, and who is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Victim {
    /// The process itself, at one of its own stops. What it started runs on.
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
pub fn killed_at(stop: usize, victim: Victim, job: impl FnOnce() -> i32) -> End {
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
        libc::PTRACE_O_TRACEFORK | libc::PTRACE_O_TRACEVFORK | libc::PTRACE_O_TRACECLONE
    };
    let mut status = 0;
    let mut count = 0;
    let mut known = BTreeSet::from([main]);
    let mut started = BTreeSet::new();
    let mut end = None;
    let mut struck = false;
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
            if victim == Victim::Alone || pid != main {
                count += 1;
                if count == stop {
                    struck = true;
                    let victims = match victim {
                        Victim::Alone => vec![main],
                        Victim::Everything => known.iter().copied().collect(),
                        Victim::Child => vec![pid],
                    };
                    for victim in victims {
                        // SAFETY: numbers only; they are children of ours, and not waited for yet.
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
