//! The whole account. Pure.

use super::cells::{Cell, cells, reckoned};
use super::estimate::Estimate;
use super::flags;
use super::programs;
use super::remedy::{Remedy, RemedyId, for_reads};
use super::rows::{FunctionRow, KernelRow, ProcessRow, Profile, ProgramRow, Row, StackRow, Totals};
use super::source::Sources;
use super::sum::Sum;
use super::unsampled::unsampled;
use crate::calibrate::Costs;
use crate::classify::Path;
use crate::clock::{Api, ClockId};
use crate::recording::{Recording, Seen, Stack};
use crate::symbols::Frame;
use crate::watched::OwnClock;
use std::collections::BTreeMap;

/// Least part of a read's cost that is worth a remedy.
const SMALL: f64 = 0.1;
/// Least share of a program's time for which a setting is mentioned.
const NOTABLE: f64 = 0.01;
/// Ids of processes that are listed.
const PIDS: usize = 100;
/// The function of reads without a stack ([`super::site`]).
const NOWHERE: &str = "?";
/// Stacks that are listed.
const STACKS: usize = 100;

/// The cost of a cell's reads on a fast clock. Nothing is faster than an instruction of the program
/// itself, no clock counts CPU time without the kernel, and the clock of `clocksmith run` is the fast one.
fn fast(cell: &Cell, costs: &Costs) -> Option<f64> {
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

/// Makes the account.
#[must_use]
pub fn profile(recording: &Recording, costs: &Costs) -> Profile {
    let mut cells = cells(recording, costs);
    let others = unsampled(recording, costs, &cells);
    cells.extend(others);
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
    type Program<'a> = (Function<'a>, BTreeMap<u32, f64>);
    let mut by_program: BTreeMap<(&str, &str, &str), Program<'_>> = BTreeMap::new();
    type Ways<'a> = (Sum, BTreeMap<Path, f64>, BTreeMap<&'a str, f64>);
    let mut by_process: BTreeMap<usize, Ways<'_>> = BTreeMap::new();
    let mut helps: BTreeMap<RemedyId, Option<f64>> = BTreeMap::new();
    for cell in &cells {
        let saved = saving(cell);
        total.add(cell, saved);
        let (sum, fast_seconds) = by_clock.entry((cell.api, cell.clock, cell.path)).or_default();
        sum.add(cell, saved);
        *fast_seconds +=
            fast(cell, costs).zip(cell.calls).map_or(0.0, |(ns, calls)| ns * calls.value);
        let key = (cell.process, &*cell.site.function, &*cell.site.module);
        let seen = recording.processes.get(cell.process);
        let program = seen.map_or("?", |seen| seen.name.as_str());
        let (of_program, pids) = by_program.entry((program, key.1, key.2)).or_default();
        *pids.entry(seen.map_or(0, |seen| seen.pid)).or_default() += cell.seconds;
        for function in [by_function.entry(key).or_default(), of_program] {
            let (sum, via, paths, clocks) = function;
            sum.add(cell, saved);
            push(via, &*cell.site.via);
            push(paths, cell.path);
            if let Some(clock) = cell.clock {
                push(clocks, clock.name());
            }
        }
        let (sum, paths, functions) = by_process.entry(cell.process).or_default();
        sum.add(cell, saved);
        *paths.entry(cell.path).or_default() += cell.seconds;
        *functions.entry(&cell.site.function).or_default() += cell.seconds;
        let cpu_time = cell.clock.is_some_and(ClockId::is_cpu_time);
        let served = costs.of(cell.api, cell.clock).in_user_space();
        // Reads that are fast already need no remedy.
        let runs = cell.own.is_some();
        let small =
            cell.path == Path::Vdso && saved.is_none_or(|saved| saved < SMALL * cell.seconds);
        let small = small || cell.samples <= 0.0;
        if let Some(id) = for_reads(cell.path, cpu_time, served).filter(|_| !small) {
            let add = |known: &mut Option<f64>| {
                *known = match (*known, saved.filter(|_| !cpu_time)) {
                    (Some(a), Some(b)) => Some(a + b),
                    (a, b) => a.or(b),
                };
            };
            add(helps.entry(id).or_insert(None));
            // A program that runs on the fast clock gets no advice to do so.
            if id == RemedyId::FixClocksource && !runs {
                add(helps.entry(RemedyId::RunOnFastClock).or_insert(None));
            }
        }
    }
    let calls = total.calls();
    let share = |sum: &Sum, split| {
        let (part, whole) = (sum.calls()?, calls.filter(|calls| calls.value > 0.0)?);
        let value = part.value / whole.value;
        // What no sample met is as uncertain as the number of its calls.
        let share = match sum.samples > 0.0 {
            true => sum.share(value, total.samples, split),
            false => Estimate { value, low: value, high: value },
        };
        let (down, up) = part.beside(whole.minus(part));
        Some(share.widened(down, up).within_one())
    };
    let per_second = |sum: &Sum, split| {
        let calls = sum.calls()?;
        let (down, up) = calls.relative();
        Some(sum.number(calls.value / wall, all, split).widened(down, up))
    };
    let cpu_share = |sum: &Sum, split| {
        let share = sum.share(if cpu > 0.0 { sum.seconds / cpu } else { 0.0 }, all, split);
        let samples = sum.samples.max(1e-9);
        let (down, up) = if split { sum.uneven } else { (0.0, 0.0) };
        share.widened(down / samples, up / samples).within_one()
    };
    let hits = |api: Api, clock: Option<ClockId>| -> u64 {
        let hits = recording.hits.iter().filter(|hit| hit.api == api && hit.clock == clock);
        hits.map(|hit| hit.count).sum()
    };
    let monotonic = costs.of(Api::ClockGettime, Some(ClockId::MONOTONIC)).library_ns;
    // Reads of an unknown clock may be of any clock that is read on that path.
    let unknown_clock = |api: Api, clock: Option<ClockId>, path: Path| {
        clock?;
        by_clock.get(&(api, None, path)).map(|(sum, _)| sum).filter(|_| api == Api::ClockGettime)
    };
    let also = |row: Option<Estimate>, more: Option<Estimate>| {
        row.map(|row| Estimate { high: row.high + more.map_or(0.0, |more| more.high), ..row })
    };
    let mut rows: Vec<Row> = by_clock
        .iter()
        .map(|((api, clock, path), (sum, fast))| {
            let unknown = unknown_clock(*api, *clock, *path);
            let calls = sum.calls().map(|calls| calls.value).filter(|calls| *calls > 0.0);
            let ns = calls.map(|c| sum.spent / c);
            let ratio = |to: Option<f64>| Some(ns? / to.filter(|to| *to > 0.0)?);
            Row {
                api: *api,
                clock: clock.map(ClockId::name),
                path: *path,
                samples: sum.samples,
                hits: match path {
                    Path::Vdso | Path::VdsoFallback | Path::ClocksmithRun => hits(*api, *clock),
                    Path::Syscall | Path::Counter => 0,
                },
                share_of_reads: also(share(sum, true), unknown.and_then(|sum| share(sum, true)))
                    .map(Estimate::within_one),
                cpu_share: also(
                    Some(cpu_share(sum, true)),
                    unknown.map(|sum| cpu_share(sum, true)),
                )
                .unwrap_or_default()
                .within_one(),
                cpu_seconds: sum.seconds,
                per_second: also(
                    per_second(sum, true),
                    unknown.and_then(|sum| per_second(sum, true)),
                ),
                ns,
                fast_ns: calls.filter(|_| *fast > 0.0).map(|c| fast / c),
                ratio_to_counter: ratio(costs.counter_ns),
                ratio_to_monotonic: ratio(monotonic),
                saving_cpu_seconds: sum.saving,
            }
        })
        .collect();
    let calls_of = |rate: Option<Estimate>| rate.map_or(0.0, |rate| rate.value);
    rows.sort_by(|a, b| {
        let calls = calls_of(b.per_second).total_cmp(&calls_of(a.per_second));
        b.cpu_seconds.total_cmp(&a.cpu_seconds).then(calls)
    });
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
            cpu_share: cpu_share(&sum, false),
            cpu_seconds: sum.seconds,
            per_second: per_second(&sum, false),
            saving_cpu_seconds: sum.saving,
            lines: Vec::new(),
            callers: Vec::new(),
        })
        .collect();
    let sources = Sources::of(recording);
    for row in &mut functions {
        let own = |seen: &Seen| seen.pid == row.pid;
        (row.lines, row.callers) = sources.rows(&row.function, &row.module, own);
    }
    functions.sort_by(|a, b| {
        let calls = calls_of(b.per_second).total_cmp(&calls_of(a.per_second));
        b.cpu_seconds.total_cmp(&a.cpu_seconds).then(calls)
    });
    // Reads of a program's processes that ended too soon for a stack: any function of it may have made them.
    let nowhere: BTreeMap<&str, Sum> = by_program
        .iter()
        .filter(|((_, function, _), _)| *function == NOWHERE)
        .map(|((program, ..), ((sum, ..), _))| (*program, sum.clone()))
        .collect();
    let mut programs: Vec<ProgramRow> = by_program
        .into_iter()
        .map(|((program, function, module), ((sum, via, paths, clocks), pids))| {
            let also = nowhere.get(program).filter(|_| function != NOWHERE);
            let more = |row: Option<Estimate>, of: &dyn Fn(&Sum) -> Option<Estimate>| {
                let also = also.map_or(0.0, |also| of(also).map_or(0.0, |of| of.high));
                row.map(|row| Estimate { high: row.high + also, ..row })
            };
            let processes = pids.len() as u64;
            let mut pids: Vec<(u32, f64)> = pids.into_iter().collect();
            pids.sort_by(|a, b| b.1.total_cmp(&a.1));
            ProgramRow {
                program: program.to_owned(),
                function: function.to_owned(),
                module: module.to_owned(),
                processes,
                pids: pids.into_iter().take(PIDS).map(|(pid, _)| pid).collect(),
                via: via.into_iter().filter(|via| !via.is_empty()).map(str::to_owned).collect(),
                paths,
                clocks,
                samples: sum.samples,
                share_of_reads: more(share(&sum, false), &|sum| share(sum, false))
                    .map(Estimate::within_one),
                cpu_share: more(Some(cpu_share(&sum, false)), &|sum| Some(cpu_share(sum, false)))
                    .unwrap_or_default()
                    .within_one(),
                cpu_seconds: sum.seconds,
                per_second: more(per_second(&sum, false), &|sum| per_second(sum, false)),
                saving_cpu_seconds: sum.saving,
                lines: Vec::new(),
                callers: Vec::new(),
            }
        })
        .collect();
    for row in &mut programs {
        let own = |seen: &Seen| seen.name == row.program;
        (row.lines, row.callers) = sources.rows(&row.function, &row.module, own);
    }
    programs.sort_by(|a, b| {
        let calls = calls_of(b.per_second).total_cmp(&calls_of(a.per_second));
        b.cpu_seconds.total_cmp(&a.cpu_seconds).then(calls)
    });
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
                    // Of one that could not be examined any share may be reads.
                    || with_missing(Estimate::share(0.0, of), unknown(seen)),
                    |(sum, ..)| {
                        sum.share(if own > 0.0 { sum.seconds / own } else { 0.0 }, of, false)
                    },
                ),
                per_second: found.and_then(|(sum, ..)| Some(sum.calls()?.value / wall)),
                per_second_interval: found.and_then(|(sum, ..)| per_second(sum, false)),
                path: found.and_then(|(_, paths, _)| most(paths).copied()),
                function: found.and_then(|(.., functions)| Some((*most(functions)?).to_owned())),
                saving_cpu_seconds: found.and_then(|(sum, ..)| sum.saving),
                own_clock: seen.own.map(|own| own.clock),
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
        let library = helps.get(&RemedyId::FastClockLibrary).copied().flatten();
        let both = saved.map(|saved| saved + library.unwrap_or(0.0)).or(library);
        helps.insert(RemedyId::FastClockLibrary, both);
    }
    let mut remedies: Vec<Remedy> =
        helps.into_iter().map(|(id, saved)| Remedy::new(id, saved)).collect();
    remedies.extend(settings(recording, &processes));
    remedies.sort_by(|a, b| {
        let saves = |remedy: &Remedy| remedy.saves_cpu_seconds.unwrap_or(-1.0);
        saves(b).total_cmp(&saves(a))
    });
    // Processes that could not be examined may have read all the time, as others did or more.
    let missing = recording.processes.iter().filter(|seen| seen.runtime.is_none());
    let missing = missing.map(|seen| seen.tally.ns).sum::<u64>() as f64 * 1e-9 / cpu.max(1e-9);
    let read_samples = recording.stacks.iter().map(|stack| stack.tally.samples).sum();
    Profile {
        totals: Totals {
            cpu_seconds: cpu,
            samples: recording.all.samples,
            read_samples,
            cpu_share: with_missing(cpu_share(&total, false), missing),
            read_cpu_seconds: total.seconds,
            reads_per_second: match cells.is_empty() {
                true => Some(0.0),
                false => calls.map(|calls| calls.value / wall),
            },
            reads_per_second_interval: per_second(&total, false).map(|rate| {
                // At the same cost as those that were seen.
                let cost = if total.seconds > 0.0 {
                    total.seconds / (rate.high * wall).max(1e-9)
                } else {
                    total.spent * 1e-9 / calls.map_or(1.0, |calls| calls.value).max(1e-9)
                };
                let others = missing * cpu / cost.max(1e-12) / wall;
                Estimate { high: rate.high + others, ..rate }
            }),
            saving_cpu_seconds: total.saving,
        },
        rows,
        functions,
        programs,
        stacks: stacks(recording, cpu),
        processes,
        kernel: kernel(recording),
        flags,
        remedies,
    }
}

