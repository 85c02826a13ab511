//! Checks of the watchdog that were skipped, and reads that were slow without consequences.

use super::skew::slept;
use super::tsc::seconds_text;
use super::{Case, Causes};
use crate::cause::{CauseId, Confidence, Evidence, Severity};
use clocksmith_facts::log::incident::reading::{
    Fit, Hypothesis, MEASURABLE_S, Pair, RATE_ERROR_MAX, Reading, readings,
};
use clocksmith_facts::log::rates::{ACPI_PM_HZ, HPET_HZ, Rates};
use clocksmith_facts::log::{Entry, Event, KernelLog};

/// Checks that were skipped, and reads that were slow without consequences.
pub(super) fn find(case: &Case<'_>, log: &KernelLog, causes: &mut Causes) {
    agreeing(log, causes);
    let steady = steady(log);
    for entry in log.all(|e| matches!(e, Event::LongReadout { .. })) {
        let Event::LongReadout { cs_nsec, wd_nsec } = entry.event else { continue };
        long_readout(case, log, entry, (from_ns(cs_nsec), from_ns(wd_nsec)), steady, causes);
    }
    for entry in log.all(|e| matches!(e, Event::LongReadoutCut)).take(3) {
        causes.add(
            CauseId::ReadoutStall,
            Severity::Info,
            Confidence::Low,
            "the kernel skipped one check because the interval was long; the figures that would distinguish a stall of the \
             machine from a jump of the TSC are cut off",
            vec![Evidence::line(log, entry)],
        );
    }
    for entry in log.all(|e| matches!(e, Event::RemoteTimeout)).take(3) {
        causes.add(
            CauseId::WatchdogRemoteTimeout,
            Severity::Info,
            Confidence::High,
            "one cross-CPU check was skipped because the other CPU was busy; this is information only",
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
             demoted nothing for it",
            lines,
        );
    }
}

#[allow(clippy::cast_precision_loss)]
fn from_ns(ns: i64) -> f64 {
    ns as f64 / 1e9
}

/// Whether both clocks counted the same.
fn agree(cs: f64, wd: f64) -> bool {
    (cs - wd).abs() <= MEASURABLE_S + 1e-3 * wd.abs()
}

/// Checks that were late by both clocks. The watchdog's timer moves from one CPU to the next
/// (`clocksource_watchdog()`): only the CPU of this check was stalled, and the lines show nothing about the others.
fn agreeing(log: &KernelLog, causes: &mut Causes) {
    let late: Vec<(&Entry, f64)> = log
        .all(|event| matches!(event, Event::LongReadout { .. }))
        .filter_map(|entry| match entry.event {
            Event::LongReadout { cs_nsec, wd_nsec } => {
                let (cs, wd) = (from_ns(cs_nsec), from_ns(wd_nsec));
                agree(cs, wd).then_some((entry, wd))
            }
            _ => None,
        })
        .collect();
    let Some(longest) = late.iter().map(|(_, wd)| *wd).reduce(f64::max) else { return };
    let times = match late.len() {
        1 => String::new(),
        n => format!(" ({n} times; the longest)"),
    };
    let mut evidence = late;
    evidence.sort_by(|a, b| b.1.total_cmp(&a.1));
    evidence.truncate(4);
    evidence.sort_by_key(|(entry, _)| entry.line);
    causes.add(
        CauseId::ReadoutStall,
        Severity::Info,
        Confidence::High,
        format!(
            "no check of the clocks ran for {}{times}, according to both clocks, so neither is at \
             fault. The CPU with the watchdog's timer, or the whole machine, was stalled",
            seconds_text(longest)
        ),
        evidence.into_iter().map(|(entry, _)| Evidence::line(log, entry)).collect(),
    );
}

/// Several skipped checks with the same ratio of the two intervals: a wrong rate repeats like that, and
/// jumps do not.
fn steady(log: &KernelLog) -> bool {
    let ratios: Vec<f64> = log
        .all(|e| matches!(e, Event::LongReadout { .. }))
        .filter_map(|entry| match entry.event {
            Event::LongReadout { cs_nsec, wd_nsec } if cs_nsec > 0 && wd_nsec > 0 => {
                Some(from_ns(cs_nsec) / from_ns(wd_nsec))
            }
            _ => None,
        })
        .collect();
    let Some(first) = ratios.first().copied() else { return false };
    ratios.len() > 1
        && (first - 1.0).abs() > 1e-3
        && ratios.iter().all(|ratio| (ratio / first - 1.0).abs() < 0.01)
}

