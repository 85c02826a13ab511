//! The open inputs of the model: those that the evidence does not show, their possible values, and the questions whose
//! answer does not depend on them.
//!
//! [`predict()`](crate::predict()) answers with stated defaults. A verdict must not use defaults: [`ask`] answers the
//! same question for every machine that the evidence allows, and returns the inputs on which the answer depends.

use crate::feature::{self, Feature};
use crate::{Input, Machine};
use clocksmith_facts::Arch;
use clocksmith_facts::cpu::CpuVendor;
use clocksmith_facts::hypervisor::{Hypervisor, HypervisorKind};
use clocksmith_facts::version::{Kernel, Vendor};
use serde::Serialize;

/// An input of the model that may be open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum OpenInput {
    /// The kernel's version.
    KernelVersion,
    /// The architecture.
    Architecture,
    /// The stable bit in the page of a paravirtual clock.
    StableBit,
    /// The hypervisor.
    Hypervisor,
    /// The CPU vendor.
    CpuVendor,
    /// `constant_tsc`.
    ConstantTsc,
    /// `nonstop_tsc`.
    NonstopTsc,
    /// `tsc_adjust`.
    TscAdjust,
    /// The number of possible CPUs: one, or several.
    PossibleCpus,
    /// Packages: one, or many.
    Packages,
    /// NUMA nodes: one, or many.
    NumaNodes,
    /// Whether firmware describes an HPET.
    Hpet,
    /// Whether firmware describes a PM timer.
    PmTimer,
    /// Hyper-V: whether it grants the invariant TSC (AccessTscInvariant).
    InvariantGrant,
    /// Arm: whether an erratum makes the kernel trap the counter.
    CounterTrapped,
    /// 32-bit Arm: whether the device tree makes the kernel remove the clock from its vDSO.
    DeviceTreeTimer,
    /// RISC-V: whether firmware emulates the time CSR.
    TimeCsr,
    /// Whether the kernel demoted the clocksource after the last line of the log.
    LogEnd,
    /// Which clocksource of the list is in use.
    Choice,
    /// Whether the log lost a line in which the kernel chose another clocksource, such as the TSC.
    LostLine,
}

impl OpenInput {
    /// Every input.
    pub const ALL: [Self; 20] = [
        Self::KernelVersion,
        Self::Architecture,
        Self::StableBit,
        Self::Hypervisor,
        Self::CpuVendor,
        Self::ConstantTsc,
        Self::NonstopTsc,
        Self::TscAdjust,
        Self::PossibleCpus,
        Self::Packages,
        Self::NumaNodes,
        Self::Hpet,
        Self::PmTimer,
        Self::InvariantGrant,
        Self::CounterTrapped,
        Self::DeviceTreeTimer,
        Self::TimeCsr,
        Self::LogEnd,
        Self::Choice,
        Self::LostLine,
    ];

