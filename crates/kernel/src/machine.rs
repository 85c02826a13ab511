//! The model's input: one machine, with the basis of each value.

mod observed;

use crate::feature::{self, Feature};
use crate::open::OpenInput;
use crate::processor;
use crate::{Assumed, Input};
use clocksmith_facts::cmdline::CommandLine;
use clocksmith_facts::cpu::CpuVendor;
use clocksmith_facts::hypervisor::{Hypervisor, HypervisorKind, names_guest};
use clocksmith_facts::log::event::UnstableReason;
use clocksmith_facts::log::{Event, KernelLog};
use clocksmith_facts::version::{Kernel, Vendor, Version};
use clocksmith_facts::{Arch, Fact, Facts, names};

/// An event on this machine that was observed and cannot be derived from static facts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// The kernel's reason for marking the TSC unstable.
    pub reason: UnstableReason,
    /// The source of the reason.
    pub source: String,
}

/// The clusters of a MIPS machine, each with its own GIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clusters {
    /// The evidence does not show the number of clusters.
    Unknown,
    /// The processors that the kernel may use are in one cluster.
    One,
    /// There are several; the evidence does not show whether the kernel uses more than the first one.
    Several,
    /// The processors that the kernel may use are in several clusters, and the kernel has the code for that.
    Used,
}

/// One machine, as the model sees it.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Architecture of the kernel.
    pub arch: Input<Arch>,
    /// The architecture is x86, RISC-V or LoongArch, 32-bit or 64-bit: the evidence does not show
    /// which.
    pub width_open: bool,
    /// The evidence shows a clocksource that x86 does not have, and not which architecture it is.
    pub not_x86: bool,
    /// Kernel version.
    pub kernel: Input<Kernel>,
    /// Command line.
    pub cmdline: Input<CommandLine>,
    /// CPU vendor.
    pub vendor: Input<CpuVendor>,
    /// CPU family and model, where known.
    pub model: Option<(u32, u32)>,
    /// The CPU has a TSC (`tsc` flag).
    pub tsc: Input<bool>,
    /// `constant_tsc`, before any hypervisor code forces it.
    pub constant_tsc: Input<bool>,
    /// `nonstop_tsc`.
    pub nonstop_tsc: Input<bool>,
    /// `tsc_adjust`.
    pub tsc_adjust: Input<bool>,
    /// `tsc_reliable` as the kernel shows it (it is synthetic).
    pub tsc_reliable_flag: bool,
    /// The CPU shows no local APIC (`apic` flag), or the kernel has turned it off.
    pub no_local_apic: bool,
    /// Number of possible CPUs, before the command line lowers it.
    pub possible_cpus: Input<u32>,
    /// Logical packages.
    pub packages: Input<u32>,
    /// NUMA nodes.
    pub nodes: Input<u32>,
    /// The hypervisor; `None` is bare metal.
    pub hypervisor: Input<Option<Hypervisor>>,
    /// A usable HPET is described by firmware.
    pub hpet: Input<bool>,
    /// The kernel disabled the HPET; the source of that.
    pub hpet_disabled: Option<String>,
    /// A PM timer is described by firmware.
    pub pm_timer: Input<bool>,
    /// The chipset has the PM timer bug.
    pub pm_timer_bug: bool,
    /// The TSC was seen to be marked unstable for a reason that static facts do not show.
    pub observed: Option<Observed>,
    /// Arm: the counter is trapped by an erratum workaround; the source in the log.
    pub counter_trapped: Option<String>,
    /// Arm: the evidence does not show whether the counter is trapped.
    pub counter_trapped_open: bool,
    /// 32-bit Arm: the kernel removes the functions from its vDSO, because the device tree states that firmware did not
    /// set the registers of the timer, or names the timer differently from the name that this kernel's vDSO looks for.
    pub vdso_nulled: bool,
    /// 32-bit Arm: the evidence does not show whether the kernel removes them.
    pub vdso_nulled_open: bool,
    /// RISC-V: firmware emulates the time CSR, so that each read of it traps; the source of that.
    pub time_csr_emulated: Option<String>,
    /// RISC-V: the evidence does not show whether firmware emulates the time CSR.
    pub time_csr_open: bool,
    /// MIPS: the clusters of processors.
    pub clusters: Clusters,
    /// MIPS: whether user space can read the processor's own counter; `None` if the evidence does not show it.
    pub mips_count_readable: Option<bool>,
    /// The source of a message that Xen's clock has no vDSO mode.
    pub xen_no_vdso: Option<String>,
    /// The host sets the stable bit in the page of its paravirtual clock (`PVCLOCK_TSC_STABLE_BIT`), so that the
    /// vDSO may read kvm-clock or xen.
    pub pvclock_stable: Input<bool>,
    /// The bounds of the kernel's version that the wording of the log proves: at least, and below.
    pub kernel_bounds: (Option<Version>, Option<Version>),
    /// The PM timer's I/O port as firmware states it, where known.
    pub pm_timer_port: Option<u64>,
    /// The kernel found no TSC frequency; the source of that.
    pub no_frequency: Option<String>,
    /// Duration by the PM timer, in ms, of 100 ms by the TSC, where the kernel found that they differ.
    pub apic_calibration_ms: Option<u64>,
    /// TSC frequency in kHz, where known from a source other than the command line.
    pub tsc_khz: Option<u64>,
    /// The kernel could not make the tick one-shot; the source of that.
    pub tick_stuck: Option<String>,
    /// High-resolution timers are built in.
    pub highres_built: bool,
    /// NOHZ is built in.
    pub nohz_built: bool,
}

