//! Questions about a process that its user can leave unanswered.
//!
//! The kernel takes the lock of a process's memory map (`mmap_lock`) to show the map, the command line and the memory.
//! A thread of the process that waits for a page with that lock held, while another one wants to change the map, makes
//! each reader wait until it is killed: `ps` hangs, too. So the map and the command line are read by a thread of their own
//! that is left behind when it does not come back, and a process that did not answer once is not asked again. Memory is
//! read too often for that: how long the present question takes is public instead ([`unanswered`]), so that the
//! program can end.

use super::guard;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// How long all processes together may take beyond [`SHORT`].
const ALL: Duration = Duration::from_secs(2);
/// What each one may take even so; an answer takes microseconds.
const SHORT: Duration = Duration::from_millis(5);
/// A reader has a path and a buffer on the heap.
const STACK: usize = 128 << 10;

/// Milliseconds that are left of [`ALL`].
struct Left(AtomicU64);

static LEFT: Left = Left(AtomicU64::new(ALL.as_millis() as u64));
static SILENT: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// A text of the kernel about a process, `/proc/PID/FILE`, of at most this number of bytes; `None` if there is none, or
/// not in time.
pub(super) fn text(pid: u32, file: &str, most: u64) -> Option<String> {
    if is_silent(pid) {
        return None;
    }
    let path = format!("/proc/{pid}/{file}");
    match LEFT.within(move || guard::text(&path, most)) {
        Some(text) => text,
        None => {
            silent().insert(pid);
            None
        }
    }
}

/// Whether a process did not answer.
pub(super) fn is_silent(pid: u32) -> bool {
    silent().contains(&pid)
}

/// What is not known for processes that did not answer, if there is one.
#[must_use]
pub fn gap() -> Option<String> {
    let silent = silent();
    let first: Vec<String> = silent.iter().take(3).map(u32::to_string).collect();
    let more = silent.len().saturating_sub(first.len());
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    (!first.is_empty()).then(|| {
        format!(
            "left out: process {}{more}, because the kernel did not show its memory map within {} s: a thread of it \
             holds the lock of the map, as it can if it waits for a file system that does not answer",
            first.join(", "),
            ALL.as_secs()
        )
    })
}

fn silent() -> std::sync::MutexGuard<'static, BTreeSet<u32>> {
    SILENT.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Left {
    /// Does something in a thread; `None`: not in time. The thread is left behind then, and ends with the program.
    fn within<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let (sender, receiver) = mpsc::sync_channel(1);
        let begun = Instant::now();
        let reader = move || drop(sender.send(work()));
        thread::Builder::new().stack_size(STACK).spawn(reader).ok()?;
        let patience = SHORT + Duration::from_millis(self.0.load(Ordering::Relaxed));
        let answer = receiver.recv_timeout(patience).ok();
        if answer.is_none() {
            let spent = begun.elapsed().as_millis() as u64;
            let less = |left: u64| Some(left.saturating_sub(spent));
            let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        }
        answer
    }
}

static START: LazyLock<Instant> = LazyLock::new(Instant::now);
/// The present question: the process, and the milliseconds from [`START`] to its beginning; 0: none.
static PRESENT: AtomicU64 = AtomicU64::new(0);

/// Asks a question that may not be answered, and says so meanwhile. One thread asks at a time.
pub(super) fn ask<T>(pid: u32, question: impl FnOnce() -> T) -> T {
    let since = START.elapsed().as_millis() as u64 & u64::from(u32::MAX);
    PRESENT.store(u64::from(pid) << 32 | since, Ordering::Relaxed);
    let answer = question();
    PRESENT.store(0, Ordering::Relaxed);
    answer
}

/// The process of the present question, and how long it has not been answered.
#[must_use]
pub fn unanswered() -> Option<(u32, Duration)> {
    let present = PRESENT.load(Ordering::Relaxed);
    let pid = u32::try_from(present >> 32).ok().filter(|pid| *pid != 0)?;
    let now = START.elapsed().as_millis() as u64;
    let since = present & u64::from(u32::MAX);
    // After 49 days the number begins anew.
    Some((pid, Duration::from_millis(now.wrapping_sub(since) & u64::from(u32::MAX))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_a_process_that_answers() {
        let own = std::process::id();
        assert!(text(own, "maps", 1 << 20).is_some_and(|maps| maps.contains("[stack]")));
        assert_eq!(text(own, "nonsense", 1 << 20), None);
        assert!(!is_silent(own));
    }

    #[test]
    fn within_many_that_do_not_answer_take_little_more_than_one() {
        let left = Left(AtomicU64::new(300));
        let begun = Instant::now();
        for _ in 0..200 {
            assert_eq!(left.within(|| thread::sleep(Duration::from_secs(60))), None);
        }
        assert!(begun.elapsed() < Duration::from_secs(30));
        let left = Left(AtomicU64::new(60_000));
        assert_eq!(left.within(|| 7), Some(7));
    }

    #[test]
    fn unanswered_is_the_present_question() {
        ask(42, || {
            thread::sleep(Duration::from_millis(20));
            let (pid, time) = unanswered().unwrap();
            assert_eq!(pid, 42);
            assert!(time >= Duration::from_millis(15) && time < Duration::from_secs(60));
        });
        assert_eq!(unanswered(), None);
    }
}