    /// The input in words.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::KernelVersion => "kernel version",
            Self::Architecture => "architecture",
            Self::StableBit => "host's stable bit",
            Self::Hypervisor => "hypervisor",
            Self::CpuVendor => "CPU vendor",
            Self::ConstantTsc => "constant_tsc",
            Self::NonstopTsc => "nonstop_tsc",
            Self::TscAdjust => "tsc_adjust",
            Self::PossibleCpus => "possible CPUs",
            Self::Packages => "packages",
            Self::NumaNodes => "NUMA nodes",
            Self::Hpet => "HPET",
            Self::PmTimer => "PM timer",
            Self::InvariantGrant => "Hyper-V's grant of the invariant TSC",
            Self::CounterTrapped => "errata of the counter",
            Self::DeviceTreeTimer => "device tree's timer",
            Self::TimeCsr => "time CSR, which firmware may emulate",
            Self::LogEnd => "time after the last line of this log",
            Self::Choice => "choice among the clocksources of the list",
            Self::LostLine => "last choice of the clocksource",
        }
    }

    /// The command that shows the value of the input on the machine in question.
    #[must_use]
    pub fn settled_by(self) -> &'static str {
        match self {
            Self::KernelVersion => "uname -r",
            Self::Architecture => "uname -m",
            Self::StableBit => "clocksmith bench, which measures whether reads stay in user space",
            Self::Hypervisor => "systemd-detect-virt",
            Self::CpuVendor | Self::ConstantTsc | Self::NonstopTsc | Self::TscAdjust => "lscpu",
            Self::PossibleCpus => "cat /sys/devices/system/cpu/possible",
            Self::Packages | Self::NumaNodes => "lscpu",
            Self::Hpet | Self::PmTimer => "ls /sys/firmware/acpi/tables",
            Self::InvariantGrant => {
                "dmesg | grep -i -e 'Hyper-V: privilege' -e 'Hyper-V: features'"
            }
            Self::CounterTrapped => "dmesg | grep -i -e erratum -e CNTVCT",
            Self::DeviceTreeTimer => {
                "ls /proc/device-tree/timer: with arm,cpu-registers-not-fw-configured reads are system calls"
            }
            Self::TimeCsr => {
                "clocksmith bench, which measures what a read costs; the line Boot HART ISA Extensions of OpenSBI: time, zicntr \
                 or sstc in it"
            }
            Self::LogEnd | Self::Choice | Self::LostLine => {
                "cat /sys/devices/system/clocksource/clocksource0/current_clocksource"
            }
        }
    }

    /// Whether the evidence leaves the input open on this machine.
    #[must_use]
    pub fn is_open(self, machine: &Machine) -> bool {
        let x86 = machine.arch.value.is_x86();
        match self {
            Self::KernelVersion => machine.kernel.is_assumed(),
            Self::Architecture => machine.arch.is_assumed() || machine.width_open,
            Self::StableBit => x86 && machine.pvclock_stable.is_assumed(),
            Self::Hypervisor => x86 && machine.hypervisor.is_assumed(),
            Self::CpuVendor => x86 && machine.vendor.is_assumed(),
            Self::ConstantTsc => x86 && machine.constant_tsc.is_assumed(),
            Self::NonstopTsc => x86 && machine.nonstop_tsc.is_assumed(),
            Self::TscAdjust => x86 && machine.tsc_adjust.is_assumed(),
            Self::PossibleCpus => x86 && machine.possible_cpus.is_assumed(),
            Self::Packages => x86 && machine.packages.is_assumed(),
            Self::NumaNodes => x86 && machine.nodes.is_assumed(),
            Self::Hpet => x86 && machine.hpet.is_assumed(),
            Self::PmTimer => x86 && machine.pm_timer.is_assumed(),
            Self::InvariantGrant => {
                let by_hyperv = |h: &Hypervisor| {
                    h.kind == HypervisorKind::Hyperv && h.hyperv_privileges.is_none()
                };
                x86 && machine.hypervisor.value.as_ref().is_some_and(by_hyperv)
                    && Feature::HypervInvariant.of(&machine.kernel.value)
            }
            Self::CounterTrapped => {
                (matches!(machine.arch.value, Arch::Arm | Arch::Arm64) || machine.arch.is_assumed())
                    && machine.counter_trapped_open
            }
            Self::DeviceTreeTimer => {
                (machine.arch.value == Arch::Arm || machine.arch.is_assumed())
                    && machine.vdso_nulled_open
            }
            Self::TimeCsr => {
                (machine.arch.value == Arch::Riscv || machine.arch.is_assumed())
                    && machine.time_csr_open
            }
            // The model has no time: the reader of the log determines where it ends.
            Self::LogEnd | Self::Choice | Self::LostLine => false,
        }
    }

    /// The machines that differ from this one only in the input, one for each value that the
    /// evidence allows.
    pub(crate) fn worlds(self, machine: &Machine) -> Vec<Machine> {
        let with = |edit: &dyn Fn(&mut Machine)| {
            let mut other = machine.clone();
            edit(&mut other);
            other
        };
        let flag = |set: fn(&mut Machine, Input<bool>)| {
            [false, true].map(|on| with(&|m| set(m, Input::assumed(on, WHY)))).to_vec()
        };
        let number = |set: fn(&mut Machine, Input<u32>), values: &[u32]| -> Vec<Machine> {
            values.iter().map(|n| with(&|m| set(m, Input::assumed(*n, WHY)))).collect()
        };
        match self {
            Self::KernelVersion => {
                let (at_least, below) = machine.kernel_bounds;
                feature::borders()
                    .into_iter()
                    .filter(|v| at_least.is_none_or(|least| *v >= least))
                    .chain(at_least)
                    .filter(|v| below.is_none_or(|end| *v < end))
                    .map(|version| {
                        let release = version.to_string();
                        let kernel = Kernel { version, release, vendor: Vendor::Unknown };
                        with(&|m| m.kernel = Input::assumed(kernel.clone(), WHY))
                    })
                    .collect()
            }
            // Only the width: the known properties of the architecture stay.
            Self::Architecture if !machine.arch.is_assumed() => {
                let arch = machine.arch.value;
                [Some(arch), arch.with_32_bits()]
                    .iter()
                    .flatten()
                    .map(|arch| with(&|m| m.arch.value = *arch))
                    .collect()
            }
            Self::Architecture => [
                Arch::X86_64,
                Arch::X86,
                Arch::Arm64,
                Arch::Arm,
                Arch::Riscv,
                Arch::Riscv32,
                Arch::Loongarch,
                Arch::Loongarch32,
                Arch::S390,
                Arch::Powerpc,
                Arch::Mips,
            ]
            .iter()
            .filter(|arch| !(machine.not_x86 && arch.is_x86()))
            .map(|arch| with(&|m| m.arch = Input::assumed(*arch, WHY)))
            .collect(),
            Self::Hypervisor => [
                None,
                Some(HypervisorKind::Kvm),
                Some(HypervisorKind::XenHvm),
                Some(HypervisorKind::XenPv),
                Some(HypervisorKind::Vmware),
                Some(HypervisorKind::Hyperv),
                Some(HypervisorKind::VirtualBox),
            ]
            .iter()
            .map(|kind| with(&|m| m.hypervisor = Input::assumed(kind.map(Hypervisor::named), WHY)))
            .collect(),
            Self::CpuVendor => [CpuVendor::Intel, CpuVendor::Amd]
                .iter()
                .map(|vendor| with(&|m| m.vendor = Input::assumed(*vendor, WHY)))
                .collect(),
            Self::StableBit => flag(|m, value| m.pvclock_stable = value),
            Self::ConstantTsc => flag(|m, value| m.constant_tsc = value),
            Self::NonstopTsc => flag(|m, value| m.nonstop_tsc = value),
            Self::TscAdjust => flag(|m, value| m.tsc_adjust = value),
            Self::Hpet => flag(|m, value| m.hpet = value),
            Self::PmTimer => flag(|m, value| m.pm_timer = value),
            Self::InvariantGrant => [false, true]
                .iter()
                .map(|granted| with(&|m| m.grant_invariant_tsc(*granted)))
                .collect(),
            Self::CounterTrapped => [None, Some("an erratum")]
                .iter()
                .map(|trapped| with(&|m| m.counter_trapped = trapped.map(str::to_owned)))
                .collect(),
            Self::DeviceTreeTimer => {
                [false, true].iter().map(|nulled| with(&|m| m.vdso_nulled = *nulled)).collect()
            }
            Self::TimeCsr => [None, Some("firmware")]
                .iter()
                .map(|by| with(&|m| m.time_csr_emulated = by.map(str::to_owned)))
                .collect(),
            Self::LogEnd | Self::Choice | Self::LostLine => Vec::new(),
            Self::PossibleCpus => number(|m, value| m.possible_cpus = value, &[1, 2]),
            Self::Packages => number(|m, value| m.packages = value, &[1, 2, 8]),
            Self::NumaNodes => number(|m, value| m.nodes = value, &[1, 4, 8]),
        }
    }
}

