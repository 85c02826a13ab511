//! The ring buffer that the kernel fills.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

const PAGE: usize = 4096;

/// A mapped ring buffer, with the event that feeds it.
#[derive(Debug)]
pub struct Ring {
    event: OwnedFd,
    base: NonNull<u8>,
    /// Bytes of data, a power of two.
    size: usize,
}

// SAFETY: the mapping belongs only to this value; only its owner reads it.
unsafe impl Send for Ring {}

/// Offsets of `data_head` and `data_tail` in the first page (`struct perf_event_mmap_page`).
const HEAD: usize = 1024;
const TAIL: usize = 1032;
/// Bytes of a record's header.
const HEADER: usize = 8;

impl Ring {
    /// Maps the buffer of an event.
    ///
    /// # Errors
    /// Returns the error of `mmap(2)`, such as `EPERM` if the user's share of locked memory is used up
    /// (`kernel.perf_event_mlock_kb`).
    pub fn new(event: OwnedFd, pages: usize) -> io::Result<Self> {
        let size = pages.next_power_of_two() * PAGE;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                size + PAGE,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                event.as_raw_fd(),
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast()).ok_or_else(io::Error::last_os_error)?;
        Ok(Self { event, base, size })
    }

    /// The event that feeds it.
    #[must_use]
    pub fn event(&self) -> BorrowedFd<'_> {
        std::os::fd::AsFd::as_fd(&self.event)
    }

    fn word(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: the first page is mapped, the offset is inside and aligned, and the kernel accesses
        // these words atomically.
        unsafe { self.base.add(offset).cast::<AtomicU64>().as_ref() }
    }

    /// Passes every available record to `each`: kind, flags, bytes after the header.
    pub fn drain(&mut self, buffer: &mut Vec<u8>, mut each: impl FnMut(u32, u16, &[u8])) {
        let head = self.word(HEAD).load(Ordering::Acquire);
        let mut tail = self.word(TAIL).load(Ordering::Relaxed);
        while tail < head {
            let mut header = [0; HEADER];
            self.copy(tail, &mut header);
            let [a, b, c, d, e, f, g, h] = header;
            let kind = u32::from_ne_bytes([a, b, c, d]);
            let misc = u16::from_ne_bytes([e, f]);
            let length = usize::from(u16::from_ne_bytes([g, h]));
            if length < HEADER || length as u64 > head - tail {
                // Never seen; after data that cannot be a record the rest is dropped.
                tail = head;
                break;
            }
            buffer.resize(length - HEADER, 0);
            self.copy(tail + HEADER as u64, buffer);
            each(kind, misc, buffer);
            tail += length as u64;
        }
        self.word(TAIL).store(tail, Ordering::Release);
    }

    /// Copies from a position of the stream, around the buffer's end.
    fn copy(&self, position: u64, to: &mut [u8]) {
        let mask = self.size as u64 - 1;
        let from = usize::try_from(position & mask).unwrap_or(0);
        let first = to.len().min(self.size - from);
        // SAFETY: both parts are within the data pages, whose size is a power of two; records are never
        // longer than the buffer; the kernel does not write between tail and head.
        unsafe {
            let data = self.base.add(PAGE);
            std::ptr::copy_nonoverlapping(data.add(from).as_ptr(), to.as_mut_ptr(), first);
            let rest = to.len() - first;
            std::ptr::copy_nonoverlapping(data.as_ptr(), to.as_mut_ptr().add(first), rest);
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping was made in `new` with this length and is unmapped once.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.size + PAGE) };
    }
}
