//! The kernel's performance events: opens them, and reads their records. An edge: system calls and
//! memory that the kernel writes to; no meaning of samples.

mod access;
mod breakpoints;
mod event;
mod ring;
mod sampler;
mod tracepoints;

pub use access::{Access, Refusal};
pub use breakpoints::{Breakpoints, thread_ended};
pub use event::{Depth, online_cpus};
pub use ring::Ring;
pub use sampler::{Deadline, Sampler, Scope};
pub use tracepoints::{NoTracepoints, Tracepoints};
