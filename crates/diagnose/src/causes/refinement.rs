//! A refinement of the TSC's frequency that was disturbed, as the watchdog's figures show it.

use crate::cause::Confidence;
use clocksmith_facts::log::incident::Incident;
use clocksmith_facts::log::incident::reading::MEASURABLE_S;
use clocksmith_facts::log::rates::Rates;
use clocksmith_facts::log::{Entry, Event, KernelLog};

/// Figures of one frequency that differ by less agree.
const AGREE_PPM: u64 = 100;

fn detected(log: &KernelLog) -> Option<(&Entry, u64)> {
    log.last(|event| match event {
        Event::Detected { khz, .. } => Some(*khz),
        _ => None,
    })
}

/// The parts per million by which the refined frequency of the TSC differs from the one detected first.
fn difference_ppm(log: &KernelLog) -> Option<u64> {
    let (_, early) = detected(log)?;
    let (_, late) = log.last(|event| match event {
        Event::Refined { khz } => Some(*khz),
        _ => None,
    })?;
    early.abs_diff(late).saturating_mul(1_000_000).checked_div(late)
}

/// The same, if they agree: then the refinement was not disturbed.
pub(super) fn confirmed_ppm(log: &KernelLog) -> Option<u64> {
    difference_ppm(log).filter(|off| *off < AGREE_PPM)
}

/// The same, if they agree, or differ by far less than the rate by which a check of the TSC found it wrong: a refinement
/// that was disturbed by that rate would differ from the first figure by as much.
fn confirmed_against(log: &KernelLog, ppm: f64) -> Option<u64> {
    const PART: f64 = 0.1;
    #[allow(clippy::cast_precision_loss)]
    difference_ppm(log).filter(|off| *off < AGREE_PPM || (*off as f64) < PART * ppm.abs())
}

/// The refined frequency of the TSC is in the log, and the one detected first is not: whether that confirms it is open.
pub(super) fn is_unconfirmed(log: &KernelLog) -> bool {
    detected(log).is_none() && log.any(|event| matches!(event, Event::Refined { .. }))
}

/// Another boot in the input refined to the same figure, which differs from the detected one: a figure that repeats is
/// not a disturbance, and a reboot repeats it.
pub(crate) fn is_systematic(log: &KernelLog) -> bool {
    // Two clocks of one machine agree to a few parts in a million; refinements that were disturbed do not.
    const SAME_PPM: u64 = 20;
    let refined = log.last(|event| match event {
        Event::Refined { khz } => Some(*khz),
        _ => None,
    });
    let Some((_, refined)) = refined else { return false };
    let same =
        |other: &u64| other.abs_diff(refined).saturating_mul(1_000_000) <= SAME_PPM * refined;
    confirmed_ppm(log).is_none() && log.refined_before.iter().any(same)
}

/// Within seconds of the refinement, or without stamps.
fn soon_after(refined: &Entry, incident: &Incident) -> bool {
    match (refined.at, incident.at) {
        (Some(refined_at), Some(at)) => (0.0..10.0).contains(&(at - refined_at)),
        _ => true,
    }
}

/// A refinement that the frequency detected first confirms, and a check of the same frequency against hardware, within
/// seconds of it, that found a different rate: the figures do not show which is right.
pub(super) fn confirmed_before(
    log: &KernelLog,
    incident: &Incident,
    ppm: Option<f64>,
) -> Option<String> {
    // Far more than the two figures differ by.
    const OTHER_PPM: f64 = 500.0;
    let (refined, ()) = log.last(|event| matches!(event, Event::Refined { .. }).then_some(()))?;
    // Two measurements that agree so well exclude a wrong frequency for good, even if the lines have no stamps.
    const EXCLUDED_PPM: u64 = 5;
    let other = ppm.is_some_and(|ppm| ppm.abs() > OTHER_PPM) && incident.clocksource == "tsc";
    let agree = confirmed_against(log, ppm.filter(|_| other)?)?;
    let at_all = refined.at.is_some() && incident.at.is_some();
    if !(agree < EXCLUDED_PPM || at_all && soon_after(refined, incident)) {
        return None;
    }
    Some(format!(
        ", and the refined frequency of the TSC is within {} ppm of the one detected first, so a \
         wrong frequency does not explain it; a late read or a jump of the TSC does, and these \
         figures do not show which of them happened",
        agree + 1
    ))
}

/// The watchdog acted within seconds of the refinement of the TSC's frequency. A steady TSC whose
/// refinement was disturbed looks like this; if the raw counters agree with the frequency detected
/// first, it is proven.
pub(super) fn refinement_wrong(
    log: &KernelLog,
    incident: &Incident,
    ppm: f64,
    rates: &Rates,
) -> Option<(Confidence, String)> {
    let (entry, refined) = log.last(|event| match event {
        Event::Refined { khz } => Some(*khz),
        _ => None,
    })?;
    let soon = soon_after(entry, incident);
    // The kernel takes a refinement within 1 % of the first figure.
    if ppm.abs() > 15_000.0 || refined == 0 || incident.clocksource == "tsc-early" {
        return None;
    }
    // Less than a delayed read makes proves nothing, however well the figures fit.
    let wd = incident.decode(rates).wd_seconds.unwrap_or(0.0);
    let measurable = (ppm * 1e-6 * wd).abs() >= MEASURABLE_S;
    // Two figures that agree: the second one was not disturbed.
    if confirmed_against(log, ppm).is_some() {
        return None;
    }
    let detected = detected(log);
    let raw_khz = match (incident.cs, incident.decode(rates).wd_seconds) {
        #[allow(clippy::cast_precision_loss)]
        (Some(cs), Some(wd)) if cs.cycles > 0 && wd > 0.0 => Some(cs.cycles as f64 / wd / 1e3),
        _ => None,
    };
    #[allow(clippy::cast_precision_loss)]
    if let (Some(raw), Some((_, detected))) = (raw_khz, detected) {
        let off = |khz: u64| (raw / khz as f64 - 1.0).abs() * 1e6;
        if off(detected) < 300.0 && off(refined) > 400.0 {
            let counted = format!(
                "the counters ran at {:.3} MHz, as first detected, and not at the refined {:.3} MHz",
                raw / 1e3,
                refined as f64 / 1e3
            );
            return Some(if measurable && is_systematic(log) {
                (
                    Confidence::High,
                    format!(
                        "{counted}. Another boot in this log shows the same rate, and a disturbance does not repeat so \
                         exactly: the refinement itself fails on this machine, and will fail again after a reboot"
                    ),
                )
            } else if measurable {
                (
                    Confidence::High,
                    format!("{counted}: the refinement was disturbed, and the TSC is steady"),
                )
            } else {
                let rest = "the refinement was probably disturbed; one delayed read can cause a difference under 1 ms, \
                            as here; a different refined figure in another boot would prove it";
                (Confidence::Medium, format!("{counted}: {rest}"))
            });
        }
    }
    // The frequency detected first might confirm the refined one, and is not in the evidence.
    let sure = if detected.is_some() { Confidence::Medium } else { Confidence::Low };
    soon.then(|| {
        (
            sure,
            format!(
                "the TSC was found {ppm:.0} ppm off within seconds of the refinement of its \
                 frequency: the refinement was probably disturbed; another boot with a different \
                 refined figure would prove it"
            ),
        )
    })
}
