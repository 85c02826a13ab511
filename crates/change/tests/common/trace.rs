//! Kills a process at one of its system calls.

#![allow(clippy::unwrap_used, clippy::panic)]
#![allow(unreachable_pub, reason = "a module of a test program")]

use std::collections::BTreeSet;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

/// Which system calls are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// The stop before each call. The stop after it is not counted: until the next call the process does nothing that
    /// another one can see, so that this is the stop before the next call.
    All,
    /// The stops before and after those calls that may change anything outside of the process.
    Changing,
}

/// The traced process, and the one to kill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Victim {
    /// The process itself, at one of its stops. Its children continue.
    Alone,
    /// The process and all that it started, at a stop of something that it started.
    Everything,
    /// Something that the process started, at its own stop. The process runs on.
    Child,
}

/// The outcome.
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
const FILTER_STOP: i32 = libc::SIGTRAP | libc::PTRACE_EVENT_SECCOMP << 8;

/// Runs `job` in a separate process, and kills it at the stop with this number, counted from 1. Returns when that
/// process has ended. Processes that it started may continue; the thread ends after them.
pub fn killed_at(
    stop: usize,
    count_what: Count,
    victim: Victim,
    job: impl FnOnce() -> i32 + Send + 'static,
) -> (End, JoinHandle<()>) {
    let (send, receive) = channel();
    // A thread, because only the tracer can wait for its tracees.
    let tracer = std::thread::spawn(move || trace(stop, count_what, victim, job, &send));
    (receive.recv().unwrap(), tracer)
}

fn trace(
    stop: usize,
    count_what: Count,
    victim: Victim,
    job: impl FnOnce() -> i32,
    ended: &Sender<End>,
) {
    stay_on_this_processor();
    // SAFETY: the child runs `job`, which is given by tests, and leaves without unwinding into them.
    let main = unsafe { libc::fork() };
    assert!(main >= 0);
    if main == 0 {
        // SAFETY: these take numbers only.
        unsafe {
            libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0);
            libc::raise(libc::SIGSTOP);
        }
        stop_before(count_what);
        let status = std::panic::catch_unwind(std::panic::AssertUnwindSafe(job)).unwrap_or(101);
        // SAFETY: ends this process.
        unsafe { libc::_exit(status) };
    }
    let mut status = 0;
    let mut count = 0;
    let mut known = BTreeSet::from([main]);
    let mut started = BTreeSet::new();
    let mut struck = false;
    // Those between the stop before a call that is counted and the stop after it.
    let mut inside = BTreeSet::new();
    // SAFETY: `status` lives, and the rest are numbers.
    unsafe {
        assert_eq!(libc::waitpid(main, &raw mut status, libc::__WALL), main);
        let options = libc::PTRACE_O_EXITKILL
            | libc::PTRACE_O_TRACESYSGOOD
            | libc::PTRACE_O_TRACESECCOMP
            | libc::PTRACE_O_TRACEFORK
            | libc::PTRACE_O_TRACEVFORK
            | libc::PTRACE_O_TRACECLONE
            | libc::PTRACE_O_TRACEEXEC;
        assert_eq!(libc::ptrace(libc::PTRACE_SETOPTIONS, main, 0, options), 0);
        // To the next stop of the filter.
        libc::ptrace(libc::PTRACE_CONT, main, 0, 0);
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
                let status = libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status));
                let end = match (struck, status) {
                    (false, Some(status)) => End::Finished(status),
                    (true, Some(status)) => End::Survived(status),
                    (_, None) => End::Killed,
                };
                ended.send(end).unwrap();
            }
            continue;
        }
        known.insert(pid);
        let signal = libc::WSTOPSIG(status);
        let mut deliver = 0;
        let stopped = signal == SYSCALL_STOP || status >> 8 == FILTER_STOP;
        if stopped {
            // The stop after a call is requested where the call is counted.
            if !inside.remove(&pid) && count_what == Count::Changing {
                inside.insert(pid);
            }
            if (victim == Victim::Alone) == (pid == main) {
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
        let next = if inside.contains(&pid) { libc::PTRACE_SYSCALL } else { libc::PTRACE_CONT };
        // SAFETY: numbers only; fails where it was killed.
        unsafe { libc::ptrace(next, pid, 0, deliver) };
    }
}

/// Keeps this thread, and all that it starts, on the processor that it is on: a stop costs two switches of processes,
/// which take several times as long from one processor to another.
fn stay_on_this_processor() {
    // SAFETY: `set` lives through the calls, and the rest are numbers. A thread that may move is only slower.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(usize::try_from(libc::sched_getcpu()).unwrap_or(0), &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set);
    }
}

/// Lets this process, and all that it starts, stop before all system calls, or only before those that may change
/// something outside of it: when in doubt a call does, and of ten calls nine only look.
fn stop_before(count_what: Count) {
    let mut filter = match count_what {
        Count::All => vec![end(libc::SECCOMP_RET_TRACE)],
        Count::Changing => changing(),
    };
    let program =
        libc::sock_fprog { len: u16::try_from(filter.len()).unwrap(), filter: filter.as_mut_ptr() };
    // SAFETY: `program` and the filter in it live through the call, which copies them.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        let mode = libc::SECCOMP_MODE_FILTER;
        assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program), 0);
    }
}

/// The filter that lets the calls in `LOOKING`, and those that open a file without creating or emptying it, pass.
fn changing() -> Vec<libc::sock_filter> {
    let load = |offset| jump(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset, 0, 0);
    let number = |call: i64| u32::try_from(call).unwrap();
    // `struct seccomp_data`: the number of the call at 0, the low half of its third argument at 32.
    let mut filter = vec![load(0)];
    let looks = u8::try_from(LOOKING.len()).unwrap();
    let equal = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    filter.push(jump(equal, number(libc::SYS_openat), looks + 1, 0));
    for (index, call) in (0..).zip(LOOKING) {
        filter.push(jump(equal, number(call), looks - index + 2, 0));
    }
    filter.push(end(libc::SECCOMP_RET_TRACE));
    filter.push(load(32));
    let any = libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K;
    filter.push(jump(any, (libc::O_CREAT | libc::O_TRUNC).cast_unsigned(), 1, 0));
    filter.push(end(libc::SECCOMP_RET_ALLOW));
    filter.push(end(libc::SECCOMP_RET_TRACE));
    filter
}

fn end(action: u32) -> libc::sock_filter {
    jump(libc::BPF_RET | libc::BPF_K, action, 0, 0)
}

fn jump(code: u32, k: u32, jt: u8, jf: u8) -> libc::sock_filter {
    libc::sock_filter { code: u16::try_from(code).unwrap(), jt, jf, k }
}

/// System calls that change nothing outside of their process.
const LOOKING: [i64; 39] = [
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
];
