//! The smallest parts of the account: reads of one process, from one function, by one way, of one
//! clock. Samples know the function and the way, hits know the clock; here they meet. Pure.

use super::estimate::Estimate;
use super::site::{Site, site};
use crate::calibrate::Costs;
use crate::classify::Path;
use crate::clock::{Api, ClockId};
use crate::recording::{Hit, Recording};
use std::collections::BTreeMap;

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
    pub(super) calls: Option<f64>,
    /// What one costs here, in nanoseconds.
    pub(super) ns: Option<f64>,
    /// Which share of the samples of its function this is, by hits.
    pub(super) split: Estimate,
}

/// How often each clock was asked for.
type Clocks = BTreeMap<Option<ClockId>, u64>;

#[derive(Default)]
struct Asked<'a> {
    by_site: BTreeMap<(usize, &'a str, &'a str, Api), Clocks>,
    by_function: BTreeMap<(usize, &'a str, Api), Clocks>,
    by_process: BTreeMap<(usize, Api), Clocks>,
}

/// Makes the cells.
pub(super) fn cells(recording: &Recording, costs: &Costs) -> Vec<Cell> {
    let sites: Vec<Site> = recording.hits.iter().map(|hit| site(&hit.frames)).collect();
    let mut asked = Asked::default();
    for (Hit { process, api, clock, count, .. }, site) in recording.hits.iter().zip(&sites) {
        let (function, via) = (site.function.as_str(), site.via.as_str());
        let add = |clocks: &mut Clocks| *clocks.entry(*clock).or_default() += count;
        add(asked.by_site.entry((*process, function, via, *api)).or_default());
        add(asked.by_function.entry((*process, function, *api)).or_default());
        add(asked.by_process.entry((*process, *api)).or_default());
    }
    let mut grouped: BTreeMap<(usize, Site, Path, Api), (u64, u64)> = BTreeMap::new();
    for stack in &recording.stacks {
        let api = stack.api.unwrap_or(Api::ClockGettime);
        let sums =
            grouped.entry((stack.process, site(&stack.frames), stack.path, api)).or_default();
        sums.0 += stack.tally.samples;
        sums.1 += stack.tally.ns;
    }
    let mut cells = Vec::new();
    for ((process, site, path, api), (samples, ns)) in grouped {
        let none = Clocks::new();
        let clocks = match path {
            Path::Vdso | Path::VdsoFallback => asked
                .by_site
                .get(&(process, &*site.function, &*site.via, api))
                .or_else(|| asked.by_function.get(&(process, &*site.function, api)))
                .or_else(|| asked.by_process.get(&(process, api)))
                .unwrap_or(&none),
            Path::Syscall | Path::Counter => &none,
        };
        let parts = parts(path, api, clocks, costs);
        // So many calls make so many seconds: calls × Σ share × cost.
        let mean: Option<f64> =
            parts.iter().map(|(_, share, cost)| Some(share.value * (*cost)?)).sum();
        let seconds = ns as f64 * 1e-9;
        for (clock, share, cost) in parts {
            let weight = match (cost, mean) {
                (Some(cost), Some(mean)) if mean > 0.0 => share.value * cost / mean,
                _ => share.value,
            };
            let seconds = seconds * weight;
            // The part of a read in user space that then falls back is part of that.
            let path = match costs.of(api, clock).in_user_space() {
                Some(false) if path == Path::Vdso => Path::VdsoFallback,
                _ => path,
            };
            cells.push(Cell {
                process,
                site: site.clone(),
                path,
                api,
                clock,
                samples: samples as f64 * weight,
                seconds,
                calls: cost.filter(|cost| *cost > 0.0).map(|cost| seconds * 1e9 / cost),
                ns: cost,
                split: share,
            });
        }
    }
    merged(cells)
}

/// Cells that became equal are one.
fn merged(cells: Vec<Cell>) -> Vec<Cell> {
    let mut all: Vec<Cell> = Vec::new();
    for cell in cells {
        let same = |known: &&mut Cell| {
            known.process == cell.process
                && known.path == cell.path
                && known.api == cell.api
                && known.clock == cell.clock
                && known.site == cell.site
        };
        // Equal ones stand close together: they come from one function.
        match all.iter_mut().rev().take(64).find(same) {
            Some(known) => {
                known.samples += cell.samples;
                known.seconds += cell.seconds;
                known.calls = known.calls.zip(cell.calls).map(|(a, b)| a + b);
            }
            None => all.push(cell),
        }
    }
    all
}

/// The clocks that were read by this way, each with its share of the calls and its cost.
fn parts(
    path: Path,
    api: Api,
    asked: &Clocks,
    costs: &Costs,
) -> Vec<(Option<ClockId>, Estimate, Option<f64>)> {
    let fits = |clock: &Option<ClockId>| {
        let served = costs.of(api, *clock).in_user_space();
        match path {
            Path::Vdso => served != Some(false),
            Path::VdsoFallback => served != Some(true),
            Path::Syscall | Path::Counter => true,
        }
    };
    let mut fitting: Vec<(Option<ClockId>, u64)> =
        asked.iter().filter(|(clock, _)| fits(clock)).map(|(clock, n)| (*clock, *n)).collect();
    if fitting.is_empty() {
        // Costs may be wrong on a busy machine; what was asked for was asked for.
        fitting = asked.iter().map(|(clock, n)| (*clock, *n)).collect();
    }
    let all: u64 = fitting.iter().map(|(_, n)| n).sum();
    if all == 0 {
        let whole = Estimate { value: 1.0, low: 1.0, high: 1.0 };
        return vec![(None, whole, cost(path, api, None, costs))];
    }
    let only = fitting.len() == 1;
    fitting
        .into_iter()
        .map(|(clock, n)| {
            let mut share = Estimate::share(n as f64, all as f64);
            if only {
                share.low = share.value;
            }
            (clock, share, cost(path, api, clock, costs))
        })
        .collect()
}

/// What one read costs by this way.
pub(super) fn cost(path: Path, api: Api, clock: Option<ClockId>, costs: &Costs) -> Option<f64> {
    let cost = costs.of(api, clock);
    match path {
        Path::Vdso | Path::Counter => cost.library_ns,
        Path::VdsoFallback => match cost.in_user_space() {
            // Here the library does not fall back for this clock, so the system call itself tells.
            Some(true) => cost.syscall_ns,
            _ => cost.library_ns,
        },
        Path::Syscall => cost.syscall_ns,
    }
}
