//! Applies the fixes to a file.

use crate::certain;
use crate::choice::{self, Choices};
use crate::document::Document;
use crate::edit::{self, Edit, Together};
use crate::finding::{Finding, Severity};
use crate::lint::{LintError, Report, lint};
use crate::unchosen;

/// The limit of rounds, above the need of any file: a problem that one change uncovers is found in the next round.
const ROUNDS: usize = 12;

/// A file after its fixes.
#[derive(Clone, Debug)]
pub struct Fixed {
    /// The file afterwards.
    pub document: Document,
    /// The findings that were fixed, in that order; places are those of the text at that time.
    pub mended: Vec<Finding>,
    /// The number of changes that follow the choices.
    pub chosen: usize,
    /// The reasons why changes that would follow the choices are left to be made by hand.
    pub undecided: Vec<String>,
    /// The findings in the file afterwards.
    pub report: Report,
}

/// Fixes all problems that need no knowledge beyond the file: every change is in the file's style, and everything else
/// stays byte for byte.
///
/// # Errors
/// Returns an error if the file is not valid for its kind.
pub fn fix(document: &Document, choices: &Choices) -> Result<Fixed, LintError> {
    let mut now = document.clone();
    let mut mended: Vec<Finding> = Vec::new();
    let mut chosen = 0;
    let mut report = lint(&now)?;
    certain::whole(&now)?;
    for _ in 0..ROUNDS {
        let mut made = 0;
        let (edits, taken) = round(&now, &report, choices, &mut made);
        if edits.is_empty() {
            break;
        }
        let Ok(text) = edit::apply(now.text.as_str(), &edits) else {
            break;
        };
        let next = now.with_text(text);
        if !certain::holds(&now, &next) {
            break;
        }
        // A change that makes the file unreadable, or worse, is not made: the file stays as it is.
        let Ok(after) = lint(&next) else {
            break;
        };
        let open = |document: &Document| {
            choice::edits(document, choices).iter().map(Vec::len).sum::<usize>()
        };
        let progress = if taken.is_empty() {
            open(&next) < open(&now)
        } else {
            fewer(&taken, &report, &after)
        };
        if bad(&after) > bad(&report) || !progress {
            break;
        }
        chosen += made;
        mended.extend(taken);
        now = next;
        report = after;
    }
    let mut undecided = choice::left(&now, choices);
    // Another machine of the file may follow them.
    if undecided.is_empty() && !choices.is_empty() {
        undecided.extend(unchosen::why(&now, choices));
    }
    Ok(Fixed { document: now, mended, chosen, undecided, report })
}

/// Returns whether a change has removed a finding. In a file whose parts are not where they seem to be (a template, a
/// truncated file) a change may be in a place that is never read; then it is not made, and is not repeated.
fn fewer(taken: &[Finding], before: &Report, after: &Report) -> bool {
    let of_taken = |report: &Report| {
        let same = |finding: &&Finding| taken.iter().any(|one| one.rule.id == finding.rule.id);
        report.findings.iter().filter(same).count()
    };
    of_taken(after) < of_taken(before)
}

/// Returns the number of errors.
fn bad(report: &Report) -> usize {
    report.findings.iter().filter(|finding| finding.severity == Severity::Error).count()
}

/// Returns the changes that can be made together.
fn round(
    document: &Document,
    report: &Report,
    choices: &Choices,
    chosen: &mut usize,
) -> (Vec<Edit>, Vec<Finding>) {
    let mut together = Together::new(document.text.as_str());
    let mut taken = Vec::new();
    for finding in &report.findings {
        if together.add(&finding.edits) {
            taken.push(finding.clone());
        }
    }
    // Choices are applied after all other changes, so that they apply to the resulting file.
    if taken.is_empty() {
        for edits in choice::edits(document, choices) {
            *chosen += if together.add(&edits) { edits.len() } else { 0 };
        }
    }
    (together.done(), taken)
}
