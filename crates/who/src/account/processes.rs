//! The rows by process and by stack, and those of the kernel. Pure.

use super::estimate::Estimate;
use super::groups::Groups;
use super::rows::{KernelRow, ProcessRow, StackRow};
use super::whole::Whole;
use crate::classify::Path;
use crate::recording::{Recording, Seen, Stack};
use crate::symbols::Frame;
use std::collections::BTreeMap;

/// Stacks that are listed.
const STACKS: usize = 100;

/// The rows by process, most expensive first.
pub(super) fn processes(
    groups: &Groups<'_>,
    whole: &Whole,
    recording: &Recording,
) -> Vec<ProcessRow> {
    let rows = recording.processes.iter().enumerate().map(|(at, seen)| {
        let found = groups.processes.get(&at);
        let sum = found.map(|found| &found.sum);
        let (own, samples) = (seen.tally.ns as f64 * 1e-9, seen.tally.samples as f64);
        ProcessRow {
            pid: seen.pid,
            name: seen.name.clone(),
            runtime: seen.runtime,
            cpu_seconds: own,
            read_share: sum.map_or_else(
                // Of one that could not be examined any share may be reads.
                || with_missing(Estimate::share(0.0, samples), unknown(seen)),
                |sum| {
                    let share = if own > 0.0 { sum.seconds / own } else { 0.0 };
                    sum.share(share, samples, false)
                },
            ),
            per_second: sum.and_then(|sum| Some(sum.calls()?.value / whole.wall)),
            per_second_interval: sum.and_then(|sum| whole.per_second(sum, false)),
            path: found.and_then(|found| most(&found.paths).copied()),
            function: found.and_then(|found| Some((*most(&found.functions)?).to_owned())),
            saving_cpu_seconds: sum.and_then(|sum| sum.saving),
            own_clock: seen.own.map(|own| own.clock),
        }
    });
    let mut rows: Vec<ProcessRow> = rows.collect();
    let cost = |row: &ProcessRow| row.read_share.value * row.cpu_seconds;
    rows.sort_by(|a, b| cost(b).total_cmp(&cost(a)));
    rows
}

/// The part of a process's time of which nothing is known.
fn unknown(seen: &Seen) -> f64 {
    if seen.runtime.is_none() { 1.0 } else { 0.0 }
}

/// Returns a share of the CPU time, if a part of that was spent on unknown functions.
pub(super) fn with_missing(share: Estimate, missing: f64) -> Estimate {
    Estimate { high: share.high + missing, ..share }.within_one()
}

fn most<K>(of: &BTreeMap<K, f64>) -> Option<&K> {
    of.iter().max_by(|a, b| a.1.total_cmp(b.1)).map(|(key, _)| key)
}

/// The rows by stack, most samples first; `cpu` is all CPU time, in seconds.
pub(super) fn stacks(recording: &Recording, cpu: f64) -> Vec<StackRow> {
    /// Samples, nanoseconds, and the stack with the most samples.
    type Sum<'a> = (u64, u64, &'a Stack);
    let mut sums: BTreeMap<(u32, Path, Vec<&str>), Sum<'_>> = BTreeMap::new();
    for stack in &recording.stacks {
        let frames = stack.frames.iter().map(|frame| &*frame.name).collect();
        let pid = recording.processes.get(stack.process).map_or(0, |seen| seen.pid);
        let sum = sums.entry((pid, stack.path, frames)).or_insert((0, 0, stack));
        let most = if sum.2.tally.samples < stack.tally.samples { stack } else { sum.2 };
        *sum = (sum.0 + stack.tally.samples, sum.1 + stack.tally.ns, most);
    }
    let mut rows: Vec<StackRow> = sums
        .into_iter()
        .map(|((pid, path, frames), (samples, ns, most))| {
            let cpu_share = if cpu > 0.0 { ns as f64 * 1e-9 / cpu } else { 0.0 };
            let place = |frame: &Frame| Some(frame.place.as_ref()?.to_string());
            StackRow {
                pid,
                path,
                samples,
                cpu_share,
                frames: frames.into_iter().map(str::to_owned).collect(),
                places: most.frames.iter().map(place).collect(),
            }
        })
        .collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.samples));
    rows.truncate(STACKS);
    rows
}

/// Where in the kernel the reads are: the ten functions with the most samples.
pub(super) fn kernel(recording: &Recording) -> Vec<KernelRow> {
    let all: u64 = recording.kernel.iter().map(|(_, count)| count).sum();
    let row = |(name, count): &(std::sync::Arc<str>, u64)| KernelRow {
        function: name.to_string(),
        share: *count as f64 / all.max(1) as f64,
    };
    recording.kernel.iter().take(10).map(row).collect()
}
