//! The interface of fastant with the clocks of clocksmith, for [patch.crates-io].
//!
//! The documentation of `clocksmith::compat::fastant` lists the differences.

#![no_std]

pub use clocksmith::compat::fastant::*;
