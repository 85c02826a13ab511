//! The causes, one module each: its detector, its words, its implications and its remedies.
//! The registry below lists them.
//!
//! A rule states what the evidence shows, and quotes it. If two readings fit, both are given, the less
//! likely one with low confidence and with the evidence that would settle it. Detectors that find several causes in one
//! incident are shared: `watchdog`, `skew`, `skipped`, `reference`.

mod case;
pub(crate) mod definition;
mod narrow;
mod paravirt;
pub(crate) mod reference;
pub(crate) mod refinement;
mod registry;
mod skew;
mod skipped;
mod steering;
pub(crate) mod tsc;
mod unconfirmed;
mod watchdog;

mod acpi_disabled;
mod cmdline_clocksource_override;
mod cmdline_clocksource_unknown;
mod cmdline_notsc;
mod cmdline_parameter_ignored;
pub(crate) mod cmdline_tsc_reliable;
mod cmdline_tsc_unstable;
mod contradicted_evidence;
mod counter_emulated;
mod counter_trapped;
mod counter_trapped_compat;
mod cpus_differ;
mod insufficient_evidence;
mod invariant_tsc_withheld;
mod no_tsc;
mod only_choice;
mod override_refused;
mod paravirt_clock_broken;
mod paravirt_clock_preferred;
mod readout_stall;
mod runtime_override;
mod tsc_adjust_changed;
mod tsc_frequency_changes;
mod tsc_halts_in_idle;
mod tsc_jump;
mod tsc_miscalibrated;
mod tsc_skew;
mod tsc_unsynchronized;
mod tsc_warp;
mod two_masters;
pub(crate) mod vdso_bypassed;
mod verify_found_fault;
mod wall_clock_stale_after_restore;
mod wall_clock_unsynchronised;
mod watchdog_at_fault;
mod watchdog_remote_timeout;

#[cfg(test)]
mod tests;

use case::Causes;
pub(crate) use case::{Case, find};
pub use definition::against_tsc;

registry::registry! {
    /// The vDSO is not used, or this kernel has no vDSO path for the clocksource.
    VdsoBypassed = "vdso-bypassed" in vdso_bypassed,
    /// The boot-time synchronisation test between CPUs saw the TSC go backwards.
    TscWarp = "tsc-warp" in tsc_warp,
    /// The kernel does not trust the TSC on this SMP machine, and did not test it.
    TscUnsynchronized = "tsc-unsynchronized" in tsc_unsynchronized,
    /// No non-stop TSC, and an idle driver uses states in which it stops.
    TscHaltsInIdle = "tsc-halts-in-idle" in tsc_halts_in_idle,
    /// No constant TSC, and cpufreq changed its rate.
    TscFrequencyChanges = "tsc-frequency-changes" in tsc_frequency_changes,
    /// The watchdog saw the TSC run at a different rate from its reference, and the TSC is probably at
    /// fault.
    TscSkew = "tsc-skew" in tsc_skew,
    /// The TSC jumped once.
    TscJump = "tsc-jump" in tsc_jump,
    /// Firmware changed TSC_ADJUST; the kernel repaired it or warned.
    TscAdjustChanged = "tsc-adjust-changed" in tsc_adjust_changed,
    /// The frequency that the kernel uses is wrong.
    TscMiscalibrated = "tsc-miscalibrated" in tsc_miscalibrated,
    /// The reference was late, wrapped, lost ticks or glitched; the TSC is not at fault.
    WatchdogAtFault = "watchdog-at-fault" in watchdog_at_fault,
    /// A check was late according to both clocks, and was skipped.
    ReadoutStall = "readout-stall" in readout_stall,
    /// A cross-CPU check was skipped; informational.
    WatchdogRemoteTimeout = "watchdog-remote-timeout" in watchdog_remote_timeout,
    /// `notsc` on the command line.
    CmdlineNotsc = "cmdline-notsc" in cmdline_notsc,
    /// `tsc=unstable` on the command line.
    CmdlineTscUnstable = "cmdline-tsc-unstable" in cmdline_tsc_unstable,
    /// `tsc=reliable` on the command line: the checks of the TSC are off.
    CmdlineTscReliable = "cmdline-tsc-reliable" in cmdline_tsc_reliable,
    /// The command line chooses the clocksource.
    CmdlineClocksourceOverride = "cmdline-clocksource-override" in cmdline_clocksource_override,
    /// The command line names a clocksource that does not exist: silently ignored.
    CmdlineClocksourceUnknown = "cmdline-clocksource-unknown" in cmdline_clocksource_unknown,
    /// A parameter is written in a way that the kernel silently ignores.
    CmdlineParameterIgnored = "cmdline-parameter-ignored" in cmdline_parameter_ignored,
    /// `acpi=off` on the command line hides the HPET and the PM timer.
    AcpiDisabled = "acpi-disabled" in acpi_disabled,
    /// A choice was refused because the clocksource does not support high resolution or is
    /// unstable.
    OverrideRefused = "override-refused" in override_refused,
    /// A person or a program wrote another choice to sysfs.
    RuntimeOverride = "runtime-override" in runtime_override,
    /// A paravirtual clock outranks a usable TSC.
    ParavirtClockPreferred = "paravirt-clock-preferred" in paravirt_clock_preferred,
    /// The hypervisor does not expose an invariant TSC, so a paravirtual clock is used.
    InvariantTscWithheld = "invariant-tsc-withheld" in invariant_tsc_withheld,
    /// The hypervisor's own clock page or time scale is wrong.
    ParavirtClockBroken = "paravirt-clock-broken" in paravirt_clock_broken,
    /// The CPU or the hypervisor has no TSC at all, or its calibration failed.
    NoTsc = "no-tsc" in no_tsc,
    /// Nothing better is registered.
    OnlyChoice = "only-choice" in only_choice,
    /// arm64: an erratum workaround traps the counter, so the vDSO is off.
    CounterTrapped = "counter-trapped" in counter_trapped,
    /// arm64: an erratum workaround traps the counter for 32-bit programs only.
    CounterTrappedCompat = "counter-trapped-compat" in counter_trapped_compat,
    /// RISC-V: firmware emulates the time CSR, so that each read of it traps.
    CounterEmulated = "counter-emulated" in counter_emulated,
    /// CPUID differs between CPUs in a bit that concerns clocks.
    CpusDiffer = "cpus-differ" in cpus_differ,
    /// `clocksmith verify` measured a fault of the counter or of the clocks in this boot.
    VerifyFoundFault = "verify-found-fault" in verify_found_fault,
    /// Two sources of this evidence contradict each other.
    ContradictedEvidence = "contradicted-evidence" in contradicted_evidence,
    /// The cause cannot be known from this evidence.
    InsufficientEvidence = "insufficient-evidence" in insufficient_evidence,
    /// No program corrects the wall clock.
    WallClockUnsynchronised = "wall-clock-unsynchronised" in wall_clock_unsynchronised,
    /// The wall clock was left behind while this guest did not run.
    WallClockStaleAfterRestore = "wall-clock-stale-after-restore" in wall_clock_stale_after_restore,
    /// Several programs steer the wall clock at once.
    TwoMasters = "two-masters" in two_masters,
}
