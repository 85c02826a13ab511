//! Raw CPUID leaves of every CPU: the text that `cpuid -r` prints, and the meaning of the bits.
//!
//! A processor also answers a leaf beyond its highest one (Intel repeats the
//! highest basic leaf, AMD returns zeros), and dump tools record it. So every accessor here checks
//! the highest leaf first.

mod hypervisor;
mod text;

use crate::hypervisor::{HypervisorKind, Signature};
use serde::Serialize;
use std::collections::BTreeMap;

/// The four registers that one CPUID leaf returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Regs {
    /// EAX.
    pub eax: u32,
    /// EBX.
    pub ebx: u32,
    /// ECX.
    pub ecx: u32,
    /// EDX.
    pub edx: u32,
}

/// The leaves of one CPU, by (leaf, sub-leaf).
pub type Leaves = BTreeMap<(u32, u32), Regs>;

/// Raw CPUID leaves, per CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuidDump {
    /// Leaves by CPU number.
    pub cpus: BTreeMap<u32, Leaves>,
    /// CPUs that could not be queried, with the reason.
    pub unasked: BTreeMap<u32, String>,
}

impl Serialize for CpuidDump {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{} CPUs", self.cpus.len()))
    }
}

/// Leaf 0x15: the ratio of the TSC to the core crystal clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TscRatio {
    /// EAX; never 0.
    pub denominator: u32,
    /// EBX; never 0.
    pub numerator: u32,
    /// ECX, in Hz, where the processor states it.
    pub crystal_hz: Option<u32>,
}

impl TscRatio {
    /// The TSC frequency in Hz, if the crystal's frequency is stated.
    #[must_use]
    pub fn tsc_hz(&self) -> Option<u64> {
        let crystal = u64::from(self.crystal_hz?);
        Some(crystal * u64::from(self.numerator) / u64::from(self.denominator))
    }
}

/// Leaf 0x16: frequencies in MHz; zero means that the processor does not state it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct BaseFrequency {
    /// Base frequency.
    pub base_mhz: u32,
    /// Maximum frequency.
    pub max_mhz: u32,
    /// Bus (reference) frequency.
    pub bus_mhz: u32,
}

/// A property that should be the same on all CPUs and is not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The property: `invariant TSC`, `TSC_ADJUST`, `TSC ratio` ...
    pub what: &'static str,
    /// The leaf and register.
    pub leaf: &'static str,
    /// CPUs by value; two entries or more.
    pub values: BTreeMap<u32, Vec<u32>>,
}

/// The properties compared between CPUs: name, place, leaf, register (0 is EAX), mask.
const COMPARED: [(&str, &str, u32, usize, u32); 12] = [
    ("family, model, stepping", "0x1 eax", 1, 0, 0x0fff_3fff),
    ("hypervisor bit", "0x1 ecx[31]", 1, 2, 1 << 31),
    ("TSC", "0x1 edx[4]", 1, 3, 1 << 4),
    ("TSC deadline timer", "0x1 ecx[24]", 1, 2, 1 << 24),
    ("always running APIC timer", "0x6 eax[2]", 6, 0, 1 << 2),
    ("TSC_ADJUST", "0x7 ebx[1]", 7, 1, 1 << 1),
    ("TSC ratio denominator", "0x15 eax", 0x15, 0, u32::MAX),
    ("TSC ratio numerator", "0x15 ebx", 0x15, 1, u32::MAX),
    ("crystal frequency", "0x15 ecx", 0x15, 2, u32::MAX),
    ("base frequency", "0x16 eax", 0x16, 0, 0xffff),
    ("invariant TSC", "0x80000007 edx[8]", 0x8000_0007, 3, 1 << 8),
    ("hypervisor's highest leaf", "0x40000000 eax", 0x4000_0000, 0, u32::MAX),
];

impl Regs {
    /// The register by number: EAX, EBX, ECX, EDX.
    #[must_use]
    pub fn by_index(&self, index: usize) -> Option<u32> {
        [self.eax, self.ebx, self.ecx, self.edx].get(index).copied()
    }
}

