//! Events that may follow the last switch of a log: a choice of the command line, a demotion whose first line is lost.

use super::rivals::{lacks_tsc, tsc_follows};
use super::{VERIFIED_WITHIN, tsc_is_lost};
use clocksmith_facts::log::{Entry, Event, KernelLog};
use clocksmith_kernel::Machine;

/// Lines after the one that names a clocksource in which the kernel prints its figures, among lines of others.
const FIGURES: u64 = 12;

/// Whether a log has figures of a demotion without the line that names the clocksource. Figures after a line that names
/// a clocksource other than the TSC belong to that one: acpi_pm with tsc=watchdog, or a test of the watchdog.
pub(super) fn has_figures_of_nobody(log: &KernelLog, entry: &Entry) -> bool {
    let mut of_another = 0;
    log.entries.iter().filter(|later| later.line > entry.line).any(|later| match &later.event {
        Event::WatchdogMarked { name, .. } | Event::WatchdogVerdict { name, .. } => {
            if !name.starts_with("tsc") {
                of_another = later.line + FIGURES;
            }
            false
        }
        Event::WatchdogInterval { .. }
        | Event::WatchdogDetail { .. }
        | Event::WatchdogCurrent(_) => later.line > of_another,
        _ => false,
    })
}

/// Whether a kernel from which this clocksource is requested may choose it after the switch: the
/// log does not show that it registered, or ends too soon after that.
pub(super) fn is_pending(machine: &Machine, log: &KernelLog, entry: &Entry, wanted: &str) -> bool {
    let line = if wanted.starts_with("tsc") {
        if tsc_is_lost(log, entry) || lacks_tsc(machine) {
            return false;
        }
        tsc_follows(log, entry)
    } else {
        log.all(|event| matches!(event, Event::Registered { name, .. } if name == wanted)).next()
    };
    let Some(line) = line else { return true };
    let end = log.ends_at(entry);
    line.line > entry.line
        && line.at.zip(end).is_none_or(|(then, end)| end - then < VERIFIED_WITHIN)
}
