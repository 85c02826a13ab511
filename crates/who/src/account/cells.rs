//! The smallest parts of the account: reads of one process, from one function, on one path, of one
//! clock. Samples have the function and the path; the clock comes from a function on the stack that reads one clock
//! only, otherwise from the hits of calls like these; this module combines them. Pure.

use super::calls::Calls;
use super::estimate::Estimate;
use super::settled::Settled;
use super::site::{Site, site};
use crate::calibrate::{BESIDE, Costs, Span};
use crate::classify::Path;
use crate::clock::{Api, ClockId};
use crate::recording::{Hit, Own, Recording};
use crate::watched::OwnClock;
use std::collections::{BTreeMap, HashMap};

/// One part.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Cell {
    pub(super) process: usize,
    pub(super) site: Site,
    pub(super) path: Path,
    pub(super) api: Api,
    /// `None` where the function takes none, or nothing was seen.
    pub(super) clock: Option<ClockId>,
    /// Samples; a fraction where hits split them.
    pub(super) samples: f64,
    /// CPU seconds.
    pub(super) seconds: f64,
    /// Calls; `None` where the cost of one is not known.
    pub(super) calls: Option<Calls>,
    /// The clock that `clocksmith run` gave the process.
    pub(super) own: Option<OwnClock>,
    /// The cost of one call here, in nanoseconds.
    pub(super) ns: Option<f64>,
    /// The uncertainty of the split by hits, by the hits that it rests on: samples less and more.
    pub(super) splits: Vec<(usize, f64, f64)>,
    /// The uncertainty of the split because reads of other clocks at the same place cost differently: samples less and
    /// more.
    pub(super) uneven: (f64, f64),
}

/// The whole, without uncertainty.
const WHOLE: Estimate = Estimate { value: 1.0, low: 1.0, high: 1.0 };
/// Number of draws in which a call always named the same clock, after which it is taken for the only one.
const ALWAYS: usize = 8;

/// Hits by draw and clock.
#[derive(Default)]
struct Draws {
    by_draw: BTreeMap<u32, BTreeMap<Option<ClockId>, u64>>,
    all: u64,
    /// Whether they are calls from one place of the program.
    one_place: bool,
}

impl Draws {
    fn add(&mut self, clock: Option<ClockId>, draws: &[(u32, u64)]) {
        for (draw, count) in draws {
            *self.by_draw.entry(*draw).or_default().entry(clock).or_default() += count;
            self.all += count;
        }
    }

    /// The clocks that fit, each with its share of the calls.
    fn shares(&self, fits: impl Fn(Option<ClockId>) -> bool) -> Vec<(Option<ClockId>, Estimate)> {
        let mut clocks: Vec<Option<ClockId>> =
            self.by_draw.values().flat_map(BTreeMap::keys).copied().collect();
        clocks.sort_unstable();
        clocks.dedup();
        let fitting: Vec<_> = clocks.iter().copied().filter(|clock| fits(*clock)).collect();
        // Costs may be wrong on a busy machine; the clock ids of the calls are not.
        let clocks = if fitting.is_empty() { clocks } else { fitting };
        // Nearly every call in a program names its clock: one that named the same each time does.
        if let [only] = clocks[..]
            && self.one_place
            && self.by_draw.len() >= ALWAYS
        {
            return vec![(only, WHOLE)];
        }
        let share = |clock: Option<ClockId>| {
            let draws: Vec<(f64, f64)> = self
                .by_draw
                .values()
                .map(|draw| {
                    let of = |clock: &Option<ClockId>| draw.get(clock).copied().unwrap_or(0) as f64;
                    (of(&clock), clocks.iter().map(of).sum())
                })
                .collect();
            (clock, Estimate::clustered(&draws))
        };
        clocks.iter().copied().map(share).collect()
    }
}

