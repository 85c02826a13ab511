//! Changes in the kernel's clock code, and the versions that have them.
//!
//! Upstream versions: the first release that has the change. `stable` spans are point releases of
//! older lines that received it. Distributions backport more than that; a contradiction between this
//! table and what a machine shows is settled in favour of the machine.

use clocksmith_facts::version::{Kernel, Vendor, Version};
use std::collections::BTreeSet;

/// The versions of one change.
struct Row {
    /// First upstream version.
    since: Version,
    /// First upstream version without it.
    until: Option<Version>,
    /// Stable point release that received it: from this one to below the next minor.
    stable: Option<Version>,
    /// Stable point release from which on that line may have received it, where `stable` is only known to have it.
    stable_perhaps: Option<Version>,
    /// Stable point release that lost it before `until`: from this one to below the next minor.
    stable_until: Option<Version>,
}

const fn v(major: u16, minor: u16) -> Version {
    Version::new(major, minor, 0)
}

const fn row(since: Version) -> Row {
    Row { since, until: None, stable: None, stable_perhaps: None, stable_until: None }
}

const fn span(since: Version, until: Version) -> Row {
    Row { since, until: Some(until), stable: None, stable_perhaps: None, stable_until: None }
}

const fn backported(since: Version, stable: Version) -> Row {
    Row { since, until: None, stable: Some(stable), stable_perhaps: None, stable_until: None }
}

const fn backported_between(since: Version, perhaps: Version, stable: Version) -> Row {
    Row { stable_perhaps: Some(perhaps), ..backported(since, stable) }
}

const fn lost_early(since: Version, until: Version, stable_until: Version) -> Row {
    Row {
        since,
        until: Some(until),
        stable: None,
        stable_perhaps: None,
        stable_until: Some(stable_until),
    }
}

/// The oldest version that the table covers.
pub const OLDEST: Version = Version::new(2, 6, 12);

