//! What changed in the kernel's clock code, and in which versions.
//!
//! Upstream versions: the first release that has the change. `stable` spans are point releases of
//! older lines that received it. Distributions backport more than that; a contradiction between this
//! table and what a machine shows is settled in favour of the machine.

use clocksmith_facts::version::{Kernel, Vendor, Version};

/// A change that a rule depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Feature {
    /// A clocksource that cannot do high resolution is not selected in one-shot mode.
    HresAwareSelection,
    /// `refined-jiffies` exists.
    RefinedJiffies,
    /// `jiffies` is registered as the architecture's default clock, so not where that is another one.
    JiffiesAsDefaultClock,
    /// `tsc-early` serves until `tsc` is registered, and an unstable TSC is never registered.
    TscEarly,
    /// `tsc` is registered with `VALID_FOR_HRES` preset.
    TscPresetHres,
    /// The watchdog was rewritten: it must be continuous; `tsc` inherits `VALID_FOR_HRES`.
    WatchdogRewrite,
    /// `notsc` marks the TSC unstable (before: it only keeps it from registering).
    NotscMarks,
    /// `tsc=unstable` exists.
    TscUnstableParameter,
    /// `tsc=nowatchdog` exists.
    TscNowatchdog,
    /// `tsc=reliable` skips the warp test.
    ReliableSkipsSync,
    /// `tsc_clocksource_reliable` spares non-Intel machines the "unsynchronized" verdict.
    ReliableSparesUnsynchronized,
    /// `tsc=reliable` protects `tsc-early` too.
    ReliableProtectsTscEarly,
    /// The "unsynchronized" rule counts packages, not possible CPUs.
    UnsynchronizedByPackages,
    /// Constant TSC by Intel model covers every model from family 6 model 0x0e on.
    IntelConstantByModel,
    /// Constant TSC by Intel model, after the narrowing: Pentium 4 models 3 to 6 are in it.
    Pentium4Range,
    /// Hyper-V is detected only with the hypercall and VP index privileges.
    HypervNeedsHypercall,
    /// The TSC is not watched with constant + nonstop + TSC_ADJUST on at most 2 NUMA nodes.
    UnwatchedNodes2,
    /// The same, 4 nodes.
    UnwatchedNodes4,
    /// The same, 4 packages.
    UnwatchedPackages4,
    /// TSC_ADJUST is checked, and the warp test is skipped inside a package.
    TscAdjustChecks,
    /// `TSC_KNOWN_FREQ` registers `tsc` without the one-second refinement.
    KnownFreq,
    /// KVM guests know their TSC frequency.
    KvmKnownFreq,
    /// kvm-clock lowers itself to 299 with an invariant TSC.
    KvmClockYields,
    /// kvm-clock has a vDSO mode.
    KvmClockVdso,
    /// The hypervisor with the highest CPUID base wins.
    HypervisorPriority,
    /// `nopv` exists.
    Nopv,
    /// `no-kvmclock-vsyscall` exists.
    NoKvmclockVsyscall,
    /// Xen: dom0 rates the clock 275.
    XenDom0Rating,
    /// Xen: a never-emulated invariant TSC lowers the clock to 299.
    XenSafeTsc,
    /// Xen's clock has a vDSO mode.
    XenVdso,
    /// `hyperv_clocksource` (the MSR) exists in the kernel proper.
    HypervMsr,
    /// Hyper-V's TSC page exists, and the TSC is marked unstable.
    HypervPage,
    /// The page and the MSR are named `hyperv_clocksource_tsc_page` / `_msr`, one of them.
    HypervUnified,
    /// The TSC is spared under Hyper-V when the invariant TSC is granted.
    HypervInvariant,
    /// Hyper-V's clocks are rated 250.
    HypervRating250,
    /// Hyper-V's clocks are rated 500, and 250 with an invariant TSC.
    HypervRating500,
    /// Hyper-V's MSR clock is registered beside the page, 5 lower.
    HypervMsrBeside,
    /// Hyper-V's TSC page has a vDSO mode.
    HypervPageVdso,
    /// The HPET can be read by the vDSO.
    HpetVdso,
    /// Generic vDSO: MONOTONIC_RAW and BOOTTIME are served.
    GenericVdso,
    /// CLOCK_TAI is served by the vDSO.
    TaiVdso,
    /// 32-bit processes have a vDSO `clock_gettime`.
    Vdso32,
    /// The watchdog retries slow read-backs before it demotes.
    ReadbackRetries,
    /// `tsc_early_khz=` exists.
    TscEarlyKhz,
    /// `clearcpuid=` takes names.
    ClearcpuidNames,
    /// arm64's vDSO exists.
    Arm64Vdso,
    /// RISC-V: rating 400 (before: 300).
    RiscvRating400,
    /// An override that cannot be honoured yet is deferred, not forgotten.
    OverrideDeferred,
    /// Xen: the clock is registered by HVM guests with a safe pvclock.
    XenHvmClock,
}

