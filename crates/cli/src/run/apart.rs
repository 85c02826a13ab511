//! `--json`: standard output has only the document, and the program's own output goes to standard error.

use anyhow::{Context, Result};
use clocksmith_facts::visible;
use serde::Serialize;
use std::io::Write;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// The descriptor for the document: the original standard output, closed in the program.
#[derive(Debug)]
pub(crate) struct Apart(OwnedFd);

impl Apart {
    /// Takes standard output for the document; from now on it goes where standard error goes.
    pub(crate) fn take() -> Result<Self> {
        let take = || {
            // Not one of the three that every program has.
            let kept = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?;
            rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
            Ok::<_, rustix::io::Errno>(kept)
        };
        let kept = take().context(
            "cannot separate the document from the program's output: standard output or standard \
             error is closed",
        )?;
        Ok(Self(kept))
    }

    /// Duplicates the destination for another process.
    pub(crate) fn copy(&self) -> std::io::Result<Self> {
        Ok(Self(self.0.try_clone()?))
    }

    /// Writes the document, and closes the descriptor: a reader then has all of it.
    pub(crate) fn write<T: Serialize>(self, document: &T) {
        if let Ok(mut text) = serde_json::to_string_pretty(document) {
            text.push('\n');
            // A closed pipe is not an error of the program.
            let _ = std::fs::File::from(self.0).write_all(visible::json(&text).as_bytes());
        }
    }
}

impl AsRawFd for Apart {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}
