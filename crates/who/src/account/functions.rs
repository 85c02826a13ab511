//! The rows by function, of one process and of all processes of a program. Pure.

use super::groups::{Groups, OfFunction};
use super::rows::{FunctionReads, FunctionRow, ProgramRow, by_cost};
use super::source::Sources;
use super::sum::Sum;
use super::whole::Whole;
use crate::recording::{Recording, Seen};
use std::collections::BTreeMap;

/// Ids of processes that are listed.
const PIDS: usize = 100;
/// The function of reads without a stack ([`super::site`]).
pub(super) const NOWHERE: &str = "?";

/// The rows of functions of one process, most expensive first.
pub(super) fn of_processes(
    groups: &Groups<'_>,
    whole: &Whole,
    recording: &Recording,
    sources: &Sources<'_>,
) -> Vec<FunctionRow> {
    let rows = groups.functions.iter().map(|(&(process, function, module), of)| {
        let pid = recording.processes.get(process).map_or(0, |seen| seen.pid);
        let mut reads = reads(of, None, whole);
        let own = |seen: &Seen| seen.pid == pid;
        (reads.lines, reads.callers) = sources.rows(function, module, own);
        FunctionRow { function: function.to_owned(), module: module.to_owned(), pid, reads }
    });
    let mut rows: Vec<FunctionRow> = rows.collect();
    rows.sort_by(|a, b| a.reads.by_cost(&b.reads));
    rows
}

/// The rows of functions of all processes of a program, most expensive first.
pub(super) fn of_programs(
    groups: &Groups<'_>,
    whole: &Whole,
    sources: &Sources<'_>,
) -> Vec<ProgramRow> {
    // Reads of a program's processes that ended too soon for a stack: any function of it may have made them.
    let nowhere: BTreeMap<&str, &Sum> = groups
        .programs
        .iter()
        .filter(|((_, function, _), _)| *function == NOWHERE)
        .map(|((program, ..), of)| (*program, &of.reads.sum))
        .collect();
    let rows = groups.programs.iter().map(|(&(program, function, module), of)| {
        let also = nowhere.get(program).copied().filter(|_| function != NOWHERE);
        let mut reads = reads(&of.reads, also, whole);
        let own = |seen: &Seen| seen.name == program;
        (reads.lines, reads.callers) = sources.rows(function, module, own);
        let mut pids: Vec<(u32, f64)> = of.pids.iter().map(|(pid, cpu)| (*pid, *cpu)).collect();
        pids.sort_by(|a, b| b.1.total_cmp(&a.1));
        ProgramRow {
            program: program.to_owned(),
            function: function.to_owned(),
            module: module.to_owned(),
            processes: pids.len() as u64,
            pids: pids.into_iter().take(PIDS).map(|(pid, _)| pid).collect(),
            reads,
        }
    });
    let mut rows: Vec<ProgramRow> = rows.collect();
    rows.sort_by(|a, b| a.reads.by_cost(&b.reads));
    rows
}

/// The reads of a function, without their lines and callers; those of `also` may also belong to it.
fn reads(of: &OfFunction<'_>, also: Option<&Sum>, whole: &Whole) -> FunctionReads {
    let sum = &of.sum;
    let figures = whole.figures(sum, also, false);
    let via = of.via.iter().filter(|via| !via.is_empty());
    FunctionReads {
        via: via.map(|via| (*via).to_owned()).collect(),
        paths: of.paths.clone(),
        clocks: of.clocks.clone(),
        samples: sum.samples,
        share_of_reads: figures.share_of_reads,
        cpu_share: figures.cpu_share,
        cpu_seconds: sum.seconds,
        per_second: figures.per_second,
        saving_cpu_seconds: sum.saving,
        lines: Vec::new(),
        callers: Vec::new(),
    }
}

impl FunctionReads {
    fn by_cost(&self, other: &Self) -> std::cmp::Ordering {
        by_cost((self.cpu_seconds, self.per_second), (other.cpu_seconds, other.per_second))
    }
}
