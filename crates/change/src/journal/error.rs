//! Errors, each with the attempted operation, its object, and the next step for the user.

use super::entry::VERSION;
use clocksmith_facts::trusted::{Foreign, Untrusted};
use std::fmt;
use std::path::PathBuf;
use thiserror::Error;

/// The reason why an operation failed.
#[derive(Debug, Error)]
pub enum JournalError {
    /// A call to the system failed.
    #[error("cannot {what} {}: {error}{}", path.display(), advice(*error))]
    Io {
        /// The verb, as in `cannot write`.
        what: &'static str,
        /// The object.
        path: PathBuf,
        /// The system's error.
        error: rustix::io::Errno,
    },
    /// Another run holds the journal.
    #[error("another run{} is changing this system: try again when it is done", pid.map_or(String::new(), |pid| format!(" (process {pid})")))]
    Busy {
        /// Its process.
        pid: Option<u32>,
    },
    /// Packages are being installed.
    #[error(
        "{name} (process {pid}) is installing or removing packages, which may make boot entries as well: try again when it is \
         done"
    )]
    Packages {
        /// The package manager.
        name: &'static str,
        /// Its process.
        pid: u32,
    },
    /// Programs that a killed run had started are still running.
    #[error(
        "programs that a killed run had started are still running, and cannot be ended or may be those of another journal: \
         {pids:?}. Wait until they have ended, or end them, then try again"
    )]
    Orphans {
        /// Their processes.
        pids: Vec<u32>,
    },
    /// The journal, or a directory of its path, can be written by another user.
    #[error(
        "{0}: this journal is not trusted, because another user could have written it. If it is \
         yours, run this as the user who owns it, or make that user the only one who can write it \
         and every directory above it (chown, chmod go-w); otherwise move it away"
    )]
    Foreign(#[from] Foreign),
    /// The journal was written by a later version.
    #[error(
        "{} is of version {found}; this program knows {VERSION}: use the newer program that wrote it",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u64,
    },
    /// A file of the journal is damaged.
    #[error("{} is damaged ({why}). {next}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The fault.
        why: String,
        /// The next step for the user.
        next: &'static str,
    },
    /// A file is of a kind that cannot be changed without harm.
    #[error("{} {why}", path.display())]
    Unfit {
        /// The file.
        path: PathBuf,
        /// The reason, and the remedy.
        why: String,
    },
    /// A path leaves the system's root, or its links form a cycle.
    #[error("{}: {why}", path.display())]
    Path {
        /// As it was given.
        path: PathBuf,
        /// The fault.
        why: &'static str,
    },
    /// A program does not exist.
    #[error("{program}: {why}")]
    Program {
        /// As it was given.
        program: String,
        /// The fault.
        why: String,
    },
    /// A program failed.
    #[error("`{command}` {how}{}", said(output))]
    Failed {
        /// With its arguments.
        command: String,
        /// How it ended.
        how: String,
        /// The end of its output.
        output: String,
    },
    /// A program exited with 0, but a file that it makes does not have the requested words, or differs by more than them.
    #[error(
        "`{command}` ran, but {} {why}",
        path.display()
    )]
    NotMade {
        /// With its arguments.
        command: String,
        /// The file.
        path: PathBuf,
        /// The fault.
        why: String,
    },
    /// The clocksource could not be changed.
    #[error(transparent)]
    Clocksource(#[from] crate::switch::ChangeError),
    /// The user has interrupted the change.
    #[error("interrupted")]
    Stopped,
    /// A change of an earlier run is incomplete, and neither finished nor reverted.
    #[error(
        "change {id} of an earlier run is half done, and files that it touched were changed by other programs \
         or users since: {}",
        paths(conflicts)
    )]
    Unfinished {
        /// Its number.
        id: u64,
        /// The files.
        conflicts: Vec<Conflict>,
    },
    /// A part of a change could not be restored; the rest was.
    #[error("{}{}", open.join("; "), again(restored))]
    Partly {
        /// Files in their previous state again.
        restored: Vec<PathBuf>,
        /// The errors, one for each failed restore.
        open: Vec<String>,
    },
    /// Files were changed by other programs or users since.
    #[error("changed by other programs or users since: {}. Nothing was reverted", paths(conflicts))]
    Conflicts {
        /// The files.
        conflicts: Vec<Conflict>,
    },
    /// The change does not exist.
    #[error("{0}")]
    NothingToUndo(String),
}

