//! `vdso-bypassed`: reads are system calls, because the vDSO is missing, not used, or has no path for the
//! clocksource on this kernel.

use super::definition::{Definition, PLAIN};
use super::tsc::{cmdline, place};
use super::{Case, Causes};
use crate::cause::{CauseId, Confidence, Evidence, Severity};
use crate::remedies::table;
use clocksmith_facts::Arch;
use clocksmith_kernel::Machine;
use clocksmith_kernel::arch_vdso::serves_coarse;
use clocksmith_kernel::feature::Feature;
use clocksmith_kernel::open::{self, OpenInput};

pub(super) const CAUSE: Definition = Definition {
    clause: Some("its reads do not stay in user space"),
    remedies: &[
        &table::REMOVE_PARAMETER,
        &table::HOST_ON_TSC,
        &table::HYPERV_TSC_PAGE,
        &table::EXPOSE_INVARIANT_TSC,
        &table::ASK_THE_OPERATOR,
        &table::NEWER_KERNEL,
        &table::CHEAPER_READS,
    ],
    find,
    any_architecture: true,
    ..PLAIN
};

/// The change that gave a paravirtual clock its path in the vDSO.
pub(crate) fn vdso_path(clocksource: &str) -> Option<Feature> {
    match clocksource {
        "kvm-clock" => Some(Feature::KvmClockVdso),
        "xen" => Some(Feature::XenVdso),
        "hyperv_clocksource_tsc_page" => Some(Feature::HypervPageVdso),
        _ => None,
    }
}

/// Whether the kernel is older than the vDSO path of a paravirtual clock, by its version or by the wording of its log.
pub(crate) fn lacks_path(machine: &Machine, clocksource: &str) -> bool {
    let Some(feature) = vdso_path(clocksource) else { return false };
    let has_path = |machine: &Machine| {
        let kernel = &machine.kernel.value;
        feature.of(kernel) || feature.may_be_backported(kernel)
    };
    open::ask_over(machine, &[OpenInput::KernelVersion], has_path).same == Some(false)
}

fn find(case: &Case<'_>, causes: &mut Causes) {
    kernel_of_32_bits(case, causes);
    before_any_vdso(case, causes);
    if case.machine.cmdline.value.last("vdso") == Some("0") {
        causes.add(
            CauseId::VdsoBypassed,
            Severity::Warning,
            Confidence::High,
            "vdso=0 on the kernel command line disables the vDSO: every read is a system call",
            vec![cmdline(case, "vdso=0")],
        );
        return;
    }
    if case.slow == Some(true) {
        no_path(case, causes);
        bypassed(case, causes);
    }
}

/// Whether the kernel is 32-bit x86 from before its vDSO clock, by its version or by the wording of its log.
pub(crate) fn is_before_vdso32(machine: &Machine) -> bool {
    let none = |m: &Machine| m.arch.value == Arch::X86 && !Feature::Vdso32.of(&m.kernel.value);
    !machine.arch.is_assumed()
        && open::ask_over(machine, &[OpenInput::KernelVersion, OpenInput::Architecture], none).same
            == Some(true)
}

/// Whether no kernel of an architecture other than x86 that the evidence allows has a vDSO that reads a clock, so that its reads
/// are system calls, whatever the clocksource.
pub(crate) fn is_before_any_vdso(machine: &Machine) -> bool {
    let none = |m: &Machine| !m.arch.value.is_x86() && serves_coarse(m) == Some(false);
    !machine.arch.is_assumed()
        && !machine.kernel.is_assumed()
        && open::ask_over(machine, &[OpenInput::KernelVersion, OpenInput::Architecture], none).same
            == Some(true)
}

/// The clocksource is not known, and does not matter.
fn before_any_vdso(case: &Case<'_>, causes: &mut Causes) {
    if case.current_name().is_none() && case.slow == Some(true) && is_before_any_vdso(case.machine)
    {
        let release = &case.machine.kernel.value.release;
        causes.add(
            CauseId::VdsoBypassed,
            // What is in use is still to be found out.
            Severity::Info,
            Confidence::High,
            format!(
                "kernel {release} has no vDSO that reads a clock on this architecture: every read is a system call, whatever \
                 the clocksource"
            ),
            kernel_evidence(case),
        );
    }
}

fn kernel_of_32_bits(case: &Case<'_>, causes: &mut Causes) {
    if !is_before_vdso32(case.machine) {
        return;
    }
    // For a device that is slow to read, the system call is the smaller part of the cost.
    let decides = case.slow == Some(true)
        && case.current_name().is_some_and(|name| !crate::names::is_slow_by_nature(name));
    causes.add(
        CauseId::VdsoBypassed,
        if decides { Severity::Warning } else { Severity::Info },
        Confidence::High,
        "a 32-bit kernel before 3.15 has no clock_gettime in its vDSO: every read is a system call, \
         whatever the clocksource",
        kernel_evidence(case),
    );
}

