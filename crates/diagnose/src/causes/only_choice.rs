//! `only-choice`: no better clocksource is registered.

use super::definition::{Definition, PLAIN};
use super::paravirt::Paravirt;
use super::{Case, Causes, counter_emulated};
use crate::cause::{CauseId, Confidence, Evidence, Severity};
use crate::remedies::table;
use clocksmith_facts::Arch;
use clocksmith_facts::hypervisor::HypervisorKind;
use clocksmith_facts::log::Event;
use clocksmith_facts::log::rates::recovered_hz;
use clocksmith_kernel::feature::Feature;
use clocksmith_kernel::machine::Clusters;

pub(super) const CAUSE: Definition = Definition {
    clause: Some("nothing better is registered"),
    returns: true,
    consequence: true,
    remedies: &[
        &table::VIRTUALBOX_PARAVIRT,
        &table::XEN_NATIVE_TSC,
        &table::GIVE_A_TIMER,
        &table::SWITCH_TO_COUNTER,
        &table::NEWER_KERNEL,
        &table::CHEAPER_READS,
    ],
    find,
    any_architecture: true,
    ..PLAIN
};

fn find(case: &Case<'_>, causes: &mut Causes) {
    let Some(current) = case.current_name() else { return };
    coarse(case, current, causes);
    if case.slow != Some(true) {
        return;
    }
    let arch = &case.machine.arch;
    if !arch.value.is_x86() {
        // A clocksource that the vDSO reads on other machines and not on this one has its own cause.
        if let Some(counter) = case.outranked_counter() {
            outranked(case, current, counter, causes);
        } else if !arch.is_assumed()
            && !case.vdso_bypassed
            && case.machine.counter_trapped.is_none()
            && !counter_emulated::is_why(case)
        {
            let mut evidence =
                vec![Evidence::new(case.current.source.clone(), format!("current: {current}"))];
            evidence.extend(clusters(case, current));
            let summary = match evidence.len() {
                1 => other_architecture(arch.value, current),
                _ => format!(
                    "this machine has several clusters of processors, each with its own GIC. The kernel reads the GIC \
                     of the first cluster (merged for {}). The vDSO cannot read it, so every read is a system call",
                    Feature::MipsGicClusters.versions().trim_start_matches("since ")
                ),
            };
            causes.add(CauseId::OnlyChoice, Severity::Warning, Confidence::High, summary, evidence);
        }
        return;
    }
    // A paravirtual clock is not a last resort: the hypervisor offers it. And if the TSC is
    // registered and usable, the kernel has a choice.
    if current.contains("jiffies") && tick_alone(case, current, causes) {
        return;
    }
    if Paravirt::of(case).is_none() && is_alone(case, current) {
        let what = match (case.in_guest(), current) {
            (true, "hpet") => "no paravirtual clock is registered",
            (true, _) => "neither an HPET nor a paravirtual clock is registered",
            (false, "hpet") => "physical machines have no faster one",
            (false, _) => "no HPET is registered",
        };
        let unexplained = !causes.0.iter().any(|c| c.severity >= Severity::Warning);
        causes.add(
            CauseId::OnlyChoice,
            if unexplained { Severity::Warning } else { Severity::Info },
            Confidence::High,
            format!("{current} is the best clocksource without the TSC: {what}"),
            vec![Evidence::new(case.current.source.clone(), format!("current: {current}"))],
        );
    }
    let pv = case.hypervisor() == Some(HypervisorKind::XenPv);
    if pv && current == "xen" && !causes.has(CauseId::ParavirtClockPreferred) {
        causes.add(
            CauseId::OnlyChoice,
            Severity::Info,
            Confidence::Medium,
            "a Xen PV domain has no platform timer: xen is its clock",
            Vec::new(),
        );
    }
}

/// The lines that show several clusters of a MIPS machine, if the vDSO does not read the GIC because of them.
fn clusters(case: &Case<'_>, current: &str) -> Vec<Evidence> {
    let machine = case.machine;
    if current != "GIC"
        || machine.clusters != Clusters::Used
        || !Feature::MipsVdso.of(&machine.kernel.value)
    {
        return Vec::new();
    }
    let Some(log) = case.log() else { return Vec::new() };
    let shows = |event: &Event| {
        matches!(event, Event::MipsTopology { .. } | Event::CpuIds(_) | Event::BroughtUp { .. })
    };
    log.all(shows).take(3).map(|entry| Evidence::line(log, entry)).collect()
}

/// The kernel chose a slower clocksource for its rating.
fn outranked(case: &Case<'_>, current: &str, counter: &str, causes: &mut Causes) {
    let ratings = if counter == "riscv_clocksource" {
        format!(
            " (riscv_clocksource is rated 400 {}, and 300 before)",
            Feature::RiscvRating400.versions()
        )
    } else {
        String::new()
    };
    let mut evidence =
        vec![Evidence::new(case.current.source.clone(), format!("current: {current}"))];
    let registered = case.log().and_then(|log| {
        let found = log.last(|event| {
            matches!(event, Event::Registered { name, .. } if name == counter).then_some(())
        });
        found.map(|(entry, ())| Evidence::line(log, entry))
    });
    evidence.extend(registered);
    causes.add(
        CauseId::OnlyChoice,
        Severity::Warning,
        Confidence::High,
        format!(
            "{current} is rated above {counter}, which also registered{ratings}: the vDSO reads \
             {counter} and not {current}, so every read is a system call"
        ),
        evidence,
    );
}

