//! The interface of minstant with the clocks of clocksmith, for [patch.crates-io].
//!
//! The documentation of `clocksmith::compat::minstant` lists the differences.

#![no_std]

pub use clocksmith::compat::minstant::*;
