//! `/proc/cpuinfo` and CPU lists.

use crate::Arch;
use serde::Serialize;
use std::collections::BTreeSet;

/// The vendor of the processor.
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
    /// Parses the CPUID vendor string or `vendor_id` in `/proc/cpuinfo`.
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

impl std::fmt::Display for CpuVendor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Intel => "Intel",
            Self::Amd => "AMD",
            Self::Hygon => "Hygon",
            Self::Centaur => "Centaur",
            Self::Zhaoxin => "Zhaoxin",
            Self::OtherX86 => "another vendor",
            Self::NotX86 => "not x86",
        })
    }
}

/// Vendor, family, model and name of a processor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CpuModel {
    /// Vendor.
    pub vendor: CpuVendor,
    /// Family as Linux shows it (base + extended).
    pub family: u32,
    /// Model as Linux shows it (base + extended).
    pub model: u32,
    /// Marketing name.
    pub name: String,
}

/// The flags of the first two words, as the kernel shows them.
const FIRST_WORDS: [&str; 42] = [
    "fpu", "vme", "de", "pse", "tsc", "msr", "pae", "mce", "cx8", "apic", "sep", "mtrr", "pge",
    "mca", "cmov", "pat", "pse36", "pn", "clflush", "dts", "acpi", "mmx", "fxsr", "sse", "sse2",
    "ss", "ht", "tm", "ia64", "pbe", "syscall", "mp", "nx", "mmxext", "fxsr_opt", "pdpe1gb",
    "rdtscp", "lm", "3dnowext", "3dnow", "clflsh", "osfxsr",
];
/// CPU feature flags as the kernel shows them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Flags(pub BTreeSet<String>);

impl Flags {
    /// Parses a blank-separated list.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        Self(text.split_ascii_whitespace().map(str::to_owned).collect())
    }

    /// Whether a list of x86 flags reaches beyond the position of `lm`: `lm` is in the second word of flags, which
    /// the kernel prints in order (`x86_cap_flags[]` in arch/x86/kernel/cpu/capflags.c, `show_cpuinfo()`). The last
    /// flag may be truncated.
    #[must_use]
    pub(crate) fn go_past_long_mode(text: &str) -> bool {
        let mut flags = text.split_ascii_whitespace();
        flags.next_back();
        flags.any(|flag| !FIRST_WORDS.contains(&flag))
    }

    /// Whether the flag is in the list.
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
                text.trim().parse::<u32>().ok().filter(|cpu| *cpu <= Self::MAX).ok_or_else(|| {
                    format!("{text:?} is not a CPU number in the list {:.60?}", part)
                })
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

impl FromIterator<u32> for CpuList {
    fn from_iter<I: IntoIterator<Item = u32>>(cpus: I) -> Self {
        Self(cpus.into_iter().collect())
    }
}

/// The kernel's list format: `0-3,8`.
impl std::fmt::Display for CpuList {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut rest = self.0.iter().copied().peekable();
        let mut comma = "";
        while let Some(first) = rest.next() {
            let mut last = first;
            while let Some(next) = rest.next_if(|next| last.checked_add(1) == Some(*next)) {
                last = next;
            }
            match last {
                _ if last == first => write!(f, "{comma}{first}")?,
                _ => write!(f, "{comma}{first}-{last}")?,
            }
            comma = ",";
        }
        Ok(())
    }
}

