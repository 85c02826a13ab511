//! The processor's counter: the TSC on x86, the virtual count (`CNTVCT_EL0`) on aarch64.
//!
//! An *unordered* read may be executed by the processor before earlier loads have completed: on
//! another thread's clock it can look as if it had been taken a little early. An *ordered* read
//! waits for earlier instructions, as the kernel's own reads do (`rdtsc_ordered()` and
//! `arch_timer_read_cntvct_el0()`, both since 4.x).

/// A counter that runs at a constant rate, if the machine's claim is true.
///
/// The hardware's is [`Hardware`]; tests use others, with chosen errors.
pub trait Counter {
    /// Reads it, unordered.
    fn read() -> u64;
    /// Reads it after all earlier instructions.
    fn read_ordered() -> u64;
}

/// The counter of the processor that runs this.
pub struct Hardware;

#[cfg(all(any(target_arch = "x86_64", target_arch = "x86"), not(miri)))]
impl Counter for Hardware {
    #[inline(always)]
    fn read() -> u64 {
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
    fn read_ordered() -> u64 {
        let (low, high): (u32, u32);
        // SAFETY: as above; lfence has no operands. The kernel makes lfence wait for dispatch on
        // every processor where it is not so by itself (AMD, since 4.15).
        unsafe {
            core::arch::asm!("lfence", "rdtsc", out("eax") low, out("edx") high,
                options(nostack, preserves_flags));
        }
        u64::from(high) << 32 | u64::from(low)
    }
}

#[cfg(all(target_arch = "aarch64", not(miri)))]
impl Counter for Hardware {
    #[inline(always)]
    fn read() -> u64 {
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
    fn read_ordered() -> u64 {
        let value: u64;
        // SAFETY: as above. isb orders the read behind earlier instructions. The load from the
        // stack, at an address that depends on the value, orders later ones behind the read; the
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
}

/// For targets without a readable counter (and under Miri, which has no instructions).
#[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "x86", target_arch = "aarch64"))))]
impl Counter for Hardware {
    fn read() -> u64 {
        0
    }

    fn read_ordered() -> u64 {
        0
    }
}

/// The values of the vDSO's `clock_mode` that mean: this counter, directly.
///
/// x86: `VDSO_CLOCKMODE_TSC` = 1 (`arch/x86/include/asm/vdso/clocksource.h`, since 5.7; `VCLOCK_TSC`
/// = 1 before). aarch64: `VDSO_CLOCKMODE_ARCHTIMER` = 1 and `_NOCOMPAT` = 2
/// (`arch/arm64/include/asm/vdso/clocksource.h`, since 5.9).
#[inline(always)]
pub const fn is_counter_mode(mode: u32) -> bool {
    if cfg!(target_arch = "aarch64") { mode == 1 || mode == 2 } else { mode == 1 }
}

/// Reads the counter, unordered. Only where it may be read (`PR_GET_TSC`); 0 where there is none.
#[inline(always)]
#[must_use]
pub fn read() -> u64 {
    Hardware::read()
}

/// Reads the counter after all earlier instructions; otherwise as [`read`].
#[inline(always)]
#[must_use]
pub fn read_ordered() -> u64 {
    Hardware::read_ordered()
}

/// Reads the counter by `rdtscp`, which waits for earlier instructions by itself. Only on a processor that
/// has it (flag `rdtscp`); elsewhere as [`read_ordered`].
#[inline(always)]
#[must_use]
pub fn read_rdtscp() -> u64 {
    #[cfg(all(any(target_arch = "x86_64", target_arch = "x86"), not(miri)))]
    {
        let (low, high): (u32, u32);
        // SAFETY: rdtscp writes only eax, edx and ecx.
        unsafe {
            core::arch::asm!("rdtscp", out("eax") low, out("edx") high, out("ecx") _,
                options(nostack, preserves_flags));
        }
        u64::from(high) << 32 | u64::from(low)
    }
    #[cfg(not(all(any(target_arch = "x86_64", target_arch = "x86"), not(miri))))]
    Hardware::read_ordered()
}

/// The instruction that reads the counter on this architecture, if there is one.
pub const INSTRUCTION: Option<&str> = if cfg!(any(target_arch = "x86_64", target_arch = "x86")) {
    Some("rdtsc")
} else if cfg!(target_arch = "aarch64") {
    Some("cntvct_el0")
} else {
    None
};

/// The name that the kernel gives to the clocksource that is this counter.
pub const CLOCKSOURCE: &str =
    if cfg!(target_arch = "aarch64") { "arch_sys_counter" } else { "tsc" };
