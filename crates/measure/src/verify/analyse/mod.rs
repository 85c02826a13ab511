//! From samples to the verdict: functions of the samples alone.

mod clocks;
mod drift;
mod lines;
mod offsets;
mod rate;
mod verdict;

use super::outcome::{Finding, FindingId, Outcome, Weight};
use super::samples::Samples;

/// Judges the samples.
pub(crate) fn outcome(samples: &Samples) -> Outcome {
    let mut found = Found::default();
    let drift = drift::find(samples, &mut found);
    let frequencies = rate::find(samples, drift.as_ref(), &mut found);
    let hz = drift.as_ref().map(|d| d.drift.hz).or(frequencies.first().map(|f| f.hz));
    let offsets = offsets::find(samples, hz, &mut found);
    let steps = clocks::find(samples, &mut found);
    verdict::give(samples, found, drift, offsets, frequencies, steps)
}

/// Findings, and what could not be tested.
#[derive(Default)]
struct Found {
    findings: Vec<Finding>,
    untested: Vec<String>,
}

impl Found {
    /// The most lines of evidence for one finding.
    const EVIDENCE: usize = 8;

    fn add(&mut self, id: FindingId, weight: Weight, summary: String, mut evidence: Vec<String>) {
        let more = evidence.len().saturating_sub(Self::EVIDENCE);
        if more > 0 {
            evidence.truncate(Self::EVIDENCE);
            evidence.push(format!("... and {more} more"));
        }
        self.findings.push(Finding { id, weight, summary, evidence });
    }
}

/// A time for people.
fn shown(ns: f64) -> String {
    match ns.abs() {
        size if size < 1e3 => format!("{ns:.0} ns"),
        size if size < 1e6 => format!("{:.1} us", ns / 1e3),
        size if size < 1e9 => format!("{:.1} ms", ns / 1e6),
        _ => format!("{:.2} s", ns / 1e9),
    }
}
