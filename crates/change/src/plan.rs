//! What would be changed: pure data, made before anything is touched, shown, journalled, applied and
//! taken back.
//!
//! A plan is a list of steps in the order in which they are made; they are taken back in the other
//! order. Paths are those of the system that is changed; where its root is (`/`, or a directory) is
//! known to whoever applies the plan alone.

use crate::boot::loader::Loader;
use crate::words::Change;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What would be changed, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Plan {
    /// What it does, in a line.
    pub summary: String,
    /// In order.
    pub steps: Vec<Step>,
    /// The risks that were accepted by name, for the record.
    pub accepted: Vec<String>,
    /// What its steps change on the kernel command line of later boots: to see, after one, whether it is so.
    pub cmdline: Change,
    /// Words that every boot entry must have, and must not have, when a program of the plan has made the boot
    /// loader's files: looked at after it ran.
    #[serde(default)]
    pub expected: Change,
    /// The boot loader whose configuration its steps change.
    #[serde(default)]
    pub loader: Option<Loader>,
    /// The clocksource that a unit or script of it chooses at each boot; so taking it back in a later boot
    /// is not over when the files are what they were.
    pub each_boot: Option<String>,
}

/// One change, with its reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Step {
    /// What is done.
    pub action: Action,
    /// Why.
    pub why: String,
    /// What it risks.
    pub risk: String,
}

/// What a step does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Action {
    /// A file shall have this content; one that is there keeps its owner, mode and attributes.
    Write {
        /// The file.
        path: PathBuf,
        /// All of its content.
        content: String,
        /// Mode of a new file, for example 0o644.
        mode: u32,
    },
    /// A file or link shall not be there.
    Remove {
        /// The file.
        path: PathBuf,
    },
    /// A symbolic link shall be there.
    Link {
        /// The link.
        path: PathBuf,
        /// What it says.
        target: PathBuf,
    },
    /// A program of the system shall run: one that owns files which nobody else should write.
    Run {
        /// Program and arguments.
        command: Vec<String>,
        /// The files that it rewrites, and directories whose files it rewrites (not deeper): they are
        /// saved before, and put back when it fails or is taken back.
        rewrites: Vec<PathBuf>,
        /// What to run when it is taken back, after the files were put back; for what is not in files
        /// (`systemctl daemon-reload`).
        undo: Option<Vec<String>>,
        /// What makes those files anew when it is taken back and somebody else has rewritten them since,
        /// after the files of the other steps were put back: `update-grub` after a kernel update, which
        /// must not be lost. Nothing: such a file is a conflict.
        regenerate: Option<Vec<String>>,
    },
    /// The running kernel shall use this clocksource.
    Clocksource {
        /// Its name.
        name: String,
    },
}
