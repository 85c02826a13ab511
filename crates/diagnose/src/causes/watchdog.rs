//! Who is to blame when the watchdog acted: the TSC, its reference, or a machine that stood still.

use super::tsc::seconds_text;
use super::{Case, Causes};
use crate::cause::{CauseId, Confidence, Evidence, Severity};
use clocksmith_facts::log::incident::{Incident, Rates, Reading, Trigger, incidents};
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
    skipped(case, log, causes);
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
        Reading::Skewed { ppm } => skewed(case, incident, ppm, rates, evidence, causes),
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

/// A reference that is known to be late, lossy or emulated.
fn suspect_reference(case: &Case<'_>, incident: &Incident) -> bool {
    match incident.watchdog.as_deref() {
        Some("jiffies" | "refined-jiffies" | "acpi_pm") => true,
        Some("hpet") => case.in_guest(),
        _ => case.in_guest(),
    }
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

fn is_paravirt(name: &str) -> bool {
    name == "kvm-clock" || name == "xen" || name.starts_with("hyperv_")
}

fn skewed(
    case: &Case<'_>,
    incident: &Incident,
    ppm: f64,
    rates: &Rates,
    evidence: Vec<Evidence>,
    causes: &mut Causes,
) {
    let reference = incident.watchdog.as_deref().unwrap_or("its reference");
    let loss = case.loss();
    let amount =
        if ppm.abs() >= 10_000.0 { format!("{:.1} %", ppm / 1e4) } else { format!("{ppm:.0} ppm") };
    let size = ppm.abs();
    if reference.contains("jiffies") {
        causes.add(
            CauseId::WatchdogAtFault,
            loss,
            Confidence::High,
            format!(
                "the TSC was compared with {reference} ({amount}), which loses ticks whenever interrupts \
                 or a virtual CPU are held up: no proof against the TSC"
            ),
            evidence,
        );
        return;
    }
    if is_paravirt(reference) {
        let summary = format!("the TSC and {reference} differ by {amount}");
        causes.add(
            CauseId::TscSkew,
            loss,
            Confidence::Medium,
            format!(
                "{summary}: after a move to a host with another TSC frequency, the TSC is at fault"
            ),
            evidence.clone(),
        );
        causes.add(
            CauseId::ParavirtClockBroken,
            loss,
            Confidence::Low,
            format!(
                "{summary}: or the hypervisor's scale is wrong; chronyc tracking would settle it"
            ),
            evidence,
        );
        return;
    }
    let tight = clocksmith_kernel::feature::Feature::ReadbackRetries.of(&case.machine.kernel.value);
    let version = case.machine.kernel.value.version;
    let narrow_era = tight && version.major == 5 && (14..=15).contains(&version.minor);
    // The watchdog's timer does not fire early: an interval that the reference counts as clearly
    // shorter than half a second, while the TSC counts more, convicts the reference.
    let decoded = incident.decode(rates);
    if let (Some(wd), Some(cs)) = (decoded.wd_seconds, decoded.cs_seconds)
        && !incident.old_style
        && wd < 0.45
        && cs > 0.49
    {
        causes.add(
            CauseId::WatchdogAtFault,
            loss,
            Confidence::High,
            format!(
                "{reference} counted {} for an interval that cannot be shorter than half a second; the \
                 TSC counted {}: the reference lost time",
                seconds_text(wd),
                seconds_text(cs)
            ),
            evidence,
        );
        return;
    }
    if let Some((confidence, summary)) = refinement_wrong(case, incident, ppm) {
        causes.add(CauseId::TscMiscalibrated, loss, confidence, summary, evidence.clone());
        if confidence == Confidence::High {
            return;
        }
    }
    let early = incident.clocksource == "tsc-early";
    // A calibration error is a steady rate error: the raw counters then agree with a real rate that
    // is not the kernel's.
    let miscalibrated = early && size > 1000.0 && size < 400_000.0 && rates.tsc.is_some();
    if miscalibrated {
        causes.add(
            CauseId::TscMiscalibrated,
            loss,
            Confidence::Medium,
            format!(
                "the early TSC frequency is {amount} off against {reference}: its calibration was \
                 disturbed, or tsc_early_khz= is wrong"
            ),
            evidence.clone(),
        );
    }
    let suspect = suspect_reference(case, incident)
        || (narrow_era && size < 1500.0)
        // A difference of this size that shows up once, after hours, is a late read.
        || (size > 50_000.0 && !case.in_guest() && incident.at.is_some_and(|at| at > 600.0) && reference == "acpi_pm");
    let (fault, skew) = match (suspect, miscalibrated) {
        (_, true) => (Confidence::Low, Confidence::Low),
        (true, _) => (Confidence::Medium, Confidence::Low),
        (false, _) => (Confidence::Low, Confidence::Medium),
    };
    let tail = "a run of clocksmith verify, or the same test with another reference, settles it";
    causes.add(
        CauseId::WatchdogAtFault,
        loss,
        fault,
        format!(
            "the TSC and {reference} differ by {amount} in one interval, which a late read of \
             {reference} explains; {tail}"
        ),
        evidence.clone(),
    );
    causes.add(
        CauseId::TscSkew,
        loss,
        skew,
        format!("the TSC ran {amount} away from {reference} in one interval; {tail}"),
        evidence,
    );
}

/// The watchdog acted within seconds of the refinement of the TSC's frequency. A steady TSC whose
/// refinement was disturbed looks like this; if the raw counters agree with the frequency detected
/// first, it is proven.
fn refinement_wrong(
    case: &Case<'_>,
    incident: &Incident,
    ppm: f64,
) -> Option<(Confidence, String)> {
    let log = case.log()?;
    let (entry, refined) = log.last(|event| match event {
        Event::Refined { khz } => Some(*khz),
        _ => None,
    })?;
    let soon = match (entry.at, incident.at) {
        (Some(refined_at), Some(at)) => (0.0..10.0).contains(&(at - refined_at)),
        _ => true,
    };
    if ppm.abs() > 15_000.0 || refined == 0 {
        return None;
    }
    let raw_khz = match (incident.cs, incident.wd) {
        (Some(cs), Some(wd)) if cs.cycles > 0 => {
            let seconds = match wd.nsec {
                #[allow(clippy::cast_precision_loss)]
                Some(ns) => ns as f64 / 1e9,
                None => incident.decode(&Rates::of(log)).wd_seconds?,
            };
            #[allow(clippy::cast_precision_loss)]
            let khz = cs.cycles as f64 / seconds / 1e3;
            Some(khz)
        }
        _ => None,
    };
    let detected = log.last(|event| match event {
        Event::Detected { khz, .. } => Some(*khz),
        _ => None,
    });
    #[allow(clippy::cast_precision_loss)]
    if let (Some(raw), Some((_, detected))) = (raw_khz, detected) {
        let off = |khz: u64| (raw / khz as f64 - 1.0).abs() * 1e6;
        if off(detected) < 300.0 && off(refined) > 400.0 {
            return Some((
                Confidence::High,
                format!(
                    "the counters ran at {:.3} MHz, as first detected, and not at the refined {:.3} MHz: \
                     the refinement was disturbed, the TSC is steady",
                    raw / 1e3,
                    refined as f64 / 1e3
                ),
            ));
        }
    }
    soon.then(|| {
        (
            Confidence::Medium,
            format!(
                "the TSC was found {ppm:.0} ppm off within seconds of the refinement of its frequency: the \
                 refinement was probably disturbed; another boot that refines to another figure proves it"
            ),
        )
    })
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

/// Checks that were skipped, and reads that were slow without consequences.
fn skipped(case: &Case<'_>, log: &KernelLog, causes: &mut Causes) {
    for entry in log.all(|e| matches!(e, Event::LongReadout { .. })) {
        let Event::LongReadout { cs_nsec, wd_nsec } = entry.event else { continue };
        long_readout(case, log, entry, cs_nsec, wd_nsec, causes);
    }
    for entry in log.all(|e| matches!(e, Event::RemoteTimeout)).take(3) {
        causes.add(
            CauseId::WatchdogRemoteTimeout,
            Severity::Info,
            Confidence::High,
            "one cross-CPU check was skipped because the other CPU was busy: informational",
            vec![Evidence::line(log, entry)],
        );
    }
    let slow = log.all(|event| {
        matches!(
            event,
            Event::ReadbackDelay { marks: false, .. }
                | Event::SkewTestSkipped
                | Event::WatchdogRetried
                | Event::WatchdogReadTimeout { .. }
        )
    });
    let lines: Vec<Evidence> = slow.take(3).map(|entry| Evidence::line(log, entry)).collect();
    if !lines.is_empty() {
        causes.add(
            CauseId::WatchdogAtFault,
            Severity::Info,
            Confidence::High,
            "reading the reference was slow at times; the kernel skipped or repeated the check, and \
             nothing follows from it",
            lines,
        );
    }
}

#[allow(clippy::cast_precision_loss)]
fn long_readout(
    case: &Case<'_>,
    log: &KernelLog,
    entry: &clocksmith_facts::log::Entry,
    cs_nsec: i64,
    wd_nsec: i64,
    causes: &mut Causes,
) {
    let evidence = vec![Evidence::line(log, entry)];
    let (cs, wd) = (cs_nsec as f64 / 1e9, wd_nsec as f64 / 1e9);
    let difference = cs - wd;
    if difference.abs() <= 0.05 * cs.abs().max(wd.abs()) {
        causes.add(
            CauseId::ReadoutStall,
            Severity::Info,
            Confidence::High,
            format!(
                "both clocks agree that nothing ran for {}: the machine (or the virtual machine) stood \
                 still; the clocksource is fine",
                seconds_text(wd)
            ),
            evidence,
        );
        return;
    }
    // The reference is a short counter: its interval is short by whole wraps, or counted as zero.
    let period = clocksmith_facts::log::incident::INTERVAL_S;
    let pm_wrap = 16_777_216.0 / clocksmith_facts::log::incident::ACPI_PM_HZ;
    let wraps = (difference / pm_wrap).round();
    let wrapped = (1.0..20.0).contains(&wraps) && (difference - wraps * pm_wrap).abs() < 0.03 * cs;
    if wd_nsec == 0 || wrapped {
        causes.add(
            CauseId::ReadoutStall,
            Severity::Info,
            Confidence::Medium,
            format!(
                "the TSC counted {} and the reference overran its range: the machine stood still for \
                 that long; the check was skipped",
                seconds_text(cs)
            ),
            evidence.clone(),
        );
        causes.add(
            CauseId::WatchdogAtFault,
            Severity::Info,
            Confidence::Medium,
            "the reference counter is too short for so long an interval",
            evidence,
        );
    } else if difference > 0.0 && wd < 4.0 * period {
        causes.add(
            CauseId::TscJump,
            if case.tsc_is_current() { Severity::Critical } else { Severity::Warning },
            Confidence::High,
            format!(
                "the TSC jumped ahead by {} within {} of the reference, and the kernel skipped the check: \
                 the jump went into the time",
                seconds_text(difference),
                seconds_text(wd)
            ),
            evidence,
        );
    } else if difference > 0.0 {
        causes.add(
            CauseId::TscJump,
            Severity::Warning,
            Confidence::Medium,
            format!("the TSC counted {} more than the reference", seconds_text(difference)),
            evidence,
        );
    } else {
        causes.add(
            CauseId::WatchdogAtFault,
            Severity::Info,
            Confidence::Medium,
            format!("the reference counted {} more than the TSC", seconds_text(-difference)),
            evidence,
        );
    }
}
