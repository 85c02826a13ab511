//! A refinement of the TSC's frequency that was disturbed, as the watchdog's figures show it.

use crate::cause::Confidence;
use clocksmith_facts::log::incident::Incident;
use clocksmith_facts::log::incident::reading::MEASURABLE_S;
use clocksmith_facts::log::rates::Rates;
use clocksmith_facts::log::{Event, KernelLog};

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
    let soon = match (entry.at, incident.at) {
        (Some(refined_at), Some(at)) => (0.0..10.0).contains(&(at - refined_at)),
        _ => true,
    };
    // The kernel takes a refinement within 1 % of the first figure.
    if ppm.abs() > 15_000.0 || refined == 0 || incident.clocksource == "tsc-early" {
        return None;
    }
    // Less than a delayed read makes proves nothing, however well the figures fit.
    let wd = incident.decode(rates).wd_seconds.unwrap_or(0.0);
    let measurable = (ppm * 1e-6 * wd).abs() >= MEASURABLE_S;
    let raw_khz = match (incident.cs, incident.decode(rates).wd_seconds) {
        #[allow(clippy::cast_precision_loss)]
        (Some(cs), Some(wd)) if cs.cycles > 0 && wd > 0.0 => Some(cs.cycles as f64 / wd / 1e3),
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
            let counted = format!(
                "the counters ran at {:.3} MHz, as first detected, and not at the refined {:.3} MHz",
                raw / 1e3,
                refined as f64 / 1e3
            );
            return Some(if measurable {
                (
                    Confidence::High,
                    format!("{counted}: the refinement was disturbed, the TSC is steady"),
                )
            } else {
                let rest = "the refinement was probably disturbed; the difference is under 1 ms, which one delayed \
                            read can make; another boot that refines to another figure proves it";
                (Confidence::Medium, format!("{counted}: {rest}"))
            });
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
