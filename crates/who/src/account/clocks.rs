//! The rows by clock, function of the C library and path. Pure.

use super::groups::{Groups, OfClock};
use super::rows::{Row, by_cost};
use super::whole::Whole;
use crate::calibrate::Costs;
use crate::classify::Path;
use crate::clock::{Api, ClockId};
use crate::recording::Recording;

/// The rows, most expensive first.
pub(super) fn rows(
    groups: &Groups<'_>,
    whole: &Whole,
    recording: &Recording,
    costs: &Costs,
) -> Vec<Row> {
    // Reads of an unknown clock may be of any clock that is read on that path.
    let unknown = |api: Api, clock: Option<ClockId>, path: Path| {
        clock.filter(|_| api == Api::ClockGettime)?;
        groups.clocks.get(&(api, None, path)).map(|of| &of.sum)
    };
    let hits = |api: Api, clock: Option<ClockId>, path: Path| -> u64 {
        match path {
            Path::Vdso | Path::VdsoFallback | Path::ClocksmithRun => {
                let hits = recording.hits.iter().filter(|hit| hit.api == api && hit.clock == clock);
                hits.map(|hit| hit.count).sum()
            }
            Path::Syscall | Path::Counter => 0,
        }
    };
    let monotonic = costs.of(Api::ClockGettime, Some(ClockId::MONOTONIC)).library_ns;
    let row = |(&(api, clock, path), of): (&(Api, Option<ClockId>, Path), &OfClock)| {
        let sum = &of.sum;
        let figures = whole.figures(sum, unknown(api, clock, path), true);
        let calls = sum.calls().map(|calls| calls.value).filter(|calls| *calls > 0.0);
        let ns = calls.map(|calls| sum.spent / calls);
        let ratio = |to: Option<f64>| Some(ns? / to.filter(|to| *to > 0.0)?);
        Row {
            api,
            clock: clock.map(ClockId::name),
            path,
            samples: sum.samples,
            hits: hits(api, clock, path),
            share_of_reads: figures.share_of_reads,
            cpu_share: figures.cpu_share,
            cpu_seconds: sum.seconds,
            per_second: figures.per_second,
            ns,
            fast_ns: calls.filter(|_| of.fast > 0.0).map(|calls| of.fast / calls),
            ratio_to_counter: ratio(costs.counter_ns),
            ratio_to_monotonic: ratio(monotonic),
            saving_cpu_seconds: sum.saving,
        }
    };
    let mut rows: Vec<Row> = groups.clocks.iter().map(row).collect();
    rows.sort_by(|a, b| by_cost((a.cpu_seconds, a.per_second), (b.cpu_seconds, b.per_second)));
    rows
}
