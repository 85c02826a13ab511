//! Causes: stable ids, each with its evidence.

use clocksmith_facts::log::{Entry, KernelLog};
use serde::Serialize;

<<<<<<< HEAD
pub use crate::causes::CauseId;
=======
/// The id of a cause. Part of the public interface: ids are added, never reused for something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CauseId {
    /// The boot-time synchronisation test between CPUs saw the TSC go backwards.
    TscWarp,
    /// The kernel does not trust the TSC on this SMP machine and did not even test it.
    TscUnsynchronized,
    /// No non-stop TSC, and an idle driver uses states in which it stops.
    TscHaltsInIdle,
    /// No constant TSC, and cpufreq changed its rate.
    TscFrequencyChanges,
    /// The watchdog saw the TSC run at another rate than its reference, and the TSC is the likely
    /// culprit.
    TscSkew,
    /// The TSC jumped once.
    TscJump,
    /// Firmware changed TSC_ADJUST; the kernel repaired or warned.
    TscAdjustChanged,
    /// The frequency that the kernel uses is wrong.
    TscMiscalibrated,
    /// The reference was late, wrapped, lost ticks or glitched; the TSC is innocent.
    WatchdogAtFault,
    /// Both clocks agree that the machine stood still for a while; the check was skipped.
    ReadoutStall,
    /// A cross-CPU check was skipped; informational.
    WatchdogRemoteTimeout,
    /// The hypervisor does not expose an invariant TSC, so a paravirtual clock serves.
    InvariantTscWithheld,
    /// A paravirtual clock outranks a usable TSC.
    ParavirtClockPreferred,
    /// The hypervisor's own clock page or time scale is wrong.
    ParavirtClockBroken,
    /// `notsc` on the command line.
    CmdlineNotsc,
    /// `tsc=unstable` on the command line.
    CmdlineTscUnstable,
    /// The command line chooses the clocksource.
    CmdlineClocksourceOverride,
    /// The command line names a clocksource that does not exist: silently ignored.
    CmdlineClocksourceUnknown,
    /// A parameter is written in a way that the kernel silently ignores.
    CmdlineParameterIgnored,
    /// A choice was refused because the clocksource cannot do high resolution or is unstable.
    OverrideRefused,
    /// Somebody wrote another choice to sysfs.
    RuntimeOverride,
    /// arm64: an erratum workaround traps the counter, so the vDSO is off.
    CounterTrapped,
    /// arm64: the same for 32-bit programs only.
    CounterTrappedCompat,
    /// The CPU or the hypervisor has no TSC at all, or its calibration failed.
    NoTsc,
    /// Nothing better is registered.
    OnlyChoice,
    /// CPUID differs between CPUs in a bit that concerns clocks.
    CpusDiffer,
    /// The vDSO is not used although the clocksource has a vDSO mode.
    VdsoBypassed,
    /// `clocksmith verify` measured a fault of the counter or of the clocks in this boot.
    VerifyFoundFault,
    /// The cause cannot be known from this evidence.
    InsufficientEvidence,
}

impl CauseId {
    /// Every id, in the order of the documentation.
    pub const ALL: [Self; 29] = [
        Self::TscWarp,
        Self::TscUnsynchronized,
        Self::TscHaltsInIdle,
        Self::TscFrequencyChanges,
        Self::TscSkew,
        Self::TscJump,
        Self::TscAdjustChanged,
        Self::TscMiscalibrated,
        Self::WatchdogAtFault,
        Self::ReadoutStall,
        Self::WatchdogRemoteTimeout,
        Self::InvariantTscWithheld,
        Self::ParavirtClockPreferred,
        Self::ParavirtClockBroken,
        Self::CmdlineNotsc,
        Self::CmdlineTscUnstable,
        Self::CmdlineClocksourceOverride,
        Self::CmdlineClocksourceUnknown,
        Self::CmdlineParameterIgnored,
        Self::OverrideRefused,
        Self::RuntimeOverride,
        Self::CounterTrapped,
        Self::CounterTrappedCompat,
        Self::NoTsc,
        Self::OnlyChoice,
        Self::CpusDiffer,
        Self::VdsoBypassed,
        Self::VerifyFoundFault,
        Self::InsufficientEvidence,
    ];

    /// The id as it is written: `tsc-warp`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::TscWarp => "tsc-warp",
            Self::TscUnsynchronized => "tsc-unsynchronized",
            Self::TscHaltsInIdle => "tsc-halts-in-idle",
            Self::TscFrequencyChanges => "tsc-frequency-changes",
            Self::TscSkew => "tsc-skew",
            Self::TscJump => "tsc-jump",
            Self::TscAdjustChanged => "tsc-adjust-changed",
            Self::TscMiscalibrated => "tsc-miscalibrated",
            Self::WatchdogAtFault => "watchdog-at-fault",
            Self::ReadoutStall => "readout-stall",
            Self::WatchdogRemoteTimeout => "watchdog-remote-timeout",
            Self::InvariantTscWithheld => "invariant-tsc-withheld",
            Self::ParavirtClockPreferred => "paravirt-clock-preferred",
            Self::ParavirtClockBroken => "paravirt-clock-broken",
            Self::CmdlineNotsc => "cmdline-notsc",
            Self::CmdlineTscUnstable => "cmdline-tsc-unstable",
            Self::CmdlineClocksourceOverride => "cmdline-clocksource-override",
            Self::CmdlineClocksourceUnknown => "cmdline-clocksource-unknown",
            Self::CmdlineParameterIgnored => "cmdline-parameter-ignored",
            Self::OverrideRefused => "override-refused",
            Self::RuntimeOverride => "runtime-override",
            Self::CounterTrapped => "counter-trapped",
            Self::CounterTrappedCompat => "counter-trapped-compat",
            Self::NoTsc => "no-tsc",
            Self::OnlyChoice => "only-choice",
            Self::CpusDiffer => "cpus-differ",
            Self::VdsoBypassed => "vdso-bypassed",
            Self::VerifyFoundFault => "verify-found-fault",
            Self::InsufficientEvidence => "insufficient-evidence",
        }
    }

    /// From the written form.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|id| id.name() == name)
    }
}
>>>>>>> 213ccb5d5c7645340ddf3532ebaf645f2982db4f

/// How much a cause matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; nothing is wrong.
    Info,
    /// Time is slow to read, or somebody's choice has no effect.
    Warning,
    /// Time may be wrong or go backwards.
    Critical,
}

/// How sure a statement is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// One possible reading among others; the text says what would settle it.
    Low,
    /// The likely reading.
    Medium,
    /// Stated by the kernel or by a reading of the machine.
    High,
}

/// What a cause rests on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Evidence {
    /// Where it was read.
    pub source: String,
    /// What was read.
    pub text: String,
}

impl Evidence {
    /// A line of the kernel log.
    #[must_use]
    pub fn line(log: &KernelLog, entry: &Entry) -> Self {
        Self { source: log.source(entry).0, text: entry.text.clone() }
    }

    /// Any other place.
    pub fn new(source: impl Into<String>, text: impl Into<String>) -> Self {
        Self { source: source.into(), text: text.into() }
    }
}

/// A cause, with its evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cause {
    /// Stable id.
    pub id: CauseId,
    /// How much it matters here.
    pub severity: Severity,
    /// How sure it is.
    pub confidence: Confidence,
    /// One sentence.
    pub summary: String,
    /// What it rests on.
    pub evidence: Vec<Evidence>,
}
