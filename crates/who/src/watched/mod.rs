//! A process that is looked at: its memory map, its vDSO, its files, its runtime. An edge: reads
//! `/proc`; nothing is written to the process and it is never stopped.

pub mod jvm;
pub mod maps;
mod process;
pub mod python;
pub mod runtime;
pub mod vdso;
pub mod waits;

pub use process::{Files, Process, children, threads};
pub use runtime::Runtime;
