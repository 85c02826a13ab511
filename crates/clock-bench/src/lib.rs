//! Functions that the benches of the clock have in common. x86-64 Linux only: elsewhere it is empty, and the benches
//! report that.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

pub mod bracket;
pub mod report;
pub mod system;
