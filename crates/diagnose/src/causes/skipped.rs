//! Checks of the watchdog that were skipped, and reads that were slow without consequences.

use super::tsc::seconds_text;
use super::{Case, Causes};
use crate::cause::{CauseId, Confidence, Evidence, Severity};
use clocksmith_facts::log::incident::INTERVAL_S;
use clocksmith_facts::log::rates::ACPI_PM_HZ;
use clocksmith_facts::log::{Event, KernelLog};

/// Checks that were skipped, and reads that were slow without consequences.
pub(super) fn find(case: &Case<'_>, log: &KernelLog, causes: &mut Causes) {
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
    // Without any other clock the reference is the tick, which loses interrupts.
    let only_ticks = log
        .any(|e| matches!(e, Event::Registered { name, .. } if name.contains("jiffies")))
        && !log.any(|e| {
            matches!(e, Event::Registered { name, .. }
                if !name.contains("jiffies") && !name.starts_with("tsc"))
        });
    if only_ticks && difference > 0.0 {
        causes.add(
            CauseId::WatchdogAtFault,
            Severity::Info,
            Confidence::High,
            "the only reference is the timer tick, which loses time when interrupts are held up",
            evidence,
        );
        return;
    }
    // The reference is a short counter: its interval is short by whole wraps, or counted as zero.
    let period = INTERVAL_S;
    let pm_wrap = 16_777_216.0 / ACPI_PM_HZ;
    let wraps = (difference / pm_wrap).round();
    let wrapped =
        (1.0..20.0).contains(&wraps) && (difference - wraps * pm_wrap).abs() < 0.003 * cs + 0.02;
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
