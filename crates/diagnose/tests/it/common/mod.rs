//! A machine for tests: its facts, one call each.
#![allow(dead_code, missing_docs, unreachable_pub)]
#![allow(clippy::unwrap_used, clippy::panic)]

use clocksmith_diagnose::{Assessment, CauseId, Measured, Read, Remedy, Report, Severity, assess};
use clocksmith_facts::acpi::{HpetTable, PmTimer};
use clocksmith_facts::clockdev::ClocksourceDevice;
use clocksmith_facts::cmdline::CommandLine;
use clocksmith_facts::cpu::{CpuModel, CpuVendor, Flags};
use clocksmith_facts::cpuid::CpuidDump;
use clocksmith_facts::hypervisor::{Hypervisor, HypervisorKind};
use clocksmith_facts::log::KernelLog;
use clocksmith_facts::paste::{self, Pasted};
use clocksmith_facts::version::Kernel;
use clocksmith_facts::{Arch, Fact, Facts, Origin};
use clocksmith_kernel::{Expectation, Machine};

pub struct Story {
    facts: Facts,
}

pub struct Seen {
    pub machine: Machine,
    pub expectation: Expectation,
    pub report: Report,
}

/// The report on a text alone.
pub fn why(text: &str) -> Report {
    let log = KernelLog::scan(text.as_bytes(), "log").unwrap();
    assess(Facts::from_log(log), Measured::default()).report
}

/// The report on a pasted text: the kernel's lines, and the output of commands.
pub fn pasted(text: &str) -> Report {
    let mut log = KernelLog::scan(text.as_bytes(), "text").unwrap();
    let lines = paste::lines(text.as_bytes(), "text").unwrap();
    let read = Pasted::read(&lines, "text");
    read.take_over(&mut log);
    let mut facts = Facts::from_log(log);
    read.complete(&mut facts);
    assess(facts, Measured::default()).report
}

pub fn strings(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

impl Story {
    pub fn new(banner: &str) -> Self {
        let mut facts = Facts::empty(Origin::Stated);
        let kernel = Kernel::parse(banner).unwrap();
        let arch = if kernel.is_i686() { Arch::X86 } else { Arch::X86_64 };
        facts.arch = Fact::known(arch, "story");
        facts.kernel = Fact::known(kernel, "story");
        facts.cmdline = Fact::known(CommandLine::parse("ro quiet"), "/proc/cmdline");
        facts.cpu.packages = Fact::known(1, "story");
        facts.cpu.nodes = Fact::known(1, "story");
        Self { facts }
    }

    pub fn kernel(mut self, text: &str) -> Self {
        self.facts.kernel = Fact::known(Kernel::parse(text).unwrap(), "story");
        self
    }

    pub fn vendor(mut self, vendor: CpuVendor) -> Self {
        let model = CpuModel { vendor, family: 6, model: 0x2c, name: "story".to_owned() };
        self.facts.cpu.model = Fact::known(model, "/proc/cpuinfo");
        self
    }

    pub fn flags(mut self, flags: &str) -> Self {
        self.facts.cpu.flags = Fact::known(Flags::parse(flags), "/proc/cpuinfo");
        self
    }

    pub fn cpus(mut self, n: u32) -> Self {
        self.facts.cpu.possible = Fact::known(n, "/sys/devices/system/cpu/possible");
        self
    }

    pub fn packages(mut self, n: u32) -> Self {
        self.facts.cpu.packages = Fact::known(n, "/proc/cpuinfo");
        self
    }

    pub fn hypervisor(mut self, kind: HypervisorKind) -> Self {
        self.facts.hypervisor = Fact::known(Some(Hypervisor::named(kind)), "cpuid 0x40000000");
        self
    }

    /// The output of `cpuid -r`.
    pub fn cpuid(mut self, text: &str) -> Self {
        self.facts.cpuid = Fact::known(CpuidDump::parse(text).unwrap(), "cpuid");
        self
    }

    /// Half of the second CPU's BogoMIPS.
    pub fn measured_khz(mut self, khz: u64) -> Self {
        self.facts.cpu.measured_khz = Fact::known(khz, "/proc/cpuinfo bogomips");
        self
    }

    pub fn presents(mut self, hypervisor: Hypervisor) -> Self {
        self.facts.hypervisor = Fact::known(Some(hypervisor), "cpuid 0x40000000");
        self
    }

    pub fn bare_metal(mut self) -> Self {
        self.facts.hypervisor = Fact::known(None, "cpuid 0x1 ecx");
        self
    }

    pub fn hpet(mut self, there: bool) -> Self {
        let table = there.then_some(HpetTable { base: Some(0xfed0_0000), hz: None });
        self.facts.hpet = Fact::known(table, "ACPI HPET");
        self
    }

    pub fn pm_timer(mut self, there: bool) -> Self {
        let timer = there.then_some(PmTimer { port: 0x408, bits32: None });
        self.facts.pm_timer = Fact::known(timer, "ACPI FACP");
        self
    }

    pub fn cmdline(mut self, line: &str) -> Self {
        self.facts.cmdline = Fact::known(CommandLine::parse(line), "/proc/cmdline");
        self
    }

    pub fn sysfs(mut self, current: &str, available: &[&str]) -> Self {
        let device = ClocksourceDevice {
            index: 0,
            current: current.to_owned(),
            available: strings(available),
        };
        self.facts.clocksources = Fact::known(vec![device], "/sys/devices/system/clocksource");
        self
    }

    pub fn log(mut self, text: &str) -> Self {
        let log = KernelLog::scan(text.as_bytes(), "dmesg").unwrap();
        self.facts.log = Fact::known(log, "dmesg");
        self
    }

    pub fn diagnose(self) -> Seen {
        self.diagnose_with(Vec::new())
    }

    pub fn diagnose_with(self, reads: Vec<Read>) -> Seen {
        let Assessment { machine, expectation, report, .. } =
            assess(self.facts, Measured { reads, counter_ns: None });
        Seen { machine, expectation, report }
    }
}

impl Seen {
    pub fn available(&self) -> Vec<String> {
        self.expectation.available.clone().unwrap()
    }

    pub fn has_cause(&self, id: CauseId) {
        let ids: Vec<_> = self.report.causes.iter().map(|c| c.id).collect();
        assert!(ids.contains(&id), "{id:?} is not among {ids:?}");
    }

    pub fn remedy(&self, id: &str) -> &Remedy {
        self.report
            .remedies
            .iter()
            .find(|r| r.id == id)
            .unwrap_or_else(|| panic!("{id} is not among {:?}", self.report.remedies))
    }

    /// Asserts that the remedy is advised, not refused, and returns it.
    pub fn advises(&self, id: &str) -> &Remedy {
        let remedy = self.remedy(id);
        assert_eq!(remedy.refused_because, None);
        remedy
    }

    /// Asserts that no cause is graver than `info`.
    pub fn is_calm(&self) {
        for cause in &self.report.causes {
            assert_eq!(cause.severity, Severity::Info, "{cause:?}");
        }
    }
}