impl CpuidDump {
    /// The lowest CPU number, whose leaves are complete.
    #[must_use]
    pub fn first(&self) -> Option<u32> {
        self.cpus.keys().next().copied()
    }

    /// A leaf of one CPU, if the CPU has that leaf: a leaf beyond the highest one is `None` even if the dump contains
    /// an answer.
    #[must_use]
    pub fn leaf(&self, cpu: u32, leaf: u32, subleaf: u32) -> Option<Regs> {
        let leaves = self.cpus.get(&cpu)?;
        let regs = leaves.get(&(leaf, subleaf))?;
        let base = match leaf {
            0x4000_0000..=0x4001_ffff => leaf & 0xffff_ff00,
            _ => leaf & 0xffff_0000,
        };
        // Without the leaf that states the highest one, any leaf of the dump is accepted.
        let Some(head) = leaves.get(&(base, 0)) else { return Some(*regs) };
        let highest = match base {
            // Old KVM states 0 as the highest leaf, and has base + 1.
            0x4000_0000..=0x4001_ffff => {
                signature_at(base, head)?;
                if head.eax == 0 { base + 1 } else { head.eax }
            }
            _ => head.eax,
        };
        (leaf <= highest).then_some(*regs)
    }

    fn of_first(&self, leaf: u32, subleaf: u32) -> Option<Regs> {
        self.leaf(self.first()?, leaf, subleaf)
    }

    /// The vendor string (`GenuineIntel`).
    #[must_use]
    pub fn vendor(&self) -> Option<String> {
        let regs = self.of_first(0, 0)?;
        Some(text_of([regs.ebx, regs.edx, regs.ecx]))
    }

    /// Family and model as Linux computes them from leaf 1 (base and extended).
    #[must_use]
    pub fn family_model(&self) -> Option<(u32, u32)> {
        let eax = self.of_first(1, 0)?.eax;
        let (base, extended) = ((eax >> 8) & 0xf, (eax >> 20) & 0xff);
        let family = if base == 0xf { base + extended } else { base };
        let model = (eax >> 4) & 0xf;
        // Source: x86_model() in arch/x86/lib/cpu.c.
        let model = if family >= 6 { model | ((eax >> 12) & 0xf0) } else { model };
        Some((family, model))
    }

    /// The marketing name of leaves 0x80000002 to 0x80000004.
    #[must_use]
    pub fn brand(&self) -> Option<String> {
        let mut name = String::new();
        for leaf in 0x8000_0002..=0x8000_0004 {
            let regs = self.of_first(leaf, 0)?;
            for part in [regs.eax, regs.ebx, regs.ecx, regs.edx] {
                name.extend(part.to_le_bytes().iter().take_while(|b| **b != 0).map(|b| *b as char));
            }
        }
        Some(name.trim().to_owned())
    }

    /// Whether the CPU has a TSC (leaf 1 EDX bit 4).
    #[must_use]
    pub fn tsc(&self) -> Option<bool> {
        self.of_first(1, 0).map(|regs| regs.edx & (1 << 4) != 0)
    }

    /// Whether a hypervisor declares its presence (leaf 1 ECX bit 31).
    #[must_use]
    pub fn hypervisor_bit(&self) -> Option<bool> {
        self.of_first(1, 0).map(|regs| regs.ecx & (1 << 31) != 0)
    }

    /// Invariant TSC (leaf 0x80000007 EDX bit 8); a CPU without that leaf has none.
    #[must_use]
    pub fn invariant_tsc(&self) -> Option<bool> {
        self.bit(0x8000_0007, 3, 8)
    }

    /// The TSC_ADJUST register (leaf 7 EBX bit 1); a CPU without that leaf has none.
    #[must_use]
    pub fn tsc_adjust(&self) -> Option<bool> {
        self.bit(7, 1, 1)
    }

    /// The always running APIC timer (leaf 6 EAX bit 2); a CPU without that leaf has none.
    #[must_use]
    pub fn arat(&self) -> Option<bool> {
        self.bit(6, 0, 2)
    }

