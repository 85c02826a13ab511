//! The error against the kernel's clock, over minutes.

use crate::clocks::{self, BY_LINE, BY_PAGE, Set};
use anyhow::Result;
use clocksmith_clock_bench::bracket::{self, Offset};
use clocksmith_clock_bench::report::{Target, largest, median, short};
use clocksmith_clock_bench::system::vdso_ns;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How long after the start the library's own line must have settled.
const SETTLED_NS: u64 = 3_000_000_000;
/// The seconds at which the table shows the error.
const MARKS: [u64; 4] = [1, 10, 60, 120];
const BRACKETS: usize = 400;
/// While a line settles it is looked at this often, with few brackets.
const DENSE_NS: u64 = 3_000_000;
const DENSE_BRACKETS: usize = 60;
const SPARSE_NS: u64 = 100_000_000;

/// The observations of one clock.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Drift {
    pub(crate) name: String,
    /// Error of the time that passed, at the marks that were reached: (seconds, ns).
    pub(crate) marks: Vec<(u64, f64)>,
    /// The slope of the error over the settled part, by its halves.
    pub(crate) growth_ppm: f64,
    /// The largest error of the first three seconds and after.
    pub(crate) max_first_ns: f64,
    pub(crate) max_settled_ns: f64,
}

/// Measures in this process.
pub(crate) fn measure(set: Set, seconds: u64, idle: bool) -> Result<Vec<Drift>> {
    let clocks = clocks::of(set)?;
    // The place in the bracket of a read of the counter: the same for the library's own line as for
    // the kernel's page, whose numbers are the kernel's.
    let bias = (set == Set::Line).then(page_bias).unwrap_or_default();
    let mut series: Vec<Vec<Offset>> = vec![Vec::new(); clocks.len()];
    // The first read begins a line, which takes over a millisecond later.
    let begun = vdso_ns();
    if set == Set::Line {
        while clocksmith::source() != clocksmith::Source::Disciplined {}
    }
    loop {
        for (clock, series) in clocks.iter().zip(&mut series) {
            let settling = vdso_ns() - begun < SETTLED_NS;
            let dense = set == Set::Line && settling && !idle;
            series.push((clock.offset)(if dense { DENSE_BRACKETS } else { BRACKETS }));
        }
        let passed = vdso_ns() - begun;
        if passed > seconds * 1_000_000_000 {
            break;
        }
        let dense = set == Set::Line && passed < SETTLED_NS && !idle;
        wait(if dense { DENSE_NS } else { SPARSE_NS }, set == Set::Line && !idle);
    }
    let drifts = clocks.iter().zip(&series).map(|(clock, series)| {
        let zero = if set == Set::Line { bias } else { zero(series) };
        drift(clock.name, series, begun, zero)
    });
    Ok(drifts.collect())
}

/// Sleeps; a line that is in use is read meanwhile.
fn wait(ns: u64, reading: bool) {
    let end = vdso_ns() + ns;
    while vdso_ns() < end {
        if reading {
            let _ = clocksmith::monotonic_ns();
        }
        std::thread::sleep(Duration::from_micros(if reading { 500 } else { 5_000 }));
    }
}

/// The offset of the kernel's page, read by this library.
fn page_bias() -> f64 {
    clocksmith::restrict(clocksmith::Source::Vvar);
    let _ = clocksmith::source();
    let offsets: Vec<f64> =
        (0..20).map(|_| bracket::offset(BRACKETS, clocksmith::monotonic_ns).mean_ns).collect();
    clocksmith::restrict(clocksmith::Source::Disciplined);
    median(&offsets)
}

fn zero(series: &[Offset]) -> f64 {
    series.first().map_or(0.0, |first| first.mean_ns)
}

fn drift(name: &str, series: &[Offset], begun: u64, zero: f64) -> Drift {
    let seconds = |offset: &Offset| offset.at_ns.saturating_sub(begun) as f64 / 1e9;
    let error = |offset: &Offset| offset.mean_ns - zero;
    let marks = MARKS.iter().filter_map(|mark| {
        // The mean of the values around the mark, with the last one for the end.
        let near: Vec<f64> = series
            .iter()
            .filter(|offset| (seconds(offset) - *mark as f64).abs() < 0.35)
            .map(error)
            .collect();
        (!near.is_empty()).then(|| (*mark, near.iter().sum::<f64>() / near.len() as f64))
    });
    let settled: Vec<&Offset> =
        series.iter().filter(|o| o.at_ns.saturating_sub(begun) >= SETTLED_NS).collect();
    let first: Vec<f64> = series.iter().take(series.len() - settled.len()).map(error).collect();
    let (early, late) = settled.split_at(settled.len() / 2);
    let middle = |part: &[&Offset], of: &dyn Fn(&Offset) -> f64| {
        part.iter().map(|offset| of(offset)).sum::<f64>() / part.len() as f64
    };
    let rise = middle(late, &error) - middle(early, &error);
    let run = middle(late, &seconds) - middle(early, &seconds);
    Drift {
        name: name.to_owned(),
        marks: marks.collect(),
        growth_ppm: rise / run / 1e3,
        max_first_ns: largest(&first),
        max_settled_ns: largest(&settled.iter().map(|o| error(o)).collect::<Vec<_>>()),
    }
}

pub(crate) fn print(drifts: &[Drift]) {
    println!("\nerror against CLOCK_MONOTONIC, ns");
    print!("{:26}", "");
    for mark in MARKS {
        print!("{:>9}", format!("{mark} s"));
    }
    println!("{:>9}{:>9}", "max", "ppm");
    for drift in drifts {
        print!("{:26}", drift.name);
        for mark in MARKS {
            let error = drift.marks.iter().find(|(seconds, _)| *seconds == mark);
            print!("{:>9}", error.map_or("-".to_owned(), |(_, error)| rounded(*error)));
        }
        println!("{:>9}{:>9}", rounded(drift.max_settled_ns), short(drift.growth_ppm));
    }
    println!("max and ppm: from 3 s on; in the first 3 s at most:");
    for drift in drifts.iter().filter(|drift| drift.name.starts_with(BY_LINE)) {
        println!("  {:32}{:>8}", drift.name, rounded(drift.max_first_ns));
    }
}

fn rounded(ns: f64) -> String {
    if ns.abs() < 99.5 { format!("{ns:.1}") } else { format!("{ns:.0}") }
}

pub(crate) fn targets(drifts: &[Drift]) -> Vec<Target> {
    let mut targets = Vec::new();
    for drift in drifts {
        let size = drift.max_settled_ns.max(drift.max_first_ns);
        if drift.name == BY_PAGE {
            targets.push(Target::new("error, vvar", size, 10.0, "ns"));
            targets.push(Target::new(
                "growth of the error, vvar",
                drift.growth_ppm.abs(),
                0.0005,
                "ppm",
            ));
        } else if drift.name.starts_with(BY_LINE) {
            let name = format!("error from 3 s on, {}", drift.name);
            targets.push(Target::new(name, drift.max_settled_ns, 30.0, "ns"));
            let name = format!("error before, {}", drift.name);
            targets.push(Target::new(name, drift.max_first_ns, 200.0, "ns"));
        }
    }
    targets
}
