//! The smallest parts of the account: reads of one process, from one function, on one path, of one
//! clock. Samples have the function and the path; the clock comes from a function on the stack that reads one clock
//! only, otherwise from the hits of calls like these; this module combines them. Pure.

use super::calls::Calls;
use super::draws::{Hits, sites};
use super::estimate::{Estimate, WHOLE};
use super::price::{cost, fits, in_order, seen};
use super::settled::Settled;
use super::site::{Site, site};
use crate::calibrate::{BESIDE, Costs, Span};
use crate::classify::Path;
use crate::clock::{Api, ClockId};
use crate::recording::{Own, Recording};
use crate::watched::OwnClock;
use std::collections::{BTreeMap, HashMap};

/// One part.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Cell {
    pub(super) process: usize,
    pub(super) site: Site,
    pub(super) path: Path,
    pub(super) api: Api,
    /// `None` if the function takes none, or nothing was seen.
    pub(super) clock: Option<ClockId>,
    /// Samples; a fraction where hits split them.
    pub(super) samples: f64,
    /// CPU seconds.
    pub(super) seconds: f64,
    /// Calls; `None` if the cost of one is not known.
    pub(super) calls: Option<Calls>,
    /// The clock that `clocksmith run` gave the process.
    pub(super) own: Option<OwnClock>,
    /// The cost of one call here, in nanoseconds.
    pub(super) ns: Option<f64>,
    /// The uncertainty of the split by hits, according to the hits that it is based on: fewer and more samples.
    pub(super) splits: Vec<(usize, f64, f64)>,
    /// The uncertainty of the split because reads of other clocks at the same place cost differently: samples less and
    /// more.
    pub(super) uneven: (f64, f64),
}

/// Cells by what distinguishes them.
type Cells = BTreeMap<(usize, Site, Path, Api, Option<ClockId>), Cell>;

/// Makes the cells.
pub(super) fn cells(recording: &Recording, costs: &Costs) -> Vec<Cell> {
    let sites = sites(recording);
    let hits = Hits::of(recording, &sites);
    let used = Used::of(recording);
    let by_names = Settled::by(&recording.hits);
    type Group<'a> = (usize, Site, Path, Api, Option<ClockId>, &'a [u64]);
    let mut grouped: BTreeMap<Group<'_>, (u64, u64)> = BTreeMap::new();
    for stack in &recording.stacks {
        let api = stack.api.unwrap_or(Api::ClockGettime);
        let settled = by_names.clock(stack.process, api, &stack.frames);
        let group = (stack.process, site(&stack.frames), stack.path, api, settled, &*stack.callers);
        let sums = grouped.entry(group).or_default();
        sums.0 += stack.tally.samples;
        sums.1 += stack.tally.ns;
    }
    let mut cells = Cells::new();
    for ((process, site, path, api, settled, callers), (samples, ns)) in grouped {
        let by_vdso = matches!(path, Path::Vdso | Path::VdsoFallback | Path::ClocksmithRun);
        let settled = settled.filter(|_| by_vdso);
        let found = (by_vdso && settled.is_none())
            .then(|| hits.like(process, api, &site, callers))
            .flatten();
        let own = recording.processes.get(process).and_then(|seen| seen.own.as_ref());
        let shares = match found {
            Some((_, draws)) => draws.shares(|clock| fits(path, api, clock, costs, own)),
            None => vec![(settled, WHOLE)],
        };
        let place = Place {
            process,
            site,
            path,
            api,
            own,
            draws: found.map(|(at, _)| at),
            samples: samples as f64,
            seconds: ns as f64 * 1e-9,
        };
        place.add_to(&mut cells, shares, costs, &used);
    }
    cells.into_values().collect()
}

/// The CPU time of each process, by what it was used for, in nanoseconds.
struct Used<'a> {
    recording: &'a Recording,
    reads: HashMap<usize, u64>,
    /// At instructions of the program that read the counter.
    at_counter: HashMap<usize, u64>,
}