/// The calls that resemble a sample, closest first: those from the same place in the same process, ..., those of the
/// same function of programs of one name (children of a server have the addresses of their parent). The calls of other
/// functions are not used.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Alike<'a> {
    Callers(usize, Api, &'a [u64]),
    Site(usize, Api, &'a str, &'a str),
    Function(usize, Api, &'a str),
    ProgramCallers(&'a str, Api, &'a [u64]),
    ProgramFunction(&'a str, Api, &'a str),
}

/// Hits that are enough for a place to be preferred to a wider one.
const ENOUGH: u64 = 6;

fn alike<'a>(
    process: usize,
    program: &'a str,
    api: Api,
    site: &'a Site,
    callers: &'a [u64],
) -> Vec<Alike<'a>> {
    let mut all = Vec::with_capacity(12);
    for depth in (2..=callers.len()).rev() {
        all.push(Alike::Callers(process, api, &callers[..depth]));
    }
    all.push(Alike::Site(process, api, &site.function, &site.via));
    all.push(Alike::Function(process, api, &site.function));
    if let Some(two) = callers.get(..2) {
        all.push(Alike::ProgramCallers(program, api, two));
    }
    all.push(Alike::ProgramFunction(program, api, &site.function));
    all
}

/// Makes the cells.
pub(super) fn cells(recording: &Recording, costs: &Costs) -> Vec<Cell> {
    let program =
        |process: usize| recording.processes.get(process).map_or("", |seen| seen.name.as_str());
    let sites: Vec<Site> = recording.hits.iter().map(|hit| site(&hit.frames)).collect();
    let mut index: HashMap<Alike<'_>, usize> = HashMap::new();
    let mut asked: Vec<Draws> = Vec::new();
    for (Hit { process, api, clock, draws, callers, .. }, site) in recording.hits.iter().zip(&sites)
    {
        for key in alike(*process, program(*process), *api, site, callers) {
            let at = *index.entry(key.clone()).or_insert_with(|| {
                let one_place = matches!(key, Alike::Callers(..) | Alike::ProgramCallers(..));
                asked.push(Draws { one_place, ..Draws::default() });
                asked.len() - 1
            });
            if let Some(known) = asked.get_mut(at) {
                known.add(*clock, draws);
            }
        }
    }
    type Group<'a> = (usize, Site, Path, Api, Option<ClockId>, &'a [u64]);
    let by_names = Settled::by(&recording.hits);
    let mut grouped: BTreeMap<Group<'_>, (u64, u64)> = BTreeMap::new();
    for stack in &recording.stacks {
        let api = stack.api.unwrap_or(Api::ClockGettime);
        let settled = by_names.clock(stack.process, api, &stack.frames);
        let group = (stack.process, site(&stack.frames), stack.path, api, settled, &*stack.callers);
        let sums = grouped.entry(group).or_default();
        sums.0 += stack.tally.samples;
        sums.1 += stack.tally.ns;
    }
    // The CPU time that a process spends on anything but reads, as a multiple of the time of its reads.
    let mut reading: HashMap<usize, u64> = HashMap::new();
    for stack in &recording.stacks {
        *reading.entry(stack.process).or_default() += stack.tally.ns;
    }
    // The part of its CPU time that samples find at instructions that read the counter.
    let mut at_counter: HashMap<usize, u64> = HashMap::new();
    for stack in recording.stacks.iter().filter(|stack| stack.path == Path::Counter) {
        *at_counter.entry(stack.process).or_default() += stack.tally.ns;
    }
    let at_counter = |process: usize| {
        let all = recording.processes.get(process).map_or(0, |seen| seen.tally.ns);
        at_counter.get(&process).copied().unwrap_or(0) as f64 / all.max(1) as f64
    };
    let others = |process: usize| {
        let reads = reading.get(&process).copied().unwrap_or(0);
        let all = recording.processes.get(process).map_or(0, |seen| seen.tally.ns);
        all.saturating_sub(reads) as f64 / reads.max(1) as f64
    };
    let mut cells: BTreeMap<(usize, Site, Path, Api, Option<ClockId>), Cell> = BTreeMap::new();
    for ((process, site, path, api, settled, callers), (samples, ns)) in grouped {
        let own = recording.processes.get(process).and_then(|seen| seen.own);
        let by_vdso = matches!(path, Path::Vdso | Path::VdsoFallback | Path::ClocksmithRun);
        let found = (by_vdso && settled.is_none()).then(|| {
            let places = alike(process, program(process), api, &site, callers);
            let places: Vec<usize> =
                places.iter().filter_map(|key| index.get(key).copied()).collect();
            let many = |at: &&usize| asked.get(**at).is_some_and(|draws| draws.all >= ENOUGH);
            places.iter().find(many).or(places.first()).copied()
        });
        let found = found.flatten();
        let shares = match found.and_then(|at| asked.get(at)) {
            Some(draws) => {
                let own = own.as_ref();
                draws.shares(|clock| fits(path, api, clock, costs, own))
            }
            None => vec![(settled.filter(|_| by_vdso), WHOLE)],
        };
        type Part = (Option<ClockId>, Estimate, Option<f64>, Option<Span>);
        let parts: Vec<Part> = shares
            .into_iter()
            .map(|(clock, share)| {
                let own = own.as_ref();
                let seen = match path {
                    Path::Counter => costs.counted_beside(api, at_counter(process)),
                    _ => seen(path, api, clock, costs, own),
                };
                (clock, share, cost(path, api, clock, costs, own), seen)
            })
            .collect();
        // The seconds of a number of calls: calls × Σ share × cost.
        let mean = |end: fn(Span) -> f64| -> Option<f64> {
            parts.iter().map(|(_, share, _, seen)| Some(share.value * end((*seen)?))).sum()
        };
        let (least, most) = (mean(|seen| seen.low), mean(|seen| seen.high));
        let mean = mean(|seen| seen.ns);
        // Reads of one program wait equally long, so that this affects their number and not shares
        // of it.
        let waits: f64 = parts
            .iter()
            .filter(|(clock, ..)| in_order(path, api, *clock, own.as_ref()))
            .filter_map(|(_, share, _, seen)| {
                Some(share.value * seen.as_ref()?.wait(others(process)))
            })
            .sum();
        let all_seconds = ns as f64 * 1e-9;
        for (clock, share, cost, seen) in parts {
            let weight = |share: f64, value: f64| match (seen.map(|seen| seen.ns), mean) {
                (Some(cost), Some(mean)) if mean > 0.0 && share < 1.0 => {
                    let others = (mean - value * cost).max(0.0) / (1.0 - value).max(1e-9);
                    let own = share * cost;
                    let all = own + (1.0 - share) * if value < 1.0 { others } else { cost };
                    if all > 0.0 { own / all } else { share }
                }
                _ => share,
            };
            let of = |end: f64| weight(end, share.value);
            let (low, part, high) = (of(share.low), of(share.value), of(share.high));
            // The same with this clock's reads as cheap and the others' as dear as they may be, and the reverse.
            let ends = seen.zip(least).zip(most).map_or((part, part), |((seen, least), most)| {
                let of = |own: f64, others: f64| {
                    let own = share.value * own;
                    if own + others > 0.0 { own / (own + others) } else { part }
                };
                let others = |all: f64, own: f64| (all - share.value * own).max(0.0);
                (of(seen.low, others(most, seen.high)), of(seen.high, others(least, seen.low)))
            });
            let served = costs.of(api, clock).in_user_space();
            // The part of a read in user space that then falls back is part of that.
            let path = match path {
                Path::ClocksmithRun if own.is_some_and(|own| !own.clock.serves(api, clock)) => {
                    if served == Some(false) {
                        Path::VdsoFallback
                    } else {
                        Path::Vdso
                    }
                }
                Path::Vdso if served == Some(false) => Path::VdsoFallback,
                path => path,
            };
            let samples = samples as f64;
            let key = (process, site.clone(), path, api, clock);
            let cell = cells.entry(key).or_insert_with(|| Cell {
                process,
                site: site.clone(),
                path,
                api,
                clock,
                samples: 0.0,
                seconds: 0.0,
                calls: Some(Calls::default()),
                own: own.map(|own| own.clock),
                ns: cost,
                splits: Vec::new(),
                uneven: (0.0, 0.0),
            });
            let seconds = all_seconds * part;
            cell.samples += samples * part;
            cell.seconds += seconds;
            // The number of all calls at this place, not the seconds of this clock: those have the same error.
            let number = |mean: Option<f64>| {
                let mean = mean.filter(|mean| *mean > 0.0)?;
                Some(all_seconds * 1e9 * share.value / mean)
            };
            let waiting = |longer: f64| number(most.map(|most| most + longer));
            let (behind, near) = (waiting(waits), waiting(waits.min(BESIDE)));
            let calls = match (number(mean), number(most), number(least), behind.zip(near)) {
                (Some(value), Some(low), Some(high), Some((behind, near))) => {
                    Some(Calls { value, low, high, behind, near })
                }
                _ => None,
            };
            cell.calls = cell.calls.zip(calls).map(|(a, b)| a.plus(b));
            cell.uneven.0 += samples * (part - ends.0).max(0.0);
            cell.uneven.1 += samples * (ends.1 - part).max(0.0);
            if let Some(at) = found {
                cell.splits.push((at, samples * (part - low), samples * (high - part)));
            }
        }
    }
    cells.into_values().collect()
}

