//! Memory for our own page: fresh in every child.
//!
//! A child that is forked while another thread writes the page would find it locked for ever; and
//! its time may be another one (`unshare --time`). So the page lies in memory that the kernel clears
//! in a child, whichever way it was made (`MADV_WIPEONFORK`, since 4.14). Where the kernel cannot do
//! that there is no page.

use crate::page::Page;
use crate::view::Raw;
use core::sync::atomic::{AtomicPtr, Ordering};

/// The page, made at the first call; `None` where it cannot be had.
pub(crate) fn page(place: &AtomicPtr<Page>) -> Option<&'static Page> {
    let there = place.load(Ordering::Acquire);
    if there == refused() {
        return None;
    }
    let there = if there.is_null() { make(place) } else { there };
    // SAFETY: null, or a page that was made below and is never unmapped.
    if there == refused() { None } else { unsafe { there.as_ref() } }
}

/// Stands for: do not try again.
fn refused() -> *mut Page {
    core::ptr::without_provenance_mut(align_of::<Page>())
}

fn make(place: &AtomicPtr<Page>) -> *mut Page {
    let length = size_of::<Page>();
    // SAFETY: asks for new memory at any address.
    let memory = unsafe {
        libc::mmap(
            core::ptr::null_mut(),
            length,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if memory == libc::MAP_FAILED {
        return refused();
    }
    // SAFETY: the memory is ours. Advice does not change what is in it here and now.
    let wiped = unsafe { libc::madvise(memory, length, libc::MADV_WIPEONFORK) } == 0;
    let made = if wiped { memory.cast::<Page>() } else { refused() };
    let kept =
        place.compare_exchange(core::ptr::null_mut(), made, Ordering::AcqRel, Ordering::Acquire);
    if !wiped || kept.is_err() {
        // SAFETY: nobody else has seen this memory.
        unsafe { libc::munmap(memory, length) };
    }
    kept.map_or_else(|others| others, |_| made)
}

/// The page, as a reader of the kernel's form sees it.
pub(crate) fn as_raw(page: &Page) -> Raw {
    // SAFETY: `Page` begins with the kernel's form up to the base of CLOCK_MONOTONIC, in either
    // form, and lies in memory that is never unmapped (or, in tests, outlives its readers).
    unsafe { Raw::new((&raw const *page).cast::<u8>(), page.form()) }
}
