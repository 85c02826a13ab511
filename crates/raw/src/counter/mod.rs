//! The processor's counter: the TSC on x86, the virtual count (`CNTVCT_EL0`) on aarch64.
//!
//! An *unordered* read may be executed by the processor before earlier loads have completed: on
//! another thread's clock it can look as if it had been taken a little early. An *ordered* read
//! waits for earlier instructions, as the kernel's own reads do (`rdtsc_ordered()` and
//! `arch_timer_read_cntvct_el0()`, both since 4.x).
//!
//! What differs by processor is in one module each, chosen here; `build.rs` of the library lists the processors with
//! which it has a clock of its own.

#[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
#[path = "x86.rs"]
mod processor;

#[cfg(target_arch = "aarch64")]
#[path = "aarch64.rs"]
mod processor;

#[cfg(not(any(target_arch = "x86_64", target_arch = "x86", target_arch = "aarch64")))]
#[path = "none.rs"]
mod processor;

/// A counter that runs at a constant rate, if the machine's claim is true.
///
/// The hardware's is [`Hardware`]; tests use others, with chosen errors.
pub trait Counter {
    /// Reads the counter, unordered.
    fn read() -> u64;
    /// Reads the counter after all earlier instructions.
    fn read_ordered() -> u64;
}

/// The counter of the processor that runs this; 0 on processors without one, and under Miri, which has no instructions.
pub struct Hardware;

impl Counter for Hardware {
    #[inline(always)]
    fn read() -> u64 {
        if cfg!(miri) { 0 } else { processor::read() }
    }

    #[inline(always)]
    fn read_ordered() -> u64 {
        if cfg!(miri) { 0 } else { processor::read_ordered() }
    }
}

/// Whether a value of the vDSO's `clock_mode` means: this counter, directly.
#[inline(always)]
pub const fn is_counter_mode(mode: u32) -> bool {
    processor::is_mode(mode)
}

/// Reads the counter, unordered. Only where it may be read (`PR_GET_TSC`); 0 if there is none.
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
    if cfg!(miri) { 0 } else { processor::read_rdtscp() }
}

/// The instruction that reads the counter on this architecture, if there is one.
pub const INSTRUCTION: Option<&str> = processor::INSTRUCTION;

/// The name that the kernel gives to the clocksource that is this counter.
pub const CLOCKSOURCE: &str = processor::CLOCKSOURCE;
