//! The one TSC frequency that serves a fleet best, and the groups of hosts that share one.
//!
//! A host serves a frequency if it can scale, or if the frequency is within QEMU's tolerance of its own. Hosts on which
//! nothing is scaled run a guest at their own rate (also those that could scale, within KVM's tolerance); the
//! difference is the error. A scaled guest's error is below one part in 10^9 and does not count here. All calculations
//! use integers.

use super::host::Host;
use super::scale::{TOLERANCE_PPM, tolerated, unscaled_khz};
use serde::Serialize;
use std::cmp::{Ordering, Reverse};

/// The limit of equally good frequencies that are listed.
const TIES: usize = 8;

/// The best frequency.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Best {
    /// In kHz.
    pub khz: u32,
    /// How many hosts serve it.
    pub serves: usize,
    /// On how many of them nothing is scaled.
    pub unscaled: usize,
    /// The worst error among these, in kHz; relative to `khz` it is the error of the clock.
    pub worst_khz: u32,
    /// The slowest and the fastest rate among these, in kHz: a guest that was started on the one and
    /// moves to the other sees its clock change by the difference.
    pub range_khz: (u32, u32),
    /// Other frequencies that are as good, in kHz: the lowest was taken. Up to eight.
    pub ties: Vec<u32>,
}

/// Hosts among which guests with one frequency can move.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Group {
    /// The frequency in the middle, in kHz.
    pub khz: u32,
    /// The slowest and the fastest of them, in kHz.
    pub range_khz: (u32, u32),
    /// Their places in the list of hosts.
    pub hosts: Vec<usize>,
}

/// What is best for a fleet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fleet {
    /// The best frequency; null when no host is known well enough.
    pub best: Option<Best>,
    /// The hosts that cannot scale, in as few groups as there can be, from the slowest to the fastest.
    pub groups: Vec<Group>,
    /// The hosts that can scale: they belong to every group.
    pub scaling: Vec<usize>,
    /// The hosts whose TSC is not invariant: they belong to none.
    pub unfit: Vec<usize>,
    /// The hosts of which not enough is known.
    pub unknown: Vec<usize>,
}

/// Finds the best frequency for guests with `invtsc`: first by the number of hosts that serve it, then
/// by the worst error, then by the number of hosts on which nothing is scaled, then the lowest. Only
/// frequencies are considered that at least one host has by itself, within the tolerance.
///
/// A host that can scale must have a known frequency to count; one that cannot, an exact one. O(n log n).
#[must_use]
pub fn fleet(hosts: &[Host]) -> Fleet {
    let mut fleet = Fleet::default();
    let (mut fixed, mut scaling) = (Vec::new(), Vec::new());
    for (index, host) in hosts.iter().enumerate() {
        match (host.invariant, host.tsc, host.scaling) {
            (Some(false), ..) => fleet.unfit.push(index),
            (Some(true), Some(tsc), Some(true)) => {
                fleet.scaling.push(index);
                scaling.push(tsc.khz);
            }
            (Some(true), Some(tsc), Some(false)) if tsc.slack_khz == 0 => {
                fixed.push((tsc.khz, index));
            }
            _ => fleet.unknown.push(index),
        }
    }
    fixed.sort_unstable();
    scaling.sort_unstable();
    fleet.groups = groups(&fixed);
    let fixed: Vec<u32> = fixed.into_iter().map(|(khz, _)| khz).collect();
    fleet.best = best(&fixed, &scaling);
    fleet
}

/// Returns the window in which QEMU accepts a frequency on a host that cannot scale.
fn served(khz: u32) -> (u32, u32) {
    let (low, high) = tolerated(u64::from(khz));
    let clamp = |khz: u64| u32::try_from(khz).unwrap_or(u32::MAX);
    (clamp(low), clamp(high))
}

/// Returns the window in which KVM scales nothing on a host that can.
fn unscaled(khz: u32) -> (u32, u32) {
    unscaled_khz(khz, TOLERANCE_PPM)
}

/// Sorted frequencies, and the part of them whose windows contain a frequency that only grows.
struct Sliding<'a> {
    khz: &'a [u32],
    window: fn(u32) -> (u32, u32),
    from: usize,
    to: usize,
}

impl<'a> Sliding<'a> {
    fn new(khz: &'a [u32], window: fn(u32) -> (u32, u32)) -> Self {
        Self { khz, window, from: 0, to: 0 }
    }