/// The possible reasons for a check that was too long, the most plausible first. The line does not name the
/// reference, so the references that wrap are tried.
fn meanings(log: &KernelLog, cs: f64, wd: f64) -> Vec<Reading> {
    let rates = Rates::of(log);
    let pair = Pair {
        wd,
        cs: Some(cs),
        cs_hz: rates.tsc,
        wd_zero: wd == 0.0,
        repeats: true,
        wd_rate_known: true,
        ..Pair::default()
    };
    let turns = [16_777_216.0 / ACPI_PM_HZ, 4_294_967_296.0 / rates.hpet.unwrap_or(HPET_HZ)];
    turns
        .into_iter()
        .map(|turn| readings(&Pair { period: Some(turn), ..pair }))
        .find(|found| {
            found.iter().any(|r| {
                matches!(r.hypothesis, Hypothesis::StoodStill { .. }) && r.fit > Fit::Possible
            })
        })
        .unwrap_or_else(|| readings(&pair))
}

fn long_readout(
    case: &Case<'_>,
    log: &KernelLog,
    entry: &Entry,
    (cs, wd): (f64, f64),
    steady: bool,
    causes: &mut Causes,
) {
    let evidence = vec![Evidence::line(log, entry)];
    let difference = cs - wd;
    let mut add = |id, severity, confidence, summary: String| {
        causes.add(id, severity, confidence, summary, evidence.clone());
    };
    if agree(cs, wd) {
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
        return add(
            CauseId::WatchdogAtFault,
            Severity::Info,
            Confidence::Medium,
            "the only reference is the timer tick, which loses time when interrupts are delayed"
                .to_owned(),
        );
    }
    let grave = if case.tsc_is_current() { Severity::Critical } else { Severity::Warning };
    let counted =
        format!("the TSC counted {} and the reference {}", seconds_text(cs), seconds_text(wd));
    let found = meanings(log, cs, wd);
    let rate = steady || case.machine.cmdline.value.has("tsc_early_khz");
    let best = found.first().map(|reading| reading.hypothesis);
    match best {
        Some(Hypothesis::StoodStill { .. }) => {
            add(
                CauseId::ReadoutStall,
                Severity::Info,
                Confidence::Medium,
                format!(
                    "the TSC counted {} and the reference overran its range: no check ran for that long, and this \
                     one was skipped",
                    seconds_text(cs)
                ),
            );
            add(
                CauseId::WatchdogAtFault,
                Severity::Info,
                Confidence::Medium,
                "the reference counter is too short for so long an interval".to_owned(),
            );
        }
        _ if rate && found.iter().any(|r| matches!(r.hypothesis, Hypothesis::Rate { .. })) => add(
            CauseId::TscMiscalibrated,
            grave,
            Confidence::Medium,
            format!(
                "{counted}, {:.3} times as much: a frequency that is wrong by that factor causes \
                 that, and the kernel skipped the check",
                cs / wd
            ),
        ),
        Some(Hypothesis::ClocksourceJumped { .. })
            if difference > 0.0
                && found.first().is_some_and(|reading| reading.fit > Fit::Possible)
                && case.is_bare_metal()
                && !slept(log) =>
        {
            add(
                CauseId::TscJump,
                grave,
                Confidence::Medium,
                format!(
                    "the TSC jumped ahead by {} within {} of the reference, and the kernel skipped \
                     the check: the kernel's time now includes the jump",
                    seconds_text(difference),
                    seconds_text(wd)
                ),
            )
        }
        _ if difference.abs() <= RATE_ERROR_MAX * wd => {
            let both = format!(
                "{counted} ({:+.2} %): the check was late, and one of the two clocks is off; the kernel skipped the \
                 check",
                difference / wd * 100.0
            );
            add(CauseId::TscSkew, Severity::Warning, Confidence::Low, both.clone());
            add(CauseId::WatchdogAtFault, Severity::Info, Confidence::Low, both);
        }
        _ => {
            let both = format!(
                "{counted}, and the kernel skipped the check: the TSC jumped, or it continued while \
                 the reference stopped (a guest that was paused, a machine that slept)"
            );
            add(CauseId::TscJump, Severity::Warning, Confidence::Low, both.clone());
            add(CauseId::WatchdogAtFault, Severity::Info, Confidence::Low, both);
        }
    }
}
