//! Demotions of another machine in the same text: by a reference, or beside a paravirtual clock, that is missing in the
//! list of clocksources of this machine.
//!
//! A reference of the watchdog is registered and stays in `available_clocksource` (`clocksource_select_watchdog()`,
//! `available_clocksource_show()` in `kernel/time/clocksource.c`), except for a tick, and for a demoted clocksource.

use crate::cause::Evidence;
use crate::current::is_paravirtual;
use crate::demotion::{self, demoted_by};
use crate::names;
use crate::reconcile::{Contradiction, is_figure};
use clocksmith_facts::log::event::UnstableReason;
use clocksmith_facts::log::incident::incidents;
use clocksmith_facts::log::{Event, KernelLog};
use clocksmith_facts::{Fact, Facts};
use std::collections::BTreeSet;

/// The fact that such a contradiction names.
pub(crate) const FACT: &str = "machine of a demotion";

/// Removes the demotions of another machine from the log of a text, and returns the contradiction.
pub(crate) fn set_aside(facts: &mut Facts) -> Option<Contradiction> {
    // A log together with a sysfs directory is of the same machine.
    if demotion::reads_directory(facts) {
        return None;
    }
    let listed = facts.available_clocksources()?.to_vec();
    let place = facts.clocksources.source()?.0.clone();
    let log = facts.kernel_log()?;
    // The end of the list may be truncated.
    if log.last_line_may_be_cut()
        && log
            .last(|event| matches!(event, Event::ReadAvailable(_)).then_some(()))
            .is_some_and(|(entry, ())| entry.line + 1 >= log.lines)
    {
        return None;
    }
    let lines = foreign(log, &listed);
    let first = lines.first().and_then(|index| log.entries.get(*index))?;
    let found = Contradiction {
        fact: FACT.to_owned(),
        stronger: Evidence::new(place, format!("available {}", listed.join(" "))),
        weaker: Evidence::line(log, first),
    };
    if let Fact::Known { value: log, .. } = &mut facts.log {
        let mut index = 0;
        log.entries.retain(|_| {
            index += 1;
            !lines.contains(&(index - 1))
        });
    }
    Some(found)
}

/// The entries of demotions that cannot be of a machine with this list.
fn foreign(log: &KernelLog, listed: &[String]) -> BTreeSet<usize> {
    let is_foreign = |name: &str| {
        names::is_known(name)
            && !name.starts_with("tsc")
            && !name.contains("jiffies")
            && !listed.iter().any(|other| other == name)
            && !log.any(|event| demoted_by(event) == Some(name))
    };
    let all = log.any(|event| match event {
        Event::Switched(name)
        | Event::Registered { name, .. }
        | Event::WatchdogCurrent(Some(name)) => is_paravirtual(name) && is_foreign(name),
        _ => false,
    });
    let found = incidents(log);
    let of_others = |watchdog: &Option<String>| all || watchdog.as_deref().is_some_and(is_foreign);
    let mut lines: BTreeSet<usize> = found
        .iter()
        .filter(|incident| of_others(&incident.watchdog))
        .flat_map(|incident| incident.entries.iter().copied())
        .collect();
    // The lines that accompany a demotion are removed with it, unless another demotion remains.
    let none_left = found.iter().all(|incident| of_others(&incident.watchdog));
    if none_left && (all || !lines.is_empty()) {
        let goes = |event: &Event| {
            is_figure(event)
                || matches!(
                    event,
                    Event::TscUnstable(UnstableReason::Watchdog)
                        | Event::SchedClockUnstable
                        | Event::CrossCheck
                        | Event::CrossCheckOfOne
                )
                || all && demoted_by(event).is_some()
        };
        lines.extend(
            log.entries
                .iter()
                .enumerate()
                .filter(|(_, entry)| goes(&entry.event))
                .map(|(index, _)| index),
        );
    }
    lines
}
