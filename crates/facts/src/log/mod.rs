//! The kernel log: events with their lines.

use serde::Serialize;
use std::io::Read;

/// A kernel log, reduced to what concerns clocks.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct KernelLog {}

/// Why a text could not be read as a kernel log.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// Reading failed.
    #[error("cannot read {name}: {error}")]
    Read {
        /// What was read.
        name: String,
        /// The system's error.
        error: std::io::Error,
    },
}

impl KernelLog {
    /// Scans a log.
    pub fn scan(_reader: impl Read, _name: &str) -> Result<Self, LogError> {
        Ok(Self {})
    }
}
