//! The events about clocks in a kernel log.

mod reason;

pub use reason::UnstableReason;

use crate::Arch;
use crate::hypervisor::HypervisorKind;
use crate::version::Version;
use serde::Serialize;

/// The reason why an override was not accepted at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Refusal {
    /// 4.9+: `is unstable and not HRT compatible`: refused for good.
    Unstable,
    /// up to 4.8: `is not HRT compatible`: refused for good.
    NotHres,
    /// 4.9+: `is not currently HRT compatible - deferring`: kept until verified.
    Deferred,
}

/// The clock of a watchdog detail line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The reference.
    Watchdog,
    /// The clocksource under test.
    Clocksource,
}

/// The method by which the TSC frequency was calibrated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Calibration {
    /// `Fast TSC calibration using PIT`.
    FastPit,
    /// `Fast TSC calibration failed`: a slower method follows.
    FastPitFailed,
    /// `Unable to calibrate against PIT`.
    NoPit,
    /// `No reference (HPET/PMTIMER) available`.
    NoReference,
    /// `HPET/PMTIMER calibration failed`.
    ReferenceFailed,
    /// `using HPET reference calibration` or `PIT calibration matches HPET`.
    Hpet,
    /// `using PMTIMER reference calibration` or `PIT calibration matches PMTIMER`.
    PmTimer,
    /// `Using PIT calibration value`.
    Pit,
    /// `PIT calibration deviates from ...`.
    Deviates,
}

/// Changes of the TSC_ADJUST register by firmware or the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TscAdjust {
    /// `TSC ADJUST: CPU0: N force to 0`: firmware left a value; the kernel cleared it.
    Forced,
    /// `TSC ADJUST differs: CPUn a --> b. Restoring`: it was written later; the kernel restored it.
    Restored,
    /// `TSC ADJUST differs within socket(s)`, `differs: Reference CPU...`: repaired at boot.
    DiffersInSocket,
    /// `TSC ADJUST compensate: ...`: adjusted for a warp between packages.
    Compensated,
    /// Another message about the register.
    Other,
}

/// A message of an old kernel about missing ticks: up to 2.6.17, with 64 bits up to 2.6.20.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LostTicks {
    /// `time.c: Lost N timer tick(s)!`, with the parameter `report_lost_ticks`.
    Counted(u64),
    /// `Losing some ticks... checking if CPU frequency changed.`
    Some,
    /// `warning: many lost ticks.`: a thousand since the boot.
    Many,
    /// `Losing too many ticks!`: 32 bits; the kernel stops using the TSC as time source.
    TooMany,
}

