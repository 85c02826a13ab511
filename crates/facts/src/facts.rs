//! The record of all known facts about one machine's clocks.

use crate::acpi::{HpetTable, PmTimer};
use crate::clockdev::{ClockeventDevice, ClocksourceDevice};
use crate::cmdline::CommandLine;
use crate::cpu::{CpuList, CpuModel, Flags};
use crate::cpuid::CpuidDump;
use crate::environment::Environment;
use crate::hypervisor::{Cloud, Hypervisor};
use crate::idle::Idle;
use crate::kconfig::KernelConfig;
use crate::log::KernelLog;
use crate::ntp::NtpState;
use crate::paste::Recognised;
use crate::symptom::Symptom;
use crate::vdso::VdsoImage;
use crate::verified::VerifyResult;
use crate::version::Kernel;
use crate::wall::WallClock;
use crate::{Fact, Missing};
use serde::Serialize;

/// The origin of a set of facts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// The machine that runs this program.
    Live,
    /// A directory that mirrors a machine's `/proc` and `/sys` (also an unpacked sosreport).
    Root(String),
    /// A bundle written by `collect`.
    Bundle(String),
    /// A kernel log alone.
    Log(String),
    /// Nothing was read: the facts were written by hand (what-if questions, tests).
    Stated,
}

/// The processor architecture of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Arch {
    /// 64-bit x86 kernel.
    X86_64,
    /// 32-bit x86 kernel.
    X86,
    /// 64-bit Arm.
    Arm64,
    /// 32-bit Arm.
    Arm,
    /// RISC-V, 64-bit.
    Riscv,
    /// RISC-V, 32-bit.
    Riscv32,
    /// IBM Z.
    S390,
    /// POWER.
    Powerpc,
    /// LoongArch, 64-bit.
    Loongarch,
    /// LoongArch, 32-bit.
    Loongarch32,
    /// MIPS.
    Mips,
    /// SPARC.
    Sparc,
    /// SuperH.
    Sh,
    /// User-mode Linux.
    Um,
    /// PA-RISC.
    Parisc,
    /// Alpha.
    Alpha,
    /// Motorola 68000.
    M68k,
    /// Itanium.
    Ia64,
    /// OpenRISC.
    Openrisc,
}

impl Arch {
    /// Parses the output of `uname -m` or the name of a directory in `arch/`.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name.trim() {
            "x86_64" | "amd64" => Self::X86_64,
            "x86" | "i386" | "i486" | "i586" | "i686" => Self::X86,
            "aarch64" | "arm64" => Self::Arm64,
            name if name.starts_with("arm") => Self::Arm,
            "riscv32" => Self::Riscv32,
            name if name.starts_with("riscv") => Self::Riscv,
            name if name.starts_with("s390") => Self::S390,
            name if name.starts_with("ppc") || name.starts_with("powerpc") => Self::Powerpc,
            name if name.starts_with("loongarch32") => Self::Loongarch32,
            name if name.starts_with("loongarch") => Self::Loongarch,
            name if name.starts_with("mips") => Self::Mips,
            name if name.starts_with("sparc") => Self::Sparc,
            "sh2" | "sh3" | "sh4" | "sh4a" | "sh4eb" => Self::Sh,
            "um" | "uml" => Self::Um,
            "parisc" | "parisc64" | "hppa" => Self::Parisc,
            "alpha" => Self::Alpha,
            "m68k" => Self::M68k,
            "ia64" => Self::Ia64,
            "openrisc" | "or1k" => Self::Openrisc,
            _ => return None,
        })
    }

    /// The same architecture with 32 bits, if the rules of the two widths differ and the clocksource has the same
    /// name.
    #[must_use]
    pub fn with_32_bits(self) -> Option<Self> {
        match self {
            Self::X86_64 => Some(Self::X86),
            Self::Riscv => Some(Self::Riscv32),
            Self::Loongarch => Some(Self::Loongarch32),
            _ => None,
        }
    }

    /// Whether the x86 rules apply.
    #[must_use]
    pub fn is_x86(self) -> bool {
        matches!(self, Self::X86_64 | Self::X86)
    }
}

/// The processors.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Cpu {
    /// Vendor, family, model and name of the first CPU.
    pub model: Fact<CpuModel>,
    /// Feature flags that the kernel shows in `/proc/cpuinfo` (of the first CPU).
    pub flags: Fact<Flags>,
    /// The list of flags may be truncated after the words about the TSC: missing flags of later words are open.
    #[serde(skip)]
    pub flags_cut: bool,
    /// Capabilities of the first CPU for guests, from the line `vmx flags`: Intel, since Linux 5.6.
    pub vmx_flags: Fact<Flags>,
    /// Flags that differ between CPUs, if any do.
    pub flag_differences: Vec<String>,
    /// Frequency that the kernel shows for the first CPU, in kHz; 0 means that the kernel found none.
    pub khz: Fact<u64>,
    /// TSC rate in kHz, measured by another CPU's delay loop, if there is one.
    pub measured_khz: Fact<u64>,
    /// Number of possible CPUs (hot-plug slots count).
    pub possible: Fact<u32>,
    /// CPUs that are online.
    pub online: Fact<CpuList>,
    /// Number of logical packages (sockets) that the kernel counts.
    pub packages: Fact<u32>,
    /// Number of online NUMA nodes.
    pub nodes: Fact<u32>,
}