/// Whether reads of a clock can be on this path.
fn fits(path: Path, api: Api, clock: Option<ClockId>, costs: &Costs, own: Option<&Own>) -> bool {
    let served = costs.of(api, clock).in_user_space();
    let by_own = own.is_some_and(|own| own.clock.serves(api, clock));
    match path {
        Path::Vdso => served != Some(false) && !by_own,
        Path::VdsoFallback => served != Some(true) && !by_own,
        Path::ClocksmithRun => by_own,
        Path::Syscall | Path::Counter => true,
    }
}

/// The clock by which to reckon. A vDSO that serves the clocks of the time here passes on those that it serves nowhere: of
/// CPU time, of devices.
pub(super) fn reckoned(
    path: Path,
    api: Api,
    clock: Option<ClockId>,
    costs: &Costs,
) -> Option<ClockId> {
    let passed_on = path == Path::VdsoFallback && api == Api::ClockGettime && clock.is_none();
    match costs.of(api, None).in_user_space() {
        Some(true) if passed_on => Some(ClockId::THREAD_CPUTIME),
        _ => clock,
    }
}

/// The read cost on this path.
pub(super) fn cost(
    path: Path,
    api: Api,
    clock: Option<ClockId>,
    costs: &Costs,
    own: Option<&Own>,
) -> Option<f64> {
    let cost = costs.of(api, reckoned(path, api, clock, costs));
    match path {
        Path::ClocksmithRun => match own {
            Some(own) if own.clock.serves(api, clock) => own.cost(api, clock).map(|span| span.ns),
            _ => cost.library_ns,
        },
        Path::Vdso | Path::Counter => cost.library_ns,
        Path::VdsoFallback => match cost.in_user_space() {
            // Here the library does not fall back for this clock, so the cost of the system call
            // itself is used.
            Some(true) => cost.syscall_ns,
            _ => cost.library_ns,
        },
        Path::Syscall => cost.syscall_ns,
    }
}

