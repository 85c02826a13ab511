//! The run, its table and its targets.

use crate::program::constructors;
use anyhow::{Context, Result, bail};
use clap::{Parser, ValueEnum};
use clocksmith::Source;
use clocksmith_clock_bench::report::{Target, median, print_targets, quantile, write_json};
use clocksmith_clock_bench::system::vdso_ns;
use serde::{Deserialize, Serialize};
use std::hint::black_box;
use std::mem::MaybeUninit;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

/// The function that is called first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
enum First {
    Std,
    Monotonic,
    Ordered,
    Coarse,
    /// By the library's own line.
    Line,
}

impl First {
    fn name(self) -> &'static str {
        match self {
            Self::Std => "std Instant::now",
            Self::Monotonic => "clocksmith monotonic",
            Self::Ordered => "clocksmith monotonic ordered",
            Self::Coarse => "clocksmith monotonic coarse",
            Self::Line => "clocksmith, disciplined",
        }
    }
}

/// Measure the cost of the first read in a fresh process.
#[derive(Parser)]
struct Arguments {
    /// Fresh processes for each.
    #[arg(long, default_value_t = 200)]
    starts: usize,
    /// Write the figures to this file (or the one that CLOCKSMITH_BENCH_JSON names).
    #[arg(long)]
    json: Option<PathBuf>,
    #[arg(long, hide = true)]
    child: Option<First>,
    /// The option that cargo passes to a bench.
    #[arg(long, hide = true)]
    bench: bool,
}

/// The observations of one process.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Seen {
    first_ns: u64,
    second_ns: u64,
    /// Page faults during the reads, those of the vDSO included.
    faults: i64,
}

#[derive(Serialize)]
struct Row {
    first: First,
    seen: Vec<Seen>,
}

#[derive(Serialize)]
struct Report {
    constructors: Option<u64>,
    rows: Vec<Row>,
    targets: Vec<Target>,
}

pub(crate) fn run() -> Result<()> {
    let arguments = Arguments::parse();
    if let Some(first) = arguments.child {
        println!("{}", serde_json::to_string(&measure(first))?);
        return Ok(());
    }
    let kinds = First::value_variants();
    let mut rows: Vec<Row> =
        kinds.iter().map(|first| Row { first: *first, seen: Vec::new() }).collect();
    // In turns, so that a disturbance of the machine affects all of them equally.
    for _ in 0..arguments.starts {
        for row in &mut rows {
            row.seen.push(start(row.first)?);
        }
    }
    println!("first read in {} fresh processes each, us", arguments.starts);
    print!("{:30}{:>9}{:>9}{:>9}{:>9}", "", "median", "90 %", "99 %", "worst");
    println!("{:>7}", "faults");
    for row in &rows {
        print!("{:30}", row.first.name());
        let first = row.micros();
        for share in [0.5, 0.9, 0.99, 1.0] {
            print!("{:>9.1}", quantile(&first, share));
        }
        let faults: Vec<f64> = row.seen.iter().map(|seen| seen.faults as f64).collect();
        println!("{:>7}", median(&faults));
    }
    let constructors = constructors();
    let before = constructors.map_or_else(|| "-".to_owned(), |number| number.to_string());
    println!("functions that run before main: {before} (the C library's and std's are 2)");
    let mut targets = Vec::new();
    for row in rows.iter().filter(|row| matches!(row.first, First::Monotonic | First::Ordered)) {
        let (name, first) = (row.first.name(), row.micros());
        targets.push(Target::new(format!("{name}: median"), median(&first), 60.0, "us"));
        targets.push(Target::new(format!("{name}: worst"), quantile(&first, 1.0), 1_000.0, "us"));
    }
    if let Some(number) = constructors {
        targets.push(Target::new("functions before main", number as f64, 2.0, ""));
    }
    print_targets(&targets);
    write_json(arguments.json.as_deref(), &Report { constructors, rows, targets })
}

impl Row {
    fn micros(&self) -> Vec<f64> {
        self.seen.iter().map(|seen| seen.first_ns as f64 / 1e3).collect()
    }
}

fn start(first: First) -> Result<Seen> {
    let program = std::env::current_exe().context("cannot find this program")?;
    let name = first.to_possible_value().context("no name")?;
    let output = Command::new(program).args(["--child", name.get_name()]).output()?;
    if !output.status.success() {
        bail!("a child ended with {}", output.status);
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn measure(first: First) -> Seen {
    match first {
        First::Std => timed(Instant::now),
        First::Monotonic => timed(clocksmith::monotonic_ns),
        First::Ordered => timed(clocksmith::monotonic_ordered_ns),
        First::Coarse => timed(clocksmith::monotonic_coarse_ns),
        First::Line => {
            // Reads nothing yet.
            clocksmith::restrict(Source::Disciplined);
            timed(clocksmith::monotonic_ns)
        }
    }
}

fn timed<R>(read: impl Fn() -> R) -> Seen {
    let before = faults();
    // The vDSO itself is there: its first read is not measured.
    black_box(vdso_ns());
    let begun = vdso_ns();
    black_box(read());
    let first = vdso_ns();
    black_box(read());
    let second = vdso_ns();
    let faults = faults() - before;
    Seen { first_ns: first - begun, second_ns: second - first, faults }
}

/// Page faults of this process so far.
fn faults() -> i64 {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: writes a local value, for which all bits zero are valid.
    unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init().ru_minflt
    }
}
