//! From a file to its findings.

use crate::certain;
use crate::document::Document;
use crate::edit::Edit;
use crate::finding::Finding;
use crate::guest::Guest;
use crate::text::Text;
use std::collections::{HashMap, HashSet};
use thiserror::Error;

/// What a file says.
#[derive(Clone, Debug)]
pub struct Report {
    /// The guest's system.
    pub guest: Guest,
    /// Whether that is only guessed from a name; then nothing is changed by it.
    pub guessed: bool,
    /// Whether the file is a part of a configuration, or a template: what is absent may stand
    /// elsewhere.
    pub partial: bool,
    /// In the order of the text.
    pub findings: Vec<Finding>,
    /// How many findings a comment of the file leaves out: `clocksmith: ignore ID why`.
    pub ignored: usize,
}

/// Why a file could not be looked at.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LintError {
    /// It is of its kind, and broken.
    #[error("line {line}, column {column}: {what}")]
    Syntax {
        /// Counted from 1.
        line: u32,
        /// Counted from 1, in characters.
        column: u32,
        /// What is wrong, and what would be right.
        what: String,
    },
}

impl LintError {
    /// What is wrong at a line and a column, counted from 1.
    pub(crate) fn at(line: usize, column: usize, what: impl Into<String>) -> Self {
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX).max(1);
        Self::Syntax { line: number(line), column: number(column), what: what.into() }
    }

    /// What is wrong at an offset of a text.
    pub(crate) fn within(text: &Text, offset: usize, what: impl Into<String>) -> Self {
        let place = text.place(offset);
        Self::Syntax { line: place.line, column: place.column, what: what.into() }
    }

    /// What is wrong with a file as a whole.
    pub(crate) fn whole(what: &str) -> Self {
        Self::at(1, 1, what)
    }
}

/// Looks at a file.
///
/// # Errors
/// It is no valid file of its kind.
pub fn lint(document: &Document) -> Result<Report, LintError> {
    let mut report = (document.kind.format().lint)(document)?;
    let ignored = ignored(document.text.as_str());
    let before = report.findings.len();
    report.findings.retain(|finding| !ignored.contains(finding.rule.id));
    report.ignored = before - report.findings.len();
    if report.guessed {
        without_guess(document, &mut report)?;
    }
    certain::keep_certain(document, &mut report.findings);
    report.findings.sort_by_key(|finding| (finding.span.start, finding.span.end));
    Ok(report)
}

/// The rules that comments of a file leave out: `# clocksmith: ignore ID why`, behind whatever begins a comment.
fn ignored(text: &str) -> HashSet<&str> {
    const MARK: &str = "clocksmith: ignore ";
    let id = |line: &'_ str| -> Option<(usize, usize)> {
        let at = line.find(MARK)?;
        let before = line.get(..at)?.trim_end();
        let comment = ["#", "//", "<!--", ";", "--", "*", "::", "rem", "REM"]
            .iter()
            .any(|it| before.ends_with(it));
        let rest = line.get(at + MARK.len()..).filter(|_| comment)?;
        let start = line.len() - rest.trim_start().len();
        let word = rest.trim_start();
        let end = word.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(word.len());
        Some((start, start + end))
    };
    let found = text.lines().filter_map(|line| id(line).and_then(|(from, to)| line.get(from..to)));
    // An id never ends in a dash, the end of a comment in XML does.
    found.map(|id| id.trim_end_matches('-')).filter(|id| !id.is_empty()).collect()
}

/// Takes out the changes that would not be made without the guess.
fn without_guess(document: &Document, report: &mut Report) -> Result<(), LintError> {
    let plain = (document.kind.format().lint)(&document.with_guest(Some(Guest::Unknown)))?;
    let known: HashSet<(&str, &Vec<Edit>)> =
        plain.findings.iter().map(|finding| (finding.rule.id, &finding.edits)).collect();
    let places: HashMap<(&str, usize, usize), &Vec<Edit>> = plain
        .findings
        .iter()
        .filter(|finding| !finding.edits.is_empty())
        .map(|finding| ((finding.rule.id, finding.span.start, finding.span.end), &finding.edits))
        .collect();
    for finding in report.findings.iter_mut().filter(|finding| !finding.edits.is_empty()) {
        if !known.contains(&(finding.rule.id, &finding.edits)) {
            let place = (finding.rule.id, finding.span.start, finding.span.end);
            if let Some(edits) = places.get(&place) {
                finding.edits = edits.to_vec();
                continue;
            }
            finding.edits.clear();
            let guest = report.guest.name();
            finding.left = Some(format!(
                "that the guest is {guest} is only guessed from a name; --guest says it"
            ));
        }
    }
    Ok(())
}
