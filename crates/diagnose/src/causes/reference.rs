//! Properties of a watchdog reference that follow from its name.

use clocksmith_facts::hypervisor::HypervisorKind;
use clocksmith_facts::log::incident::{Decoded, Incident};
use clocksmith_facts::log::{Event, KernelLog};

/// A clock that a hypervisor publishes.
pub(crate) fn is_paravirt(name: &str) -> bool {
    HypervisorKind::from_clocksource(name).is_some()
}

/// A second reference of the same check that agrees with one of the two clocks, within the time of a read, and not with
/// the other. Returns its name, and whether it agrees with the TSC.
pub(super) fn second_witness(incident: &Incident, decoded: &Decoded) -> Option<(String, bool)> {
    let (name, ns) = incident.second.as_ref()?;
    #[allow(clippy::cast_precision_loss)]
    let seconds = *ns as f64 / 1e9;
    let (wd, cs) = decoded.wd_seconds.zip(decoded.cs_seconds)?;
    // Ten times nearer to one clock than the two clocks are to each other.
    let apart = (cs - wd).abs() / 10.0;
    let (with_tsc, with_reference) = ((seconds - cs).abs() < apart, (seconds - wd).abs() < apart);
    (with_tsc != with_reference).then(|| (name.clone(), with_tsc))
}

/// A clock other than the reference that confirmed the TSC's frequency: the kernel refines it over a
/// second against the HPET, otherwise the PM timer (`tsc_refine_calibration_work()`), and that
/// figure was in force in the check.
pub(super) fn third_clock(log: &KernelLog, incident: &Incident) -> Option<&'static str> {
    let reference = incident.watchdog.as_deref()?;
    if matches!(reference, "hpet" | "acpi_pm") || incident.clocksource != "tsc" {
        return None;
    }
    let first = incident.entries.first().copied()?;
    let mut detected = None;
    let mut refined = None;
    for entry in log.entries.iter().take(first) {
        match entry.event {
            // "MHz TSC" follows "MHz processor" where the two differ.
            Event::Detected { khz, .. } => detected = Some(khz),
            Event::Refined { khz } => refined = Some(khz),
            _ => {}
        }
    }
    // Two measurements that agree: a disturbed measurement differs by more.
    let (detected, refined) = (detected?, refined?);
    (detected.abs_diff(refined) <= detected / 1000)
        .then_some("the refinement against the HPET or the PM timer")
}