/// The content of `/proc/cpuinfo`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cpuinfo {
    /// Number of `processor` blocks (online CPUs).
    pub processors: u32,
    /// Model of the first processor, on x86.
    pub model: Option<CpuModel>,
    /// Flags of the first processor (x86 `flags`, Arm `Features`).
    pub flags: Flags,
    /// Capabilities of the first processor for guests: the line `vmx flags`, on Intel (since Linux 5.6).
    pub vmx_flags: Option<Flags>,
    /// Flags that not all processors have.
    pub differing: Vec<String>,
    /// Numbers of the processors, if the blocks are numbered.
    pub numbers: CpuList,
    /// Number of different `physical id` values.
    pub packages: Option<u32>,
    /// The architecture of the kernel that wrote the file, where the format shows it.
    pub arch: Option<Arch>,
    /// `cpu MHz` of the first processor in kHz; 0 means that the kernel could not determine it.
    pub khz: Option<u64>,
    /// `bogomips` of each processor, in units of 1/1000, up to 64 of them. On x86 half of it is the
    /// TSC's rate in MHz: computed for the first processor, measured for the others.
    pub bogomips: Vec<u64>,
}

impl Cpuinfo {
    /// Maximum length of a line in bytes; longer lines are skipped. The longest, of flags, has a few thousand.
    const LINE: usize = 32 << 10;

    /// Parses `/proc/cpuinfo` of any architecture; unknown lines are skipped.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut info = Self::default();
        let mut form = Form::default();
        let mut first_flags: Option<&str> = None;
        let mut seen: Vec<&str> = Vec::new();
        let mut packages = BTreeSet::new();
        for line in text.lines().filter(|line| line.len() <= Self::LINE) {
            let Some((key, value)) = line.split_once(':') else { continue };
            let (key, value) = (key.trim(), value.trim());
            form.see(key, value);
            match key {
                "processor" => {
                    info.processors = info.processors.saturating_add(1);
                    let number = value.parse().ok().filter(|number: &u32| *number <= CpuList::MAX);
                    info.numbers.0.extend(number);
                }
                // s390 numbers its blocks `processor 0: version = ...`; the total is above the blocks.
                "# processors" => info.processors = value.parse().unwrap_or(info.processors),
                "cpu MHz" if info.khz.is_none() => info.khz = thousandths(value),
                "bogomips" if info.bogomips.len() < 64 => info.bogomips.extend(thousandths(value)),
                "vmx flags" if info.vmx_flags.is_none() => {
                    info.vmx_flags = Some(Flags::parse(value));
                }
                "physical id" => {
                    packages.extend(value.parse::<u32>().ok());
                }
                "flags" | "Features" | "features" | "isa" | "CPU features" => match first_flags {
                    None => {
                        first_flags = Some(value);
                        info.flags = Flags::parse(value);
                    }
                    // Thousands of equal lines are common: each distinct one is stored once.
                    Some(first) if first != value && !seen.contains(&value) && seen.len() < 64 => {
                        seen.push(value);
                    }
                    Some(_) => {}
                },
                _ => {}
            }
        }
        if let Some(first) = first_flags {
            info.differing = differing(first, &seen);
        }
        info.packages = u32::try_from(packages.len()).ok().filter(|count| *count > 0);
        info.model = form.model();
        info.arch = form.arch(&info.flags);
        info
    }
}

/// `2596.146` in thousandths, rounded; at most 10^12.
fn thousandths(text: &str) -> Option<u64> {
    let value = (text.parse::<f64>().ok()? * 1000.0).round();
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    (0.0..=1e12).contains(&value).then_some(value as u64)
}

/// Flags that some of the lines contain, and others do not.
fn differing(first: &str, others: &[&str]) -> Vec<String> {
    let sets: Vec<BTreeSet<&str>> = std::iter::once(&first)
        .chain(others)
        .map(|line| line.split_ascii_whitespace().collect())
        .collect();
    let all: BTreeSet<&str> = sets.iter().flatten().copied().collect();
    all.into_iter()
        .filter(|flag| !sets.iter().all(|set| set.contains(flag)))
        .map(str::to_owned)
        .collect()
}

/// The architecture and the first processor, according to the lines.
#[derive(Default)]
struct Form {
    vendor: Option<String>,
    family: Option<u32>,
    model: Option<u32>,
    name: Option<String>,
    x86_32: bool,
    arm: bool,
    arm64: bool,
    other: Option<Arch>,
}

