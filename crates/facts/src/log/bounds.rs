//! The kernel versions that the wording of the messages allows.
//!
//! A lower bound means that no older kernel prints such words, an upper bound that no newer one
//! does. Distributions backport features to older kernels: a lower bound is that of the oldest
//! kernel known to print the words, not that of the release that introduced them.

use super::event::{Event, Refusal, UnstableReason};
use super::prefix::strip;
use super::{Entry, KernelLog, released};
use crate::Source;
use crate::version::Version;

/// The bounds of the kernel's version that the words of a log prove, each with its line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VersionBounds {
    /// No kernel older than this prints that line.
    pub at_least: Option<(Version, Source)>,
    /// No kernel of this version or newer prints that line.
    pub below: Option<(Version, Source)>,
}

/// The bounds of one line.
#[derive(Clone, Copy, Default)]
struct Bound {
    at_least: Option<Version>,
    below: Option<Version>,
}

impl Bound {
    fn from(major: u16, minor: u16) -> Self {
        Self { at_least: Some(Version::new(major, minor, 0)), below: None }
    }

    fn until(major: u16, minor: u16) -> Self {
        Self { at_least: None, below: Some(Version::new(major, minor, 0)) }
    }

    fn below(major: u16, minor: u16, patch: u16) -> Self {
        Self { at_least: None, below: Some(Version::new(major, minor, patch)) }
    }

    fn between(from: (u16, u16), until: (u16, u16)) -> Self {
        let (at_least, below) = (Self::from(from.0, from.1), Self::until(until.0, until.1));
        Self { at_least: at_least.at_least, below: below.below }
    }

    fn and(self, other: Self) -> Self {
        let below = match (self.below, other.below) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        Self { at_least: self.at_least.max(other.at_least), below }
    }
}

/// The bounds of a whole log.
pub(super) fn of(log: &KernelLog) -> VersionBounds {
    let mut bounds = VersionBounds::default();
    for entry in &log.entries {
        let found = of_entry(entry);
        if let Some(version) = found.at_least
            && bounds.at_least.as_ref().is_none_or(|(known, _)| version > *known)
        {
            bounds.at_least = Some((version, log.source(entry)));
        }
        if let Some(version) = found.below
            && bounds.below.as_ref().is_none_or(|(known, _)| version < *known)
        {
            bounds.below = Some((version, log.source(entry)));
        }
    }
    // Lines of two kernels in one log prove nothing.
    if let (Some((from, _)), Some((until, _))) = (&bounds.at_least, &bounds.below)
        && from >= until
    {
        return VersionBounds::default();
    }
    by_date(log, bounds)
}

/// A kernel is not newer than its log. Words that prove the contrary show a clock that was not set.
fn by_date(log: &KernelLog, mut bounds: VersionBounds) -> VersionBounds {
    let dated = |entry: &Entry| Some((released::date(&entry.text)?, log.source(entry)));
    let latest = log.entries.iter().filter_map(dated).max_by_key(|(date, _)| *date);
    if let Some((date, source)) = latest
        && let Some(below) = released::not_yet(date)
        && bounds.at_least.as_ref().is_none_or(|(least, _)| *least < below)
        && bounds.below.as_ref().is_none_or(|(known, _)| below < *known)
    {
        bounds.below = Some((below, source));
    }
    bounds
}

fn of_entry(entry: &Entry) -> Bound {
    let line = strip(&entry.text);
    // Only the kernel's prefix shows that nothing was omitted before the message.
    let whole = line.kernel == Some(true);
    let by_name = match &entry.event {
        Event::Registered { name, .. } | Event::Switched(name) => of_name(name),
        Event::WatchdogMarked { name, .. } => of_name(name),
        _ => Bound::default(),
    };
    by_name.and(of_event(&entry.event, line.message, whole))
}

/// Whether kernels of this version no longer have a clocksource of this name.
pub(super) fn is_gone(version: &Version, name: &str) -> bool {
    of_name(name).below.is_some_and(|below| *version >= below)
}