impl<'a> Used<'a> {
    fn of(recording: &'a Recording) -> Self {
        let mut used = Self { recording, reads: HashMap::new(), at_counter: HashMap::new() };
        for stack in &recording.stacks {
            *used.reads.entry(stack.process).or_default() += stack.tally.ns;
            if stack.path == Path::Counter {
                *used.at_counter.entry(stack.process).or_default() += stack.tally.ns;
            }
        }
        used
    }

    fn all(&self, process: usize) -> u64 {
        self.recording.processes.get(process).map_or(0, |seen| seen.tally.ns)
    }

    /// The part of a process's CPU time at instructions that read the counter.
    fn at_counter(&self, process: usize) -> f64 {
        let at_counter = self.at_counter.get(&process).copied().unwrap_or(0);
        at_counter as f64 / self.all(process).max(1) as f64
    }

    /// The CPU time that a process spends on anything but reads, as a multiple of the time of its reads.
    fn others(&self, process: usize) -> f64 {
        let reads = self.reads.get(&process).copied().unwrap_or(0);
        self.all(process).saturating_sub(reads) as f64 / reads.max(1) as f64
    }
}

/// Reads of one process from one place on one path, of one or several clocks.
struct Place<'a> {
    process: usize,
    site: Site,
    path: Path,
    api: Api,
    /// The clock that `clocksmith run` gave the process.
    own: Option<&'a Own>,
    /// The hits that divide the samples among the clocks.
    draws: Option<usize>,
    samples: f64,
    /// CPU seconds.
    seconds: f64,
}

/// The reads of one clock at a place.
struct Part {
    clock: Option<ClockId>,
    /// Their share of the calls.
    share: Estimate,
    /// The cost of one, in nanoseconds.
    cost: Option<f64>,
    /// The same as samples see it.
    seen: Option<Span>,
}

/// The mean cost of a call of a place over its clocks (the sum of share × cost), in nanoseconds; `None` if the cost
/// of one of them is not known.
struct Mean {
    least: Option<f64>,
    value: Option<f64>,
    most: Option<f64>,
}

impl Mean {
    fn of(parts: &[Part]) -> Self {
        let mean = |end: fn(Span) -> f64| -> Option<f64> {
            parts.iter().map(|part| Some(part.share.value * end(part.seen?))).sum()
        };
        Self {
            least: mean(|seen| seen.low),
            value: mean(|seen| seen.ns),
            most: mean(|seen| seen.high),
        }
    }

    /// The share of the time that a clock takes, from its share of the calls.
    fn of_time(&self, part: &Part) -> Estimate {
        let value = part.share.value;
        let weight = |share: f64| match (part.seen.map(|seen| seen.ns), self.value) {
            (Some(cost), Some(mean)) if mean > 0.0 && share < 1.0 => {
                let others = (mean - value * cost).max(0.0) / (1.0 - value).max(1e-9);
                let own = share * cost;
                let all = own + (1.0 - share) * if value < 1.0 { others } else { cost };
                if all > 0.0 { own / all } else { share }
            }
            _ => share,
        };
        let Estimate { low, high, .. } = part.share;
        Estimate { value: weight(value), low: weight(low), high: weight(high) }
    }

    /// The ends of that share, with this clock's reads as cheap and the others' as expensive as they may be, and the
    /// reverse.
    fn uneven(&self, part: &Part, of_time: f64) -> (f64, f64) {
        let Some(((seen, least), most)) = part.seen.zip(self.least).zip(self.most) else {
            return (of_time, of_time);
        };
        let value = part.share.value;
        let of = |own: f64, others: f64| {
            let own = value * own;
            if own + others > 0.0 { own / (own + others) } else { of_time }
        };
        let others = |all: f64, own: f64| (all - value * own).max(0.0);
        (of(seen.low, others(most, seen.high)), of(seen.high, others(least, seen.low)))
    }
}

