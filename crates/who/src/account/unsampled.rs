//! Calls that breakpoints saw and no sample met: of a clock that takes nearly no time, or that is read seldom. Without them
//! the shares of the others would be too large, and their intervals would not contain the true values; and a process of
//! which no sample met a read would seem to read no clock. Pure.

use super::calls::Calls;
use super::cells::Cell;
use super::estimate::Estimate;
use super::price::{cost, seen};
use super::site::{Site, site};
use crate::calibrate::Costs;
use crate::classify::Path;
use crate::clock::{Api, ClockId};
use crate::recording::Recording;
use std::collections::BTreeMap;

/// Samples that are expected, at most, where none was taken (Poisson, 97.5 %).
const NONE_TAKEN: f64 = 3.69;
/// Calls that are a smaller part of the process's are left out.
const WORTH: f64 = 0.005;
/// The part of its calls that samples must have met: the others are counted in addition to those.
const MET: f64 = 0.05;
/// The least number of calls that is stated, relative to the value: few calls in one moment may be all that there were.
const LEAST: f64 = 1e-3;

/// Calls of one function for one clock, from one place.
type Kind = (Site, Api, Option<ClockId>);
/// Calls by draw, of one kind and of all.
type Draws = BTreeMap<u32, (f64, f64)>;

/// The cells of such calls, besides those that samples have made.
pub(super) fn unsampled(recording: &Recording, costs: &Costs, cells: &[Cell]) -> Vec<Cell> {
    let mut of_process: BTreeMap<usize, BTreeMap<u32, f64>> = BTreeMap::new();
    for hit in &recording.hits {
        let all = of_process.entry(hit.process).or_default();
        for (draw, count) in &hit.draws {
            *all.entry(*draw).or_default() += *count as f64;
        }
    }
    let sampled = |process: usize| {
        cells.iter().filter(move |cell| {
            cell.process == process && matches!(cell.path, Path::Vdso | Path::VdsoFallback)
        })
    };
    let mut found = Vec::new();
    for (process, all) in of_process {
        let own = recording.processes.get(process).and_then(|seen| seen.own);
        let unknown = |cell: &Cell| cell.api == Api::ClockGettime && cell.clock.is_none();
        // Reads of an unknown clock may be these.
        if own.is_some() || sampled(process).any(unknown) {
            continue;
        }
        // If a debugger holds registers, only one of the functions is examined.
        let of_process = || recording.hits.iter().filter(move |hit| hit.process == process);
        let looked_at = |cell: &&Cell| of_process().any(|hit| hit.api == cell.api);
        let met = sum(sampled(process).filter(looked_at));
        let none = sampled(process).next().is_none();
        if met.is_none() && !none {
            continue;
        }
        let mut kinds: BTreeMap<Kind, Draws> = BTreeMap::new();
        for hit in of_process() {
            if sampled(process).any(|cell| cell.api == hit.api && cell.clock == hit.clock) {
                continue;
            }
            let kind = kinds
                .entry((site(&hit.frames), hit.api, hit.clock))
                .or_insert_with(|| all.iter().map(|(draw, all)| (*draw, (0.0, *all))).collect());
            for (draw, count) in &hit.draws {
                if let Some((of, _)) = kind.get_mut(draw) {
                    *of += *count as f64;
                }
            }
        }
        let shares: Vec<(Kind, Estimate)> = kinds
            .into_iter()
            .map(|(kind, draws)| {
                (kind, Estimate::clustered(&draws.into_values().collect::<Vec<_>>()))
            })
            .collect();
        let of_sample = recording.all.ns as f64 / recording.all.samples.max(1) as f64;
        let path = |api, clock| match costs.of(api, clock).in_user_space() {
            Some(false) => Path::VdsoFallback,
            _ => Path::Vdso,
        };
        // The least that a sample can find of a read, in nanoseconds.
        let least =
            |api, clock| Some(seen(path(api, clock), api, clock, costs, None)?.low.max(1e-3));
        let (met, rest) = match met {
            Some(met) => (met, 1.0 - shares.iter().map(|(_, share)| share.value).sum::<f64>()),
            None => {
                let counted = all.values().sum::<f64>();
                let of = |((_, api, clock), share): &(Kind, Estimate)| {
                    Some(share.value * least(*api, *clock)?)
                };
                let Some(mean) = shares.iter().map(of).sum::<Option<f64>>() else { continue };
                (between(counted, NONE_TAKEN * of_sample / mean.max(1e-3)), 1.0)
            }
        };
        if rest < MET {
            continue;
        }
        for ((site, api, clock), share) in shares {
            if share.value < WORTH {
                continue;
            }
            let Some(least) = least(api, clock) else { continue };
            let most = NONE_TAKEN * of_sample / least;
            let value = (met.value * share.value / rest).min(most);
            let (low, high) = if none {
                (met.low * share.value, (met.high * share.high).min(most))
            } else {
                // As many beside those of the samples as breakpoints saw beside theirs.
                let beside = |met: f64, share: f64| met * share / (1.0 - share).max(1e-6);
                (beside(met.low, share.low), beside(met.high, share.high).min(most))
            };
            let (low, high) = (low.clamp(LEAST * value, value), high.max(value));
            let path = path(api, clock);
            found.push(Cell {
                process,
                site,
                path,
                api,
                clock,
                samples: 0.0,
                seconds: 0.0,
                calls: Some(Calls { value, low, high, behind: low, near: low }),
                own: None,
                ns: cost(path, api, clock, costs, None),
                splits: Vec::new(),
                uneven: (0.0, 0.0),
            });
        }
    }
    found
}

