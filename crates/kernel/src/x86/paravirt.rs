//! The hypervisor under which the kernel believes that it runs, and the clocks that it offers.

use super::order;
use crate::feature::Feature;
use crate::select::Registered;
use crate::{Expectation, Machine};
use clocksmith_facts::hypervisor::{Hypervisor, HypervisorKind};

/// Hyper-V privilege: the reference counter MSR (CPUID base+3 EAX bit 1).
const HV_TIME_REF_COUNT: u32 = 1 << 1;
/// Hyper-V privilege: the reference TSC page (bit 9).
const HV_REFERENCE_TSC: u32 = 1 << 9;
/// Hyper-V privilege: AccessTscInvariant (bit 15).
pub(super) const HV_TSC_INVARIANT: u32 = 1 << 15;

/// The hypervisor whose code the kernel runs, which is not always the first that CPUID presents.
pub(super) fn effective(machine: &Machine, out: &mut Expectation) -> Option<HypervisorKind> {
    let hypervisor = machine.hypervisor.value.as_ref()?;
    let kernel = &machine.kernel.value;
    let line = &machine.cmdline.value;
    let kind = presented(hypervisor, kernel);
    let supported = matches!(
        kind,
        HypervisorKind::Kvm
            | HypervisorKind::Xen
            | HypervisorKind::XenHvm
            | HypervisorKind::XenPvh
            | HypervisorKind::XenPv
            | HypervisorKind::Vmware
            | HypervisorKind::Hyperv
            | HypervisorKind::Jailhouse
            | HypervisorKind::Acrn
            | HypervisorKind::Bhyve
    );
    if !supported {
        out.reason(
            "hypervisor without kernel code",
            format!(
                "{} has no entry in the kernel: the rules for bare metal apply{}",
                kind.name(),
                machine.hypervisor.cite()
            ),
            "hypervisors[] in arch/x86/kernel/cpu/hypervisor.c, all versions",
        );
        return None;
    }
    let asks_bit =
        matches!(kind, HypervisorKind::Kvm | HypervisorKind::Hyperv | HypervisorKind::Vmware);
    if asks_bit && machine.clears_cpuid("hypervisor", 4 * 32 + 31) {
        out.reason(
            "hypervisor not recognised",
            format!(
                "clearcpuid clears the bit by which the kernel detects {}{}",
                kind.name(),
                machine.cmdline.cite()
            ),
            "__kvm_cpuid_base() in arch/x86/kernel/kvm.c, ms_hyperv_platform() and vmware_platform() in \
             arch/x86/kernel/cpu, which ask X86_FEATURE_HYPERVISOR, all versions",
        );
        return None;
    }
    // HV_MSR_HYPERCALL_AVAILABLE is bit 5, HV_MSR_VP_INDEX_AVAILABLE bit 6.
    let crippled = hypervisor.hyperv_privileges.is_some_and(|flags| flags & 0x60 != 0x60);
    if kind == HypervisorKind::Hyperv && crippled && Feature::HypervNeedsHypercall.of(kernel) {
        out.reason(
            "hyper-v not recognised",
            "the hypercall or VP index privilege is missing, so the kernel does not treat this as \
             Hyper-V [cpuid 0x40000003 eax bits 5 and 6]",
            "ms_hyperv_platform() in arch/x86/kernel/cpu/mshyperv.c, since 5.16",
        );
        return None;
    }
    // `nopv` spares the entries that set `ignore_nopv` (Xen PV, PVH, Jailhouse).
    let spared =
        matches!(kind, HypervisorKind::XenPv | HypervisorKind::XenPvh | HypervisorKind::Jailhouse);
    if line.has("nopv") && Feature::Nopv.of(kernel) && !spared {
        out.reason(
            "nopv",
            format!(
                "nopv turns paravirtual support for {} off{}",
                kind.name(),
                machine.cmdline.cite()
            ),
            "detect_hypervisor_vendor() in arch/x86/kernel/cpu/hypervisor.c, since 5.3",
        );
        return None;
    }
    if kind == HypervisorKind::XenHvm && line.has("xen_nopv") {
        return None;
    }
    let name = match &machine.hypervisor.value {
        Some(found) if found.virtualbox && kind != HypervisorKind::VirtualBox => {
            format!("VirtualBox, with the interface of {}", kind.name())
        }
        _ => kind.name().to_owned(),
    };
    out.reason(
        "hypervisor",
        format!("the kernel runs under {name}{}", machine.hypervisor.cite()),
        format!(
            "detect_hypervisor_vendor(); several hypervisors presented: {}",
            Feature::HypervisorPriority.versions()
        ),
    );
    Some(kind)
}