impl Machine {
    /// Whether the kernel lists its clocksources by rating, so that the first one is the one it would choose. Up to 2.6.20
    /// they are in the order of registration. A list with jiffies before a clocksource other than the TSC, whose rating
    /// may have fallen to 0, shows that order.
    #[must_use]
    pub fn lists_by_rating(&self, available: &[String]) -> bool {
        let behind = available.iter().skip_while(|name| !name.contains("jiffies"));
        let shows_other =
            behind.skip(1).any(|name| !name.starts_with("tsc") && !name.contains("jiffies"));
        let versions = match (self.kernel.is_assumed(), self.kernel_bounds) {
            (false, _) => Feature::SortedList.of(&self.kernel.value),
            // Only kernels of these years print these messages.
            (true, (at_least, Some(below))) if below <= Version::new(2, 6, 28) => {
                at_least.is_some_and(|least| Feature::SortedList.from(least))
            }
            _ => true,
        };
        versions && !shows_other
    }

    /// The machine described by a record of facts.
    #[must_use]
    pub fn of(facts: &Facts) -> Self {
        let not_x86 = !facts.arch.is_known() && shows_foreign_clocksource(facts);
        let (usual, why) = if not_x86 {
            (Arch::Arm64, "the most common one with a clocksource that x86 does not have")
        } else {
            (Arch::X86_64, "the most common one")
        };
        let arch = Input::of(&facts.arch, |a| *a, usual, why);
        let bounds = bounds(facts);
        let kernel = Input::of(&facts.kernel, Clone::clone, recent(bounds), why_recent(bounds));
        // A kernel that prints this message has ignored `notsc`.
        let refused =
            facts.kernel_log().is_some_and(|log| log.any(|e| matches!(e, Event::NotscRefused)));
        let heeded = |line: &CommandLine| {
            if refused { line.without("notsc") } else { line.clone() }
        };
        let cmdline = Input::of(
            &facts.cmdline,
            heeded,
            CommandLine::default(),
            "no parameter that concerns clocks",
        );
        let mut machine = Self::plain(arch, kernel, cmdline);
        machine.kernel_bounds = bounds;
        machine.width_open = facts.width_open;
        machine.not_x86 = not_x86;
        machine.cpu(facts);
        machine.platform(facts);
        machine.adjust();
        machine.invariant(facts.cpu.model.value().map(|model| model.name.as_str()));
        machine.observe(facts);
        machine
    }

