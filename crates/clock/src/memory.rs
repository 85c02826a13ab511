//! Memory for our own page: fresh in every child.
//!
//! A child that is forked while another thread writes the page would find it locked for ever; and
//! its time may be another one (`unshare --time`). So the page lies in memory that the kernel clears
//! in a child, whichever way it was made (`MADV_WIPEONFORK`, since 4.14). Where the kernel cannot do
//! that there is no page.

use crate::page::Page;
use crate::view::Raw;
use crate::wiped;
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
    let memory = wiped::map(size_of::<Page>()).ok();
    let made = memory.map_or_else(refused, |memory| memory.as_ptr().cast::<Page>());
    let kept =
        place.compare_exchange(core::ptr::null_mut(), made, Ordering::AcqRel, Ordering::Acquire);
    if let (Err(_), Some(memory)) = (kept, memory) {
        // SAFETY: it was mapped above, and nobody else has seen it.
        unsafe { wiped::unmap(memory, size_of::<Page>()) };
    }
    kept.map_or_else(|others| others, |_| made)
}

/// The page, as a reader of the kernel's form sees it.
pub(crate) fn as_raw(page: &Page) -> Raw {
    // SAFETY: `Page` begins with the kernel's form up to the base of CLOCK_MONOTONIC, in either
    // form, and lies in memory that is never unmapped (or, in tests, outlives its readers).
    unsafe { Raw::new((&raw const *page).cast::<u8>(), page.form()) }
}
