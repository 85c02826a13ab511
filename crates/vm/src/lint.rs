//! Checks a file and returns its findings.

use crate::certain;
use crate::comments;
use crate::dated;
use crate::document::Document;
use crate::edit::Edit;
use crate::finding::{Finding, Severity};
use crate::formats;
use crate::guest::{Guest, Known};
use crate::inner::nothing;
use crate::meant;
use crate::promised;
use crate::saved;
use crate::text::Text;
use crate::unread;
use crate::wished;
use std::collections::{HashMap, HashSet};
use thiserror::Error;

/// The findings in a file.
#[derive(Clone, Debug)]
pub struct Report {
    /// The guest's system.
    pub guest: Guest,
    /// Whether that is only inferred from a name; then it changes nothing.
    pub guessed: bool,
    /// Whether the file is a part of a configuration, or a template: a missing setting may be elsewhere.
    pub partial: bool,
    /// Whether the caller's choice of the guest's system is not used, because the file declares another one.
    pub overruled: bool,
    /// In the order of the text.
    pub findings: Vec<Finding>,
    /// The findings that a comment of the file disables: `clocksmith: ignore ID why`.
    pub ignored: Vec<Finding>,
}

impl Report {
    /// Creates a report of a file, before the file's comments and the caller's choice of the guest are applied.
    pub(crate) fn of(known: Known, partial: bool, findings: Vec<Finding>) -> Self {
        let Known { guest, guessed } = known;
        Self { guest, guessed, partial, overruled: false, findings, ignored: Vec::new() }
    }
}

/// The reason why a file could not be checked.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LintError {
    /// The file is of its kind, but has an error.
    #[error("line {line}, column {column}: {what}")]
    Syntax {
        /// Counted from 1.
        line: u32,
        /// Counted from 1, in characters.
        column: u32,
        /// The error, and the correct form.
        what: String,
    },
}

impl LintError {
    /// Creates an error at a line and a column, both counted from 1.
    pub(crate) fn at(line: usize, column: usize, what: impl Into<String>) -> Self {
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX).max(1);
        Self::Syntax { line: number(line), column: number(column), what: what.into() }
    }

    /// Creates an error at an offset of a text.
    pub(crate) fn within(text: &Text, offset: usize, what: impl Into<String>) -> Self {
        let place = text.place(offset);
        Self::Syntax { line: place.line, column: place.column, what: what.into() }
    }

    /// Creates an error about a file as a whole.
    pub(crate) fn whole(what: &str) -> Self {
        Self::at(1, 1, what)
    }
}

/// Checks a file.
///
/// # Errors
/// Returns an error if the file is not valid for its kind.
pub fn lint(document: &Document) -> Result<Report, LintError> {
    let mut report = part(document)?;
    saved::keep(document, &mut report.findings);
    promised::keep(document, &mut report.findings);
    report.overruled = document.guest.is_some_and(|said| said != report.guest)
        && !matches!(report.guest, Guest::Unknown);
    Ok(report)
}

/// Checks a text that another file contains; that file shows whether a state is saved.
pub(crate) fn part(document: &Document) -> Result<Report, LintError> {
    let program = comments::without(document);
    let read = program.as_ref().unwrap_or(document);
    let started = unread::without(read);
    let read = started.as_ref().unwrap_or(read);
    let mut report = match (document.kind.format().lint)(read) {
        // A file that starts no machine is not a broken machine.
        Err(_) if started.is_some() => nothing(Guest::Unknown),
        report => report?,
    };
    add_beside(read, &mut report.findings);
    let ignored = ignored(document);
    report.ignored =
        report.findings.extract_if(.., |finding| ignored.contains(finding.rule.id)).collect();
    if report.guessed {
        without_guess(read, &mut report)?;
    }
    report.partial |= certain::of_template(document);
    dated::lower(document, &mut report.findings);
    leave_meant(&mut report.findings);
    wished::lower(read, &mut report.findings);
    meant::leave(document, &mut report.findings);
    certain::keep_certain(document, &mut report.findings);
    report.findings.sort_by_key(|finding| (finding.span.start, finding.span.end));
    Ok(report)
}

/// Adds what a file of another kind sets for a clocksource. What its own kind found there is not repeated.
fn add_beside(document: &Document, findings: &mut Vec<Finding>) {
    for finding in formats::beside(document) {
        let overlaps = |it: &Finding| {
            let one = it.span.start < finding.span.end && finding.span.start < it.span.end;
            one && it.severity > Severity::Info
        };
        if !findings.iter().any(overlaps) {
            findings.push(finding);
        }
    }
}

/// Rules about settings that an administrator may have chosen because of a fault, or for the purpose that the rule's
/// risk names: a file does not show whether the reason still applies.
const MEANT: [&str; 8] = [
    "q-guest-notsc",
    "q-rdtscp-off",
    "lv-rdtscp-off",
    "fc-invtsc-masked",
    "fc-rdtscp-masked",
    "vmx-rdtsc-not-virtualised",
    "xen-tsc-always-emulate",
    "xen-tsc-mode-removed",
];

/// Removes the changes that would undo such a setting, and adds the reason.
fn leave_meant(findings: &mut [Finding]) {
    for finding in findings.iter_mut().filter(|finding| MEANT.contains(&finding.rule.id)) {
        finding.leave_edits("it may have been set for a reason that is not in the file");
    }
}

/// The words in a comment that disable a rule.
const MARK: &str = "clocksmith: ignore ";

/// Returns the rules that comments of a file disable: `# clocksmith: ignore ID why`, each at the beginning of a line of
/// a comment.
fn ignored(document: &Document) -> HashSet<&str> {
    let text = document.text.as_str();
    // Most files have none, and need not be read again.
    if !text.contains(MARK) {
        return HashSet::new();
    }
    let comments = comments::of(document);
    let lines = comments.into_iter().flat_map(|span| text.get(span).unwrap_or_default().lines());
    // An id never ends with a dash, but a comment of XML does.
    lines.filter_map(rule).map(|id| id.trim_end_matches('-')).filter(|id| !id.is_empty()).collect()
}

/// Returns the rule that a line of a comment disables.
fn rule(line: &str) -> Option<&str> {
    // The characters that begin a comment, or a line of one.
    let line = line.trim_start_matches(|c: char| c.is_whitespace() || "#/;*<!-:@".contains(c));
    let line = line.strip_prefix("rem ").or_else(|| line.strip_prefix("REM ")).unwrap_or(line);
    let rest = line.trim_start().strip_prefix(MARK)?.trim_start();
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    rest.get(..end.unwrap_or(rest.len()))
}

/// Removes the changes that would not be made without the inferred system.
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
            let system = match report.guest {
                // Several machines have different ones.
                Guest::Unknown => String::new(),
                guest => format!(" ({})", guest.name()),
            };
            finding.left = Some(format!(
                "the guest's system{system} is only guessed from a name; --guest states it"
            ));
        }
    }
    Ok(())
}
