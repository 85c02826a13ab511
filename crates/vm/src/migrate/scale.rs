//! The arithmetic of a scaled TSC, as KVM does it: integers only, with its truncations.
//!
//! Source: Linux `arch/x86/kvm/x86.c`, `kvm_set_tsc_khz()`, `set_tsc_khz()`, `adjust_tsc_khz()`, `kvm_scale_tsc()`,
//! `kvm_compute_l1_tsc_offset()` (`kvm_compute_tsc_offset()` before 5.14), and `KVM_SET_TSC_KHZ` in
//! `kvm_arch_vcpu_ioctl()`; the form with a ratio since 4.4. KVM and QEMU count in kHz; libvirt and QEMU's option
//! `tsc-frequency` in Hz, of which QEMU drops the part below 1 kHz (`x86_cpuid_set_tsc_freq()`).
//!
//! The host's kernel also knows its own frequency in kHz: measured and truncated. "Exact" here is relative to
//! that figure.

use super::rational::Rational;
pub use clocksmith_kernel::host::Hardware;
use thiserror::Error;

/// `tsc_tolerance_ppm` of the module `kvm`, by default: within this difference nothing is scaled, even if the hardware
/// can scale. libvirt (`TSC_TOLERANCE`), QEMU (`freq_within_bounds()`) and KubeVirt (`TSCTolerancePPM`) have the same
/// figure.
pub(crate) const TOLERANCE_PPM: u32 = 250;

/// The exclusive upper limit of the frequency that `KVM_SET_TSC_KHZ` accepts if TSCs can be scaled, in kHz: it must
/// fit a signed integer.
const MAX_KHZ: u64 = 0x7fff_ffff;

/// Returns the exclusive upper limit of a guest's frequency, in kHz (`max_guest_tsc_khz`).
#[must_use]
pub(crate) fn max_guest_khz(hardware: Hardware, host_khz: u32) -> u64 {
    mul_shr(hardware.max_ratio(), u64::from(host_khz), hardware.frac_bits()).min(MAX_KHZ)
}

/// A ratio of guest to host, as the hardware holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ratio {
    /// The multiplier.
    pub multiplier: u64,
    /// How many of its bits are fractional, at most 63.
    pub frac_bits: u32,
}

impl Ratio {
    /// One to one.
    pub const ONE: Self = Self { multiplier: 1 << 48, frac_bits: 48 };

    /// Returns the guest's counter without its offset: `(host * multiplier) >> frac_bits`, the low 64 bits of which are
    /// kept (`kvm_scale_tsc()`, `mul_u64_u64_shr()`).
    #[must_use]
    pub fn scale(self, host_tsc: u64) -> u64 {
        mul_shr(host_tsc, self.multiplier, self.frac_bits)
    }

    /// Returns the guest's deviation from the nominal rate, relative to the nominal one. `None` if that is 0.
    #[must_use]
    pub fn error(self, host_khz: u32, nominal_khz: u32) -> Option<Rational> {
        let den = u128::from(nominal_khz).checked_shl(self.frac_bits)?;
        // Each is below 2^96.
        let real = u128::from(self.multiplier) * u128::from(host_khz);
        Rational::difference(real, den)
    }
}

/// `(a * b) >> shift` of 128 bits, of which the low 64 are kept. `shift` below 128.
fn mul_shr(a: u64, b: u64, shift: u32) -> u64 {
    #[allow(clippy::cast_possible_truncation)]
    let low = (u128::from(a) * u128::from(b)).checked_shr(shift).unwrap_or(0) as u64;
    low
}

/// The way in which KVM runs the guest's counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// At the host's rate, whatever rate was requested: the difference is within the tolerance.
    Host,
    /// Scaled by the hardware.
    Scaled(Ratio),
    /// Faster than the host, without hardware for it: KVM moves the offset at each entry (`tsc_always_catchup`), so
    /// time in the guest jumps. QEMU does not use this.
    CatchUp,
}

/// The reason why KVM refuses a frequency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// The host's frequency is unknown, or none was requested.
    #[error("a TSC of 0 kHz")]
    Zero,
    /// `KVM_SET_TSC_KHZ` returns EINVAL.
    #[error("{guest_khz} kHz is not below the {max_khz} kHz that the processor can scale to")]
    TooFast {
        /// The requested frequency, in kHz.
        guest_khz: u32,
        /// The exclusive upper limit, in kHz.
        max_khz: u64,
    },
    /// The kernel logs "user requested TSC rate below hardware speed".
    #[error("user requested TSC rate below hardware speed (the processor cannot scale it)")]
    BelowHardware,
    /// The kernel logs "Invalid TSC scaling ratio".
    #[error("Invalid TSC scaling ratio - virtual-tsc-khz={0}")]
    Ratio(u32),
}

