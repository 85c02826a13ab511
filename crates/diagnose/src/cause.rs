//! Causes: stable ids, each with its evidence.

use clocksmith_facts::log::{Entry, KernelLog};
use serde::{Deserialize, Serialize};

pub use crate::causes::CauseId;
pub use clocksmith_facts::Confidence;

/// The severity of a cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Information; nothing is wrong.
    Info,
    /// Reading the time is slow, or a choice of the administrator has no effect.
    Warning,
    /// Time may be wrong or go backwards.
    Critical,
}

impl Severity {
    /// As it is written: `info`, `warning`, `critical`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Critical => "critical",
        }
    }
}

/// A line or fact that shows a cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Evidence {
    /// The file and line, or the file, of the evidence.
    pub source: String,
    /// The text of the evidence.
    pub text: String,
}

impl Evidence {
    /// A line of the kernel log.
    #[must_use]
    pub fn line(log: &KernelLog, entry: &Entry) -> Self {
        Self { source: log.source(entry).0, text: entry.text.clone() }
    }

    /// Any other place.
    pub fn new(source: impl Into<String>, text: impl Into<String>) -> Self {
        Self { source: source.into(), text: text.into() }
    }
}

/// A cause, with its evidence. `Id` is [`CauseId`], or text in a document, which may be of a later version
/// of this program: ids are added.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Cause"))]
pub struct Cause<Id = CauseId> {
    /// Stable id.
    pub id: Id,
    /// The severity of the cause on this machine.
    pub severity: Severity,
    /// The confidence in the cause.
    pub confidence: Confidence,
    /// The cause in one sentence.
    #[serde(default)]
    pub summary: String,
    /// The lines and facts that show the cause.
    #[serde(default)]
    pub evidence: Vec<Evidence>,
}
