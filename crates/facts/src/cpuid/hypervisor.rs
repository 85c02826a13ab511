//! The hypervisor leaves of a dump.

use super::CpuidDump;
use crate::hypervisor::{Hypervisor, HypervisorKind};

impl Hypervisor {
    /// Reads the hypervisor leaves of the first CPU; `None` if no signature is presented.
    #[must_use]
    pub fn from_cpuid(dump: &CpuidDump) -> Option<Self> {
        let cpu = dump.first()?;
        let signatures = dump.signatures();
        if signatures.is_empty() {
            return None;
        }
        let leaf = |kind, offset, subleaf| {
            let base = signatures.iter().find(|s| s.kind == Some(kind))?.base;
            dump.leaf(cpu, base + offset, subleaf)
        };
        let kind = signatures.iter().find_map(|s| s.kind).unwrap_or(HypervisorKind::Other);
        let hyperv_privileges = leaf(HypervisorKind::Hyperv, 3, 0).map(|regs| regs.eax);
        let kvm_features = leaf(HypervisorKind::Kvm, 1, 0).map(|regs| regs.eax);
        let xen_tsc_mode = leaf(HypervisorKind::XenHvm, 3, 0).map(|regs| regs.ebx);
        // VMware's timing leaf, which QEMU and ACRN also provide; Hyper-V uses this leaf number for another purpose.
        let timing_leaf_khz = dump
            .leaf(cpu, 0x4000_0010, 0)
            .map(|regs| regs.eax)
            .filter(|khz| *khz != 0 && signatures[0].kind != Some(HypervisorKind::Hyperv));
        Some(Self {
            kind,
            hyperv_privileges,
            kvm_features,
            xen_tsc_mode,
            timing_leaf_khz,
            xen_dom0: false,
            virtualbox: false,
            signatures,
        })
    }
}
