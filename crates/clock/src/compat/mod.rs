//! The interfaces of other clocks, for programs that already use them. Needs the feature `compat`.
//!
//! Replace the crate's name by the path of its module here. Each module documents the differences.

pub mod coarsetime;
pub mod fastant;
pub mod minstant;
pub mod quanta;
