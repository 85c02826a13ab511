//! The kernel's own time at the cost of one counter read.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod clocks;
#[cfg(engine)]
mod counter;
#[cfg(engine)]
mod discipline;
#[cfg(engine)]
mod discover;
#[cfg(engine)]
mod eligible;
#[cfg(engine)]
mod engine;
pub mod guide;
#[cfg(engine)]
mod kernel;
#[cfg(engine)]
mod line;
#[cfg(engine)]
mod memory;
#[cfg(engine)]
mod page;
mod source;
#[cfg(engine)]
mod sync;
mod synchrony;
#[cfg(engine)]
mod view;

pub use clocks::{
    boottime_ns, distrust_counter, monotonic_coarse_ns, monotonic_ns, monotonic_ordered_ns,
    monotonic_raw_ns, realtime_coarse_ns, realtime_ns, realtime_ordered_ns, restrict, source,
    tai_ns, trust_counter,
};
pub use source::Source;
#[cfg(engine)]
pub use synchrony::test_counters;
pub use synchrony::{Refused, Synchrony};
