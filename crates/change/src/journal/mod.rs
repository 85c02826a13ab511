//! From a [`Plan`] to a changed machine, and back: all or nothing, also when it is killed.
//!
//! Before anything is touched, everything that the plan touches is written down: content, owner, mode,
//! attributes, times ([`entry`]). The entry becomes valid by one rename, and goes away by one unlink;
//! in between, whoever comes next finds it and finishes or takes back ([`Journal::open`]).
//!
//! | found by the next run | what it does |
//! |---|---|
//! | no entry | nothing |
//! | `Applying` | puts everything back |
//! | `Trial` | puts everything back: nobody ever said that it holds |
//! | `Applied` | nothing: it is in force |
//! | `Undoing` | finishes taking back |
//!
//! How it is used:
//!
//! ```no_run
//! # use clocksmith_change::journal::*;
//! # use clocksmith_change::Plan;
//! # fn example(plan: &Plan) -> Result<(), Box<dyn std::error::Error>> {
//! let mut journal = Journal::open(&Place::live()?, Wait::No)?;
//! for recovered in journal.recovered() { /* say it */ }
//! let applied = journal.attempt(plan, &mut Silent)?;
//! // Whoever finds that it helps, and whoever finds that it does not:
//! # let helps = true;
//! if helps { journal.confirm(applied.id)?; }
//! else { journal.undo(Which::Id(applied.id), Force::No)?; }
//! # Ok(()) }
//! ```
//!
//! What lives here: writing it down, doing it, undoing it, saying whether it holds. What must not live
//! here: what to change and why, any printing, any question.

pub mod entry;
mod error;

pub use entry::{Entry, Phase};
pub use error::{ApplyError, Conflict, End, JournalError};
mod appeared;
mod apply;
mod bytes;
mod capture;
mod lock;
mod made;
mod place;
mod prepare;
mod put_back;
mod recover;
pub mod run;
mod stage;
mod status;
mod store;
mod tree;
mod undo;

pub use place::Place;
pub use run::{Ran, Runner, SystemRunner};
pub use status::{Holds, StepStatus};

use crate::plan::{Plan, Step};
use crate::words::Change;
use std::path::PathBuf;
use std::time::Duration;

/// Where the journal is, below the root of the system that is changed.
pub const DIRECTORY: &str = "var/lib/clocksmith/journal";

/// Whether to wait for another run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// [`JournalError::Busy`] at once.
    No,
    /// At most so long.
    AtMost(Duration),
}

/// What to take back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The last change.
    Last,
    /// All, the last one first.
    All,
    /// The change of this number.
    Id(u64),
}

/// Whether what somebody else changed since is overwritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Force {
    /// No: [`JournalError::Conflicts`], and nothing is taken back.
    No,
    /// Yes.
    Yes,
}

/// What opening the journal found and did.
#[derive(Debug)]
pub enum Recovered {
    /// A run had been killed while it made a change; everything was put back.
    RolledBack(Report),
    /// A run had been killed, or the power had gone, while a change was on trial ([`Journal::attempt`]): it
    /// was made, and never confirmed. Everything was put back.
    Unconfirmed(Report),
    /// A run had been killed while it took a change back; that was finished.
    FinishedUndo(Report),
    /// A run had begun to put everything back and could not ([`Entry::stuck`]); that was finished.
    Mended(Report),
    /// Neither could be done. Nothing new is applied until it is; [`Journal::undo`] with
    /// [`Force::Yes`] overrides conflicts.
    Stuck {
        /// The number of the change.
        id: u64,
        /// What it was to do.
        summary: String,
        /// Why.
        error: JournalError,
    },
}

/// What was taken back, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The number of the change.
    pub id: u64,
    /// What it had done.
    pub summary: String,
    /// What it had changed on the kernel command line of later boots.
    pub cmdline: Change,
    /// Files and links that are again what they were.
    pub restored: Vec<PathBuf>,
    /// Directories that were taken away.
    pub directories: Vec<PathBuf>,
    /// Commands that ran.
    pub ran: Vec<Vec<String>>,
    /// Commands that are left to be run inside that system.
    pub left: Vec<Vec<String>>,
    /// The clocksource that is in use again.
    pub clocksource: Option<String>,
    /// What was left alone, and why: a clocksource that somebody else chose since.
    pub kept: Vec<String>,
    /// What did not work, and is not tried again.
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
}

