//! A model of Linux: which clocksources a kernel registers, which it selects, and which clock ids its
//! vDSO serves, with the chain of rules that decides it.
//!
//! This crate contains rules, each with its kernel function and the versions in which it holds
//! ([`feature`] has the versions in one table). [`Machine`] is the input: facts, or assumptions where
//! facts are missing, or what-if changes. [`predict()`] is pure: no I/O, no clock, no environment.
//! This crate does not read files, find causes or give advice.

#![forbid(unsafe_code)]

pub mod arch_vdso;
pub mod arm;
pub mod defaults;
pub mod expectation;
pub mod feature;
pub mod host;
pub mod input;
pub mod machine;
mod mips;
pub mod mistakes;
pub mod open;
mod other;
mod parameters;
pub mod predict;
pub mod processor;
mod select;
pub mod vdso;
pub mod whatif;
mod x86;

pub use clocksmith_facts::names;
pub use expectation::{Assumed, Expectation, Reason};
pub use input::{Basis, Input};
pub use machine::Machine;
pub use mistakes::{Mistake, MistakeKind, mistakes};
pub use predict::predict;
