//! `--gain`: the savings of other paths to the time on this machine.

use crate::report::bench::{BenchReport, Costs, GainReport, RemedyGain, RowReport, WayReport};
use clocksmith_diagnose::remedies::Layer;
use clocksmith_diagnose::{Measured, Path, Read, Remedy, assess};
use clocksmith_facts::Facts;
use clocksmith_measure::bench::gain::saved;
use clocksmith_measure::bench::row::{ClockId, Instruction, LibraryRead, Row, Via};
use clocksmith_measure::bench::served::Served;
use clocksmith_measure::bench::stats::Estimate;

const NOW: Row = Row::clock(ClockId::Monotonic, Via::Libc);
const COARSE: Row = Row::clock(ClockId::MonotonicCoarse, Via::Libc);
const FENCED: Row = Row::counter(Instruction::Fenced);

/// Returns the possible savings; `None` if the present cost was not measured.
pub(super) fn gain(rate: f64, report: &BenchReport, facts: &Facts) -> Option<GainReport> {
    let in_work = report.row(NOW)?.costs.in_work.is_some();
    let pick = |costs: &Costs| if in_work { costs.in_work } else { costs.throughput };
    let of = |row: Row| pick(&report.row(row)?.costs);
    let now = of(NOW)?;
    let mut ways = Vec::new();
    let mut way = |name: String, gives_up: &str, cost: Option<Estimate>| {
        if let Some(cost) = cost {
            let gives_up = gives_up.to_owned();
            ways.push(WayReport { name, gives_up, cost, saved: saved(rate, now, cost) });
        }
    };
    let library = |read| Row::library(read);
    way(
        "clocksmith monotonic_ns".to_owned(),
        "the order of reads of different threads that are less than a few nanoseconds apart",
        of(library(LibraryRead::Monotonic)),
    );
    way(
        "clocksmith monotonic_ordered_ns".to_owned(),
        "nothing",
        of(library(LibraryRead::MonotonicOrdered)),
    );
    way("CLOCK_MONOTONIC_COARSE".to_owned(), "1 to 10 ms of resolution", of(COARSE));
    way(
        "clocksmith monotonic_coarse_ns".to_owned(),
        "1 to 10 ms of resolution",
        of(library(LibraryRead::MonotonicCoarse)),
    );
    for source in &report.clocksources {
        let current = report.clocksource.current.as_deref() == Some(source.name.as_str());
        let row = source.rows.iter().find(|row| row.name == NOW.name());
        if !current && let Some(row) = row {
            let name = format!("clocksource {}", source.name);
            way(name, "see `clocksmith why`", pick(&row.costs));
        }
    }
    Some(GainReport {
        reads_per_second: rate,
        cost: if in_work { "in_work" } else { "throughput" },
        now,
        spent: rate * now.ns / 1e9,
        remedies: remedies(rate, report, facts, now, pick),
        ways,
    })
}

/// Returns the remedies that `why` advises, with the costs that were measured here.
fn remedies(
    rate: f64,
    report: &BenchReport,
    facts: &Facts,
    now: Estimate,
    pick: impl Fn(&Costs) -> Option<Estimate>,
) -> Vec<RemedyGain> {
    let reads = report.rows.iter().filter(|row| row.via == Via::Libc).map(|r| read(r, report));
    let measured = Measured { reads: reads.collect(), counter_ns: None };
    let seen = assess(facts.clone(), measured).report;
    let of = |row: Row| pick(&report.row(row)?.costs);
    let tsc = report
        .clocksources
        .iter()
        .find(|source| source.name == "tsc")
        .and_then(|source| pick(&source.rows.iter().find(|row| row.name == NOW.name())?.costs));
    let in_kernel = report.row(NOW).is_some_and(|row| row.path == Served::Syscall);
    let one = |remedy: &Remedy| {
        let (cost, by) = match remedy.layer {
            Layer::Program => (of(COARSE), "CLOCK_MONOTONIC_COARSE, measured here"),
            _ if tsc.is_some() => (tsc, "CLOCK_MONOTONIC on tsc, measured here"),
            _ if in_kernel => (of(FENCED), "at most: a fenced counter read, measured here"),
            _ => (None, "not measured here"),
        };
        RemedyGain {
            id: remedy.id.clone(),
            summary: remedy.summary.clone(),
            saved: cost.map(|cost| saved(rate, now, cost)),
            by: by.to_owned(),
        }
    };
    seen.remedies
        .iter()
        .filter(|r| r.refused_because.is_none() && makes_reads_cheaper(r))
        .map(one)
        .collect()
}

/// A remedy for the wall clock alone corrects that clock, and saves nothing.
fn makes_reads_cheaper(remedy: &Remedy) -> bool {
    remedy.causes.is_empty() || remedy.causes.iter().any(|cause| !cause.concerns_wall_clock())
}

fn read(row: &RowReport, report: &BenchReport) -> Read {
    let syscall = report.rows.iter().find(|r| r.clock == row.clock && r.via == Via::Syscall);
    let ns = |row: &RowReport| row.costs.throughput.map(|cost| cost.ns);
    Read {
        clock: row.clock.to_owned(),
        path: match row.path {
            Served::Vdso | Served::Counter | Served::Library => Path::Vdso,
            Served::Syscall => Path::Syscall,
            Served::Unknown => Path::Unknown,
        },
        ns: ns(row),
        syscall_ns: syscall.and_then(ns),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clocksmith_diagnose::causes::CauseId;

    #[test]
    fn a_remedy_for_the_wall_clock_saves_nothing() {
        let of = |causes: &[CauseId]| {
            let remedy = serde_json::json!({"id": "x", "layer": "hypervisor", "for": causes});
            makes_reads_cheaper(&serde_json::from_value(remedy).unwrap())
        };
        assert!(!of(&[CauseId::WallClockUnsynchronised, CauseId::WallClockStaleAfterRestore]));
        assert!(of(&[CauseId::WallClockUnsynchronised, CauseId::NoTsc]));
        assert!(of(&[]));
    }
}
