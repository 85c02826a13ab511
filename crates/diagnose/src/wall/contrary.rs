//! Figures of a text that do not go with a wall clock that is kept: what a daemon measures, what its log says it found,
//! a real-time clock that is far away.

use super::difference::{Other, text};
use super::judge::View;
use super::report::{WallClockReport, WallState};
use super::words::{cause, sentence, settle};
use crate::cause::{Cause, CauseId, Confidence, Evidence, Severity};
use clocksmith_facts::Source;
use clocksmith_facts::wall::{Correction, TimeSource};

/// An offset from which on a clock is not called synchronised, in seconds: what a daemon keeps is far below.
const OFFSET_S: f64 = 0.5;
/// The kernel's largest correction of the rate in parts per million (`MAXFREQ` in `include/linux/timex.h`); crystals are
/// off by less than a hundred.
const RATE_PPM: f64 = 500.0;

/// Figures against a synchronised clock, as clauses, and the evidence.
pub(super) struct Contrary {
    pub(super) clauses: Vec<String>,
    pub(super) evidence: Vec<Evidence>,
}

/// What a daemon's own figures say against a synchronised clock.
pub(super) fn of_figures(told: &TimeSource, source: &Source) -> Option<Contrary> {
    let daemon = if told.daemon.is_empty() { "the time daemon" } else { told.daemon };
    let mut clauses = Vec::new();
    let mut shown = Vec::new();
    if let Some(ahead) = told.ahead_s.filter(|ahead| ahead.abs() >= OFFSET_S) {
        let way = if ahead < 0.0 { "slow" } else { "fast" };
        clauses.push(format!("by {daemon} it is {} {way} of its source", text(ahead)));
        shown.push((&told.places.ahead, format!("offset {ahead:+.3} s")));
    }
    if let Some(ppm) = told.frequency_ppm.filter(|ppm| ppm.abs() >= RATE_PPM) {
        let way = if ppm > 0.0 { "slow" } else { "fast" };
        clauses.push(format!(
            "{daemon} takes the counter for {:.0} ppm {way}, where 500 ppm is all that the kernel's own correction \
             reaches: the counter runs at a wrong rate, or the machine is disturbed",
            ppm.abs()
        ));
        shown.push((&told.places.frequency, format!("frequency {:.0} ppm {way}", ppm.abs())));
    } else if let Some(ppm) = told.skew_ppm.filter(|ppm| *ppm >= RATE_PPM) {
        clauses.push(format!("{daemon} knows the rate to {ppm:.0} ppm alone"));
        shown.push((&told.places.skew, format!("skew {ppm:.0} ppm")));
    }
    if let Some(seconds) = told.dispersion_s.filter(|seconds| *seconds >= OFFSET_S) {
        clauses.push(format!("its source may itself be {} off", text(seconds)));
        shown.push((&told.places.dispersion, format!("root dispersion {seconds:.3} s")));
    }
    (!clauses.is_empty()).then(|| Contrary {
        clauses,
        evidence: shown
            .into_iter()
            .map(|(place, words)| Evidence::new(place.as_ref().unwrap_or(source).0.clone(), words))
            .collect(),
    })
}

/// The corrections of a log that are too large for a clock that was kept.
fn large(told: &TimeSource) -> Vec<&Correction> {
    told.corrections.iter().filter(|one| one.by_s.abs() >= OFFSET_S).collect()
}

