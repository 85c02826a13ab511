//! Properties of a processor that follow from its name and family, for evidence without its flags.

use clocksmith_facts::cpu::{CpuModel, CpuVendor};

/// Whether the processor is from before the TSC: Intel's Pentium brought it in 1993, and some of the clones of its time
/// are built without it (`set_cpu_cap(c, X86_FEATURE_TSC)` is never their flag in arch/x86/kernel/cpu, all versions).
#[must_use]
pub fn has_no_tsc(model: &CpuModel) -> bool {
    let named = |words: &[&str]| words.iter().any(|word| model.name.contains(word));
    let cyrix = model.name.contains("6x86") && !named(&["MX", "MII"]);
    // Family 4 has exceptions among embedded processors, so the number alone decides only for Intel and AMD.
    matches!(model.family, 3 | 4) && matches!(model.vendor, CpuVendor::Intel | CpuVendor::Amd)
        || named(&["486", "5x86", "NexGen", "UMC"])
        || cyrix
}

/// Whether the TSC of this processor stops in the idle states that its driver uses, so that the kernel marks it
/// unstable as soon as that driver loads: before Intel's Nehalem and AMD's family 16, and in the first Atoms (Bonnell),
/// processors lack `nonstop_tsc`.
#[must_use]
pub fn may_halt_in_idle(vendor: CpuVendor, model: Option<(u32, u32)>) -> bool {
    match (vendor, model) {
        (CpuVendor::Intel, Some((6, model))) => model < 0x1a || matches!(model, 0x1c | 0x26),
        (CpuVendor::Intel, Some((family, _))) => family == 15,
        (CpuVendor::Amd, Some((family, _))) => family <= 15,
        _ => false,
    }
}

/// Whether the TSC of this processor may run at the core's frequency: true of Intel's before Pentium 4 model 3 and
/// family 6 model 0eh, which `early_init_intel()` in arch/x86/kernel/cpu/intel.c names, of AMD's before family 16, and
/// of an unknown processor.
#[must_use]
pub fn may_change_rate(vendor: CpuVendor, model: Option<(u32, u32)>) -> bool {
    match (vendor, model) {
        (_, None) => true,
        (CpuVendor::Intel, Some((6, model))) => model < 0x0e,
        (CpuVendor::Intel, Some((family, model))) => family < 6 || family == 15 && model < 3,
        (CpuVendor::Amd, Some((family, _))) => family <= 15,
        _ => false,
    }
}

/// Whether a processor's name is that of a QEMU CPU model without the invariant TSC: qemu32, qemu64, kvm32 and kvm64
/// show it only if `+invtsc` is added (`builtin_x86_defs` in QEMU's target/i386/cpu.c).
#[must_use]
pub fn is_model_of_qemu(name: &str) -> bool {
    ["QEMU Virtual CPU", "Common KVM processor", "Common 32-bit KVM processor"]
        .iter()
        .any(|model| name.contains(model))
}

/// Whether a processor has no TSC_ADJUST register (CPUID.7.0 EBX bit 1): Intel's have it since Silvermont and Haswell
/// (2013), AMD's since Zen 5 (family 1Ah).
#[must_use]
pub fn has_no_tsc_adjust(vendor: CpuVendor, family: u32, model: u32) -> bool {
    match vendor {
        CpuVendor::Intel => {
            family != 6 && family < 18
                || family == 6 && (model < 0x37 || matches!(model, 0x3a | 0x3e))
        }
        CpuVendor::Amd => family < 0x1a,
        CpuVendor::Hygon => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(vendor: CpuVendor, name: &str, family: u32, model: u32) -> CpuModel {
        CpuModel { vendor, family, model, name: name.to_owned() }
    }

    #[test]
    fn has_no_tsc_processors_before_the_pentium_and_clones() {
        for (vendor, name, family, number) in [
            (CpuVendor::Intel, "Intel 486 DX/4", 4, 8),
            (CpuVendor::Amd, "AMD Am5x86-WT", 4, 14),
            (CpuVendor::OtherX86, "Cyrix 6x86 2x Core/Bus Clock", 5, 2),
            (CpuVendor::OtherX86, "NexGen Nx586", 5, 0),
        ] {
            assert!(has_no_tsc(&model(vendor, name, family, number)), "{name}");
        }
        for (vendor, name, family, number) in [
            (CpuVendor::Intel, "Intel Pentium MMX", 5, 4),
            (CpuVendor::OtherX86, "Cyrix 6x86MX 2.5x Core/Bus Clock", 6, 0),
            (CpuVendor::Amd, "AMD-K6(tm) 3D processor", 5, 8),
            (CpuVendor::Amd, "AMD Ryzen 7 5700U", 0x17, 0x68),
        ] {
            assert!(!has_no_tsc(&model(vendor, name, family, number)), "{name}");
        }
    }

    #[test]
    fn has_no_tsc_adjust_processors_before_haswell_and_zen_5() {
        // Pentium E5300, Ivy Bridge, Ryzen 4300G, Opteron.
        for (vendor, family, model) in [
            (CpuVendor::Intel, 6, 0x17),
            (CpuVendor::Intel, 15, 4),
            (CpuVendor::Intel, 6, 0x3a),
            (CpuVendor::Amd, 0x17, 0x60),
            (CpuVendor::Amd, 15, 5),
        ] {
            assert!(has_no_tsc_adjust(vendor, family, model), "{vendor:?} {family} {model:#x}");
        }
        // Haswell, Silvermont, Zen 5.
        for (vendor, family, model) in
            [(CpuVendor::Intel, 6, 0x3c), (CpuVendor::Intel, 6, 0x37), (CpuVendor::Amd, 0x1a, 0x44)]
        {
            assert!(!has_no_tsc_adjust(vendor, family, model), "{vendor:?} {family} {model:#x}");
        }
    }
}