/// Returns the frequencies around `host_khz` for which KVM does not scale, both included: `adjust_tsc_khz()`. A `ppm`
/// above a million is treated as a million.
#[must_use]
pub(crate) fn unscaled_khz(host_khz: u32, ppm: u32) -> (u32, u32) {
    let ppm = u64::from(ppm.min(1_000_000));
    let at = |factor: u64| {
        #[allow(clippy::cast_possible_truncation)]
        let khz = (u64::from(host_khz) * factor / 1_000_000) as u32;
        khz
    };
    (at(1_000_000 - ppm), at(1_000_000 + ppm))
}

/// Returns the frequencies around `host` that QEMU (in kHz, `freq_within_bounds()`, since 5.1) and libvirt (in Hz,
/// `qemuProcessStartValidateTSC()`, since 6.1) accept without scaling, both included.
#[must_use]
pub fn tolerated(host: u64) -> (u64, u64) {
    let tolerance = u128::from(host) * u128::from(TOLERANCE_PPM) / 1_000_000;
    let tolerance = u64::try_from(tolerance).unwrap_or(u64::MAX);
    (host.saturating_sub(tolerance), host.saturating_add(tolerance))
}

/// Returns KVM's reaction to a requested frequency of a guest.
///
/// # Errors
/// Returns the reason if KVM refuses the frequency.
pub fn set_tsc_khz(
    guest_khz: u32,
    host_khz: u32,
    hardware: Option<Hardware>,
    tolerance_ppm: u32,
) -> Result<Rate, Refusal> {
    if guest_khz == 0 || host_khz == 0 {
        return Err(Refusal::Zero);
    }
    if let Some(max_khz) = hardware.map(|hardware| max_guest_khz(hardware, host_khz))
        && u64::from(guest_khz) >= max_khz
    {
        return Err(Refusal::TooFast { guest_khz, max_khz });
    }
    let (low, high) = unscaled_khz(host_khz, tolerance_ppm);
    if (low..=high).contains(&guest_khz) {
        return Ok(Rate::Host);
    }
    let Some(hardware) = hardware else {
        return if guest_khz > host_khz { Ok(Rate::CatchUp) } else { Err(Refusal::BelowHardware) };
    };
    // mul_u64_u32_div() keeps 64 bits of the quotient.
    #[allow(clippy::cast_possible_truncation)]
    let multiplier =
        ((u128::from(guest_khz) << hardware.frac_bits()) / u128::from(host_khz)) as u64;
    if multiplier == 0 || multiplier >= hardware.max_ratio() {
        return Err(Refusal::Ratio(guest_khz));
    }
    Ok(Rate::Scaled(Ratio { multiplier, frac_bits: hardware.frac_bits() }))
}

/// Converts Hz to the kHz that QEMU passes on, and the remaining Hz that are lost: 0 to 999. `None` when the kHz do not
/// fit (4.29 THz).
#[must_use]
pub fn khz_of_hz(hz: u64) -> Option<(u32, u32)> {
    let khz = u32::try_from(hz / 1000).ok()?;
    Some((khz, u32::try_from(hz % 1000).ok()?))
}

/// Returns the guest's counter: `scale(host) + offset`, wrapping at 64 bits as the hardware does.
#[must_use]
pub fn guest_tsc(host_tsc: u64, ratio: Ratio, offset: u64) -> u64 {
    ratio.scale(host_tsc).wrapping_add(offset)
}

/// Returns the offset with which a guest's counter continues at `wanted` when the host's reads `host_tsc`
/// (`kvm_compute_l1_tsc_offset()`; user space sets it by `KVM_VCPU_TSC_OFFSET`, since 5.16, or leaves it to the kernel
/// by writing the MSR `IA32_TSC`). It is in two's complement, so it may be a negative one.
#[must_use]
pub fn offset_for(wanted: u64, host_tsc: u64, ratio: Ratio) -> u64 {
    wanted.wrapping_sub(ratio.scale(host_tsc))
}

/// Converts a time in ns to ticks of the guest's counter, truncated; all bits above the 64th are lost, as on the
/// counter. If a guest's clock must not stop during a migration, they are added to its last value:
/// `offset_for(last + ticks(...), ...)`. Without them (QEMU writes the last value) the guest does not see the blackout,
/// and its time is late by its length.
#[must_use]
pub fn ticks(ns: u64, guest_khz: u32) -> u64 {
    #[allow(clippy::cast_possible_truncation)]
    let ticks = (u128::from(ns) * u128::from(guest_khz) / 1_000_000) as u64;
    ticks
}

/// Returns the seconds until a guest's counter passes 2^64, rounded down. Linux computes differences and is not
/// affected, but only after years of a counter that begins at 0. `None` at 0 kHz.
#[must_use]
pub fn wraps_after_s(guest_tsc: u64, guest_khz: u32) -> Option<u64> {
    let left = (1u128 << 64) - u128::from(guest_tsc);
    u64::try_from(left.checked_div(u128::from(guest_khz) * 1000)?).ok()
}

#[cfg(test)]
#[path = "scale_tests.rs"]
mod tests;
