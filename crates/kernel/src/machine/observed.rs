//! Properties of this boot that the log shows and static facts do not: timers that failed, counters that trap, a TSC
//! that was marked unstable, the stable bit of a paravirtual clock.

use super::{Clusters, Machine, Observed};
use crate::feature::Feature;
use crate::{Input, arm, mips, x86};
use clocksmith_facts::Facts;
use clocksmith_facts::hypervisor::HypervisorKind;
use clocksmith_facts::log::event::UnstableReason;
use clocksmith_facts::log::{Event, KernelLog};
use clocksmith_facts::version::Version;

impl Machine {
    pub(super) fn observe(&mut self, facts: &Facts) {
        self.stable_bit(facts.kernel_log());
        let Some(log) = facts.kernel_log() else { return };
        let name = |entry| log.source(entry).0;
        if let Some((entry, text)) = log.last(|event| match event {
            Event::HpetDisabled(text) => Some(text.clone()),
            _ => None,
        }) {
            self.hpet_disabled = Some(format!("{text} [{}]", name(entry)));
        }
        self.apic_calibration_ms = log
            .last(|event| match event {
                Event::ApicCalibration { ms } => Some(*ms),
                _ => None,
            })
            .map(|(_, ms)| ms);
        self.pm_timer_bug = log.any(|e| matches!(e, Event::PmTimerChipsetBug));
        if let Some((entry, ())) =
            log.last(|e| matches!(e, Event::PmTimerBad | Event::PmTimerRate { .. }).then_some(()))
        {
            self.pm_timer = Input::read(false, log.source(entry));
        }
        if let Some((entry, ())) = log.first(|e| matches!(e, Event::TickNotOneshot).then_some(())) {
            self.highres_built = false;
            self.nohz_built = false;
            self.tick_stuck = Some(name(entry));
        }
        self.counter_trapped = log
            .first(|event| match event {
                Event::CounterTrapped => Some(()),
                Event::ArchTimerErratum(text) => arm::traps_counter(text).then_some(()),
                _ => None,
            })
            .map(|(entry, ())| name(entry));
        // The kernel prints it during boot, in a line that a search for clocksources does not find.
        self.counter_trapped_open = self.counter_trapped.is_none()
            && !(log.from_boot && log.extent.is_ordinary() && reaches_all_cpus(log));
        self.vdso_nulled_open = !self.vdso_reads_arm_counter(log);
        self.clusters = clusters(log);
        self.mips_count_readable = mips_count_readable(log);
        self.time_csr(log);
        self.xen_no_vdso = log
            .first(|event| match event {
                Event::XenClockNotice(text) if text.contains("PVCLOCK") => Some(()),
                _ => None,
            })
            .map(|(entry, ())| name(entry));
        let measured = self.arch.value.is_x86()
            && !self.arch.is_assumed()
            && Feature::DelayLoopFromTimer.of(&self.kernel.value);
        if let Some((entry, ())) =
            log.first(|event| matches!(event, Event::DelayLoop { measured: true }).then_some(()))
            && measured
            && self.no_frequency.is_none()
            && self.tsc.value
        {
            self.no_frequency = Some(format!(
                "the delay loop was measured, not computed from a timer frequency [{}]",
                name(entry)
            ));
        }
        // Only the first reason is printed, so the first one in the log decides.
        let marked = log.first(|event| match event {
            Event::TscUnstable(reason) => Some(reason.clone()),
            Event::WatchdogMarked { name, .. }
            | Event::WatchdogOld { name, .. }
            | Event::WatchdogVerdict { name, .. }
                if name.starts_with("tsc") =>
            {
                Some(UnstableReason::Watchdog)
            }
            _ => None,
        });
        self.observed = marked.map(|(entry, reason)| Observed { reason, source: name(entry) });
        // The kernel gives this reason only for a TSC that is not constant (`unsynchronized_tsc()`), so what-if
        // questions about this machine start with such a TSC.
        if let Some(Observed { reason: UnstableReason::Unsynchronized, source }) = &self.observed
            && self.constant_tsc.is_assumed()
        {
            self.constant_tsc = Input::read(false, source.clone());
        }
    }

