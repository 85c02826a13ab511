//! The parts of `verify` besides the measurement: claims from facts, its document, its state file and progress.

pub(crate) mod claims;
pub(crate) mod duration;
pub(crate) mod progress;
pub(crate) mod report;
pub(crate) mod state;