/// The hypervisor that the kernel takes of those that CPUID presents, before it checks whether it
/// has code for it.
pub(crate) fn presented(
    hypervisor: &Hypervisor,
    kernel: &clocksmith_facts::version::Kernel,
) -> HypervisorKind {
    let known: Vec<_> =
        hypervisor.signatures.iter().filter_map(|s| Some((s.base, s.kind?))).collect();
    if hypervisor.kind == HypervisorKind::XenPv || known.len() < 2 {
        return hypervisor.kind;
    }
    if Feature::HypervisorPriority.of(kernel) {
        // The base leaf is the priority: KVM at 0x40000100 beats Hyper-V at 0x40000000.
        known.iter().max_by_key(|(base, _)| *base).map_or(hypervisor.kind, |(_, kind)| *kind)
    } else {
        // Only leaf 0x40000000 was examined.
        known.iter().min_by_key(|(base, _)| *base).map_or(hypervisor.kind, |(_, kind)| *kind)
    }
}

/// The clocks that register for that hypervisor.
pub(super) fn clocks(
    machine: &Machine,
    kind: Option<HypervisorKind>,
    out: &mut Expectation,
) -> Vec<Registered> {
    let Some(hypervisor) = machine.hypervisor.value.as_ref() else { return Vec::new() };
    match kind {
        Some(HypervisorKind::Kvm) => kvm(machine, hypervisor, out).into_iter().collect(),
        Some(
            HypervisorKind::Xen
            | HypervisorKind::XenHvm
            | HypervisorKind::XenPvh
            | HypervisorKind::XenPv,
        ) => xen(machine, hypervisor, kind, out).into_iter().collect(),
        Some(HypervisorKind::Hyperv) => hyperv(machine, hypervisor, out),
        _ => Vec::new(),
    }
}

fn invariant(machine: &Machine) -> bool {
    machine.constant_tsc.value && machine.nonstop_tsc.value
}

fn kvm(machine: &Machine, hypervisor: &Hypervisor, out: &mut Expectation) -> Option<Registered> {
    const SOURCE: &str = "kvmclock_init() in arch/x86/kernel/kvmclock.c, all versions";
    let kernel = &machine.kernel.value;
    let line = &machine.cmdline.value;
    if line.has("no-kvmclock") {
        let because = format!("no-kvmclock on the command line{}", machine.cmdline.cite());
        out.reason("no kvm-clock", because, SOURCE);
        return None;
    }
    // KVM_FEATURE_CLOCKSOURCE is bit 0, KVM_FEATURE_CLOCKSOURCE2 bit 3.
    if hypervisor.kvm_features.is_some_and(|features| features & 0b1001 == 0) {
        out.reason(
            "no kvm-clock",
            "the hypervisor does not offer kvm-clock [cpuid base+1 eax bits 0 and 3]",
            SOURCE,
        );
        return None;
    }
    let yields = Feature::KvmClockYields.of(kernel) && invariant(machine);
    let rating = if yields { 299 } else { 400 };
    let because = if yields {
        format!(
            "the TSC is constant and nonstop, so kvm-clock lowers its rating to 299{}",
            machine.nonstop_tsc.cite()
        )
    } else if Feature::KvmClockYields.of(kernel) {
        format!(
            "no invariant TSC is exposed to this guest, so kvm-clock keeps its rating of 400{}",
            machine.nonstop_tsc.cite()
        )
    } else {
        "kvm-clock is always rated 400 in this kernel, above tsc (300)".to_owned()
    };
    out.reason(
        "kvm-clock rating",
        because,
        format!(
            "kvmclock_init() in arch/x86/kernel/kvmclock.c, yields to tsc {}",
            Feature::KvmClockYields.versions()
        ),
    );
    let vdso = Feature::KvmClockVdso.of(kernel)
        && machine.arch.value == clocksmith_facts::Arch::X86_64
        && !(line.has("no-kvmclock-vsyscall") && Feature::NoKvmclockVsyscall.of(kernel));
    Some(Registered::new("kvm-clock", rating, true, vdso, order::PARAVIRT))
}

fn xen(
    machine: &Machine,
    hypervisor: &Hypervisor,
    kind: Option<HypervisorKind>,
    out: &mut Expectation,
) -> Option<Registered> {
    let kernel = &machine.kernel.value;
    if super::is(kind, HypervisorKind::XenHvm) && !Feature::XenHvmClock.of(kernel) {
        return None;
    }
    // XEN_CPUID_TSC_MODE_NEVER_EMULATE is 2.
    let safe =
        Feature::XenSafeTsc.of(kernel) && invariant(machine) && hypervisor.xen_tsc_mode == Some(2);
    let rating = if hypervisor.xen_dom0 && Feature::XenDom0Rating.of(kernel) {
        275
    } else if safe {
        299
    } else {
        400
    };
    let because = match rating {
        275 => "the initial domain rates Xen's clock 275, below tsc".to_owned(),
        299 => {
            "the TSC is invariant and never emulated (tsc_mode 2), so xen lowers its rating to 299"
                .to_owned()
        }
        _ => "Xen's clock is rated 400 in a guest, above tsc (300)".to_owned(),
    };
    out.reason(
        "xen rating",
        because,
        format!(
            "xen_time_init(), xen_tsc_safe_clocksource() in arch/x86/xen/time.c; dom0 {}, safe tsc {}",
            Feature::XenDom0Rating.versions(),
            Feature::XenSafeTsc.versions()
        ),
    );
    let vdso = Feature::XenVdso.of(kernel) && machine.xen_no_vdso.is_none();
    Some(Registered::new("xen", rating, true, vdso, order::PARAVIRT))
}

