//! The hypervisor of this kernel, and the clocks that it offers.

use serde::Serialize;

/// A hypervisor, as CPUID (or DMI, or the kernel log) names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum HypervisorKind {
    /// KVM: QEMU/KVM, Firecracker, cloud-hypervisor, Nitro, GCE.
    Kvm,
    /// Xen, and it is not known whether as PV, PVH or HVM.
    Xen,
    /// Xen, fully virtualised.
    XenHvm,
    /// Xen, paravirtualised with the processor's own virtualisation, without emulated devices.
    XenPvh,
    /// Xen, paravirtualised.
    XenPv,
    /// VMware.
    Vmware,
    /// Microsoft Hyper-V, Azure, WSL 2.
    Hyperv,
    /// Jailhouse.
    Jailhouse,
    /// ACRN.
    Acrn,
    /// bhyve.
    Bhyve,
    /// QEMU's software emulation: no paravirtual interface at all.
    Tcg,
    /// VirtualBox without a paravirtual interface.
    VirtualBox,
    /// Parallels.
    Parallels,
    /// OpenBSD's vmm.
    OpenbsdVmm,
    /// Another one; the kernel has no code for it.
    Other,
}

impl HypervisorKind {
    /// The common name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Kvm => "KVM",
            Self::Xen => "Xen",
            Self::XenHvm => "Xen HVM",
            Self::XenPvh => "Xen PVH",
            Self::XenPv => "Xen PV",
            Self::Vmware => "VMware",
            Self::Hyperv => "Hyper-V",
            Self::Jailhouse => "Jailhouse",
            Self::Acrn => "ACRN",
            Self::Bhyve => "bhyve",
            Self::Tcg => "QEMU (software emulation)",
            Self::VirtualBox => "VirtualBox",
            Self::Parallels => "Parallels",
            Self::OpenbsdVmm => "OpenBSD vmm",
            Self::Other => "an unknown hypervisor",
        }
    }

    /// From a CPUID signature (EBX, ECX, EDX of leaf 0x40000000 + n * 0x100), NUL bytes trimmed.
    #[must_use]
    pub(crate) fn from_signature(signature: &str) -> Option<Self> {
        Some(match signature.trim_matches(['\0', ' ']) {
            "KVMKVMKVM" => Self::Kvm,
            "XenVMMXenVMM" => Self::XenHvm,
            "VMwareVMware" => Self::Vmware,
            "Microsoft Hv" => Self::Hyperv,
            "Jailhouse" => Self::Jailhouse,
            "ACRNACRNACRN" => Self::Acrn,
            "bhyve bhyve" => Self::Bhyve,
            "TCGTCGTCGTCG" => Self::Tcg,
            "VBoxVBoxVBox" => Self::VirtualBox,
            "prl hyperv" | "lrpepyh  vr" => Self::Parallels,
            "OpenBSDVMM58" => Self::OpenbsdVmm,
            _ => return None,
        })
    }

    /// From the name in `Hypervisor detected: NAME`.
    #[must_use]
    pub(crate) fn from_log_name(name: &str) -> Option<Self> {
        Some(match name.trim() {
            "KVM" => Self::Kvm,
            // Until 4.12 one entry served PV and HVM: x86_hyper_xen in arch/x86/xen/enlighten.c.
            "Xen" => Self::Xen,
            "Xen HVM" => Self::XenHvm,
            "Xen PVH" => Self::XenPvh,
            "Xen PV" => Self::XenPv,
            "VMware" => Self::Vmware,
            "Microsoft Hyper-V" | "Microsoft HyperV" => Self::Hyperv,
            "Jailhouse" => Self::Jailhouse,
            "ACRN" => Self::Acrn,
            "Bhyve" => Self::Bhyve,
            _ => return None,
        })
    }
}

/// The hypervisor that the kernel runs under.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hypervisor {
    /// Which one it presents itself as first (the one that Linux would use is a rule of the kernel
    /// model: several may be presented).
    pub kind: HypervisorKind,
    /// All signatures in the order of their CPUID base, with the base leaf.
    pub signatures: Vec<Signature>,
    /// Hyper-V: EAX of leaf base+3, the privilege flags (bit 15 is AccessTscInvariant).
    pub hyperv_privileges: Option<u32>,
    /// KVM: EAX of leaf base+1, the feature bits (bit 3 and 0 are the clock interfaces).
    pub kvm_features: Option<u32>,
    /// Xen: EBX of leaf base+3 sub-leaf 0, the TSC mode (2 is "never emulated").
    pub xen_tsc_mode: Option<u32>,
    /// TSC frequency in kHz from leaf 0x40000010, where presented.
    pub timing_leaf_khz: Option<u32>,
    /// Xen: this is the initial domain (dom0).
    pub xen_dom0: bool,
    /// The firmware is VirtualBox's, which presents another hypervisor's interface (`--paravirtprovider`).
    pub virtualbox: bool,
}

impl Hypervisor {
    /// A hypervisor of which only the name is known.
    #[must_use]
    pub fn named(kind: HypervisorKind) -> Self {
        Self {
            kind,
            signatures: Vec::new(),
            hyperv_privileges: None,
            kvm_features: None,
            xen_tsc_mode: None,
            timing_leaf_khz: None,
            xen_dom0: false,
            virtualbox: false,
        }
    }

