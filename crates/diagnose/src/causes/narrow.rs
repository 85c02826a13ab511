//! Excludes readings of a watchdog's figures by the rest of the evidence: where the machine runs, whether it
//! was suspended, and for how long earlier checks had passed.

use super::Case;
use super::reference::is_paravirt;
use super::skew::{slept, went_back};
use clocksmith_facts::log::incident::reading::{
    Fit, Hypothesis, LATE_READ_S, MEASURABLE_S, RATE_ERROR_MAX, Reading,
};
use clocksmith_facts::log::incident::{Decoded, Incident};
use clocksmith_facts::log::rates::Rates;
use clocksmith_facts::log::{Event, KernelLog};

/// Seconds of uptime after which a TSC with a wrong rate would have failed an earlier check: the watchdog checks twice
/// a second.
const CHECKED_FOR_S: f64 = 120.0;

/// Seconds since boot at an incident: by its stamp, otherwise by the kernel's `sched_clock: Marking
/// unstable (NS, ...`.
fn uptime(log: &KernelLog, incident: &Incident) -> Option<f64> {
    incident.at.or_else(|| {
        let first = log.entries.get(*incident.entries.first()?)?;
        let entry = log
            .all(|event| matches!(event, Event::SchedClockUnstable))
            .find(|entry| entry.line >= first.line)?;
        let (_, figures) = entry.text.split_once("Marking unstable (")?;
        let ns: f64 = figures.split(',').next()?.trim().parse().ok()?;
        Some(ns / 1e9)
    })
}

/// After many passed checks, a failed one does not show a wrong rate: a wrong rate would have failed the first check.
/// Single events remain possible, such as a late read. A guest may have been moved meanwhile.
fn after_passed_checks(
    case: &Case<'_>,
    log: &KernelLog,
    incident: &Incident,
    decoded: &mut Decoded,
) {
    let moved = case.in_guest() && incident.watchdog.as_deref().is_none_or(is_paravirt);
    if moved || slept(log) || uptime(log, incident).is_none_or(|at| at < CHECKED_FOR_S) {
        return;
    }
    let mut rate = false;
    for reading in &mut decoded.readings {
        if let Hypothesis::Rate { ppm: Some(_) } = reading.hypothesis {
            rate = true;
            reading.fit = Fit::Possible;
        }
    }
    let size = decoded.wd_seconds.zip(decoded.cs_seconds).map(|(wd, cs)| (cs - wd).abs());
    let late = |r: &Reading| matches!(r.hypothesis, Hypothesis::LateRead { .. });
    if let Some(seconds) = size.filter(|size| *size <= LATE_READ_S)
        && rate
        && !decoded.readings.iter().any(late)
    {
        let late = Reading { hypothesis: Hypothesis::LateRead { seconds }, fit: Fit::Possible };
        decoded.readings.insert(0, late);
    }
    decoded.readings.sort_by_key(|reading| std::cmp::Reverse(reading.fit));
}

/// Seconds of an interval without a delay: half a second, a tick, and the work before the tick.
const DUE_S: std::ops::RangeInclusive<f64> = 0.45..=0.65;
/// The factor above which a longer interval was not measured by a correct clock, if the check ran on time.
const FAR_FROM_DUE: f64 = 10.0;

/// Finds the correct clock by the interval of the checks. A check is due every half second: if only one of the two
/// figures is half a second, it comes from the correct clock. This holds on hardware that was not suspended, if no wrap
/// makes the two figures agree, and if the other figure is longer than any delay of the check.
fn by_due_interval(case: &Case<'_>, log: &KernelLog, decoded: &mut Decoded) {
    let stalled =
        decoded.readings.iter().any(|r| matches!(r.hypothesis, Hypothesis::StoodStill { .. }));
    if !case.is_bare_metal() || slept(log) || stalled || !decoded.wd_rate_known {
        return;
    }
    let Some((wd, cs)) = decoded.wd_seconds.zip(decoded.cs_seconds) else { return };
    let far = |seconds: f64| seconds > FAR_FROM_DUE * DUE_S.end();
    for reading in &mut decoded.readings {
        let likely = match reading.hypothesis {
            Hypothesis::ReferenceJumped { .. } => DUE_S.contains(&cs) && far(wd),
            Hypothesis::ClocksourceJumped { .. } => DUE_S.contains(&wd) && far(cs),
            _ => false,
        };
        if likely {
            reading.fit = reading.fit.max(Fit::Likely);
        }
    }
    decoded.readings.sort_by_key(|reading| std::cmp::Reverse(reading.fit));
}

/// Excludes readings that are impossible on this machine, and lowers those that other events explain as well.
pub(super) fn narrow(
    case: &Case<'_>,
    log: &KernelLog,
    incident: &Incident,
    rates: &Rates,
    decoded: &mut Decoded,
) {
    narrow_by_place(case, log, incident, decoded);
    one_interval(incident, rates, decoded);
    by_due_interval(case, log, decoded);
    after_passed_checks(case, log, incident, decoded);
}

/// One interval that differs does not show a rate if the frequency that the kernel used is not in the evidence, or if
/// the two clocks differ by less than a millisecond: a single disturbance of either clock has the same effect.
fn one_interval(incident: &Incident, rates: &Rates, decoded: &mut Decoded) {
    let size = decoded.wd_seconds.zip(decoded.cs_seconds).map(|(wd, cs)| (cs - wd).abs());
    let small = size.is_some_and(|size| size < MEASURABLE_S);
    if !small && rates.hz(&incident.clocksource).is_some() {
        return;
    }
    for reading in &mut decoded.readings {
        if matches!(reading.hypothesis, Hypothesis::Rate { .. }) {
            reading.fit = Fit::Possible;
        }
    }
    decoded.readings.sort_by_key(|reading| std::cmp::Reverse(reading.fit));
}

fn narrow_by_place(case: &Case<'_>, log: &KernelLog, incident: &Incident, decoded: &mut Decoded) {
    if !case.is_bare_metal() || slept(log) {
        // After a pause of a guest or a suspend of a machine, the TSC has advanced and the reference has not.
        for reading in &mut decoded.readings {
            if matches!(reading.hypothesis, Hypothesis::ClocksourceJumped { .. }) {
                reading.fit = if went_back(incident) { Fit::Shown } else { Fit::Possible };
            }
        }
        decoded.readings.sort_by_key(|reading| std::cmp::Reverse(reading.fit));
    }
    if !case.is_bare_metal() {
        return;
    }
    let before = decoded.readings.len();
    decoded.readings.retain(|r| !matches!(r.hypothesis, Hypothesis::HeldUp { .. }));
    if decoded.readings.len() == before || incident.old_style {
        return;
    }
    for reading in &mut decoded.readings {
        if let Hypothesis::Rate { ppm: Some(ppm) } = reading.hypothesis
            && ppm.abs() <= RATE_ERROR_MAX * 1e6
        {
            reading.fit = reading.fit.max(Fit::Likely);
        }
    }
    decoded.readings.sort_by_key(|reading| std::cmp::Reverse(reading.fit));
}