/// All known facts about one machine's clocks.
#[derive(Clone, Debug, Serialize)]
pub struct Facts {
    /// The origin of these facts.
    pub origin: Origin,
    /// Processor architecture of the kernel.
    pub arch: Fact<Arch>,
    /// The architecture is known from a text that a 32-bit kernel of x86, RISC-V or LoongArch can print as well as a
    /// 64-bit one.
    #[serde(skip)]
    pub width_open: bool,
    /// Kernel version and builder.
    pub kernel: Fact<Kernel>,
    /// Kernel configuration.
    pub config: Fact<KernelConfig>,
    /// Kernel command line.
    pub cmdline: Fact<CommandLine>,
    /// Processors.
    pub cpu: Cpu,
    /// Raw CPUID leaves, per CPU.
    pub cpuid: Fact<CpuidDump>,
    /// The clocksource devices of sysfs, in order; only `clocksource0` is used.
    pub clocksources: Fact<Vec<ClocksourceDevice>>,
    /// The clockevent devices of sysfs.
    pub clockevents: Fact<Vec<ClockeventDevice>>,
    /// The ACPI HPET table; `None` inside means that it is known to be absent.
    pub hpet: Fact<Option<HpetTable>>,
    /// The ACPI PM timer; `None` inside means that it is known to be absent.
    pub pm_timer: Fact<Option<PmTimer>>,
    /// The FADT's low-power S0 idle flag.
    pub low_power_idle: Fact<bool>,
    /// The cpuidle driver and its deepest state.
    pub idle: Fact<Idle>,
    /// Whether the tick is one-shot (high resolution or NOHZ); `false` is a periodic tick.
    pub tick_oneshot: Fact<bool>,
    /// The hypervisor under which this kernel runs; `None` inside means bare metal.
    pub hypervisor: Fact<Option<Hypervisor>>,
    /// The cloud in which this machine is rented, where DMI shows it.
    pub cloud: Fact<Cloud>,
    /// DMI identification: vendor, product, firmware.
    pub dmi: Fact<String>,
    /// Container, WSL, gVisor.
    pub environment: Environment,
    /// State of the kernel's NTP discipline.
    pub ntp: Fact<NtpState>,
    /// The wall clock: the programs that keep it, and other clocks.
    pub wall: WallClock,
    /// The vDSO mapped into this process.
    pub vdso: Fact<VdsoImage>,
    /// The result of an earlier `verify` in this boot.
    pub verified: Fact<VerifyResult>,
    /// The kernel log.
    pub log: Fact<KernelLog>,
    /// Bit 8 of EDX of CPUID leaf 0x80000007, the invariant TSC, if a text shows only that leaf.
    #[serde(skip)]
    pub invariant_tsc: Fact<bool>,
    /// Statements of other programs about the cost of reading the time, in a pasted text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub symptoms: Vec<Symptom>,
    /// The recognised parts of a pasted text.
    #[serde(skip)]
    pub recognised: Option<Recognised>,
}

impl Facts {
    /// An empty record: every fact is missing, because none was read.
    #[must_use]
    pub fn empty(origin: Origin) -> Self {
        Self {
            origin,
            arch: Fact::default(),
            width_open: false,
            kernel: Fact::default(),
            config: Fact::default(),
            cmdline: Fact::default(),
            cpu: Cpu::default(),
            cpuid: Fact::default(),
            clocksources: Fact::default(),
            clockevents: Fact::default(),
            hpet: Fact::default(),
            pm_timer: Fact::default(),
            low_power_idle: Fact::default(),
            idle: Fact::default(),
            tick_oneshot: Fact::default(),
            hypervisor: Fact::default(),
            cloud: Fact::default(),
            dmi: Fact::default(),
            environment: Environment::default(),
            ntp: Fact::default(),
            wall: WallClock::default(),
            vdso: Fact::default(),
            verified: Fact::default(),
            log: Fact::default(),
            invariant_tsc: Fact::default(),
            symptoms: Vec::new(),
            recognised: None,
        }
    }

    /// The clocksource in use according to sysfs, with its source.
    #[must_use]
    pub fn current_clocksource(&self) -> Fact<&str> {
        // A transcript in a log is a line, not a directory.
        let file = |source: &crate::Source| {
            if source.0.ends_with("/clocksource") {
                format!("{source}/clocksource0/current_clocksource")
            } else {
                source.0.clone()
            }
        };
        match &self.clocksources {
            Fact::Known { value, source } => match value.first() {
                Some(device) if device.current.is_empty() => {
                    Fact::Missing(Missing::new(crate::Why::NotAsked, file(source)))
                }
                Some(device) => Fact::known(device.current.as_str(), file(source)),
                None => Fact::Missing(Missing::new(crate::Why::Absent, source.clone())),
            },
            Fact::Missing(missing) => Fact::Missing(missing.clone()),
        }
    }

    /// The available clocksources according to sysfs, best first.
    #[must_use]
    pub fn available_clocksources(&self) -> Option<&[String]> {
        let available = self.clocksources.value()?.first()?.available.as_slice();
        (!available.is_empty()).then_some(available)
    }

    /// The parsed kernel log, if there is one.
    #[must_use]
    pub fn kernel_log(&self) -> Option<&KernelLog> {
        self.log.value()
    }
}
