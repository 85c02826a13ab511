//! A process that is looked at: its memory map, its vDSO, its files, its runtime. An edge: reads
//! `/proc`; nothing is written to the process and it is never stopped.

mod attach;
mod bounded;
pub mod guard;
mod hotspot;
mod jdk;
pub mod jvm;
mod mapped;
pub mod maps;
mod names;
pub mod ours;
pub mod patient;
mod process;
pub mod python;
pub mod remains;
pub mod runtime;
pub mod select;
mod served;
pub mod vdso;
pub mod waits;

pub(crate) use jdk::is_library_name as jdk_library;
pub use mapped::{Files, Mapped};
pub use names::NameSource;
pub use ours::{Ours, OwnClock};
pub use process::{Process, children, short_name, threads};
pub use runtime::Runtime;
