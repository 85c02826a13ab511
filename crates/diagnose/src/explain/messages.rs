//! Messages: which text belongs to which event of the log parser.

use super::entry::Entry;
use super::knowledge::MESSAGES;
use clocksmith_facts::log::Event;
use clocksmith_facts::log::event::{Calibration, LostTicks, Refusal, TscAdjust, UnstableReason};

/// The text of an event; `None` for an id without a text (a test forbids it).
pub(super) fn of_event(event: &Event) -> Option<&'static Entry> {
    let id = id(event);
    MESSAGES.iter().find(|entry| entry.id == id)
}

/// The id of the text that explains an event.
pub(super) fn id(event: &Event) -> &'static str {
    match event {
        Event::Banner(_) => "banner",
        Event::CommandLine(_) => "cmdline",
        Event::Hypervisor(_) => "hypervisor",
        Event::Paravirt(_) => "paravirt",
        Event::Dmi(_) => "dmi",
        Event::HypervPrivileges(_) => "hyperv-flags",
        Event::VmwareTscKhz(_) => "vmware-khz",
        Event::KvmClock | Event::KvmSchedOffset => "kvm-clock",
        Event::XenClockNotice(text) if text.contains("HVM") => "xen-hvm",
        Event::XenClockNotice(_) => "xen-vdso",
        Event::PossibleCpus(_) => "possible-cpus",
        Event::Packages(_) => "packages",
        Event::CpuModel { .. } => "cpu-model",
        Event::RecentProcessor => "recent-processor",
        Event::AcpiTables => "acpi-tables",
        Event::PmTimer(_) => "pm-port",
        Event::PmTimerOverride(_) => "pm-override",
        Event::PmTimerBad => "pm-bad",
        Event::PmTimerRate { .. } => "pm-rate",
        Event::LostTicks(LostTicks::Counted(_)) => "lost-ticks-counted",
        Event::LostTicks(LostTicks::Some) => "losing-ticks",
        Event::LostTicks(LostTicks::Many) => "many-lost-ticks",
        Event::LostTicks(LostTicks::TooMany) => "too-many-ticks",
        Event::HpetFallback => "hpet-fallback",
        Event::PmTimerChipsetBug => "pm-chipset",
        Event::HpetTable { .. } => "hpet-table",
        Event::HpetCounter { .. } => "hpet-counter",
        Event::HpetDisabled(text) if text.contains("PC10") => "hpet-pc10",
        Event::HpetDisabled(text) if text.contains("Will disable") => "hpet-quirk",
        Event::HpetDisabled(_) => "hpet-dead",
        Event::Registered { .. } => "registered",
        Event::Switched(_) => "switched",
        Event::Override { refusal, .. } => match refusal {
            Refusal::Unstable => "override-unstable",
            Refusal::NotHres => "override-nothres",
            Refusal::Deferred => "override-deferred",
        },
        Event::TickOneshot => "oneshot",
        Event::ApicCalibration { .. } => "apic-calibration",
        Event::TickNotOneshot => "not-oneshot",
        Event::Detected { .. } => "detected",
        Event::Refined { .. } => "refined",
        Event::Calibration(calibration) => match calibration {
            Calibration::FastPit => "cal-fastpit",
            Calibration::FastPitFailed => "cal-fastfailed",
            Calibration::NoPit => "cal-nopit",
            Calibration::NoReference => "cal-noreference",
            Calibration::ReferenceFailed => "cal-reffailed",
            Calibration::Hpet => "cal-hpet",
            Calibration::PmTimer => "cal-pmtimer",
            Calibration::Pit => "cal-pit",
            Calibration::Deviates => "cal-deviates",
        },
        Event::RecalibrationDiffers => "recal-differs",
        Event::SteeredTooFar(_) => "adjusting-11",
        Event::TscUnstable(reason) => unstable(reason),
        Event::FoundUnstableAfterBoot => "found-unstable",
        Event::SchedClockUnstable => "sched-unstable",
        Event::SchedClockStable => "sched-stable",
        Event::TraceClockGlobal => "trace-global",
        Event::TimeSource { .. } => "time-source",
        Event::XenDom0 => "xen-dom0",
        Event::Arch(_)
        | Event::ArmProcessor { .. }
        | Event::MipsTopology { .. }
        | Event::BroughtUp { .. }
        | Event::CpuIds(_)
        | Event::OpenSbi(_)
        | Event::HartExtensions { .. } => "arch",
        Event::X86Bits(_) | Event::HighMemory => "x86-bits",
        Event::Release(_) => "release",
        Event::UserSpace => "user-space",
        Event::Warp { .. } => "warp",
        Event::WarpRandom => "warp-random",
        Event::WarpHeader { .. } => "sync-line",
        Event::SyncSkipped => "sync-skipped",
        Event::WatchdogDisabled => "watchdog-disabled",
        Event::TscAdjust(adjust) => match adjust {
            TscAdjust::Forced => "adjust-forced",
            TscAdjust::Restored => "adjust-restored",
            TscAdjust::DiffersInSocket => "adjust-socket",
            TscAdjust::Compensated => "adjust-compensated",
            TscAdjust::Other => "adjust-other",
        },
        Event::NotscIgnored => "notsc-ignored",
        Event::NotscRefused => "notsc-refused",
        Event::P0Mismatch => "p0",
        Event::KvmTscUnreliable(text) if text.contains("scaling") => "tsc-mismatch",
        Event::KvmTscUnreliable(_) => "kvm-host-unstable",
        Event::DriftReport(_) => "drift",
        Event::ReadCurrent(_) => "read-current",
        Event::ReadAvailable(_) => "read-available",
        Event::WroteCurrent(_) | Event::Unbound(_) => "wrote-current",
        Event::SetForNextBoot(_) | Event::Restarted => "next-boot",
        Event::ReadFlags(_) => "flags",
        Event::ReadSynchronized(_) => "read-synchronized",
        Event::DelayLoop { .. } => "delay-loop",
        Event::TimeWentBackwards | Event::XenReadBackwards => "backwards",
        Event::Gvisor => "gvisor",
        Event::Suspend => "suspend",
        Event::Resume => "resume",
        Event::VmFork => "vm-fork",
        Event::SetByRtc(_) => "set-by-rtc",
        Event::NoRtc => "no-rtc",
        Event::LeapSecond(_) => "leap-second",
        Event::ArchTimer { .. } => "arch-timer",
        Event::ArchTimerErratum(_) => "arch-erratum",
        Event::CounterTrapped => "cntvct",
        Event::WatchdogMarked { .. }
        | Event::WatchdogOld { .. }
        | Event::WatchdogKept { .. }
        | Event::WatchdogVerdict { .. }
        | Event::WatchdogInterval { .. }
        | Event::WatchdogCpuOrder
        | Event::WatchdogDetail { .. }
        | Event::WatchdogSecond { .. }
        | Event::WatchdogSkewed { .. }
        | Event::WatchdogCurrent(_)
        | Event::ReadbackDelay { .. }
        | Event::DelayInjected
        | Event::SkewTestSkipped
        | Event::WatchdogRetried
        | Event::LongReadout { .. }
        | Event::LongReadoutCut
        | Event::CrossCheck
        | Event::CrossCheckSkew { .. }
        | Event::RemoteTimeout
        | Event::WatchdogReadTimeout { .. } => watchdog(event),
    }
}

