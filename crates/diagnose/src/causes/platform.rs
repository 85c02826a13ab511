//! Causes outside the choice of a clocksource: trapped counters on Arm, a vDSO that is not used,
//! programs that report drift.

use super::{Case, Causes};
use crate::cause::{CauseId, Confidence, Evidence, Severity};
use clocksmith_facts::Fact;
use clocksmith_facts::log::{Event, KernelLog};

pub(super) fn find(case: &Case<'_>, causes: &mut Causes) {
    if let Some(log) = case.log() {
        arm(log, causes);
        drift(case, log, causes);
        backwards(log, causes);
    }
    vdso(case, causes);
    differing_cpus(case, causes);
}

/// A citation without its brackets.
pub(super) fn place(cite: &str) -> String {
    cite.trim_matches([' ', '[', ']']).to_owned()
}

/// A paravirtual clock that goes backwards between CPUs.
fn backwards(log: &KernelLog, causes: &mut Causes) {
    if let Some((entry, ())) = log.first(|e| matches!(e, Event::TimeWentBackwards).then_some(())) {
        causes.add(
            CauseId::ParavirtClockBroken,
            Severity::Critical,
            Confidence::High,
            "the kernel saw its paravirtual clock go backwards: the hypervisor's time differs between \
             CPUs",
            vec![Evidence::line(log, entry)],
        );
    }
}

/// Errata whose workaround replaces the counter's read, which disables the vDSO for everybody.
/// Source: `arch_timer_enable_workaround()` in `drivers/clocksource/arm_arch_timer.c`: the entries of
/// `ool_workarounds[]` that set `read_cntvct_el0`. The kernel prints Freescale's number as a005858.
const TRAPPED: [&str; 5] = ["858921", "a008585", "a005858", "161010101", "UNKNOWN1"];
/// Errata that cost only 32-bit programs the vDSO (`disable_compat_vdso`).
const TRAPPED_COMPAT: [&str; 1] = ["1418040"];

fn arm(log: &KernelLog, causes: &mut Causes) {
    let mut evidence = Vec::new();
    let mut everybody = false;
    let mut compat = false;
    for entry in log.all(|e| matches!(e, Event::ArchTimerErratum(_) | Event::CounterTrapped)) {
        match &entry.event {
            Event::ArchTimerErratum(text) => {
                let all = TRAPPED.iter().any(|id| text.contains(id));
                let only32 = TRAPPED_COMPAT.iter().any(|id| text.contains(id));
                everybody |= all;
                compat |= only32;
                if !all && !only32 {
                    continue;
                }
            }
            _ => everybody |= !compat,
        }
        if evidence.len() < 4 {
            evidence.push(Evidence::line(log, entry));
        }
    }
    if everybody {
        causes.add(
            CauseId::CounterTrapped,
            Severity::Warning,
            Confidence::High,
            "a hardware erratum makes the kernel trap reads of the counter, so the vDSO is off and every \
             clock read is a system call",
            evidence,
        );
    } else if compat {
        causes.add(
            CauseId::CounterTrappedCompat,
            Severity::Info,
            Confidence::High,
            "a hardware erratum takes the vDSO from 32-bit programs; 64-bit programs are not affected",
            evidence,
        );
    }
}

/// A program found the clock wrong against a reference: the rate is off.
fn drift(case: &Case<'_>, log: &KernelLog, causes: &mut Causes) {
    if causes.has(CauseId::TscMiscalibrated) || !case.tsc_is_current() {
        return;
    }
    if let Some((entry, ())) = log.first(|e| matches!(e, Event::DriftReport(_)).then_some(())) {
        causes.add(
            CauseId::TscMiscalibrated,
            Severity::Critical,
            Confidence::Medium,
            "a program reports that the clock drifts against its reference while the TSC keeps time: the \
             frequency that the kernel uses is wrong",
            vec![Evidence::line(log, entry)],
        );
    }
}

fn vdso(case: &Case<'_>, causes: &mut Causes) {
    use clocksmith_kernel::feature::Feature;
    if case.machine.arch.value == clocksmith_facts::Arch::X86
        && !Feature::Vdso32.of(&case.machine.kernel.value)
        && !case.machine.kernel.is_assumed()
    {
        causes.add(
            CauseId::VdsoBypassed,
            Severity::Info,
            Confidence::High,
            "a 32-bit kernel before 3.15 has no clock_gettime in its vDSO: every read is a system call, \
             whatever the clocksource",
            vec![Evidence::new(place(&case.machine.kernel.cite()), case.machine.kernel.value.release.clone())],
        );
    }
    if case.machine.cmdline.value.last("vdso") == Some("0") {
        causes.add(
            CauseId::VdsoBypassed,
            Severity::Warning,
            Confidence::High,
            "vdso=0 on the kernel command line takes the vDSO away: every read is a system call",
            vec![super::tsc::cmdline(case, "vdso=0")],
        );
        return;
    }
    if !case.vdso_bypassed {
        return;
    }
    let Some(current) = case.current_name() else { return };
    let pvclock = matches!(current, "kvm-clock" | "xen");
    let mapped = case.facts.vdso.value().is_none_or(|v| v.mapped);
    let summary = if !mapped {
        "this process has no vDSO (vdso=0, gVisor, an emulator or a tracer), so every read is a system \
         call"
            .to_owned()
    } else if pvclock {
        format!(
            "{current} is read by system call: the host does not set the stable bit, because its own \
             clocksource is not the TSC"
        )
    } else {
        format!("{current} has a vDSO mode, and reads are system calls all the same")
    };
    causes.add(
        CauseId::VdsoBypassed,
        Severity::Warning,
        if mapped && !pvclock { Confidence::Medium } else { Confidence::High },
        summary,
        vec![Evidence::new("measurement", "a read costs as much as the system call")],
    );
}

/// A machine whose CPUs differ in what concerns clocks: a hypervisor that moves virtual CPUs between
/// kinds of cores, a repaired board, firmware.
fn differing_cpus(case: &Case<'_>, causes: &mut Causes) {
    let mut evidence = Vec::new();
    if let Fact::Known { value: dump, source } = &case.facts.cpuid {
        for difference in dump.differences() {
            let values: Vec<String> = difference
                .values
                .iter()
                .take(4)
                .map(|(value, cpus)| format!("{value:#x} on {} CPUs", cpus.len()))
                .collect();
            evidence.push(Evidence::new(
                format!("{source} {}", difference.leaf),
                format!("{}: {}", difference.what, values.join(", ")),
            ));
        }
    }
    const FLAGS: [&str; 5] = ["tsc", "constant_tsc", "nonstop_tsc", "tsc_adjust", "tsc_known_freq"];
    for flag in case.facts.cpu.flag_differences.iter().filter(|f| FLAGS.contains(&f.as_str())) {
        evidence.push(Evidence::new("/proc/cpuinfo flags", format!("{flag} is not on all CPUs")));
    }
    if !evidence.is_empty() {
        causes.add(
            CauseId::CpusDiffer,
            Severity::Info,
            Confidence::High,
            "the CPUs differ in what they say about clocks; a TSC is only as good as its worst CPU",
            evidence,
        );
    }
}