    /// A machine with only these inputs known.
    fn plain(arch: Input<Arch>, kernel: Input<Kernel>, cmdline: Input<CommandLine>) -> Self {
        Self {
            arch,
            width_open: false,
            not_x86: false,
            kernel,
            cmdline,
            vendor: Input::assumed(CpuVendor::Intel, "the most common one"),
            model: None,
            tsc: Input::assumed(true, "every x86 processor since 1993 has one"),
            constant_tsc: Input::assumed(true, "processors since about 2008 have it"),
            nonstop_tsc: Input::assumed(true, "processors since about 2008 have it"),
            tsc_adjust: Input::assumed(true, "processors since about 2013 have it"),
            tsc_reliable_flag: false,
            no_local_apic: false,
            possible_cpus: Input::assumed(2, "more than one is usual"),
            packages: Input::assumed(1, "one package is usual"),
            nodes: Input::assumed(1, "one node is usual"),
            hypervisor: Input::assumed(None, "no sign of a hypervisor"),
            hpet: Input::assumed(true, "most PCs describe one"),
            hpet_disabled: None,
            pm_timer: Input::assumed(true, "nearly all PCs have one"),
            pm_timer_bug: false,
            observed: None,
            counter_trapped: None,
            counter_trapped_open: true,
            vdso_nulled: false,
            vdso_nulled_open: true,
            time_csr_emulated: None,
            time_csr_open: true,
            clusters: Clusters::Unknown,
            mips_count_readable: None,
            xen_no_vdso: None,
            pvclock_stable: Input::assumed(true, "hosts that run on their own TSC set it"),
            kernel_bounds: (None, None),
            pm_timer_port: None,
            no_frequency: None,
            apic_calibration_ms: None,
            tsc_khz: None,
            tick_stuck: None,
            highres_built: true,
            nohz_built: true,
        }
    }

    fn cpu(&mut self, facts: &Facts) {
        if let Fact::Known { value: model, source } = &facts.cpu.model {
            self.vendor = Input::read(model.vendor, source.clone());
            self.model = Some((model.family, model.model));
            let counted = facts.kernel_log().is_some_and(|log| {
                log.any(|event| matches!(event, Event::Detected { .. } | Event::Refined { .. }))
            });
            if processor::has_no_tsc(model) && !counted {
                self.tsc = Input::read(false, source.clone());
            }
        }
        if let Fact::Known { value: flags, source } = &facts.cpu.flags {
            let flag = |name: &str| Input::read(flags.has(name), format!("{source} flags"));
            self.tsc = flag("tsc");
            self.constant_tsc = flag("constant_tsc");
            self.nonstop_tsc = flag("nonstop_tsc");
            if flags.has("tsc_adjust") || !facts.cpu.flags_cut {
                self.tsc_adjust = flag("tsc_adjust");
            }
            self.before_clearing(facts);
            self.tsc_reliable_flag = flags.has("tsc_reliable");
            // A pasted list of very few flags does not show whether the CPU has an APIC.
            self.no_local_apic = flags.has("fpu") && !flags.has("apic");
        } else if let Fact::Known { value: dump, source } = &facts.cpuid
            && dump.cpus.values().next().is_some_and(|leaves| !leaves.is_empty())
        {
            // The accessors check the highest leaf: dumps repeat others beyond it.
            let invariant = dump.invariant_tsc().unwrap_or(false);
            let at = |place: &str| format!("{source} {place}");
            self.tsc = Input::read(dump.tsc().unwrap_or(false), at("0x1 edx[4]"));
            self.constant_tsc = Input::read(invariant, at("0x80000007 edx[8]"));
            self.nonstop_tsc = Input::read(invariant, at("0x80000007 edx[8]"));
            self.tsc_adjust = Input::read(dump.tsc_adjust().unwrap_or(false), at("0x7 ebx[1]"));
        }
        if let Fact::Known { value: 0, source } = &facts.cpu.khz {
            self.no_frequency = Some(format!("cpu MHz is 0 [{source}]"));
        }
        // Half of the second CPU's BogoMIPS is the TSC's rate, to a few percent, if that CPU's delay loop was
        // measured: with a constant TSC the kernel copies the first CPU's figure, which follows from the frequency that
        // it assumes (`calibrate_delay_is_known()` in arch/x86/kernel/tsc.c, since 3.1).
        let copied = self.constant_tsc.value && !self.constant_tsc.is_assumed();
        self.tsc_khz =
            facts.cpu.measured_khz.value().copied().filter(|khz| *khz > 100_000 && !copied);
        if let Fact::Known { value, source } = &facts.cpu.possible {
            self.possible_cpus = Input::read(*value, source.clone());
        } else if let Fact::Known { value, source } = &facts.cpu.online {
            self.possible_cpus = Input::assumed(
                value.count().max(1),
                format!("as many as are online [{source}]; hot-plug slots would count too"),
            );
        }
        if let Fact::Known { value, source } = &facts.cpu.packages {
            self.packages = Input::read((*value).max(1), source.clone());
        }
        if let Fact::Known { value, source } = &facts.cpu.nodes {
            self.nodes = Input::read((*value).max(1), source.clone());
        }
    }