fn hyperv(machine: &Machine, hypervisor: &Hypervisor, out: &mut Expectation) -> Vec<Registered> {
    let kernel = &machine.kernel.value;
    let has = |feature: Feature| feature.of(kernel);
    let privileges = hypervisor.hyperv_privileges;
    let offered = |bit: u32| privileges.is_none_or(|flags| flags & bit != 0);
    let (page, msr) = (offered(HV_REFERENCE_TSC), offered(HV_TIME_REF_COUNT));
    let mut clocks = Vec::new();
    if !has(Feature::HypervMsr) {
        return clocks;
    }
    let page_vdso = has(Feature::HypervPageVdso);
    let mut push = |name: &str, rating: i32, vdso: bool, order: u8| {
        clocks.push(Registered::new(name, rating, true, vdso, order));
    };
    let because;
    if !has(Feature::HypervPage) {
        // Not continuous before 4.2, so not valid for high resolution.
        because = "hyperv_clocksource (the reference counter MSR) is rated 400".to_owned();
        if msr {
            push("hyperv_clocksource", 400, false, order::PARAVIRT);
        }
    } else if !has(Feature::HypervUnified) {
        because = "the TSC page is rated 425, the MSR clock 400".to_owned();
        if page {
            push("hyperv_clocksource_tsc_page", 425, page_vdso, order::TSC);
        }
        if msr {
            push("hyperv_clocksource", 400, false, order::PARAVIRT);
        }
    } else {
        let granted = tsc_invariant(machine, hypervisor);
        let rating = if has(Feature::HypervRating500) {
            if granted { 250 } else { 500 }
        } else if has(Feature::HypervRating250) {
            250
        } else {
            400
        };
        because = if privileges.is_none() || !has(Feature::HypervInvariant) {
            format!("Hyper-V's page is rated {rating}")
        } else {
            format!(
                "Hyper-V {} the invariant TSC (AccessTscInvariant), so its page is rated {rating}{}",
                if granted { "grants" } else { "does not grant" },
                machine.hypervisor.cite()
            )
        };
        if page {
            push("hyperv_clocksource_tsc_page", rating, page_vdso, order::PARAVIRT);
        }
        if has(Feature::HypervMsrBeside) && msr {
            push("hyperv_clocksource_msr", rating - 5, false, order::PARAVIRT);
        } else if !page && msr {
            push("hyperv_clocksource_msr", rating, false, order::PARAVIRT);
        }
    }
    out.reason(
        "hyper-v clocks",
        because,
        "hv_init_clocksource() in drivers/clocksource/hyperv_timer.c since 5.3 (before: \
         arch/x86/hyperv/hv_init.c, mshyperv.c); ratings changed in 4.3, 4.11, 5.6, 5.13, 6.5",
    );
    clocks
}

impl Machine {
    /// Makes Hyper-V grant the invariant TSC to this guest, in addition to the privileges that every Hyper-V grants, or
    /// not.
    pub(crate) fn grant_invariant_tsc(&mut self, granted: bool) {
        // The hypercall and VP index privileges, bits 5 and 6, also come with every Hyper-V.
        let usual = HV_TIME_REF_COUNT | HV_REFERENCE_TSC | 0x60;
        if let Some(hypervisor) = self.hypervisor.value.as_mut() {
            hypervisor.hyperv_privileges =
                Some(if granted { usual | HV_TSC_INVARIANT } else { usual });
        }
    }

    /// Whether Hyper-V is known to grant the invariant TSC to this guest.
    pub(crate) fn invariant_tsc_granted(&self) -> bool {
        let hypervisor = self.hypervisor.value.as_ref();
        hypervisor
            .and_then(|h| h.hyperv_privileges)
            .is_some_and(|flags| flags & HV_TSC_INVARIANT != 0)
    }
}

/// Whether the invariant TSC is granted to this guest and the kernel knows the grant.
pub(super) fn tsc_invariant(machine: &Machine, hypervisor: &Hypervisor) -> bool {
    Feature::HypervInvariant.of(&machine.kernel.value)
        && hypervisor.hyperv_privileges.is_some_and(|flags| flags & HV_TSC_INVARIANT != 0)
}