/// The evidence of the kernel's version: a line that names it, or messages that later kernels do not print.
fn kernel_evidence(case: &Case<'_>) -> Vec<Evidence> {
    let kernel = &case.machine.kernel;
    if !kernel.is_assumed() {
        return vec![Evidence::new(place(&kernel.cite()), kernel.value.release.clone())];
    }
    let below = case.log().and_then(|log| log.version_bounds().below);
    let shown =
        below.map(|(version, source)| (source.0, format!("words of kernels before {version}")));
    shown.map(|(source, text)| Evidence::new(source, text)).into_iter().collect()
}

/// Whether Hyper-V grants the reference TSC page: HV_MSR_REFERENCE_TSC_AVAILABLE in `include/hyperv/hvgdk_mini.h`.
fn grants_page(case: &Case<'_>) -> Option<bool> {
    let hypervisor = case.machine.hypervisor.value.as_ref()?;
    hypervisor.hyperv_privileges.map(|flags| flags & (1 << 9) != 0)
}

/// A later kernel added the vDSO path of the clocksource, or no kernel has one.
fn no_path(case: &Case<'_>, causes: &mut Causes) {
    let Some(current) = case.current_name() else { return };
    if current == "hyperv_clocksource_msr" {
        causes.add(
            CauseId::VdsoBypassed,
            Severity::Warning,
            Confidence::High,
            format!(
                "hyperv_clocksource_msr has no vDSO path: each read is an exit to the hypervisor. {}",
                match grants_page(case) {
                    Some(true) => "The reference TSC page is granted (privilege bit 9), so this clock was chosen by hand, or this kernel \
                         has no code for the page (32 bits)",
                    Some(false) => "The hypervisor does not grant the reference TSC page (privilege bit 9)",
                    None =>
                        "The reference TSC page (privilege bit 9) is probably not granted; the privilege flags are not in \
                         this evidence",
                }
            ),
            vec![Evidence::new(case.current.source.clone(), format!("current: {current}"))],
        );
        return;
    }
    let arch = &case.machine.arch;
    if current == "kvm-clock" && arch.value == Arch::X86 && !arch.is_assumed() {
        causes.add(
            CauseId::VdsoBypassed,
            Severity::Warning,
            Confidence::High,
            "a 32-bit kernel has no vDSO path for kvm-clock: every read is a system call",
            vec![Evidence::new(place(&arch.cite()), "32-bit x86")],
        );
        return;
    }
    if current == "hyperv_clocksource" {
        causes.add(
            CauseId::VdsoBypassed,
            Severity::Warning,
            Confidence::High,
            "hyperv_clocksource is Hyper-V's reference counter MSR (kernels 3.2 to 4.10): it has no vDSO path, and \
             each read is an exit to the hypervisor",
            vec![Evidence::new(case.current.source.clone(), format!("current: {current}"))],
        );
        if case.current.confidence < Confidence::High {
            causes.add(
                CauseId::InsufficientEvidence,
                Severity::Info,
                Confidence::High,
                "this evidence does not show whether the reference TSC page replaced it later (in 4.3 to 4.10 this \
                 happens when hv_vmbus loads); reads of the page are also system calls on those kernels",
                Vec::new(),
            );
        }
        return;
    }
    let Some(feature) = vdso_path(current) else { return };
    if !lacks_path(case.machine, current) || case.tsc_selectable() == Some(true) {
        return;
    }
    causes.add(
        CauseId::VdsoBypassed,
        Severity::Warning,
        Confidence::High,
        format!(
            "this kernel has no vDSO path for {current} ({}): every read is a system call",
            feature.versions()
        ),
        kernel_evidence(case),
    );
}

/// The clocksource has a vDSO path, and reads do not use it.
fn bypassed(case: &Case<'_>, causes: &mut Causes) {
    let Some(current) = case.current_name() else { return };
    let unstable_bit = !case.machine.pvclock_stable.value && matches!(current, "kvm-clock" | "xen");
    if !case.vdso_bypassed && !unstable_bit {
        return;
    }
    let mapped = case.facts.vdso.value().is_none_or(|v| v.mapped);
    let host = matches!(current, "kvm-clock" | "xen" | "hyperv_clocksource_tsc_page");
    let summary = match current {
        _ if !mapped => {
            "this process has no vDSO (vdso=0, gVisor, an emulator or a tracer), so every read is a system \
             call"
                .to_owned()
        }
        "kvm-clock" | "xen" => format!(
            "{current} is read by a system call, because the host does not set the stable bit: its \
             own clocksource may not be the TSC, or it does not treat the TSCs of this guest's CPUs \
             as synchronised"
        ),
        "hyperv_clocksource_tsc_page" => format!(
            "{current} is read by a system call: the host has invalidated the page (sequence 0), \
             because its own TSC is not usable"
        ),
        _ => format!("{current} has a vDSO mode, but reads are system calls"),
    };
    let evidence = if case.vdso_bypassed {
        Evidence::new("measurement", "a read costs as much as the system call")
    } else {
        Evidence::new("kernel model", "the host does not guarantee the stable bit")
    };
    causes.add(
        CauseId::VdsoBypassed,
        Severity::Warning,
        if mapped && !host { Confidence::Medium } else { Confidence::High },
        summary,
        vec![evidence],
    );
}
