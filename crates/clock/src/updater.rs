//! The thread that keeps a cached clock up to date.

use crate::cached::CachedClock;
use crate::slots::Slots;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::io;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

/// Keeps a [`CachedClock`] up to date by a separate thread, until it is dropped.
#[derive(Debug)]
pub struct Updater {
    thread: Option<JoinHandle<()>>,
    stop: Arc<AtomicBool>,
    slots: &'static Slots,
    process: u32,
}

impl Updater {
    pub(crate) fn spawn(
        clock: &'static CachedClock,
        interval: Duration,
        update: Box<dyn Fn() + Send>,
    ) -> io::Result<Self> {
        let slots = clock.kept()?;
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stop);
        // From here on dropping it reverts the changes made so far.
        let mut updater = Self { thread: None, stop, slots, process: std::process::id() };
        slots.keepers.fetch_add(1, Ordering::AcqRel);
        update();
        let work = move || {
            while !seen.load(Ordering::Acquire) {
                std::thread::park_timeout(interval);
                update();
            }
        };
        let thread = Builder::new().name("cached-clock".into()).spawn(work)?;
        updater.thread = Some(thread);
        Ok(updater)
    }

    /// Whether this is a child of the process that has the thread.
    fn is_copy(&self) -> bool {
        // The number of keepers is cleared in a child; but a child may have got new ones, and some
        // systems clear nothing.
        self.slots.keepers.load(Ordering::Acquire) == 0 || self.process != std::process::id()
    }
}

impl Drop for Updater {
    /// Stops the thread, and waits until it has ended: a few microseconds. In a forked child, where
    /// there is no such thread, nothing happens.
    fn drop(&mut self) {
        if self.is_copy() {
            // Waiting for the thread would never end, and this process does not have that thread.
            core::mem::forget(self.thread.take());
            return;
        }
        self.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // It cannot have panicked: it does arithmetic.
            let _ = thread.join();
        }
        if self.slots.keepers.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.slots.empty();
        }
    }
}
