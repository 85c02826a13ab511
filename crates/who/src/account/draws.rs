//! The hits of breakpoints, as draws from the calls of a place: which clocks are read there, and in which shares. Pure.

use super::estimate::{Estimate, WHOLE};
use super::site::{Site, site};
use crate::clock::{Api, ClockId};
use crate::recording::{Hit, Recording};
use std::collections::{BTreeMap, HashMap};

/// Number of draws in which a call always named the same clock, after which it is taken for the only one.
const ALWAYS: usize = 8;
/// Hits that are enough for a place to be preferred to a wider one.
const ENOUGH: u64 = 6;

/// Hits by draw and clock.
#[derive(Default)]
pub(super) struct Draws {
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
    pub(super) fn shares(
        &self,
        fits: impl Fn(Option<ClockId>) -> bool,
    ) -> Vec<(Option<ClockId>, Estimate)> {
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

/// The draws of all hits, by what resembles them.
pub(super) struct Hits<'a> {
    recording: &'a Recording,
    /// Positions in `asked`.
    index: HashMap<Alike<'a>, usize>,
    asked: Vec<Draws>,
}

impl<'a> Hits<'a> {
    /// The hits of a recording, whose sites are these.
    pub(super) fn of(recording: &'a Recording, sites: &'a [Site]) -> Self {
        let mut all = Self { recording, index: HashMap::new(), asked: Vec::new() };
        for (hit, site) in recording.hits.iter().zip(sites) {
            all.add(hit, site);
        }
        all
    }

    fn add(&mut self, hit: &'a Hit, site: &'a Site) {
        for key in
            alike(hit.process, program(self.recording, hit.process), hit.api, site, &hit.callers)
        {
            let one_place = matches!(key, Alike::Callers(..) | Alike::ProgramCallers(..));
            let at = *self.index.entry(key).or_insert_with(|| {
                self.asked.push(Draws { one_place, ..Draws::default() });
                self.asked.len() - 1
            });
            if let Some(known) = self.asked.get_mut(at) {
                known.add(hit.clock, &hit.draws);
            }
        }
    }

    /// The closest calls that are enough, or the closest; with a number that two samples with the same draws share.
    pub(super) fn like(
        &self,
        process: usize,
        api: Api,
        site: &Site,
        callers: &[u64],
    ) -> Option<(usize, &Draws)> {
        let keys = alike(process, program(self.recording, process), api, site, callers);
        let found = keys.iter().filter_map(|key| self.index.get(key).copied());
        let mut found = found.filter_map(|at| Some((at, self.asked.get(at)?)));
        let first = found.next()?;
        if first.1.all >= ENOUGH {
            return Some(first);
        }
        found.find(|(_, draws)| draws.all >= ENOUGH).or(Some(first))
    }
}

/// The sites of all hits.
pub(super) fn sites(recording: &Recording) -> Vec<Site> {
    recording.hits.iter().map(|hit| site(&hit.frames)).collect()
}

fn program(recording: &Recording, process: usize) -> &str {
    recording.processes.get(process).map_or("", |seen| seen.name.as_str())
}
