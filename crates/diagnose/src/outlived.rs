//! Demotions of the TSC in a text that later shows the TSC in use: they are of another boot, or of another machine.
//!
//! The kernel gives a clocksource that it has marked unstable the rating 0, and cannot choose it while the tick is
//! one-shot (`__clocksource_unstable()`, `clocksource_find_best()` in `kernel/time/clocksource.c`). With a periodic
//! tick it uses the TSC again only if an administrator requests it.

use crate::cause::Evidence;
use crate::demotion::{self, takes_tsc};
use crate::reconcile::{Contradiction, is_figure};
use clocksmith_facts::log::Event;
use clocksmith_facts::{Fact, Facts};

/// The fact that such a contradiction names.
pub(crate) const FACT: &str = "boot of a demotion";

/// Removes the demotions of the TSC before such a reading from the log of a text, and returns the contradiction.
pub(crate) fn set_aside(facts: &mut Facts) -> Option<Contradiction> {
    // Nothing shows whether a log is older than a sysfs directory that is given with it.
    if demotion::reads_directory(facts) || facts.current_clocksource().value() != Some(&"tsc") {
        return None;
    }
    let asked = facts.cmdline.value().and_then(|line| line.clocksource_override());
    let log = facts.kernel_log()?;
    let wrote = log.any(|event| matches!(event, Event::WroteCurrent(name) if name == "tsc"));
    if wrote || asked.is_some_and(|name| name == "tsc") {
        return None;
    }
    let (read, name) = log.last(|event| match event {
        Event::ReadCurrent(name) => Some(name.clone()),
        _ => None,
    })?;
    let last = demotion::last_of_tsc(log).filter(|last| last.line < read.line && name == "tsc")?;
    let found = Contradiction {
        fact: FACT.to_owned(),
        stronger: Evidence::new(log.source(read).0, "current tsc"),
        weaker: Evidence::line(log, last),
    };
    let end = read.line;
    let first =
        log.entries.iter().find(|entry| takes_tsc(&entry.event)).map_or(end, |entry| entry.line);
    if let Fact::Known { value: log, .. } = &mut facts.log {
        log.entries.retain(|entry| {
            let goes = takes_tsc(&entry.event)
                || is_figure(&entry.event)
                || matches!(entry.event, Event::SchedClockUnstable | Event::TraceClockGlobal)
                // Without the demotion, the choice that followed it would seem to be a person's.
                || entry.line > first && matches!(entry.event, Event::Switched(_));
            entry.line > end || !goes
        });
    }
    Some(found)
}

/// The sentence about such a text: which of its parts is of the present is open. A TSC that was demoted in an earlier boot
/// may be demoted again.
pub(crate) fn headline(found: &Contradiction) -> String {
    format!(
        "These lines are from two boots or two machines: in one, tsc is in use ({}); in the other, the kernel \
         demoted the TSC ({}). It is not known which one the question is about.",
        found.stronger.source, found.weaker.source
    )
}
