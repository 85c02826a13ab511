//! The boots. A *case* is a few lines of TOML; one case and one kernel make one [`Boot`].
//!
//! - [`fields`]: the lines a case may have, and how one set of lines inherits from another
//! - [`expect`]: the notation for the expected choice of a kernel
//! - [`mod@file`]: reading case files and turning them into boots
//! - [`select`]: choosing boots by name or subset

pub mod expect;
pub mod fields;
pub mod file;
pub mod select;

use crate::arch::Arch;
use expect::Choice;
use serde::Serialize;

/// One kernel on one machine with one command line: everything that is needed to boot it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Boot {
    /// `case@kernel`, unique over all files.
    pub id: String,
    /// The case's name.
    pub case: String,
    /// The kernel's name in the catalogue.
    pub kernel: String,
    /// Why this case is worth a boot.
    pub what: Option<String>,
    /// The hardware.
    pub machine: Machine,
    /// Kernel parameters besides those the testbed itself needs.
    pub cmdline: String,
    /// A shell script to run in the guest once its clocksource has settled.
    pub run: Option<String>,
    /// The expected choice of the kernel.
    pub expect: Option<Choice>,
    /// The verdict that `clocksmith why` should give inside, if the rule gives another one.
    pub verdict: Option<String>,
    /// Whether the boot belongs to the subset for continuous integration.
    pub ci: bool,
    /// Boot again (twice at most) if the kernel's log contains one of these.
    pub retry_if_log: Vec<String>,
    /// Seconds after which the boot counts as hung.
    pub deadline: u64,
}

/// The emulated hardware of one boot.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Machine {
    /// Processor architecture.
    pub arch: Arch,
    /// QEMU machine type and its options.
    pub machine: String,
    /// QEMU processor model and its flags; `None` is the emulator's default.
    pub cpu: Option<String>,
    /// QEMU's `-smp` value.
    pub smp: String,
    /// Memory in MiB.
    pub memory: u32,
    /// Whether the machine has an HPET; `None` leaves it to the machine type.
    pub hpet: Option<bool>,
    /// Whether the machine has ACPI tables; `None` leaves it to the machine type.
    pub acpi: Option<bool>,
    /// Further QEMU arguments.
    pub qemu: Vec<String>,
    /// Boot the packed image as shipped instead of the unpacked one.
    pub packed: bool,
    /// Let emulated time count instructions; see [`fields::Fields::steady`].
    pub steady: bool,
}
