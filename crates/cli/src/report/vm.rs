//! `vm lint --json` and `vm fix --json`.

use clocksmith_facts::visible;
use clocksmith_vm::{Document, Finding, Guest, Kind, Report, Severity};
use serde::Serialize;

/// The longest piece of a file that is quoted, in characters.
const QUOTED: usize = 100;

/// `vm lint --json`.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct LintReport {
    /// Always `clocksmith.vm-lint.v1`.
    pub(crate) schema: &'static str,
    /// The files in the order in which they were given.
    pub(crate) files: Vec<LintFile>,
}

/// One file.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct LintFile {
    /// The file as it was given; `-` is standard input.
    pub(crate) file: String,
    /// The kind of the file; null if it cannot be used.
    pub(crate) kind: Option<Kind>,
    /// The guest's system.
    pub(crate) guest: Guest,
    /// Whether the guest's system is guessed from a name; then no change depends on it, and `--guest` sets it.
    pub(crate) guessed: bool,
    /// Whether `--guest` is not used, because the file declares another system.
    pub(crate) overruled: bool,
    /// Whether the file is a part of a configuration, or a template: other settings may be in another file.
    pub(crate) partial: bool,
    /// The findings in the order of the file.
    pub(crate) findings: Vec<FindingReport>,
    /// Number of findings that are left out: by a comment in the file, or by --ignore.
    pub(crate) ignored: usize,
    /// The findings that are left out.
    pub(crate) left_out: Vec<LeftOut>,
    /// Why the file cannot be used; null if it can.
    pub(crate) error: Option<String>,
}

/// A finding that is left out.
#[derive(Serialize, Debug, Clone)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct LeftOut {
    /// The rule.
    pub(crate) id: &'static str,
    /// Counted from 1.
    pub(crate) line: u32,
    /// Counted from 1, in characters.
    pub(crate) column: u32,
    /// The finding in a few words.
    pub(crate) summary: String,
    /// The reason: `comment` in the file, or `option`.
    pub(crate) by: &'static str,
}

/// One finding.
#[derive(Serialize, Debug, Clone)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct FindingReport {
    /// The rule; `clocksmith explain ID` shows it.
    pub(crate) id: &'static str,
    /// The severity of the finding.
    pub(crate) severity: Severity,
    /// Line, counted from 1.
    pub(crate) line: u32,
    /// Column, counted from 1, in characters.
    pub(crate) column: u32,
    /// The text at that place.
    #[serde(rename = "where")]
    pub(crate) place: String,
    /// The object of the file, if a file may contain many: kind, namespace and name. Null otherwise.
    pub(crate) object: Option<String>,
    /// The finding in a few words.
    pub(crate) summary: String,
    /// Why it matters.
    pub(crate) why: &'static str,
    /// The risk of the finding, and of fixing it.
    pub(crate) risk: &'static str,
    /// The change to make; null if none is needed.
    pub(crate) fix: Option<String>,
    /// Whether `vm fix` makes the change.
    pub(crate) mendable: bool,
    /// Why `vm fix` does not make the change: it might change another setting. Null where it makes the change, or has
    /// none.
    pub(crate) by_hand: Option<String>,
    /// The source of the rule.
    pub(crate) source: &'static str,
}

impl FindingReport {
    /// A finding in its file.
    pub(crate) fn new(document: &Document, finding: &Finding) -> Self {
        let place = document.text.place(finding.span.start);
        Self {
            id: finding.rule.id,
            severity: finding.severity,
            line: place.line,
            column: place.column,
            place: quote(document.text.slice(finding.span.clone())),
            object: finding.object.as_deref().map(|it| visible::line(it).into_owned()),
            summary: finding.summary.clone().unwrap_or_else(|| finding.rule.summary.to_owned()),
            why: finding.rule.why,
            risk: finding.rule.risk,
            fix: finding.fix.clone(),
            mendable: !finding.edits.is_empty(),
            by_hand: finding.left.clone(),
            source: finding.rule.source,
        }
    }
}

/// A piece of a file, on one line.
fn quote(text: &str) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        // A finding can be about most of a long file.
        if line.len() > 4 * QUOTED {
            break;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.extend(word.chars().take(QUOTED + 1));
    }
    let cut: String = line.chars().take(QUOTED).collect();
    if cut.len() < line.len() { cut + "..." } else { cut }
}

