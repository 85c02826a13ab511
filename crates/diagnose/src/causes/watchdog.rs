//! The part at fault when the watchdog acted: the TSC, its reference, or a machine that was stopped.

use super::tsc::{overflow_text, seconds_text};
use super::{Case, Causes};
use crate::cause::{CauseId, Confidence, Evidence, Severity};
use crate::demotion;
use clocksmith_facts::log::event::UnstableReason;
use clocksmith_facts::log::incident::reading::Hypothesis;
use clocksmith_facts::log::incident::{Incident, Trigger, incidents};
use clocksmith_facts::log::rates::Rates;
use clocksmith_facts::log::{Entry, Event, KernelLog};

pub(super) fn find(case: &Case<'_>, causes: &mut Causes) {
    let Some(log) = case.log() else { return };
    let rates = Rates::of(log);
    let found = incidents(log);
    for incident in &found {
        if incident.clocksource.starts_with("tsc") {
            if echo(log, incident, causes) {
                continue;
            }
            blame(case, log, incident, &rates, causes);
        } else {
            other_clock(case, log, incident, causes);
        }
    }
    kept(log, causes);
    let unexplained = found.is_empty()
        && log.any(|event| {
            matches!(
                event,
                Event::TscUnstable(clocksmith_facts::log::event::UnstableReason::Watchdog)
            )
        });
    if unexplained {
        without_figures(log, causes);
    }
    super::skipped::find(case, log, causes);
}

/// The kernel had already stated why it does not trust the TSC. The watchdog then only sees the effect,
/// and its figures are not a second cause.
fn echo(log: &KernelLog, incident: &Incident, causes: &mut Causes) -> bool {
    let Some(first) = incident.entries.first().copied() else { return false };
    let stated = log.entries.iter().take(first).find_map(|entry| match &entry.event {
        Event::TscUnstable(UnstableReason::Watchdog | UnstableReason::Other(_)) => None,
        Event::TscUnstable(_) => Some(Evidence::line(log, entry)),
        _ => None,
    });
    let Some(stated) = stated else { return false };
    let Some(cause) = causes.0.iter_mut().find(|cause| cause.evidence.contains(&stated)) else {
        return false;
    };
    for line in lines(log, incident) {
        if !cause.evidence.contains(&line) && cause.evidence.len() < 8 {
            cause.evidence.push(line);
        }
    }
    true
}

fn lines(log: &KernelLog, incident: &Incident) -> Vec<Evidence> {
    incident
        .entries
        .iter()
        .filter_map(|index| log.entries.get(*index))
        .take(5)
        .map(|entry| Evidence::line(log, entry))
        .collect()
}

fn blame(
    case: &Case<'_>,
    log: &KernelLog,
    incident: &Incident,
    rates: &Rates,
    causes: &mut Causes,
) {
    let evidence = lines(log, incident);
    let reference = incident.watchdog.as_deref().unwrap_or("its reference");
    let loss = case.loss();
    // A wrong frequency on the command line explains any difference of rates.
    let stated_wrong = case.machine.cmdline.value.has("tsc_early_khz")
        && causes
            .0
            .iter()
            .any(|c| c.id == CauseId::TscMiscalibrated && c.confidence == Confidence::High);
    let fault = CauseId::WatchdogAtFault;
    if incident.trigger != Trigger::CpuOrder
        && let Some(test) = injected(log, incident)
    {
        let mut evidence = evidence;
        evidence.insert(0, Evidence::line(log, test));
        let summary = "a test deliberately delayed the watchdog's reads (see the previous line), and the kernel \
                       demoted the TSC: neither the TSC nor the reference is at fault";
        causes.add(fault, loss, Confidence::High, summary, evidence);
        return;
    }
    let mut add = |id, severity, confidence, summary: String| {
        causes.add(id, severity, confidence, summary, evidence.clone());
    };
    match incident.trigger {
        Trigger::ReferenceSlow => {
            return add(
                fault,
                loss,
                Confidence::High,
                format!(
                    "the watchdog read {reference}, the TSC and {reference} again; this took too long, and the kernel \
                     demoted the TSC. A slow reference (an emulated timer), an SMI or a descheduled virtual CPU causes \
                     this, so it does not show a fault of the TSC"
                ),
            );
        }
        Trigger::ClocksourceSlow => {
            return add(
                fault,
                loss,
                Confidence::Medium,
                "the watchdog was interrupted between its reads (a descheduled virtual CPU or an \
                 SMI), and the kernel demoted the TSC"
                    .to_owned(),
            );
        }
        Trigger::CpuOrder => {
            return add(
                CauseId::TscSkew,
                loss,
                Confidence::High,
                "the watchdog read the counters of several CPUs one after the other, and a later read was \
                 smaller: the TSCs are not synchronised"
                    .to_owned(),
            );
        }
        Trigger::Skew => {}
    }
    if stated_wrong {
        return;
    }
    super::skew::judge(case, log, incident, rates, &evidence, causes);
}

