//! The run, its table and its targets.

use crate::clocks::{
    OURS, OURS_COARSE, OURS_ELAPSED, OURS_ORDERED, RDTSC, STD_ELAPSED, VDSO, VDSO_COARSE,
};
use crate::cost::Cost;
use crate::threads::Pair;
use crate::{clocks, threads};
use anyhow::Result;
use clap::Parser;
use clocksmith::Source;
use clocksmith_clock_bench::report::{Target, print_targets, write_json};
use clocksmith_clock_bench::system::{pin, two_processors};
use clocksmith_measure::sampler::Sampler;
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// How far a ratio may be beyond its target before `--quick` fails: machines and neighbours differ.
const PATIENCE: f64 = 1.5;

/// Measure the read cost of the clock.
#[derive(Parser)]
struct Arguments {
    /// A few seconds, and exit with 1 where a ratio is far beyond its target.
    #[arg(long)]
    quick: bool,
    /// Rounds in which every clock has its turn.
    #[arg(long)]
    rounds: Option<usize>,
    /// Write the figures to this file (or the one that CLOCKSMITH_BENCH_JSON names).
    #[arg(long)]
    json: Option<PathBuf>,
    /// The option that cargo passes to a bench.
    #[arg(long, hide = true)]
    bench: bool,
}

#[derive(Serialize)]
struct Report {
    source: &'static str,
    costs: Vec<Cost>,
    threads: Vec<Pair>,
    targets: Vec<Target>,
}

pub(crate) fn run() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    let rounds = arguments.rounds.unwrap_or(if arguments.quick { 150 } else { 1_000 });
    let sampler = Sampler { rounds, budget: Duration::from_secs(120), ..Sampler::default() };
    pin(two_processors()?.0)?;
    let source = clocksmith::source();
    println!("clocksmith by {source}; {rounds} rounds of 20 us batches; medians, in ns\n");
    let mut costs = clocks::by_page(&sampler)?;
    print_costs(&costs, 0);
    let best = find(&costs);
    for (source, name) in [(Source::Disciplined, "line"), (Source::Vdso, "vdso")] {
        match clocks::by(source, name, &sampler) {
            Ok(more) => {
                print_costs(&more, 2);
                costs.extend(more);
            }
            Err(error) => println!("{error}"),
        }
    }
    let threads = threads::measure(if arguments.quick { 8 } else { 60 })?;
    print_threads(&threads);
    let targets = if source == Source::Vvar { best } else { Vec::new() };
    print_targets(&targets);
    if !targets.is_empty() {
        // The lower bound of the second target, for any reader.
        let floor = back_to_back(&costs, RDTSC, VDSO);
        println!("  (one rdtsc, back to back, is {floor:.3} of the vDSO here)");
    }
    let beyond: Vec<_> = targets.iter().filter(|t| t.value > t.most * PATIENCE).collect();
    for target in &beyond {
        println!("{}: more than {PATIENCE} times its target", target.name);
    }
    let failed = arguments.quick && !beyond.is_empty();
    if targets.is_empty() {
        println!("  none here: the clock is not the kernel's page and the counter");
    }
    write_json(
        arguments.json.as_deref(),
        &Report { source: source.name(), costs, threads, targets },
    )?;
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn print_costs(costs: &[Cost], skip: usize) {
    let of = |name, figure: fn(&Cost) -> f64| figure_of(costs, name, figure);
    let (rdtsc, vdso) = (of(RDTSC, |cost| cost.throughput), of(VDSO, |cost| cost.throughput));
    let (rdtsc_alone, vdso_alone) = (of(RDTSC, |c| c.serialised), of(VDSO, |c| c.serialised));
    if skip == 0 {
        println!("{:29}{:^23}  {:^19} {:>6}", "", "back to back", "serialised", "in ALU");
        print!("{:29}{:>7}{:>8}{:>8}  ", "", "ns", "/rdtsc", "/vDSO");
        println!("{:>6}{:>7}{:>6} {:>6}", "ns", "/rdtsc", "/vDSO", "loop");
    }
    for cost in costs.iter().skip(skip) {
        let (back, alone) = (cost.throughput, cost.serialised);
        print!("{:29}{back:>7.2}{:>8.3}{:>8.3}  ", cost.name, back / rdtsc, back / vdso);
        print!("{alone:>6.1}{:>7.2}{:>6.2} ", alone / rdtsc_alone, alone / vdso_alone);
        println!("{:>6.2}", cost.added);
    }
}

fn print_threads(pairs: &[Pair]) {
    if pairs.is_empty() {
        return;
    }
    println!("\n{:29}{:>10}{:>12}{:>9}", "threads at once, ns", "one", "two", "ratio");
    for pair in pairs {
        let ratio = pair.two / pair.one;
        println!("{:29}{:>10.2}{:>12.2}{ratio:>9.2}", pair.name, pair.one, pair.two);
    }
}

fn figure_of(costs: &[Cost], name: &str, figure: fn(&Cost) -> f64) -> f64 {
    costs.iter().find(|cost| cost.name == name).map_or(f64::NAN, figure)
}

fn back_to_back(costs: &[Cost], of: &str, to: &str) -> f64 {
    figure_of(costs, of, |cost| cost.throughput) / figure_of(costs, to, |cost| cost.throughput)
}

fn find(costs: &[Cost]) -> Vec<Target> {
    let back = |of, to| back_to_back(costs, of, to);
    let alone = |of, to| {
        figure_of(costs, of, |cost| cost.serialised) / figure_of(costs, to, |cost| cost.serialised)
    };
    vec![
        Target::new("monotonic, back to back, to rdtsc", back(OURS, RDTSC), 1.02, "x"),
        Target::new("monotonic, back to back, to the vDSO", back(OURS, VDSO), 0.46, "x"),
        Target::new("monotonic, serialised, to rdtsc", alone(OURS, RDTSC), 1.15, "x"),
        Target::new("ordered, back to back, to the vDSO", back(OURS_ORDERED, VDSO), 0.88, "x"),
        Target::new(
            "coarse, back to back, to the vDSO's",
            back(OURS_COARSE, VDSO_COARSE),
            0.2,
            "x",
        ),
        Target::new("elapsed, serialised, to std's", alone(OURS_ELAPSED, STD_ELAPSED), 0.72, "x"),
    ]
}
