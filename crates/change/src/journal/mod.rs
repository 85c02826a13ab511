//! Applies a [`Plan`] to a machine, and reverts it: all or nothing, even when the process is
//! killed.
//!
//! Before anything is changed, the journal records everything that the plan changes: content, owner,
//! mode, attributes, times ([`entry`]). The entry becomes valid by one rename, and is removed by one
//! unlink. In between, the next run finds it and finishes or reverts the change ([`Journal::open`]).
//!
//! | found by the next run | its action |
//! |---|---|
//! | no entry | nothing |
//! | `Applying` | restores everything |
//! | `Trial` | restores everything: the change was never confirmed |
//! | `Applied` | nothing: it is in force |
//! | `Undoing` | finishes the revert |
//!
//! Usage:
//!
//! ```no_run
//! # use clocksmith_change::journal::*;
//! # use clocksmith_change::Plan;
//! # fn example(plan: &Plan) -> Result<(), Box<dyn std::error::Error>> {
//! let mut journal = Journal::open(&Place::live()?, Wait::No)?;
//! for recovered in journal.recovered() { /* say it */ }
//! let applied = journal.attempt(plan, &mut Silent)?;
//! // Depending on whether the change helps:
//! # let helps = true;
//! if helps { journal.confirm(applied.id)?; }
//! else { journal.undo(Which::Id(applied.id), Force::No)?; }
//! # Ok(()) }
//! ```
//!
//! This module records, makes and reverts a change, and reports whether it is in force. It must not decide what to
//! change and why, print, or ask questions.

pub mod entry;
mod error;
mod found;
mod observed;

pub use entry::{Entry, Phase};
pub use error::{ApplyError, Conflict, End, JournalError};
pub(crate) use language::is_plain as is_plain_language;
mod appeared;
mod apply;
mod bytes;
mod capture;
mod language;
mod lock;
mod made;
mod marked;
mod mounts;
mod packages;
mod place;
mod prepare;
mod program;
mod put_back;
mod recover;
pub mod run;
mod stage;
mod status;
mod store;
mod surroundings;
mod tree;
mod undo;

pub use mounts::Mount;
pub use place::Place;
pub use run::{Ran, Runner, SystemRunner};
pub use status::{Holds, StepStatus};

use crate::plan::{Plan, Step};
use crate::words::Change;
use std::path::PathBuf;
use std::time::Duration;

/// The directory of the journal, below the root of the system that is changed.
pub const DIRECTORY: &str = "var/lib/clocksmith/journal";

/// Whether to wait for another run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// [`JournalError::Busy`] at once.
    No,
    /// At most this time.
    AtMost(Duration),
}

/// The changes to revert.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The last change.
    Last,
    /// All, the last one first.
    All,
    /// The change of this number.
    Id(u64),
}

/// Whether later changes by other programs or users are overwritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Force {
    /// No: [`JournalError::Conflicts`], and nothing is reverted.
    No,
    /// Yes, except for files that a boot loader's program makes: that program regenerates them, as
    /// without force, and no entry of a removed kernel is restored.
    Yes,
}

/// The results of opening the journal.
#[derive(Debug)]
pub enum Recovered {
    /// A run had been killed while it made a change; everything was restored.
    RolledBack(Report),
    /// A run had been killed, or the power had gone, while a change was on trial ([`Journal::attempt`]): it
    /// was made, and never confirmed. Everything was restored.
    Unconfirmed(Report),
    /// A run had been killed while it reverted a change; the revert was finished.
    FinishedUndo(Report),
    /// A run had begun to restore everything and could not ([`Entry::stuck`]); the restore was
    /// finished.
    Mended(Report),
    /// Neither was possible. Nothing new is applied until it is; [`Journal::undo`] with [`Force::Yes`] overrides
    /// conflicts.
    Stuck {
        /// The number of the change.
        id: u64,
        /// The summary of its plan.
        summary: String,
        /// The reason.
        error: JournalError,
    },
}

/// The result of a revert.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The number of the change.
    pub id: u64,
    /// The summary of its plan.
    pub summary: String,
    /// Its changes of the kernel command line of later boots.
    pub cmdline: Change,
    /// Files and links in their previous state again.
    pub restored: Vec<PathBuf>,
    /// Directories that were removed.
    pub directories: Vec<PathBuf>,
    /// Commands that ran.
    pub ran: Vec<Vec<String>>,
    /// Commands that are left to be run inside that system.
    pub left: Vec<Vec<String>>,
    /// The clocksource that is in use again.
    pub clocksource: Option<String>,
    /// Objects that were not reverted, with the reasons: a clocksource that another process chose since.
    pub kept: Vec<String>,
    /// The subset of files that another process changed while this revert ran. They are left as that process wrote
    /// them.
    pub written_by_others: Vec<PathBuf>,
    /// Failures that are not tried again.
    pub troubles: Vec<String>,
}

/// A change that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// Its number.
    pub id: u64,
    /// Files, links and directories that were changed.
    pub changed: Vec<PathBuf>,
    /// Commands that are left to be run inside that system.
    pub left: Vec<Vec<String>>,
    /// Processes that programs of the change have left behind and that still run: the files that they write were not
    /// checked.
    pub running: Vec<u32>,
}

