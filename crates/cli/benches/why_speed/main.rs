//! The speed of `why`: a large kernel log against `grep` over the same file, and this machine.
//!
//! `cargo bench -p clocksmith-cli --bench why_speed` generates the logs (1 GiB each; `CLOCKSMITH_BENCH_MIB` sets
//! another size), and prints a table and one line of JSON. It fails only beyond limits that every usual machine meets:
//! a person reads the figures.

mod generate;
mod run;

use generate::Kind;
use run::{Ran, median};
use std::error::Error;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Runs of each command on a large log.
const ROUNDS: usize = 3;
/// Runs of each live command.
const LIVE_ROUNDS: usize = 20;
/// Times that `grep` takes.
const RATIO_TARGET: f64 = 3.0;
/// Peak memory in MiB.
const MEMORY_TARGET: f64 = 64.0;
/// By which factor a figure may exceed its target before this fails: machines and neighbours differ.
const PATIENCE: f64 = 3.0;

/// One measured figure.
struct Figure {
    name: String,
    value: f64,
    unit: &'static str,
    target: Option<f64>,
    /// Beyond this the bench fails.
    limit: Option<f64>,
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mebibytes = match std::env::var("CLOCKSMITH_BENCH_MIB") {
        Ok(text) => text.parse()?,
        Err(_) => 1024u64,
    };
    let mut figures = Vec::new();
    for kind in [Kind::Mixed, Kind::Boots] {
        let file = TempFile(directory().join(format!("{}.log", kind.name())));
        let lines = generate::log(&mut File::create(&file.0)?, kind, mebibytes << 20)?;
        eprintln!("{}: {mebibytes} MiB, {lines} lines", kind.name());
        log_figures(kind, &file.0, &mut figures)?;
    }
    live_figures(&mut figures)?;
    print(&figures, mebibytes);
    let failed = figures.iter().any(|f| f.limit.is_some_and(|limit| f.value > limit));
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
}

/// A file that is removed with the value: a gigabyte is too much to leave behind.
struct TempFile(PathBuf);

impl Drop for TempFile {
    fn drop(&mut self) {
        // Nothing can be done about a file that stays.
        let _ = std::fs::remove_file(&self.0);
    }
}

fn clocksmith() -> Command {
    Command::new(env!("CARGO_BIN_EXE_clocksmith"))
}

/// `grep` and `why --log` by turns on one file, which the first reading put into memory.
fn log_figures(kind: Kind, file: &Path, figures: &mut Vec<Figure>) -> Result<(), Box<dyn Error>> {
    let grep = || {
        let mut command = Command::new("grep");
        // The C locale is the fastest that grep has.
        command.env("LC_ALL", "C").args(["-cE", "clocksource|tsc|TSC"]).arg(file);
        command
    };
    let why = || {
        let mut command = clocksmith();
        command.args(["why", "--json", "--log"]).arg(file);
        command
    };
    run::run(&mut grep(), &[0])?;
    let (mut greps, mut whys) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        greps.push(run::run(&mut grep(), &[0])?);
        // The last boot of many may end before it is decided.
        whys.push(run::run(&mut why(), &[0, 1, 3])?);
    }
    let ratio = |of: fn(&Ran) -> f64| median(whys.iter().map(of)) / median(greps.iter().map(of));
    let memory = whys.iter().map(|run| run.peak_mib).fold(0.0, f64::max);
    let mut add = |name: &str, value, unit, target: Option<f64>, patience: f64| {
        figures.push(Figure {
            name: format!("{}: {name}", kind.name()),
            value,
            unit,
            target,
            limit: target.map(|target| target * patience),
        });
    };
    add("grep -cE", median(greps.iter().map(|run| run.seconds)), "s", None, 1.0);
    add("why --log", median(whys.iter().map(|run| run.seconds)), "s", None, 1.0);
    add("ratio", ratio(|run| run.seconds), "x", Some(RATIO_TARGET), PATIENCE);
    // Neighbours disturb this one less.
    add("ratio of CPU time", ratio(|run| run.cpu_seconds), "x", Some(RATIO_TARGET), PATIENCE);
    // Memory does not depend on the neighbours.
    add("peak memory of why", memory, "MiB", Some(MEMORY_TARGET), 1.0);
    Ok(())
}

/// `why` about this machine.
fn live_figures(figures: &mut Vec<Figure>) -> Result<(), Box<dyn Error>> {
    let cases: [(&str, &[&str], f64); 2] = [
        ("live: why --no-measure", &["why", "--no-measure", "--json"], 50.0),
        ("live: why", &["why", "--json"], 700.0),
    ];
    for (name, arguments, target) in cases {
        let mut runs = Vec::new();
        for _ in 0..LIVE_ROUNDS {
            // Exit code 3 is also a result: not every machine shows its clocksource.
            runs.push(run::run(clocksmith().args(arguments), &[0, 1, 3])?);
        }
        figures.push(Figure {
            name: name.to_owned(),
            value: median(runs.iter().map(|run| run.seconds)) * 1e3,
            unit: "ms",
            target: Some(target),
            limit: Some(target * PATIENCE),
        });
    }
    Ok(())
}

fn print(figures: &[Figure], mebibytes: u64) {
    println!("{:<32} {:>10}     {:>8}", "figure", "median", "target");
    for figure in figures {
        let target = figure.target.map_or(String::new(), |target| format!("{target:.0}"));
        let verdict = match figure.target {
            Some(target) if figure.value > target => "missed",
            Some(_) => "met",
            None => "",
        };
        println!(
            "{:<32} {:>10.3} {:<3} {target:>8} {verdict}",
            figure.name, figure.value, figure.unit
        );
    }
    let list: Vec<serde_json::Value> = figures
        .iter()
        .map(|figure| {
            serde_json::json!({
                "name": figure.name,
                "value": figure.value,
                "unit": figure.unit,
                "target": figure.target,
                "met": figure.target.map(|target| figure.value <= target),
            })
        })
        .collect();
    println!("{}", serde_json::json!({ "mib": mebibytes, "figures": list }));
}
