//! Several pasted lines together: the watchdog's figures of one demotion.

use super::figures::{ppm, seconds};
use clocksmith_facts::log::KernelLog;
use clocksmith_facts::log::incident::{Incident, Reading, incidents};
use clocksmith_facts::log::rates::Rates;

/// What the lines say together, one sentence for each demotion.
pub(super) fn together(log: &KernelLog) -> Vec<String> {
    let rates = Rates::of(log);
    incidents(log).iter().filter_map(|incident| sentence(incident, &rates)).collect()
}

fn sentence(incident: &Incident, rates: &Rates) -> Option<String> {
    if incident.wd.is_none() && incident.interval_ns.is_none() {
        return None;
    }
    let clock = &incident.clocksource;
    let reference = incident.watchdog.as_deref().unwrap_or("the reference");
    Some(match incident.decode(rates).reading {
        Reading::Skewed { ppm: difference } => {
            let side = if difference < 0.0 { "slower" } else { "faster" };
            format!("Together: {clock} ran {} {side} than {reference}.", ppm(difference.abs()))
        }
        Reading::ReferenceWrapped { wraps, seconds: length } => format!(
            "Together: both agree on {} if {reference} wrapped {wraps} time(s). The machine stood \
             still; {clock} is innocent.",
            seconds(length)
        ),
        Reading::ReferenceOverran { seconds: length } => format!(
            "Together: both agree on {}, more than half the range of {reference}. The kernel took that \
             for zero; {clock} is innocent.",
            seconds(length)
        ),
        Reading::Jumped { seconds: jump } => {
            let side = if jump < 0.0 { "back" } else { "ahead" };
            format!("Together: {clock} jumped {side} by about {}.", seconds(jump.abs()))
        }
        Reading::Stuck => format!("Together: {clock} did not move: one glitch, no drift."),
        Reading::ReferenceStuck => format!("Together: {reference} did not move."),
        Reading::PlausibleRate { hz } => format!(
            "Together: {clock} ran at {:.3} MHz by {reference}. If that is this CPU's rate, the clocks \
             agree and the reference was read late; the log's `Detected` line tells.",
            hz / 1e6
        ),
        Reading::Unknown => return None,
    })
}
