//! The parts, their tables and targets; and this program as its own child.

use crate::clocks::Set;
use crate::drift::Drift;
use crate::starts::Rates;
use crate::threads::Steps;
use crate::{drift, starts, threads};
use anyhow::{Context, Result, bail};
use clap::{Parser, ValueEnum};
use clocksmith_clock_bench::report::{Target, print_targets, write_json};
use clocksmith_clock_bench::system::{pin, processors};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    Drift,
    Starts,
    Threads,
}

/// How exact the clock is.
#[derive(Parser)]
struct Arguments {
    /// Only these parts.
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Part>,
    /// How long the drift is watched.
    #[arg(long, default_value_t = 120)]
    seconds: u64,
    /// Fresh processes for the rate.
    #[arg(long, default_value_t = 60)]
    starts: usize,
    /// Pairs of times between threads for the ordered clock.
    #[arg(long, default_value_t = 20_000_000)]
    pairs: u64,
    /// Between threads, only the ordered clock.
    #[arg(long)]
    ordered: bool,
    /// Write the figures to this file (or the one that CLOCKSMITH_BENCH_JSON names).
    #[arg(long)]
    json: Option<PathBuf>,
    /// Measures this part in this process, and prints JSON.
    #[arg(long, hide = true)]
    child: Option<Part>,
    #[arg(long, hide = true, default_value = "page")]
    set: Set,
    /// The line is left alone between the looks at it.
    #[arg(long, hide = true)]
    idle: bool,
    #[arg(long, hide = true)]
    processor: Option<usize>,
    /// The option that cargo passes to a bench.
    #[arg(long, hide = true)]
    bench: bool,
}

#[derive(Default, Serialize)]
struct Report {
    drift: Vec<Drift>,
    starts: Vec<Rates>,
    threads: Vec<Steps>,
    targets: Vec<Target>,
}

pub(crate) fn run() -> Result<()> {
    let arguments = Arguments::parse();
    if let Some(processor) = arguments.processor {
        pin(processor)?;
    }
    match arguments.child {
        Some(Part::Drift) => {
            let drifts = drift::measure(arguments.set, arguments.seconds, arguments.idle)?;
            println!("{}", serde_json::to_string(&drifts)?);
            return Ok(());
        }
        Some(Part::Starts) => {
            println!("{}", serde_json::to_string(&starts::measure(arguments.set)?)?);
            return Ok(());
        }
        Some(Part::Threads) => bail!("this part has no child"),
        None => {}
    }
    let does = |part| arguments.only.is_empty() || arguments.only.contains(&part);
    let mut report = Report::default();
    if does(Part::Drift) {
        report.drift = watch(arguments.seconds)?;
        drift::print(&report.drift);
        report.targets.extend(drift::targets(&report.drift));
    }
    if does(Part::Starts) {
        report.starts = starts::run(arguments.starts)?;
        starts::print(&report.starts);
        report.targets.extend(starts::targets(&report.starts));
    }
    if does(Part::Threads) {
        report.threads = threads::run(arguments.pairs, arguments.ordered)?;
        threads::print(&report.threads);
        report.targets.extend(threads::targets(&report.threads));
    }
    print_targets(&report.targets);
    write_json(arguments.json.as_deref(), &report)
}

/// Measures the drift of all sets at once, each in a separate process.
///
/// `line, unpinned` may be moved between processors; `line, at 0.1 s` is read so seldom that each read starts a new
/// line.
fn watch(seconds: u64) -> Result<Vec<Drift>> {
    let processors = processors()?;
    let on = |index: usize| processors.get(index % processors.len()).copied().unwrap_or(0);
    let (seconds, on) = (seconds.to_string(), [on(0).to_string(), on(1).to_string()]);
    let [first, second] = &on;
    let common = ["--child", "drift", "--seconds", &seconds];
    let start = |more: &[&str]| child(&[&common[..], more].concat());
    let page = start(&["--set", "page", "--processor", first])?;
    let line = start(&["--set", "line", "--processor", second])?;
    let free = start(&["--set", "line"])?;
    let idle = start(&["--set", "line", "--idle", "--processor", first])?;
    let mut all: Vec<Drift> = page.result()?;
    all.extend(line.result::<Vec<Drift>>()?);
    for (name, running) in [(", unpinned", free), (", at 0.1 s", idle)] {
        for drift in running.result::<Vec<Drift>>()? {
            all.push(Drift { name: drift.name + name, ..drift });
        }
    }
    Ok(all)
}

/// This program, running once more.
pub(crate) struct Running(Child);

/// Starts this program once more.
pub(crate) fn child(arguments: &[&str]) -> Result<Running> {
    let program = std::env::current_exe().context("cannot find this program")?;
    let child = Command::new(program).args(arguments).stdout(Stdio::piped()).spawn()?;
    Ok(Running(child))
}

impl Running {
    /// Waits for its end, and parses its output.
    pub(crate) fn result<T: DeserializeOwned>(self) -> Result<T> {
        let output = self.0.wait_with_output()?;
        if !output.status.success() {
            bail!("a child ended with {}", output.status);
        }
        Ok(serde_json::from_slice(&output.stdout)?)
    }
}
