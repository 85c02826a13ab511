//! How sure a statement is: one scale for facts that were measured, causes, verdicts and flags.

use serde::{Deserialize, Serialize};
use std::fmt;

/// How sure a statement is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// One of several possible explanations, or a rule of thumb; in `verify`: only large faults would have been found.
    Low,
    /// The likely explanation; in `verify`: faults that matter to most programs would have been found.
    Medium,
    /// Stated by the kernel, or read or measured on the machine; in `verify`: faults of a microsecond and of 50 ppm
    /// would have been found.
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
