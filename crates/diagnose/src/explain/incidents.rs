//! Several pasted lines together: the watchdog's figures of one demotion.

use super::figures::{ppm, seconds};
use crate::causes::tsc::{overflow_text, times};
use clocksmith_facts::log::KernelLog;
use clocksmith_facts::log::incident::reading::{Fit, Hypothesis};
use clocksmith_facts::log::incident::{Incident, incidents};
use clocksmith_facts::log::rates::Rates;

/// Explains the lines together, one sentence for each demotion.
pub(super) fn together(log: &KernelLog) -> Vec<String> {
    let rates = Rates::of(log);
    incidents(log).iter().filter_map(|incident| sentence(incident, &rates)).collect()
}

fn sentence(incident: &Incident, rates: &Rates) -> Option<String> {
    if incident.wd.is_none() && incident.interval_ns.is_none() {
        return None;
    }
    let readings = incident.decode(rates).readings;
    let best = readings.first()?.fit;
    // A proved reading needs no alternatives.
    let mut clauses = readings
        .iter()
        .filter(|reading| best < Fit::Shown || reading.fit == best)
        .map(|reading| clause(incident, &reading.hypothesis));
    let first = clauses.next()?;
    let others: Vec<String> = clauses.collect();
    Some(match (best, others.is_empty()) {
        (_, true) => format!("Together: {first}."),
        (Fit::Possible, false) => format!("Together: {first}, or {}.", others.join(", or ")),
        (_, false) => format!("Together: {first}. Less likely: {}.", others.join(", or ")),
    })
}

fn clause(incident: &Incident, hypothesis: &Hypothesis) -> String {
    let clock = &incident.clocksource;
    let reference = incident.watchdog.as_deref().unwrap_or("the reference");
    match *hypothesis {
        Hypothesis::Rate { ppm: difference } => {
            let difference = difference.unwrap_or(0.0);
            let side = if difference < 0.0 { "slower" } else { "faster" };
            format!(
                "{clock} ran {} {side} than {reference}; it is not known which of the two is wrong",
                ppm(difference.abs())
            )
        }
        Hypothesis::StoodStill { wraps: 0, seconds: length, .. } => format!(
            "both agree on {}, more than half the range of {reference}, which the kernel treats as \
             zero: no check ran for that long, and {clock} is not at fault",
            seconds(length)
        ),
        Hypothesis::StoodStill { wraps, wraps_most, seconds: length } if wraps == wraps_most => {
            format!(
                "both agree on {} if {reference} wrapped {}: no check ran for that long, and {clock} is not at \
                 fault",
                seconds(length),
                times(wraps)
            )
        }
        Hypothesis::StoodStill { wraps, wraps_most, seconds: length } => format!(
            "both agree on {} or longer if {reference} wrapped {wraps} to {wraps_most} times: then no \
             check ran for that long, and {clock} is not at fault",
            seconds(length)
        ),
        Hypothesis::ClocksourceJumped { seconds: jump } => {
            let side = if jump < 0.0 { "stopped or was set back" } else { "jumped ahead" };
            format!("{clock} {side} by about {}", seconds(jump.abs()))
        }
        Hypothesis::ReferenceJumped { seconds: jump } => {
            let side = if jump < 0.0 { "stopped, lost time or went back" } else { "jumped ahead" };
            format!("{reference} {side} by about {}", seconds(jump.abs()))
        }
        Hypothesis::LateRead { seconds: late } => {
            format!("{reference} was read {} late", seconds(late))
        }
        Hypothesis::HeldUp { seconds: late } => {
            format!("a virtual CPU was descheduled for {} between the two reads", seconds(late))
        }
        Hypothesis::TicksLost { seconds: lost } => {
            format!("{reference} lost {} of ticks", seconds(lost))
        }
        Hypothesis::ClocksourceStuck => {
            format!(
                "the kernel counted nothing for {clock}: it halted, it went back, or one read was wrong"
            )
        }
        Hypothesis::ClocksourceHalted { seconds: long } => {
            format!("{clock} stopped for {}: two reads of it are equal", seconds(long))
        }
        Hypothesis::Overflow { below, size } => format!(
            "{}: the kernel's conversion of cycles overflowed, and the figure is not an interval",
            overflow_text(below, size)
        ),
        Hypothesis::ReferenceStuck => format!("{reference} did not move"),
        Hypothesis::PlausibleRate { hz } => format!(
            "{clock} ran at {:.3} MHz according to {reference}; if that is this CPU's rate, the clocks agree \
             (the log's `Detected` line shows it)",
            hz / 1e6
        ),
        Hypothesis::TooSmall { seconds: difference } => format!(
            "the clocks differ by {}, which delayed reads can cause: neither is at fault",
            seconds(difference.abs())
        ),
    }
}