/// Whoever watches a change being made. All have an empty default.
pub trait Observer {
    /// A step begins.
    fn step(&mut self, index: usize, step: &Step) {
        let _ = (index, step);
    }
    /// A program ran, and said this.
    fn output(&mut self, command: &[String], output: &str) {
        let _ = (command, output);
    }
    /// Whether to stop (a signal came): asked before each step and while a program runs. Everything is
    /// put back then.
    fn stop(&self) -> bool {
        false
    }
}

/// Nobody watches.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {}

/// The journal of a system, held by this process alone.
pub struct Journal {
    place: Place,
    runner: Box<dyn Runner>,
    store: store::Store,
    recovered: Vec<Recovered>,
    // Last: given back when all else is done.
    lock: lock::Lock,
}

impl std::fmt::Debug for Journal {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Journal").field("place", &self.place).finish_non_exhaustive()
    }
}

impl Journal {
    /// Takes the lock, and finishes or takes back what a killed run left.
    ///
    /// # Errors
    /// The journal cannot be made or read, is of a later version or damaged, or is held by another run.
    /// What could not be recovered is no error here: [`Journal::recovered`].
    pub fn open(place: &Place, wait: Wait) -> Result<Self, JournalError> {
        Self::open_with(place, wait, Box::new(SystemRunner))
    }

    /// As [`Journal::open`], with another way to run programs.
    ///
    /// # Errors
    /// As [`Journal::open`].
    pub fn open_with(
        place: &Place,
        wait: Wait,
        runner: Box<dyn Runner>,
    ) -> Result<Self, JournalError> {
        let lock = lock::Lock::take(place.tree(), wait)?;
        let store = store::Store::load(lock.directory(), &place.shown(DIRECTORY))?;
        let mut journal = Self { place: place.clone(), runner, store, recovered: Vec::new(), lock };
        journal.recover()?;
        Ok(journal)
    }

    /// What is written down, without the lock and without recovering anything; also on a read-only
    /// system. Oldest first.
    ///
    /// # Errors
    /// The journal is there and cannot be read, is of a later version or damaged.
    pub fn look(place: &Place) -> Result<Vec<Entry>, JournalError> {
        store::Store::look(place)
    }

    /// What opening found and did; empty where nothing was to do.
    #[must_use]
    pub fn recovered(&self) -> &[Recovered] {
        &self.recovered
    }

    /// Whether another run holds the journal now: what [`Journal::look`] finds half done may be its work.
    /// Where that cannot be seen, no.
    #[must_use]
    pub fn is_held(place: &Place) -> bool {
        lock::is_held(place.tree())
    }

    /// The changes in force, oldest first; and those that are half done ([`Recovered::Stuck`]).
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        self.store.entries()
    }

    /// Makes the change, all of it or nothing.
    ///
    /// # Errors
    /// Something failed; everything was put back, or [`End`] says what was not.
    pub fn apply(
        &mut self,
        plan: &Plan,
        observer: &mut dyn Observer,
    ) -> Result<Applied, ApplyError> {
        apply::apply(self, plan, observer, Phase::Applied)
    }

    /// Makes the change, all of it or nothing, on trial: until [`Journal::confirm`] says that it holds,
    /// whoever opens the journal next puts everything back.
    ///
    /// # Errors
    /// As [`Journal::apply`].
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
    /// No such change is on trial, or it could not be written down: then it still is.
    pub fn confirm(&mut self, id: u64) -> Result<(), JournalError> {
        apply::confirm(self, id)
    }

    /// Takes back exactly what was done, in the reverse order. Without [`Force::Yes`], nothing is where
    /// one file was changed by somebody else since.
    ///
    /// # Errors
    /// There is no such change, there are conflicts, or the system failed: then the rest is tried again
    /// by the next [`Journal::open`].
    pub fn undo(&mut self, which: Which, force: Force) -> Result<Vec<Report>, JournalError> {
        undo::undo(self, which, force)
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.lock.release(&self.place, self.store.entries().is_empty());
    }
}
