//! Other activity of the machine during the measurement, in sentences.

use crate::report::bench::BenchReport;

/// Shares from which on an activity is reported.
const STEAL: f64 = 0.01;
const OTHERS: f64 = 0.05;
const DISTURBED: f64 = 0.25;

/// The lines; none if nothing was seen.
pub(super) fn lines(report: &BenchReport) -> Vec<String> {
    let Some(noise) = &report.noise else { return Vec::new() };
    let mut out = Vec::new();
    if let (Some(load), Some(cpus)) = (noise.load, noise.cpus)
        && load > cpus as f64
    {
        out.push(format!(
            "The load was {load:.1} on {cpus} CPUs at the start: the percentiles from p99 on and `max` of \
             single calls include the time of other programs."
        ));
    }
    if let Some(others) = noise.others.filter(|share| *share >= OTHERS) {
        out.push(format!(
            "Other programs used {:.0} % of this run's CPU time: the medians are those of undisturbed batches, and \
             the intervals are wider.",
            others * 100.0
        ));
    }
    if let Some(steal) = noise.steal.filter(|share| *share >= STEAL) {
        out.push(format!(
            "The hypervisor gave {:.0} % of the time to other machines (steal): `max` and p99.9 \
             include it.",
            steal * 100.0
        ));
    }
    if let (Some(governor), Some((low, high))) = (&noise.governor, noise.frequency_khz)
        && governor != "performance"
        && low < high
    {
        out.push(format!(
            "The processor may run from {} to {} MHz (governor {governor}): all figures of two runs \
             may differ by the same factor. Figures of one run can be compared; --baseline removes \
             a common factor.",
            low / 1000,
            high / 1000
        ));
    }
    if noise.siblings.is_some_and(|siblings| siblings > 1) {
        out.push(
            "Another hardware thread shares the core: a program that runs on it makes every read slower.".to_owned(),
        );
    }
    let mut rows: Vec<(&str, f64)> = report
        .rows
        .iter()
        .filter_map(|row| Some((row.name.as_str(), row.disturbed_share?)))
        .filter(|(_, share)| *share >= DISTURBED)
        .collect();
    rows.sort_by(|a, b| b.1.total_cmp(&a.1));
    if let Some((worst, share)) = rows.first() {
        out.push(format!(
            "In {} of {} rows at least a quarter of the batches took 25 % longer than the undisturbed ones; most of \
             them in {worst} ({:.0} %).",
            rows.len(),
            report.rows.len(),
            share * 100.0
        ));
    }
    out
}
