//! Who is to blame when the watchdog acted: the TSC, its reference, or a machine that stood still.

use super::reference::{is_paravirt, suspect_reference};
use super::tsc::seconds_text;
use super::{Case, Causes};
use crate::cause::{CauseId, Confidence, Evidence, Severity};
use clocksmith_facts::log::incident::{Incident, Reading, Trigger, incidents};
use clocksmith_facts::log::rates::Rates;
use clocksmith_facts::log::{Event, KernelLog};

pub(super) fn find(case: &Case<'_>, causes: &mut Causes) {
    let Some(log) = case.log() else { return };
    let rates = Rates::of(log);
    let found = incidents(log);
    for incident in &found {
        if incident.clocksource.starts_with("tsc") {
            blame(case, log, incident, &rates, causes);
        } else {
            other_clock(case, log, incident, causes);
        }
    }
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
    // A frequency that was stated wrongly explains any difference of rates.
    let stated_wrong = case.machine.cmdline.value.has("tsc_early_khz")
        && causes
            .0
            .iter()
            .any(|c| c.id == CauseId::TscMiscalibrated && c.confidence == Confidence::High);
    let mut add = |id, severity, confidence, summary: String| {
        causes.add(id, severity, confidence, summary, evidence.clone());
    };
    let fault = CauseId::WatchdogAtFault;
    match incident.trigger {
        Trigger::ReferenceSlow => {
            return add(
                fault,
                loss,
                Confidence::High,
                format!(
                    "reading {reference} took too long, and the kernel blamed the TSC: a slow reference \
                     (an emulated timer, a loaded host) says nothing about the TSC"
                ),
            );
        }
        Trigger::ClocksourceSlow => {
            return add(
                fault,
                loss,
                Confidence::Medium,
                "the watchdog was interrupted between its reads (a descheduled virtual CPU, SMI), and \
                 the kernel blamed the TSC"
                    .to_owned(),
            );
        }
        Trigger::CpuOrder => {
            return add(
                CauseId::TscSkew,
                loss,
                Confidence::High,
                "counters that were read one after the other on several CPUs came back out of order: \
                 the TSCs are not synchronised"
                    .to_owned(),
            );
        }
        Trigger::Skew => {}
    }
    if stated_wrong {
        return;
    }
    let decoded = incident.decode(rates);
    if incident.cpus_differ {
        add(
            CauseId::TscSkew,
            loss,
            Confidence::High,
            "the cross check found some CPUs' TSCs ahead of or behind others: the TSC itself is at \
             fault"
                .to_owned(),
        );
        return;
    }
    match decoded.reading {
        Reading::ReferenceWrapped { wraps, seconds } => add(
            fault,
            loss,
            if rates.tsc.is_some() || incident.old_style {
                Confidence::High
            } else {
                Confidence::Medium
            },
            format!(
                "both clocks agree on {} once {reference} is taken to have wrapped {wraps} time(s): \
                 nobody looked for that long (a stopped virtual CPU, interrupts off), the TSC is \
                 innocent",
                seconds_text(seconds)
            ),
        ),
        Reading::ReferenceOverran { seconds } => add(
            fault,
            loss,
            Confidence::High,
            format!(
                "both clocks agree on {}, longer than half the range of {reference}, which the kernel \
                 then counts as zero: the TSC is innocent, the machine stood still",
                seconds_text(seconds)
            ),
        ),
        Reading::ReferenceStuck => add(
            fault,
            loss,
            Confidence::High,
            format!("{reference} did not move while the TSC did: the reference failed"),
        ),
        Reading::Stuck => add(
            fault,
            loss,
            Confidence::Medium,
            format!(
                "one comparison with {reference} read no progress of the TSC at all: a single glitch of \
                 the read-out, not drift"
            ),
        ),
        Reading::Jumped { seconds } => jumped(case, log, incident, seconds, evidence, causes),
        Reading::Skewed { ppm } => {
            super::skew::skewed(case, incident, ppm, rates, evidence, causes)
        }
        Reading::PlausibleRate { hz } => {
            let summary = format!(
                "the two counters imply a TSC of {:.1} MHz, a rate that processors have, so neither \
                 jumped; without the rate that the kernel used (\"Detected ... MHz\", \"Refined ...\") \
                 the culprit stays open",
                hz / 1e6
            );
            either(case, incident, summary, evidence, causes);
        }
        Reading::Unknown => {
            let summary = format!(
                "the watchdog saw the TSC and {reference} disagree; the figures that would tell which \
                 one was wrong are not in this evidence"
            );
            either(case, incident, summary, evidence, causes);
        }
    }
}