/// A counter under 1 MHz: reads are fast, and two times within one step of the counter are equal.
fn coarse(case: &Case<'_>, current: &str, causes: &mut Causes) {
    const LEAST_HZ: f64 = 1e6;
    let Some(log) = case.log().filter(|_| current == "arch_sys_counter") else { return };
    // The registration has all digits of the rate; the driver's line has MHz, truncated to two decimals.
    let registered = |event: &Event| match event {
        Event::Registered { name, max_cycles, max_idle_ns, .. } if name == current => {
            recovered_hz(*max_cycles, *max_idle_ns)
        }
        _ => None,
    };
    #[allow(clippy::cast_precision_loss)]
    let stated = |event: &Event| match event {
        Event::ArchTimer { hz, .. } if *hz > 0 => Some(*hz as f64),
        _ => None,
    };
    let rate = log.last(registered).or_else(|| log.last(stated));
    let Some((entry, hz)) = rate.filter(|(_, hz)| *hz < LEAST_HZ) else { return };
    causes.add(
        CauseId::OnlyChoice,
        Severity::Warning,
        Confidence::High,
        format!(
            "this counter runs at about {:.0} kHz, so the clock is coarse: it moves in steps of \
             about {:.0} us. Firmware or the device tree states that rate, and a wrong figure makes \
             the clock run at a wrong rate",
            hz / 1e3,
            1e6 / hz
        ),
        vec![Evidence::line(log, entry)],
    );
}

/// The tick is rated 1 or 2 (`kernel/time/jiffies.c`), the lowest of all: without a choice of the administrator, the
/// kernel uses it only if it trusts no other registered clocksource.
fn tick_alone(case: &Case<'_>, current: &str, causes: &mut Causes) -> bool {
    let asked = case.machine.cmdline.value.clocksource_override().as_deref() == Some(current)
        || case.log().is_some_and(|log| {
            log.any(|event| matches!(event, Event::WroteCurrent(name) if name == current))
        });
    let better = |name: &String| !name.contains("jiffies");
    if asked || case.facts.available_clocksources().is_some_and(|list| list.iter().any(better)) {
        return false;
    }
    let unexplained = !causes.0.iter().any(|c| c.severity >= Severity::Warning);
    if unexplained && is_chosen_late(case, current) {
        return false;
    }
    causes.add(
        CauseId::OnlyChoice,
        if unexplained { Severity::Warning } else { Severity::Info },
        Confidence::High,
        format!(
            "{current} is the only clocksource without the TSC: the kernel chooses it only if no HPET, PM timer or \
             paravirtual clock is available. It counts the timer tick, so the time moves in steps of one tick (1 to 10 \
             ms), timers are no finer than that, and each read is a system call"
        ),
        vec![Evidence::new(case.current.source.clone(), format!("current: {current}"))],
    );
    true
}

/// Seconds within which a boot chooses its first clocksource, even on a slow machine.
const FIRST_CHOICE_BY: f64 = 120.0;

/// Whether the kernel switched to a clocksource long after its first choice. Then a person, a removed driver or a lost
/// clock is the reason, and not that nothing better registered.
fn is_chosen_late(case: &Case<'_>, current: &str) -> bool {
    let switched = |event: &Event| match event {
        Event::Switched(name) => Some(name == current),
        _ => None,
    };
    let last = case.log().and_then(|log| log.last(switched));
    last.is_some_and(|(entry, same)| same && entry.at.is_some_and(|at| at > FIRST_CHOICE_BY))
}

fn is_alone(case: &Case<'_>, current: &str) -> bool {
    if let Some(list) = case.facts.available_clocksources() {
        return list.iter().all(|name| name == current || name.contains("jiffies"));
    }
    case.log().is_some_and(|log| {
        log.from_boot
            && !log.any(|event| match event {
                Event::Registered { name, .. } => {
                    name != current && !name.contains("jiffies") && !name.starts_with("tsc")
                }
                _ => false,
            })
            && log.any(|event| matches!(event, Event::Registered { .. }))
            && !case.tsc_is_registered()
    })
}

/// The reason why the vDSO of an architecture other than x86 does not read the clocksource.
fn other_architecture(arch: Arch, current: &str) -> String {
    let (reads, feature) = match arch {
        Arch::Arm => ("the architected counter alone", Some(Feature::ArmVdso)),
        Arch::Arm64 => ("the architected counter alone", Some(Feature::Arm64Vdso)),
        Arch::Riscv => ("riscv_clocksource alone", Some(Feature::RiscvVdso)),
        Arch::Riscv32 => {
            return format!(
                "{current} is the best clocksource that registered; a 32-bit kernel of RISC-V has no vDSO that reads the \
                 clock: every read is a system call"
            );
        }
        Arch::Mips => ("the counters MIPS and GIC", Some(Feature::MipsVdso)),
        Arch::Powerpc => ("timebase alone", None),
        Arch::S390 => ("tod alone", None),
        _ => {
            return format!(
                "{current} is the best clocksource that registered; the vDSO of this architecture does not read it: every \
             read is a system call"
            );
        }
    };
    let since = feature.map_or_else(String::new, |feature| format!(", {}", feature.versions()));
    format!(
        "{current} is the best clocksource that registered; the vDSO of this architecture reads {reads}{since}, so every \
         read is a system call"
    )
}
