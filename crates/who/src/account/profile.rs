//! The whole account. Pure.

use super::cells::{Cell, cells};
use super::estimate::Estimate;
use super::flags::{self, Flag};
use super::remedy::{Remedy, RemedyId, for_reads};
use crate::calibrate::Costs;
use crate::classify::Path;
use crate::clock::{Api, ClockId};
use crate::recording::Recording;
use crate::watched::Runtime;
use serde::Serialize;
use std::collections::BTreeMap;

/// Sums over everything.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Totals {
    /// CPU seconds of what was watched.
    pub cpu_seconds: f64,
    /// Samples.
    pub samples: u64,
    /// Samples of reads.
    pub read_samples: u64,
    /// Share of the CPU time that reading the time takes, 0 to 1.
    pub cpu_share: Estimate,
    /// CPU seconds that it takes.
    pub read_cpu_seconds: f64,
    /// Reads in a second of wall time; null where the cost of a read is not known.
    pub reads_per_second: Option<f64>,
    /// CPU seconds that would be saved on a fast clock.
    pub saving_cpu_seconds: Option<f64>,
}

/// Reads of one clock, by one function, by one way.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Row {
    /// The function.
    pub api: Api,
    /// The clock's name; null where the function takes none, or it is not known.
    pub clock: Option<String>,
    /// The way.
    pub path: Path,
    /// Samples.
    pub samples: f64,
    /// Breakpoint hits that this rests on.
    pub hits: u64,
    /// Share of all reads, 0 to 1.
    pub share_of_reads: Option<Estimate>,
    /// Share of the CPU time, 0 to 1.
    pub cpu_share: Estimate,
    /// CPU seconds.
    pub cpu_seconds: f64,
    /// Reads in a second of wall time.
    pub per_second: Option<Estimate>,
    /// What one read costs here, in nanoseconds, as measured on this machine.
    pub ns: Option<f64>,
    /// What it would cost on a fast clock.
    pub fast_ns: Option<f64>,
    /// Cost as a multiple of the counter read's.
    pub ratio_to_counter: Option<f64>,
    /// Cost as a multiple of CLOCK_MONOTONIC's through the library.
    pub ratio_to_monotonic: Option<f64>,
    /// CPU seconds that a fast clock would have saved.
    pub saving_cpu_seconds: Option<f64>,
}

/// Reads from one function.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FunctionRow {
    /// The function.
    pub function: String,
    /// The file that it comes from.
    pub module: String,
    /// The process.
    pub pid: u32,
    /// What it calls to read the time; empty where it reads the clock itself.
    pub via: Vec<String>,
    /// Ways that it reads by.
    pub paths: Vec<Path>,
    /// Clocks that it reads, where known.
    pub clocks: Vec<String>,
    /// Samples.
    pub samples: f64,
    /// Share of all reads, 0 to 1.
    pub share_of_reads: Option<Estimate>,
    /// Share of the CPU time, 0 to 1.
    pub cpu_share: Estimate,
    /// CPU seconds.
    pub cpu_seconds: f64,
    /// Reads in a second of wall time.
    pub per_second: Option<Estimate>,
    /// CPU seconds that a fast clock would have saved.
    pub saving_cpu_seconds: Option<f64>,
}

/// One stack.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StackRow {
    /// The process.
    pub pid: u32,
    /// The way.
    pub path: Path,
    /// Samples.
    pub samples: u64,
    /// Share of the CPU time, 0 to 1.
    pub cpu_share: f64,
    /// Functions, innermost first.
    pub frames: Vec<String>,
}

/// A process.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProcessRow {
    /// Its id.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// What runs it; null where it could not be looked at.
    pub runtime: Option<Runtime>,
    /// CPU seconds.
    pub cpu_seconds: f64,
    /// Share of them that reading the time takes, 0 to 1.
    pub read_share: Estimate,
    /// Reads in a second of wall time.
    pub per_second: Option<f64>,
    /// The way that takes most of it.
    pub path: Option<Path>,
    /// The function that takes most of it.
    pub function: Option<String>,
    /// CPU seconds that a fast clock would have saved.
    pub saving_cpu_seconds: Option<f64>,
}

/// Where in the kernel reads are.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelRow {
    /// The function.
    pub function: String,
    /// Share of the reads' kernel samples, 0 to 1.
    pub share: f64,
}