impl Place<'_> {
    fn add_to(
        self,
        cells: &mut Cells,
        shares: Vec<(Option<ClockId>, Estimate)>,
        costs: &Costs,
        used: &Used<'_>,
    ) {
        let parts: Vec<Part> =
            shares.into_iter().map(|(clock, share)| self.part(clock, share, costs, used)).collect();
        let mean = Mean::of(&parts);
        // Reads of one program wait equally long, so that this affects their number and not shares of it.
        let waits: f64 = parts
            .iter()
            .filter(|part| in_order(self.path, self.api, part.clock, self.own))
            .filter_map(|part| {
                let wait = part.seen.as_ref()?.wait(used.others(self.process));
                Some(part.share.value * wait)
            })
            .sum();
        for part in &parts {
            let of_time = mean.of_time(part);
            let (down, up) = mean.uneven(part, of_time.value);
            let cell = self.cell(cells, part, costs);
            cell.samples += self.samples * of_time.value;
            cell.seconds += self.seconds * of_time.value;
            cell.calls = cell.calls.zip(self.calls(part, &mean, waits)).map(|(a, b)| a.plus(b));
            cell.uneven.0 += self.samples * (of_time.value - down).max(0.0);
            cell.uneven.1 += self.samples * (up - of_time.value).max(0.0);
            if let Some(at) = self.draws {
                let (less, more) = (of_time.value - of_time.low, of_time.high - of_time.value);
                cell.splits.push((at, self.samples * less, self.samples * more));
            }
        }
    }

    fn part(
        &self,
        clock: Option<ClockId>,
        share: Estimate,
        costs: &Costs,
        used: &Used<'_>,
    ) -> Part {
        let seen = match self.path {
            Path::Counter => costs.counted_beside(self.api, used.at_counter(self.process)),
            path => seen(path, self.api, clock, costs, self.own),
        };
        Part { clock, share, cost: cost(self.path, self.api, clock, costs, self.own), seen }
    }

    /// The number of calls of one clock: of all calls at this place, not of the seconds of this clock, which have the
    /// same error.
    fn calls(&self, part: &Part, mean: &Mean, waits: f64) -> Option<Calls> {
        let number = |mean: Option<f64>| {
            let mean = mean.filter(|mean| *mean > 0.0)?;
            Some(self.seconds * 1e9 * part.share.value / mean)
        };
        let waiting = |longer: f64| number(mean.most.map(|most| most + longer));
        Some(Calls {
            value: number(mean.value)?,
            low: number(mean.most)?,
            high: number(mean.least)?,
            behind: waiting(waits)?,
            near: waiting(waits.min(BESIDE))?,
        })
    }

    /// The cell of a part.
    fn cell<'a>(&self, cells: &'a mut Cells, part: &Part, costs: &Costs) -> &'a mut Cell {
        let path = self.path_of(part.clock, costs);
        let key = (self.process, self.site.clone(), path, self.api, part.clock);
        cells.entry(key).or_insert_with(|| Cell {
            process: self.process,
            site: self.site.clone(),
            path,
            api: self.api,
            clock: part.clock,
            samples: 0.0,
            seconds: 0.0,
            calls: Some(Calls::default()),
            own: self.own.map(|own| own.clock),
            ns: part.cost,
            splits: Vec::new(),
            uneven: (0.0, 0.0),
        })
    }

    /// The path of the reads of a clock. The part of a read in user space that then falls back is part of that.
    fn path_of(&self, clock: Option<ClockId>, costs: &Costs) -> Path {
        let served = costs.of(self.api, clock).in_user_space();
        let by_own = self.own.is_none_or(|own| own.clock.serves(self.api, clock));
        match self.path {
            Path::ClocksmithRun if !by_own && served != Some(false) => Path::Vdso,
            Path::ClocksmithRun if !by_own => Path::VdsoFallback,
            Path::Vdso if served == Some(false) => Path::VdsoFallback,
            path => path,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aggregate::Tally;
    use crate::recording::{Hit, Seen, Stack};
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
