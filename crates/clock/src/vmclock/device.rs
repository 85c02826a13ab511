//! The device's page in the memory of this process.

use super::Unavailable;
use super::page::{self, LEAST, MAGIC, VERSION};
use crate::kernel;
use crate::paravirt::Words;
use crate::view::load64;
use core::ffi::CStr;
use core::sync::atomic::{AtomicPtr, Ordering};

/// The page, mapped for reading. It is never unmapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mapped(*const u8);

// SAFETY: a page that stays, and is read by atomic loads only.
unsafe impl Send for Mapped {}
// SAFETY: as above.
unsafe impl Sync for Mapped {}

impl Words for Mapped {
    #[inline(always)]
    fn word(&self, index: usize) -> u64 {
        debug_assert!(index < page::WORDS);
        // SAFETY: the page has at least 4096 bytes, is aligned, and is never unmapped.
        unsafe { load64(self.0.add(8 * index)) }
    }
}

/// The page of the first device: null before the first request, and below [`FIRST_ADDRESS`] why there is none.
static FIRST: AtomicPtr<u8> = AtomicPtr::new(core::ptr::null_mut());
/// No page is mapped below it.
const FIRST_ADDRESS: usize = 4096;

/// The page of `/dev/vmclock0`, mapped at the first call. Async-signal-safe; a result is kept.
pub(super) fn first() -> Result<Mapped, Unavailable> {
    let there = FIRST.load(Ordering::Acquire);
    if there.is_null() { look(&FIRST, c"/dev/vmclock0") } else { kept(there) }
}

fn kept(there: *mut u8) -> Result<Mapped, Unavailable> {
    match there.addr() {
        code @ 0..FIRST_ADDRESS => Err(Unavailable::of_code(code)),
        _ => Ok(Mapped(there)),
    }
}

#[cold]
pub(super) fn look(place: &AtomicPtr<u8>, path: &CStr) -> Result<Mapped, Unavailable> {
    let found = map(path);
    let result = match found {
        Ok(Mapped(page)) => page.cast_mut(),
        Err(why) => core::ptr::without_provenance_mut(why.code()),
    };
    let null = core::ptr::null_mut();
    match place.compare_exchange(null, result, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => found,
        Err(others) => {
            if let Ok(mapped) = found {
                // SAFETY: it was mapped above, and no other code has its address.
                unsafe { unmap(mapped) };
            }
            kept(others)
        }
    }
}

/// Maps the page of a device, and checks that it is one.
pub(super) fn map(path: &CStr) -> Result<Mapped, Unavailable> {
    // Miri has no such device.
    if cfg!(miri) {
        return Err(Unavailable::Absent);
    }
    let mapped = kernel::keep_errno(|| map_file(path))?;
    // The constant fields. A page that is being written for long is not refused for that.
    let copied = page::copy(&mapped);
    let why = if copied.magic() != MAGIC || copied.size() < LEAST {
        Unavailable::NotAVmClock
    } else if copied.version() != VERSION {
        Unavailable::Version(copied.version())
    } else {
        return Ok(mapped);
    };
    // SAFETY: it was mapped above, and no other code has its address.
    unsafe { unmap(mapped) };
    Err(why)
}

fn map_file(path: &CStr) -> Result<Mapped, Unavailable> {
    let length = kernel::page_size();
    let flags = libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NONBLOCK | libc::O_NOCTTY;
    // SAFETY: a text that ends with a zero.
    let file = unsafe { libc::open(path.as_ptr(), flags) };
    if file < 0 {
        return Err(match kernel::last_error() {
            libc::ENOENT | libc::ENOTDIR | libc::ENODEV | libc::ENXIO => Unavailable::Absent,
            libc::EACCES | libc::EPERM => Unavailable::Refused,
            error => Unavailable::Failed(error),
        });
    }
    let result = if is_too_short(file, length) {
        Err(Unavailable::NotAVmClock)
    } else {
        // The driver gives exactly this: one page, from the beginning, for reading (`vmclock_miscdev_mmap()`).
        // SAFETY: maps new memory at any address.
        let memory = unsafe {
            libc::mmap(core::ptr::null_mut(), length, libc::PROT_READ, libc::MAP_SHARED, file, 0)
        };
        if memory == libc::MAP_FAILED {
            Err(match kernel::last_error() {
                // Of a file or a device that cannot be mapped.
                libc::ENODEV | libc::EINVAL => Unavailable::NotAVmClock,
                libc::EACCES | libc::EPERM => Unavailable::Refused,
                error => Unavailable::Failed(error),
            })
        } else {
            Ok(Mapped(memory.cast::<u8>().cast_const()))
        }
    };
    // SAFETY: opened above. The memory stays mapped.
    unsafe { libc::close(file) };
    result
}

/// Whether it is a file, in which a page after the end would be fatal to read.
fn is_too_short(file: libc::c_int, length: usize) -> bool {
    // SAFETY: the call writes the structure.
    let (result, status) = unsafe {
        let mut status: libc::stat = core::mem::zeroed();
        (libc::fstat(file, &raw mut status), status)
    };
    let is_device = status.st_mode & libc::S_IFMT == libc::S_IFCHR;
    let size = usize::try_from(status.st_size).unwrap_or(0);
    result != 0 || !is_device && size < length
}

/// # Safety
///
/// It was mapped by [`map_file`], and is no longer used.
unsafe fn unmap(Mapped(page): Mapped) {
    let unmap = || {
        // SAFETY: by the contract.
        unsafe { libc::munmap(page.cast_mut().cast(), kernel::page_size()) }
    };
    kernel::keep_errno(unmap);
}