/// The versions that have a clocksource of this name.
fn of_name(name: &str) -> Bound {
    match name {
        // tsc_init() in arch/x86/kernel/tsc.c.
        "tsc-early" => Bound::from(4, 16),
        // register_refined_jiffies() in kernel/time/jiffies.c.
        "refined-jiffies" => Bound::from(3, 7),
        // arch/x86/kernel/cpu/mshyperv.c; two clocksources with longer names since 4.11.
        "hyperv_clocksource" => Bound::until(4, 11),
        _ => Bound::default(),
    }
}

fn of_event(event: &Event, message: &str, whole: bool) -> Bound {
    let prefixed = message.starts_with("clocksource:");
    match event {
        // timekeeping_notify(), change_clocksource() in kernel/time: `Switching to` until 3.10,
        // `clocksource: ` before it since 4.2. Red Hat's 3.10 has `Switched to`.
        Event::Switched(_) if message.starts_with("Time: ") => Bound::below(2, 6, 28),
        // timekeeping of x86 before the clocksource framework: 2.6.18, with 64 bits 2.6.21.
        Event::TimeSource { bits: 32, .. } => Bound::below(2, 6, 18),
        Event::TimeSource { .. } | Event::LostTicks(_) | Event::HpetFallback => {
            Bound::below(2, 6, 21)
        }
        Event::Switched(_) if message.contains("Switching to clocksource") => Bound::until(3, 11),
        Event::Switched(_) if prefixed => Bound::from(4, 2),
        Event::Switched(_) if message.contains("Switched to") && whole => {
            Bound::between((3, 10), (4, 2))
        }
        // __clocksource_update_freq_scale() in kernel/time/clocksource.c: since 4.1, with a colon
        // since 4.2.
        // With or without words before it.
        Event::Switched(_) if message.contains("Switched to") => Bound::from(3, 10),
        // is_hpet_enabled() in arch/x86/kernel/hpet.c: 5.15, and 5.10.y.
        Event::HpetDisabled(text) if text.contains("PC10") => Bound::from(5, 10),
        Event::Registered { .. } if prefixed => Bound::from(4, 2),
        Event::Registered { .. } => Bound::between((4, 1), (4, 2)),
        // clocksource_watchdog() in kernel/time/clocksource.c.
        Event::WatchdogOld { .. } | Event::WatchdogKept { .. } => Bound::until(4, 1),
        Event::WatchdogMarked { cpu: Some(_), .. } => Bound::between((4, 5), (7, 1)),
        Event::WatchdogMarked { .. } if prefixed => Bound::between((4, 2), (4, 7)),
        Event::WatchdogMarked { .. } if whole => Bound::between((4, 1), (4, 2)),
        Event::WatchdogMarked { .. } => Bound::between((4, 1), (4, 7)),
        // 5.14 and 6.3 introduced these; enterprise kernels have them since 4.18.
        Event::WatchdogDetail { nsec: Some(_), .. }
        | Event::WatchdogSkewed { .. }
        | Event::WatchdogCurrent(_)
        | Event::ReadbackDelay { .. }
        | Event::SkewTestSkipped
        | Event::WatchdogRetried
        | Event::CrossCheck
        | Event::CrossCheckOfOne
        | Event::CrossCheckSkew { .. }
        | Event::LongReadout { .. }
        | Event::LongReadoutCut => Bound::between((4, 18), (7, 1)),
        Event::WatchdogDetail { .. } => Bound::between((4, 1), (7, 1)),
        // The watchdog as rewritten in 7.1.
        Event::WatchdogVerdict { .. }
        | Event::WatchdogInterval { .. }
        | Event::WatchdogCpuOrder
        | Event::RemoteTimeout
        | Event::WatchdogReadTimeout { .. } => Bound::from(7, 1),
        // __clocksource_select(), clocksource_select_fallback() in kernel/time/clocksource.c.
        Event::Override { refusal: Refusal::NotHres, .. } => Bound::until(4, 9),
        Event::Override { .. } => Bound::from(4, 9),
        // mark_tsc_unstable() and its callers; `tsc: ` before it since 3.6 (pr_fmt).
        Event::TscUnstable(reason) => of_reason(reason).and(of_tsc_prefix(message, whole)),
        Event::Detected { .. } | Event::Refined { .. } | Event::Calibration(_) => {
            of_tsc_prefix(message, false)
        }
        // sched_clock_init_late(), __set_sched_clock_stable() in kernel/sched/clock.c.
        Event::SchedClockStable | Event::SchedClockUnstable => Bound::from(4, 13),
        // topology_update_package_map(): `Max.` with a point since 4.6; `CPU topo: ` since 6.9.
        Event::Packages(_) if message.starts_with("CPU topo:") => Bound::from(6, 9),
        Event::PossibleCpus(_) if message.starts_with("CPU topo:") => Bound::from(6, 9),
        _ => Bound::default(),
    }
}