/// One message of the kernel (or one reading in a transcript) that concerns clocks.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Event {
    /// `Linux version ...`, without those two words.
    Banner(String),
    /// `Command line: ...` or `Kernel command line: ...`.
    CommandLine(String),
    /// `Hypervisor detected: NAME`.
    Hypervisor(HypervisorKind),
    /// `Booting paravirtualized kernel on NAME`.
    Paravirt(String),
    /// `DMI: ...`.
    Dmi(String),
    /// Hyper-V's `privilege flags low 0x...` (older: `features 0x...`).
    HypervPrivileges(u32),
    /// VMware's `TSC freq read from hypervisor`, in kHz.
    VmwareTscKhz(u64),
    /// `kvm-clock: Using msrs ...`.
    KvmClock,
    /// `kvm-clock: using sched offset of N cycles`: up to 4.18 printed only if the host sets the stable bit.
    KvmSchedOffset,
    /// A Xen message about its clock that disables the vDSO or the pv timer.
    XenClockNotice(String),
    /// `Allowing N CPUs`, possible CPUs with hot-plug slots.
    PossibleCpus(u32),
    /// `Max logical packages: N`.
    Packages(u32),
    /// `CPU0: NAME (family: 0x.., model: 0x.., ...)`.
    CpuModel {
        /// Marketing name.
        name: String,
        /// Family as Linux shows it.
        family: u32,
        /// Model as Linux shows it.
        model: u32,
    },
    /// A feature that no x86 processor has whose TSC stops in deep idle states: AVX (`x86/fpu: Supporting XSAVE feature
    /// 0x004: 'AVX registers'`), the deadline mode of the local APIC's timer, a P-state driver of Intel.
    RecentProcessor,
    /// `Reserving 2KB of memory at 0x... for elfcorehdr`: this kernel saves the memory of a crashed one.
    ElfCoreHeader,
    /// `ACPI: RSDP 0x...` or `ACPI: FACP 0x...`: the kernel lists the tables of the firmware.
    AcpiTables,
    /// `ACPI: PM-Timer IO Port: 0x608`.
    PmTimer(u64),
    /// `PMTMR IOPort override: 0x... -> 0x...`; 0 disables it.
    PmTimerOverride(u64),
    /// The PM timer failed its start-up check and was not registered.
    PmTimerBad,
    /// `PM-Timer running at invalid rate: N% of normal - aborting.`: compared with the PIT; the PM timer is not
    /// registered.
    PmTimerRate {
        /// The PM timer's rate by the PIT, in hundredths of its nominal rate.
        percent: u64,
    },
    /// The chipset has the PM timer bug: rating 120 and triple reads.
    PmTimerChipsetBug,
    /// `ACPI: HPET id: 0x... base: 0x...`, or the table's own `ACPI: HPET ...` line.
    HpetTable {
        /// Physical base address, if the line contains it.
        base: Option<u64>,
    },
    /// `hpet0: N comparators, 64-bit X MHz counter`.
    HpetCounter {
        /// Counter frequency in Hz.
        hz: u64,
    },
    /// The HPET was disabled by the kernel; the text contains the reason.
    HpetDisabled(String),
    /// `clocksource: NAME: mask: ... max_cycles: ..., max_idle_ns: N ns` (4.1+): registered, which
    /// does not mean eligible.
    Registered {
        /// Name.
        name: String,
        /// Counter mask.
        mask: u64,
        /// Cycles that can be converted without overflow.
        max_cycles: u64,
        /// Longest idle time in nanoseconds.
        max_idle_ns: u64,
    },
    /// `Switched to clocksource NAME` (up to 3.10: `Switching to`).
    Switched(String),
    /// An override was refused or deferred.
    Override {
        /// The name in the override.
        name: String,
        /// The kernel's refusal.
        refusal: Refusal,
    },
    /// `Switched to high resolution mode` or `NOHz mode`: the tick is one-shot.
    TickOneshot,
    /// `Could not switch to high resolution mode`: the tick stays periodic.
    TickNotOneshot,
    /// `Detected N MHz processor` (or `TSC`), in kHz.
    Detected {
        /// Frequency in kHz.
        khz: u64,
        /// Whether the line contains `TSC`, not `processor`.
        tsc: bool,
    },
    /// `Refined TSC clocksource calibration: N MHz`, in kHz.
    Refined {
        /// Frequency in kHz.
        khz: u64,
    },
    /// The progress of the calibration.
    Calibration(Calibration),
    /// `APIC calibration not consistent with PM-Timer: N ms instead of 100ms`: since 5.3 the TSC times the
    /// wait, so N shows the error of the TSC's frequency, on hardware that is not busy.
    ApicCalibration {
        /// Milliseconds by the PM timer for 100 ms by the TSC.
        ms: u64,
    },
    /// `TSC freq calibrated by CPUID/MSR differs from what is calibrated by HW timer`.
    RecalibrationDiffers,
    /// `Marking TSC unstable due to ...`.
    TscUnstable(UnstableReason),
    /// `TSC found unstable after boot, most likely due to broken BIOS`: a generic guess.
    FoundUnstableAfterBoot,
    /// `sched_clock: Marking unstable`.
    SchedClockUnstable,
    /// `sched_clock: Marking stable (...)` (4.13+): the scheduler uses its clock without corrections. In guests
    /// with kvm-clock or Xen's clock the message is missing if the host does not set the stable bit.
    SchedClockStable,
    /// `Unstable clock detected, switching default tracing clock to "global"`: the
    /// scheduler's clock is not stable.
    TraceClockGlobal,
    /// `TSC synchronization [CPU#0 -> CPU#1]:` alone: the header of a synchronisation test that
    /// failed.
    WarpHeader {
        /// The CPU that was already online.
        from: u32,
        /// The CPU that came online.
        to: u32,
    },
    /// `Measured N cycles TSC warp between CPUs, turning off TSC clock`.
    Warp {
        /// Size of the warp in TSC cycles.
        cycles: i64,
    },
    /// `TSC warped randomly between CPUs`.
    WarpRandom,
    /// `Skipped synchronization checks as TSC is reliable.`
    SyncSkipped,
    /// `check_system_tsc_reliable: disable clocksource watchdog`: by a rule of this kernel the TSC is not watched.
    WatchdogDisabled,
    /// A message about TSC_ADJUST.
    TscAdjust(TscAdjust),
    /// `notsc` only prevented the registration: the kernel requires a TSC (2.6.26 to 4.18).
    NotscIgnored,
    /// `notsc` had no effect: the kernel requires a TSC (`tsc_setup()` in `arch/i386`, up to 2.6.25).
    NotscRefused,
    /// `TSC doesn't count with P0 frequency!`: harmless, usual in virtual machines.
    P0Mismatch,
    /// `Marking clocksource 'NAME' as unstable because the skew is too large` (4.1 to 7.0).
    WatchdogMarked {
        /// The clocksource that was demoted.
        name: String,
        /// CPU on which the check ran (4.7+).
        cpu: Option<u32>,
    },
    /// `Clocksource NAME unstable (delta = N ns)` (up to 4.0).
    WatchdogOld {
        /// The clocksource that was demoted.
        name: String,
        /// Its interval minus the reference's, in nanoseconds.
        delta_ns: i64,
    },
    /// The same, followed by `Enable clocksource failover by adding clocksource_failover kernel parameter`
    /// (RHEL 6): the kernel warns, and keeps the clocksource.
    WatchdogKept {
        /// The clocksource that was found to differ.
        name: String,
        /// Its interval minus the reference's, in nanoseconds.
        delta_ns: i64,
    },
    /// `Marking clocksource NAME unstable due to frequency skew | inter CPU skew` (7.1+).
    WatchdogVerdict {
        /// The clocksource that was demoted.
        name: String,
        /// `inter CPU skew`, otherwise `frequency skew`.
        inter_cpu: bool,
    },
    /// `Watchdog NAME interval: N ns` / `Clocksource NAME interval: N ns` (7.1+).
    WatchdogInterval {
        /// The clock's role.
        role: Role,
        /// Its name.
        name: String,
        /// Length of the interval in nanoseconds.
        ns: u64,
    },
    /// `CPU3 123 < CPU0 456 (cycles)` (7.1+): counters that were read in order returned values out of order.
    WatchdogCpuOrder,
    /// `'NAME' wd_now: ... wd_last: ... mask: ...` and the same with `cs_`.
    WatchdogDetail {
        /// The clock's role.
        role: Role,
        /// Its name.
        name: String,
        /// Interval in nanoseconds (5.14+).
        nsec: Option<i64>,
        /// Counter at the end of the interval.
        now: u64,
        /// Counter at its beginning.
        last: u64,
        /// Counter mask; 0, like the two counters, if the line is truncated after the interval.
        mask: u64,
    },
    /// `'NAME' wd2_nsec: N ...`: a second reference that did not take part in the decision (kernels that were changed
    /// to find out which clock is wrong).
    WatchdogSecond {
        /// Its name.
        name: String,
        /// Interval in nanoseconds.
        ns: i64,
    },
    /// `Clocksource 'NAME' skewed N ns (M ms) over watchdog 'W' interval of K ns` (6.3 to 7.0).
    WatchdogSkewed {
        /// The clocksource under test.
        name: String,
        /// Its interval minus the reference's, in nanoseconds.
        skew_ns: i64,
        /// The reference.
        watchdog: Option<String>,
        /// Interval by the reference, in nanoseconds.
        interval_ns: Option<i64>,
    },
    /// `'hpet' (not 'tsc') is current clocksource` (5.14+); `None`: `No current clocksource`.
    WatchdogCurrent(Option<String>),
    /// A read-back of the reference (or of the clocksource) took too long.
    ReadbackDelay {
        /// The clock whose read-back was slow.
        name: String,
        /// Delay in nanoseconds, where readable.
        delay_ns: Option<u64>,
        /// Whether the line states that the clocksource is demoted because of it.
        marks: bool,
        /// Whether the slow clock is the clocksource under test (`wd-NAME-wd excessive`, 6.3+), and not the reference.
        tested: bool,
    },
    /// `clocksource_watchdog_inject_delay(): Injecting delay.`: a test of the watchdog delays its reads on purpose.
    DelayInjected,
    /// `clock-skew test skipped!`.
    SkewTestSkipped,
    /// `NAME retried N times before success`.
    WatchdogRetried,
    /// The beginning of that message, with its figures truncated.
    LongReadoutCut,
    /// `Long readout interval, skipping watchdog check: cs_nsec: N wd_nsec: N`.
    LongReadout {
        /// Interval by the clocksource, in nanoseconds.
        cs_nsec: i64,
        /// Interval by the reference, in nanoseconds.
        wd_nsec: i64,
    },
    /// `Adjusting NAME more than 11% (N vs N)`: the kernel had to speed this clocksource up by more than a
    /// tenth to follow its time reference. Printed once per boot.
    SteeredTooFar(String),
    /// `Checking clocksource tsc synchronization from CPU ...`.
    CrossCheck,
    /// `Not enough CPUs to check clocksource 'tsc'`: this check was due, and there is one CPU.
    CrossCheckOfOne,
    /// `CPUs N ahead of | behind CPU m for clocksource NAME`.
    CrossCheckSkew {
        /// `ahead of`, otherwise `behind`.
        ahead: bool,
        /// The CPU list, as printed.
        cpus: String,
    },
    /// 7.1+: `Watchdog remote CPU N read timed out` (informational).
    RemoteTimeout,
    /// 7.1+: `Watchdog NAME read timed out. Readout sequence took: N ns`.
    WatchdogReadTimeout {
        /// Duration in nanoseconds.
        ns: Option<u64>,
    },
    /// `arch_timer: cp15 timer(s) running at N MHz (virt|phys)`.
    ArchTimer {
        /// Counter frequency in Hz.
        hz: u64,
        /// Whether the kernel uses the virtual timer (`virt`), or not (`phys`, `hyp-phys`), where the line states it.
        virtual_timer: Option<bool>,
    },
    /// `arch_timer: Enabling local|global workaround for TEXT`.
    ArchTimerErratum(String),
    /// `arch_timer: CPUn: Trapping CNTVCT access`.
    CounterTrapped,
    /// `VP topology {4,4},{4,4} total 16`: the processors of a MIPS machine by clusters and cores.
    MipsTopology {
        /// Clusters that the hardware has.
        clusters: u32,
        /// Processors of the first cluster.
        first: u32,
    },
    /// `CPU0 revision is: 00019374 (MIPS 24Kc)`: the first processor of a MIPS machine.
    MipsProcessor {
        /// The processor identification register: company in bits 16 to 23, processor in bits 8 to 15.
        prid: u32,
    },
    /// `Not using R4K clocksource in VDSO due to broken RDHWR`: user space cannot read the counter of a MIPS processor.
    MipsCounterBroken,
    /// `SLUB: HWalign=128, ..., CPUs=32, Nodes=1`: the number of the last possible processor plus one (`nr_cpu_ids`).
    CpuIds(u32),
    /// `smp: Brought up 2 nodes, 96 CPUs`: the processors that are online at the end of the SMP boot.
    BroughtUp {
        /// NUMA nodes, if the line has them.
        nodes: Option<u32>,
        /// Processors.
        cpus: u32,
    },
    /// `OpenSBI v1.2`: the firmware of RISC-V, with its version.
    OpenSbi(Version),
    /// The features of the RISC-V harts that OpenSBI, or the kernel, found.
    HartExtensions {
        /// Whether the harts have a time CSR, by a word of the list or by an extension that needs it.
        time: bool,
        /// Whether such a list always contains that word if the harts have it (`Boot HART Features`, OpenSBI 0.8 to
        /// 1.0).
        complete: bool,
    },
    /// The system was suspended.
    Suspend,
    /// The system resumed from suspend.
    Resume,
    /// 5.18+: this guest was restored from a snapshot, or is a copy: its generation id changed.
    VmFork,
    /// A real-time clock set the wall clock at boot, to this many seconds since 1970.
    SetByRtc(i64),
    /// The kernel could not set the wall clock at boot: no real-time clock, or one without a date.
    NoRtc,
    /// A leap second: `true` if one was inserted, `false` if one was left out.
    LeapSecond(bool),
    /// A KVM message, on the host or in the guest, that the TSC is not reliable.
    KvmTscUnreliable(String),
    /// A program reports that the system clock drifts against a reference.
    DriftReport(String),
    /// A reading of `current_clocksource` in a transcript.
    ReadCurrent(String),
    /// A reading of `available_clocksource` in a transcript.
    ReadAvailable(Vec<String>),
    /// A write of a name to `current_clocksource` in a transcript.
    WroteCurrent(String),
    /// A command that unregistered a clocksource in a transcript: `echo tsc > .../unbind_clocksource`.
    Unbound(String),
    /// A command that sets a clocksource by a parameter of the next boot: `grubby --args=clocksource=hpet ...`. Empty
    /// if the parameters were changed, and the command does not contain the new value.
    SetForNextBoot(String),
    /// A command that restarted the machine in a transcript.
    Restarted,
    /// CPU feature flags in a transcript.
    ReadFlags(String),
    /// Whether the wall clock is synchronised, according to the text of `timedatectl` or `chronyc tracking` around the
    /// log.
    ReadSynchronized(bool),
    /// `Calibrating delay loop...`: `measured` if the kernel had no timer frequency to compute it
    /// from, which on x86 means that it does not know the TSC's frequency.
    DelayLoop {
        /// Measured against the tick, not computed.
        measured: bool,
    },
    /// `Timer ISR/0: Time went backwards: delta=...`: the timer interrupt of a Xen guest finds the hypervisor's time behind
    /// the time that it has accounted for. It reads the hypervisor's time whichever clocksource is in use.
    TimeWentBackwards,
    /// `clocksource/0: Time went backwards: delta=...`: the read function of the clocksource xen, which is then in use.
    XenReadBackwards,
    /// A message that only dom0, the initial Xen domain, prints.
    XenDom0,
    /// A message that only kernels of one architecture print (x86: of either width).
    Arch(Arch),
    /// The processor that a 32-bit Arm kernel found: `CPU: ARMv7 Processor [410fd034] revision 4 (ARMv7), cr=10c5383d`.
    ArmProcessor {
        /// The main ID register, if the line has it.
        midr: Option<u32>,
    },
    /// A message that only an x86 kernel of this width prints: 32 or 64 bits. A 64-bit message may also come from other
    /// architectures.
    X86Bits(u8),
    /// Memory that a 32-bit kernel cannot map permanently: of x86, or of another architecture.
    HighMemory,
    /// The release of the running kernel, in a line other than its banner: fault reports (`Not tainted 6.1.0 #1`) and
    /// root hubs (`usb usb1: Manufacturer: Linux 6.1.0 xhci-hcd`).
    Release(String),
    /// The counter from which time is read, in the words of x86 kernels before the clocksource framework (up to 2.6.17,
    /// with 64 bits up to 2.6.20): `Using pmtmr for high-res timesource`, `time.c: Using 3.579545 MHz WALL PM GTOD PM
    /// timer.`
    TimeSource {
        /// The name of the clocksource for that counter.
        name: String,
        /// Width of the kernel: 32 or 64 bits.
        bits: u8,
    },
    /// Ticks were lost by the count of the TSC or the HPET (x86 before the clocksource framework).
    LostTicks(LostTicks),
    /// `Falling back to HPET`: such a kernel replaced the TSC by the HPET, after a thousand lost ticks.
    HpetFallback,
    /// The kernel has finished its part of the boot: it frees its init code, or starts init.
    UserSpace,
    /// gVisor's boot message: not a Linux kernel.
    Gvisor,
}

