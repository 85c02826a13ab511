//! The kernel's performance events: opening them, and reading what they write. An edge: system calls
//! and memory that the kernel writes to; no meaning of samples.

mod access;
mod breakpoints;
mod event;
mod ring;
mod sampler;
mod tracepoints;

pub use access::{Access, Refusal};
pub use breakpoints::Breakpoints;
pub use event::{Depth, online_cpus};
pub use ring::Ring;
pub use sampler::{Sampler, Scope};
pub use tracepoints::{NoTracepoints, Tracepoints};
