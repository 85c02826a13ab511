//! The thin edges: what the watch reads, and where it writes to beside the network.
//!
//! What lives here: the machine that is watched ([`machine`]), the files that are written ([`files`]),
//! signals ([`signals`]), the service manager ([`notify`]), what this process uses ([`own`]). What must
//! not: any judgement.

pub mod files;
pub mod machine;
pub mod notify;
pub mod own;
pub mod signals;
pub mod wall;
