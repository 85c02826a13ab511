//! The wall clock: the programs that synchronise it, and other clocks.

use super::{LARGE, Reader, SMALL};
use crate::wall::{ChronyConfig, Clocks, Keeper, Keepers, PtpClock, Role, TimeSource, WallClock};
use crate::{Fact, Facts, Missing, Why};

const PTP: &str = "sys/class/ptp";
const ACPI: &str = "sys/bus/acpi/devices";
/// The hardware ids of virtual machine generation ids, in the device names of sysfs: `drivers/virt/vmgenid.c` matches
/// `VMGENCTR` and `VM_GEN_COUNTER`.
const GENERATION_IDS: [&str; 2] = ["VMGENCTR:", "VM_GEN_C:"];
/// The paths of chrony's configuration: on Red Hat and SUSE, on Debian.
const CHRONY: [&str; 2] = ["etc/chrony.conf", "etc/chrony/chrony.conf"];
/// Maximum number of PTP clocks that are examined.
const PTP_CLOCKS: usize = 16;

/// Files in a mirror which show that a program ran. `run` is `/var/run` on all present systems.
const PID_FILES: [(&str, &str); 6] = [
    ("run/chrony/chronyd.pid", "chronyd"),
    ("run/chronyd.pid", "chronyd"),
    ("var/run/chrony/chronyd.pid", "chronyd"),
    ("run/ntpd.pid", "ntpd"),
    ("var/run/ntpd.pid", "ntpd"),
    ("run/systemd/timesync/synchronized", "systemd-timesyncd"),
];

/// The outputs of time daemons in a sosreport.
const TRACKING: [&str; 2] =
    ["sos_commands/chrony/chronyc_tracking", "sos_commands/chrony/chronyc_-n_tracking"];
const SOURCES: [&str; 2] =
    ["sos_commands/chrony/chronyc_sources", "sos_commands/chrony/chronyc_-n_sources"];

pub(super) fn fill(reader: &Reader<'_>, facts: &mut Facts) {
    facts.wall = WallClock {
        clocks: reader.text("clocks", SMALL).try_map(|text| Clocks::parse(&text)),
        keepers: keepers(reader),
        chrony: CHRONY
            .iter()
            .fold(Fact::default(), |found: Fact<String>, path| {
                found.or_else(|| reader.text(path, LARGE))
            })
            .map(|text| ChronyConfig::parse(&text)),
        ptp: ptp(reader),
        generation_id: generation_id(reader),
        source: source(reader),
        ..WallClock::default()
    };
}

fn keepers(reader: &Reader<'_>) -> Fact<Keepers> {
    let seen = reader.text("timekeepers", SMALL).try_map(|text| Keepers::parse(&text));
    if seen.is_known() {
        return seen;
    }
    // The running machine was queried, and its files show less.
    let asked = |why: &Why| !matches!(why, Why::Absent | Why::NotAsked);
    if matches!(&seen, Fact::Missing(missing) if asked(&missing.why)) {
        return seen;
    }
    let mut found = Keepers::default();
    let mut place = None;
    for (path, name) in PID_FILES {
        if reader.tree.open(path).is_ok() {
            found.add(Keeper { name: name.to_owned(), role: Role::Steers });
            place.get_or_insert(path);
        }
    }
    match place {
        Some(path) => Fact::known(found, reader.tree.describe(path)),
        None => seen,
    }
}

fn ptp(reader: &Reader<'_>) -> Fact<Vec<PtpClock>> {
    let names = match reader.tree.list(PTP) {
        Ok(names) => names,
        Err(missing) => return Fact::Missing(missing),
    };
    let clocks = names.into_iter().filter(|name| name.starts_with("ptp")).take(PTP_CLOCKS);
    let clocks = clocks.filter_map(|device| {
        let name = reader.line(&format!("{PTP}/{device}/clock_name")).value()?.clone();
        Some(PtpClock { device, name })
    });
    Fact::known(clocks.collect(), reader.tree.describe(PTP))
}

fn generation_id(reader: &Reader<'_>) -> Fact<bool> {
    match reader.tree.list(ACPI) {
        Ok(names) if !names.is_empty() => {
            let is_one = |name: &String| GENERATION_IDS.iter().any(|id| name.starts_with(id));
            Fact::known(names.iter().any(is_one), reader.tree.describe(ACPI))
        }
        Ok(_) => Fact::Missing(Missing::new(Why::Absent, reader.tree.describe(ACPI))),
        Err(missing) => Fact::Missing(missing),
    }
}

fn source(reader: &Reader<'_>) -> Fact<TimeSource> {
    let mut told = TimeSource::default();
    let mut place = None;
    for path in TRACKING {
        if let Fact::Known { value, source } = reader.text(path, SMALL) {
            for (name, value) in value.lines().filter_map(|line| line.split_once(':')) {
                if let Some(more) = TimeSource::of_tracking(name, value) {
                    told.add(more);
                    place.get_or_insert(source.clone());
                }
            }
        }
    }
    for path in SOURCES {
        if let Fact::Known { value, source } = reader.text(path, SMALL) {
            let rows = value.lines().skip_while(|line| !line.starts_with("==")).skip(1);
            if let Some((more, _)) = TimeSource::of_sources(rows) {
                told.add(more);
                place.get_or_insert(source);
            }
        }
    }
    match place {
        Some(source) => Fact::known(told, source.0),
        None => Fact::default(),
    }
}