/// Defines the changes and their versions in one list, so that each change has a row.
macro_rules! features {
    ($($(#[$doc:meta])* $name:ident => $row:expr;)*) => {
        /// A change that a rule depends on.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Feature {
            $($(#[$doc])* $name,)*
        }

        impl Feature {
            /// Every change of the table.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            const fn row(self) -> Row {
                match self {
                    $(Self::$name => $row,)*
                }
            }
        }
    };
}

features! {
    /// A clocksource that cannot do high resolution is not selected in one-shot mode.
    HresAwareSelection => row(v(3, 11));
    /// `refined-jiffies` exists.
    RefinedJiffies => row(v(3, 7));
    /// `jiffies` is registered as the architecture's default clock, and not where the architecture has another default.
    JiffiesAsDefaultClock => backported(v(7, 1), Version::new(6, 12, 107));
    /// `tsc-early` serves until `tsc` is registered, and an unstable TSC is never registered.
    TscEarly => row(v(4, 16));
    /// `tsc` is registered with `VALID_FOR_HRES` preset.
    TscPresetHres => span(v(4, 16), v(7, 1));
    /// The watchdog was rewritten: the reference must be continuous, and `tsc` inherits `VALID_FOR_HRES`.
    WatchdogRewrite => row(v(7, 1));
    /// `notsc` marks the TSC unstable (earlier kernels only do not register it).
    NotscMarks => row(v(4, 19));
    /// `tsc=unstable` exists.
    TscUnstableParameter => row(v(4, 13));
    /// `tsc=nowatchdog` exists.
    TscNowatchdog => row(v(5, 2));
    /// `tsc=reliable` skips the warp test.
    ReliableSkipsSync => row(v(3, 3));
    /// With `tsc_clocksource_reliable`, non-Intel machines do not get the verdict "unsynchronized".
    ReliableSparesUnsynchronized => row(Version::new(2, 6, 38));
    /// A 64-bit kernel reads the HPET or the PM timer only if the TSC was disabled, by `notsc` or by `unsynchronized_tsc()`
    /// (`time_init_gtod()` in arch/x86_64/kernel/time.c).
    TimeCPrefersTsc => span(Version::new(2, 6, 14), Version::new(2, 6, 21));
    /// `tsc=reliable` protects `tsc-early` too.
    ReliableProtectsTscEarly => row(v(5, 4));
    /// The "unsynchronized" rule counts packages, not possible CPUs.
    UnsynchronizedByPackages => row(v(6, 12));
    /// The kernel takes the TSC of every Intel model from family 6 model 0x0e on as constant.
    IntelConstantByModel => span(OLDEST, v(6, 15));
    /// The narrower list of Intel models with a constant TSC includes Pentium 4 models 3 to 6.
    Pentium4Range => row(v(6, 17));
    /// Hyper-V is detected only with the hypercall and VP index privileges.
    HypervNeedsHypercall => row(v(5, 16));
    /// With `constant_tsc`, `nonstop_tsc` and TSC_ADJUST on at most 2 NUMA nodes, the watchdog does not watch the TSC.
    UnwatchedNodes2 => Row { since: v(5, 16), until: Some(v(6, 6)), stable: Some(Version::new(5, 10, 223)), stable_perhaps: None, stable_until: None };
    /// With `constant_tsc`, `nonstop_tsc` and TSC_ADJUST on at most 4 NUMA nodes, the watchdog does not watch the TSC.
    UnwatchedNodes4 => span(v(6, 6), v(6, 12));
    /// With `constant_tsc`, `nonstop_tsc` and TSC_ADJUST on at most 4 packages, the watchdog does not watch the TSC.
    UnwatchedPackages4 => row(v(6, 12));
    /// TSC_ADJUST is checked, and the warp test is skipped inside a package.
    TscAdjustChecks => row(v(4, 10));
    /// `TSC_KNOWN_FREQ` registers `tsc` without the one-second refinement.
    KnownFreq => row(v(4, 10));
    /// In KVM guests the TSC frequency counts as known (`TSC_KNOWN_FREQ`).
    KvmKnownFreq => backported(v(4, 18), Version::new(4, 14, 177));
    /// kvm-clock has the rating 299 with an invariant TSC.
    KvmClockYields => row(v(5, 1));
    /// kvm-clock prints its scheduler offset only if the page has the stable bit. Since b5179ec41872 (2019) it always
    /// prints the offset; 4.19.73 also has this commit, so nothing is concluded for 4.19 and 4.20.
    /// The message came with the branch for the bit in 4.2, so an older kernel of a distribution that prints it has both.
    KvmOffsetShowsStableBit => span(Version::new(2, 6, 32), v(4, 19));
    /// kvm-clock has a vDSO mode.
    KvmClockVdso => row(v(3, 8));
    /// The hypervisor with the highest CPUID base wins.
    HypervisorPriority => row(v(3, 12));
    /// `nopv` exists.
    Nopv => row(v(5, 3));
    /// `no-kvmclock-vsyscall` exists.
    NoKvmclockVsyscall => row(v(4, 19));
    /// Kernels with Xen's own patches (`arch/x86/kernel/time-xen.c`), beside the guest support of Linux itself: SUSE
    /// carried them longest, until 4.4.
    XenPatches => span(OLDEST, v(4, 5));
    /// Xen's clock has the rating 275 in dom0.
    XenDom0Rating => row(v(4, 0));
    /// Xen's clock has the rating 299 if the TSC is invariant and never emulated.
    XenSafeTsc => row(v(6, 3));
    // The stable line of 4.14 received it with the repair of Xen's sched_clock(), which needs it (867cefb4cb10 of January
    // 2019, when 4.14.93 was the last release); 4.14.177 has it.
    /// Xen's clock has a vDSO mode.
    XenVdso => backported_between(v(4, 15), Version::new(4, 14, 94), Version::new(4, 14, 177));
    /// `hyperv_clocksource` (the MSR) exists in the kernel proper.
    HypervMsr => row(v(3, 2));
    /// Hyper-V's TSC page exists, and the TSC is marked unstable.
    HypervPage => row(v(4, 3));
    /// The clocksource is named `hyperv_clocksource_tsc_page` or `hyperv_clocksource_msr`, and up to 6.4 only one of
    /// the two is registered.
    HypervUnified => row(v(4, 11));
    /// Under Hyper-V the kernel does not mark the TSC unstable if the host grants the invariant TSC.
    HypervInvariant => row(v(5, 5));
    /// Hyper-V's clocks are rated 250.
    HypervRating250 => span(v(5, 6), v(5, 13));
    /// Hyper-V's clocks are rated 500, and 250 with an invariant TSC.
    HypervRating500 => row(v(5, 13));
    /// Hyper-V's MSR clock is registered in addition to the page, with a rating that is lower by 5.
    HypervMsrBeside => row(v(6, 5));
    /// Hyper-V's TSC page has a vDSO mode.
    HypervPageVdso => row(v(4, 12));
    // Commit 1ed95e52d902, in 4.4.190 as d96d87834d5b.
    /// The HPET can be read by the vDSO.
    HpetVdso => lost_early(OLDEST, v(4, 7), Version::new(4, 4, 190));
    /// Generic vDSO: MONOTONIC_RAW and BOOTTIME are served.
    GenericVdso => row(v(5, 3));
    /// CLOCK_TAI is served by the vDSO.
    TaiVdso => row(v(4, 20));
    /// 32-bit processes have a vDSO `clock_gettime`.
    Vdso32 => row(v(3, 15));
    /// 32-bit Arm's vDSO exists, and reads the architected counter (`arch/arm/kernel/vdso.c`).
    ArmVdso => row(v(4, 1));
    /// 32-bit Arm's vDSO also accepts a timer that the device tree calls `arm,armv8-timer` alone (`cntvct_functional()` in
    /// `arch/arm/kernel/vdso.c`). Stable releases of the lines before received it at different points, so that nothing
    /// is concluded for those.
    ArmVdsoArmv8Timer => row(v(5, 6));
    /// MIPS's vDSO reads the time (`arch/mips/vdso/gettimeofday.c`).
    MipsVdso => row(v(4, 4));
    /// With several clusters of MIPS processors, the GIC's counter is read without the vDSO (commit dfe101bcad84,
    /// "clocksource/drivers/mips-gic-timer: Always use cluster 0 counter as clocksource", for 6.13).
    MipsGicClusters => row(v(6, 13));
    /// The vDSOs of IBM Z (5.10) and POWER (5.11) have the generic code, which serves the coarse clocks.
    GenericVdsoEverywhere => row(v(5, 11));
    /// SPARC's vDSO may exist: commit 9a08862a5d2e ("vDSO for sparc") is of 2017, and 4.10 is the first kernel of 2017.
    SparcVdsoEarliest => row(v(4, 10));
    /// SPARC's vDSO exists.
    SparcVdsoLatest => row(v(4, 19));
    /// IBM Z's vDSO exists, and reads the clock (`arch/s390/kernel/vdso.c`).
    S390Vdso => row(Version::new(2, 6, 29));
    /// LoongArch is in the kernel, with a vDSO that reads the clock in 64-bit kernels. The evidence does not cover the
    /// vendors' earlier kernels.
    LoongarchUpstream => row(v(5, 19));
    /// `CLOCK_REALTIME_COARSE` and `CLOCK_MONOTONIC_COARSE` exist (`kernel/posix-timers.c`).
    CoarseClocks => row(Version::new(2, 6, 32));
    /// The clocksource framework, with its directory in sysfs, on 32-bit x86.
    SysfsClocksource => row(Version::new(2, 6, 18));
    /// The clocksource framework, with its directory in sysfs, on 64-bit x86 (`arch/x86_64/kernel/time.c` uses it).
    SysfsClocksource64 => row(Version::new(2, 6, 21));
    /// The list of clocksources is sorted by rating, and the kernel chooses the first one (`clocksource_enqueue()` in
    /// `kernel/time/clocksource.c`); before, the list is in the order of registration, the newest first (`list_add()`
    /// in `clocksource_register()`), and the kernel searches it for the highest rating.
    SortedList => row(Version::new(2, 6, 21));
    /// The kernel checks a name that is written to `current_clocksource`: while the tick is one-shot, it refuses one
    /// that is not valid for high resolution (`clocksource_select()` in `kernel/time/clocksource.c`). Earlier kernels
    /// accept any registered name (`sysfs_override_clocksource()`).
    OverrideChecked => row(Version::new(2, 6, 31));
    /// 64-bit x86 has a vDSO (commit 2aae950b21e4). Before, its vsyscall page serves only gettimeofday and time.
    Vdso64 => row(Version::new(2, 6, 23));
    /// `mark_tsc_unstable()` prints the mark and its reason (2.6.22 for both widths).
    SaysTscUnstable => row(Version::new(2, 6, 22));
    /// The watchdog retries slow read-backs before it demotes.
    ReadbackRetries => backported(v(5, 14), Version::new(5, 10, 223));
    /// `tsc_early_khz=` exists.
    TscEarlyKhz => row(v(5, 8));
    /// `clearcpuid=` takes names.
    ClearcpuidNames => row(v(5, 18));
    /// arm64's vDSO exists.
    Arm64Vdso => row(v(3, 7));
    /// RISC-V: rating 400 (before: 300).
    RiscvRating400 => row(v(6, 3));
    /// The kernel defers an override that it cannot honour yet, instead of forgetting it.
    OverrideDeferred => row(v(4, 9));
    /// Xen: the clock is registered by HVM guests with a safe pvclock.
    XenHvmClock => row(Version::new(2, 6, 36));
    /// RISC-V's vDSO reads the time (before: every read is a system call).
    RiscvVdso => row(v(5, 8));
    /// `intel_idle` and its parameter `max_cstate` exist (`drivers/idle/intel_idle.c`).
    IntelIdle => row(Version::new(2, 6, 35));
    /// `tsc=recalibrate` exists.
    TscRecalibrate => row(v(6, 3));
    /// `tsc=watchdog` exists.
    TscWatchdogParameter => row(v(6, 3));
    /// The delay loop is computed from the TSC's frequency if the frequency is known, so a measured delay loop shows
    /// that it is not known.
    DelayLoopFromTimer => row(v(3, 0));
}

/// Upstream release whose clock code a Red Hat kernel is close to, by its major release and build
/// number: these kernels keep their base version and receive much newer code.
///
/// Evidence: a RHEL 8.10 kernel (4.18.0-553) selects `tsc` over Hyper-V's page when the invariant TSC
/// is granted, as upstream does since 5.6.
fn red_hat_features(kernel: &Kernel, release: u8, feature: Feature) -> Option<bool> {
    match (release, feature) {
        // Builds of 2019 (8.0: 80, 8.1: 147) are older than upstream's change.
        (8, Feature::HypervInvariant | Feature::HypervRating250)
            if build(kernel).is_some_and(|build| build < 193) =>
        {
            Some(false)
        }
        (8, Feature::HypervInvariant | Feature::HypervRating250) => Some(true),
        (8, Feature::KvmClockYields | Feature::TscNowatchdog) => Some(true),
        (7, Feature::KvmClockVdso | Feature::HypervisorPriority) => Some(true),
        // 7.5, by Red Hat's bug 1410023 and the tests of microsoft/lis-test.
        (7, Feature::HypervPageVdso) => Some(build(kernel).is_some_and(|build| build >= RHEL_7_5)),
        _ => None,
    }
}

/// Builds of the kernels of RHEL 7.3 and 7.5.
const RHEL_7_3: u32 = 514;
const RHEL_7_5: u32 = 862;

/// The number of the build: 80 of `4.18.0-80.11.2.el8_0.x86_64`.
fn build(kernel: &Kernel) -> Option<u32> {
    let (_, rest) = kernel.release.split_once('-')?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

impl Feature {
    /// Whether a kernel has this change, judged by its version.
    #[must_use]
    pub fn of(self, kernel: &Kernel) -> bool {
        if let Vendor::Rhel(release) = kernel.vendor
            && let Some(answer) = red_hat_features(kernel, release, self)
        {
            return answer;
        }
        let version = kernel.version;
        let row = self.row();
        let from_point = |first: Version| {
            version >= first && (version.major, version.minor) == (first.major, first.minor)
        };
        if row.stable_until.is_some_and(from_point) {
            return false;
        }
        let upstream = version >= row.since && row.until.is_none_or(|until| version < until);
        upstream || row.stable.is_some_and(from_point)
    }

    /// Whether this release of a stable line may have the change: a later release of the line is known to have it.
    #[must_use]
    pub fn may_be_in_stable(self, kernel: &Kernel) -> bool {
        let row = self.row();
        let between = row.stable_perhaps.zip(row.stable);
        between.is_some_and(|(perhaps, known)| (perhaps..known).contains(&kernel.version))
    }

    /// Whether a distribution may have added the change to this release, which is older: those whose kernels run on a
    /// cloud add the vDSO mode of Hyper-V's page to kernels before 4.12 (SUSE's change log of 4.4.179 names it).
    #[must_use]
    pub fn may_be_backported(self, kernel: &Kernel) -> bool {
        self == Self::HypervPageVdso
            && !self.of(kernel)
            && match kernel.vendor {
                Vendor::Rhel(7) => build(kernel).is_none_or(|build| build > RHEL_7_3),
                Vendor::Rhel(_)
                | Vendor::Ubuntu
                | Vendor::Suse
                | Vendor::Amazon
                | Vendor::Oracle => true,
                Vendor::Fedora | Vendor::Debian | Vendor::Unknown => false,
            }
    }

    /// Whether every kernel from this version on has the change.
    #[must_use]
    pub fn from(self, at_least: Version) -> bool {
        let row = self.row();
        row.until.is_none() && at_least >= row.since
    }

    /// The versions in words, for a citation: `since 4.16`, `2.6.32 to 4.6`.
    #[must_use]
    pub fn versions(self) -> String {
        let row = self.row();
        let stable: String =
            row.stable.iter().map(|v| format!(", {}.{}.y", v.major, v.minor)).collect();
        let lost: String = row
            .stable_until
            .iter()
            .map(|v| format!(", and not {}.{}.{} and later", v.major, v.minor, v.patch))
            .collect();
        match row.until {
            Some(until) if row.since == OLDEST => format!("before {until}{stable}{lost}"),
            Some(until) => format!("{} until {until}{stable}", row.since),
            None => format!("since {}{stable}", row.since),
        }
    }
}

/// Every version at which a rule changes, in order, from [`OLDEST`] on: between two of them all kernels follow the
/// same rules.
#[must_use]
pub fn borders() -> Vec<Version> {
    let mut all = BTreeSet::from([OLDEST]);
    for feature in Feature::ALL {
        let row = feature.row();
        all.insert(row.since);
        all.extend(row.until);
        for first in row.stable.into_iter().chain(row.stable_until) {
            all.insert(first);
            all.insert(v(first.major, first.minor + 1));
        }
    }
    all.into_iter().filter(|version| *version >= OLDEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(text: &str) -> Kernel {
        Kernel::parse(text).unwrap()
    }

    #[test]
    fn borders_hold_every_version_of_the_table_in_order() {
        let borders = borders();
        assert!(borders.is_sorted() && borders.contains(&v(4, 16)) && borders[0] == OLDEST);
        for feature in Feature::ALL {
            assert!(borders.contains(&feature.row().since), "{feature:?}");
        }
    }

    #[test]
    fn feature_of_holds_from_its_first_version_on() {
        assert!(!Feature::TscEarly.of(&kernel("4.15.18")));
        assert!(Feature::TscEarly.of(&kernel("4.16.0")));
        assert!(!Feature::TscPresetHres.of(&kernel("7.1.8")));
        assert!(Feature::UnwatchedNodes2.of(&kernel("5.10.223")));
        assert!(!Feature::UnwatchedNodes2.of(&kernel("5.11.0")));
        assert!(Feature::HypervInvariant.of(&kernel("4.18.0-553.16.1.el8_10.x86_64")));
        assert!(!Feature::HypervInvariant.of(&kernel("4.18.0")));
        assert!(!Feature::HypervInvariant.of(&kernel("4.18.0-80.11.2.el8_0.x86_64")));
    }

    #[test]
    fn release_of_a_stable_line_below_the_known_one_may_have_it() {
        for (version, may) in [
            ("4.13.16", false),
            ("4.14.93", false),
            ("4.14.94", true),
            ("4.14.176", true),
            ("4.14.177", false),
            ("4.15.0", false),
        ] {
            assert_eq!(Feature::XenVdso.may_be_in_stable(&kernel(version)), may, "{version}");
        }
        assert!(!Feature::KvmClockVdso.may_be_in_stable(&kernel("3.7.10")));
    }

    #[test]
    fn distributions_add_the_vdso_mode_of_hyperv_to_older_kernels() {
        for (release, has, may) in [
            ("3.10.0-1160.15.2.el7.x86_64", true, false),
            ("3.10.0-862.el7.x86_64", true, false),
            ("3.10.0-693.21.1.el7.x86_64", false, true),
            ("3.10.0-514.el7.x86_64", false, false),
            ("4.4.180-94.97-default", false, true),
            ("4.11.0-1016-azure", false, true),
            ("4.9.0-8-amd64", false, false),
            ("4.9.30", false, false),
            ("4.12.0", true, false),
        ] {
            let kernel = kernel(release);
            assert_eq!(Feature::HypervPageVdso.of(&kernel), has, "{release}");
            assert_eq!(Feature::HypervPageVdso.may_be_backported(&kernel), may, "{release}");
        }
        assert!(!Feature::XenVdso.may_be_backported(&kernel("3.10.0-693.el7.x86_64")));
    }

    #[test]
    fn hpet_left_the_vdso_of_a_stable_line_before_4_7() {
        for (version, has) in [
            ("2.6.24", true),
            ("4.4.189", true),
            ("4.4.190", false),
            ("4.4.302", false),
            ("4.5.0", true),
            ("4.6.7", true),
            ("4.7.0", false),
        ] {
            assert_eq!(Feature::HpetVdso.of(&kernel(version)), has, "{version}");
        }
        assert!(borders().contains(&Version::new(4, 4, 190)));
        assert_eq!(Feature::HpetVdso.versions(), "before 4.7, and not 4.4.190 and later");
    }
}
