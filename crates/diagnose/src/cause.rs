//! Causes: stable ids, each with its evidence.

use clocksmith_facts::log::{Entry, KernelLog};
use serde::{Deserialize, Serialize};

pub use crate::causes::CauseId;

/// How much a cause matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; nothing is wrong.
    Info,
    /// Time is slow to read, or somebody's choice has no effect.
    Warning,
    /// Time may be wrong or go backwards.
    Critical,
}

/// How sure a statement is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// One possible reading among others; the text says what would settle it.
    Low,
    /// The likely reading.
    Medium,
    /// Stated by the kernel or by a reading of the machine.
    High,
}

/// What a cause rests on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Evidence {
    /// Where it was read.
    pub source: String,
    /// What was read.
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

/// A cause, with its evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cause {
    /// Stable id.
    pub id: CauseId,
    /// How much it matters here.
    pub severity: Severity,
    /// How sure it is.
    pub confidence: Confidence,
    /// One sentence.
    pub summary: String,
    /// What it rests on.
    pub evidence: Vec<Evidence>,
}
