//! Queries about processes that a child process makes.
//!
//! A user can make even a read of the name of their process block so that no signal ends it: one thread lists its
//! directory of `/proc` into memory of a file system that does not respond, and another thread waits to create a file
//! there (`iterate_dir()`, `open_last_lookups()`: the lock of the directory). A program with such a blocked thread
//! cannot end. A child can be left behind: it ends when the kernel unblocks it, and until then its process is not
//! queried again.

use crate::patient::Patience;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::{PipeFlags, pipe_with};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

/// The length that marks a process that was not queried.
const NOT_ASKED: u32 = u32::MAX;
/// Maximum size of one answer, in bytes.
const ANSWER: u32 = 1 << 20;

/// The children that were left behind, by the process that did not answer them.
static LEFT: Mutex<BTreeMap<u32, i32>> = Mutex::new(BTreeMap::new());

/// The time within which any thread releases that list.
const HELD: Duration = Duration::from_secs(1);

/// Locks that list. `None` in a child that was forked while another thread held the lock, which then stays locked: such a
/// child has left no children behind.
fn left() -> Option<MutexGuard<'static, BTreeMap<u32, i32>>> {
    let begun = Instant::now();
    let mut left = loop {
        match LEFT.try_lock() {
            Ok(left) => break left,
            Err(TryLockError::Poisoned(left)) => break left.into_inner(),
            Err(TryLockError::WouldBlock) if begun.elapsed() > HELD => return None,
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_micros(100)),
        }
    };
    left.retain(|_, child| {
        // SAFETY: a child of this process, which is waited for only here; nothing is written.
        unsafe { libc::waitpid(*child, std::ptr::null_mut(), libc::WNOHANG) == 0 }
    });
    Some(left)
}

/// The processes with an open query, in order.
#[must_use]
pub fn silent() -> Vec<u32> {
    left().map(|left| left.keys().copied().collect()).unwrap_or_default()
}

/// Makes the same query about each of these processes, in the given order. The result is `None` for a process that did
/// not answer in time, or for which an earlier query is still open. `ask` runs in a child, so it must not take a lock
/// that another thread of this program may hold, and must not print.
pub fn each(
    patience: &Patience,
    pids: &[u32],
    ask: impl Fn(u32) -> Vec<u8>,
) -> Vec<Option<Vec<u8>>> {
    let mut answers = Vec::new();
    while let Some(rest) = pids.get(answers.len()..).filter(|rest| !rest.is_empty()) {
        let silent: Vec<u32> = silent();
        let Some((child, mut pipe)) = start(rest, &silent, &ask) else {
            answers.resize(pids.len(), None);
            break;
        };
        let mut ended = true;
        for pid in rest {
            let begun = Instant::now();
            match answer(&mut pipe, begun + patience.left()) {
                Some(answer) => answers.push(answer),
                None => {
                    answers.push(None);
                    patience.spend(begun.elapsed());
                    ended = !stop(child, *pid);
                    break;
                }
            }
        }
        if ended {
            stop(child, 0);
        }
    }
    answers
}

/// Starts a child that answers for these processes, and returns the pipe of its answers.
fn start(pids: &[u32], silent: &[u32], ask: &impl Fn(u32) -> Vec<u8>) -> Option<(i32, File)> {
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).ok()?;
    // SAFETY: the child reads files and writes into the pipe, and ends by _exit; the C library keeps its own memory
    // usable in a child.
    match unsafe { libc::fork() } {
        -1 => None,
        0 => {
            drop(reader);
            let keep = writer.as_raw_fd();
            let mut out = File::from(writer);
            // A reader of this program's output must not wait for the child.
            close_others(keep);
            for pid in pids {
                if silent.contains(pid) {
                    let _ = out.write_all(&NOT_ASKED.to_le_bytes());
                    continue;
                }
                let mut answer = ask(*pid);
                answer.truncate(ANSWER as usize);
                let mut frame = (answer.len() as u32).to_le_bytes().to_vec();
                frame.append(&mut answer);
                if out.write_all(&frame).is_err() {
                    break;
                }
            }
            // SAFETY: ends the child without running the parent's exit handlers.
            unsafe { libc::_exit(0) }
        }
        child => Some((child, File::from(reader))),
    }
}

