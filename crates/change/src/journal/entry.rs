//! The record of a change: enough to finish it, to revert it, and to see later whether it is still in
//! force. Pure data.

use crate::plan::Plan;
use crate::words::Change;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The version of the journal's files. A higher one is not touched.
pub const VERSION: u32 = 1;

/// How far a change is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Being made. If a later run finds this phase, the run was killed or could not restore everything
    /// ([`Entry::stuck`]); the later run restores everything.
    Applying,
    /// Made, and being watched. If a later run finds this phase, the watching run has ended without
    /// confirming the change; the later run restores everything.
    Trial,
    /// Made, and in force, except where another user or program has changed it since.
    Applied,
    /// Being reverted. If a later run finds this phase, the run was killed; the later run finishes
    /// the revert.
    Undoing,
}

/// One change of a machine, with all that is needed to revert it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Entry {
    /// [`VERSION`] of the program that wrote it.
    pub version: u32,
    /// Its number, from 1; later changes have higher ones.
    pub id: u64,
    /// Counts the times this was written.
    pub generation: u64,
    /// How far it is.
    pub phase: Phase,
    /// When it was begun, in seconds since 1970.
    pub begun: i64,
    /// The boot in which it was begun (`/proc/sys/kernel/random/boot_id`).
    pub boot: Option<String>,
    /// The plan.
    pub plan: Plan,
    /// When each step was begun, in seconds since 1970; steps that are not listed were not begun.
    pub steps_begun: Vec<i64>,
    /// Directories that had to be made for the journal itself, outermost first.
    pub home: Vec<PathBuf>,
    /// Directories that had to be made, outermost first.
    pub directories: Vec<PathBuf>,
    /// All that the plan touches, or may touch.
    pub records: Vec<Record>,
    /// For each step of the plan: which record it writes, if it writes one.
    pub targets: Vec<Option<usize>>,
    /// Where programs may make further files.
    pub watches: Vec<Watch>,
    /// The clocksource before the first step that chose one.
    pub clocksource: Option<String>,
    /// Steps whose program was not run, because the system is not the running one: they must be run inside that
    /// system.
    pub left: Vec<usize>,
    /// During a revert: conflicts are overridden.
    pub forced: bool,
    /// Whether a run tried to restore everything and could not.
    #[serde(default)]
    pub stuck: bool,
    /// Names that appeared next to the files of a program while it ran, and that the plan does not know.
    #[serde(default)]
    pub neighbours: Vec<PathBuf>,
    /// Modes and owners of kernels and initial RAM disks, while a program that makes boot entries runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub owned: Vec<Owned>,
    /// The mounts over the files of the plan before its first step; nothing if they were not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mounts: Option<Vec<super::Mount>>,
    /// During a revert, only in this process: what is not reverted because others have changed it, in words.
    #[serde(skip)]
    pub(super) notes: Vec<String>,
    /// During a revert, only in this process: contents of states that were decided on and must be kept with the entry.
    #[serde(skip)]
    pub(super) texts: Vec<String>,
    /// During a revert by force, only in this process: words that others had added to files that are restored, and
    /// words that they had removed from them.
    #[serde(skip)]
    pub(super) overridden: Change,
}

/// The mode and the owner of a file that a program should leave as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Owned {
    /// The file.
    pub path: PathBuf,
    /// Permissions: 0 to 0o7777.
    pub mode: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
}

/// A file or link that is touched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Record {
    /// Its real place: links in the path, and at its end where the step writes through them, are
    /// followed.
    pub path: PathBuf,
    /// The last step that touches it.
    pub step: usize,
    /// The states that steps give it, in their order.
    pub planned: Vec<Planned>,
    /// The steps whose programs may rewrite it.
    pub rewritten_by: Vec<usize>,
    /// Its state before the change.
    pub old: State,
    /// Its state when everything was done.
    pub new: Option<State>,
    /// Whether the program of the step is expected to leave it as it is; only while the change is made.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub observed: bool,
    /// During a revert: the action for this path.
    pub decision: Option<Decision>,
    /// During a revert, only in this process: the state for which the action was decided. If it differs, another
    /// process has changed the path since, and its state is kept. Nothing if it is not known.
    #[serde(skip)]
    pub(super) seen: Option<State>,
    /// During a revert, only in this process: others have edited the file, and keep their edits.
    #[serde(skip)]
    pub(super) edited: bool,
}

impl Phase {
    /// Whether all steps were made, and none was reverted.
    #[must_use]
    pub(crate) fn is_made(self) -> bool {
        matches!(self, Self::Trial | Self::Applied)
    }
}

impl Entry {
    /// When a step was begun, in seconds since 1970.
    #[must_use]
    pub fn begun(&self, step: usize) -> Option<i64> {
        self.steps_begun.get(step).copied()
    }

    /// The name under which the result of a step is made.
    pub(super) fn staged(&self, step: usize) -> String {
        format!("{TEMPORARY}{}-s{step}", self.id)
    }

    /// The name under which a record's saved content is made again.
    pub(super) fn saved(&self, record: usize) -> String {
        format!("{TEMPORARY}{}-r{record}", self.id)
    }

