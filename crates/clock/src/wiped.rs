//! Memory that a forked child finds cleared, however it was forked (`MADV_WIPEONFORK`, since Linux
//! 4.14).

use core::ptr::NonNull;

/// The error number of a system call.
pub(crate) type ErrorNumber = i32;

/// Maps zeroed memory of that kind. Async-signal-safe, except that an error sets `errno`.
///
/// # Errors
///
/// Returns an error if there is no memory, or if the kernel cannot clear it in a child.
pub(crate) fn map(length: usize) -> Result<NonNull<u8>, ErrorNumber> {
    // SAFETY: maps new memory at any address.
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
    let Some(memory) = NonNull::new(memory.cast::<u8>()).filter(|_| memory != libc::MAP_FAILED)
    else {
        return Err(last_error());
    };
    // Miri, in which programs test code that uses a clock, supports neither this advice nor a fork.
    if cfg!(miri) {
        return Ok(memory);
    }
    // SAFETY: the memory was mapped above. The advice does not change its present content.
    if unsafe { libc::madvise(memory.as_ptr().cast(), length, libc::MADV_WIPEONFORK) } != 0 {
        let error = last_error();
        // SAFETY: no other thread has seen this memory.
        unsafe { unmap(memory, length) };
        return Err(error);
    }
    Ok(memory)
}

/// `errno`.
fn last_error() -> ErrorNumber {
    // SAFETY: the C library's own, of this thread.
    unsafe { *libc::__errno_location() }
}

/// Unmaps the memory.
///
/// # Safety
///
/// The memory was mapped by `map` with that length, and is no longer used.
pub(crate) unsafe fn unmap(memory: NonNull<u8>, length: usize) {
    // SAFETY: by the contract.
    unsafe { libc::munmap(memory.as_ptr().cast(), length) };
}