/// The part of a process's time of which nothing is known.
fn unknown(seen: &Seen) -> f64 {
    if seen.runtime.is_none() { 1.0 } else { 0.0 }
}

/// Returns a share of the CPU time, if a part of that was spent on unknown functions.
fn with_missing(share: Estimate, missing: f64) -> Estimate {
    Estimate { high: share.high + missing, ..share }.within_one()
}

/// Settings of well-known programs whose reads take a part of their time.
fn settings(recording: &Recording, processes: &[ProcessRow]) -> Vec<Remedy> {
    let mut found: Vec<Remedy> = Vec::new();
    for row in processes.iter().filter(|row| row.read_share.value >= NOTABLE) {
        let seen = |stack: &&crate::recording::Stack| {
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

fn push<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if !list.contains(&item) {
        list.push(item);
    }
}

fn most<K>(of: &BTreeMap<K, f64>) -> Option<&K> {
    of.iter().max_by(|a, b| a.1.total_cmp(b.1)).map(|(key, _)| key)
}

fn stacks(recording: &Recording, cpu: f64) -> Vec<StackRow> {
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

fn kernel(recording: &Recording) -> Vec<KernelRow> {
    let all: u64 = recording.kernel.iter().map(|(_, count)| count).sum();
    let row = |(name, count): &(std::sync::Arc<str>, u64)| KernelRow {
        function: name.to_string(),
        share: *count as f64 / all.max(1) as f64,
    };
    recording.kernel.iter().take(10).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::Seen;

    #[test]
    fn programs_join_the_functions_of_their_processes() {
        let mut made = crate::output::made::recording();
        let one = made.processes[0].clone();
        let other = Seen { pid: 9, name: "another".to_owned(), ..one.clone() };
        made.processes.extend([Seen { pid: 8, ..one }, other]);
        let stacks = made.stacks.clone();
        for process in [1, 2] {
            let again = stacks.iter().cloned().map(|mut stack| {
                stack.process = process;
                stack
            });
            made.stacks.extend(again);
        }
        let found = profile(&made, &Costs::default());
        assert_eq!(found.functions.len(), 6);
        let hot: Vec<_> = found.programs.iter().filter(|row| row.function == "hot").collect();
        let rows: Vec<_> =
            hot.iter().map(|row| (row.program.as_str(), row.processes, row.samples)).collect();
        assert_eq!(rows, [("a;pp", 2, 6.0), ("another", 1, 3.0)]);
        assert_eq!(hot[0].pids.len(), 2);
        let sum = |rows: &[f64]| rows.iter().sum::<f64>();
        let functions: Vec<f64> = found.functions.iter().map(|row| row.cpu_seconds).collect();
        let programs: Vec<f64> = found.programs.iter().map(|row| row.cpu_seconds).collect();
        assert!((sum(&functions) - sum(&programs)).abs() < 1e-9);
    }

    #[test]
    fn functions_may_have_made_the_reads_of_processes_that_ended_too_soon() {
        let mut made = crate::output::made::recording();
        let ended = Seen { pid: 8, ..made.processes[0].clone() };
        let lost = Stack { process: 1, frames: [].into(), ..made.stacks[0].clone() };
        let without = profile(&made, &Costs::default());
        made.processes.push(ended);
        made.stacks.push(lost);
        let with = profile(&made, &Costs::default());
        let high = |found: &Profile, function: &str| {
            let row = found.programs.iter().find(|row| row.function == function);
            row.unwrap().cpu_share
        };
        let (alone, beside, nowhere) =
            (high(&without, "hot"), high(&with, "hot"), high(&with, NOWHERE));
        assert!((alone.value - beside.value).abs() < 1e-9 && alone.low == beside.low);
        assert!((beside.high - (alone.high + nowhere.high).min(1.0)).abs() < 1e-9, "{beside:?}");
        // The row of one process is about that process only.
        let of_process = with.functions.iter().find(|row| row.function == "hot").unwrap();
        assert_eq!(of_process.cpu_share, alone);
    }

    #[test]
    fn reads_of_a_few_nanoseconds_have_wide_intervals() {
        use crate::calibrate::{Cost, Served, Span};
        let (fine, coarse) = (ClockId::MONOTONIC, ClockId::MONOTONIC_COARSE);
        let cost = |ns| Cost { library_ns: Some(ns), syscall_ns: Some(200.0), ..Cost::default() };
        let costs = Costs {
            clocks: vec![(fine, cost(22.0)), (coarse, cost(4.0))],
            served: Served {
                fine: Some(Span { low: 18.0, ns: 20.0, high: 22.0 }),
                coarse: Some(Span { low: 0.5, ns: 1.3, high: 3.5 }),
                ..Served::default()
            },
            ..Costs::default()
        };
        let of = |clock| {
            let mut made = crate::output::made::recording();
            made.stacks.iter_mut().for_each(|stack| {
                stack.path = Path::Vdso;
                stack.api = Some(Api::ClockGettime);
            });
            let [first, ..] = &made.stacks[..] else { panic!("no stack") };
            made.hits = (0..20)
                .map(|draw| crate::recording::Hit {
                    process: first.process,
                    api: Api::ClockGettime,
                    clock: Some(clock),
                    frames: first.frames.clone(),
                    callers: [1, 2].into(),
                    count: 4,
                    draws: vec![(draw, 4)],
                })
                .collect();
            let mut stack = first.clone();
            stack.callers = [1, 2].into();
            // The process does nothing else.
            made.processes[first.process].tally = stack.tally;
            made.stacks = vec![stack];
            profile(&made, &costs).totals
        };
        let relative = |totals: &Totals| {
            let said = totals.reads_per_second_interval.unwrap();
            assert_eq!(Some(said.value), totals.reads_per_second);
            // Without the sampling error: as many reads as fit into their seconds.
            (said.high / said.value, said.value / said.low)
        };
        let (fine, coarse) = (of(fine), of(coarse));
        let ((fine_up, fine_down), (up, down)) = (relative(&fine), relative(&coarse));
        assert!(up > 2.6 && down > 2.6, "{coarse:?}");
        assert!(up > fine_up * 1.2 && down > fine_down * 1.2, "{fine:?}");
    }
}
