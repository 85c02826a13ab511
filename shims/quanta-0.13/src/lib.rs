//! The interface of quanta 0.13 with the clocks of clocksmith, for [patch.crates-io].
//!
//! The documentation of `clocksmith::compat::quanta` lists the differences.

#![no_std]

pub use clocksmith::compat::quanta::*;
