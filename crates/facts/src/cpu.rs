//! `/proc/cpuinfo` and CPU lists.

use serde::Serialize;
use std::collections::BTreeSet;

/// Who made the processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CpuVendor {
    /// `GenuineIntel`.
    Intel,
    /// `AuthenticAMD`.
    Amd,
    /// `HygonGenuine`.
    Hygon,
    /// `CentaurHauls`.
    Centaur,
    /// `  Shanghai  `.
    Zhaoxin,
    /// Any other x86 vendor.
    OtherX86,
    /// Not an x86 processor.
    NotX86,
}

impl CpuVendor {
    /// From the CPUID vendor string or `vendor_id` in `/proc/cpuinfo`.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        match text.trim() {
            "GenuineIntel" | "Intel" => Self::Intel,
            "AuthenticAMD" | "AMD" => Self::Amd,
            "HygonGenuine" | "Hygon" => Self::Hygon,
            "CentaurHauls" | "Centaur" => Self::Centaur,
            "Shanghai" | "zhaoxin" | "Zhaoxin" => Self::Zhaoxin,
            _ => Self::OtherX86,
        }
    }
}

/// Vendor, family, model and name of a processor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CpuModel {
    /// Maker.
    pub vendor: CpuVendor,
    /// Family as Linux shows it (base + extended).
    pub family: u32,
    /// Model as Linux shows it (base + extended).
    pub model: u32,
    /// Marketing name.
    pub name: String,
}

/// CPU feature flags as the kernel shows them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Flags(pub BTreeSet<String>);

impl Flags {
    /// From a blank-separated list.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        Self(text.split_ascii_whitespace().map(str::to_owned).collect())
    }

    /// Whether the flag is shown.
    #[must_use]
    pub fn has(&self, flag: &str) -> bool {
        self.0.contains(flag)
    }
}

/// A set of CPU numbers in the kernel's list format (`0-3,8`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct CpuList(pub BTreeSet<u32>);

impl CpuList {
    /// Highest CPU number that is accepted (`CONFIG_NR_CPUS` is at most 8192 in any mainline
    /// configuration), so that a hostile list cannot exhaust memory.
    pub const MAX: u32 = 65_535;

    /// Parses the kernel's list format; an empty text is the empty set.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut set = BTreeSet::new();
        for part in text.trim().split(',').filter(|part| !part.is_empty()) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let number = |text: &str| {
                text.trim()
                    .parse::<u32>()
                    .ok()
                    .filter(|cpu| *cpu <= Self::MAX)
                    .ok_or_else(|| format!("{text:?} is not a CPU number in the list {:.60?}", part))
            };
            let (first, last) = (number(first)?, number(last)?);
            if first > last {
                return Err(format!("the CPU range {part:?} runs backwards"));
            }
            set.extend(first..=last);
        }
        Ok(Self(set))
    }

    /// Number of CPUs.
    #[must_use]
    pub fn count(&self) -> u32 {
        u32::try_from(self.0.len()).unwrap_or(u32::MAX)
    }
}

/// What `/proc/cpuinfo` tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cpuinfo {
    /// Number of `processor` blocks (online CPUs).
    pub processors: u32,
    /// Model of the first processor, on x86.
    pub model: Option<CpuModel>,
    /// Flags of the first processor (x86 `flags`, Arm `Features`).
    pub flags: Flags,
    /// Flags that not all processors have.
    pub differing: Vec<String>,
    /// Number of different `physical id` values.
    pub packages: Option<u32>,
}