/// The whole account.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Profile {
    /// Sums.
    pub totals: Totals,
    /// By clock, function and way; dearest first.
    pub rows: Vec<Row>,
    /// By function of the program; dearest first.
    pub functions: Vec<FunctionRow>,
    /// By stack; dearest first, the first hundred.
    pub stacks: Vec<StackRow>,
    /// By process; dearest first.
    pub processes: Vec<ProcessRow>,
    /// Where in the kernel the reads' time goes.
    pub kernel: Vec<KernelRow>,
    /// What looks wrong.
    pub flags: Vec<Flag>,
    /// What would help, most first.
    pub remedies: Vec<Remedy>,
}

/// Least part of a read's cost that is worth a remedy.
const SMALL: f64 = 0.1;
/// Stacks that are listed.
const STACKS: usize = 100;

/// Sums of cells.
#[derive(Clone, Debug, Default)]
struct Sum {
    samples: f64,
    seconds: f64,
    calls: Option<f64>,
    unknown: bool,
    saving: Option<f64>,
    split: Option<Estimate>,
}

impl Sum {
    fn add(&mut self, cell: &Cell, saving: Option<f64>) {
        self.samples += cell.samples;
        self.seconds += cell.seconds;
        match cell.calls {
            Some(calls) => self.calls = Some(self.calls.unwrap_or(0.0) + calls),
            None => self.unknown = true,
        }
        if let Some(saving) = saving {
            self.saving = Some(self.saving.unwrap_or(0.0) + saving);
        }
        // The share that is least sure speaks for all.
        let wide = |split: &Estimate| (split.high - split.low) / split.value.max(1e-9);
        if self.split.as_ref().is_none_or(|known| wide(known) < wide(&cell.split)) {
            self.split = Some(cell.split);
        }
    }

    fn calls(&self) -> Option<f64> {
        self.calls.filter(|_| !self.unknown)
    }

    /// The interval that `samples` of `all` allow, around a value.
    fn around(&self, value: f64, all: f64, split: bool) -> Estimate {
        let share = Estimate::share(self.samples, all);
        let mut estimate = share.scaled(if share.value > 0.0 { value / share.value } else { 0.0 });
        if split && let Some(part) = self.split.filter(|part| part.value > 0.0) {
            let whole = estimate.scaled(1.0 / part.value);
            estimate = whole.split(part);
        }
        estimate
    }
}