impl From<Untrusted> for JournalError {
    fn from(error: Untrusted) -> Self {
        match error {
            Untrusted::Foreign(foreign) => Self::Foreign(foreign),
            Untrusted::Io { what, path, error } => Self::Io { what, path, error },
        }
    }
}

/// A file that differs both from the change's result and from its previous state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The file.
    pub path: PathBuf,
    /// The difference, in a few words.
    pub difference: String,
    /// The change's result, if it is known and is text.
    pub left: Option<String>,
    /// The present content, if it is text.
    pub found: Option<String>,
}

impl fmt::Display for Conflict {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} ({})", self.path.display(), self.difference)
    }
}

fn paths(conflicts: &[Conflict]) -> String {
    conflicts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn said(output: &str) -> String {
    let output = output.trim_end();
    if output.is_empty() { " and printed nothing".to_owned() } else { format!(":\n{output}") }
}

/// Advice for an error of the system.
fn advice(error: rustix::io::Errno) -> &'static str {
    use rustix::io::Errno;
    match error {
        Errno::NOSPC => ". The disk is full: make room, then try again",
        Errno::DQUOT => ". The quota is used up: make room, then try again",
        Errno::ROFS => {
            ". It is mounted read-only: an image-based system is changed by its own tool \
             (rpm-ostree, bootc, transactional-update, nixos-rebuild); otherwise remount it \
             writable"
        }
        Errno::ACCESS => {
            ". Only root may; where root may not either, a security module (SELinux, AppArmor) or a \
             container forbids it: its log (ausearch -m avc, dmesg) says which"
        }
        Errno::PERM => {
            ". Only root may; for root, the file or its directory may be immutable (lsattr shows i \
             or a; chattr -i removes it), or a container forbids it"
        }
        Errno::MFILE | Errno::NFILE => ". Too many open files",
        _ => "",
    }
}

fn again(restored: &[PathBuf]) -> String {
    let paths: Vec<String> = restored.iter().map(|path| path.display().to_string()).collect();
    if paths.is_empty() { String::new() } else { format!(". Restored: {}", paths.join(", ")) }
}

/// The reason why a change was not made, and its outcome.
#[derive(Debug, Error)]
#[error("{}{cause}. {end}", step.map_or(String::new(), |step| format!("step {}: ", step + 1)))]
pub struct ApplyError {
    /// The step, counted from 0; nothing if no step had been begun.
    pub step: Option<usize>,
    /// The error.
    pub cause: JournalError,
    /// The outcome of the earlier steps.
    pub end: End,
}

/// The outcome of a failed change.
#[derive(Debug)]
pub enum End {
    /// Nothing had been changed.
    Untouched,
    /// Everything was restored.
    RolledBack(Box<super::Report>),
    /// Not everything could be restored; the journal has the rest, and the next run tries again.
    Stuck(Box<JournalError>),
    /// Not everything could be restored, and the journal no longer has the rest.
    Lost(Box<JournalError>),
}

impl fmt::Display for End {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Untouched => out.write_str("Nothing was changed"),
            Self::RolledBack(report) => {
                let all = report.troubles.is_empty() && report.kept.is_empty();
                out.write_str(if all {
                    "Everything was restored"
                } else {
                    "Everything else was restored"
                })?;
                for trouble in report.troubles.iter().chain(&report.kept) {
                    write!(out, "; but {trouble}")?;
                }
                Ok(())
            }
            Self::Stuck(error) => write!(
                out,
                "Not everything could be restored: {error}. The journal has the rest: fix the named problem, then \
                 `clocksmith fix --undo` restores it"
            ),
            Self::Lost(error) => write!(
                out,
                "Not everything could be restored: {error}. Something has removed the journal meanwhile, so no later run \
                 can restore the rest: take it from a backup"
            ),
        }
    }
}
