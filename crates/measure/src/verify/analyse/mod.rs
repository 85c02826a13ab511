//! From samples to the verdict: functions only of the samples.

mod clocks;
mod drift;
mod lines;
mod offsets;
mod rate;
mod verdict;
mod watched;

use super::outcome::{Finding, FindingId, Outcome, Weight};
use super::samples::Samples;

/// Judges the samples.
pub(crate) fn outcome(samples: &Samples) -> Outcome {
    let mut found = Found::default();
    let drift = drift::find(samples, &mut found);
    let frequencies = rate::find(samples, drift.as_ref(), &mut found);
    let hz = drift.as_ref().map(|d| d.drift.hz).or(frequencies.first().map(|f| f.hz));
    let offsets = offsets::find(samples, hz, &mut found);
    let steps = clocks::find(samples, hz, &mut found);
    verdict::give(samples, found, drift, offsets, frequencies, steps)
}

/// Findings, and properties that could not be tested.
#[derive(Default)]
struct Found {
    findings: Vec<Finding>,
    untested: Vec<String>,
}

impl Found {
    /// The most lines of evidence for one finding.
    const EVIDENCE: usize = 8;

    /// Adds a finding, or its evidence to the existing one.
    fn add(&mut self, id: FindingId, weight: Weight, summary: String, evidence: Vec<String>) {
        let known = |finding: &&mut Finding| finding.id == id && finding.weight == weight;
        if let Some(known) = self.findings.iter_mut().find(known) {
            known.evidence.extend(evidence);
            return;
        }
        self.findings.push(Finding { id, weight, summary, evidence });
    }

    /// The findings, each with a bounded amount of evidence.
    fn into_parts(mut self) -> (Vec<Finding>, Vec<String>) {
        for finding in &mut self.findings {
            let more = finding.evidence.len().saturating_sub(Self::EVIDENCE);
            if more > 0 {
                finding.evidence.truncate(Self::EVIDENCE);
                finding.evidence.push(format!("... and {more} more"));
            }
        }
        (self.findings, self.untested)
    }
}

/// Formats a time with its unit.
fn shown(ns: f64) -> String {
    match ns.abs() {
        size if size < 1e3 => format!("{ns:.0} ns"),
        size if size < 1e6 => format!("{:.1} us", ns / 1e3),
        size if size < 1e9 => format!("{:.1} ms", ns / 1e6),
        _ => format!("{:.2} s", ns / 1e9),
    }
}