    /// Returns the frequencies whose windows contain `at`. Both ends of the windows grow with the frequency, so these
    /// are neighbours.
    fn advance(&mut self, at: u32) -> &'a [u32] {
        while self.khz.get(self.to).is_some_and(|khz| (self.window)(*khz).0 <= at) {
            self.to += 1;
        }
        while self.from < self.to
            && self.khz.get(self.from).is_some_and(|khz| (self.window)(*khz).1 < at)
        {
            self.from += 1;
        }
        self.khz.get(self.from..self.to).unwrap_or_default()
    }
}

/// Returns the best frequency. Goes through all frequencies from the slowest: between two ends of windows the same
/// hosts are possible, and the worst error is smallest in the middle of their rates, or at the end of that interval
/// that is nearest to the middle.
fn best(fixed: &[u32], scaling: &[u32]) -> Option<Best> {
    let mut ends: Vec<u32> = Vec::with_capacity(2 * (fixed.len() + scaling.len()));
    let windows = fixed.iter().map(|khz| served(*khz));
    for (low, high) in windows.chain(scaling.iter().map(|khz| unscaled(*khz))) {
        ends.extend([low, high.saturating_add(1)]);
    }
    ends.sort_unstable();
    ends.dedup();
    let (mut near, mut could) = (Sliding::new(fixed, served), Sliding::new(scaling, unscaled));
    let mut best: Option<Best> = None;
    for pair in ends.windows(2) {
        let [first, next] = *pair else { continue };
        let (must, may) = (near.advance(first), could.advance(first));
        let lowest = must.first().into_iter().chain(may.first()).min();
        let highest = must.last().into_iter().chain(may.last()).max();
        let (Some(&lowest), Some(&highest)) = (lowest, highest) else { continue };
        let serves = must.len() + scaling.len();
        if best.as_ref().is_some_and(|best| best.serves > serves) {
            continue;
        }
        let middle = lowest + (highest - lowest) / 2;
        // An odd distance has two middles; the higher one is a little better, being divided by more.
        for khz in [middle, middle.saturating_add(1)] {
            let khz = khz.clamp(first, next - 1);
            let candidate = Best {
                khz,
                serves,
                unscaled: must.len() + may.len(),
                worst_khz: khz.abs_diff(lowest).max(khz.abs_diff(highest)),
                range_khz: (lowest, highest),
                ties: Vec::new(),
            };
            take(&mut best, candidate);
        }
    }
    best
}

/// Keeps the better one; of equal ones the first, which is the lowest.
fn take(best: &mut Option<Best>, candidate: Best) {
    let Some(now) = best else {
        *best = Some(candidate);
        return;
    };
    match order(&candidate, now) {
        Ordering::Less => *best = Some(candidate),
        Ordering::Equal if candidate.khz != now.khz && !now.ties.contains(&candidate.khz) => {
            now.ties.push(candidate.khz);
            now.ties.truncate(TIES);
        }
        _ => {}
    }
}

/// `Less` is better.
fn order(a: &Best, b: &Best) -> Ordering {
    let cross = |x: u32, y: u32| u64::from(x) * u64::from(y);
    let by_error = cross(a.worst_khz, b.khz).cmp(&cross(b.worst_khz, a.khz));
    Reverse(a.serves)
        .cmp(&Reverse(b.serves))
        .then(by_error)
        .then(Reverse(a.unscaled).cmp(&Reverse(b.unscaled)))
}

/// Returns the minimal number of groups: each takes, from the slowest host on, all hosts whose window still contains
/// the highest frequency that the slowest one of the group accepts.
fn groups(fixed: &[(u32, usize)]) -> Vec<Group> {
    let mut groups = Vec::new();
    let mut rest = fixed;
    while let Some(&(slowest, _)) = rest.first() {
        let (_, high) = served(slowest);
        let count = rest.partition_point(|(khz, _)| served(*khz).0 <= high);
        let (group, after) = rest.split_at(count.max(1));
        rest = after;
        let fastest = group.last().map_or(slowest, |(khz, _)| *khz);
        let (low, _) = served(fastest);
        groups.push(Group {
            khz: (slowest + (fastest - slowest) / 2).clamp(low.min(high), high),
            range_khz: (slowest, fastest),
            hosts: group.iter().map(|(_, index)| *index).collect(),
        });
    }
    groups
}

#[cfg(test)]
#[path = "fleet_tests.rs"]
mod tests;