    /// KVM: whether the guest may believe the stable bit of the clock's page: bit 24 of the feature
    /// leaf, `KVM_FEATURE_CLOCKSOURCE_STABLE_BIT`. Without it the kernel masks the bit
    /// (`pvclock_set_flags()` is not called by `kvmclock_init()`, 2.6.35 and later). With it the page
    /// decides.
    #[must_use]
    pub fn kvm_stable_bit_offered(&self) -> Option<bool> {
        self.kvm_features.map(|features| features & (1 << 24) != 0)
    }

    /// The common name, with the hypervisor whose interface it presents if that differs.
    #[must_use]
    pub fn name(&self) -> String {
        match self.virtualbox && self.kind != HypervisorKind::VirtualBox {
            true => format!("VirtualBox, with the interface of {}", self.kind.name()),
            false => self.kind.name().to_owned(),
        }
    }

    /// Whether that hypervisor's signature is presented at any base, or it is the named one.
    #[must_use]
    pub fn presents(&self, kind: HypervisorKind) -> bool {
        self.kind == kind || self.signatures.iter().any(|s| s.kind == Some(kind))
    }
}

impl HypervisorKind {
    /// The hypervisor that a clocksource's name reveals.
    #[must_use]
    pub fn from_clocksource(name: &str) -> Option<Self> {
        match name {
            "kvm-clock" => Some(Self::Kvm),
            "xen" => Some(Self::Xen),
            name if name.starts_with("hyperv_clocksource") => Some(Self::Hyperv),
            _ => None,
        }
    }
}

/// One CPUID hypervisor signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Signature {
    /// The leaf: 0x40000000 + n * 0x100.
    pub base: u32,
    /// Highest leaf (EAX).
    pub max_leaf: u32,
    /// The twelve characters, NUL bytes trimmed.
    pub text: String,
    /// The hypervisor, if the text is known.
    pub kind: Option<HypervisorKind>,
}

/// A cloud or hosting platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cloud {
    /// Amazon EC2 on Xen.
    Ec2Xen,
    /// Amazon EC2 on Nitro.
    Ec2Nitro,
    /// Microsoft Azure.
    Azure,
    /// Google Compute Engine.
    Gce,
    /// Oracle Cloud.
    Oci,
    /// Alibaba Cloud.
    Alibaba,
    /// DigitalOcean.
    DigitalOcean,
    /// Hetzner.
    Hetzner,
    /// OpenStack (any operator).
    OpenStack,
    /// None that DMI names.
    None,
}

impl Cloud {
    /// Whether vendor and product in the firmware identify each machine of this cloud: then another name excludes it.
    /// Azure and Oracle's cloud are only identified by the asset tag, and an OpenStack by a name that its operator
    /// chooses.
    #[must_use]
    pub fn names_itself(self) -> bool {
        match self {
            Self::Ec2Xen
            | Self::Ec2Nitro
            | Self::Gce
            | Self::Alibaba
            | Self::DigitalOcean
            | Self::Hetzner => true,
            Self::Azure | Self::Oci | Self::OpenStack | Self::None => false,
        }
    }
}

/// Whether the firmware's name of a machine is one of virtual machines. Clouds rent out hardware
/// under their name as well: EC2 then adds `.metal`.
#[must_use]
pub fn names_guest(dmi: &str) -> bool {
    const NAMES: [&str; 23] = [
        "QEMU",
        "KVM",
        "Bochs",
        "Standard PC (",
        "VMware",
        "VirtualBox",
        "innotek",
        "Virtual Machine",
        "BHYVE",
        "Parallels",
        "HVM domU",
        "OpenStack",
        "oVirt",
        "RHEV",
        "Google Compute Engine",
        "Amazon EC2",
        "Alibaba Cloud ECS",
        "Droplet",
        "vServer",
        "Nutanix AHV",
        "Apple Virtualization",
        "OxVM",
        "CloudStack",
    ];
    NAMES.iter().any(|name| dmi.contains(name)) && !dmi.contains(".metal")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stable_bit_is_bit_24_of_kvms_features() {
        let mut found = Hypervisor::named(HypervisorKind::Kvm);
        assert_eq!(found.kvm_stable_bit_offered(), None);
        found.kvm_features = Some(0x0100_7efb);
        assert_eq!(found.kvm_stable_bit_offered(), Some(true));
        found.kvm_features = Some(0x0000_7efb);
        assert_eq!(found.kvm_stable_bit_offered(), Some(false));
    }

    #[test]
    fn names_of_virtual_machines_are_distinguished_from_those_of_boards() {
        for guest in [
            "QEMU Standard PC (Q35 + ICH9, 2009), BIOS 1.16.2-1 04/01/2014",
            "Microsoft Corporation Virtual Machine/Virtual Machine, BIOS 090008 12/07/2018",
            "Amazon EC2 m5.large/, BIOS 1.0 10/16/2017",
        ] {
            assert!(names_guest(guest), "{guest}");
        }
        for board in
            ["Amazon EC2 m5.metal/, BIOS 1.0", "Dell Inc. PowerEdge R7425/02MJ3T, BIOS 1.7.6"]
        {
            assert!(!names_guest(board), "{board}");
        }
    }
}
