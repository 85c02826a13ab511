//! A machine as a host of guests, derived from facts: the frequency of its TSC, and whether KVM can scale a guest's TSC
//! on it.

use clocksmith_facts::cpu::CpuVendor;
use clocksmith_facts::log::event::Event;
use clocksmith_facts::log::rates;
use clocksmith_facts::{Arch, Facts};
use serde::{Deserialize, Deserializer, Serialize};

/// The lowest accepted TSC frequency, in Hz. Every x86 processor that can run guests is faster; a smaller figure is in
/// kHz or MHz.
pub const MIN_HZ: u64 = 200_000_000;

/// The highest accepted TSC frequency, in Hz.
pub const MAX_HZ: u64 = 20_000_000_000;

/// The error of a frequency that the kernel measured at boot and would refine later, in millionths:
/// `pit_calibrate_tsc()` accepts an error of 500.
const EARLY_PPM: u64 = 500;

/// The error of a frequency that was recovered from a registration line, in millionths: its figures are truncated.
const RECOVERED_PPM: u64 = 5;

/// A frequency, and how well it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tsc {
    /// The frequency in kHz, as KVM knows it.
    pub khz: u32,
    /// The uncertainty of the frequency in either direction, in kHz; 0 if the host's kernel states it.
    pub slack_khz: u32,
}

/// The processor's way to scale a guest's TSC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Hardware {
    /// Intel: a 64-bit multiplier with 48 fractional bits (SDM volume 3, 25.6.5; KVM since 4.4,
    /// `vmx.c`, `KVM_VMX_TSC_MULTIPLIER_MAX`).
    Vmx,
    /// AMD: the MSR `TSC_RATIO` with 8 integer and 32 fractional bits (APM volume 2, 15.30.5; KVM
    /// since 3.0, `svm.c`, `SVM_TSC_RATIO_MAX`).
    Svm,
}

impl Hardware {
    /// The name in text: `vmx`, `svm`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Vmx => "vmx",
            Self::Svm => "svm",
        }
    }

    /// Fractional bits of the ratio (`tsc_scaling_ratio_frac_bits`).
    #[must_use]
    pub fn frac_bits(self) -> u32 {
        match self {
            Self::Vmx => 48,
            Self::Svm => 32,
        }
    }

    /// The exclusive upper limit of a ratio (`max_tsc_scaling_ratio`).
    #[must_use]
    pub fn max_ratio(self) -> u64 {
        match self {
            Self::Vmx => u64::MAX,
            Self::Svm => (1 << 40) - 1,
        }
    }
}

/// A machine as a host of guests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AsHost {
    /// The frequency of the TSC.
    #[serde(default)]
    pub tsc: Option<Tsc>,
    /// Whether it can scale a guest's TSC.
    #[serde(default)]
    pub scaling: Option<bool>,
    /// The hardware that scales a guest's TSC.
    #[serde(default, deserialize_with = "known_hardware")]
    pub hardware: Option<Hardware>,
    /// Whether its TSC is invariant, so that guests can have `invtsc`.
    #[serde(default)]
    pub invariant: Option<bool>,
}

/// The hardware of a record; `None` for a name that only a later version knows.
fn known_hardware<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Hardware>, D::Error> {
    let name = Option::<String>::deserialize(from)?;
    Ok([Hardware::Vmx, Hardware::Svm].into_iter().find(|way| name.as_deref() == Some(way.name())))
}

impl AsHost {
    /// Derives the properties of the machine from facts.
    ///
    /// The kernel's own figure is the one of "Refined TSC clocksource calibration", otherwise the
    /// detected one if nothing was left to refine (the flag `tsc_known_freq`). Scaling is the flag
    /// `tsc_scale` on AMD and `tsc_scaling` in the line `vmx flags` on Intel (Linux 5.6).
    #[must_use]
    pub fn of(facts: &Facts) -> Self {
        let hardware = match facts.cpu.model.value().map(|model| model.vendor) {
            Some(CpuVendor::Intel) => Some(Hardware::Vmx),
            Some(CpuVendor::Amd | CpuVendor::Hygon) => Some(Hardware::Svm),
            _ => None,
        };
        if facts.arch.value().is_some_and(|arch: &Arch| !arch.is_x86()) {
            return Self { tsc: None, scaling: Some(false), hardware, invariant: Some(false) };
        }
        let flags = facts.cpu.flags.value();
        let scaling = match hardware {
            // The missing flag may be in the lost part of a truncated list.
            Some(Hardware::Svm) => flags
                .map(|flags| flags.has("svm") && flags.has("tsc_scale"))
                .filter(|scales| *scales || !facts.cpu.flags_cut),
            Some(Hardware::Vmx) => match facts.cpu.vmx_flags.value() {
                Some(vmx_flags) => Some(vmx_flags.has("tsc_scaling")),
                // Without VMX the host cannot run guests, so it cannot scale their TSC.
                None => flags.filter(|flags| !flags.has("vmx")).map(|_| false),
            },
            None => None,
        };
        let invariant = flags.map(|flags| flags.has("nonstop_tsc"));
        Self { tsc: Tsc::of(facts), scaling, hardware, invariant }
    }
}

impl Tsc {
    /// The frequency that the kernel's log shows.
    #[must_use]
    pub fn of(facts: &Facts) -> Option<Self> {
        let log = facts.kernel_log()?;
        let (entry, hz) = rates::tsc_hz(log)?;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let hz = hz as u64;
        if !(MIN_HZ..=MAX_HZ).contains(&hz) {
            return None;
        }
        let known = facts.cpu.flags.value().is_some_and(|flags| flags.has("tsc_known_freq"));
        let detected = log.last(|event| match event {
            Event::Detected { khz, .. } | Event::VmwareTscKhz(khz) => Some(*khz),
            _ => None,
        });
        let (khz, ppm) = match (&entry.event, detected) {
            (Event::Refined { khz }, _) => (*khz, 0),
            // The registration line only confirms the frequency.
            (_, Some((_, khz))) if known => (khz, 0),
            (Event::Registered { .. }, _) => (hz / 1000, RECOVERED_PPM),
            (_, Some((_, khz))) => (khz, EARLY_PPM),
            _ => (hz / 1000, EARLY_PPM),
        };
        let slack = (khz * ppm).div_ceil(1_000_000);
        Some(Self { khz: u32::try_from(khz).ok()?, slack_khz: u32::try_from(slack).ok()? })
    }

    /// Whether a processor can have this frequency.
    #[must_use]
    pub fn is_plausible(self) -> bool {
        (MIN_HZ..=MAX_HZ).contains(&(u64::from(self.khz) * 1000))
    }
}
