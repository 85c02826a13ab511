//! Clocks that a hypervisor gives its guests by a page in memory, over the TSC: kvm-clock and Hyper-V's
//! reference page.
//!
//! The kernel's own page then counts in cycles of that clock: `clock_mode` 2 or 3. So a read takes three inputs
//! that belong together: the counter, the hypervisor's page, which converts it to cycles, and the kernel's page,
//! which converts these to the time. Each page has its own sequence lock, and neither page may change during the
//! read (`vread_pvclock()` and `vread_hvclock()` inside of `do_hres()`, `arch/x86/include/asm/vdso/gettimeofday.h`).
//!
//! kvm-clock (`struct pvclock_vcpu_time_info`, Documentation/virt/kvm/x86/msr.rst):
//!
//! ```text
//! u32 version, pad; u64 tsc_timestamp, system_time; u32 tsc_to_system_mul; s8 tsc_shift; u8 flags, pad[2]
//! ns = system_time + ((tsc - tsc_timestamp) << tsc_shift) * tsc_to_system_mul >> 32
//! ```
//!
//! The version is odd while it is written. The page is that of the first processor; it is valid for
//! all of them only as long as `PVCLOCK_TSC_STABLE_BIT` is set in `flags`; otherwise reads use the
//! kernel.
//!
//! Hyper-V (`struct ms_hyperv_tsc_page`, Hypervisor Top Level Functional Specification, 12.7):
//!
//! ```text
//! u32 sequence, reserved; u64 scale; s64 offset
//! 100 ns units = (tsc * scale >> 64) + offset
//! ```
//!
//! A sequence of 0 means that the page is not valid, and that reads must use the kernel (the hypervisor's MSR).

#[cfg(all(test, clocksmith_loom))]
mod model;
#[cfg(all(test, not(clocksmith_loom)))]
mod tests;

use crate::line::{Cells, Line, MODE_TIMENS};
use crate::view::load64;
use clocksmith_raw::sync::{Ordering, fence};

/// `VDSO_CLOCKMODE_PVCLOCK` and `VDSO_CLOCKMODE_HVCLOCK` (`arch/x86/include/asm/vdso/clocksource.h`, since 5.7;
/// `VCLOCK_` before, with the same values).
pub(crate) const MODE_PVCLOCK: u32 = 2;
pub(crate) const MODE_HVCLOCK: u32 = 3;

/// `PVCLOCK_TSC_STABLE_BIT`.
const STABLE: u64 = 1;

/// A hypervisor's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// kvm-clock.
    Pvclock,
    /// Hyper-V's reference page.
    HypervPage,
}

impl Kind {
    /// Returns the clock with that mode. Only x86 has any: elsewhere the numbers have another meaning.
    pub(crate) const fn of_mode(mode: u32) -> Option<Self> {
        match mode {
            _ if !cfg!(any(target_arch = "x86_64", target_arch = "x86")) => None,
            MODE_PVCLOCK => Some(Self::Pvclock),
            MODE_HVCLOCK => Some(Self::HypervPage),
            _ => None,
        }
    }

    pub(crate) const fn mode(self) -> u32 {
        match self {
            Self::Pvclock => MODE_PVCLOCK,
            Self::HypervPage => MODE_HVCLOCK,
        }
    }
}

/// A hypervisor's page, read word by word; both kinds are four 64-bit words.
pub(crate) trait Words {
    /// One of them, relaxed.
    fn word(&self, index: usize) -> u64;
}

/// Such a page in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Host(*const u8);

impl Host {
    /// The page at an address.
    ///
    /// # Safety
    ///
    /// It is aligned to 8, and its first 32 bytes stay readable for as long as this, or a copy of it, is used.
    pub(crate) const unsafe fn new(address: *const u8) -> Self {
        Self(address)
    }

    pub(crate) const fn address(self) -> *const u8 {
        self.0
    }
}

impl Words for Host {
    #[inline(always)]
    fn word(&self, index: usize) -> u64 {
        debug_assert!(index < 4);
        // SAFETY: by the contract of `new`.
        unsafe { load64(self.0.add(8 * index)) }
    }
}

/// Why a hypervisor's page gives no cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoCycles {
    /// It is being written, or has been meanwhile.
    Changing,
    /// It is not valid for all processors, or not valid at all: reads must use the kernel.
    AskKernel,
}

/// The counter, and the cycles of the hypervisor's clock that it makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cycles {
    pub(crate) counter: u64,
    pub(crate) cycles: u64,
}

