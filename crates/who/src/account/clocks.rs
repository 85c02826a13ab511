//! The rows by clock, function of the C library and path. Pure.

use super::groups::{Groups, OfClock};
use super::rows::{Row, by_cost};
use super::sum::Sum;
use super::whole::{Whole, or_also};
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
    let mut rows: Vec<Row> = groups
        .clocks
        .iter()
        .map(|(&(api, clock, path), of)| Row {
            api,
            clock: clock.map(ClockId::name),
            path,
            hits: hits(api, clock, path),
            ..row(of, unknown(api, clock, path), whole, costs)
        })
        .collect();
    rows.sort_by(|a, b| by_cost((a.cpu_seconds, a.per_second), (b.cpu_seconds, b.per_second)));
    rows
}

/// The figures of a row; the reads of `unknown` may also belong to it.
fn row(of: &OfClock, unknown: Option<&Sum>, whole: &Whole, costs: &Costs) -> Row {
    let sum = &of.sum;
    let calls = sum.calls().map(|calls| calls.value).filter(|calls| *calls > 0.0);
    let ns = calls.map(|calls| sum.spent / calls);
    let ratio = |to: Option<f64>| Some(ns? / to.filter(|to| *to > 0.0)?);
    let monotonic = costs.of(Api::ClockGettime, Some(ClockId::MONOTONIC)).library_ns;
    let share = |sum: &Sum| whole.share_of_reads(sum, true);
    let rate = |sum: &Sum| whole.per_second(sum, true);
    let cpu_share = |sum: &Sum| whole.cpu_share(sum, true);
    Row {
        api: Api::ClockGettime,
        clock: None,
        path: Path::Vdso,
        samples: sum.samples,
        hits: 0,
        share_of_reads: or_also(share(sum), unknown.and_then(share)).map(|it| it.within_one()),
        cpu_share: or_also(Some(cpu_share(sum)), unknown.map(cpu_share))
            .unwrap_or_default()
            .within_one(),
        cpu_seconds: sum.seconds,
        per_second: or_also(rate(sum), unknown.and_then(rate)),
        ns,
        fast_ns: calls.filter(|_| of.fast > 0.0).map(|calls| of.fast / calls),
        ratio_to_counter: ratio(costs.counter_ns),
        ratio_to_monotonic: ratio(monotonic),
        saving_cpu_seconds: sum.saving,
    }
}
