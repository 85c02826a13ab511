//! x86: the time-stamp counter.

/// The instruction that reads the counter.
pub(super) const INSTRUCTION: Option<&str> = Some("rdtsc");

/// The kernel's name for the clocksource that is this counter.
pub(super) const CLOCKSOURCE: &str = "tsc";

/// `VDSO_CLOCKMODE_TSC` = 1 (`arch/x86/include/asm/vdso/clocksource.h`, since 5.7; `VCLOCK_TSC` = 1 before).
#[inline(always)]
pub(super) const fn is_mode(mode: u32) -> bool {
    mode == 1
}

#[inline(always)]
pub(super) fn read() -> u64 {
    let (low, high): (u32, u32);
    // SAFETY: rdtsc writes only eax and edx. (Callers check first whether PR_SET_TSC forbids it.) Without `nomem`
    // the compiler keeps it between the loads around it.
    unsafe {
        core::arch::asm!("rdtsc", out("eax") low, out("edx") high,
            options(nostack, preserves_flags));
    }
    u64::from(high) << 32 | u64::from(low)
}

#[inline(always)]
pub(super) fn read_ordered() -> u64 {
    let (low, high): (u32, u32);
    // SAFETY: as above; lfence has no operands. The kernel makes lfence wait for dispatch on
    // every processor if it is not so by itself (AMD, since 4.15).
    unsafe {
        core::arch::asm!("lfence", "rdtsc", out("eax") low, out("edx") high,
            options(nostack, preserves_flags));
    }
    u64::from(high) << 32 | u64::from(low)
}

#[inline(always)]
pub(super) fn read_rdtscp() -> u64 {
    let (low, high): (u32, u32);
    // SAFETY: rdtscp writes only eax, edx and ecx.
    unsafe {
        core::arch::asm!("rdtscp", out("eax") low, out("edx") high, out("ecx") _,
            options(nostack, preserves_flags));
    }
    u64::from(high) << 32 | u64::from(low)
}
