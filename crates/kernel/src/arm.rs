//! Arm: errata of the architected counter whose workaround disables the vDSO.
//!
//! Source: `ool_workarounds[]` and `arch_timer_enable_workaround()` in `drivers/clocksource/arm_arch_timer.c`,
//! since 4.12.

/// Errata whose workaround replaces the read of the counter (`read_cntvct_el0`), which disables the vDSO for all
/// programs. The kernel prints Freescale's number as a005858.
const TRAPPED: [&str; 5] = ["858921", "a008585", "a005858", "161010101", "UNKNOWN1"];
/// Errata that disable the vDSO only for 32-bit programs (`disable_compat_vdso`).
const TRAPPED_COMPAT: [&str; 1] = ["1418040"];

/// Whether the line of a workaround is one that traps the counter for all programs.
#[must_use]
pub fn traps_counter(line: &str) -> bool {
    TRAPPED.iter().any(|erratum| line.contains(erratum))
}

/// Whether a main ID register is that of one of Arm's own ARMv7 processors with its timer: Cortex-A7, A12, A15 and A17.
/// Later parts are ARMv8, and the device trees of 32-bit kernels on them name the timer of that.
#[must_use]
pub fn is_armv7_part(midr: u32) -> bool {
    midr >> 24 == 0x41 && matches!(midr >> 4 & 0xfff, 0xc07 | 0xc0d | 0xc0e | 0xc0f)
}

/// Whether the line of a workaround is one that traps the counter only for 32-bit programs.
#[must_use]
pub fn traps_counter_for_compat(line: &str) -> bool {
    TRAPPED_COMPAT.iter().any(|erratum| line.contains(erratum))
}