/// Both readings fit: the likelier one by the reference's nature.
fn either(
    case: &Case<'_>,
    incident: &Incident,
    summary: String,
    evidence: Vec<Evidence>,
    causes: &mut Causes,
) {
    let suspect = suspect_reference(case, incident);
    let (fault, skew) = if suspect {
        (Confidence::Medium, Confidence::Low)
    } else {
        (Confidence::Low, Confidence::Medium)
    };
    let loss = case.loss();
    causes.add(CauseId::WatchdogAtFault, loss, fault, summary.clone(), evidence.clone());
    causes.add(CauseId::TscSkew, loss, skew, summary, evidence);
}

fn jumped(
    case: &Case<'_>,
    log: &KernelLog,
    incident: &Incident,
    seconds: f64,
    evidence: Vec<Evidence>,
    causes: &mut Causes,
) {
    let paravirt = incident.watchdog.as_deref().is_some_and(is_paravirt);
    if incident.old_style && seconds < 0.0 {
        causes.add(
            CauseId::TscSkew,
            case.loss(),
            Confidence::Medium,
            format!(
                "the TSC fell {} behind its reference: it stands still or slows while the CPU is idle",
                seconds_text(-seconds)
            ),
            evidence,
        );
        return;
    }
    let slept = log.any(|e| matches!(e, Event::Suspend | Event::Resume));
    let cause = if slept {
        " (the machine was suspended and resumed)"
    } else if case.in_guest() {
        " (the virtual machine was stopped, restored or moved, or its host slept)"
    } else {
        " (suspend and resume, firmware, or a tool that wrote the counter's registers)"
    };
    let direction = if seconds < 0.0 { "back" } else { "ahead" };
    causes.add(
        CauseId::TscJump,
        case.loss(),
        if incident.old_style { Confidence::Medium } else { Confidence::High },
        format!(
            "the TSC jumped {direction} by about {} within one watchdog interval{cause}",
            seconds_text(seconds.abs())
        ),
        evidence.clone(),
    );
    if paravirt {
        causes.add(
            CauseId::ParavirtClockBroken,
            case.loss(),
            Confidence::Low,
            "the other reading: the hypervisor's clock jumped, and the TSC is right; the host's log \
             would settle it",
            evidence,
        );
    }
}

fn other_clock(case: &Case<'_>, log: &KernelLog, incident: &Incident, causes: &mut Causes) {
    // With tsc=watchdog the TSC verifies hpet and acpi_pm.
    causes.add(
        CauseId::WatchdogAtFault,
        if case.slow == Some(true) { Severity::Warning } else { Severity::Info },
        Confidence::High,
        format!("{} was demoted, not the TSC", incident.clocksource),
        lines(log, incident),
    );
}

fn without_figures(log: &KernelLog, causes: &mut Causes) {
    let evidence: Vec<Evidence> = log
        .all(|e| matches!(e, Event::TscUnstable(_)))
        .take(2)
        .map(|entry| Evidence::line(log, entry))
        .collect();
    let settle = "the lines in front of this one hold the figures: journalctl -k -b";
    causes.add(
        CauseId::InsufficientEvidence,
        Severity::Warning,
        Confidence::High,
        format!("the watchdog demoted the TSC, and the lines that say why are missing; {settle}"),
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
