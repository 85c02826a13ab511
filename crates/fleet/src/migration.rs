//! Groups of hosts among which guests can move with an unchanged TSC. The arithmetic is that of
//! `clocksmith vm migrate --fleet`; here one host represents all with the same figures.

use crate::report::{Migration, MigrationGroup};
use clocksmith_vm::migrate::fleet::fleet;
use clocksmith_vm::migrate::host::{Host, Tsc};

/// Hosts with the same figures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Same {
    /// Frequency in kHz.
    pub khz: Option<i64>,
    /// The possible error of the frequency, in kHz.
    pub slack_khz: Option<i64>,
    /// Whether the hosts can scale guests' TSCs.
    pub scaling: Option<bool>,
    /// Whether the hosts' TSC is invariant.
    pub invariant: Option<bool>,
    /// The number of hosts.
    pub hosts: u64,
    /// One of them, the first by name.
    pub example: Option<String>,
}

/// The groups.
#[must_use]
pub fn groups(kinds: &[Same]) -> Migration {
    let hosts: Vec<Host> = kinds.iter().map(host).collect();
    let fleet = fleet(&hosts);
    let sum = |places: &[usize]| -> u64 {
        places.iter().filter_map(|place| kinds.get(*place)).map(|same| same.hosts).sum()
    };
    let mut groups: Vec<MigrationGroup> = fleet
        .groups
        .iter()
        .map(|group| MigrationGroup {
            khz: group.khz,
            slowest_khz: group.range_khz.0,
            fastest_khz: group.range_khz.1,
            hosts: sum(&group.hosts),
            example: group
                .hosts
                .iter()
                .filter_map(|place| kinds.get(*place)?.example.clone())
                .min(),
        })
        .collect();
    // The largest first; of equal ones the slowest.
    groups.sort_by(|a, b| b.hosts.cmp(&a.hosts).then(a.khz.cmp(&b.khz)));
    Migration {
        groups,
        more: 0,
        scaling: sum(&fleet.scaling),
        unfit: sum(&fleet.unfit),
        unknown: sum(&fleet.unknown),
    }
}

fn host(same: &Same) -> Host {
    let mut host = Host::unknown(String::new());
    host.tsc = same.khz.and_then(|khz| {
        Some(Tsc {
            khz: u32::try_from(khz).ok().filter(|khz| *khz > 0)?,
            slack_khz: u32::try_from(same.slack_khz?).ok()?,
        })
    });
    host.scaling = same.scaling;
    host.invariant = same.invariant;
    host
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(khz: i64, scaling: bool, hosts: u64) -> Same {
        Same {
            khz: Some(khz),
            slack_khz: Some(0),
            scaling: Some(scaling),
            invariant: Some(true),
            hosts,
            example: Some(format!("h{khz}")),
        }
    }

    #[test]
    fn hosts_within_the_tolerance_are_one_group_and_count_as_many() {
        // 250 ppm of 2 500 000 kHz are 625 kHz, to either side.
        let kinds = [
            same(2_500_000, false, 7),
            same(2_500_900, false, 5),
            same(2_502_000, false, 100),
            same(3_000_000, true, 9),
            Same { invariant: Some(false), ..same(2_500_000, false, 3) },
            Same { slack_khz: Some(12), ..same(2_500_000, false, 4) },
        ];
        let found = groups(&kinds);
        let seen: Vec<(u32, u32, u64)> =
            found.groups.iter().map(|g| (g.slowest_khz, g.fastest_khz, g.hosts)).collect();
        assert_eq!(seen, [(2_502_000, 2_502_000, 100), (2_500_000, 2_500_900, 12)]);
        assert_eq!((found.scaling, found.unfit, found.unknown), (9, 3, 4));
        assert_eq!(found.groups[1].example.as_deref(), Some("h2500000"));
    }
}
