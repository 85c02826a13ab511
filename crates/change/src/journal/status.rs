//! Whether a change still holds.

use super::{Entry, Place};
use std::path::PathBuf;

/// Whether a step still holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepStatus {
    /// It does.
    InForce,
    /// Something else than was left is there: path or name, and in what it differs.
    Changed(Vec<(PathBuf, String)>),
    /// What was before is there again: taken back by somebody else, or by a reboot.
    Gone,
    /// It is left to be run inside that system.
    Left,
    /// It could not be seen: why.
    Unknown(String),
}

/// Whether a change still holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holds {
    /// For each step of the plan.
    pub steps: Vec<StepStatus>,
}

impl Entry {
    /// Whether it still holds, step by step. Reads only.
    #[must_use]
    pub fn holds(&self, place: &Place) -> Holds {
        let _ = place;
        Holds { steps: Vec::new() }
    }
}
