//! The TSC and its reference ran at different rates: the TSC, its calibration, or the reference.

use super::reference::{is_paravirt, suspect_reference};
use super::tsc::seconds_text;
use super::{Case, Causes};
use crate::cause::{CauseId, Confidence, Evidence};
use clocksmith_facts::log::Event;
use clocksmith_facts::log::incident::Incident;
use clocksmith_facts::log::rates::Rates;

/// Judges a difference of `ppm` parts per million in one interval.
pub(super) fn skewed(
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
