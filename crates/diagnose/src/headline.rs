//! The first sentence: what a tired person understands.

use crate::causes::Case;
use crate::{Cause, CauseId, Read, Severity, Verdict};

pub(crate) fn headline(
    case: &Case<'_>,
    causes: &[Cause],
    verdict: Verdict,
    reads: &[Read],
) -> String {
    let name = case.current_name().unwrap_or("an unknown clocksource");
    let cost = reads
        .iter()
        .find(|r| r.clock == "CLOCK_MONOTONIC")
        .and_then(|r| r.ns)
        .map_or_else(String::new, |ns| format!(", about {} a read", ns_text(ns)));
    let because = main_cause(causes);
    match verdict {
        Verdict::Ok => match because {
            Some(cause) if cause.severity >= Severity::Warning => {
                format!(
                    "Reading the time is fast here ({name}{cost}), but: {}.",
                    lower(&cause.summary)
                )
            }
            _ => format!(
                "Reading the time is fast here: the clocksource is {name}{cost}. Nothing to fix."
            ),
        },
        Verdict::Slow => {
            let why = match because {
                Some(cause) if cause.id == CauseId::InsufficientEvidence => {
                    ". Why is not in this evidence".to_owned()
                }
                Some(cause) => format!(", because {}", lead(cause)),
                None => String::new(),
            };
            format!("Reading the time is slow here: {name} is in use{cost}{why}.")
        }
        Verdict::Untrustworthy => {
            let why = because.map_or_else(String::new, |cause| format!(": {}", lead(cause)));
            format!("The time of this machine cannot be trusted ({name}){why}.")
        }
        // What is in use is known, so it is the measurement that does not tell.
        Verdict::Unknown if case.current_name().is_some() => {
            let cost =
                if cost.is_empty() { ", and no read could be timed".to_owned() } else { cost };
            format!(
                "Unknown whether reading the time is fast here: the clocksource is {name}{cost}. \
                 Something between this program and the counter (a tracer, an emulator) may answer \
                 the reads."
            )
        }
        Verdict::Unknown => match because {
            Some(cause) if cause.id != CauseId::InsufficientEvidence => {
                format!("The clocksource in use is not in this evidence; what is: {}.", lead(cause))
            }
            _ => "Unknown: this evidence does not say which clocksource is in use.".to_owned(),
        },
    }
}

/// The cause as a clause of a few words; the details follow below it.
fn lead(cause: &Cause) -> String {
    use crate::Confidence;
    let Some(clause) = cause.id.clause() else { return lower(&cause.summary) };
    match cause.confidence {
        Confidence::High => clause.to_owned(),
        Confidence::Medium => format!("(likely) {clause}"),
        Confidence::Low => format!("(possibly) {clause}"),
    }
}

fn main_cause(causes: &[Cause]) -> Option<&Cause> {
    causes.first()
}

/// A duration for people.
fn ns_text(ns: f64) -> String {
    if ns < 1000.0 { format!("{ns:.0} ns") } else { format!("{:.1} us", ns / 1000.0) }
}

/// A sentence as a clause: no full stop; the first letter as it is, since most are proper names.
fn lower(text: &str) -> String {
    text.trim_end_matches('.').to_owned()
}
