//! Conditions on the machines of a rule. A condition holds, does not hold, or is open if the evidence does not show it.

use clocksmith_facts::cpu::CpuVendor;
use clocksmith_facts::hypervisor::{Cloud, Hypervisor, HypervisorKind};
use clocksmith_facts::version::{Kernel, Vendor as Builder};
use clocksmith_facts::{Arch, Facts};

/// A condition.
#[derive(Clone, Copy, Debug)]
pub enum Is {
    /// The kernel is for one of these architectures.
    Arch(&'static [Arch]),
    /// The machine is rented from one of these clouds.
    Cloud(&'static [Cloud]),
    /// The hypervisor presents itself as one of these.
    Hypervisor(&'static [HypervisorKind]),
    /// The machine is a virtual machine; Xen's initial domain is not one.
    Virtual,
    /// The processor is made by one of these.
    Processor(&'static [CpuVendor]),
    /// The kernel is one of RHEL or of a rebuild, of one of these major releases.
    Rhel {
        /// The first major release.
        from: u8,
        /// The last major release.
        to: u8,
    },
    /// The kernel is one of SLES or openSUSE.
    Suse,
    /// The kernel is built for real time, according to the name of its release.
    RealTime,
    /// Hyper-V grants the invariant TSC: bit 15 of its privileges, `AccessTscInvariant`.
    HypervGrantsTsc,
    /// The kernel release is in this range, both ends included.
    Release {
        /// The first release.
        from: &'static str,
        /// The last release.
        to: &'static str,
    },
}

/// Conditions: all of the first list hold, and none of the second.
#[derive(Clone, Copy, Debug)]
pub struct When {
    /// The conditions that must hold.
    pub all: &'static [Is],
    /// The conditions that must not hold.
    pub none: &'static [Is],
}

impl When {
    /// Conditions that must all hold, with none excluded.
    #[must_use]
    pub const fn all(all: &'static [Is]) -> Self {
        Self { all, none: &[] }
    }
}

/// Whether a condition holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holds {
    /// The condition holds.
    Yes,
    /// The condition does not hold.
    No,
    /// The evidence does not show it: these facts would.
    Open(Vec<Needed>),
}

/// A fact that the evidence lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needed {
    /// The name of the fact.
    pub fact: &'static str,
    /// The command that shows it.
    pub how: &'static str,
}

pub(super) const ARCHITECTURE: Needed = Needed { fact: "architecture", how: "uname -m" };
pub(super) const HYPERVISOR: Needed = Needed { fact: "hypervisor", how: "systemd-detect-virt" };
pub(super) const CLOUD: Needed = Needed {
    fact: "cloud",
    how: "grep . /sys/class/dmi/id/{sys_vendor,product_name,bios_version}",
};
pub(super) const PROCESSOR: Needed = Needed { fact: "processor", how: "lscpu" };
pub(super) const FLAGS: Needed =
    Needed { fact: "processor flags", how: "grep -m 1 ^flags /proc/cpuinfo" };
pub(super) const KERNEL: Needed = Needed { fact: "kernel release", how: "uname -r" };
pub(super) const PRIVILEGES: Needed =
    Needed { fact: "Hyper-V privileges", how: "dmesg | grep -i 'Hyper-V: privilege flags'" };
pub(super) const CURRENT: Needed = Needed {
    fact: "clocksource in use",
    how: "cat /sys/devices/system/clocksource/clocksource0/current_clocksource",
};

impl When {
    /// Whether the conditions hold for this machine.
    #[must_use]
    pub fn holds(&self, facts: &Facts) -> Holds {
        let mut open = Vec::new();
        let wanted = self.all.iter().map(|is| (is, Holds::No));
        let unwanted = self.none.iter().map(|is| (is, Holds::Yes));
        for (is, against) in wanted.chain(unwanted) {
            match is.holds(facts) {
                found if found == against => return Holds::No,
                Holds::Open(needed) => open.extend(needed),
                Holds::Yes | Holds::No => (),
            }
        }
        if open.is_empty() { Holds::Yes } else { Holds::Open(open) }
    }
}

impl Is {
    fn holds(&self, facts: &Facts) -> Holds {
        match self {
            Self::Arch(listed) => of(arch(facts, listed), ARCHITECTURE),
            Self::Cloud(listed) => of(cloud(facts, listed), CLOUD),
            Self::Hypervisor(listed) => {
                let under =
                    |h: &Option<Hypervisor>| h.as_ref().is_some_and(|h| listed.contains(&h.kind));
                of(facts.hypervisor.value().map(under), HYPERVISOR)
            }
            Self::Virtual => {
                let guest = |h: &Option<Hypervisor>| h.as_ref().is_some_and(|h| !h.xen_dom0);
                of(facts.hypervisor.value().map(guest), HYPERVISOR)
            }
            Self::Processor(listed) => {
                let made_by = facts.cpu.model.value().map(|model| listed.contains(&model.vendor));
                of(made_by.or_else(|| elsewhere(facts)), PROCESSOR)
            }
            Self::Rhel { from, to } => of(
                kernel(facts).map(
                    |k| matches!(k.vendor, Builder::Rhel(major) if (*from..=*to).contains(&major)),
                ),
                KERNEL,
            ),
            Self::Suse => of(kernel(facts).map(|k| k.vendor == Builder::Suse), KERNEL),
            Self::RealTime => of(kernel(facts).map(|k| is_real_time(&k.release)), KERNEL),
            Self::HypervGrantsTsc => of(grants_tsc(facts), PRIVILEGES),
            Self::Release { from, to } => {
                of(kernel(facts).map(|kernel| is_between(kernel, from, to)), KERNEL)
            }
        }
    }
}

fn of(known: Option<bool>, needed: Needed) -> Holds {
    match known {
        Some(true) => Holds::Yes,
        Some(false) => Holds::No,
        None => Holds::Open(vec![needed]),
    }
}

fn kernel(facts: &Facts) -> Option<&Kernel> {
    facts.kernel.value()
}

/// If the width is open, the list must contain both architectures, or neither.
fn arch(facts: &Facts, listed: &[Arch]) -> Option<bool> {
    let arch = *facts.arch.value()?;
    let found = listed.contains(&arch);
    match arch.with_32_bits().filter(|_| facts.width_open) {
        Some(narrow) if listed.contains(&narrow) != found => None,
        _ => Some(found),
    }
}

/// A processor of another architecture is not made by a vendor of x86 processors.
fn elsewhere(facts: &Facts) -> Option<bool> {
    (!facts.arch.value()?.is_x86()).then_some(false)
}

/// If the hypervisor rules a cloud out, the firmware need not identify the cloud.
fn cloud(facts: &Facts, listed: &[Cloud]) -> Option<bool> {
    if let Some(cloud) = facts.cloud.value() {
        return Some(listed.contains(cloud));
    }
    // The firmware names a machine, and not one of these clouds.
    let named = facts.dmi.value().is_some_and(|text| !text.trim().is_empty());
    if named && listed.iter().all(|cloud| cloud.names_itself()) {
        return Some(false);
    }
    let under = facts.hypervisor.value()?;
    let kind = under.as_ref().map(|h| h.kind);
    (!listed.iter().any(|cloud| may_be_under(*cloud, kind))).then_some(false)
}

/// Whether a cloud rents machines of this kind; `None` is bare metal.
fn may_be_under(cloud: Cloud, kind: Option<HypervisorKind>) -> bool {
    use HypervisorKind as H;
    let xen = matches!(kind, Some(H::Xen | H::XenHvm | H::XenPvh | H::XenPv));
    let kvm = matches!(kind, None | Some(H::Kvm));
    match cloud {
        Cloud::Ec2Xen => xen,
        Cloud::Ec2Nitro | Cloud::Gce | Cloud::Oci => kvm,
        Cloud::Azure => matches!(kind, None | Some(H::Hyperv)),
        Cloud::Alibaba | Cloud::DigitalOcean | Cloud::Hetzner | Cloud::OpenStack | Cloud::None => {
            true
        }
    }
}

/// Whether Hyper-V grants the invariant TSC; false under another hypervisor.
fn grants_tsc(facts: &Facts) -> Option<bool> {
    const ACCESS_TSC_INVARIANT: u32 = 1 << 15;
    let Some(hypervisor) = facts.hypervisor.value()? else { return Some(false) };
    if !hypervisor.presents(HypervisorKind::Hyperv) {
        return Some(false);
    }
    hypervisor.hyperv_privileges.map(|privileges| privileges & ACCESS_TSC_INVARIANT != 0)
}

/// `4.18.0-553.rt7.342.el8_10.x86_64`, `5.14.0-570.el9.x86_64+rt`, `5.14.21-150500.13.5-rt`.
fn is_real_time(release: &str) -> bool {
    release.contains(".rt") || release.ends_with("+rt") || release.ends_with("-rt")
}

/// Whether a release is in a range of the distribution's packages.
fn is_between(kernel: &Kernel, from: &str, to: &str) -> bool {
    // A SUSE release omits the number of the build, which is the last number of the package: 24.33 is 24.33.1 or a
    // later build. No build has the number 0, so a range that ends with 0 ends before the first build.
    let (first, last) = if kernel.vendor == Builder::Suse { (1, u64::MAX) } else { (0, 0) };
    let at = numbers(&kernel.release);
    compare(&at, last, &numbers(from)).is_ge() && compare(&at, first, &numbers(to)).is_le()
}

/// The numbers at the beginning of a release: those of `5.14.0-570.12.1.el9_6.x86_64` are 5, 14, 0, 570, 12 and 1.
fn numbers(release: &str) -> Vec<u64> {
    release.split(['.', '-']).map_while(|part| part.parse().ok()).collect()
}

/// Compares numbers in order; `missing` replaces the numbers that the first list lacks, 0 those of the second.
fn compare(left: &[u64], missing: u64, right: &[u64]) -> std::cmp::Ordering {
    let length = left.len().max(right.len());
    let at = |list: &[u64], index: usize, missing| list.get(index).copied().unwrap_or(missing);
    (0..length)
        .map(|index| at(left, index, missing).cmp(&at(right, index, 0)))
        .find(|order| order.is_ne())
        .unwrap_or(std::cmp::Ordering::Equal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clocksmith_facts::{Fact, Origin};
    use proptest::prelude::*;

    fn kernel_of(release: &str) -> Kernel {
        Kernel::parse(release).unwrap()
    }

    #[test]
    fn ranges_are_those_of_packages() {
        let hits = |release: &str, from: &str, to: &str| is_between(&kernel_of(release), from, to);
        // Red Hat: the first kernel of a release has no update number.
        for (release, found) in [
            ("5.14.0-570.el9_6.x86_64", true),
            ("5.14.0-570.12.0.el9_6.x86_64", true),
            ("5.14.0-570.12.1.el9_6.x86_64", false),
            ("5.14.0-427.13.1.el9_4.x86_64", false),
            ("5.14.0-503.11.1.el9_5.x86_64", false),
        ] {
            assert_eq!(hits(release, "5.14.0-570", "5.14.0-570.12.0"), found, "{release}");
        }
        // SUSE: the release omits the build.
        for (release, found) in [
            ("5.14.21-150400.24.28-default", false),
            ("5.14.21-150400.24.33-default", true),
            ("5.14.21-150400.24.38-default", true),
            ("5.14.21-150400.24.41-default", false),
            ("5.14.21-150500.24.38-default", false),
        ] {
            let (from, to) = ("5.14.21-150400.24.33.2", "5.14.21-150400.24.41.0");
            assert_eq!(hits(release, from, to), found, "{release}");
        }
        for (release, found) in
            [("4.12.14-122.147-default", true), ("4.12.14-122.150-default", false)]
        {
            let (from, to) = ("4.12.14-122.144.1", "4.12.14-122.147.1");
            assert_eq!(hits(release, from, to), found, "{release}");
        }
    }

    #[test]
    fn real_time_kernels_are_known_by_their_release() {
        for (release, found) in [
            ("4.18.0-553.rt7.342.el8_10.x86_64", true),
            ("5.14.0-570.12.1.el9_6.x86_64+rt", true),
            ("6.12.0-55.9.1.el10_0.x86_64", false),
            ("6.1.0-13-amd64", false),
        ] {
            assert_eq!(is_real_time(release), found, "{release}");
        }
    }

    #[test]
    fn hypervisor_rules_clouds_out() {
        let mut facts = Facts::empty(Origin::Stated);
        let ec2 = Is::Cloud(&[Cloud::Ec2Nitro]);
        assert_eq!(ec2.holds(&facts), Holds::Open(vec![CLOUD]));
        let vmware = Hypervisor::named(HypervisorKind::Vmware);
        facts.hypervisor = Fact::known(Some(vmware), "cpuid");
        assert_eq!(ec2.holds(&facts), Holds::No);
        facts.cloud = Fact::known(Cloud::Ec2Nitro, "dmi");
        assert_eq!(ec2.holds(&facts), Holds::Yes);
        // Firmware with another name rules out only a cloud whose firmware names its machines.
        let mut facts = Facts::empty(Origin::Stated);
        facts.dmi = Fact::known("QEMU Standard PC (Q35 + ICH9, 2009)".to_owned(), "dmesg:1");
        assert_eq!(ec2.holds(&facts), Holds::No);
        assert_eq!(Is::Cloud(&[Cloud::Oci]).holds(&facts), Holds::Open(vec![CLOUD]));
    }

    proptest! {
        #[test]
        fn releases_of_any_shape_are_compared(text in "\\PC{0,40}", from in "[0-9.-]{0,12}") {
            if let Some(kernel) = Kernel::parse(&text) {
                is_between(&kernel, &from, &text);
            }
        }

        #[test]
        fn ranges_hold_their_ends(numbers in prop::collection::vec(0u64..1000, 3..7)) {
            let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
            let text = format!("{}-{}", numbers[..3].join("."), numbers[3..].join("."));
            let kernel = Kernel {
                version: clocksmith_facts::version::Version::parse(&text).unwrap(),
                release: text.clone(),
                vendor: Builder::Rhel(9),
            };
            prop_assert!(is_between(&kernel, &text, &text));
        }
    }
}
