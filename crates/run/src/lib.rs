//! Starts programs with another clock: puts the image of `clocksmith-raw` into a program's memory
//! before its first instruction, and its address where the program looks for the vDSO.
//!
//! The program is the process that was started: the caller's process becomes it ([`Launch::exec`]), with
//! its process id, its parent, its terminal and its signals. A second process, the *tracer*, follows it;
//! the tracer is neither its child nor in its session. When the tracer ends, or is killed, the program
//! and its children continue.
//!
//! Linux on x86-64; elsewhere [`available`] returns `false`.
//!
//! This crate handles `ptrace` and the memory of other processes. It does not decide whether the
//! counter can be trusted, does not print, and does not parse arguments.

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
pub use target::{Refusal, check, checks_for_leaks};
pub use tracer::{Counted, Totals};

/// Whether programs can be started with another vDSO here.
#[must_use]
pub fn available() -> bool {
    clocksmith_raw::IMAGE.is_some()
}
