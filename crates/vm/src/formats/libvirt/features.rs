//! Names below `<cpu>` that libvirt has no CPU feature for: properties of QEMU's `-cpu`, and Linux's names of flags.
//!
//! libvirt knows the features of its own list (src/cpu_map/x86_features.xml), whatever their policy, and starts no domain
//! with another one. Only names about clocks are here, with the setting that has their effect.

use super::domain::Domain;
use crate::finding::Finding;

/// Returns what to do instead of a feature of this name; `None` if the name is not one of these.
pub(crate) fn instead(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase().replace('_', "-");
    Some(match name.as_str() {
        "vmware-cpuid-freq" => {
            "remove the feature: QEMU has vmware-cpuid-freq by default, and shows it if the TSC has a fixed frequency (<timer \
             name='tsc' frequency='HERTZ'/>) or is invariant (<feature policy='require' name='invtsc'/>)"
        }
        "tsc-frequency" | "tsc-freq" => {
            "write <timer name='tsc' frequency='HERTZ'/> in <clock> instead"
        }
        "kvmclock" => "write <timer name='kvmclock' present='yes'/> (or 'no') in <clock> instead",
        "kvmclock-stable-bit" => "remove the feature: QEMU has it by default",
        "hv-time" => "write <timer name='hypervclock' present='yes'/> in <clock> instead",
        "kvm" => {
            "write <kvm><hidden state='on'/></kvm> in <features> if the guest must not see KVM; otherwise remove it"
        }
        "migratable" => "write migratable='off' (or 'on') in <cpu> instead",
        "nonstop-tsc" | "constant-tsc" | "invariant-tsc" => "write name='invtsc'",
        "tsc-reliable" | "tsc-known-freq" => {
            "remove the feature: the guest's Linux sets this flag itself"
        }
        "tscdeadline" | "tsc-deadline-timer" => "write name='tsc-deadline'",
        name if name.starts_with("hv-") => "write it below <hyperv> in <features> instead",
        _ => return None,
    })
}

/// Reports each of these names.
pub(super) fn unknown(domain: &Domain<'_>) -> Vec<Finding> {
    let features = domain.cpu.map(|cpu| domain.tree.children(cpu, "feature"));
    let features = features.into_iter().flatten();
    let found = features.filter_map(|feature| {
        let name = feature.value("name")?;
        let finding = Finding::new(rule!("lv-feature-unknown"), feature.open.clone());
        Some(finding.summary(format!("libvirt has no CPU feature {name}")).fix(instead(name)?))
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_libvirt_are_none_of_these() {
        for name in [
            "invtsc",
            "tsc-deadline",
            "tsc_adjust",
            "tsc-scale",
            "rdtscp",
            "tsc",
            "hypervisor",
            "x2apic",
        ] {
            assert_eq!(instead(name), None, "{name}");
        }
        for name in
            ["hv_time", "hv-time", "hv_relaxed", "vmware-cpuid-freq", "kvmclock", "nonstop_tsc"]
        {
            assert!(instead(name).is_some(), "{name}");
        }
    }
}
