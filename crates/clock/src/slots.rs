//! The two words of a cached clock, and memory for them that is zeroed in every child.
//!
//! A forked child has a copy of its parent's memory, but not of the thread that kept the words up
//! to date. So, while there is such a thread, the words are in memory that the kernel clears in a child,
//! however the child is created (`MADV_WIPEONFORK`, since 4.14): the child finds zeros there.

#[cfg(feature = "std")]
use core::sync::atomic::AtomicU32;
use core::sync::atomic::{AtomicU64, Ordering};
#[cfg(feature = "std")]
use std::io;

/// Times. Zero bytes are slots that have not been filled.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Slots {
    /// `CLOCK_MONOTONIC` in nanoseconds, or 0: no updater keeps it up to date.
    pub(crate) monotonic: AtomicU64,
    /// `CLOCK_REALTIME`, likewise.
    pub(crate) realtime: AtomicU64,
    /// How many threads keep them up to date.
    #[cfg(feature = "std")]
    pub(crate) keepers: AtomicU32,
}

impl Slots {
    pub(crate) const fn new() -> Self {
        Self {
            monotonic: AtomicU64::new(0),
            realtime: AtomicU64::new(0),
            #[cfg(feature = "std")]
            keepers: AtomicU32::new(0),
        }
    }

    /// Fills the slots. Each is one word, so no reader sees a partly written one. The monotonic
    /// time never decreases, even if another thread, or a signal handler that interrupted this one,
    /// fills the slots at the same time.
    pub(crate) fn fill(&self, monotonic: u64, realtime: u64) {
        let mut there = self.monotonic.load(Ordering::Relaxed);
        if there < monotonic {
            // A thread that sees it, and fences, sees what this thread has filled before.
            there = self.monotonic.fetch_max(monotonic, Ordering::Release);
        }
        if there <= monotonic {
            self.realtime.store(realtime, Ordering::Relaxed);
        }
    }

    /// Empties the slots: no updater keeps them up to date from now on.
    #[cfg(feature = "std")]
    pub(crate) fn empty(&self) {
        self.monotonic.store(0, Ordering::Relaxed);
        self.realtime.store(0, Ordering::Relaxed);
    }
}

/// New slots, which are never freed.
///
/// # Errors
///
/// Returns an error if no memory is available, or if the kernel cannot clear it in a child.
#[cfg(all(feature = "std", target_os = "linux"))]
pub(crate) fn wiped_on_fork() -> io::Result<&'static Slots> {
    let memory = crate::wiped::map(size_of::<Slots>()).map_err(io::Error::from_raw_os_error)?;
    // SAFETY: a page is aligned for it, zeros are valid, and it is never unmapped.
    Ok(unsafe { &*memory.as_ptr().cast::<Slots>() })
}

/// New slots, which are never freed. Systems other than Linux cannot clear them in a child.
///
/// # Errors
///
/// Never returns an error.
#[cfg(all(feature = "std", not(target_os = "linux")))]
pub(crate) fn wiped_on_fork() -> io::Result<&'static Slots> {
    Ok(Box::leak(Box::new(Slots::new())))
}
