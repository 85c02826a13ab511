//! Facts about a machine's clocks, and everything that turns text into facts.
//!
//! What lives here: the [`Facts`] record; the parsers of kernel logs ([`log`]), sysfs, procfs,
//! CPUID dumps and ACPI tables; and the [`tree`]s they are read from (the live machine, a mirrored
//! root directory, a bundle). Every value is a [`Fact`]: it carries the place that it was read from,
//! and a missing one carries the reason and the way to get it.
//!
//! What must not live here: any rule about what the kernel *does* with a fact (that is the
//! `clocksmith-kernel` crate), any judgement (`clocksmith-diagnose`), any printing.

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
pub mod utc;
pub mod vdso;
pub mod verified;
pub mod version;
pub mod visible;
pub mod wall;

pub use confidence::Confidence;
pub use fact::{Fact, Missing, Source, Why};
pub use facts::{Arch, Cpu, Facts, Origin};
