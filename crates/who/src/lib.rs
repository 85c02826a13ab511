//! Who reads the clock: which processes, functions and stacks, how often, by which way, what that
//! costs and what it would cost on a fast clock.
//!
//! Two sources of knowledge, both by `perf_event_open(2)` and both gone when this process goes:
//! samples of the CPU clock with registers and a piece of the stack say where CPU time is spent;
//! breakpoints on the functions of the vDSO, armed for moments only, say which clock ids are asked
//! for by whom. Nothing is injected, patched or traced.
//!
//! The edges are [`perf`], [`watched`], [`symbols`], [`calibrate`] and [`session`]; what a sample is
//! ([`classify`]), what samples add up to ([`account`]) and the files for other tools ([`output`])
//! are pure. What must not live here: printing, arguments, exit codes, rules of the kernel about
//! clocksources.

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
