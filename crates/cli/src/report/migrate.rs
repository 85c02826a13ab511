//! The document of `vm migrate`.

use clocksmith_vm::migrate::decide::{Answer, Verdict};
use clocksmith_vm::migrate::fleet::Fleet;
use clocksmith_vm::migrate::guest::{Frequency, Guest, Manager};
use clocksmith_vm::migrate::host::Host;
use clocksmith_vm::migrate::scale::{Ratio, khz_of_hz};
use serde::Serialize;

/// `vm migrate --json`.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct MigrateReport {
    /// Always `clocksmith.vm-migrate.v1`.
    schema: &'static str,
    /// The result in one sentence.
    pub(crate) headline: String,
    /// The guest; null when only a fleet was requested, of which too little is known.
    pub(crate) guest: Option<GuestReport>,
    /// The number of hosts, by result.
    pub(crate) counts: Counts,
    /// The result for each host, in the order in which they were given.
    pub(crate) hosts: Vec<Answer>,
    /// The frequency that suits the whole fleet; only with `--fleet`.
    pub(crate) fleet: Option<FleetReport>,
    /// Conditions of every move.
    pub(crate) notes: Vec<&'static str>,
}

/// The guest.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct GuestReport {
    /// The name of the guest, where it has one.
    pub(crate) name: Option<String>,
    /// The program that moves the guest.
    pub(crate) manager: Manager,
    /// Whether the guest has `invtsc`.
    pub(crate) invtsc: Option<bool>,
    /// Whether the guest's TSC frequency is `set`, `absent` or `unknown`.
    pub(crate) frequency: &'static str,
    /// The frequency that is set.
    pub(crate) frequency_hz: Option<u64>,
    /// The part of the frequency that is lost, in Hz, because QEMU and KVM count in kHz.
    pub(crate) lost_hz: Option<u32>,
}

/// The number of hosts, by result.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Counts {
    /// All hosts.
    pub(crate) hosts: usize,
    /// Hosts to which the guest can migrate.
    pub(crate) goes: usize,
    /// Hosts to which the guest cannot migrate.
    pub(crate) refused: usize,
    /// Hosts for which that is not known.
    pub(crate) unknown: usize,
}

/// The frequency that suits the whole fleet.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct FleetReport {
    /// The frequency to set, in Hz: whole kHz. Null when no host is known well enough.
    pub(crate) frequency_hz: Option<u64>,
    /// The number of hosts that can provide it.
    pub(crate) serves: usize,
    /// The number of these on which nothing is scaled, so that the guest runs at the host's own rate.
    pub(crate) unscaled: usize,
    /// The worst error among these, in parts per billion.
    pub(crate) worst_error_ppb: Option<i64>,
    /// How much a guest's clock changes at worst when it moves between two of these.
    pub(crate) worst_change_ppb: Option<i64>,
    /// Other frequencies that are as good, in Hz; up to eight. The lowest one is used.
    pub(crate) ties_hz: Vec<u64>,
    /// Hosts that cannot scale, in as few groups as possible; guests of a group share a frequency.
    pub(crate) groups: Vec<GroupReport>,
    /// Hosts that can scale: they belong to every group.
    pub(crate) scaling: Vec<String>,
    /// Hosts whose TSC is not invariant: they belong to none.
    pub(crate) unfit: Vec<String>,
    /// Hosts about which too little is known.
    pub(crate) unknown: Vec<String>,
}

/// Hosts that share a frequency.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct GroupReport {
    /// The frequency in their middle, in Hz.
    pub(crate) frequency_hz: u64,
    /// The frequency of the slowest of them, in Hz.
    pub(crate) slowest_hz: u64,
    /// The frequency of the fastest of them, in Hz.
    pub(crate) fastest_hz: u64,
    /// Their names.
    pub(crate) hosts: Vec<String>,
}

const ONLY_TSC: &str = "This is about the TSC only: other CPU features, memory and disks may also \
     prevent a migration.";
const BLACKOUT: &str = "During the move the guest's TSC does not advance, because QEMU restores \
    what it last read; a guest on the clocksource tsc is behind by the length of the pause until \
    NTP corrects it.";
const TOLERANCE: &str = "KVM does not scale the TSC for a difference of up to 250 ppm, even if it could. NTP \
                         corrects up to 500 ppm. With tsc_tolerance_ppm=0, a parameter of the host's module \
                         kvm, KVM scales it for any difference.";

