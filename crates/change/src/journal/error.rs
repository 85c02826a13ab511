//! What can go wrong, each with what was attempted, on what, and what to do next.

use super::entry::VERSION;
use clocksmith_facts::trusted::{Foreign, Untrusted};
use std::fmt;
use std::path::PathBuf;
use thiserror::Error;

/// Why something was not done.
#[derive(Debug, Error)]
pub enum JournalError {
    /// A call to the system failed.
    #[error("cannot {what} {}: {error}{}", path.display(), advice(*error))]
    Io {
        /// The verb, as in `cannot write`.
        what: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        error: rustix::io::Errno,
    },
    /// Another run holds the journal.
    #[error("another run{} is changing this system: try again when it is done", pid.map_or(String::new(), |pid| format!(" (process {pid})")))]
    Busy {
        /// Its process.
        pid: Option<u32>,
    },
    /// Programs that a killed run had started are still running.
    #[error(
        "programs that a killed run had started are still running and cannot be ended: {pids:?}. \
         End them, then try again"
    )]
    Orphans {
        /// Their processes.
        pids: Vec<u32>,
    },
    /// The journal, or the way to it, is not this user's alone.
    #[error(
        "{0}: this journal is not obeyed, since another user could have written it. If it is yours, run \
         this as the user who owns it, or give it and every directory above it to that user alone (chown, \
         chmod go-w); else move it away. Nothing was changed"
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
    #[error("{} is damaged ({why}). Nothing was changed. {next}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
        /// What to do.
        next: &'static str,
    },
    /// A file is of a kind that cannot be changed without harm.
    #[error("{} {why}", path.display())]
    Unfit {
        /// The file.
        path: PathBuf,
        /// Why, and what to do.
        why: String,
    },
    /// A path leaves the system's root, or turns in circles.
    #[error("{}: {why}", path.display())]
    Path {
        /// As it was given.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A program is not there.
    #[error("{program}: {why}")]
    Program {
        /// As it was given.
        program: String,
        /// What is wrong with it.
        why: String,
    },
    /// A program failed.
    #[error("`{command}` {how}{}", said(output))]
    Failed {
        /// With its arguments.
        command: String,
        /// How it ended.
        how: String,
        /// The end of what it said.
        output: String,
    },
    /// A program ended well, and a file that it makes is not what it was run for.
    #[error(
        "`{command}` ran, but {} {why}. Its settings may be read from another place, or be overwritten there",
        path.display()
    )]
    NotMade {
        /// With its arguments.
        command: String,
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The clocksource could not be changed.
    #[error(transparent)]
    Clocksource(#[from] crate::switch::ChangeError),
    /// Whoever asked for the change does not want it any more.
    #[error("interrupted")]
    Stopped,
    /// A change of an earlier run is neither made nor taken back.
    #[error(
        "change {id} of an earlier run is half done, and files that it touched were changed by somebody \
         else since: {}. Look at them, then take it back by force",
        paths(conflicts)
    )]
    Unfinished {
        /// Its number.
        id: u64,
        /// The files.
        conflicts: Vec<Conflict>,
    },
    /// Some of a change could not be put back, and the rest was.
    #[error("{}{}", open.join("; "), again(restored))]
    Partly {
        /// Files that are again what they were.
        restored: Vec<PathBuf>,
        /// What could not be done, one each.
        open: Vec<String>,
    },
    /// Files were changed by somebody else since.
    #[error("changed by somebody else since: {}. Nothing was taken back", paths(conflicts))]
    Conflicts {
        /// The files.
        conflicts: Vec<Conflict>,
    },
    /// There is no such change.
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

/// A file that is neither what we left nor what it was before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The file.
    pub path: PathBuf,
    /// What is different, in a few words.
    pub difference: String,
    /// What we left, if it is known and is text.
    pub left: Option<String>,
    /// What is there now, if it is text.
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
    if output.is_empty() { " and said nothing".to_owned() } else { format!(":\n{output}") }
}

/// What to do about an error of the system.
fn advice(error: rustix::io::Errno) -> &'static str {
    use rustix::io::Errno;
    match error {
        Errno::NOSPC => ". The disk is full: make room, then try again",
        Errno::DQUOT => ". The quota is used up: make room, then try again",
        Errno::ROFS => {
            ". It is mounted read-only: an image-based system is changed by its own tool (rpm-ostree, \
             bootc, transactional-update, nixos-rebuild); else remount it writable"
        }
        Errno::ACCESS => {
            ". Only root may; where root may not either, a security module (SELinux, AppArmor) or a \
             container forbids it: its log (ausearch -m avc, dmesg) says which"
        }
        Errno::PERM => {
            ". Only root may; for root, the file or its directory may be immutable (lsattr shows i or a; \
             chattr -i takes it away), or a container forbids it"
        }
        Errno::MFILE | Errno::NFILE => ". Too many open files",
        _ => "",
    }
}

fn again(restored: &[PathBuf]) -> String {
    let paths: Vec<String> = restored.iter().map(|path| path.display().to_string()).collect();
    if paths.is_empty() { String::new() } else { format!(". Put back: {}", paths.join(", ")) }
}

/// Why a change was not made, and how that ended.
#[derive(Debug, Error)]
#[error("{}{cause}. {end}", step.map_or(String::new(), |step| format!("step {}: ", step + 1)))]
pub struct ApplyError {
    /// The step, counted from 0; nothing where no step had been begun.
    pub step: Option<usize>,
    /// What happened.
    pub cause: JournalError,
    /// What became of the steps before.
    pub end: End,
}

/// What became of a change that failed.
#[derive(Debug)]
pub enum End {
    /// Nothing had been changed.
    Untouched,
    /// Everything was put back.
    RolledBack(Box<super::Report>),
    /// Not everything could be put back; the journal has the rest, and the next run tries again.
    Stuck(Box<JournalError>),
}

impl fmt::Display for End {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Untouched => out.write_str("Nothing was changed"),
            Self::RolledBack(report) => {
                out.write_str("Everything was put back")?;
                for trouble in &report.troubles {
                    write!(out, "; but {trouble}")?;
                }
                Ok(())
            }
            Self::Stuck(error) => write!(
                out,
                "Not everything could be put back: {error}. The journal has the rest: mend what is named, then \
                 `clocksmith fix --undo` puts it back"
            ),
        }
    }
}