    /// `clearcpuid=` removes `constant_tsc` and `nonstop_tsc` from the flags in `/proc/cpuinfo`, and not from those
    /// that the clock code uses: `early_init_amd()` and similar functions set the flags from CPUID after the option was
    /// read, and only `identify_cpu()` clears them again, after `kvmclock_init()` and `tsc_init()`. Source:
    /// `apply_forced_caps()` in `arch/x86/kernel/cpu/common.c`, seen with 6.1.
    fn before_clearing(&mut self, facts: &Facts) {
        let Fact::Known { value: dump, source } = &facts.cpuid else { return };
        let early = matches!(
            self.vendor.value,
            CpuVendor::Intel | CpuVendor::Amd | CpuVendor::Hygon | CpuVendor::Zhaoxin
        );
        if !early || dump.invariant_tsc() != Some(true) {
            return;
        }
        let seen = || Input::read(true, format!("{source} 0x80000007 edx[8]"));
        if self.clears_cpuid("constant_tsc", 3 * 32 + 8) {
            self.constant_tsc = seen();
        }
        if self.clears_cpuid("nonstop_tsc", 3 * 32 + 24) {
            self.nonstop_tsc = seen();
        }
    }

    fn platform(&mut self, facts: &Facts) {
        let named = facts.dmi.value().is_some_and(|text| names_guest(text));
        let why = if named {
            "the firmware's name is that of a virtual machine, and nothing shows which hypervisor \
             it has"
        } else if facts.cpu.flags.value().is_some_and(|flags| flags.has("hypervisor")) {
            "the flag hypervisor shows a guest, and nothing shows which hypervisor it has"
        } else if facts.recognised.as_ref().is_some_and(|read| read.names_guest) {
            "the text names a cloud or a hypervisor, and no reading shows whether this machine is a guest"
        } else {
            "no sign of a hypervisor"
        };
        self.hypervisor = Input::of(&facts.hypervisor, Clone::clone, None, why);
        let off = self.cmdline.value.last("acpi") == Some("off");
        let unseen = "acpi=off: this kernel does not check whether firmware describes one";
        let (hpet, pm_timer) = if off {
            (unseen, unseen)
        } else {
            ("most PCs describe one", "nearly all PCs have one")
        };
        self.hpet = Input::of(&facts.hpet, Option::is_some, true, hpet);
        self.pm_timer = Input::of(&facts.pm_timer, Option::is_some, true, pm_timer);
        let timer = facts.pm_timer.value().and_then(Option::as_ref);
        self.not_listed(facts);
        self.pm_timer_port = timer.map(|timer| timer.port).filter(|port| *port != 0);
        // A guest whose firmware tables are not in the evidence: paravirtual clouds usually hide the HPET.
        let silent = |log: &KernelLog| log.reaches_past_acpi() && !log.lists_acpi_tables();
        if !off && facts.kernel_log().is_some_and(silent) {
            let why = "this log has the beginning of the boot, but no line about ACPI tables";
            for timer in [&mut self.hpet, &mut self.pm_timer] {
                if timer.is_assumed() {
                    *timer = Input::assumed(false, why);
                }
            }
        }
        if let (Some(hypervisor), true) = (&self.hypervisor.value, self.hpet.is_assumed()) {
            let absent = matches!(hypervisor.kind, HypervisorKind::Hyperv | HypervisorKind::Kvm);
            if absent {
                self.hpet = Input::assumed(false, "most clouds on this hypervisor hide it");
            }
        }
        if let Some(config) = facts.config.value()
            && !config.is_empty()
        {
            self.highres_built = config.enabled("HIGH_RES_TIMERS");
            self.nohz_built = config.enabled("NO_HZ_COMMON") || config.enabled("NO_HZ");
        } else if self.arch.value == Arch::S390 {
            // Distributions build s390x kernels with HZ_PERIODIC: `nohz=` is an unknown parameter.
            self.nohz_built = false;
        }
    }

