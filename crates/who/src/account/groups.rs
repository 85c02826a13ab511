//! The cells, grouped by clock, function, program and process. Pure.

use super::cells::Cell;
use super::saving::{fast, saving};
use super::sum::Sum;
use crate::calibrate::Costs;
use crate::classify::Path;
use crate::clock::{Api, ClockId};
use crate::recording::Recording;
use std::collections::BTreeMap;

/// Reads of one function.
#[derive(Default)]
pub(super) struct OfFunction<'a> {
    pub(super) sum: Sum,
    /// The functions that it calls to read the time.
    pub(super) via: Vec<&'a str>,
    pub(super) paths: Vec<Path>,
    /// Names of clocks.
    pub(super) clocks: Vec<String>,
}

impl<'a> OfFunction<'a> {
    fn add(&mut self, cell: &'a Cell, saved: Option<f64>) {
        self.sum.add(cell, saved);
        push(&mut self.via, &*cell.site.via);
        push(&mut self.paths, cell.path);
        if let Some(clock) = cell.clock {
            push(&mut self.clocks, clock.name());
        }
    }
}

/// Reads of one function in all processes of one program.
#[derive(Default)]
pub(super) struct OfProgram<'a> {
    pub(super) reads: OfFunction<'a>,
    /// CPU seconds by the id of the process.
    pub(super) pids: BTreeMap<u32, f64>,
}

/// Reads of one process.
#[derive(Default)]
pub(super) struct OfProcess<'a> {
    pub(super) sum: Sum,
    /// CPU seconds by path.
    pub(super) paths: BTreeMap<Path, f64>,
    /// CPU seconds by function.
    pub(super) functions: BTreeMap<&'a str, f64>,
}

/// Reads of one clock by one function of the C library on one path.
#[derive(Default)]
pub(super) struct OfClock {
    pub(super) sum: Sum,
    /// Nanoseconds that these reads would take on a fast clock.
    pub(super) fast: f64,
}

/// The cells in all groupings.
#[derive(Default)]
pub(super) struct Groups<'a> {
    pub(super) all: Sum,
    pub(super) clocks: BTreeMap<(Api, Option<ClockId>, Path), OfClock>,
    /// By process, function and module.
    pub(super) functions: BTreeMap<(usize, &'a str, &'a str), OfFunction<'a>>,
    /// By program, function and module.
    pub(super) programs: BTreeMap<(&'a str, &'a str, &'a str), OfProgram<'a>>,
    pub(super) processes: BTreeMap<usize, OfProcess<'a>>,
}

impl<'a> Groups<'a> {
    /// Groups the cells of a recording.
    pub(super) fn of(cells: &'a [Cell], recording: &'a Recording, costs: &Costs) -> Self {
        let mut groups = Self::default();
        for cell in cells {
            groups.add(cell, recording, costs);
        }
        groups
    }

    fn add(&mut self, cell: &'a Cell, recording: &'a Recording, costs: &Costs) {
        let saved = saving(cell, costs);
        self.all.add(cell, saved);
        let of_clock = self.clocks.entry((cell.api, cell.clock, cell.path)).or_default();
        of_clock.sum.add(cell, saved);
        of_clock.fast +=
            fast(cell, costs).zip(cell.calls).map_or(0.0, |(ns, calls)| ns * calls.value);
        let (function, module) = (&*cell.site.function, &*cell.site.module);
        self.functions.entry((cell.process, function, module)).or_default().add(cell, saved);
        let seen = recording.processes.get(cell.process);
        let program = seen.map_or("?", |seen| seen.name.as_str());
        let of_program = self.programs.entry((program, function, module)).or_default();
        of_program.reads.add(cell, saved);
        *of_program.pids.entry(seen.map_or(0, |seen| seen.pid)).or_default() += cell.seconds;
        let of_process = self.processes.entry(cell.process).or_default();
        of_process.sum.add(cell, saved);
        *of_process.paths.entry(cell.path).or_default() += cell.seconds;
        *of_process.functions.entry(function).or_default() += cell.seconds;
    }
}

fn push<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if !list.contains(&item) {
        list.push(item);
    }
}