impl Event {
    /// The kind of an event, used to bound the number of stored events of a kind.
    pub(crate) fn kind(&self) -> std::mem::Discriminant<Self> {
        std::mem::discriminant(self)
    }

    /// The time source that a kernel without the clocksource framework uses from this message on: chosen during boot, or
    /// by the fallback of an x86 kernel that lost ticks (`clock_fallback()` in arch/i386/kernel/timers/timer.c, up to
    /// 2.6.17: always the PIT).
    #[must_use]
    pub fn time_source(&self) -> Option<&str> {
        match self {
            Self::TimeSource { name, .. } => Some(name),
            Self::HpetFallback => Some("hpet"),
            Self::LostTicks(LostTicks::TooMany) => Some("pit"),
            _ => None,
        }
    }

    /// Whether it may change the clocksource in use: the kernel switched, or gave one up.
    pub(crate) fn changes_clocksource(&self) -> bool {
        matches!(
            self,
            Self::Switched(_)
                | Self::TscUnstable(_)
                | Self::WatchdogMarked { .. }
                | Self::WatchdogOld { .. }
                | Self::WatchdogVerdict { .. }
                | Self::WatchdogSkewed { .. }
        )
    }

    /// Whether it reports a fault of a TSC: a warp between CPUs, or a property for which the kernel gives it up.
    pub(crate) fn is_tsc_fault(&self) -> bool {
        match self {
            Self::Warp { .. } => true,
            Self::TscUnstable(reason) => matches!(
                reason,
                UnstableReason::Unsynchronized
                    | UnstableReason::SyncFailed
                    | UnstableReason::CpufreqChanges
                    | UnstableReason::HaltsInIdle
                    | UnstableReason::KvmBackwards
                    | UnstableReason::UvBios
                    | UnstableReason::RunningSlowly
            ),
            _ => false,
        }
    }

    /// Whether the kernel printed it, and not a file or a command.
    #[must_use]
    pub fn is_printed(&self) -> bool {
        !matches!(
            self,
            Self::ReadCurrent(_)
                | Self::ReadAvailable(_)
                | Self::WroteCurrent(_)
                | Self::Unbound(_)
                | Self::ReadFlags(_)
                | Self::ReadSynchronized(_)
                | Self::SetForNextBoot(_)
                | Self::Restarted
        )
    }
}