fn of_reason(reason: &UnstableReason) -> Bound {
    match reason {
        UnstableReason::Watchdog => Bound::from(4, 11),
        UnstableReason::BootParameter => Bound::from(4, 13),
        UnstableReason::BootParameterNotsc => Bound::from(4, 19),
        UnstableReason::UvBios => Bound::from(4, 15),
        // verify_tsc_freq() in arch/i386/kernel/tsc.c: 2.6.18 to 2.6.20.
        UnstableReason::RunningSlowly => Bound::below(2, 6, 21),
        _ => Bound::default(),
    }
}

fn of_tsc_prefix(message: &str, whole: bool) -> Bound {
    if message.starts_with("tsc: ") {
        Bound::from(3, 6)
    } else if whole && message.starts_with("Marking TSC unstable") {
        Bound::until(3, 6)
    } else {
        Bound::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(log: &str) -> (Option<Version>, Option<Version>) {
        let log = KernelLog::scan(log.as_bytes(), "log").unwrap();
        let bounds = log.version_bounds();
        (bounds.at_least.map(|found| found.0), bounds.below.map(|found| found.0))
    }

    const fn v(major: u16, minor: u16) -> Option<Version> {
        Some(Version::new(major, minor, 0))
    }

    #[test]
    fn words_bound_the_version() {
        for (log, at_least, below) in [
            ("Switching to clocksource xen\n", None, v(3, 11)),
            ("clocksource: Switched to clocksource xen\n", v(4, 2), None),
            ("Switched to clocksource xen\n", v(3, 10), None),
            ("hpet: HPET dysfunctional in PC10. Force disabled.\n", v(5, 10), None),
            ("[    1.000000] Switched to clocksource xen\n", v(3, 10), v(4, 2)),
            ("clocksource: Switched to clocksource tsc-early\n", v(4, 16), None),
            ("Clocksource tsc unstable (delta = -131624372 ns)\n", None, v(4, 1)),
            (
                "clocksource: timekeeping watchdog on CPU5: Marking clocksource 'tsc' as unstable \
                 because the skew is too large:\n",
                v(4, 5),
                v(7, 1),
            ),
            ("clocksource: Watchdog remote CPU 3 read timed out\n", v(7, 1), None),
            ("Override clocksource tsc is not HRT compatible\n", None, v(4, 9)),
            ("tsc: Marking TSC unstable due to boot parameter notsc\n", v(4, 19), None),
            ("sched_clock: Marking stable (1, 2)->(3, 4)\n", v(4, 13), None),
            ("hpet0: 3 comparators, 64-bit 14.318180 MHz counter\n", None, None),
        ] {
            assert_eq!(bounds(log), (at_least, below), "{log}");
        }
    }

    #[test]
    fn each_bound_names_its_line() {
        let log = "Switching to clocksource hpet\nSwitching to clocksource tsc\n";
        let log = KernelLog::scan(log.as_bytes(), "log").unwrap();
        let (_, source) = log.version_bounds().below.unwrap();
        assert_eq!(source.0, "log:1");
    }

    #[test]
    fn date_of_a_log_bounds_its_kernel_from_above() {
        let log = "[Wed Sep  9 08:37:21 2020] clocksource: Switched to clocksource tsc-early\n";
        assert_eq!(bounds(log), (v(4, 16), v(5, 10)));
        // A clock that was not set.
        let log = "[Thu Jan  1 00:00:12 2015] clocksource: Switched to clocksource tsc-early\n";
        assert_eq!(bounds(log), (v(4, 16), None));
    }

    #[test]
    fn lines_of_two_kernels_prove_nothing() {
        let log = "Switching to clocksource tsc\nclocksource: Switched to clocksource tsc-early\n";
        assert_eq!(bounds(log), (None, None));
    }
}
