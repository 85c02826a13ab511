//! `acpi-disabled`: `acpi=off` is why there is neither an HPET nor a PM timer.

use super::definition::{Definition, PLAIN};
use super::tsc::cmdline;
use super::{Case, Causes};
use crate::cause::{CauseId, Confidence, Severity};
use crate::remedies::table;

pub(super) const CAUSE: Definition = Definition {
    clause: Some("acpi=off on the kernel command line hides the HPET and the PM timer"),
    returns: true,
    remedies: &[&table::REMOVE_PARAMETER],
    find,
    ..PLAIN
};

fn find(case: &Case<'_>, causes: &mut Causes) {
    let off = case.machine.cmdline.value.last("acpi") == Some("off");
    let Some(current) = case.current_name() else { return };
    if !off || !case.machine.arch.value.is_x86() || matches!(current, "hpet" | "acpi_pm") {
        return;
    }
    // If the TSC is used, only its references are lost.
    let lost = case.slow == Some(true) || current.contains("jiffies");
    causes.add(
        CauseId::AcpiDisabled,
        if lost { Severity::Warning } else { Severity::Info },
        Confidence::High,
        "acpi=off on the command line hides the tables that describe the HPET and the PM timer, so \
         neither is registered: apart from the TSC, only the timer tick is left",
        vec![cmdline(case, "acpi=off")],
    );
}