struct Row {
    feature: Feature,
    /// First upstream version.
    since: Version,
    /// First upstream version without it.
    until: Option<Version>,
    /// Stable point releases that received it: from `.0` to below the next minor.
    stable: &'static [Version],
}

const fn v(major: u16, minor: u16) -> Version {
    Version::new(major, minor, 0)
}

const fn row(feature: Feature, since: Version) -> Row {
    Row { feature, since, until: None, stable: &[] }
}

const fn span(feature: Feature, since: Version, until: Version) -> Row {
    Row { feature, since, until: Some(until), stable: &[] }
}

const fn backported(feature: Feature, since: Version, stable: &'static [Version]) -> Row {
    Row { feature, since, until: None, stable }
}

/// The oldest version that the table speaks of.
const OLDEST: Version = Version::new(2, 6, 32);

static TABLE: &[Row] = &[
    row(Feature::HresAwareSelection, v(3, 11)),
    row(Feature::RefinedJiffies, v(3, 7)),
    backported(Feature::JiffiesAsDefaultClock, v(7, 1), &[Version::new(6, 12, 107)]),
    row(Feature::TscEarly, v(4, 16)),
    span(Feature::TscPresetHres, v(4, 16), v(7, 1)),
    row(Feature::WatchdogRewrite, v(7, 1)),
    row(Feature::NotscMarks, v(4, 19)),
    row(Feature::TscUnstableParameter, v(4, 13)),
    row(Feature::TscNowatchdog, v(5, 2)),
    row(Feature::ReliableSkipsSync, v(3, 3)),
    row(Feature::ReliableSparesUnsynchronized, Version::new(2, 6, 38)),
    row(Feature::ReliableProtectsTscEarly, v(5, 4)),
    row(Feature::UnsynchronizedByPackages, v(6, 12)),
    span(Feature::IntelConstantByModel, OLDEST, v(6, 15)),
    row(Feature::Pentium4Range, v(6, 17)),
    row(Feature::HypervNeedsHypercall, v(5, 16)),
    Row {
        feature: Feature::UnwatchedNodes2,
        since: v(5, 16),
        until: Some(v(6, 6)),
        stable: &[Version::new(5, 10, 223)],
    },
    span(Feature::UnwatchedNodes4, v(6, 6), v(6, 12)),
    row(Feature::UnwatchedPackages4, v(6, 12)),
    row(Feature::TscAdjustChecks, v(4, 10)),
    row(Feature::KnownFreq, v(4, 10)),
    backported(Feature::KvmKnownFreq, v(4, 18), &[Version::new(4, 14, 177)]),
    row(Feature::KvmClockYields, v(5, 1)),
    row(Feature::KvmClockVdso, v(3, 8)),
    row(Feature::HypervisorPriority, v(3, 12)),
    row(Feature::Nopv, v(5, 3)),
    row(Feature::NoKvmclockVsyscall, v(4, 19)),
    row(Feature::XenDom0Rating, v(4, 0)),
    row(Feature::XenSafeTsc, v(6, 3)),
    backported(Feature::XenVdso, v(4, 15), &[Version::new(4, 14, 177)]),
    row(Feature::XenHvmClock, Version::new(2, 6, 36)),
    row(Feature::HypervMsr, v(3, 2)),
    row(Feature::HypervPage, v(4, 3)),
    row(Feature::HypervUnified, v(4, 11)),
    row(Feature::HypervInvariant, v(5, 5)),
    span(Feature::HypervRating250, v(5, 6), v(5, 13)),
    row(Feature::HypervRating500, v(5, 13)),
    row(Feature::HypervMsrBeside, v(6, 5)),
    row(Feature::HypervPageVdso, v(4, 12)),
    span(Feature::HpetVdso, OLDEST, v(4, 7)),
    row(Feature::GenericVdso, v(5, 3)),
    row(Feature::TaiVdso, v(4, 20)),
    row(Feature::Vdso32, v(3, 15)),
    backported(Feature::ReadbackRetries, v(5, 14), &[Version::new(5, 10, 223)]),
    row(Feature::TscEarlyKhz, v(5, 8)),
    row(Feature::ClearcpuidNames, v(5, 18)),
    row(Feature::Arm64Vdso, v(3, 7)),
    row(Feature::RiscvRating400, v(6, 3)),
    row(Feature::OverrideDeferred, v(4, 9)),
];

