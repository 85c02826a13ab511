//! aarch64: the virtual count, `CNTVCT_EL0`.

/// The instruction that reads the counter.
pub(super) const INSTRUCTION: Option<&str> = Some("cntvct_el0");

/// The kernel's name for the clocksource that is this counter.
pub(super) const CLOCKSOURCE: &str = "arch_sys_counter";

/// `VDSO_CLOCKMODE_ARCHTIMER` = 1 and `_NOCOMPAT` = 2 (`arch/arm64/include/asm/vdso/clocksource.h`, since 5.9).
#[inline(always)]
pub(super) const fn is_mode(mode: u32) -> bool {
    mode == 1 || mode == 2
}

#[inline(always)]
pub(super) fn read() -> u64 {
    let value: u64;
    // SAFETY: Linux lets user space read CNTVCT_EL0, or emulates the read where it must be
    // trapped; it writes one register.
    unsafe {
        core::arch::asm!("mrs {}, cntvct_el0", out(reg) value,
            options(nostack, preserves_flags));
    }
    value
}

#[inline(always)]
pub(super) fn read_ordered() -> u64 {
    let value: u64;
    // SAFETY: as above. isb orders the read after earlier instructions. The load from the
    // stack, at an address that depends on the value, orders later ones after the read; the
    // kernel does the same (`arch_counter_enforce_ordering`).
    unsafe {
        core::arch::asm!(
            "isb",
            "mrs {value}, cntvct_el0",
            "eor {scratch}, {value}, {value}",
            "add {scratch}, sp, {scratch}",
            "ldr xzr, [{scratch}]",
            value = out(reg) value, scratch = out(reg) _,
            options(nostack, preserves_flags, readonly));
    }
    value
}

#[inline(always)]
pub(super) fn read_rdtscp() -> u64 {
    read_ordered()
}