    /// If a list of clocksources has neither the HPET nor the PM timer, firmware is not assumed to describe them.
    fn not_listed(&mut self, facts: &Facts) {
        let Some(list) = facts.available_clocksources() else { return };
        if !list
            .iter()
            .any(|name| matches!(name.as_str(), "tsc" | "acpi_pm" | "hpet" | "kvm-clock"))
        {
            return;
        }
        let why = "available_clocksource does not list it";
        for (timer, name) in [(&mut self.hpet, "hpet"), (&mut self.pm_timer, "acpi_pm")] {
            if timer.is_assumed() && timer.value && !list.iter().any(|listed| listed == name) {
                *timer = Input::assumed(false, why);
            }
        }
    }

    /// Processors without a TSC_ADJUST register. A hypervisor may emulate the register on any processor, or hide it, so
    /// the processor that a guest sees does not decide it.
    fn adjust(&mut self) {
        if !self.tsc_adjust.is_assumed() {
            return;
        }
        if self.hypervisor.value.is_some() {
            let why = "a guest has it only where its hypervisor emulates it";
            self.tsc_adjust = Input::assumed(false, why);
        }
        if !self.is_model_without_tsc_adjust() {
            return;
        }
        // The list of these processors was not checked against a primary source, so a result that depends on it stays
        // open.
        let why = "processors of this family and model have none; a hypervisor may emulate it";
        self.tsc_adjust = Input::assumed(false, why);
    }

    /// Whether the processor is one that has no TSC_ADJUST register, as far as its family and model show.
    #[must_use]
    pub fn lacks_tsc_adjust(&self) -> bool {
        !self.tsc_adjust.value && self.is_model_without_tsc_adjust()
    }

    fn is_model_without_tsc_adjust(&self) -> bool {
        let lacks =
            |(family, model)| processor::has_no_tsc_adjust(self.vendor.value, family, model);
        self.model.is_some_and(lacks)
    }

    /// Processors without a constant or a nonstop TSC, and the QEMU models that do not show the flags. A hypervisor may
    /// add them.
    fn invariant(&mut self, name: Option<&str>) {
        let emulated = name.is_some_and(processor::is_model_of_qemu);
        let why = |of_qemu| {
            if of_qemu {
                "this CPU model of QEMU shows no invariant TSC unless the host adds it"
            } else {
                "processors of this family and model have none"
            }
        };
        let vendor = self.vendor.value;
        let known = self.model.is_some() && !self.vendor.is_assumed();
        let varies = known && processor::may_change_rate(vendor, self.model);
        let halts = known && processor::may_halt_in_idle(vendor, self.model);
        if self.constant_tsc.is_assumed() && (emulated || varies) {
            self.constant_tsc = Input::assumed(false, why(emulated));
        }
        if self.nonstop_tsc.is_assumed() && (emulated || halts) {
            self.nonstop_tsc = Input::assumed(false, why(emulated));
        }
    }

