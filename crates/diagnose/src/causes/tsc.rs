//! Code shared by the causes of the TSC: the kernel's reason for marking it unstable, the model's reason, and the
//! text of durations and of words of the command line.

use super::{Case, Causes};
use crate::cause::{CauseId, Confidence, Evidence, Severity};
use clocksmith_facts::log::Event;
use clocksmith_facts::log::event::UnstableReason;
use clocksmith_facts::log::incident::reading::{OVERFLOW_LEAST_S, OVERFLOW_S};
use clocksmith_kernel::expectation::TscState;

/// Adds a cause for each line that marks the TSC unstable for a reason of this cause.
pub(super) fn marked(
    case: &Case<'_>,
    causes: &mut Causes,
    id: CauseId,
    severity: Severity,
    summary: &str,
    mine: fn(&UnstableReason) -> bool,
) {
    let Some(log) = case.log() else { return };
    for entry in log.all(|event| matches!(event, Event::TscUnstable(reason) if mine(reason))) {
        let evidence = vec![Evidence::line(log, entry)];
        causes.add(id, severity, Confidence::High, summary, evidence);
    }
}

/// Adds a cause if the model concludes from static facts that the kernel marks the TSC unstable for
/// a reason of this cause, and neither the log nor sysfs contradicts it.
pub(super) fn by_model(
    case: &Case<'_>,
    causes: &mut Causes,
    id: CauseId,
    severity: Severity,
    assumed: bool,
    mine: fn(&UnstableReason) -> bool,
) {
    let TscState::Unstable { reason, observed: false } = &case.expectation.tsc else { return };
    if case.tsc_is_current()
        || case.tsc_listed() == Some(true)
        || !mine(&UnstableReason::parse(reason))
    {
        return;
    }
    let because = case
        .expectation
        .reasons
        .iter()
        .find(|r| r.rule == "tsc unstable")
        .map_or_else(|| reason.clone(), |r| r.because.clone());
    let confidence = if assumed { Confidence::Low } else { Confidence::Medium };
    let evidence = vec![Evidence::new("kernel model", because.clone())];
    causes.add(id, severity, confidence, because, evidence);
}

/// Returns `once`, or `3 times`.
pub(crate) fn times(count: impl Into<u64>) -> String {
    match count.into() {
        1 => "once".to_owned(),
        count => format!("{count} times"),
    }
}

/// A duration as text: `64 ns`, `3.18 s`.
pub(crate) fn seconds_text(seconds: f64) -> String {
    let size = seconds.abs();
    if size < 1e-6 {
        format!("{:.0} ns", seconds * 1e9)
    } else if size < 1e-3 {
        format!("{:.1} us", seconds * 1e6)
    } else if size < 1.0 {
        format!("{:.1} ms", seconds * 1e3)
    } else if size < 7200.0 {
        format!("{seconds:.2} s")
    } else {
        format!("{:.1} hours", seconds / 3600.0)
    }
}

/// A figure at an overflow as text: `2^42 ns minus 8.5 ms`, `16 times 2^33 ns minus 70.0 us`.
pub(crate) fn overflow_text(below: f64, size: f64) -> String {
    let rest =
        format!("{} {}", if below < 0.0 { "plus" } else { "minus" }, seconds_text(below.abs()));
    match (size / OVERFLOW_LEAST_S).round() {
        _ if size == OVERFLOW_S => format!("2^42 ns {rest}"),
        1.0 => format!("2^33 ns {rest}"),
        times => format!("{times} times 2^33 ns {rest}"),
    }
}

/// The command line's word as evidence.
pub(super) fn cmdline(case: &Case<'_>, word: &str) -> Evidence {
    let source =
        case.facts.cmdline.source().map_or_else(|| "command line".to_owned(), |s| s.0.clone());
    Evidence::new(source, word)
}

/// The word that asks for a clocksource as evidence.
pub(super) fn clocksource_word(case: &Case<'_>) -> Evidence {
    cmdline(case, &case.machine.cmdline.value.clocksource_word().unwrap_or_default())
}

/// A citation without its brackets.
pub(super) fn place(cite: &str) -> String {
    cite.trim_matches([' ', '[', ']']).to_owned()
}
