//! Messages about the machine: banner, command line, CPUs, firmware tables, hypervisors, Arm's
//! architected timer, tick mode, suspend.

use super::super::event::Event;
use super::{after, find, hex, number, thousandths};
use crate::hypervisor::HypervisorKind;

pub(super) fn parse(m: &str) -> Option<Event> {
    identity(m)
        .or_else(|| hypervisor(m))
        .or_else(|| timers(m))
        .or_else(|| cpus(m))
        .or_else(|| arm(m))
        .or_else(|| tick_and_sleep(m))
}

fn identity(m: &str) -> Option<Event> {
    if let Some(rest) = after(m, "Linux version ") {
        let plausible = rest.starts_with(|c: char| c.is_ascii_digit()) && m.len() - rest.len() < 40;
        return plausible.then(|| Event::Banner(clip(rest, 512)));
    }
    for key in ["Kernel command line: ", "Command line: "] {
        if let Some(rest) = m
            .strip_prefix(key)
            .or_else(|| after(m, key).filter(|_| m.find(key).is_some_and(|at| at < 40)))
        {
            return Some(Event::CommandLine(clip(rest, 4096)));
        }
    }
    if let Some(rest) = m.strip_prefix("DMI: ") {
        return Some(Event::Dmi(clip(rest, 200)));
    }
    if let Some(rest) = after(m, "Calibrating delay ") {
        return Some(Event::DelayLoop { measured: rest.starts_with("loop...") });
    }
    if m.contains("Time went backwards") {
        return Some(Event::TimeWentBackwards);
    }
    m.contains("Starting gVisor").then_some(Event::Gvisor)
}

fn hypervisor(m: &str) -> Option<Event> {
    if let Some(name) = after(m, "Hypervisor detected: ") {
        return HypervisorKind::from_log_name(name).map(Event::Hypervisor);
    }
    if let Some(name) = after(m, "Booting paravirtualized kernel on ") {
        return Some(Event::Paravirt(clip(name.trim(), 40)));
    }
    if m.contains("Hyper-V: ") || m.contains("HyperV: ") {
        let flags = after(m, "privilege flags low ").or_else(|| after(m, "features "))?;
        let flags = hex(flags).and_then(|n| u32::try_from(n).ok())?;
        return Some(Event::HypervPrivileges(flags));
    }
    if m.contains("kvm-clock: Using msrs") {
        return Some(Event::KvmClock);
    }
    let xen = m.contains("PVCLOCK not supported") || m.contains("doesn't support pvclock on HVM");
    if xen {
        return Some(Event::XenClockNotice(clip(m, 160)));
    }
    (m.contains("drift greater")).then(|| Event::DriftReport(clip(m, 160)))
}

fn timers(m: &str) -> Option<Event> {
    if let Some(rest) = after(m, "PM-Timer IO Port: ") {
        return hex(rest).map(Event::PmTimer);
    }
    if let Some(rest) = after(m, "PMTMR IOPort override: ") {
        return hex(after(rest, "-> ")?).map(Event::PmTimerOverride);
    }
    if let Some(rest) = after(m, "APIC calibration not consistent with PM-Timer: ") {
        return Some(Event::ApicCalibration { ms: u64::try_from(number(rest)?).ok()? });
    }
    if m.contains("PM-Timer") && (m.contains("aborting") || m.contains("inconsistent results")) {
        return Some(Event::PmTimerBad);
    }
    if m.contains("PM-Timer Bug") {
        return Some(Event::PmTimerChipsetBug);
    }
    if let Some(rest) = after(m, "HPET id: ") {
        return Some(Event::HpetTable { base: after(rest, "base: ").and_then(hex) });
    }
    if let Some(rest) = m.strip_prefix("ACPI: HPET ") {
        return hex(rest).map(|_| Event::HpetTable { base: None });
    }
    if let Some(at) = find(m, "comparators, ")
        && m.contains("hpet")
    {
        let rest = after(&m[at..], "-bit ")?;
        return Some(Event::HpetCounter { hz: thousandths(rest)?.checked_mul(1000)? });
    }
    let disabled = m.contains("HPET dysfunctional in PC10. Force disabled")
        || m.contains("Disabling HPET")
        || m.contains("Counter not counting")
        || m.contains("Will disable the HPET");
    disabled.then(|| Event::HpetDisabled(clip(m, 120)))
}

fn cpus(m: &str) -> Option<Event> {
    if let Some(rest) = after(m, "Allowing ") {
        // `smpboot: Allowing 2 CPUs, 0 hotplug CPUs`: the first number counts the slots too;
        // 6.9+: `CPU topo: Allowing 2 present CPUs plus 0 hotplug CPUs`: to be added.
        let first = u32::try_from(number(rest)?).ok()?;
        if let Some(plus) = after(rest, " present CPUs plus ") {
            let more = u32::try_from(number(plus)?).ok()?;
            return Some(Event::PossibleCpus(first.saturating_add(more)));
        }
        return rest.contains(" CPUs, ").then_some(Event::PossibleCpus(first));
    }
    // All versions and architectures: the highest possible CPU number plus one.
    if let Some(rest) = m.strip_prefix("setup_percpu: ").and_then(|m| after(m, "nr_cpu_ids:")) {
        return Some(Event::PossibleCpus(u32::try_from(number(rest)?).ok()?));
    }
    if let Some(at) = find(m, "ogical packages: ") {
        let n = u32::try_from(number(&m[at + 17..])?).ok()?;
        return Some(Event::Packages(n));
    }
    let family_at = find(m, "(family: 0x")?;
    let name = after(&m[..family_at], "CPU0: ").unwrap_or("").trim();
    Some(Event::CpuModel {
        name: clip(name, 80),
        family: hex(&m[family_at + 9..]).and_then(|n| u32::try_from(n).ok())?,
        model: after(m, "model: ").and_then(hex).and_then(|n| u32::try_from(n).ok())?,
    })
}

fn arm(m: &str) -> Option<Event> {
    if let Some(rest) = after(m, "timer(s) running at ") {
        return Some(Event::ArchTimer { hz: thousandths(rest)?.checked_mul(1000)? });
    }
    if m.contains("workaround for ") && m.contains("arch_timer") {
        return Some(Event::ArchTimerErratum(clip(after(m, "workaround for ")?, 120)));
    }
    m.contains("Trapping CNTVCT access").then_some(Event::CounterTrapped)
}

fn tick_and_sleep(m: &str) -> Option<Event> {
    if m.contains("Could not switch to high resolution mode") {
        return Some(Event::TickNotOneshot);
    }
    if m.contains("Switched to high resolution mode") || m.contains("Switched to NOHz mode") {
        return Some(Event::TickOneshot);
    }
    if m.contains("PM: suspend entry") || m.contains("PM: hibernation entry") {
        return Some(Event::Suspend);
    }
    let resumed = m.contains("PM: suspend exit")
        || m.contains("PM: hibernation exit")
        || m.contains("Waking up from system sleep state");
    resumed.then_some(Event::Resume)
}

fn clip(text: &str, chars: usize) -> String {
    text.trim().chars().take(chars).collect()
}
