//! Questions about a process that its user can leave unanswered ([`clocksmith_facts::patient`]).
//!
//! A separate thread, which can be left behind, makes each query that is made once per process. Memory is read too
//! often for that: [`unanswered`] publishes how long the present read has taken instead, so that the program can end.

use super::guard;
use clocksmith_facts::apart;
use clocksmith_facts::patient::{self, Patience};
use std::path::PathBuf;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Milliseconds that all processes together may take beyond the usual time.
const ALL_MS: u64 = 2_000;

static PATIENCE: Patience = Patience::new(ALL_MS);

/// A text of the kernel about a process, `/proc/PID/FILE`, of at most this number of bytes; `None` if there is none, or
/// not in time.
pub(super) fn text(pid: u32, file: &str, most: u64) -> Option<String> {
    let path = format!("/proc/{pid}/{file}");
    PATIENCE.one(pid, move || guard::text(&path, most))?
}

/// Returns the target of a link of `/proc/PID`; `None` if there is none, or not in time.
pub(super) fn link(pid: u32, file: &str) -> Option<PathBuf> {
    let path = format!("/proc/{pid}/{file}");
    PATIENCE.one(pid, move || std::fs::read_link(&path).ok())?
}

/// Asks the same question about each of these processes, in their order, in a child.
pub(super) fn each(pids: &[u32], ask: impl Fn(u32) -> Vec<u8>) -> Vec<Option<Vec<u8>>> {
    apart::each(&PATIENCE, pids, ask)
}

/// Returns whether the kernel shows all of a process: tested once, by a child, since some waits in `/proc` have no end,
/// not even by a signal.
pub(crate) fn shows(pid: u32) -> bool {
    let look = |pid: u32| {
        let at = |file: &str| format!("/proc/{pid}/{file}");
        for file in ["comm", "status", "maps", "cmdline", "stat", "uid_map", "mountinfo"] {
            let _ = guard::text(&at(file), 1);
        }
        for link in ["exe", "cwd", "root", "ns/user"] {
            let _ = std::fs::read_link(at(link));
        }
        for directory in ["task", "map_files"] {
            let first = std::fs::read_dir(at(directory)).ok().and_then(|mut all| all.next());
            let _ = first.map(|entry| entry.map(|entry| entry.metadata()));
        }
        let _ = std::fs::File::open(at("mem"));
        Vec::new()
    };
    each(&[pid], look).pop().flatten().is_some()
}

/// Returns a message about the processes that did not answer, if there are any.
#[must_use]
pub fn gap() -> Option<String> {
    let mut silent = patient::silent();
    silent.extend(apart::silent());
    silent.sort_unstable();
    silent.dedup();
    let first: Vec<String> = silent.iter().take(3).map(u32::to_string).collect();
    let more = silent.len().saturating_sub(first.len());
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    (!first.is_empty()).then(|| {
        format!(
            "left out: process {}{more}, because the kernel did not show it within {} s: a thread of it holds the lock of \
             its memory map or of its program, as it can if it waits for a file system that does not answer",
            first.join(", "),
            ALL_MS / 1000
        )
    })
}

static START: LazyLock<Instant> = LazyLock::new(Instant::now);
/// The present question: the process, and the milliseconds from [`START`] to its beginning; 0: none.
static PRESENT: AtomicU64 = AtomicU64::new(0);

/// Asks a question that may not be answered, and publishes its start meanwhile. One thread asks at a time.
pub(crate) fn ask<T>(pid: u32, question: impl FnOnce() -> T) -> T {
    let since = START.elapsed().as_millis() as u64 & u64::from(u32::MAX);
    PRESENT.store(u64::from(pid) << 32 | since, Ordering::Relaxed);
    let answer = question();
    PRESENT.store(0, Ordering::Relaxed);
    answer
}

/// Returns the process of the present question, and how long it has not been answered.
#[must_use]
pub fn unanswered() -> Option<(u32, Duration)> {
    let present = PRESENT.load(Ordering::Relaxed);
    let pid = u32::try_from(present >> 32).ok().filter(|pid| *pid != 0)?;
    let now = START.elapsed().as_millis() as u64;
    let since = present & u64::from(u32::MAX);
    // The number wraps after 49 days.
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
        assert!(link(own, "exe").is_some());
    }

    #[test]
    fn unanswered_is_the_present_question() {
        ask(42, || {
            std::thread::sleep(Duration::from_millis(20));
            let (pid, time) = unanswered().unwrap();
            assert_eq!(pid, 42);
            assert!(time >= Duration::from_millis(15) && time < Duration::from_secs(60));
        });
        assert_eq!(unanswered(), None);
    }
}
