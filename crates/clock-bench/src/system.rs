//! The machine: processors, the counter, the kernel's clocks.

use anyhow::{Context, Result};
use clocksmith_measure::pin;
pub use clocksmith_raw::counter::{
    read as counter, read_ordered as counter_ordered, read_rdtscp as counter_p,
};
use std::sync::OnceLock;

/// The processors that this process could run on at the first call, before `pin`.
pub fn processors() -> Result<&'static [usize]> {
    static FIRST: OnceLock<Vec<usize>> = OnceLock::new();
    if FIRST.get().is_none() {
        let allowed = pin::allowed().into_iter().map(usize::try_from).collect::<Result<_, _>>()?;
        let _ = FIRST.set(allowed);
    }
    Ok(FIRST.get().map_or(&[], Vec::as_slice))
}

/// Lets this thread run on one processor only.
pub fn pin(processor: usize) -> Result<()> {
    let cpu = u32::try_from(processor).context("no processor has such a number")?;
    pin::to(cpu).map(|_| ()).map_err(anyhow::Error::msg)
}

/// The first processor and another one; the same one if there is no other.
pub fn two_processors() -> Result<(usize, usize)> {
    let processors = processors()?;
    let first = *processors.first().context("no processor")?;
    Ok((first, processors.get(1).copied().unwrap_or(first)))
}

/// Waits until all earlier instructions are done.
#[inline(always)]
pub fn fence() {
    // SAFETY: no operands.
    unsafe { core::arch::x86_64::_mm_lfence() }
}

/// 96 additions, four at a time: the work of a busy core between two reads of the clock.
#[inline(always)]
pub fn work() {
    // SAFETY: changes only its own four registers.
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
    // SAFETY: writes a local value. It does not fail for the clocks that are read here.
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
