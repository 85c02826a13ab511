//! Running programs of the system: checked before, with nothing of ours around them, and never left behind.

use super::{JournalError, Observer, Place};

/// How running a program ended well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ran {
    /// It ran, and said this on standard output and standard error.
    Done(String),
    /// It was not run: it belongs to another system than the running one, and is left to be run inside it.
    Left,
}

/// A way to run programs of a system.
pub trait Runner {
    /// Whether the program could be run: asked for every program before anything is changed.
    ///
    /// # Errors
    /// It is not there, or not executable.
    fn check(&self, place: &Place, program: &str) -> Result<(), JournalError>;

    /// Runs it, and waits for it.
    ///
    /// # Errors
    /// It could not be started, failed, took too long, or was stopped ([`Observer::stop`]).
    fn run(
        &mut self,
        place: &Place,
        command: &[String],
        observer: &mut dyn Observer,
    ) -> Result<Ran, JournalError>;
}

/// Runs programs of the running system, and none of another one.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemRunner;
