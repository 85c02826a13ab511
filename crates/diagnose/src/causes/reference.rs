//! What is known of a watchdog reference by its name.

use super::Case;
use clocksmith_facts::hypervisor::HypervisorKind;
use clocksmith_facts::log::incident::Incident;

/// A reference that is known to be late, lossy or emulated.
pub(super) fn suspect_reference(case: &Case<'_>, incident: &Incident) -> bool {
    match incident.watchdog.as_deref() {
        Some("jiffies" | "refined-jiffies" | "acpi_pm") => true,
        Some("hpet") => case.in_guest(),
        _ => case.in_guest(),
    }
}

/// A clock that a hypervisor publishes.
pub(super) fn is_paravirt(name: &str) -> bool {
    HypervisorKind::from_clocksource(name).is_some()
}