/// Upstream release whose clock code a Red Hat kernel is close to, by its major release and build
/// number: these kernels keep their base version and receive much newer code.
///
/// Evidence: a RHEL 8.10 kernel (4.18.0-553) selects `tsc` over Hyper-V's page when the invariant TSC
/// is granted, as upstream does since 5.6.
fn red_hat_features(release: u8, feature: Feature) -> Option<bool> {
    match (release, feature) {
        (8, Feature::HypervInvariant | Feature::HypervRating250) => Some(true),
        (8, Feature::KvmClockYields | Feature::TscNowatchdog) => Some(true),
        (7, Feature::KvmClockVdso | Feature::HypervisorPriority) => Some(true),
        _ => None,
    }
}

impl Feature {
    /// Whether a kernel has this change, as far as its version tells.
    #[must_use]
    pub fn of(self, kernel: &Kernel) -> bool {
        if let Vendor::Rhel(release) = kernel.vendor
            && let Some(answer) = red_hat_features(release, self)
        {
            return answer;
        }
        let version = kernel.version;
        let Some(row) = TABLE.iter().find(|row| row.feature == self) else { return false };
        let upstream = version >= row.since && row.until.is_none_or(|until| version < until);
        upstream
            || row.stable.iter().any(|first| {
                version >= *first && (version.major, version.minor) == (first.major, first.minor)
            })
    }

    /// The versions in words, for a citation: `since 4.16`, `2.6.32 to 4.6`.
    #[must_use]
    pub fn versions(self) -> String {
        let Some(row) = TABLE.iter().find(|row| row.feature == self) else {
            return "all versions".to_owned();
        };
        let stable: String =
            row.stable.iter().map(|v| format!(", {}.{}.y", v.major, v.minor)).collect();
        match row.until {
            Some(until) if row.since == OLDEST => format!("before {until}{stable}"),
            Some(until) => format!("{} until {until}{stable}", row.since),
            None => format!("since {}{stable}", row.since),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(text: &str) -> Kernel {
        Kernel::parse(text).unwrap()
    }

    #[test]
    fn every_feature_has_one_row() {
        for row in TABLE {
            assert_eq!(TABLE.iter().filter(|r| r.feature == row.feature).count(), 1);
        }
    }

    #[test]
    fn borders() {
        assert!(!Feature::TscEarly.of(&kernel("4.15.18")));
        assert!(Feature::TscEarly.of(&kernel("4.16.0")));
        assert!(!Feature::TscPresetHres.of(&kernel("7.1.8")));
        assert!(Feature::UnwatchedNodes2.of(&kernel("5.10.223")));
        assert!(!Feature::UnwatchedNodes2.of(&kernel("5.11.0")));
        assert!(Feature::HypervInvariant.of(&kernel("4.18.0-553.16.1.el8_10.x86_64")));
        assert!(!Feature::HypervInvariant.of(&kernel("4.18.0")));
    }
}