/// Whether a read waits for the instructions before it: it reads the counter, or enters the kernel.
fn in_order(path: Path, api: Api, clock: Option<ClockId>, own: Option<&Own>) -> bool {
    let coarse = match path {
        Path::ClocksmithRun => own.is_some_and(|own| own.clock == OwnClock::Coarse),
        _ => api == Api::Time || clock.is_some_and(ClockId::is_coarse),
    };
    !coarse && path != Path::Counter
}

/// Returns the span of the cost of a read, in nanoseconds, as far as samples see it.
pub(super) fn seen(
    path: Path,
    api: Api,
    clock: Option<ClockId>,
    costs: &Costs,
    own: Option<&Own>,
) -> Option<Span> {
    let unevenness = costs.of(api, reckoned(path, api, clock, costs)).unevenness;
    let whole = || Some(Span::around(cost(path, api, clock, costs, own)?).uneven(unevenness));
    match path {
        Path::ClocksmithRun => match own {
            Some(own) if own.clock.serves(api, clock) => own.cost(api, clock),
            _ => whole(),
        },
        Path::Vdso if costs.of(api, clock).in_user_space() != Some(false) => {
            costs.served(api, clock)
        }
        Path::Counter => costs.counted(api),
        Path::Vdso | Path::VdsoFallback | Path::Syscall => whole(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aggregate::Tally;
    use crate::recording::{Seen, Stack};
    use crate::symbols::{Frame, FrameKind};
    use std::sync::Arc;

    fn frames(names: &[(&str, FrameKind)]) -> Arc<[Frame]> {
        let vdso = [("__vdso_clock_gettime", FrameKind::Vdso)];
        vdso.iter()
            .chain(names)
            .map(|(name, kind)| Frame {
                name: (*name).into(),
                module: "app".into(),
                kind: *kind,
                place: None,
            })
            .collect()
    }

    fn recording(
        stacks: &[(&str, &[u64], u64)],
        hits: &[(&str, &[u64], ClockId, u32, u64)],
    ) -> Recording {
        let tally = |samples| Tally { samples, ns: samples * 1_000_000 };
        let frames = |name| frames(&[(name, FrameKind::Native), ("work", FrameKind::Native)]);
        let samples: u64 = stacks.iter().map(|(.., samples)| samples).sum();
        Recording {
            processes: vec![Seen {
                pid: 7,
                name: "app".to_owned(),
                runtime: None,
                tally: tally(samples),
                own: None,
            }],
            stacks: stacks
                .iter()
                .map(|(name, callers, samples)| Stack {
                    process: 0,
                    path: Path::Vdso,
                    api: Some(Api::ClockGettime),
                    frames: frames(name),
                    callers: (*callers).into(),
                    tally: tally(*samples),
                })
                .collect(),
            hits: hits
                .iter()
                .map(|(name, callers, clock, draw, count)| Hit {
                    process: 0,
                    api: Api::ClockGettime,
                    clock: Some(*clock),
                    frames: frames(name),
                    callers: (*callers).into(),
                    count: *count,
                    draws: vec![(*draw, *count)],
                })
                .collect(),
            all: tally(samples),
            seconds: 1.0,
            ..Recording::default()
        }
    }

    fn clocks(recording: &Recording) -> Vec<(Option<ClockId>, f64)> {
        let cells = cells(recording, &Costs::default());
        cells.iter().map(|cell| (cell.clock, cell.samples)).collect()
    }

    #[test]
    fn cells_by_frames_need_no_hits() {
        // One moment has sampled only one of the two loops.
        let stacks: [(&str, &[u64], u64); 2] =
            [("os::javaTimeNanos()", &[1, 2], 60), ("os::javaTimeMillis()", &[3, 4], 40)];
        let hits = [("os::javaTimeNanos()", &[1u64, 2][..], ClockId::MONOTONIC, 0, 30)];
        let found = clocks(&recording(&stacks, &hits));
        let wanted = [(Some(ClockId::REALTIME), 40.0), (Some(ClockId::MONOTONIC), 60.0)];
        assert_eq!(found, wanted);
    }

    #[test]
    fn cells_by_the_place_of_a_call_before_its_function() {
        let stacks: [(&str, &[u64], u64); 2] = [("f", &[1, 2], 60), ("f", &[1, 3], 40)];
        let hit = |at: &'static [u64], clock, draw| ("f", at, clock, draw, 10);
        let mut hits = Vec::new();
        for draw in 0..10 {
            hits.push(hit(&[1, 2], ClockId::MONOTONIC, draw));
            hits.push(hit(&[1, 3], ClockId::BOOTTIME, draw));
        }
        let all = recording(&stacks, &hits);
        assert_eq!(
            clocks(&all),
            [(Some(ClockId::MONOTONIC), 60.0), (Some(ClockId::BOOTTIME), 40.0)]
        );
        assert!(cells(&all, &Costs::default()).iter().all(|cell| {
            cell.splits.iter().all(|(_, less, more)| *less == 0.0 && *more == 0.0)
        }));
        // A place that was not hit takes the clocks of its function; those of another function are not its own.
        let other: [(&str, &[u64], u64); 1] = [("g", &[8, 9], 50)];
        assert_eq!(clocks(&recording(&other, &hits)), [(None, 50.0)]);
        let elsewhere: [(&str, &[u64], u64); 1] = [("f", &[1, 9], 50)];
        let found = clocks(&recording(&elsewhere, &hits));
        assert_eq!(found.len(), 2, "{found:?}");
    }

    #[test]
    fn cells_of_the_counter_allow_for_reads_that_samples_do_not_find() {
        let stacks: [(&str, &[u64], u64); 2] = [("f", &[1, 2], 40), ("g", &[3, 4], 5)];
        let mut made = recording(&stacks, &[]);
        if let Some(stack) = made.stacks.last_mut() {
            (stack.path, stack.api) = (Path::Counter, Some(Api::Rdtsc));
        }
        made.processes[0].tally = Tally { samples: 200, ns: 200_000_000 };
        let costs = Costs { counter_ns: Some(10.0), ..Costs::default() };
        let cells = cells(&made, &costs);
        let calls = cells.iter().find(|cell| cell.path == Path::Counter).unwrap().calls.unwrap();
        // Ten million reads of 10 ns do not fit into 0.2 s of which others take a fifth, but nearly.
        assert!(calls.high > 9e6 && calls.high < 2.1e7 && calls.value < 1e6, "{calls:?}");
    }

    /// As processes are that ended before they could be looked at.
    #[test]
    fn cells_without_a_clock_raise_the_upper_ends_of_clocks_on_their_path() {
        let stacks: [(&str, &[u64], u64); 2] = [("f", &[1, 2], 20), ("g", &[], 80)];
        let hits: Vec<_> =
            (0..10).map(|draw| ("f", &[1u64, 2][..], ClockId::REALTIME, draw, 30)).collect();
        let cost = crate::calibrate::Cost {
            library_ns: Some(20.0),
            syscall_ns: Some(200.0),
            ..crate::calibrate::Cost::default()
        };
        let clocks = [ClockId::MONOTONIC, ClockId::REALTIME].map(|id| (id, cost)).to_vec();
        let costs = Costs { counter_ns: Some(9.0), clocks, ..Costs::default() };
        let mut made = recording(&stacks, &hits);
        let rows = |made: &Recording| super::super::profile(made, &costs).rows;
        let of_clock = |rows: &[super::super::Row]| {
            let known = rows.iter().find(|row| row.clock.is_some()).unwrap();
            (known.share_of_reads.unwrap(), known.per_second.unwrap(), known.cpu_share)
        };
        let (share, rate, cpu) = of_clock(&rows(&made));
        assert!(share.low < 0.2 && share.high == 1.0 && cpu.high == 1.0, "{share:?} {cpu:?}");
        assert!(rate.high > 4.0 * rate.value, "{rate:?}");
        // On another path they are other reads.
        if let Some(stack) = made.stacks.last_mut() {
            stack.path = Path::Syscall;
        }
        let (share, ..) = of_clock(&rows(&made));
        assert!(share.high < 0.999, "{share:?}");
    }

    #[test]
    fn cells_shares_of_a_profile_lie_between_0_and_1() {
        let stacks: [(&str, &[u64], u64); 1] = [("f", &[1, 2], 36)];
        let hits = [
            ("f", &[1u64, 2][..], ClockId::MONOTONIC, 0, 30),
            ("f", &[1, 2], ClockId::REALTIME, 1, 2),
        ];
        let profile = super::super::profile(
            &recording(&stacks, &hits),
            &Costs {
                counter_ns: Some(9.0),
                clocks: [ClockId::MONOTONIC, ClockId::REALTIME]
                    .map(|id| {
                        (
                            id,
                            crate::calibrate::Cost {
                                library_ns: Some(20.0),
                                syscall_ns: Some(200.0),
                                ..crate::calibrate::Cost::default()
                            },
                        )
                    })
                    .to_vec(),
                ..Costs::default()
            },
        );
        for row in &profile.rows {
            for share in [row.share_of_reads.unwrap(), row.cpu_share] {
                assert!(0.0 <= share.low && share.low <= share.value, "{row:?}");
                assert!(share.value <= share.high && share.high <= 1.0, "{row:?}");
            }
            // Two moments are two draws.
            assert!(row.share_of_reads.unwrap().high - row.share_of_reads.unwrap().low > 0.4);
        }
    }
}