impl Form {
    fn see(&mut self, key: &str, value: &str) {
        match key {
            "vendor_id" if value.starts_with("IBM/S390") => self.other = Some(Arch::S390),
            "vendor_id" if self.vendor.is_none() => self.vendor = Some(value.to_owned()),
            "cpu family" if self.family.is_none() => self.family = value.parse().ok(),
            "model" if self.model.is_none() => self.model = value.parse().ok(),
            "model name" if self.name.is_none() => self.name = Some(value.to_owned()),
            // Only show_cpuinfo_misc() of a 32-bit kernel writes these.
            "fdiv_bug" | "coma_bug" => self.x86_32 = true,
            "CPU implementer" => self.arm = true,
            // A 64-bit kernel writes the number 8 here; 32-bit ones write 5TE, 7 and, on the same
            // hardware, 8 as well, but then their features have names that Armv8 does not use.
            "CPU architecture" => self.arm64 = value == "8" || value == "AArch64",
            "Features" if value.split(' ').any(|f| f == "swp" || f == "thumb" || f == "half") => {
                self.other = Some(Arch::Arm);
            }
            "isa" if value.starts_with("rv32") => self.other = Some(Arch::Riscv32),
            "hart" | "isa" if self.other != Some(Arch::Riscv32) => self.other = Some(Arch::Riscv),
            "cpu" if value.starts_with("POWER") || value.contains("altivec") => {
                self.other = Some(Arch::Powerpc);
            }
            "timebase" => self.other = Some(Arch::Powerpc),
            "CPU Family" if value.starts_with("Loongson-32bit") => {
                self.other = Some(Arch::Loongarch32)
            }
            "CPU Family" if value.starts_with("Loongson") => self.other = Some(Arch::Loongarch),
            "cpu model" if value.contains("MIPS") || value.contains("Loongson") => {
                self.other = Some(Arch::Mips);
            }
            "ncpus probed" => self.other = Some(Arch::Sparc),
            _ => {}
        }
    }

    fn model(&self) -> Option<CpuModel> {
        if self.other.is_some() {
            return None;
        }
        Some(CpuModel {
            vendor: CpuVendor::parse(self.vendor.as_deref()?),
            family: self.family?,
            model: self.model?,
            name: self.name.clone().unwrap_or_default(),
        })
    }