const WHY: &str = "one of the values that the evidence allows";

/// The answer to a question in all machines that the evidence allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer<T> {
    /// The answer, if it is the same for all machines.
    pub same: Option<T>,
    /// The inputs on which the answer depends, if it differs.
    pub depends_on: Vec<OpenInput>,
}

/// Answers a question for every machine that the evidence allows: with each open input changed alone,
/// and with each pair of them changed together.
pub fn ask<T: PartialEq>(machine: &Machine, question: impl Fn(&Machine) -> T) -> Answer<T> {
    ask_over(machine, &OpenInput::ALL, question)
}

/// Does the same with only the inputs that can matter to the question.
pub fn ask_over<T: PartialEq>(
    machine: &Machine,
    inputs: &[OpenInput],
    question: impl Fn(&Machine) -> T,
) -> Answer<T> {
    let base = question(machine);
    let open: Vec<OpenInput> = inputs.iter().copied().filter(|i| i.is_open(machine)).collect();
    let mut depends_on = Vec::new();
    let mut note = |input: OpenInput| {
        if !depends_on.contains(&input) {
            depends_on.push(input);
        }
    };
    for (index, first) in open.iter().enumerate() {
        for changed in first.worlds(machine) {
            if question(&changed) != base {
                note(*first);
                break;
            }
            // An input may matter only together with another one: the stable bit, once the version is one whose
            // vDSO reads the page.
            for second in open.iter().skip(index + 1) {
                let differs = |answers: &[T]| answers.windows(2).any(|pair| pair[0] != pair[1]);
                let answers: Vec<T> = second.worlds(&changed).iter().map(&question).collect();
                if differs(&answers) {
                    note(*second);
                    if answers.iter().all(|answer| *answer != base) {
                        note(*first);
                    }
                }
            }
        }
    }
    if depends_on.is_empty() {
        Answer { same: Some(base), depends_on }
    } else {
        Answer { same: None, depends_on }
    }
}