/// What reads of a cell would cost on a fast clock: nothing is faster than an instruction of the
/// program's own, and no clock counts CPU time without the kernel.
fn fast(cell: &Cell, costs: &Costs) -> Option<f64> {
    let now = cell.ns?;
    if cell.clock.is_some_and(|clock| clock.is_cpu_time() || clock.is_coarse())
        || cell.api == Api::Time
        || cell.path == Path::Counter
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

/// Makes the account.
#[must_use]
pub fn profile(recording: &Recording, costs: &Costs) -> Profile {
    let cells = cells(recording, costs);
    let cpu = recording.all.ns as f64 * 1e-9;
    let all = recording.all.samples as f64;
    let wall = recording.seconds.max(1e-9);
    let saving = |cell: &Cell| {
        let (now, fast) = (cell.ns?, fast(cell, costs)?);
        (now > 0.0).then(|| cell.seconds * (1.0 - fast / now).max(0.0))
    };
    let mut total = Sum::default();
    let mut by_clock: BTreeMap<(Api, Option<ClockId>, Path), (Sum, f64)> = BTreeMap::new();
    type Function<'a> = (Sum, Vec<&'a str>, Vec<Path>, Vec<String>);
    let mut by_function: BTreeMap<(usize, &str, &str), Function<'_>> = BTreeMap::new();
    type Ways<'a> = (Sum, BTreeMap<Path, f64>, BTreeMap<&'a str, f64>);
    let mut by_process: BTreeMap<usize, Ways<'_>> = BTreeMap::new();
    let mut helps: BTreeMap<RemedyId, Option<f64>> = BTreeMap::new();
    for cell in &cells {
        let saved = saving(cell);
        total.add(cell, saved);
        let (sum, fast_seconds) = by_clock.entry((cell.api, cell.clock, cell.path)).or_default();
        sum.add(cell, saved);
        *fast_seconds += fast(cell, costs).zip(cell.calls).map_or(0.0, |(ns, calls)| ns * calls);
        let key = (cell.process, &*cell.site.function, &*cell.site.module);
        let (sum, via, paths, clocks) = by_function.entry(key).or_default();
        sum.add(cell, saved);
        push(via, &*cell.site.via);
        push(paths, cell.path);
        if let Some(clock) = cell.clock {
            push(clocks, clock.name());
        }
        let (sum, paths, functions) = by_process.entry(cell.process).or_default();
        sum.add(cell, saved);
        *paths.entry(cell.path).or_default() += cell.seconds;
        *functions.entry(&cell.site.function).or_default() += cell.seconds;
        let cpu_time = cell.clock.is_some_and(ClockId::is_cpu_time);
        let served = costs.of(cell.api, cell.clock).in_user_space();
        // What is fast already needs no remedy.
        let small =
            cell.path == Path::Vdso && saved.is_none_or(|saved| saved < SMALL * cell.seconds);
        if let Some(id) = for_reads(cell.path, cpu_time, served).filter(|_| !small) {
            let known = helps.entry(id).or_insert(None);
            *known = match (*known, saved.filter(|_| !cpu_time)) {
                (Some(a), Some(b)) => Some(a + b),
                (a, b) => a.or(b),
            };
        }
    }
    let calls = total.calls();
    let share = |sum: &Sum, split| {
        let (part, whole) = (sum.calls()?, calls.filter(|calls| *calls > 0.0)?);
        Some(sum.around(part / whole, total.samples, split))
    };
    let per_second = |sum: &Sum, split| Some(sum.around(sum.calls()? / wall, all, split));
    let cpu_share =
        |sum: &Sum| sum.around(if cpu > 0.0 { sum.seconds / cpu } else { 0.0 }, all, false);
    let hits = |api: Api, clock: Option<ClockId>| -> u64 {
        let hits = recording.hits.iter().filter(|hit| hit.api == api && hit.clock == clock);
        hits.map(|hit| hit.count).sum()
    };
    let monotonic = costs.of(Api::ClockGettime, Some(ClockId::MONOTONIC)).library_ns;
    let mut rows: Vec<Row> = by_clock
        .iter()
        .map(|((api, clock, path), (sum, fast))| {
            let ns = super::cells::cost(*path, *api, *clock, costs);
            let ratio = |to: Option<f64>| Some(ns? / to.filter(|to| *to > 0.0)?);
            Row {
                api: *api,
                clock: clock.map(ClockId::name),
                path: *path,
                samples: sum.samples,
                hits: match path {
                    Path::Vdso | Path::VdsoFallback => hits(*api, *clock),
                    Path::Syscall | Path::Counter => 0,
                },
                share_of_reads: share(sum, true),
                cpu_share: cpu_share(sum),
                cpu_seconds: sum.seconds,
                per_second: per_second(sum, true),
                ns,
                fast_ns: sum.calls().filter(|calls| *calls > 0.0 && *fast > 0.0).map(|c| fast / c),
                ratio_to_counter: ratio(costs.counter_ns),
                ratio_to_monotonic: ratio(monotonic),
                saving_cpu_seconds: sum.saving,
            }
        })
        .collect();
    rows.sort_by(|a, b| b.cpu_seconds.total_cmp(&a.cpu_seconds));
    let pid = |process: usize| recording.processes.get(process).map_or(0, |seen| seen.pid);
    let mut functions: Vec<FunctionRow> = by_function
        .into_iter()
        .map(|((process, function, module), (sum, via, paths, clocks))| FunctionRow {
            function: function.to_owned(),
            module: module.to_owned(),
            pid: pid(process),
            via: via.into_iter().filter(|via| !via.is_empty()).map(str::to_owned).collect(),
            paths,
            clocks,
            samples: sum.samples,
            share_of_reads: share(&sum, false),
            cpu_share: cpu_share(&sum),
            cpu_seconds: sum.seconds,
            per_second: per_second(&sum, false),
            saving_cpu_seconds: sum.saving,
        })
        .collect();
    functions.sort_by(|a, b| b.cpu_seconds.total_cmp(&a.cpu_seconds));
    let mut processes: Vec<ProcessRow> = recording
        .processes
        .iter()
        .enumerate()
        .map(|(at, seen)| {
            let found = by_process.get(&at);
            let (own, of) = (seen.tally.ns as f64 * 1e-9, seen.tally.samples as f64);
            ProcessRow {
                pid: seen.pid,
                name: seen.name.clone(),
                runtime: seen.runtime,
                cpu_seconds: own,
                read_share: found.map_or_else(
                    || Estimate::share(0.0, of),
                    |(sum, ..)| {
                        sum.around(if own > 0.0 { sum.seconds / own } else { 0.0 }, of, false)
                    },
                ),
                per_second: found.and_then(|(sum, ..)| Some(sum.calls()? / wall)),
                path: found.and_then(|(_, paths, _)| most(paths).copied()),
                function: found.and_then(|(.., functions)| Some((*most(functions)?).to_owned())),
                saving_cpu_seconds: found.and_then(|(sum, ..)| sum.saving),
            }
        })
        .collect();
    let cost_of = |row: &ProcessRow| row.read_share.value * row.cpu_seconds;
    processes.sort_by(|a, b| cost_of(b).total_cmp(&cost_of(a)));
    let flags = flags::flags(recording, &cells, costs);
    if flags.iter().any(|flag| flag.kind == flags::FlagKind::CoarseCandidate) {
        helps.insert(RemedyId::CheaperReads, None);
    }
    if helps.contains_key(&RemedyId::FixClocksource) {
        let saved = helps.get(&RemedyId::FixClocksource).copied().flatten();
        helps.insert(RemedyId::RunOnFastClock, saved);
        let library = helps.get(&RemedyId::FastClockLibrary).copied().flatten();
        let both = saved.map(|saved| saved + library.unwrap_or(0.0)).or(library);
        helps.insert(RemedyId::FastClockLibrary, both);
    }
    let mut remedies: Vec<Remedy> =
        helps.into_iter().map(|(id, saved)| Remedy::new(id, saved)).collect();
    remedies.sort_by(|a, b| {
        let saves = |remedy: &Remedy| remedy.saves_cpu_seconds.unwrap_or(-1.0);
        saves(b).total_cmp(&saves(a))
    });
    let read_samples = recording.stacks.iter().map(|stack| stack.tally.samples).sum();
    Profile {
        totals: Totals {
            cpu_seconds: cpu,
            samples: recording.all.samples,
            read_samples,
            cpu_share: cpu_share(&total),
            read_cpu_seconds: total.seconds,
            reads_per_second: if cells.is_empty() { Some(0.0) } else { calls.map(|c| c / wall) },
            saving_cpu_seconds: total.saving,
        },
        rows,
        functions,
        stacks: stacks(recording, cpu),
        processes,
        kernel: kernel(recording),
        flags,
        remedies,
    }
}

