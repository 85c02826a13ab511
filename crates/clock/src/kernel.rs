//! The kernel's clocks, read by the vDSO or by system calls. Everything here is async-signal-safe.

pub(crate) use clocksmith_raw::clock_id::ClockId;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicBool, Ordering};

/// Whether the vDSO must not be called, because it reads a counter that is forbidden.
static ONLY_BY_CALL: AtomicBool = AtomicBool::new(false);

/// Makes later reads use the vDSO, or system calls only.
pub(crate) fn use_vdso(may: bool) {
    ONLY_BY_CALL.store(!may, Ordering::Relaxed);
}

/// Whether the vDSO may be called.
pub(crate) fn may_use_vdso() -> bool {
    !ONLY_BY_CALL.load(Ordering::Relaxed)
}

/// The time in nanoseconds, by the vDSO if there is one. `None` if the kernel refuses (an old one
/// that does not know the clock, or a filter).
pub(crate) fn time(id: ClockId) -> Option<u64> {
    if !may_use_vdso() && !cfg!(miri) {
        return time_by_call(id);
    }
    let mut time = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: the pointer is to a local `timespec`, which is written to.
    if unsafe { libc::clock_gettime(id.number(), time.as_mut_ptr()) } != 0 {
        return if cfg!(miri) { None } else { time_by_call(id) };
    }
    // SAFETY: it has been written.
    let time = unsafe { time.assume_init() };
    // Both are never negative for these clocks; a wall clock before 1970 wraps.
    Some((time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64))
}

/// The same by a real system call.
pub(crate) fn time_by_call(id: ClockId) -> Option<u64> {
    #[cfg(target_pointer_width = "64")]
    const NUMBER: libc::c_long = libc::SYS_clock_gettime;
    // clock_gettime64, since 5.1, has the same number on every 32-bit architecture.
    #[cfg(target_pointer_width = "32")]
    const NUMBER: libc::c_long = 403;

    let mut time = [0u64; 2];
    // SAFETY: the call writes two 64-bit numbers.
    let result =
        unsafe { libc::syscall(NUMBER, libc::c_long::from(id.number()), time.as_mut_ptr()) };
    #[cfg(target_pointer_width = "32")]
    let result = if result == 0 {
        result
    } else {
        // Older kernels: two longs.
        let mut short = [0 as libc::c_long; 2];
        // SAFETY: the call writes two longs.
        let result = unsafe {
            libc::syscall(
                libc::SYS_clock_gettime,
                libc::c_long::from(id.number()),
                short.as_mut_ptr(),
            )
        };
        time = [short[0] as u64, short[1] as u64];
        result
    };
    // On 32-bit architectures the kernel leaves the upper half of the nanoseconds undefined.
    let nanoseconds = time[1] & 0xffff_ffff;
    (result == 0).then(|| time[0].wrapping_mul(1_000_000_000).wrapping_add(nanoseconds))
}

/// Whether there is a vDSO.
pub(crate) fn vdso_address() -> Option<usize> {
    if cfg!(miri) {
        return None;
    }
    // SAFETY: reads the auxiliary vector, which was written before the program began.
    let address = unsafe { libc::getauxval(libc::AT_SYSINFO_EHDR) } as usize;
    (address != 0).then_some(address)
}

/// Whether user space may read the counter (`PR_SET_TSC`; a property of the thread, inherited by
/// its children). Only x86 can forbid it.
pub(crate) fn counter_is_allowed() -> bool {
    // Miri has no instructions.
    #[cfg(miri)]
    return false;
    #[cfg(all(any(target_arch = "x86_64", target_arch = "x86"), not(miri)))]
    {
        let mut mode: libc::c_int = 0;
        // SAFETY: PR_GET_TSC writes one int.
        let result = unsafe { libc::prctl(libc::PR_GET_TSC, &raw mut mode) };
        // If a filter refuses the call itself, nothing is known, and the vDSO, which every
        // program uses, would be killed in the same way.
        result != 0 || mode != libc::PR_TSC_SIGSEGV
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "x86", miri)))]
    true
}

/// Bytes in a page of memory.
pub(crate) fn page_size() -> usize {
    // SAFETY: reads a value that the C library got from the kernel.
    let size = unsafe { libc::getauxval(libc::AT_PAGESZ) } as usize;
    if size.is_power_of_two() { size } else { 4096 }
}

/// The kernel's result for a word of memory that this process does not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    /// The word has the expected value.
    Equal,
    /// The word has another value.
    Other,
    /// The word cannot be read, or the kernel did not report it.
    Unreadable,
}

/// Compares a word of memory with a value, without reading it here: touching the wrong page next to
/// the vDSO is fatal (SIGBUS, or SIGSEGV if another thread unmaps it), while a kernel that cannot
/// read an argument returns EFAULT.
///
/// The call is `futex(FUTEX_CMP_REQUEUE)` for no waiter at all. It compares the word before any other step
/// (`futex_requeue()`, `kernel/futex/`, all versions): EAGAIN means that the value differs. A private futex is
/// identified by its address alone, so the kernel only reads the page.
pub(crate) fn compare(address: usize, value: u32) -> Held {
    match requeue_none(address, libc::FUTEX_CMP_REQUEUE | libc::FUTEX_PRIVATE_FLAG, value) {
        0 => Held::Equal,
        libc::EAGAIN => Held::Other,
        _ => Held::Unreadable,
    }
}

/// Whether a word can be read at an address.
pub(crate) fn is_readable(address: usize) -> bool {
    compare(address, 0) != Held::Unreadable
}

/// Whether a page that can be read may be the kernel's own: it is neither a page of a file nor a
/// page that the process can write. Another thread may unmap pages of either kind.
///
/// The same call with a shared futex, which is known by the page's owner, a file or an address space
/// (`get_futex_key()`, all versions). The kernel's pages have neither (`VM_IO`, `VM_PFNMAP`, or a page
/// without a mapping): EFAULT. Anonymous memory that may only be read gives the same result, so this is
/// one condition among others.
pub(crate) fn may_be_the_kernels(address: usize) -> bool {
    requeue_none(address, libc::FUTEX_CMP_REQUEUE, 0) == libc::EFAULT
}

/// Wakes and moves no waiter, if the word has the value: 0, or the error's number.
fn requeue_none(address: usize, operation: libc::c_int, value: u32) -> libc::c_int {
    const NONE: libc::c_long = 0;
    // SAFETY: the kernel checks the address; nothing is written, and no thread is woken.
    let result = unsafe {
        libc::syscall(
            libc::SYS_futex,
            address as *const u32,
            operation,
            NONE,
            NONE,
            address as *const u32,
            value,
        )
    };
    if result == -1 { last_error() } else { 0 }
}

/// `errno`.
pub(crate) fn last_error() -> libc::c_int {
    // SAFETY: the C library's own, of this thread.
    unsafe { *libc::__errno_location() }
}

/// Keeps the caller's `errno` across a call: a clock does not change it.
pub(crate) fn keep_errno<R>(work: impl FnOnce() -> R) -> R {
    let before = last_error();
    let result = work();
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = before };
    result
}
