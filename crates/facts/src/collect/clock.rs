//! Clocksources, clock events, ACPI timers, idle, tick, NTP, vDSO.

use super::{LARGE, Reader, SMALL};
use crate::acpi::{Fadt, HpetTable};
use crate::clockdev::{ClockeventDevice, ClocksourceDevice};
use crate::idle::Idle;
use crate::ntp::{NtpState, Timex};
use crate::vdso::VdsoImage;
use crate::{Arch, Fact, Facts, Missing, Why, tick};

const CLOCKSOURCES: &str = "sys/devices/system/clocksource";
const CLOCKEVENTS: &str = "sys/devices/system/clockevents";
const FIRMWARE: &str = "sys/firmware";
const TABLES: &str = "sys/firmware/acpi/tables";
const CPUIDLE: &str = "sys/devices/system/cpu/cpuidle";
const IDLE_STATES: &str = "sys/devices/system/cpu/cpu0/cpuidle";

/// More devices than any kernel registers (one event device for each CPU).
const MAX_DEVICES: usize = 1024;

pub(super) fn fill(reader: &Reader<'_>, facts: &mut Facts) {
    facts.clocksources = clocksources(reader);
    facts.clockevents = clockevents(reader);
    if let Fact::Missing(_) = facts.arch {
        facts.arch = arch_of_clocksources(&facts.clocksources);
        facts.width_open = facts.arch.value().is_some_and(|arch| arch.with_32_bits().is_some());
    }
    acpi(reader, facts);
    facts.idle = idle(reader);
    facts.tick_oneshot = tick_mode(reader);
    facts.ntp = ntp(reader);
    facts.vdso = reader.text("vdso", SMALL).try_map(|text| VdsoImage::parse(&text));
}

/// The outputs of time programs in a sosreport.
const TOLD: [&str; 3] = [
    "sos_commands/systemd/timedatectl",
    "sos_commands/chrony/chronyc_tracking",
    "sos_commands/chrony/chronyc_-n_tracking",
];

fn ntp(reader: &Reader<'_>) -> Fact<NtpState> {
    let kernel =
        reader.text("adjtimex", SMALL).try_map(|text| Timex::parse(&text)).map(NtpState::from);
    if kernel.is_known() {
        return kernel;
    }
    let told = |path: &&str| reader.text(path, SMALL).try_map(|text| NtpState::told(&text));
    TOLD.iter().map(told).find(Fact::is_known).unwrap_or(kernel)
}

fn clocksources(reader: &Reader<'_>) -> Fact<Vec<ClocksourceDevice>> {
    let names = match reader.tree.list(CLOCKSOURCES) {
        Ok(names) => names,
        Err(missing) => return Fact::Missing(missing),
    };
    let mut devices: Vec<ClocksourceDevice> = names
        .iter()
        .filter(|name| name.starts_with("clocksource"))
        .take(MAX_DEVICES)
        .filter_map(|name| {
            let file = |file| reader.line(&format!("{CLOCKSOURCES}/{name}/{file}"));
            let (current, available) = (file("current_clocksource"), file("available_clocksource"));
            let text = |fact: Fact<String>| match fact {
                Fact::Known { value, .. } => value,
                Fact::Missing(_) => String::new(),
            };
            ClocksourceDevice::parse(name, &text(current), &text(available))
        })
        .collect();
    devices.sort_by_key(|device| device.index);
    if devices.is_empty() {
        return Fact::Missing(reader.missing(Why::Absent, &format!("{CLOCKSOURCES}/clocksource0")));
    }
    Fact::known(devices, reader.tree.describe(CLOCKSOURCES))
}

fn clockevents(reader: &Reader<'_>) -> Fact<Vec<ClockeventDevice>> {
    let mut names = match reader.tree.list(CLOCKEVENTS) {
        Ok(names) => names,
        Err(missing) => return Fact::Missing(missing),
    };
    names.retain(|name| name.starts_with("clockevent") || name == "broadcast");
    names.sort_by_key(|name| name.trim_start_matches(char::is_alphabetic).parse::<u32>().ok());
    let devices = names
        .into_iter()
        .take(MAX_DEVICES)
        .filter_map(|name| {
            let path = format!("{CLOCKEVENTS}/{name}/current_device");
            // The broadcast device exists before it has a device, and is then empty.
            let device = reader.line(&path).value().filter(|device| !device.is_empty())?.clone();
            Some(ClockeventDevice { name, device })
        })
        .collect();
    Fact::known(devices, reader.tree.describe(CLOCKEVENTS))
}

