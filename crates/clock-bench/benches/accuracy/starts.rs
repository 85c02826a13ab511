//! The rate of a clock in fresh processes.

use crate::clocks::{self, BY_LINE, BY_PAGE, Set};
use crate::run::child;
use anyhow::Result;
use clocksmith_clock_bench::report::{Target, largest, median, short};
use clocksmith_clock_bench::system::{processors, work};
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const BRACKETS: usize = 2_000;
const LENGTH: Duration = Duration::from_millis(1_500);

/// A rate in one process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Rate {
    pub(crate) name: String,
    pub(crate) ppm: f64,
}

/// The rates of a clock in all processes.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Rates {
    name: String,
    /// Parts per million: of the quiet starts, and those on a busy machine.
    quiet: Vec<f64>,
    busy: Vec<f64>,
}

/// Measures in this process.
pub(crate) fn measure(set: Set) -> Result<Vec<Rate>> {
    let clocks = clocks::of(set)?;
    if set == Set::Line {
        while clocksmith::source() != clocksmith::Source::Disciplined {}
    }
    let before: Vec<_> = clocks.iter().map(|clock| (clock.offset)(BRACKETS)).collect();
    let end = std::time::Instant::now() + LENGTH;
    while std::time::Instant::now() < end {
        let _ = clocksmith::monotonic_ns();
        std::thread::sleep(Duration::from_millis(1));
    }
    let rates = clocks.iter().zip(before).map(|(clock, before)| {
        let after = (clock.offset)(BRACKETS);
        let passed = after.at_ns.saturating_sub(before.at_ns) as f64;
        let ppm = (after.mean_ns - before.mean_ns) / passed * 1e6;
        Rate { name: clock.name.to_owned(), ppm }
    });
    Ok(rates.collect())
}

/// Starts that many processes, every second one while all processors are busy.
pub(crate) fn run(starts: usize) -> Result<Vec<Rates>> {
    let mut all: Vec<Rates> = Vec::new();
    let loops = processors()?.len();
    let end = AtomicBool::new(false);
    for busy in [false, true] {
        let number = if busy { starts / 2 } else { starts - starts / 2 };
        std::thread::scope(|scope| -> Result<()> {
            for _ in 0..if busy { loops } else { 0 } {
                scope.spawn(|| {
                    while !end.load(Ordering::Relaxed) {
                        work();
                    }
                });
            }
            let result = (0..number).try_for_each(|_| start(busy, &mut all));
            end.store(true, Ordering::Relaxed);
            result
        })?;
    }
    Ok(all)
}

fn start(busy: bool, all: &mut Vec<Rates>) -> Result<()> {
    // Both at once: they only sleep.
    let line = child(&["--child", "starts", "--set", "line"])?;
    let page = child(&["--child", "starts", "--set", "page"])?;
    for running in [page, line] {
        for rate in running.result::<Vec<Rate>>()? {
            let index = all.iter().position(|rates| rates.name == rate.name);
            let index = index.unwrap_or_else(|| {
                all.push(Rates { name: rate.name, quiet: Vec::new(), busy: Vec::new() });
                all.len() - 1
            });
            if let Some(rates) = all.get_mut(index) {
                if busy { &mut rates.busy } else { &mut rates.quiet }.push(rate.ppm);
            }
        }
    }
    Ok(())
}

pub(crate) fn print(all: &[Rates]) {
    println!("\nrate in fresh processes, error in ppm over {} s", LENGTH.as_secs_f64());
    println!("{:26}{:^24}{:^24}", "", "quiet", "all processors busy");
    println!("{:26}{:>12}{:>12}{:>12}{:>12}", "", "median", "max", "median", "max");
    for rates in all {
        print!("{:26}", rates.name);
        for part in [&rates.quiet, &rates.busy] {
            let sizes: Vec<f64> = part.iter().map(|ppm| ppm.abs()).collect();
            print!("{:>12}{:>12}", short(median(&sizes)), short(largest(part)));
        }
        println!();
    }
}

pub(crate) fn targets(all: &[Rates]) -> Vec<Target> {
    let ours = all.iter().filter(|rates| rates.name == BY_PAGE || rates.name == BY_LINE);
    ours.map(|rates| {
        let worst = largest(&rates.quiet).max(largest(&rates.busy));
        Target::new(format!("error of the rate, {}", rates.name), worst, 0.01, "ppm")
    })
    .collect()
}
