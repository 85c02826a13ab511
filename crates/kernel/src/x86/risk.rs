//! Risks to a TSC that is in use: the watchdog compares it with a reference, and attributes every difference to the
//! TSC.

use crate::expectation::{Candidate, Reason, TscState};
use crate::{Expectation, Machine};

const SOURCE: &str = "clocksource_select_watchdog(), clocksource_watchdog() in kernel/time/clocksource.c, all versions; \
                      PMTMR_TICKS_PER_SEC 3579545 and 24 bits in drivers/clocksource/acpi_pm.c";

/// Adds the risk of a watched TSC whose reference may be wrong although the TSC is right.
pub(super) fn of_watchdog(machine: &Machine, out: &mut Expectation) {
    let watched = matches!(out.tsc, TscState::Usable { watched: true });
    if !watched || out.current.as_deref() != Some("tsc") {
        return;
    }
    // The best of the clocksources that do not need watching (`CLOCK_SOURCE_MUST_VERIFY`).
    let unwatched = |candidate: &&Candidate| !candidate.name.starts_with("tsc");
    let Some(reference) = out.candidates.iter().filter(unwatched).max_by_key(|c| c.rating) else {
        return;
    };
    let guest = machine.hypervisor.value.as_ref().is_some_and(|hypervisor| !hypervisor.xen_dom0);
    let why = match reference.name.as_str() {
        "acpi_pm" if guest => {
            "the hypervisor emulates it, so a virtual CPU that is stopped between two reads, or for \
             the 4.7 s after which its 24 bits wrap around, looks like a wrong TSC"
        }
        "hpet" if guest => {
            "the hypervisor emulates it, so a virtual CPU that is stopped between two reads looks \
             like a wrong TSC"
        }
        "jiffies" | "refined-jiffies" | "pit" => {
            "it counts timer interrupts, so lost ones look like a TSC that is fast"
        }
        _ => return,
    };
    let name = &reference.name;
    out.at_risk.push(Reason {
        rule: "watched by a poor reference".to_owned(),
        because: format!(
            "the watchdog still checks the TSC, and its reference is {name}: {why}. If it demotes the TSC, the \
             kernel uses {name} until the next boot"
        ),
        source: SOURCE.to_owned(),
    });
}