    fn bit(&self, leaf: u32, register: usize, bit: u32) -> Option<bool> {
        let cpu = self.first()?;
        match self.leaf(cpu, leaf, 0).and_then(|regs| regs.by_index(register)) {
            Some(value) => Some(value & (1 << bit) != 0),
            // Beyond the highest leaf: the CPU lacks the feature. Otherwise the dump is incomplete.
            None => {
                let head = self.cpus.get(&cpu)?.get(&(leaf & 0x8000_0000, 0))?;
                (head.eax < leaf).then_some(false)
            }
        }
    }

    /// The TSC ratio of leaf 0x15, if the CPU states one.
    #[must_use]
    pub fn tsc_ratio(&self) -> Option<TscRatio> {
        let regs = self.of_first(0x15, 0)?;
        (regs.eax != 0 && regs.ebx != 0).then_some(TscRatio {
            denominator: regs.eax,
            numerator: regs.ebx,
            crystal_hz: (regs.ecx != 0).then_some(regs.ecx),
        })
    }

    /// The frequencies of leaf 0x16, if the CPU states any.
    #[must_use]
    pub fn base_frequency(&self) -> Option<BaseFrequency> {
        let regs = self.of_first(0x16, 0)?;
        let low = |value: u32| value & 0xffff;
        (low(regs.eax) != 0).then_some(BaseFrequency {
            base_mhz: low(regs.eax),
            max_mhz: low(regs.ebx),
            bus_mhz: low(regs.ecx),
        })
    }

    /// The hypervisor signatures of the first CPU, at every base, lowest first.
    #[must_use]
    pub fn signatures(&self) -> Vec<Signature> {
        let Some(leaves) = self.first().and_then(|cpu| self.cpus.get(&cpu)) else {
            return Vec::new();
        };
        leaves
            .range((0x4000_0000, 0)..(0x4001_0100, 0))
            .filter(|((leaf, subleaf), _)| leaf & 0xff == 0 && *subleaf == 0)
            .filter_map(|((leaf, _), regs)| signature_at(*leaf, regs))
            .collect()
    }

    /// The unexpected differences between CPUs (APIC ids and similar properties are not compared).
    #[must_use]
    pub fn differences(&self) -> Vec<Difference> {
        let mut found = Vec::new();
        for (what, place, leaf, register, mask) in COMPARED {
            let mut values: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
            for cpu in self.cpus.keys() {
                if let Some(value) = self.leaf(*cpu, leaf, 0).and_then(|r| r.by_index(register)) {
                    values.entry(value & mask).or_default().push(*cpu);
                }
            }
            if values.len() > 1 {
                found.push(Difference { what, leaf: place, values });
            }
        }
        found
    }
}

/// The signature in the registers of a hypervisor base leaf; `None` if the registers only
/// repeat another leaf (no printable text, or a highest leaf elsewhere).
pub(crate) fn signature_at(base: u32, regs: &Regs) -> Option<Signature> {
    if regs.eax != 0 && !(base..base.saturating_add(0x1_0000)).contains(&regs.eax) {
        return None;
    }
    let raw: Vec<u8> =
        [regs.ebx, regs.ecx, regs.edx].iter().flat_map(|part| part.to_le_bytes()).collect();
    let end = raw.iter().rposition(|byte| *byte != 0)? + 1;
    let text = std::str::from_utf8(&raw[..end]).ok()?;
    if !text.bytes().all(|byte| (0x20..0x7f).contains(&byte) || byte == 0)
        || !text.bytes().any(|byte| byte.is_ascii_alphabetic())
    {
        return None;
    }
    let text = text.trim_matches('\0').to_owned();
    let kind = HypervisorKind::from_signature(&text);
    Some(Signature { base, max_leaf: regs.eax, kind, text })
}

