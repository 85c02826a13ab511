//! The interface of `fastant` 0.1: `use clocksmith::compat::fastant::Instant`.
//!
//! `fastant` is the successor of `minstant`, and has its interface: the documentation of
//! [`minstant`](super::minstant) applies here.

pub use super::minstant::{Anchor, Atomic, Instant, is_tsc_available};