fn unstable(reason: &UnstableReason) -> &'static str {
    match reason {
        UnstableReason::Unsynchronized => "unstable-unsynchronized",
        UnstableReason::SyncFailed => "unstable-sync",
        UnstableReason::NoFrequency => "unstable-nofreq",
        UnstableReason::CpufreqChanges => "unstable-cpufreq",
        UnstableReason::BootParameter => "unstable-parameter",
        UnstableReason::BootParameterNotsc => "unstable-notsc",
        UnstableReason::Watchdog => "unstable-watchdog",
        UnstableReason::HaltsInIdle => "unstable-idle",
        UnstableReason::HyperV => "unstable-hyperv",
        UnstableReason::KvmBackwards => "unstable-kvm",
        UnstableReason::UvBios => "unstable-uv",
        UnstableReason::RunningSlowly => "unstable-slow",
        UnstableReason::Other(_) => "unstable-other",
    }
}

fn watchdog(event: &Event) -> &'static str {
    match event {
        Event::WatchdogMarked { .. } => "watchdog-marked",
        Event::WatchdogOld { .. } | Event::WatchdogKept { .. } => "watchdog-old",
        Event::WatchdogVerdict { inter_cpu: true, .. } => "watchdog-verdict-cpu",
        Event::WatchdogVerdict { .. } => "watchdog-verdict-frequency",
        Event::WatchdogInterval { .. } => "watchdog-interval",
        Event::WatchdogCpuOrder => "watchdog-cpu-order",
        Event::WatchdogDetail { .. } => "watchdog-detail",
        Event::WatchdogSkewed { .. } => "watchdog-skewed",
        Event::WatchdogCurrent(_) => "watchdog-current",
        Event::ReadbackDelay { marks: true, .. } => "readback-marks",
        Event::ReadbackDelay { .. } => "readback-delay",
        Event::DelayInjected => "delay-injected",
        Event::SkewTestSkipped => "skew-skipped",
        Event::WatchdogRetried => "retried",
        Event::LongReadout { .. } | Event::LongReadoutCut => "long-readout",
        Event::CrossCheck => "cross-check",
        Event::CrossCheckSkew { .. } => "cross-check-skew",
        Event::RemoteTimeout => "remote-timeout",
        Event::WatchdogReadTimeout { .. } => "read-timeout",
        _ => "",
    }
}