/// The architecture that follows from a clocksource's name.
fn arch_of_clocksources(clocksources: &Fact<Vec<ClocksourceDevice>>) -> Fact<Arch> {
    clocksources.clone().try_map(|devices| {
        devices
            .iter()
            .flat_map(|device| device.available.iter().chain([&device.current]))
            .find_map(|name| match name.as_str() {
                "riscv_clocksource" => Some(Arch::Riscv),
                "tod" => Some(Arch::S390),
                "timebase" => Some(Arch::Powerpc),
                "stick" => Some(Arch::Sparc),
                "Constant" => Some(Arch::Loongarch),
                _ => None,
            })
            .ok_or("no clocksource tells the architecture")
    })
}

fn acpi(reader: &Reader<'_>, facts: &mut Facts) {
    if facts.arch.value().is_some_and(|arch| !arch.is_x86()) {
        let missing = Missing { why: Why::NotApplicable, at: None, how: None };
        facts.hpet = Fact::Missing(missing.clone());
        facts.pm_timer = Fact::Missing(missing.clone());
        facts.low_power_idle = Fact::Missing(missing);
        return;
    }
    let hpet = reader.bytes(&format!("{TABLES}/HPET"), LARGE);
    facts.hpet = match hpet.try_map(|table| HpetTable::parse(&table)) {
        // The kernel ignores a table without a memory address.
        Fact::Known { value, source } => Fact::known(value.base.map(|_| value), source),
        Fact::Missing(missing) => absent_table(reader, "HPET", missing),
    };
    let fadt = reader.bytes(&format!("{TABLES}/FACP"), LARGE).try_map(|table| Fadt::parse(&table));
    (facts.pm_timer, facts.low_power_idle) = match fadt {
        Fact::Known { value, source } => {
            (Fact::known(value.pm_timer, source.clone()), Fact::known(value.low_power_idle, source))
        }
        Fact::Missing(missing) => {
            let absent: Fact<Option<()>> = absent_table(reader, "FACP", missing);
            (absent.clone().map(|_| None), absent.map(|_| false))
        }
    };
}

/// A table that cannot be read. It is certainly absent only if the directory of the tables is
/// a real one: containers hide `/sys/firmware` behind an empty directory.
fn absent_table<T>(reader: &Reader<'_>, table: &str, missing: Missing) -> Fact<Option<T>> {
    if missing.why != Why::Absent {
        return Fact::Missing(missing);
    }
    match reader.tree.list(TABLES) {
        Ok(names) if names.iter().any(|name| name == table) => Fact::Missing(missing),
        Ok(names) if !names.is_empty() => Fact::known(None, reader.tree.describe(TABLES)),
        Ok(_) => Fact::Missing(missing),
        Err(_) => match reader.tree.list(FIRMWARE) {
            // Firmware directories without one of ACPI.
            Ok(names) if !names.is_empty() && !names.iter().any(|name| name == "acpi") => {
                Fact::known(None, reader.tree.describe(FIRMWARE))
            }
            _ => Fact::Missing(
                missing.how("mount /sys of the host and use --root, or run outside the container"),
            ),
        },
    }
}

fn idle(reader: &Reader<'_>) -> Fact<Idle> {
    reader.line(&format!("{CPUIDLE}/current_driver")).map(|driver| {
        let (deepest, latency_us) = deepest_state(reader).unzip();
        Idle { driver, deepest, latency_us: latency_us.flatten() }
    })
}

/// Name and exit latency of the deepest state of CPU 0 that is not disabled.
fn deepest_state(reader: &Reader<'_>) -> Option<(String, Option<u64>)> {
    let mut states: Vec<u32> = reader
        .tree
        .list(IDLE_STATES)
        .ok()?
        .iter()
        .filter_map(|name| name.strip_prefix("state")?.parse().ok())
        .collect();
    states.sort_unstable();
    states.iter().rev().take(MAX_DEVICES).find_map(|state| {
        let file = |name| reader.line(&format!("{IDLE_STATES}/state{state}/{name}"));
        let disabled = file("disable").value().is_some_and(|value| value != "0");
        let name = file("name").value().filter(|_| !disabled)?.clone();
        let latency = file("latency").value().and_then(|value| value.parse().ok());
        Some((name, latency))
    })
}

fn tick_mode(reader: &Reader<'_>) -> Fact<bool> {
    const PATH: &str = "proc/timer_list";
    match reader.tree.open(PATH) {
        Ok(list) => Fact::known(list, reader.tree.describe(PATH)).try_map(tick::oneshot),
        Err(missing) => Fact::Missing(missing),
    }
}