    /// Returns the assumed inputs, for the output.
    #[must_use]
    pub fn assumptions(&self) -> Vec<Assumed> {
        let mut all = Vec::new();
        fn note<T>(all: &mut Vec<Assumed>, name: &str, input: &Input<T>, value: String) {
            if let crate::Basis::Assumed(why) = &input.basis {
                all.push(Assumed { fact: name.to_owned(), value, why: why.clone() });
            }
        }
        note(&mut all, "architecture", &self.arch, format!("{:?}", self.arch.value).to_lowercase());
        note(&mut all, "kernel version", &self.kernel, self.kernel.value.version.to_string());
        // The text may be long, and this function runs for each of many worlds.
        if self.cmdline.is_assumed() {
            note(&mut all, "command line", &self.cmdline, self.cmdline.value.text());
        }
        if !self.arch.value.is_x86() {
            return all;
        }
        note(&mut all, "CPU vendor", &self.vendor, self.vendor.value.to_string());
        note(&mut all, "tsc", &self.tsc, self.tsc.value.to_string());
        note(&mut all, "constant_tsc", &self.constant_tsc, self.constant_tsc.value.to_string());
        note(&mut all, "nonstop_tsc", &self.nonstop_tsc, self.nonstop_tsc.value.to_string());
        note(&mut all, "tsc_adjust", &self.tsc_adjust, self.tsc_adjust.value.to_string());
        note(&mut all, "possible CPUs", &self.possible_cpus, self.possible_cpus.value.to_string());
        note(&mut all, "packages", &self.packages, self.packages.value.to_string());
        note(&mut all, "NUMA nodes", &self.nodes, self.nodes.value.to_string());
        let hypervisor = self.hypervisor.value.as_ref().map_or("none", |h| h.kind.name());
        note(&mut all, "hypervisor", &self.hypervisor, hypervisor.to_owned());
        note(&mut all, "HPET", &self.hpet, self.hpet.value.to_string());
        note(&mut all, "PM timer", &self.pm_timer, self.pm_timer.value.to_string());
        if !self.knows(OpenInput::InvariantGrant) {
            all.push(Assumed {
                fact: "Hyper-V's grant of the invariant TSC".to_owned(),
                value: "false".to_owned(),
                why: "many hosts do not grant it".to_owned(),
            });
        }
        let pvclock = self.hypervisor.value.as_ref().is_some_and(|h| {
            matches!(
                h.kind,
                HypervisorKind::Kvm
                    | HypervisorKind::Xen
                    | HypervisorKind::XenHvm
                    | HypervisorKind::XenPv
                    | HypervisorKind::XenPvh
            )
        });
        if pvclock {
            let bit = &self.pvclock_stable;
            note(&mut all, "the host's stable bit", bit, bit.value.to_string());
        }
        all
    }
}

/// Whether a log or sysfs names a clocksource that x86 does not have, and none that x86 has.
fn shows_foreign_clocksource(facts: &Facts) -> bool {
    let mut foreign = false;
    let mut own = false;
    let mut see = |name: &str| match names::find(name) {
        _ if name.contains("jiffies") => {}
        Some(known) if known.x86 => own = true,
        Some(_) => foreign = true,
        None => foreign |= names::is_known(name),
    };
    if let Some(log) = facts.kernel_log() {
        for entry in &log.entries {
            match &entry.event {
                Event::Registered { name, .. }
                | Event::Switched(name)
                | Event::WatchdogMarked { name, .. }
                | Event::WatchdogOld { name, .. }
                | Event::WatchdogVerdict { name, .. } => see(name),
                _ => {}
            }
        }
    }
    if let Fact::Known { value, .. } = facts.current_clocksource() {
        see(value);
    }
    foreign && !own
}

/// The bounds of the version that the wording of the log proves.
fn bounds(facts: &Facts) -> (Option<Version>, Option<Version>) {
    let Some(log) = facts.kernel_log() else { return (None, None) };
    let bounds = log.version_bounds();
    (bounds.at_least.map(|(version, _)| version), bounds.below.map(|(version, _)| version))
}

/// The reason for the assumed version.
fn why_recent(bounds: (Option<Version>, Option<Version>)) -> &'static str {
    if recent(bounds).version == USUAL {
        "a recent kernel"
    } else {
        "the newest whose rules differ, of those that the words and the date of the log allow"
    }
}

/// The version that is assumed if the evidence shows none.
const USUAL: Version = Version::new(6, 12, 0);

/// The kernel that is assumed if its version is unknown: the usual one, or the newest that the bounds allow.
fn recent((at_least, below): (Option<Version>, Option<Version>)) -> Kernel {
    let usual = USUAL;
    let allowed = |version: &Version| {
        at_least.is_none_or(|least| *version >= least) && below.is_none_or(|end| *version < end)
    };
    let version = if allowed(&usual) {
        usual
    } else {
        feature::borders().into_iter().rev().find(allowed).or(at_least).unwrap_or(usual)
    };
    Kernel { version, release: version.to_string(), vendor: Vendor::Unknown }
}
