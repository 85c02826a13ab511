//! The lines a case may have. All are optional: a missing line comes from the case it is `like`,
//! then from the file's `[defaults]`, then from the architecture.

use serde::Deserialize;
use std::collections::BTreeMap;

/// One set of lines: a case, a `[defaults]` table, or an `[case.on."KERNEL"]` exception.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Fields {
    /// Why the case exists, in a sentence.
    pub what: Option<String>,
    /// Kernels to boot it with, by their names in the catalogue.
    pub kernels: Option<Vec<String>>,
    /// QEMU machine type with options.
    pub machine: Option<String>,
    /// QEMU processor model with flags.
    pub cpu: Option<String>,
    /// QEMU `-smp` value.
    pub smp: Option<Smp>,
    /// MiB of memory.
    pub memory: Option<u32>,
    /// `false`: the machine has no HPET.
    pub hpet: Option<bool>,
    /// `false`: the machine has no ACPI tables.
    pub acpi: Option<bool>,
    /// More QEMU arguments.
    pub qemu: Option<Vec<String>>,
    /// `true`: boot the image as packed by the distribution.
    pub packed: Option<bool>,
    /// `true`: emulated time counts the guest's instructions and jumps over its waits, so that a
    /// busy host cannot upset a calibration or a watchdog, and the boot is faster. It is the
    /// default for x86 guests with one processor; with more, kernels wait for each other forever.
    pub steady: Option<bool>,
    /// Kernel parameters.
    pub cmdline: Option<String>,
    /// Script to run in the guest.
    pub run: Option<String>,
    /// The kernel's choice.
    pub expect: Option<Expect>,
    /// The verdict of `clocksmith why` inside the guest, for cases in which it is not simply `slow`
    /// without the vDSO and `ok` with it.
    pub verdict: Option<Expect>,
    /// Kernels with which the case belongs to the subset for continuous integration.
    pub ci: Option<Vec<String>>,
    /// Boot again if the log contains one of these.
    pub retry_if_log: Option<Vec<String>>,
    /// Seconds.
    pub deadline: Option<u64>,
}

/// `smp = 2` or `smp = "4,sockets=2"`.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Smp {
    /// A plain number of processors.
    Count(u32),
    /// Any value that QEMU accepts after `-smp`.
    Topology(String),
}

impl Smp {
    /// The text after `-smp`.
    pub fn to_argument(&self) -> String {
        match self {
            Smp::Count(count) => count.to_string(),
            Smp::Topology(text) => text.clone(),
        }
    }
}

/// One expectation for all kernels, or one for each group of kernels.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Expect {
    /// The same for every kernel.
    All(String),
    /// `{ "5.10 6.1" = "...", "6.12" = "..." }`
    ByKernel(BTreeMap<String, String>),
}

impl Expect {
    /// The line for one kernel, if there is one.
    pub fn for_kernel(&self, kernel: &str) -> Option<&str> {
        match self {
            Expect::All(line) => Some(line),
            Expect::ByKernel(lines) => lines
                .iter()
                .find(|(kernels, _)| kernels.split_whitespace().any(|name| name == kernel))
                .map(|(_, line)| line.as_str()),
        }
    }
}

impl Fields {
    /// These lines, with the gaps filled from `base`.
    ///
    /// A case that inherits from another does not inherit its place in the subset for continuous integration, nor its
    /// expectations: they belong to the case that states them.
    pub fn over(self, base: &Fields) -> Fields {
        let base = base.clone();
        Fields {
            what: self.what.or(base.what),
            kernels: self.kernels.or(base.kernels),
            machine: self.machine.or(base.machine),
            cpu: self.cpu.or(base.cpu),
            smp: self.smp.or(base.smp),
            memory: self.memory.or(base.memory),
            hpet: self.hpet.or(base.hpet),
            acpi: self.acpi.or(base.acpi),
            qemu: self.qemu.or(base.qemu),
            packed: self.packed.or(base.packed),
            steady: self.steady.or(base.steady),
            cmdline: self.cmdline.or(base.cmdline),
            run: self.run.or(base.run),
            expect: self.expect,
            verdict: self.verdict,
            ci: self.ci,
            retry_if_log: self.retry_if_log.or(base.retry_if_log),
            deadline: self.deadline.or(base.deadline),
        }
    }
}