impl MigrateReport {
    /// Builds the document.
    pub(crate) fn new(
        guest: Option<Guest>,
        answers: Vec<Answer>,
        fleet: Option<Fleet>,
        hosts: &[Host],
    ) -> Self {
        let count = |goes| answers.iter().filter(|a| a.verdict.goes() == goes).count();
        let counts = Counts {
            hosts: hosts.len(),
            goes: count(Some(true)),
            refused: count(Some(false)),
            unknown: count(None),
        };
        let guest = guest.map(GuestReport::new);
        let some = |wanted: fn(Verdict) -> bool| answers.iter().any(|a| wanted(a.verdict));
        let mut notes = Vec::new();
        if counts.goes > 0 {
            notes.extend([ONLY_TSC, BLACKOUT]);
        }
        if some(|verdict| verdict == Verdict::HostRate) {
            notes.push(TOLERANCE);
        }
        Self {
            schema: "clocksmith.vm-migrate.v1",
            headline: headline(guest.as_ref(), &counts),
            guest,
            counts,
            hosts: answers,
            fleet: fleet.map(|fleet| FleetReport::new(fleet, hosts)),
            notes,
        }
    }
}

fn headline(guest: Option<&GuestReport>, counts: &Counts) -> String {
    let Some(guest) = guest else {
        return "No frequency can be named: no host is known well enough.".to_owned();
    };
    let name =
        guest.name.as_ref().map_or("The guest".to_owned(), |name| format!("The guest {name}"));
    let Counts { hosts, goes, unknown, .. } = *counts;
    let where_to = match (goes, hosts) {
        (1, 1) => "can migrate to this host".to_owned(),
        (0, _) if unknown == hosts => {
            "may or may not migrate: it is not known for any host".to_owned()
        }
        (0, 1) => "cannot migrate to this host".to_owned(),
        (0, _) if unknown == 0 => format!("can migrate to none of these {hosts} hosts"),
        (0, _) => "can migrate to none of those hosts about which enough is known".to_owned(),
        _ if goes == hosts => format!("can migrate to all {hosts} hosts"),
        _ => format!("can migrate to {goes} of {hosts} hosts"),
    };
    let open = match unknown {
        0 => String::new(),
        _ if unknown == hosts => String::new(),
        _ => format!("; for {unknown} it is not known"),
    };
    format!("{name} {where_to}{open}.")
}

impl GuestReport {
    fn new(guest: Guest) -> Self {
        let (frequency, frequency_hz) = match guest.frequency {
            Frequency::Set(hz) => ("set", Some(hz)),
            Frequency::Absent => ("absent", None),
            Frequency::Unknown => ("unknown", None),
        };
        Self {
            name: guest.name.map(|name| name.chars().take(64).collect()),
            manager: guest.manager,
            invtsc: guest.invtsc,
            frequency,
            frequency_hz,
            lost_hz: frequency_hz.and_then(khz_of_hz).map(|(_, lost)| lost),
        }
    }
}

impl FleetReport {
    fn new(fleet: Fleet, hosts: &[Host]) -> Self {
        let names = |places: &[usize]| -> Vec<String> {
            places.iter().filter_map(|place| hosts.get(*place)).map(|h| h.name.clone()).collect()
        };
        let hz = |khz: u32| u64::from(khz) * 1000;
        let best = fleet.best.as_ref();
        let ppb = |real: u32, nominal: u32| {
            Ratio::ONE.error(real, nominal).and_then(|error| i64::try_from(error.ppb()).ok())
        };
        Self {
            frequency_hz: best.map(|best| hz(best.khz)),
            serves: best.map_or(0, |best| best.serves),
            unscaled: best.map_or(0, |best| best.unscaled),
            worst_error_ppb: best
                .and_then(|best| ppb(best.khz.saturating_add(best.worst_khz), best.khz)),
            worst_change_ppb: best.and_then(|best| ppb(best.range_khz.1, best.range_khz.0)),
            ties_hz: best
                .map(|best| best.ties.iter().map(|khz| hz(*khz)).collect())
                .unwrap_or_default(),
            groups: fleet
                .groups
                .iter()
                .map(|group| GroupReport {
                    frequency_hz: hz(group.khz),
                    slowest_hz: hz(group.range_khz.0),
                    fastest_hz: hz(group.range_khz.1),
                    hosts: names(&group.hosts),
                })
                .collect(),
            scaling: names(&fleet.scaling),
            unfit: names(&fleet.unfit),
            unknown: names(&fleet.unknown),
        }
    }
}
