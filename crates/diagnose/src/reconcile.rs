//! Contradictions between two sources of evidence: the stronger one is used, and the judgement ignores the
//! weaker one.
//!
//! Any user can write into the kernel log (a failing mount in a user namespace, the name of a program),
//! but only the kernel writes sysfs.

use crate::cause::Evidence;
use crate::demotion::{self, demoted_by};
use clocksmith_facts::log::Event;
use clocksmith_facts::{Fact, Facts};
use serde::{Deserialize, Serialize};

/// Two pieces of evidence that cannot both be true.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Contradiction {
    /// The fact that both are about.
    pub fact: String,
    /// The evidence that is used.
    pub stronger: Evidence,
    /// The evidence that is not used.
    pub weaker: Evidence,
}

/// Removes the demotions from the log that sysfs disproves, and returns the contradictions.
///
/// [`demotion::listed_as_healthy`] explains the evidence of the list of sysfs.
pub(crate) fn reconcile(facts: &mut Facts) -> Vec<Contradiction> {
    let mut found = Vec::new();
    let Some((healthy, listing)) = listed_as_healthy(facts) else { return found };
    if !facts.log.is_known() {
        return found;
    }
    let Fact::Known { value: mut log, source } = std::mem::take(&mut facts.log) else {
        return found;
    };
    let is_listed = |name: &str| healthy.iter().any(|listed| listed == name);
    // The figures of a demotion come with it: without one that sysfs does not disprove they are part of a disproved one.
    let marked = |event: &Event| {
        matches!(event, Event::WatchdogKept { .. })
            || demoted_by(event).is_some_and(|name| !is_listed(name))
    };
    let figures = !log.any(marked);
    let disproved =
        |event: &Event| demoted_by(event).is_some_and(is_listed) || figures && is_figure(event);
    if let Some(entry) = log.entries.iter().find(|entry| disproved(&entry.event)) {
        found.push(Contradiction {
            fact: "demotion of a clocksource".to_owned(),
            stronger: Evidence::new(listing, format!("available {}", healthy.join(" "))),
            weaker: Evidence::line(&log, entry),
        });
        log.entries.retain(|entry| !disproved(&entry.event));
    }
    facts.log = Fact::known(log, source);
    found
}

/// Whether a line is one of those that the watchdog prints after the one by which it demotes a
/// clocksource.
pub(crate) fn is_figure(event: &Event) -> bool {
    matches!(
        event,
        Event::WatchdogDetail { .. }
            | Event::WatchdogSecond { .. }
            | Event::WatchdogSkewed { .. }
            | Event::WatchdogInterval { .. }
            | Event::WatchdogCurrent(_)
            | Event::WatchdogCpuOrder
    )
}

/// The clocksources that sysfs proves not to be demoted, and where that was read.
fn listed_as_healthy(facts: &Facts) -> Option<(Vec<String>, String)> {
    let Fact::Known { source, .. } = &facts.clocksources else { return None };
    // A reading in a pasted session may be older than the rest of it.
    if !demotion::reads_directory(facts) {
        return None;
    }
    let healthy = demotion::listed_as_healthy(facts)?.to_vec();
    Some((healthy, format!("{source}/clocksource0/available_clocksource")))
}