    /// The name of the file that keeps room for files that might have to be restored.
    pub(super) fn reserve(&self) -> String {
        format!("{TEMPORARY}{}-reserve", self.id)
    }
}

/// The prefix of clocksmith's temporary names in directories of other programs.
pub(super) const TEMPORARY: &str = ".clocksmith-";

/// The state that a step gives a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Planned {
    /// Nothing is there.
    Absent,
    /// A file with the content of this SHA-256.
    File(String),
    /// A link that says this.
    Link(PathBuf),
}

/// The action for a path when a change is reverted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    /// The previous state is restored.
    PutBack,
    /// The program regenerates the file: another program or user has rewritten it since.
    Regenerate,
}

/// A directory in which a program may make files that did not exist.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Watch {
    /// The directory.
    pub directory: PathBuf,
    /// Only names that begin so; the neighbours of one rewritten file (`grub.cfg.new`).
    pub prefix: Option<String>,
    /// Whether the directory existed.
    pub existed: bool,
    /// The step.
    pub step: usize,
    /// Names that existed.
    pub names: Vec<String>,
    /// Whether the program of the step is expected to leave its files as they are; only while the change is made.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub observed: bool,
    /// The end of the names that count, of an observed one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<String>,
}

/// The state of a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "is")]
pub enum State {
    /// Nothing.
    Absent,
    /// A regular file.
    File {
        /// SHA-256 of the content, in hexadecimal; the content is kept under this name.
        content: String,
        /// Bytes.
        size: u64,
        /// Owner, mode and the rest.
        meta: Meta,
    },
    /// A symbolic link.
    Link {
        /// Its target.
        target: PathBuf,
        /// Owner and the rest.
        meta: Meta,
    },
    /// A directory, device, pipe or socket: never touched.
    Other,
}

/// The metadata of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Meta {
    /// Permissions, with the set-user-ID bits: 0 to 0o7777.
    pub mode: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Last change of the content: seconds since 1970 and nanoseconds.
    pub mtime: (i64, u32),
    /// Last change of anything: seconds since 1970. Not restored, and not compared.
    pub ctime: i64,
    /// Extended attributes: name, value in hexadecimal. With access control lists and labels.
    pub xattrs: Vec<(String, String)>,
}

impl State {
    /// The same content, kind, owner, mode and attributes. Times are left out, and so are the
    /// labels of a security module, which relabels files itself.
    #[must_use]
    pub fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::File { content, meta, .. }, Self::File { content: there, meta: its, .. }) => {
                content == there && meta.same(its)
            }
            (Self::Link { target, meta }, Self::Link { target: there, meta: its }) => {
                target == there && (meta.uid, meta.gid) == (its.uid, its.gid)
            }
            (Self::Absent, Self::Absent) | (Self::Other, Self::Other) => true,
            _ => false,
        }
    }

    /// The same in everything that can be restored.
    #[must_use]
    pub(crate) fn identical(&self, other: &Self) -> bool {
        self.same(other)
            && match (self.meta(), other.meta()) {
                (Some(one), Some(two)) => one.mtime == two.mtime && one.xattrs == two.xattrs,
                _ => true,
            }
    }

    /// Whether a step made this.
    #[must_use]
    pub fn is(&self, planned: &Planned) -> bool {
        match (self, planned) {
            (Self::Absent, Planned::Absent) => true,
            (Self::File { content, .. }, Planned::File(wanted)) => content == wanted,
            (Self::Link { target, .. }, Planned::Link(wanted)) => target == wanted,
            _ => false,
        }
    }

    /// Its metadata.
    #[must_use]
    pub fn meta(&self) -> Option<&Meta> {
        match self {
            Self::File { meta, .. } | Self::Link { meta, .. } => Some(meta),
            Self::Absent | Self::Other => None,
        }
    }

    /// The difference from another state, in a few words.
    #[must_use]
    pub fn difference(&self, other: &Self) -> String {
        match (self, other) {
            (Self::Absent, _) => "it did not exist".to_owned(),
            (_, Self::Absent) => "it is gone".to_owned(),
            (Self::File { content, meta, .. }, Self::File { content: there, meta: its, .. }) => {
                if content != there {
                    "other content".to_owned()
                } else if meta.mode != its.mode {
                    format!("mode {:04o} became {:04o}", meta.mode, its.mode)
                } else if (meta.uid, meta.gid) != (its.uid, its.gid) {
                    format!("owner {}:{} became {}:{}", meta.uid, meta.gid, its.uid, its.gid)
                } else {
                    "other attributes".to_owned()
                }
            }
            (Self::Link { .. }, Self::Link { target, .. }) => {
                format!("it says {}", target.display())
            }
            _ => "it is of another kind".to_owned(),
        }
    }
}

impl Meta {
    fn same(&self, other: &Self) -> bool {
        fn ours(meta: &Meta) -> impl Iterator<Item = &(String, String)> {
            meta.xattrs.iter().filter(|(name, _)| !name.starts_with("security."))
        }
        (self.mode, self.uid, self.gid) == (other.mode, other.uid, other.gid)
            && ours(self).eq(ours(other))
    }
}
