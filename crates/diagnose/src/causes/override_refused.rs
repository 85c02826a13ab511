//! `override-refused`: the kernel refused a choice. The cause follows from the one that made that clocksource
//! unusable.

use super::definition::{Definition, PLAIN};
use super::tsc::cmdline;
use super::{Case, Causes};
use crate::cause::{CauseId, Confidence, Evidence, Severity};
use clocksmith_facts::log::event::Refusal;
use clocksmith_facts::log::{Entry, Event};

pub(super) const CAUSE: Definition = Definition {
    clause: Some("the kernel refused a choice of another clocksource"),
    consequence: true,
    find,
    any_architecture: true,
    ..PLAIN
};

fn find(case: &Case<'_>, causes: &mut Causes) {
    asked_for_unstable_tsc(case, causes);
    let Some(log) = case.log() else { return };
    for entry in log.all(|e| matches!(e, Event::Override { .. })) {
        let Event::Override { name, refusal } = &entry.event else { continue };
        // The kernel chose it after all. A deferred choice prints its own message.
        let chosen =
            |later: &Entry| matches!(&later.event, Event::Switched(chosen) if chosen == name);
        if *refusal != Refusal::Deferred
            && log.entries.iter().any(|later| later.line > entry.line && chosen(later))
        {
            continue;
        }
        let served = case.current_name() == Some(name.as_str());
        let summary = match refusal {
            Refusal::Unstable => format!(
                "the kernel refused a choice of {name}: it is unstable, and remains unstable until the next \
                 boot"
            ),
            Refusal::NotHres => format!(
                "a choice of {name} was refused: it cannot serve high resolution timers, or was not yet \
                 verified"
            ),
            Refusal::Deferred => format!(
                "a choice of {name} is waiting: it is not valid for high resolution until the watchdog \
                 has verified it"
            ),
        };
        causes.add(
            CauseId::OverrideRefused,
            if served { Severity::Info } else { Severity::Warning },
            Confidence::High,
            summary,
            vec![Evidence::line(log, entry)],
        );
    }
}

fn asked_for_unstable_tsc(case: &Case<'_>, causes: &mut Causes) {
    let asked = case.machine.cmdline.value.clocksource_override().as_deref() == Some("tsc");
    let other = case.current_name().is_some_and(|current| current != "tsc");
    if asked && other && case.tsc_is_unstable() {
        causes.add(
            CauseId::OverrideRefused,
            Severity::Info,
            Confidence::High,
            "the command line requests tsc, which is unstable here: the request has no effect",
            vec![cmdline(case, "clocksource=tsc")],
        );
    }
}
