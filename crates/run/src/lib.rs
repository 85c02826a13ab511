//! Starts programs with another clock: puts the image of `clocksmith-raw` into a program's memory
//! before its first instruction, and its address where the program looks for the vDSO.
//!
//! The program is the process that was started: the caller's process becomes it ([`Launch::exec`]),
//! with its process id, its parent, its terminal and its signals. What follows it is a second process, a
//! *tracer*, which is no child of it and in no session of it. When the tracer ends, or is killed,
//! the program and its children go on.
//!
//! Linux on x86-64; elsewhere [`available`] says no.
//!
//! What lives here: `ptrace`, memory of other processes. What must not: whether the counter can be
//! trusted, printing, arguments.

mod baseline;
mod image;
mod inject;
mod launch;
mod original;
mod remote;
mod stack;
mod target;
mod tracer;

pub use baseline::Baseline;
pub use image::{Act, Image};
pub use launch::{Failure, Launch};
pub use target::{Refusal, check};
pub use tracer::{Counted, Totals};

/// Whether programs can be started with another vDSO here.
#[must_use]
pub fn available() -> bool {
    clocksmith_raw::IMAGE.is_some()
}
