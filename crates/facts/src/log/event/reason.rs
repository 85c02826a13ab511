//! Why the kernel demoted the TSC, in its own words.

use serde::Serialize;

/// Why the kernel marked the TSC unstable: the argument of `mark_tsc_unstable()`.
///
/// Source: the callers of `mark_tsc_unstable()` in `arch/x86`, `drivers/acpi`, `drivers/idle` and
/// `drivers/cpufreq`, 2.6.32 to 7.1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnstableReason {
    /// `TSCs unsynchronized`: not even tested.
    Unsynchronized,
    /// `check_tsc_sync_source failed`: the warp test between CPUs failed.
    SyncFailed,
    /// `could not calculate TSC khz`.
    NoFrequency,
    /// `cpufreq changes` (also `... on SMP`).
    CpufreqChanges,
    /// `boot parameter`: `tsc=unstable`.
    BootParameter,
    /// `boot parameter notsc`.
    BootParameterNotsc,
    /// `clocksource watchdog`.
    Watchdog,
    /// `TSC halts in idle`, `TSC halts in idle states deeper than C2`, `TSC halt in AMD C1E`.
    HaltsInIdle,
    /// `running on Hyper-V`.
    HyperV,
    /// `KVM discovered backwards TSC`: on a KVM host, after resume or CPU hot-plug.
    KvmBackwards,
    /// `UV BIOS`: the firmware of an SGI/HPE UV reports that the TSC is not synchronised.
    UvBios,
    /// `TSC appears to be running slowly` (up to 2.6.20).
    RunningSlowly,
    /// Any other text.
    Other(String),
}

/// Characters that a part of a reason has at least, so that it is taken for one.
const CUT_REASON: usize = 8;

impl UnstableReason {
    /// From the text after `Marking TSC unstable due to`.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let text = text.trim().trim_start_matches(':').trim().trim_end_matches('.');
        match text {
            "TSCs unsynchronized" => Self::Unsynchronized,
            "check_tsc_sync_source failed" => Self::SyncFailed,
            "could not calculate TSC khz" => Self::NoFrequency,
            "boot parameter" => Self::BootParameter,
            "boot parameter notsc" => Self::BootParameterNotsc,
            "clocksource watchdog" => Self::Watchdog,
            "running on Hyper-V" => Self::HyperV,
            "KVM discovered backwards TSC" => Self::KvmBackwards,
            "UV BIOS" => Self::UvBios,
            _ if text.starts_with("cpufreq changes") => Self::CpufreqChanges,
            _ if text.starts_with("TSC halts in idle")
                || text.starts_with("TSC halt in")
                || text.starts_with("possible TSC halt in") =>
            {
                Self::HaltsInIdle
            }
            _ => {
                Self::of_cut(text).unwrap_or_else(|| Self::Other(text.chars().take(120).collect()))
            }
        }
    }

    /// The reason that begins with a text, if the kernel has only one such reason: the line was cut.
    fn of_cut(text: &str) -> Option<Self> {
        const ALL: [(&str, UnstableReason); 10] = [
            ("TSCs unsynchronized", UnstableReason::Unsynchronized),
            ("check_tsc_sync_source failed", UnstableReason::SyncFailed),
            ("could not calculate TSC khz", UnstableReason::NoFrequency),
            ("cpufreq changes", UnstableReason::CpufreqChanges),
            // `boot parameter` is followed by `notsc`, or by nothing.
            ("clocksource watchdog", UnstableReason::Watchdog),
            ("TSC halts in idle", UnstableReason::HaltsInIdle),
            ("TSC halt in", UnstableReason::HaltsInIdle),
            ("possible TSC halt in", UnstableReason::HaltsInIdle),
            ("running on Hyper-V", UnstableReason::HyperV),
            ("KVM discovered backwards TSC", UnstableReason::KvmBackwards),
        ];
        let text = text.trim_end_matches(['>', '\u{2026}']).trim_end();
        if text.chars().count() < CUT_REASON {
            return None;
        }
        let mut fits =
            ALL.iter().filter(|(whole, _)| whole.starts_with(text)).map(|(_, reason)| reason);
        let first = fits.next()?;
        fits.all(|other| other == first).then(|| first.clone())
    }

    /// Whether the rest of a truncated reason is the beginning of the watchdog's, or empty.
    pub(crate) fn may_be_cut_watchdog(&self) -> bool {
        let Self::Other(text) = self else { return false };
        "clocksource watchdog".starts_with(text.trim_end_matches(['>', '\u{2026}', '.']).trim_end())
    }

    /// The kernel's own words.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::Unsynchronized => "TSCs unsynchronized",
            Self::SyncFailed => "check_tsc_sync_source failed",
            Self::NoFrequency => "could not calculate TSC khz",
            Self::CpufreqChanges => "cpufreq changes",
            Self::BootParameter => "boot parameter",
            Self::BootParameterNotsc => "boot parameter notsc",
            Self::Watchdog => "clocksource watchdog",
            Self::HaltsInIdle => "TSC halts in idle",
            Self::HyperV => "running on Hyper-V",
            Self::KvmBackwards => "KVM discovered backwards TSC",
            Self::UvBios => "UV BIOS",
            Self::RunningSlowly => "TSC appears to be running slowly",
            Self::Other(text) => text,
        }
    }
}