fn push<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if !list.contains(&item) {
        list.push(item);
    }
}

fn most<K>(of: &BTreeMap<K, f64>) -> Option<&K> {
    of.iter().max_by(|a, b| a.1.total_cmp(b.1)).map(|(key, _)| key)
}

fn stacks(recording: &Recording, cpu: f64) -> Vec<StackRow> {
    let mut sums: BTreeMap<(u32, Path, Vec<String>), (u64, u64)> = BTreeMap::new();
    for stack in &recording.stacks {
        let frames = stack.frames.iter().map(|frame| frame.name.to_string()).collect();
        let pid = recording.processes.get(stack.process).map_or(0, |seen| seen.pid);
        let sum = sums.entry((pid, stack.path, frames)).or_default();
        *sum = (sum.0 + stack.tally.samples, sum.1 + stack.tally.ns);
    }
    let mut rows: Vec<StackRow> = sums
        .into_iter()
        .map(|((pid, path, frames), (samples, ns))| {
            let cpu_share = if cpu > 0.0 { ns as f64 * 1e-9 / cpu } else { 0.0 };
            StackRow { pid, path, samples, cpu_share, frames }
        })
        .collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.samples));
    rows.truncate(STACKS);
    rows
}

fn kernel(recording: &Recording) -> Vec<KernelRow> {
    let all: u64 = recording.kernel.iter().map(|(_, count)| count).sum();
    let row = |(name, count): &(std::sync::Arc<str>, u64)| KernelRow {
        function: name.to_string(),
        share: *count as f64 / all.max(1) as f64,
    };
    recording.kernel.iter().take(10).map(row).collect()
}