/// The number of lines before a demotion in which a test may report that it delays the reads.
const TEST_WITHIN: u64 = 24;
/// The same in seconds: a check is due twice a second.
const TEST_WITHIN_S: f64 = 2.0;

/// The line in which a test of the watchdog reports that it delayed the reads of this check.
fn injected<'a>(log: &'a KernelLog, incident: &Incident) -> Option<&'a Entry> {
    let first = log.entries.get(*incident.entries.first()?)?;
    log.all(|event| matches!(event, Event::DelayInjected))
        .filter(|entry| {
            let near = match entry.at.zip(first.at) {
                Some((then, now)) => now - then <= TEST_WITHIN_S,
                None => first.line.saturating_sub(entry.line) <= TEST_WITHIN,
            };
            entry.line < first.line && near
        })
        .last()
}

fn other_clock(case: &Case<'_>, log: &KernelLog, incident: &Incident, causes: &mut Causes) {
    let name = &incident.clocksource;
    // kernel/time/clocksource-wdtest.c (5.14 and later) registers its own clocksources and breaks them.
    if name.starts_with("wdtest-") {
        causes.add(
            CauseId::WatchdogAtFault,
            Severity::Info,
            Confidence::High,
            format!(
                "the test module clocksource-wdtest made the kernel demote {name}, a clocksource of \
                 its own: no clock that programs read is affected"
            ),
            lines(log, incident),
        );
        return;
    }
    // With tsc=watchdog the TSC verifies hpet and acpi_pm.
    if case.may_be_x86() && matches!(name.as_str(), "hpet" | "acpi_pm") {
        causes.add(
            CauseId::WatchdogAtFault,
            if case.slow == Some(true) { Severity::Warning } else { Severity::Info },
            Confidence::High,
            format!("{name} was demoted, not the TSC"),
            lines(log, incident),
        );
        return;
    }
    causes.add(
        CauseId::InsufficientEvidence,
        Severity::Warning,
        Confidence::High,
        format!(
            "the kernel demoted {name}; whether {name} or its reference was wrong is not in this evidence"
        ),
        lines(log, incident),
    );
}

/// The watchdog found a difference, but the kernel keeps the clocksource (RHEL 6).
fn kept(log: &KernelLog, causes: &mut Causes) {
    let found = log.last(|event| match event {
        Event::WatchdogKept { name, delta_ns } => Some((name.clone(), *delta_ns)),
        _ => None,
    });
    let Some((entry, (name, delta_ns))) = found else { return };
    let keeps = format!(
        "this kernel does not demote {name} for that without clocksource_failover on the command line"
    );
    if let Some(Hypothesis::Overflow { below, size }) = demotion::overflow_ns(delta_ns) {
        let figure = overflow_text(below, size);
        causes.add(
            CauseId::WatchdogAtFault,
            Severity::Info,
            Confidence::Medium,
            format!(
                "the difference between {name} and its reference is {figure}: the kernel's conversion of cycles \
                 overflows there, so the check came too late, and the figure is not an interval; {keeps}"
            ),
            vec![Evidence::line(log, entry)],
        );
        return;
    }
    #[allow(clippy::cast_precision_loss)]
    let size = seconds_text((delta_ns as f64 / 1e9).abs());
    let less = if delta_ns < 0 { "less" } else { "more" };
    causes.add(
        CauseId::InsufficientEvidence,
        Severity::Warning,
        Confidence::High,
        format!(
            "{name} counted {size} {less} than its reference; {keeps}; this evidence does not show which of the two \
             clocks was wrong"
        ),
        vec![Evidence::line(log, entry)],
    );
}

fn without_figures(log: &KernelLog, causes: &mut Causes) {
    let evidence: Vec<Evidence> = log
        .all(|e| matches!(e, Event::TscUnstable(_)))
        .take(2)
        .map(|entry| Evidence::line(log, entry))
        .collect();
    let settle = "the lines before this one have the figures: journalctl -k -b";
    causes.add(
        CauseId::InsufficientEvidence,
        Severity::Warning,
        Confidence::High,
        format!(
            "the watchdog demoted the TSC, and the lines with the reason are missing; {settle}"
        ),
        evidence.clone(),
    );
    causes.add(
        CauseId::TscSkew,
        Severity::Warning,
        Confidence::Low,
        "the watchdog demoted the TSC; whether the TSC or the reference was wrong is not in this \
         evidence",
        evidence,
    );
}
