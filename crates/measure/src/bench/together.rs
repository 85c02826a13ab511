//! Threads that begin together, or not at all.

use std::io;
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::Builder;

/// A barrier for the start of threads.
pub(super) struct Start {
    threads: usize,
    /// How many have arrived, and whether the start is called off.
    state: Mutex<(usize, bool)>,
    changed: Condvar,
}

impl Start {
    /// Waits for all others; returns whether all of them started.
    pub(super) fn wait(&self) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.0 += 1;
        self.changed.notify_all();
        while state.0 < self.threads && !state.1 {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        !state.1
    }

    fn call_off(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).1 = true;
        self.changed.notify_all();
    }
}

/// Runs `work` in this many threads, each with its number. Each must call [`Start::wait`], and end if that returns
/// false.
///
/// # Errors
/// Returns an error if not all threads could be started.
pub(super) fn run<R: Send>(
    threads: usize,
    work: impl Fn(usize, &Start) -> R + Sync,
) -> io::Result<Vec<R>> {
    run_by(threads, work, Builder::new)
}

fn run_by<R: Send>(
    threads: usize,
    work: impl Fn(usize, &Start) -> R + Sync,
    builder: impl Fn() -> Builder,
) -> io::Result<Vec<R>> {
    let start = Start { threads, state: Mutex::default(), changed: Condvar::new() };
    std::thread::scope(|scope| {
        let (work, start) = (&work, &start);
        let mut started = Vec::new();
        for thread in 0..threads {
            match builder().spawn_scoped(scope, move || work(thread, start)) {
                Ok(one) => started.push(one),
                Err(error) => {
                    start.call_off();
                    return Err(error);
                }
            }
        }
        Ok(started.into_iter().filter_map(|thread| thread.join().ok()).collect())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn threads_that_cannot_all_be_started_end() {
        assert_eq!(run(3, |thread, start| (thread, start.wait())).unwrap().len(), 3);
        // The third one's stack is more than there are addresses.
        let (made, begun) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let builder = || match made.fetch_add(1, Ordering::Relaxed) {
            2 => Builder::new().stack_size(1 << 60),
            _ => Builder::new(),
        };
        let work = |_: usize, start: &Start| {
            begun.fetch_add(usize::from(start.wait()), Ordering::Relaxed);
        };
        assert!(run_by(3, work, builder).is_err());
        assert_eq!(begun.load(Ordering::Relaxed), 0);
    }
}