/// Reads the counter and the hypervisor's page together.
#[inline(always)]
pub(crate) fn cycles<W: Words>(
    host: &W,
    kind: Kind,
    counter: impl FnOnce() -> u64,
) -> Result<Cycles, NoCycles> {
    match kind {
        Kind::Pvclock => {
            let version = host.word(0) as u32;
            fence(Ordering::Acquire);
            if version & 1 == 1 {
                return Err(NoCycles::Changing);
            }
            let counter = counter();
            let (timestamp, system_time) = (host.word(1), host.word(2));
            let scale = host.word(3);
            fence(Ordering::Acquire);
            if host.word(0) as u32 != version {
                return Err(NoCycles::Changing);
            }
            if scale >> 40 & STABLE == 0 || version == 0 {
                return Err(NoCycles::AskKernel);
            }
            let cycles =
                pvclock(counter, timestamp, system_time, scale as u32, (scale >> 32) as i8);
            Ok(Cycles { counter, cycles })
        }
        Kind::HypervPage => {
            let sequence = host.word(0) as u32;
            fence(Ordering::Acquire);
            // All ones were the mark in the first versions of the specification.
            if sequence == 0 || sequence == u32::MAX {
                return Err(NoCycles::AskKernel);
            }
            let counter = counter();
            let (scale, offset) = (host.word(1), host.word(2));
            fence(Ordering::Acquire);
            if host.word(0) as u32 != sequence {
                return Err(NoCycles::Changing);
            }
            Ok(Cycles { counter, cycles: hyperv(counter, scale, offset) })
        }
    }
}

/// `__pvclock_read_cycles()`. A counter that is behind the page's is treated as equal to it: it was
/// read just before the page was written.
#[inline(always)]
fn pvclock(counter: u64, timestamp: u64, system_time: u64, mul: u32, shift: i8) -> u64 {
    let delta = counter.wrapping_sub(timestamp);
    let delta = if delta > u64::MAX >> 1 { 0 } else { delta };
    let shifted = if shift < 0 {
        delta >> (shift.unsigned_abs() & 63)
    } else {
        delta << (shift.unsigned_abs() & 63)
    };
    let ns = (u128::from(shifted) * u128::from(mul)) >> 32;
    system_time.wrapping_add(ns as u64)
}

/// `hv_read_tsc_page_tsc()`.
#[inline(always)]
fn hyperv(counter: u64, scale: u64, offset: u64) -> u64 {
    let units = (u128::from(counter) * u128::from(scale)) >> 64;
    (units as u64).wrapping_add(offset)
}

/// How many cycles of the counter a time has, about: the hypervisor's rate.
pub(crate) fn span<W: Words>(host: &W, kind: Kind, ns: u64) -> u64 {
    let cycles = match kind {
        Kind::Pvclock => {
            let scale = host.word(3);
            let cycles = (u128::from(ns) << 32) / u128::from((scale as u32).max(1));
            let shift = (scale >> 32) as i8;
            let by = u32::from(shift.unsigned_abs() & 31);
            if shift < 0 { cycles << by } else { cycles >> by }
        }
        Kind::HypervPage => (u128::from(ns / 100) << 64) / u128::from(host.word(1).max(1)),
    };
    u64::try_from(cycles).unwrap_or(u64::MAX >> 1).min(u64::MAX >> 1)
}

/// The reason for a missing time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoTime {
    /// One of the pages is being written, or has been meanwhile.
    Changing,
    /// The hypervisor's page sends readers to the kernel.
    AskKernel,
    /// The kernel uses a different clock.
    Mode(u32),
}

/// Reads the counter and both pages: all of them belong to the same state.
#[inline(always)]
pub(crate) fn read<W: Words, P: Cells>(
    host: &W,
    kind: Kind,
    page: &P,
    clock: usize,
    counter: impl FnOnce() -> u64,
) -> Result<(Line, Cycles), NoTime> {
    let word = page.word(Ordering::Acquire);
    if word.is_odd() || word.mode() != kind.mode() {
        let changing = word.is_odd() && word.mode() != MODE_TIMENS;
        return Err(if changing { NoTime::Changing } else { NoTime::Mode(word.mode()) });
    }
    let cycles = match cycles(host, kind, counter) {
        Ok(cycles) => cycles,
        Err(NoCycles::Changing) => return Err(NoTime::Changing),
        Err(NoCycles::AskKernel) => return Err(NoTime::AskKernel),
    };
    let line = page.line(clock);
    // The loads of the line stay before the second look.
    fence(Ordering::Acquire);
    if page.word(Ordering::Relaxed) != word {
        return Err(NoTime::Changing);
    }
    Ok((line, cycles))
}
