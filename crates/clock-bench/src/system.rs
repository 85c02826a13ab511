//! The machine: processors, the counter, the kernel's clocks.

use anyhow::{Context, Result, bail};
use std::mem::MaybeUninit;
use std::sync::OnceLock;

/// The processors that this process could run on when it was first asked, before `pin`.
pub fn processors() -> Result<&'static [usize]> {
    static FIRST: OnceLock<Vec<usize>> = OnceLock::new();
    if FIRST.get().is_none() {
        let _ = FIRST.set(allowed()?);
    }
    Ok(FIRST.get().map_or(&[], Vec::as_slice))
}

fn allowed() -> Result<Vec<usize>> {
    let mut set = MaybeUninit::<libc::cpu_set_t>::zeroed();
    // SAFETY: the call writes at most the given number of bytes; all bits zero is an empty set.
    let set = unsafe {
        if libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), set.as_mut_ptr()) != 0 {
            bail!("sched_getaffinity: {}", std::io::Error::last_os_error());
        }
        set.assume_init()
    };
    // SAFETY: every number is below the size of the set.
    let is_in = |processor: &usize| unsafe { libc::CPU_ISSET(*processor, &set) };
    Ok((0..libc::CPU_SETSIZE as usize).filter(is_in).collect())
}

/// Lets this thread run on one processor only.
pub fn pin(processor: usize) -> Result<()> {
    // SAFETY: a set of our own, and a number that `processors` gave.
    let result = unsafe {
        let mut set = MaybeUninit::<libc::cpu_set_t>::zeroed().assume_init();
        libc::CPU_SET(processor, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set)
    };
    if result != 0 {
        bail!("cannot run on processor {processor}: {}", std::io::Error::last_os_error());
    }
    Ok(())
}

/// The first processor and another one; the same one where there is no other.
pub fn two_processors() -> Result<(usize, usize)> {
    let processors = processors()?;
    let first = *processors.first().context("no processor")?;
    Ok((first, processors.get(1).copied().unwrap_or(first)))
}

/// The counter, unordered.
#[inline(always)]
#[must_use]
pub fn counter() -> u64 {
    // SAFETY: no operands.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// The counter, after everything before it.
#[inline(always)]
#[must_use]
pub fn counter_ordered() -> u64 {
    // SAFETY: no operands.
    unsafe {
        core::arch::x86_64::_mm_lfence();
        core::arch::x86_64::_rdtsc()
    }
}

/// The counter by `rdtscp`.
#[inline(always)]
#[must_use]
pub fn counter_p() -> u64 {
    let mut processor = 0;
    // SAFETY: writes the number of the processor into a variable of our own.
    unsafe { core::arch::x86_64::__rdtscp(&raw mut processor) }
}

/// Waits until everything before it is done.
#[inline(always)]
pub fn fence() {
    // SAFETY: no operands.
    unsafe { core::arch::x86_64::_mm_lfence() }
}

/// 96 additions, four at a time: what a busy core does between two reads of the clock.
#[inline(always)]
pub fn work() {
    // SAFETY: touches four registers of its own.
    unsafe {
        core::arch::asm!(
            ".rept 24", "add {a}, 1", "add {b}, 1", "add {c}, 1", "add {d}, 1", ".endr",
            a = inout(reg) 0u64 => _, b = inout(reg) 0u64 => _,
            c = inout(reg) 0u64 => _, d = inout(reg) 0u64 => _,
            options(nostack, nomem));
    }
}

/// A clock of the kernel in nanoseconds, by the C library (the vDSO).
#[inline(always)]
#[must_use]
pub fn kernel_ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes a value of our own. It does not fail for the clocks that are read here.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}

/// `CLOCK_MONOTONIC` by the vDSO.
#[inline(always)]
#[must_use]
pub fn vdso_ns() -> u64 {
    kernel_ns(libc::CLOCK_MONOTONIC)
}

/// `CLOCK_MONOTONIC` by a system call.
#[inline(always)]
#[must_use]
pub fn syscall_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: as above.
    unsafe { libc::syscall(libc::SYS_clock_gettime, libc::CLOCK_MONOTONIC, &raw mut time) };
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}