impl LintFile {
    /// Builds the report of a file's findings.
    pub(crate) fn new(
        file: String,
        document: &Document,
        report: &Report,
        by_option: &[Finding],
    ) -> Self {
        let left_out = |finding: &Finding, by| {
            let finding = FindingReport::new(document, finding);
            let FindingReport { id, line, column, summary, .. } = finding;
            LeftOut { id, line, column, summary, by }
        };
        let by_comment = report.ignored.iter().map(|finding| left_out(finding, "comment"));
        let by_option = by_option.iter().map(|finding| left_out(finding, "option"));
        Self {
            file,
            kind: Some(document.kind),
            guest: report.guest,
            guessed: report.guessed,
            overruled: report.overruled,
            partial: report.partial,
            findings: report.findings.iter().map(|f| FindingReport::new(document, f)).collect(),
            ignored: by_comment.len() + by_option.len(),
            left_out: by_comment.chain(by_option).collect(),
            error: None,
        }
    }

    /// A file that cannot be used.
    pub(crate) fn unusable(file: String, error: String) -> Self {
        let (guest, findings) = (Guest::Unknown, Vec::new());
        Self {
            file,
            kind: None,
            guest,
            guessed: false,
            overruled: false,
            partial: false,
            findings,
            ignored: 0,
            left_out: Vec::new(),
            error: Some(error),
        }
    }
}

/// `vm fix --json`.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct FixReport {
    /// Always `clocksmith.vm-fix.v1`.
    pub(crate) schema: &'static str,
    /// The files in the order in which they were given.
    pub(crate) files: Vec<FixFile>,
}

/// One file.
#[derive(Serialize, Debug, Default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct FixFile {
    /// The file as it was given; `-` is standard input.
    pub(crate) file: String,
    /// The kind of the file; null if it cannot be used.
    pub(crate) kind: Option<Kind>,
    /// The guest's system.
    pub(crate) guest: Guest,
    /// Whether the guest's system is guessed from a name; then no change depends on it, and `--guest` sets it.
    pub(crate) guessed: bool,
    /// Whether `--guest` is not used, because the file declares another system.
    pub(crate) overruled: bool,
    /// Whether the file is a part of a configuration, or a template.
    pub(crate) partial: bool,
    /// Findings that the changes fix.
    pub(crate) mended: Vec<Mended>,
    /// Number of changes that --invtsc and --tsc-frequency require.
    pub(crate) chosen: usize,
    /// Why changes that --invtsc and --tsc-frequency require must be made by hand, one line each.
    pub(crate) undecided: Vec<String>,
    /// The changes as a unified diff; empty where nothing changes.
    pub(crate) diff: String,
    /// Findings that are left, with their places in the changed file.
    pub(crate) left: Vec<FindingReport>,
    /// The lines of these findings in the file as it is, if the changed one was not written.
    #[serde(skip)]
    pub(crate) lines: Vec<u32>,
    /// Options about the clock that libvirt will pass to QEMU; empty for other files.
    pub(crate) qemu: Vec<String>,
    /// Whether the file was written.
    pub(crate) written: bool,
    /// The file that has the previous content.
    pub(crate) backup: Option<String>,
    /// Whether the file has what --invtsc and --tsc-frequency choose already.
    #[serde(skip)]
    pub(crate) followed: bool,
    /// Why `--apply` would not write it, for the sentence after the changes.
    #[serde(skip)]
    pub(crate) refused: Option<String>,
    /// Why the file cannot be used or written; null if it can.
    pub(crate) error: Option<String>,
}

/// A finding that was fixed.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Mended {
    /// The rule.
    pub(crate) id: &'static str,
    /// The severity of the finding.
    pub(crate) severity: Severity,
    /// The finding in a few words.
    pub(crate) summary: String,
    /// The risk of the fix.
    pub(crate) risk: &'static str,
}

/// `vm lint --list-rules --json`.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct RulesReport {
    /// Always `clocksmith.vm-rules.v1`.
    pub(crate) schema: &'static str,
    /// All rules.
    pub(crate) rules: Vec<RuleReport>,
}

/// One rule.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct RuleReport {
    /// The id of the rule; ids are never reused.
    pub(crate) id: &'static str,
    /// The usual severity of the rule's findings.
    pub(crate) severity: Severity,
    /// The finding in a few words.
    pub(crate) summary: &'static str,
    /// Why it matters.
    pub(crate) why: &'static str,
    /// The source of the rule.
    pub(crate) source: &'static str,
}

impl RulesReport {
    /// Every rule.
    pub(crate) fn all() -> Self {
        let rules = clocksmith_vm::rules().map(|rule| RuleReport {
            id: rule.id,
            severity: rule.severity,
            summary: rule.summary,
            why: rule.why,
            source: rule.source,
        });
        Self { schema: "clocksmith.vm-rules.v1", rules: rules.collect() }
    }
}