/// In the child: closes all descriptors but one.
fn close_others(keep: i32) {
    let keep = keep.cast_unsigned();
    let close = |first: u32, last: u32| {
        // SAFETY: a system call on numbers; this child uses no other descriptor.
        unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) == 0 }
    };
    // Linux 5.9 and later.
    if (keep == 0 || close(0, keep - 1)) && close(keep + 1, u32::MAX) {
        return;
    }
    for fd in (0..1024).filter(|fd| *fd != keep) {
        // SAFETY: as above.
        unsafe { libc::close(fd.cast_signed()) };
    }
}

/// The next answer; `None`: not in time, or the child has ended.
fn answer(pipe: &mut File, until: Instant) -> Option<Option<Vec<u8>>> {
    let mut head = [0; 4];
    take(pipe, &mut head, until)?;
    match u32::from_le_bytes(head) {
        NOT_ASKED => Some(None),
        length if length > ANSWER => None,
        length => {
            let mut bytes = vec![0; length as usize];
            take(pipe, &mut bytes, until)?;
            Some(Some(bytes))
        }
    }
}

fn take(pipe: &mut File, mut to: &mut [u8], until: Instant) -> Option<()> {
    while !to.is_empty() {
        let left = until.saturating_duration_since(Instant::now());
        let timeout = Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: left.subsec_nanos().into(),
        };
        match poll(&mut [PollFd::new(pipe, PollFlags::IN)], Some(&timeout)) {
            Ok(0) => return None,
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return None,
        }
        match pipe.read(to) {
            Ok(0) => return None,
            Ok(count) => to = to.get_mut(count..)?,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
    Some(())
}

/// The time within which a child that is not blocked ends.
const END: Duration = Duration::from_millis(20);

/// Ends a child, and waits for its end if the kernel permits it; otherwise the child is left behind for this process.
/// Returns whether it was left behind.
fn stop(child: i32, pid: u32) -> bool {
    // SAFETY: the child was not waited for, so its process id is still its own.
    unsafe { libc::kill(child, libc::SIGKILL) };
    let begun = Instant::now();
    loop {
        // SAFETY: as in `left`.
        if unsafe { libc::waitpid(child, std::ptr::null_mut(), libc::WNOHANG) } != 0 {
            return false;
        }
        if begun.elapsed() > END && pid != 0 {
            left().map(|mut left| left.insert(pid, child));
            return true;
        }
        std::thread::sleep(Duration::from_micros(100));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn child_of_a_process_whose_lock_was_held_still_answers() {
        let held = left();
        // SAFETY: the child queries one process and ends by _exit.
        let child = match unsafe { libc::fork() } {
            0 => {
                let answers = each(&Patience::new(5_000), &[1], |_| vec![7]);
                // SAFETY: ends the child without running the exit handlers of the tests.
                unsafe { libc::_exit(i32::from(answers != [Some(vec![7])])) }
            }
            child => child,
        };
        drop(held);
        let mut status = -1;
        // SAFETY: waits for the child that was started above.
        unsafe { libc::waitpid(child, &raw mut status, 0) };
        assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0, "{status}");
    }

    #[test]
    fn processes_that_do_not_answer_are_left_out() {
        // No process has such an id.
        let (first, last) = (u32::MAX - 9, u32::MAX - 5);
        let pids: Vec<u32> = (first..=last).collect();
        let ask = |pid: u32| {
            if pid.is_multiple_of(2) {
                std::thread::sleep(Duration::from_secs(600));
            }
            pid.to_le_bytes().to_vec()
        };
        let begun = Instant::now();
        let answers = each(&Patience::new(300), &pids, ask);
        assert_eq!(answers.len(), pids.len());
        assert!(begun.elapsed() < Duration::from_secs(60));
        for (pid, answer) in pids.iter().zip(answers) {
            // A busy machine may answer late for the other processes.
            assert!(answer.is_none_or(|bytes| pid % 2 == 1 && bytes == pid.to_le_bytes()), "{pid}");
        }
        let long = vec![7; 300_000];
        let odd: Vec<u32> = pids.iter().copied().filter(|pid| pid % 2 == 1).collect();
        let answers = each(&Patience::new(60_000), &odd, |_| long.clone());
        assert!(answers.iter().all(|answer| answer.as_ref() == Some(&long)));
        // A child that ended by a signal is not left behind.
        assert!(silent().iter().all(|pid| *pid < first));
    }

    #[test]
    fn child_that_ends_answers_no_more() {
        let answers = each(&Patience::new(60_000), &[1, 2], |_| {
            // SAFETY: ends the child.
            unsafe { libc::_exit(3) }
        });
        assert_eq!(answers, [None, None]);
    }
}
