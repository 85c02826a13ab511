//! `cmdline-tsc-reliable`: `tsc=reliable` on the kernel command line, with its risk.

use super::definition::{Definition, PLAIN};
use super::tsc::cmdline;
use super::{Case, Causes};
use crate::cause::{CauseId, Confidence, Evidence, Severity};
use crate::remedies::table;
use clocksmith_facts::hypervisor::HypervisorKind;
use clocksmith_facts::log::Event;
use clocksmith_facts::verified::Trust;
use clocksmith_kernel::feature::Feature;

pub(super) const CAUSE: Definition = Definition {
    clause: Some("tsc=reliable disables the checks of the TSC"),
    remedies: &[&table::NEWER_KERNEL_RELIABLE],
    find,
    ..PLAIN
};

/// The watchdog demoted tsc-early in spite of the option, as kernels from 4.16 to 5.3 do (`tsc_disable_clocksource_watchdog()`
/// in `arch/x86/kernel/tsc.c`, 5.4, spares both).
pub(crate) fn early_demoted(case: &Case<'_>) -> bool {
    let marked =
        |event: &Event| matches!(event, Event::WatchdogMarked { name, .. } if name == "tsc-early");
    case.machine.cmdline.value.has_value("tsc", "reliable")
        && case.log().is_some_and(|log| log.any(marked))
}

fn find(case: &Case<'_>, causes: &mut Causes) {
    if !case.machine.cmdline.value.has_value("tsc", "reliable") {
        return;
    }
    let kernel = &case.machine.kernel.value;
    if early_demoted(case) {
        let log = case.log().into_iter();
        let lines = log.flat_map(|log| {
            let lines = log.all(
                |event| matches!(event, Event::WatchdogMarked { name, .. } if name == "tsc-early"),
            );
            lines.map(move |entry| Evidence::line(log, entry))
        });
        causes.add(
            CauseId::CmdlineTscReliable,
            Severity::Warning,
            Confidence::High,
            "tsc=reliable on the command line did not keep the watchdog from demoting tsc-early, \
             and the TSC with it: before 5.4 the option protects only tsc",
            std::iter::once(cmdline(case, "tsc=reliable")).chain(lines).collect(),
        );
        return;
    }
    let what = if case.machine.kernel.is_assumed() || Feature::ReliableSkipsSync.of(kernel) {
        "tsc=reliable on the command line disables the watchdog and the warp test between CPUs"
    } else {
        "tsc=reliable on the command line disables the watchdog; before 3.3 it does not skip the warp test between \
         CPUs"
    };
    let tested = case.facts.verified.value().is_some_and(|v| v.counter == Trust::Trusted);
    let risk = if tested {
        "clocksmith verify has tested the counters in this boot"
    } else {
        "if the TSCs of two CPUs differ, time goes backwards between them and nothing reports it; clocksmith verify \
         tests whether they differ"
    };
    let virtualbox = case.hypervisor() == Some(HypervisorKind::VirtualBox)
        && !case.machine.possible_cpus.is_assumed()
        && case.machine.possible_cpus.value > 1;
    let trapped = if virtualbox {
        "; VirtualBox traps each read of the TSC in a guest with several CPUs, so tsc can be as slow as \
         acpi_pm there"
    } else {
        ""
    };
    causes.add(
        CauseId::CmdlineTscReliable,
        Severity::Info,
        Confidence::High,
        format!("{what}; {risk}{trapped}"),
        vec![cmdline(case, "tsc=reliable")],
    );
}