/// The number of calls of a process that breakpoints saw and no sample met: as many as were seen or more, and no more than
/// samples can have missed. Nothing is known about what is between these two, so the value is their geometric mean.
fn between(counted: f64, most: f64) -> Calls {
    let (low, high) = (counted.min(most), most.max(counted));
    Calls { value: (low * high).sqrt(), low, high, behind: low, near: low }
}

/// The calls of cells; `None` if the cost of one is not known, or if there are none.
fn sum<'a>(cells: impl Iterator<Item = &'a Cell>) -> Option<Calls> {
    let mut all = Calls::default();
    for cell in cells {
        all = all.plus(cell.calls?);
    }
    (all.value > 0.0).then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibrate::{Cost, Served, Span};
    use crate::recording::{Hit, Stack};

    /// A program that makes four calls of `gettimeofday` and one of `time` in turns: samples meet the first.
    fn made(time: u64) -> (Recording, Costs) {
        let mut made = crate::output::made::recording();
        let [first, ..] = &made.stacks[..] else { panic!("no stack") };
        let stack = Stack {
            path: Path::Vdso,
            api: Some(Api::Gettimeofday),
            callers: [1, 2].into(),
            ..first.clone()
        };
        let hit = |api, count| Hit {
            process: stack.process,
            api,
            clock: None,
            frames: stack.frames.clone(),
            callers: [1, 2].into(),
            count: count * 20,
            draws: (0..20).map(|draw| (draw, count)).collect(),
        };
        made.hits = vec![hit(Api::Gettimeofday, 8)];
        if time > 0 {
            made.hits.push(hit(Api::Time, time));
        }
        made.stacks = vec![stack];
        let cost = |ns| Cost { library_ns: Some(ns), syscall_ns: Some(200.0), ..Cost::default() };
        let costs = Costs {
            gettimeofday: cost(22.0),
            time: cost(1.5),
            served: Served {
                gettimeofday: Some(Span { low: 18.0, ns: 20.0, high: 22.0 }),
                time: Some(Span { low: 0.2, ns: 0.6, high: 2.0 }),
                ..Served::default()
            },
            ..Costs::default()
        };
        (made, costs)
    }

    #[test]
    fn calls_that_no_sample_met_are_a_row_and_part_of_the_sums() {
        let with = |time| {
            let (recording, costs) = made(time);
            super::super::profile(&recording, &costs)
        };
        let (without, found) = (with(0), with(2));
        let row = |api| found.rows.iter().find(|row| row.api == api).unwrap();
        let (day, time) = (row(Api::Gettimeofday), row(Api::Time));
        assert_eq!((without.rows.len(), time.samples, time.cpu_seconds), (1, 0.0, 0.0));
        // One call in five is of `time`.
        let (of_day, of_time) = (day.share_of_reads.unwrap(), time.share_of_reads.unwrap());
        assert!((of_day.value - 0.8).abs() < 1e-9 && (of_time.value - 0.2).abs() < 1e-9);
        assert!(of_day.low < 0.75 && of_day.high > 0.85, "{of_day:?}");
        assert!(of_time.low < 0.15 && of_time.high > 0.22, "{of_time:?}");
        let (alone, all) = (without.totals.reads_per_second, found.totals.reads_per_second);
        assert!((all.unwrap() / alone.unwrap() - 1.25).abs() < 1e-9);
        assert_eq!(without.totals.cpu_share, found.totals.cpu_share);
        assert_eq!(without.remedies, found.remedies);
    }

    #[test]
    fn calls_of_a_process_of_which_no_sample_met_a_read_are_rows() {
        let (mut recording, costs) = made(2);
        recording.stacks.clear();
        let found = super::super::profile(&recording, &costs);
        assert_eq!((found.totals.read_samples, found.totals.read_cpu_seconds), (0, 0.0));
        let shares: Vec<(Api, f64)> =
            found.rows.iter().map(|row| (row.api, row.share_of_reads.unwrap().value)).collect();
        let of = |api| shares.iter().find(|(known, _)| *known == api).unwrap().1;
        assert!((of(Api::Gettimeofday) - 0.8).abs() < 1e-9, "{shares:?}");
        assert!((of(Api::Time) - 0.2).abs() < 1e-9, "{shares:?}");
        // The 200 calls that were seen, or more, and no more than samples can have missed.
        let rate = found.totals.reads_per_second_interval.unwrap();
        assert!(rate.low * recording.seconds <= 200.0 * 1.001, "{rate:?}");
        assert!(rate.low < rate.value && rate.value < rate.high, "{rate:?}");
        let of_sample = recording.all.ns as f64 / recording.all.samples as f64;
        assert!(rate.high * recording.seconds < 2.0 * of_sample, "{rate:?}");
        assert_eq!(found.functions.len(), 1);
        // Without a hit nothing is claimed.
        recording.hits.clear();
        let found = super::super::profile(&recording, &costs);
        assert_eq!((found.rows.len(), found.totals.reads_per_second), (0, Some(0.0)));
    }
}