    /// Whether the harts of RISC-V have a time CSR. OpenSBI prints that before the kernel's log, or the log names an
    /// extension that needs the CSR. The kernel does not print it: `__arch_get_hw_counter()` in
    /// arch/riscv/include/asm/vdso/gettimeofday.h reads the CSR in either case, and on harts without it the read traps
    /// into firmware (`sbi_emulate_csr_read()` in lib/sbi/sbi_emulate_csr.c of OpenSBI).
    ///
    /// OpenSBI tries the register and lists it as `time` (0.8 to 1.3), then as `zicntr`; since 1.7 that word also
    /// needs other registers (hart_detect_features() in lib/sbi/sbi_hart.c).
    fn time_csr(&mut self, log: &KernelLog) {
        let told = |wanted: bool| {
            log.last(move |event| match event {
                Event::HartExtensions { time, complete } if *time == wanted => Some(*complete),
                _ => None,
            })
        };
        if told(true).is_some() {
            self.time_csr_open = false;
            return;
        }
        let Some((entry, complete)) = told(false) else { return };
        let version = log.last(|event| match event {
            Event::OpenSbi(version) => Some(*version),
            _ => None,
        });
        if complete || version.is_some_and(|(_, version)| version < LISTS_MORE) {
            self.time_csr_open = false;
            self.time_csr_emulated = Some(log.source(entry).0);
        }
    }

    /// Whether the log shows that the vDSO of a 32-bit Arm kernel reads the architected counter.
    ///
    /// `cntvct_functional()` in `arch/arm/kernel/vdso.c` (4.1 and later) looks in the device tree for a timer with this
    /// name and for the property `arm,cpu-registers-not-fw-configured`, which disables the vDSO's functions. With that
    /// property `arch_timer_of_init()` in `drivers/clocksource/arm_arch_timer.c` (3.18 and later) uses the physical
    /// timer, so a virtual timer proves that the property is absent. A physical timer proves nothing: it is also used
    /// if the CPUs were started in HYP mode, with or without the property (the Raspberry Pi 4's device tree had it).
    fn vdso_reads_arm_counter(&self, log: &KernelLog) -> bool {
        let timer = log.last(|event| match event {
            Event::ArchTimer { virtual_timer, .. } => Some(*virtual_timer),
            _ => None,
        });
        let by_any_name = match self.kernel_bounds.0 {
            _ if !self.kernel.is_assumed() => Feature::ArmVdsoArmv8Timer.of(&self.kernel.value),
            Some(at_least) => Feature::ArmVdsoArmv8Timer.from(at_least),
            None => false,
        };
        // Parts from 0xd00 on are ARMv8.
        let is_v7 = log.any(|event| {
            matches!(event, Event::ArmProcessor { midr: Some(midr) } if arm::is_armv7_part(*midr))
        });
        matches!(timer, Some((_, Some(true)))) && (by_any_name || is_v7)
    }

    /// Sets the stable bit of a paravirtual clock from the log or from CPUID.
    ///
    /// Sources: `kvmclock_init()` and `kvm_sched_clock_init()` in `arch/x86/kernel/kvmclock.c` (since 4.2), which clear
    /// the stability of sched_clock without the bit, and up to 4.18 print the offset only with it;
    /// `sched_clock_init_late()` in `kernel/sched/clock.c` (since 4.13); `tracing_set_default_clock()` in
    /// `kernel/trace/trace.c`; `xen_setup_vsyscall_time_info()` in `arch/x86/xen/time.c` (since 4.15).
    fn stable_bit(&mut self, log: Option<&KernelLog>) {
        let Some(hypervisor) = &self.hypervisor.value else { return };
        let kind = x86::presented(hypervisor, &self.kernel.value);
        if kind == HypervisorKind::Kvm && hypervisor.kvm_stable_bit_offered() == Some(false) {
            self.pvclock_stable = Input::read(false, "cpuid 0x40000001 eax[24]");
            return;
        }
        let Some(log) = log else { return };
        let place = |entry| log.source(entry).0;
        let offset_tells =
            Feature::KvmOffsetShowsStableBit.of(&self.kernel.value) && !self.kernel.is_assumed();
        match kind {
            HypervisorKind::Kvm => {
                if let Some((entry, ())) = log.last(|event| match event {
                    Event::SchedClockStable => Some(()),
                    Event::KvmSchedOffset => offset_tells.then_some(()),
                    _ => None,
                }) {
                    self.pvclock_stable = Input::read(true, place(entry));
                } else if let Some((entry, ())) =
                    log.last(|event| matches!(event, Event::TraceClockGlobal).then_some(()))
                {
                    self.pvclock_stable = Input::read(false, place(entry));
                }
            }
            HypervisorKind::Xen
            | HypervisorKind::XenHvm
            | HypervisorKind::XenPv
            | HypervisorKind::XenPvh => {
                // A message shows that the vDSO is refused, because the page of this CPU could not be registered. The
                // absence of the message proves nothing: if the first page lacks the bit, xen_time_init() does not try
                // to register the page, and prints nothing (arch/x86/xen/time.c, 4.15 to 7.1).
                if let Some((entry, ())) = log.last(|event| match event {
                    Event::XenClockNotice(text) => text.contains("PVCLOCK").then_some(()),
                    _ => None,
                }) {
                    self.pvclock_stable = Input::read(false, place(entry));
                }
            }
            _ => {}
        }
    }
}

