//! How sure a statement is: one scale for facts that were measured, causes, verdicts and flags.

use serde::{Deserialize, Serialize};
use std::fmt;

/// How sure a statement is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// One possible reading among others, a rule of thumb; or only large faults would have been seen.
    Low,
    /// The likely reading; or faults that matter to most programs would have been seen.
    Medium,
    /// Stated by the kernel, or read or measured on the machine; or faults of a microsecond and of 50 ppm
    /// would have been seen.
    High,
}

impl Confidence {
    /// As it is written: `low`, `medium`, `high`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

impl fmt::Display for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
