//! A planned change: pure data, made before anything is touched, shown, journalled, applied and
//! reverted.
//!
//! A plan is a list of steps in the order in which they are made; they are reverted in the opposite
//! order. Paths are those of the system that is changed; only the code that applies the plan knows
//! its root (`/`, or a directory).

use crate::boot::loader::Loader;
use crate::words::Change;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A planned change, with its reasons.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Plan {
    /// Its effect, in a line.
    pub summary: String,
    /// In order.
    pub steps: Vec<Step>,
    /// The risks that were accepted by name, for the record.
    pub accepted: Vec<String>,
    /// The changes that its steps make to the kernel command line of later boots: for a check after a boot.
    pub cmdline: Change,
    /// Words that every boot entry must have, and must not have, when a program of the plan has made the boot
    /// loader's files: looked at after it ran.
    #[serde(default)]
    pub expected: Change,
    /// The boot loader whose configuration its steps change.
    #[serde(default)]
    pub loader: Option<Loader>,
    /// The clocksource that a unit or script of the plan chooses at each boot; so a revert in a later boot
    /// is not complete when the files are restored.
    pub each_boot: Option<String>,
}

/// One change, with its reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Step {
    /// The action.
    pub action: Action,
    /// Why.
    pub why: String,
    /// The risk.
    pub risk: String,
}

/// The action of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Action {
    /// Write a file with this content; an existing file keeps its owner, mode and attributes.
    Write {
        /// The file.
        path: PathBuf,
        /// All of its content.
        content: String,
        /// Mode of a new file, for example 0o644.
        mode: u32,
    },
    /// Remove a file or a link.
    Remove {
        /// The file.
        path: PathBuf,
    },
    /// Create a symbolic link.
    Link {
        /// The link.
        path: PathBuf,
        /// The link's target.
        target: PathBuf,
    },
    /// Run a program of the system that owns files which other programs should not write.
    Run {
        /// Program and arguments.
        command: Vec<String>,
        /// The files that it rewrites, and directories whose files it rewrites (not deeper): they are
        /// saved before, and restored when the program fails or the step is reverted.
        rewrites: Vec<PathBuf>,
        /// The command to run when the step is reverted, after the files were restored; for state
        /// outside of files (`systemctl daemon-reload`).
        undo: Option<Vec<String>>,
        /// The command that regenerates those files when the step is reverted and another program
        /// or user has rewritten them since, after the files of the other steps were restored:
        /// `update-grub` after a kernel update, which must not be lost. `None`: such a file is a
        /// conflict.
        regenerate: Option<Vec<String>>,
    },
    /// Make the running kernel use this clocksource.
    Clocksource {
        /// Its name.
        name: String,
    },
}