/// What the log of a daemon says it found, and whether the clock was set since, or the daemon followed a source.
fn of_corrections(told: &TimeSource) -> Option<(String, Vec<Evidence>, bool)> {
    let large = large(told);
    let last = *large.last()?;
    let worst = large.iter().copied().max_by(|a, b| a.by_s.abs().total_cmp(&b.by_s.abs()))?;
    let way = |one: &Correction| if one.by_s > 0.0 { "behind" } else { "ahead" };
    let mut words =
        format!("{} found the wall clock {} {}", worst.program, text(worst.by_s), way(worst));
    if large.len() > 1 {
        words.push_str(&format!(", the worst of {} such findings", large.len()));
    }
    // Each finding has its own line that says that the clock was set.
    if worst.set {
        words.push_str(", and set it");
    }
    if !last.set {
        let which = match worst.set {
            true => format!("; of the last one, {} {}, no line says", text(last.by_s), way(last)),
            false => "; no line says".to_owned(),
        };
        words.push_str(&format!("{which} that it was set since"));
        if last.followed {
            words.push_str(", and it follows a source");
        }
    } else if !worst.set {
        words.push_str(", and set it since");
    }
    words.push_str(if worst.by_s > 0.0 {
        ": the machine or its host had slept, a guest had been paused, or the clock runs too slow"
    } else {
        ": it had been set wrong, or the clock runs too fast"
    });
    let evidence = large
        .iter()
        .rev()
        .take(4)
        .rev()
        .map(|one| {
            let set = if one.set { ", set" } else { "" };
            Evidence::new(one.source.0.clone(), format!("{}: {:+.3} s{set}", one.program, one.by_s))
        })
        .collect();
    Some((words, evidence, last.set || last.followed))
}

/// A real-time clock that no time zone explains, on a machine of which it is not known what keeps that clock.
fn words_apart(other: &Other) -> String {
    let by = text(other.behind_s);
    if other.behind_s > 0.0 {
        format!(
            "the wall clock is {by} behind {}: one of the two is wrong. A guest that was paused, saved or restored is \
             behind until something sets it, and so is a machine that was set by hand",
            other.words
        )
    } else {
        format!(
            "the wall clock is {by} ahead of {}: one of the two is wrong. A real-time clock without a battery is behind, \
             and a wall clock that was set by hand may be ahead",
            other.words
        )
    }
}

impl View<'_> {
    /// A real-time clock that is far away, on a machine that may be no guest.
    pub(super) fn apart(
        &self,
        other: &Other,
        report: &mut WallClockReport,
        words: &mut Vec<String>,
        causes: &mut Vec<Cause>,
    ) {
        let mut summary = words_apart(other);
        if self.synchronised() == Some(true) {
            report.state = WallState::Unknown;
            summary.push_str("; it is called synchronised all the same");
        }
        words.push(sentence(&summary));
        report.settles.push(settle("the right time", "date -u here and on another machine"));
        let mut evidence = vec![other.evidence.clone()];
        evidence.extend(self.kernel_evidence());
        let id = match other.behind_s > 0.0 {
            true => CauseId::WallClockStaleAfterRestore,
            false => CauseId::WallClockUnsynchronised,
        };
        causes.push(cause(id, Severity::Warning, Confidence::Low, summary, evidence));
    }

    /// A daemon's own figures do not go with a clock that is kept.
    pub(super) fn against(
        &self,
        found: Contrary,
        report: &mut WallClockReport,
        words: &mut Vec<String>,
        causes: &mut Vec<Cause>,
    ) {
        report.state = WallState::Unsynchronised;
        let follows = self.synchronised() == Some(true);
        let although = if follows { ", although a source is followed" } else { "" };
        let summary =
            format!("the wall clock is not right{although}: {}", found.clauses.join("; "));
        words.push(sentence(&summary));
        report
            .settles
            .push(settle("whether it gets better", "the same command again, minutes later"));
        let mut evidence = found.evidence;
        evidence.extend(self.kernel_evidence());
        causes.push(cause(
            CauseId::WallClockUnsynchronised,
            Severity::Warning,
            Confidence::High,
            summary,
            evidence,
        ));
    }

    /// What daemons found and wrote to their logs; whether there is any of it.
    pub(super) fn found_wrong(&self, words: &mut Vec<String>, causes: &mut Vec<Cause>) -> bool {
        let Some((summary, evidence, set)) = self.told.and_then(|(told, _)| of_corrections(told))
        else {
            return false;
        };
        words.push(sentence(&summary));
        // What was found wrong and is followed again is the past; of the state now the log tells no more.
        let (severity, sure) = match set {
            true => (Severity::Info, Confidence::Low),
            false => (Severity::Warning, Confidence::Medium),
        };
        causes.push(cause(CauseId::WallClockUnsynchronised, severity, sure, summary, evidence));
        true
    }
}
