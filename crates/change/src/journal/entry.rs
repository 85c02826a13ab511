//! What is written down about a change: enough to finish it, to take it back, and to see later whether
//! it still holds. Pure data.

use crate::plan::Plan;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The version of the journal's files. A higher one is not touched.
pub const VERSION: u32 = 1;

/// How far a change is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Being made. Found by a later run: it was killed, or could not put everything back ([`Entry::stuck`]), and
    /// everything is put back.
    Applying,
    /// Made, and being watched. Found by a later run: whoever watched is gone and never said that it holds,
    /// so everything is put back.
    Trial,
    /// Made, and in force as far as nobody else changed it.
    Applied,
    /// Being taken back. Found by a later run: it was killed, and that is finished.
    Undoing,
}

/// One change of a machine, with all that is needed to take it back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Entry {
    /// [`VERSION`] of whoever wrote it.
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
    /// What was to be done.
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
    /// Steps whose program was not run, because the system is another one: to be run inside it.
    pub left: Vec<usize>,
    /// When it is being taken back: conflicts were to be overridden.
    pub forced: bool,
    /// Whether a run tried to put everything back and could not.
    #[serde(default)]
    pub stuck: bool,
    /// Names that appeared beside the files of a program while it ran, and that the plan does not know.
    #[serde(default)]
    pub neighbours: Vec<PathBuf>,
}

/// A file or link that is touched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Record {
    /// Where it really is: links on the way, and at its end where the step writes through them, are
    /// followed.
    pub path: PathBuf,
    /// The last step that touches it.
    pub step: usize,
    /// What steps make of it, in their order.
    pub planned: Vec<Planned>,
    /// The steps whose programs may rewrite it.
    pub rewritten_by: Vec<usize>,
    /// What it was.
    pub old: State,
    /// What it was when everything was done.
    pub new: Option<State>,
    /// While it is taken back: what is done about it.
    pub decision: Option<Decision>,
}

impl Phase {
    /// Whether all steps were made, and none was taken back.
    #[must_use]
    pub fn is_made(self) -> bool {
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

    /// The name under which what a record saved is made anew.
    pub(super) fn saved(&self, record: usize) -> String {
        format!("{TEMPORARY}{}-r{record}", self.id)
    }

    /// The name of the file that keeps room for what might have to be put back.
    pub(super) fn reserve(&self) -> String {
        format!("{TEMPORARY}{}-reserve", self.id)
    }
}

/// How all names of ours begin, in directories of others.
pub(super) const TEMPORARY: &str = ".clocksmith-";

/// What a step makes of a path.
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

/// What is done about a path when a change is taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Decision {
    /// It becomes what it was.
    PutBack,
    /// The program makes it anew: somebody else has rewritten it since.
    Regenerate,
}

/// A directory in which a program may make files that were not there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Watch {
    /// The directory.
    pub directory: PathBuf,
    /// Only names that begin so; the neighbours of one rewritten file (`grub.cfg.new`).
    pub prefix: Option<String>,
    /// Whether the directory was there.
    pub existed: bool,
    /// The step.
    pub step: usize,
    /// Names that were there.
    pub names: Vec<String>,
}

/// What is at a path.
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
        /// What it says.
        target: PathBuf,
        /// Owner and the rest.
        meta: Meta,
    },
    /// A directory, device, pipe or socket: never touched.
    Other,
}

/// What a file has beside its content.
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
    /// The same content, kind, owner, mode and attributes. Times are left out, and what a security
    /// module keeps: it relabels files as it likes.
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
    pub fn identical(&self, other: &Self) -> bool {
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

    /// What it has beside its content.
    #[must_use]
    pub fn meta(&self) -> Option<&Meta> {
        match self {
            Self::File { meta, .. } | Self::Link { meta, .. } => Some(meta),
            Self::Absent | Self::Other => None,
        }
    }

    /// In what another state is different, in a few words.
    #[must_use]
    pub fn difference(&self, other: &Self) -> String {
        match (self, other) {
            (Self::Absent, _) => "it was not there".to_owned(),
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