/// Observes a change while it is made. All methods have an empty default.
pub trait Observer {
    /// A step begins.
    fn step(&mut self, index: usize, step: &Step) {
        let _ = (index, step);
    }
    /// A program ran, with this output.
    fn output(&mut self, command: &[String], output: &str) {
        let _ = (command, output);
    }
    /// Whether to stop (a signal came): called before each step and while a program runs. If it
    /// returns `true`, everything is restored.
    fn stop(&self) -> bool {
        false
    }
}

/// Observes nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {}

/// The journal of a system, held only by this process.
pub struct Journal {
    place: Place,
    runner: Box<dyn Runner>,
    store: store::Store,
    recovered: Vec<Recovered>,
    stop: fn() -> bool,
    // Last: it is released after everything else.
    lock: lock::Lock,
}

impl std::fmt::Debug for Journal {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Journal").field("place", &self.place).finish_non_exhaustive()
    }
}

impl Journal {
    /// Takes the lock, and finishes or reverts the change that a killed run left.
    ///
    /// # Errors
    /// Returns an error if the journal cannot be made or read, is damaged or of a later version, or is held by another
    /// run. A failed recovery is not an error here: see [`Journal::recovered`].
    pub fn open(place: &Place, wait: Wait) -> Result<Self, JournalError> {
        Self::open_with(place, wait, Box::new(SystemRunner))
    }

    /// Like [`Journal::open`]. `stop` is called while a program runs, including one that
    /// [`Journal::undo`] runs: if it returns true, the effects of that program are reverted.
    ///
    /// # Errors
    /// See [`Journal::open`].
    pub fn open_until(place: &Place, wait: Wait, stop: fn() -> bool) -> Result<Self, JournalError> {
        Self::opened(place, wait, Box::new(SystemRunner), stop)
    }

    /// Like [`Journal::open`], with a different [`Runner`].
    ///
    /// # Errors
    /// See [`Journal::open`].
    pub fn open_with(
        place: &Place,
        wait: Wait,
        runner: Box<dyn Runner>,
    ) -> Result<Self, JournalError> {
        Self::opened(place, wait, runner, || false)
    }

    fn opened(
        place: &Place,
        wait: Wait,
        runner: Box<dyn Runner>,
        stop: fn() -> bool,
    ) -> Result<Self, JournalError> {
        let lock = lock::Lock::take(place.tree(), wait)?;
        let store = store::Store::load(lock.directory(), &place.shown(DIRECTORY))?;
        let mut journal =
            Self { place: place.clone(), runner, store, recovered: Vec::new(), stop, lock };
        journal.recover()?;
        Ok(journal)
    }

    /// The entries, without the lock and without recovering anything; works on a read-only system too.
    /// Oldest first.
    ///
    /// # Errors
    /// Returns an error if the journal exists but cannot be read, is damaged, or is of a later version.
    pub fn look(place: &Place) -> Result<Vec<Entry>, JournalError> {
        store::Store::look(place)
    }

    /// The findings and actions of opening; empty if there was nothing to do.
    #[must_use]
    pub fn recovered(&self) -> &[Recovered] {
        &self.recovered
    }

    /// Whether another run holds the journal now: half-done entries of [`Journal::look`] may be its work.
    /// `false` if that cannot be determined.
    #[must_use]
    pub fn is_held(place: &Place) -> bool {
        lock::is_held(place.tree())
    }

    /// The changes in force, oldest first; and those that are half done ([`Recovered::Stuck`]).
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        self.store.entries()
    }

    /// Makes the change completely or not at all.
    ///
    /// # Errors
    /// Returns an error if anything failed. Everything was restored then, or [`End`] lists what was not.
    pub fn apply(
        &mut self,
        plan: &Plan,
        observer: &mut dyn Observer,
    ) -> Result<Applied, ApplyError> {
        apply::apply(self, plan, observer, Phase::Applied)
    }

    /// Makes the change completely or not at all, on trial: until [`Journal::confirm`] is called, the next
    /// [`Journal::open`] restores everything.
    ///
    /// # Errors
    /// See [`Journal::apply`].
    pub fn attempt(
        &mut self,
        plan: &Plan,
        observer: &mut dyn Observer,
    ) -> Result<Applied, ApplyError> {
        apply::apply(self, plan, observer, Phase::Trial)
    }

    /// Ends the trial of a change: it is in force.
    ///
    /// # Errors
    /// Returns an error if no such change is on trial, or if its end cannot be recorded; it then stays on trial.
    pub fn confirm(&mut self, id: u64) -> Result<(), JournalError> {
        apply::confirm(self, id)
    }

    /// Reverts exactly the changes that were made, in the reverse order. Without [`Force::Yes`],
    /// nothing is reverted if any file was changed by another program or user since.
    ///
    /// # Errors
    /// Returns an error if the change does not exist, there are conflicts, or a system call failed. In the last case
    /// the next [`Journal::open`] tries the rest again.
    pub fn undo(&mut self, which: Which, force: Force) -> Result<Vec<Report>, JournalError> {
        undo::undo(self, which, force)
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.lock.release(&self.place, self.store.entries().is_empty());
    }
}
