//! Queries of the running machine for facts that no file of `/proc` or `/sys` contains.
//!
//! Every probe returns the text of a virtual file (see [`crate::tree::VIRTUAL`]), for the parsers that also read a
//! mirror, or the reason why there is none. Nothing here changes anything:
//! no affinity, no clock, no log is left different.

pub mod adjtimex;
pub mod auxv;
pub mod cpuid;
pub mod identity;
pub mod kernel_log;
pub mod kmsg;
pub mod state;
pub mod wall;
