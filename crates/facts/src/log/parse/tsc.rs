//! Messages of the TSC code: calibration, synchronisation test, TSC_ADJUST, demotion.

use super::super::event::{Calibration, Event, TscAdjust, UnstableReason};
use super::{find, is_megahertz, number, thousandths};

/// The words without which no message of this module exists.
pub(super) const KEYWORDS: &[&str] = &[
    "TSC",
    "tsc",
    "MHz processor",
    "PIT calibration",
    "calibrate against PIT",
    "PMTIMER",
    "ched_clock: Marking",
];

/// `m` is the whole message, `b` the part after the kernel's prefixes.
pub(super) fn parse(m: &str, b: &str) -> Option<Event> {
    verdict(m, b).or_else(|| sync(b)).or_else(|| frequency(b)).or_else(|| other(m, b))
}

fn verdict(m: &str, b: &str) -> Option<Event> {
    if let Some(reason) = b.strip_prefix("Marking TSC unstable due to") {
        return Some(Event::TscUnstable(UnstableReason::parse(reason)));
    }
    // Up to 2.6.20.
    if b.starts_with("TSC appears to be running slowly") {
        return Some(Event::TscUnstable(UnstableReason::RunningSlowly));
    }
    // `dmi_mark_tsc_unstable()` in arch/x86/kernel/tsc.c, up to 2.6.38: the table has one machine.
    if b.starts_with("IBM Thinkpad 380XD detected: marking TSC unstable") {
        return Some(Event::TscUnstable(UnstableReason::Other("DMI quirk".to_owned())));
    }
    if b.starts_with("TSC found unstable after boot") {
        return Some(Event::FoundUnstableAfterBoot);
    }
    let clock = m.strip_prefix("sched_clock: Marking ")?;
    if clock.starts_with("unstable") {
        return Some(Event::SchedClockUnstable);
    }
    clock.starts_with("stable (").then_some(Event::SchedClockStable)
}

const WARP: &str = "cycles TSC warp between CPUs";

fn sync(b: &str) -> Option<Event> {
    if let Some(rest) = b.strip_prefix("Measured ") {
        // `Measured 212 cycles TSC warp between CPUs, turning off TSC clock.`, or as far as a cut line goes.
        let behind =
            rest.trim_start().trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
        let cut = behind.starts_with("cycles TSC")
            && WARP.starts_with(behind.trim_end_matches(['>', '\u{2026}']));
        return if cut || behind.starts_with(WARP) {
            Some(Event::Warp { cycles: number(rest)? })
        } else {
            None
        };
    }
    if b.starts_with("TSC warped randomly between CPUs") {
        return Some(Event::WarpRandom);
    }
    if b.starts_with("Skipped synchronization checks as TSC is reliable") {
        return Some(Event::SyncSkipped);
    }
    if b.starts_with("check_system_tsc_reliable: disable clocksource watchdog") {
        return Some(Event::WatchdogDisabled);
    }
    // check_tsc_sync_source() in arch/x86/kernel/tsc_sync.c prints this header alone when the test
    // failed; otherwise `checking ...` precedes it (2.6.32) or `: passed` follows it.
    if let Some(rest) = b.strip_prefix("TSC synchronization [CPU#") {
        let rest = rest.trim_end();
        let target = &rest[find(rest, "-> CPU#")? + 7..];
        return (target.ends_with("]:")).then_some(Event::WarpHeader {
            from: u32::try_from(number(rest)?).ok()?,
            to: u32::try_from(number(target)?).ok()?,
        });
    }
    let rest = b.strip_prefix("TSC ADJUST")?;
    let at_boot = ["differs within socket", "differs: Reference"];
    Some(Event::TscAdjust(if at_boot.iter().any(|words| rest.contains(words)) {
        TscAdjust::DiffersInSocket
    } else if rest.contains("differs") {
        TscAdjust::Restored
    } else if rest.contains("force to") {
        TscAdjust::Forced
    } else if rest.contains("compensate") {
        TscAdjust::Compensated
    } else {
        TscAdjust::Other
    }))
}

fn frequency(b: &str) -> Option<Event> {
    if let Some(rest) = b.strip_prefix("Detected ") {
        let mhz = find(rest, " MHz ")?;
        let tsc = rest[mhz + 5..].starts_with("TSC");
        let known = tsc || rest[mhz + 5..].starts_with("processor");
        return if known && is_megahertz(rest) {
            Some(Event::Detected { khz: thousandths(rest)?, tsc })
        } else {
            None
        };
    }
    if let Some(rest) = b.strip_prefix("Refined TSC clocksource calibration: ") {
        // Without its unit the figure may be cut.
        return if is_megahertz(rest) {
            Some(Event::Refined { khz: thousandths(rest)? })
        } else {
            None
        };
    }
    if let Some(rest) = b.strip_prefix("TSC freq read from hypervisor") {
        let rest = rest.trim_start().strip_prefix(':')?;
        return if is_megahertz(rest) {
            Some(Event::VmwareTscKhz(thousandths(rest)?))
        } else {
            None
        };
    }
    let warning = b.strip_prefix("Warning: ").unwrap_or(b);
    if warning.starts_with("TSC freq calibrated by CPUID/MSR differs") {
        return Some(Event::RecalibrationDiffers);
    }
    calibration(b).map(Event::Calibration)
}

fn calibration(b: &str) -> Option<Calibration> {
    const TEXTS: [(&str, Calibration); 13] = [
        ("Fast TSC calibration using PIT", Calibration::FastPit),
        ("Fast TSC calibration failed", Calibration::FastPitFailed),
        ("Unable to calibrate against PIT", Calibration::NoPit),
        ("No reference (HPET/PMTIMER) available", Calibration::NoReference),
        ("HPET/PMTIMER calibration failed", Calibration::ReferenceFailed),
        ("using HPET reference calibration", Calibration::Hpet),
        ("PIT calibration matches HPET", Calibration::Hpet),
        ("using PMTIMER reference", Calibration::PmTimer),
        ("PIT calibration matches PMTIMER", Calibration::PmTimer),
        ("PIT calibration deviates", Calibration::Deviates),
        ("Using PIT calibration value", Calibration::Pit),
        ("using PIT calibration value", Calibration::Pit),
        ("Using PMTIMER reference", Calibration::PmTimer),
    ];
    TEXTS.iter().find(|(text, _)| b.starts_with(text)).map(|(_, found)| *found)
}

fn other(m: &str, b: &str) -> Option<Event> {
    if b.starts_with("TSC doesn't count with P0 frequency") {
        return Some(Event::P0Mismatch);
    }
    // `notsc: ` before it until `pr_fmt` was introduced.
    let notsc = m.strip_prefix("notsc: ").unwrap_or(b);
    if notsc.starts_with("Kernel compiled with CONFIG_X86_TSC, cannot disable TSC completely") {
        return Some(Event::NotscIgnored);
    }
    // A line that is cut ends without the period.
    if notsc.starts_with("Kernel compiled with CONFIG_X86_TSC, cannot disable TSC.") {
        return Some(Event::NotscRefused);
    }
    let kvm = b.starts_with("SMP vm created on host with unstable TSC")
        || b.starts_with("host with unstable TSC")
        || (m.starts_with("kvm") && b.contains("TSC scaling unavailable"));
    kvm.then(|| Event::KvmTscUnreliable(m.chars().take(200).collect()))
}