fn text_of(parts: [u32; 3]) -> String {
    let bytes: Vec<u8> = parts.iter().flat_map(|part| part.to_le_bytes()).collect();
    String::from_utf8_lossy(&bytes).trim_matches('\0').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const INTEL: &str = "CPU 0:\n\
        \x20  0x00000000 0x00: eax=0x00000016 ebx=0x756e6547 ecx=0x6c65746e edx=0x49656e69\n\
        \x20  0x00000001 0x00: eax=0x000906ea ebx=0x00100800 ecx=0x7ffafbff edx=0xbfebfbff\n\
        \x20  0x00000015 0x00: eax=0x00000002 ebx=0x0000010a ecx=0x016e3600 edx=0x00000000\n";

    #[test]
    fn numbered_and_unnumbered_blocks() {
        let dump =
            CpuidDump::parse(&format!("{INTEL}{}", INTEL.replace("CPU 0", "CPU 7"))).unwrap();
        assert_eq!(dump.cpus.keys().collect::<Vec<_>>(), [&0, &7]);
        let bare = INTEL.replace("CPU 0", "CPU");
        let dump = CpuidDump::parse(&format!("{bare}{bare}CPU 9: cannot run there\n")).unwrap();
        assert_eq!(dump.cpus.keys().collect::<Vec<_>>(), [&0, &1]);
        assert_eq!(dump.unasked[&9], "cannot run there");
        assert_eq!(dump.leaf(0, 1, 0).unwrap().eax, 0x0009_06ea);
        assert!(CpuidDump::parse("CPU 0:\nnothing").is_err());
    }

    #[test]
    fn what_the_bits_say() {
        let dump = CpuidDump::parse(INTEL).unwrap();
        assert_eq!(dump.vendor().as_deref(), Some("GenuineIntel"));
        assert_eq!(dump.family_model(), Some((6, 158)));
        let ratio = dump.tsc_ratio().unwrap();
        assert_eq!((ratio.numerator, ratio.denominator), (266, 2));
        assert_eq!(ratio.tsc_hz(), Some(3_192_000_000));
        assert_eq!((dump.tsc(), dump.hypervisor_bit()), (Some(true), Some(false)));
        assert!(dump.differences().is_empty() && dump.signatures().is_empty());
    }

    #[test]
    fn apic_ids_are_not_a_difference_and_frequencies_are() {
        let other = INTEL.replace("CPU 0", "CPU 1").replace("ebx=0x00100800", "ebx=0x02100800");
        let same = CpuidDump::parse(&format!("{INTEL}{other}")).unwrap();
        assert!(same.differences().is_empty());
        let other = other.replace("ebx=0x0000010a", "ebx=0x0000010c");
        let dump = CpuidDump::parse(&format!("{INTEL}{other}")).unwrap();
        let found = dump.differences();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].leaf, "0x15 ebx");
        assert_eq!(found[0].values, [(0x10a, vec![0]), (0x10c, vec![1])].into());
    }

    fn regs() -> impl Strategy<Value = Regs> {
        any::<[u32; 4]>().prop_map(|[eax, ebx, ecx, edx]| Regs { eax, ebx, ecx, edx })
    }

    proptest! {
        #[test]
        fn text_survives(cpus in proptest::collection::btree_map(0u32..9,
            proptest::collection::btree_map((any::<u32>(), 0u32..4), regs(), 1..6), 1..4)) {
            let dump = CpuidDump { cpus, unasked: BTreeMap::new() };
            prop_assert_eq!(CpuidDump::parse(&dump.to_string()), Ok(dump));
        }

        #[test]
        fn any_leaves_are_understood_without_panic(leaves in proptest::collection::btree_map(
            (proptest::sample::select(vec![0u32, 1, 6, 7, 0x15, 0x16, 0x4000_0000, 0x4000_0001, 0x4000_0003,
                0x4000_0010, 0x4000_0100, 0x4001_0000, 0x8000_0000, 0x8000_0002, 0x8000_0007]), 0u32..2),
            regs(), 1..15)) {
            let dump = CpuidDump { cpus: [(0, leaves)].into(), unasked: BTreeMap::new() };
            let _ = (dump.vendor(), dump.family_model(), dump.brand(), dump.invariant_tsc());
            let _ = (dump.tsc_ratio().map(|ratio| ratio.tsc_hz()), dump.base_frequency());
            let _ = crate::hypervisor::Hypervisor::from_cpuid(&dump);
        }

        #[test]
        fn any_text(text in "(CPU [0-9]{0,3}:? ?|0x[0-9a-f]{1,9} 0x0{1,2}:|[ \n]|e[abcd]x=0x[0-9a-f]{0,9} ?){0,30}") {
            let _ = CpuidDump::parse(&text);
        }
    }
}
