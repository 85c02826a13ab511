//! Messages of the TSC code: calibration, synchronisation test, TSC_ADJUST, demotion.

use super::super::event::{Calibration, Event, TscAdjust, UnstableReason};
use super::{after, find, number, thousandths};

pub(super) fn parse(m: &str) -> Option<Event> {
    verdict(m).or_else(|| sync(m)).or_else(|| frequency(m)).or_else(|| other(m))
}

fn verdict(m: &str) -> Option<Event> {
    if let Some(reason) = after(m, "Marking TSC unstable due to") {
        return Some(Event::TscUnstable(UnstableReason::parse(reason)));
    }
    // Up to 2.6.20.
    if m.contains("TSC appears to be running slowly") {
        return Some(Event::TscUnstable(UnstableReason::RunningSlowly));
    }
    if m.contains("marking TSC unstable") && m.contains("detected") {
        return Some(Event::TscUnstable(UnstableReason::Other("DMI quirk".to_owned())));
    }
    if m.contains("TSC found unstable after boot") {
        return Some(Event::FoundUnstableAfterBoot);
    }
    if m.contains("sched_clock: Marking unstable") {
        return Some(Event::SchedClockUnstable);
    }
    None
}

fn sync(m: &str) -> Option<Event> {
    if let Some(rest) = after(m, "Measured ")
        && rest.contains("TSC warp between CPUs")
    {
        return Some(Event::Warp { cycles: number(rest)? });
    }
    if m.contains("TSC warped randomly between CPUs") {
        return Some(Event::WarpRandom);
    }
    if m.contains("Skipped synchronization checks as TSC is reliable") {
        return Some(Event::SyncSkipped);
    }
    let at = find(m, "TSC ADJUST")?;
    let rest = &m[at..];
    Some(Event::TscAdjust(if rest.contains("differs within socket") {
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

fn frequency(m: &str) -> Option<Event> {
    if let Some(rest) = after(m, "Detected ")
        && let Some(mhz) = find(rest, " MHz ")
    {
        let tsc = rest[mhz + 5..].starts_with("TSC");
        if tsc || rest[mhz + 5..].starts_with("processor") {
            return Some(Event::Detected { khz: thousandths(rest)?, tsc });
        }
    }
    if let Some(rest) = after(m, "Refined TSC clocksource calibration: ") {
        return Some(Event::Refined { khz: thousandths(rest)? });
    }
    if let Some(rest) = after(m, "TSC freq read from hypervisor") {
        let rest = rest.trim_start().strip_prefix(':')?;
        return Some(Event::VmwareTscKhz(thousandths(rest)?));
    }
    if m.contains("TSC freq calibrated by CPUID/MSR differs") {
        return Some(Event::RecalibrationDiffers);
    }
    calibration(m).map(Event::Calibration)
}

fn calibration(m: &str) -> Option<Calibration> {
    Some(if m.contains("Fast TSC calibration using PIT") {
        Calibration::FastPit
    } else if m.contains("Fast TSC calibration failed") {
        Calibration::FastPitFailed
    } else if m.contains("Unable to calibrate against PIT") {
        Calibration::NoPit
    } else if m.contains("No reference (HPET/PMTIMER) available") {
        Calibration::NoReference
    } else if m.contains("HPET/PMTIMER calibration failed") {
        Calibration::ReferenceFailed
    } else if m.contains("using HPET reference calibration")
        || m.contains("PIT calibration matches HPET")
    {
        Calibration::Hpet
    } else if m.contains("using PMTIMER reference") || m.contains("PIT calibration matches PMTIMER")
    {
        Calibration::PmTimer
    } else if m.contains("PIT calibration deviates") {
        Calibration::Deviates
    } else if m.contains("Using PIT calibration value") || m.contains("using PIT calibration value")
    {
        Calibration::Pit
    } else {
        return None;
    })
}

fn other(m: &str) -> Option<Event> {
    if m.contains("TSC doesn't count with P0 frequency") {
        return Some(Event::P0Mismatch);
    }
    if m.contains("cannot disable TSC completely") {
        return Some(Event::NotscIgnored);
    }
    let kvm = m.contains("guest TSC will not be reliable")
        || m.contains("host with unstable TSC")
        || (m.contains("kvm") && m.contains("TSC scaling unavailable"));
    if kvm {
        return Some(Event::KvmTscUnreliable(m.chars().take(200).collect()));
    }
    if let Some(flags) = m
        .strip_prefix("CPUFLAGS ")
        .or_else(|| m.strip_prefix("flags").and_then(|rest| rest.trim_start().strip_prefix(':')))
    {
        return Some(Event::ReadFlags(flags.trim().chars().take(4000).collect()));
    }
    None
}