impl Machine {
    /// Whether an input was read or stated, rather than assumed.
    #[must_use]
    pub fn knows(&self, input: OpenInput) -> bool {
        !input.is_open(self)
    }

    /// Whether the evidence shows that this is an unprivileged Xen domain, or that it is not.
    #[must_use]
    pub fn knows_domain(&self) -> bool {
        !self.hypervisor.is_assumed()
            && self.hypervisor.value.as_ref().is_some_and(|hypervisor| !hypervisor.xen_dom0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vdso::serves;
    use clocksmith_facts::version::Version;
    use clocksmith_facts::{Facts, Origin};

    fn blank() -> Machine {
        Machine::of(&Facts::empty(Origin::Stated))
    }

    #[test]
    fn ask_kvm_clock_unknown_depends_on_version_and_stable_bit() {
        let mut machine = blank();
        machine.arch = Input::what_if(Arch::X86_64);
        let answer = ask(&machine, |m| serves(m, "kvm-clock"));
        assert_eq!(answer.same, None);
        assert_eq!(answer.depends_on, [OpenInput::KernelVersion, OpenInput::StableBit]);
        machine.set_kernel("5.15.0").unwrap();
        let answer = ask(&machine, |m| serves(m, "kvm-clock"));
        assert_eq!(answer.depends_on, [OpenInput::StableBit]);
        machine.set("stable_bit", "yes").unwrap();
        assert_eq!(ask(&machine, |m| serves(m, "kvm-clock")).same, Some(Some(true)));
    }

    #[test]
    fn ask_xen_old_wording_is_slow_in_every_world() {
        let mut machine = blank();
        machine.arch = Input::what_if(Arch::X86_64);
        machine.kernel_bounds = (None, Some(Version::new(3, 11, 0)));
        machine.kernel.value.version = Version::new(3, 10, 0);
        let answer = ask(&machine, |m| serves(m, "xen"));
        assert_eq!(answer.same, Some(Some(false)), "{:?}", answer.depends_on);
    }

    #[test]
    fn ask_slow_device_clock_is_slow_in_every_world() {
        for name in ["acpi_pm", "hpet"] {
            let answer = ask(&blank(), |m| serves(m, name).unwrap_or(false));
            assert_eq!(answer.same, Some(false), "{name}");
        }
    }
}
