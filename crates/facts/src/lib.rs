//! Facts about a machine's clocks, and the code that turns text into facts.
//!
//! Contents: the [`Facts`] record; the parsers of kernel logs ([`log`]), sysfs, procfs,
//! CPUID dumps and ACPI tables; and the [`tree`]s that they read (the live machine, a mirrored
//! root directory, a bundle). Every value is a [`Fact`]: a known value has its source,
//! and a missing one has the reason and the way to get it.
//!
//! Not in this crate: rules about what the kernel *does* with a fact (the
//! `clocksmith-kernel` crate), judgement (`clocksmith-diagnose`), printing.

pub mod acpi;
pub mod apart;
pub mod clockdev;
pub mod cmdline;
pub mod collect;
pub mod confidence;
pub mod cpu;
pub mod cpuid;
pub mod dmi;
pub mod environment;
pub mod fact;
pub mod facts;
mod flag_list;
pub mod given;
pub mod hypervisor;
pub mod idle;
pub mod kconfig;
pub mod log;
pub mod memory;
pub mod mounts;
pub mod names;
pub mod ntp;
pub mod panicked;
pub mod paste;
pub mod path;
pub mod patient;
pub mod probe;
pub mod shell;
pub mod symptom;
pub mod tick;
pub mod tree;
pub mod trusted;
pub mod units;
pub mod utc;
pub mod vdso;
pub mod verified;
pub mod version;
pub mod visible;
pub mod wall;
mod word_list;

pub use confidence::Confidence;
pub use fact::{Fact, Missing, Source, Why};
pub use facts::{Arch, Cpu, Facts, Origin};