    fn arch(&self, flags: &Flags) -> Option<Arch> {
        if let Some(arch) = self.other {
            return Some(arch);
        }
        if self.vendor.is_some() && self.family.is_some() {
            let long_mode = flags.has("lm") && !self.x86_32;
            return Some(if long_mode { Arch::X86_64 } else { Arch::X86 });
        }
        match (self.arm, self.arm64) {
            (true, true) => Some(Arch::Arm64),
            (true, false) => Some(Arch::Arm),
            (false, _) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn x86(cpus: &[(&str, &str)]) -> String {
        use std::fmt::Write;
        let mut text = String::new();
        for (number, (package, flags)) in cpus.iter().enumerate() {
            write!(
                text,
                "processor\t: {number}\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 106\n\
                 model name\t: Intel(R) Xeon(R): x\nphysical id\t: {package}\nflags\t\t: {flags}\n\n"
            )
            .unwrap();
        }
        text
    }

    #[test]
    fn x86_blocks() {
        let info =
            Cpuinfo::parse(&x86(&[("0", "fpu tsc lm"), ("1", "fpu tsc lm"), ("1", "fpu lm")]));
        assert_eq!(info.processors, 3);
        assert_eq!(info.packages, Some(2));
        assert_eq!(info.differing, ["tsc"]);
        assert!(info.flags.has("tsc"));
        assert_eq!(info.arch, Some(Arch::X86_64));
        let model = info.model.unwrap();
        assert_eq!((model.vendor, model.family, model.model), (CpuVendor::Intel, 6, 106));
        assert_eq!(model.name, "Intel(R) Xeon(R): x");
        let old = format!("{}fdiv_bug\t: no\n", x86(&[("0", "fpu tsc lm")]));
        assert_eq!(Cpuinfo::parse(&old).arch, Some(Arch::X86));
        assert_eq!(Cpuinfo::parse(&x86(&[("0", "fpu tsc")])).arch, Some(Arch::X86));
        assert!(Cpuinfo::parse(&x86(&[("0", "a b"), ("0", "a b")])).differing.is_empty());
    }

    #[test]
    fn the_first_processor_lacking_a_flag_is_a_difference_too() {
        let info =
            Cpuinfo::parse(&x86(&[("0", "fpu"), ("0", "fpu tsc"), ("0", "fpu nonstop_tsc")]));
        assert_eq!(info.differing, ["nonstop_tsc", "tsc"]);
    }

    #[test]
    fn other_architectures() {
        let arm64 = "processor\t: 0\nFeatures\t: fp asimd evtstrm\nCPU implementer\t: 0x41\n\
                     CPU architecture: 8\nCPU part\t: 0xd07\n\n";
        let info = Cpuinfo::parse(&format!("{arm64}{arm64}"));
        assert_eq!((info.processors, info.arch), (2, Some(Arch::Arm64)));
        assert!(info.model.is_none() && info.flags.has("asimd"));

        let arm = "processor\t: 0\nmodel name\t: ARMv7 Processor rev 3 (v7l)\n\
                   Features\t: half thumb fastmult vfp\nCPU implementer\t: 0x41\n\
                   CPU architecture: 7\n\nHardware\t: BCM2711\n";
        assert_eq!(Cpuinfo::parse(arm).arch, Some(Arch::Arm));

        let s390 = "vendor_id       : IBM/S390\n# processors    : 2\nbogomips per cpu: 3241.00\n\
                    features\t: esan3 zarch stfle\nprocessor 0: version = FF,  identification = 000000\n";
        let info = Cpuinfo::parse(s390);
        assert_eq!((info.processors, info.arch), (2, Some(Arch::S390)));
        assert!(info.model.is_none());

        let ppc = "processor\t: 0\ncpu\t\t: POWER9 (architected), altivec supported\n\
                   clock\t\t: 2.2GHz\n\ntimebase\t: 512000000\nplatform\t: pSeries\n";
        assert_eq!(Cpuinfo::parse(ppc).arch, Some(Arch::Powerpc));

        let riscv = "processor\t: 0\nhart\t\t: 0\nisa\t\t: rv64imafdc_sstc\nmmu\t\t: sv57\n";
        assert_eq!(Cpuinfo::parse(riscv).arch, Some(Arch::Riscv));
        assert_eq!(Cpuinfo::parse("").arch, None);
    }

    #[test]
    fn cpu_lists() {
        assert_eq!(CpuList::parse("0-3,8\n").unwrap().count(), 5);
        assert_eq!(CpuList::parse("").unwrap().count(), 0);
        for bad in ["3-1", "0-99999", "x", "1-", "-1", "4294967296"] {
            assert!(CpuList::parse(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_cpuinfo_parses(text in "[\\PC\n\t]{0,300}") {
            let info = Cpuinfo::parse(&text);
            prop_assert!(info.processors as usize <= text.len() || text.contains('#'));
        }

        #[test]
        fn lists_survive(cpus in proptest::collection::btree_set(0u32..2000, 0..40)) {
            let text = cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
            prop_assert_eq!(CpuList::parse(&text).unwrap().0, cpus);
        }

        #[test]
        fn any_list_is_bounded(text in "[0-9,\\- x]{0,60}") {
            if let Ok(list) = CpuList::parse(&text) {
                prop_assert!(list.0.iter().all(|cpu| *cpu <= CpuList::MAX));
            }
        }
    }
}
