//! A process that is looked at: its memory map, its vDSO, its files, its runtime. An edge: reads
//! `/proc`; nothing is written to the process and it is never stopped.

pub mod bounded;
pub mod guard;
mod hotspot;
pub mod jvm;
pub mod maps;
mod names;
mod process;
pub mod python;
pub mod runtime;
mod served;
pub mod vdso;
pub mod waits;

pub use names::NameSource;
pub use process::{Files, Mapped, Process, children, threads};
pub use runtime::Runtime;
