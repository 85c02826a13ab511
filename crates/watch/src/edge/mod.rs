//! The thin edges: the inputs of the watch, and its outputs besides the network.
//!
//! They are the machine that is watched ([`machine`]), the files that are written ([`files`]), signals ([`signals`]),
//! the service manager ([`notify`]) and the resources of this process ([`own`]). No judgement is made here.

pub mod files;
pub mod machine;
pub mod notify;
pub mod own;
pub mod signals;
pub mod wall;
