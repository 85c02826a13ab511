//! Finds the readers of the clock: processes, functions and stacks, with the number of reads, the
//! path, the cost, and the cost on a fast clock.
//!
//! There are two sources, both by `perf_event_open(2)`, and both end with this process: samples of
//! the CPU clock with registers and a part of the stack show where CPU time is spent; breakpoints
//! on the functions of the vDSO, armed for moments only, show the clock ids and their callers.
//! Nothing is injected, patched or traced.
//!
//! The edges are [`perf`], [`watched`], [`symbols`], [`calibrate`] and [`session`]; the class of a
//! sample ([`classify`]), the sums of samples ([`account`]) and the files for other tools
//! ([`output`]) are pure. This crate must not print, parse arguments, set exit codes, or have the
//! kernel's rules about clocksources.

pub mod account;
pub mod aggregate;
pub mod calibrate;
pub mod classify;
pub mod clock;
pub mod exact;
pub mod output;
pub mod perf;
pub mod record;
pub mod recording;
pub mod session;
pub mod spawn;
pub mod symbols;
pub mod unwind;
pub mod watched;
