//! What a fast clock would save, and the remedies that follow. Pure.

use super::cells::Cell;
use super::price::reckoned;
use super::programs;
use super::remedy::{Remedy, RemedyId, for_reads};
use super::rows::ProcessRow;
use crate::calibrate::Costs;
use crate::classify::Path;
use crate::clock::{Api, ClockId};
use crate::recording::{Recording, Stack};
use crate::watched::OwnClock;
use std::collections::BTreeMap;

/// Least part of a read's cost that is worth a remedy.
const SMALL: f64 = 0.1;
/// Least share of a program's time for which a setting is mentioned.
const NOTABLE: f64 = 0.01;

/// The cost of a cell's reads on a fast clock, in nanoseconds. Nothing is faster than an instruction of the
/// program itself, no clock counts CPU time without the kernel, and the clock of `clocksmith run` is the fast one.
pub(super) fn fast(cell: &Cell, costs: &Costs) -> Option<f64> {
    let now = cell.ns?;
    let clock = reckoned(cell.path, cell.api, cell.clock, costs);
    if clock.is_some_and(|clock| clock.is_cpu_time() || clock.is_coarse())
        || cell.api == Api::Time
        || cell.path == Path::Counter
        || cell.path == Path::ClocksmithRun && cell.own != Some(OwnClock::Slow)
    {
        return Some(now);
    }
    let vdso = costs.of(cell.api, cell.clock);
    let vdso = vdso.library_ns.filter(|_| vdso.in_user_space() == Some(true));
    let best = match (costs.fast_ns, vdso) {
        (Some(fast), Some(vdso)) => fast.min(vdso),
        (fast, vdso) => fast.or(vdso)?,
    };
    Some(best.min(now))
}

/// The CPU seconds that a cell's reads would have saved on a fast clock.
pub(super) fn saving(cell: &Cell, costs: &Costs) -> Option<f64> {
    let (now, fast) = (cell.ns?, fast(cell, costs)?);
    (now > 0.0).then(|| cell.seconds * (1.0 - fast / now).max(0.0))
}

/// Remedies for reads, each with the CPU seconds that it would have saved, where known.
#[derive(Default)]
pub(super) struct Helps(BTreeMap<RemedyId, Option<f64>>);

impl Helps {
    /// Those for the reads of the cells.
    pub(super) fn of(cells: &[Cell], costs: &Costs) -> Self {
        let mut helps = Self::default();
        for cell in cells {
            helps.add_for(cell, costs);
        }
        helps
    }

    fn add_for(&mut self, cell: &Cell, costs: &Costs) {
        let saved = saving(cell, costs);
        // Reads that are fast already need no remedy.
        let small =
            cell.path == Path::Vdso && saved.is_none_or(|saved| saved < SMALL * cell.seconds);
        if small || cell.samples <= 0.0 {
            return;
        }
        let cpu_time = cell.clock.is_some_and(ClockId::is_cpu_time);
        let served = costs.of(cell.api, cell.clock).in_user_space();
        let Some(id) = for_reads(cell.path, cpu_time, served) else { return };
        let saved = saved.filter(|_| !cpu_time);
        self.add(id, saved);
        // A program that runs on the fast clock gets no advice to do so.
        if id == RemedyId::FixClocksource && cell.own.is_none() {
            self.add(RemedyId::RunOnFastClock, saved);
        }
    }

    fn add(&mut self, id: RemedyId, saved: Option<f64>) {
        let known = self.0.entry(id).or_insert(None);
        *known = match (*known, saved) {
            (Some(a), Some(b)) => Some(a + b),
            (a, b) => a.or(b),
        };
    }

    /// Adds the remedy for reads that a coarse clock could serve.
    pub(super) fn add_cheaper_reads(&mut self) {
        self.0.insert(RemedyId::CheaperReads, None);
    }

    /// All remedies with the settings of well-known programs among the processes, the most helpful first.
    pub(super) fn remedies(
        mut self,
        recording: &Recording,
        processes: &[ProcessRow],
    ) -> Vec<Remedy> {
        // The library's clock also serves the reads that another clocksource would make fast.
        if let Some(saved) = self.0.get(&RemedyId::FixClocksource).copied() {
            let library = self.0.get(&RemedyId::FastClockLibrary).copied().flatten();
            let both = saved.map(|saved| saved + library.unwrap_or(0.0)).or(library);
            self.0.insert(RemedyId::FastClockLibrary, both);
        }
        let mut remedies: Vec<Remedy> =
            self.0.into_iter().map(|(id, saved)| Remedy::new(id, saved)).collect();
        remedies.extend(settings(recording, processes));
        remedies.sort_by(|a, b| {
            let saves = |remedy: &Remedy| remedy.saves_cpu_seconds.unwrap_or(-1.0);
            saves(b).total_cmp(&saves(a))
        });
        remedies
    }
}

/// Settings of well-known programs whose reads take a part of their time.
fn settings(recording: &Recording, processes: &[ProcessRow]) -> Vec<Remedy> {
    let mut found: Vec<Remedy> = Vec::new();
    for row in processes.iter().filter(|row| row.read_share.value >= NOTABLE) {
        let seen = |stack: &&Stack| {
            recording.processes.get(stack.process).is_some_and(|seen| seen.pid == row.pid)
        };
        let stacks = recording.stacks.iter().filter(seen);
        let mut functions: Vec<&str> =
            stacks.flat_map(|stack| stack.frames.iter().map(|frame| &*frame.name)).collect();
        functions.sort_unstable();
        functions.dedup();
        let remedy = programs::setting(&row.name, &functions).map(Remedy::setting);
        if let Some(remedy) = remedy.filter(|remedy| !found.contains(remedy)) {
            found.push(remedy);
        }
    }
    found
}
