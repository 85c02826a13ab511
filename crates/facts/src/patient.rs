//! Queries about processes whose users can block them.
//!
//! The kernel takes locks of a process to show it: that of its memory map (`mmap_lock`) for the map, the command line and
//! the memory, and that of a change of its program (`exec_update_lock`) for its namespaces, its program, its directories
//! and its counters. A process that waits for a file system which does not respond, while it holds such a lock, blocks
//! each reader until it is killed: `ps` also hangs. So a separate thread makes the query. The thread is left behind if
//! it does not return, and the process is not queried again before it does. `comm` and `status` need no such lock.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// The time limit of each query after the total time is used up; an answer takes microseconds.
const SHORT: Duration = Duration::from_millis(5);
/// The stack size of such a thread, in bytes: its paths and buffers are on the heap.
const STACK: usize = 128 << 10;

static SILENT: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

fn lock() -> MutexGuard<'static, BTreeSet<u32>> {
    SILENT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a process has an open query.
#[must_use]
pub fn is_silent(pid: u32) -> bool {
    lock().contains(&pid)
}

/// The processes with an open query, in order.
#[must_use]
pub fn silent() -> Vec<u32> {
    lock().iter().copied().collect()
}

/// The time for which all queries together may wait for processes that do not answer.
#[derive(Debug)]
pub struct Patience {
    left_ms: AtomicU64,
}

impl Patience {
    /// A limit of `all_ms` milliseconds, plus five for each query.
    #[must_use]
    pub const fn new(all_ms: u64) -> Self {
        Self { left_ms: AtomicU64::new(all_ms) }
    }

    /// Makes one query; `None` if it, or an earlier one of this process, was not answered in time.
    pub fn one<T: Send + 'static>(
        &self,
        pid: u32,
        ask: impl Fn() -> T + Send + Sync + 'static,
    ) -> Option<T> {
        self.each(vec![pid], move |_| ask()).pop()?
    }

    /// Makes the same query about each of these processes, in their order. One thread makes the queries, and another
    /// one continues after a process that does not answer.
    pub fn each<T: Send + 'static>(
        &self,
        pids: Vec<u32>,
        ask: impl Fn(u32) -> T + Send + Sync + 'static,
    ) -> Vec<Option<T>> {
        let (pids, ask) = (Arc::new(pids), Arc::new(ask));
        let mut answers = Vec::new();
        while answers.len() < pids.len() {
            let (sender, receiver) = mpsc::channel();
            let (all, ask, from) = (Arc::clone(&pids), Arc::clone(&ask), answers.len());
            let work = move || {
                for pid in all.iter().skip(from) {
                    let answer = if is_silent(*pid) { None } else { Some(ask(*pid)) };
                    let mut silent = lock();
                    if sender.send(answer).is_err() {
                        silent.remove(pid);
                        break;
                    }
                }
            };
            if thread::Builder::new().stack_size(STACK).spawn(work).is_err() {
                answers.resize_with(pids.len(), || None);
            }
            while let Some(pid) = pids.get(answers.len()) {
                let begun = Instant::now();
                if let Ok(answer) = receiver.recv_timeout(self.left()) {
                    answers.push(answer);
                    continue;
                }
                self.spend(begun.elapsed());
                // The thread answers with this lock held, so that it finds the receiver or its process in the list.
                let mut silent = lock();
                match receiver.try_recv() {
                    Ok(answer) => answers.push(answer),
                    Err(_) => {
                        silent.insert(*pid);
                        answers.push(None);
                        drop(receiver);
                        break;
                    }
                }
            }
        }
        answers
    }

    /// The time limit of the next query.
    pub(crate) fn left(&self) -> Duration {
        SHORT + Duration::from_millis(self.left_ms.load(Ordering::Relaxed))
    }

    pub(crate) fn spend(&self, spent: Duration) {
        let spent = spent.as_millis() as u64;
        let less = |left: u64| Some(left.saturating_sub(spent));
        let _ = self.left_ms.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_that_do_not_answer_are_left_out_and_asked_again_once_they_did() {
        let gate = Arc::new(Mutex::new(()));
        let held = gate.lock().unwrap();
        // No process has such an id.
        let (first, last) = (u32::MAX - 9, u32::MAX - 5);
        let asked = Arc::clone(&gate);
        let question = move |pid| {
            if pid % 2 == 0 {
                drop(asked.lock());
            }
            pid
        };
        let patience = Patience::new(50);
        let begun = Instant::now();
        let answers = patience.each((first..=last).collect(), question.clone());
        // A busy machine may answer late for the other processes.
        for (pid, answer) in (first..=last).zip(answers) {
            assert!(answer.is_none_or(|answer| answer == pid && pid % 2 == 1), "{pid}");
        }
        // Or it may not have asked one yet, which is then asked the next time.
        while !(first..=last).filter(|pid| pid % 2 == 0).all(is_silent) {
            assert!(begun.elapsed() < Duration::from_secs(20));
            patience.each((first..=last).collect(), question.clone());
        }
        let patient = Patience::new(20_000);
        let again = patient.each(vec![first, first + 1, first + 2], question.clone());
        assert_eq!((again.first(), again.last()), (Some(&None), Some(&None)));
        assert!(begun.elapsed() < Duration::from_secs(40));
        drop(held);
        let all = || patience.each((first..=last).collect(), question.clone());
        while all().iter().any(Option::is_none) {
            assert!(begun.elapsed() < Duration::from_secs(60));
            thread::sleep(Duration::from_millis(1));
        }
        assert!(silent().iter().all(|pid| *pid < first));
    }
}
