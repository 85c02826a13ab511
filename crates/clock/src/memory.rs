//! Memory for the library's own page: fresh in every child.
//!
//! A child that is forked while another thread writes the page would find it locked for ever; and
//! its time may differ (`unshare --time`). So the page is in memory that the kernel clears in a
//! child, however the child is created (`MADV_WIPEONFORK`, since 4.14). If the kernel cannot do
//! that there is no page.

use crate::page::Page;
use crate::view::Raw;
use crate::wiped;
use core::sync::atomic::{AtomicPtr, Ordering};

/// The page, made at the first call; `None` if it cannot be made.
pub(crate) fn page(place: &AtomicPtr<Page>) -> Option<&'static Page> {
    if place.load(Ordering::Acquire).is_null() {
        make(place);
    }
    there(place)
}

/// The page, if it has been made.
pub(crate) fn there(place: &AtomicPtr<Page>) -> Option<&'static Page> {
    let there = place.load(Ordering::Acquire);
    if there == refused() {
        return None;
    }
    // SAFETY: null, or a page that `make` made and that is never unmapped.
    unsafe { there.as_ref() }
}

/// The value that means: do not try again.
fn refused() -> *mut Page {
    core::ptr::without_provenance_mut(align_of::<Page>())
}

fn make(place: &AtomicPtr<Page>) {
    let memory = wiped::map(size_of::<Page>()).ok();
    let made = memory.map_or_else(refused, |memory| memory.as_ptr().cast::<Page>());
    let kept =
        place.compare_exchange(core::ptr::null_mut(), made, Ordering::AcqRel, Ordering::Acquire);
    if let (Err(_), Some(memory)) = (kept, memory) {
        // SAFETY: it was mapped above, and no other thread has seen it.
        unsafe { wiped::unmap(memory, size_of::<Page>()) };
    }
}

/// The page, as a reader of the kernel's form sees it.
pub(crate) fn as_raw(page: &Page) -> Raw {
    // SAFETY: `Page` begins with the kernel's form up to the base of CLOCK_MONOTONIC, in either
    // form, and is in memory that is never unmapped (or, in tests, outlives its readers).
    unsafe { Raw::new((&raw const *page).cast::<u8>(), page.form()) }
}

#[cfg(all(test, not(any(miri, clocksmith_loom))))]
mod tests {
    use super::*;

    #[test]
    fn page_refused_is_none() {
        let place = AtomicPtr::new(refused());
        assert!(there(&place).is_none() && page(&place).is_none());
        let place = AtomicPtr::new(core::ptr::null_mut());
        assert!(there(&place).is_none());
        assert_eq!(page(&place).is_some(), there(&place).is_some());
    }
}