/// The first version of OpenSBI whose list may lack `zicntr` although the harts have a time CSR.
const LISTS_MORE: Version = Version::new(1, 7, 0);

/// The clusters that a log of MIPS shows.
///
/// `mips_cps_multicluster_cpus()` in arch/mips/include/asm/mips-cps.h checks whether the last possible processor is in
/// a cluster other than the first one. A kernel without that code, or one built for a single cluster, makes only the
/// processors of the first cluster possible (`cps_smp_setup()` in arch/mips/kernel/smp-cps.c).
fn clusters(log: &KernelLog) -> Clusters {
    let topology = log.last(|event| match event {
        Event::MipsTopology { clusters, first } => Some((*clusters, *first)),
        _ => None,
    });
    let ids = log.last(|event| match event {
        Event::CpuIds(ids) => Some(*ids),
        _ => None,
    });
    let up = log.last(|event| match event {
        Event::BroughtUp { cpus, .. } => Some(*cpus),
        _ => None,
    });
    let Some((_, (clusters, first))) = topology else {
        return if lacks_topology(log) { Clusters::One } else { Clusters::Unknown };
    };
    match (ids, up) {
        _ if clusters < 2 => Clusters::One,
        (Some((_, ids)), _) if ids <= first => Clusters::One,
        (Some(_), _) => Clusters::Used,
        (None, Some((_, cpus))) if cpus > first => Clusters::Used,
        // The processors of other clusters may have failed to start.
        (None, _) => Clusters::Several,
    }
}

/// Whether user space can read the counter of a MIPS processor.
///
/// `init_r4k_clocksource()` in arch/mips/kernel/csrc-r4k.c (4.4 to 7.1) gives the clocksource a vDSO mode on release 2 of
/// the architecture and later, unless a test of the instruction fails; the test prints a message then.
fn mips_count_readable(log: &KernelLog) -> Option<bool> {
    if log.any(|event| matches!(event, Event::MipsCounterBroken)) {
        return Some(false);
    }
    let (_, prid) = log.last(|event| match event {
        Event::MipsProcessor { prid } => Some(*prid),
        _ => None,
    })?;
    let would_show_failure = log.from_boot && log.extent.is_ordinary();
    match mips::has_release_2(prid) {
        Some(true) => would_show_failure.then_some(true),
        other => other,
    }
}

/// Whether a complete log lacks the line that counts the clusters: the kernel starts its processors by other code,
/// which supports one cluster.
fn lacks_topology(log: &KernelLog) -> bool {
    let alone = |event: &Event| matches!(event, Event::Banner(text) if !text.contains(" SMP "));
    let up = |event: &Event| matches!(event, Event::BroughtUp { .. });
    log.from_boot
        && log.extent.is_ordinary()
        && log.any(|event| matches!(event, Event::Banner(_)))
        && log.any(|event| alone(event) || up(event))
}

/// Whether a log extends beyond the point where all CPUs are up: the kernel chooses its clocksource after it.
fn reaches_all_cpus(log: &KernelLog) -> bool {
    log.extent.reaches_user_space
        || log.extent.reaches_login
        || log.any(|event| matches!(event, Event::Switched(_) | Event::UserSpace))
}
