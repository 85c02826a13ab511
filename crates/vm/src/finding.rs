//! Findings, and the rules that produce them.

use crate::edit::Edit;
use serde::Serialize;
use std::ops::Range;

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth saying.
    Info,
    /// A risk, or a setting that does nothing.
    Warn,
    /// A wrong result, a slow clock, or a machine that does not start.
    Error,
}

/// A rule. Every kind of file has separate rules; their ids are public and are never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Stable id.
    pub id: &'static str,
    /// The default severity.
    pub severity: Severity,
    /// The problem, in a few words.
    pub summary: &'static str,
    /// The reason why it matters.
    pub why: &'static str,
    /// The risk of leaving it, and of fixing it.
    pub risk: &'static str,
    /// The authority: document or source file, function, version.
    pub source: &'static str,
}

/// A finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule.
    pub rule: &'static Rule,
    /// The severity in this file; a rule may matter less for one guest than for another.
    pub severity: Severity,
    /// The bytes that the finding is about; for a missing element, the place where it belongs.
    pub span: Range<usize>,
    /// The problem in this file, if the rule's summary is not enough.
    pub summary: Option<String>,
    /// The remedy, in words; `None` if there is nothing to do.
    pub fix: Option<String>,
    /// The remedy as changes of the text, if it needs no knowledge beyond the file.
    pub edits: Vec<Edit>,
    /// The reason why a change is left to be made by hand: it is not certain that it changes nothing else.
    pub left: Option<String>,
    /// The object of the file, if there may be many: `VirtualMachine shop/web1`.
    pub object: Option<String>,
}

impl Finding {
    /// Creates a finding with the rule's severity and summary, and no remedy.
    #[must_use]
    pub fn new(rule: &'static Rule, span: Range<usize>) -> Self {
        Self {
            rule,
            severity: rule.severity,
            span,
            summary: None,
            fix: None,
            edits: Vec::new(),
            left: None,
            object: None,
        }
    }

    /// Sets the severity in this file.
    #[must_use]
    pub fn severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }

    /// Sets the summary of the problem.
    #[must_use]
    pub fn summary(mut self, summary: impl Into<String>) -> Self {
        self.summary = Some(summary.into());
        self
    }

    /// Sets the remedy.
    #[must_use]
    pub fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(fix.into());
        self
    }

    /// Adds changes that apply the remedy.
    #[must_use]
    pub fn edits(mut self, edits: impl IntoIterator<Item = Edit>) -> Self {
        self.edits.extend(edits);
        self
    }

    /// Leaves the changes that would apply the remedy to the reader, with the reason; a finding without changes stays as
    /// it is.
    pub(crate) fn leave_edits(&mut self, why: &str) {
        if !self.edits.is_empty() {
            self.edits.clear();
            self.left = Some(why.to_owned());
        }
    }

    /// Adds a change that applies the remedy, where its place is known.
    #[must_use]
    pub(crate) fn edit_at(self, span: Option<Range<usize>>, with: impl Into<String>) -> Self {
        match span {
            Some(span) => self.edit(span, with),
            None => self,
        }
    }

    /// Adds a change that applies the remedy.
    #[must_use]
    pub fn edit(mut self, span: Range<usize>, with: impl Into<String>) -> Self {
        self.edits.push(Edit { span, with: with.into() });
        self
    }
}
