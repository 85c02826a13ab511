//! `--starts`: processes that measure one after the other, so that runs can be compared.

use crate::args::Bench as Wanted;
use crate::exit::Code;
use crate::render;
use anyhow::{Context, Result, bail};
use clocksmith_measure::bench::row::Row;
use clocksmith_measure::bench::starts::{self, Start};
use clocksmith_measure::interrupt;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Starts of a comparison if no number is given.
const COMPARED: u16 = 10;

/// The pause between two starts: disturbances last for seconds, and starts that all fall into one
/// look the same.
const PAUSE: Duration = Duration::from_millis(400);

/// How many starts this run measures.
pub(super) fn count(wanted: &Wanted) -> Result<u16> {
    let least = u16::try_from(clocksmith_measure::bench::compare::LEAST_STARTS).unwrap_or(u16::MAX);
    match (wanted.starts, &wanted.baseline) {
        (Some(few), Some(_)) if few < least => bail!(
            "--starts {few}: a comparison needs at least {least} starts, because it must know how \
             far two starts differ"
        ),
        (Some(count), _) => Ok(count),
        (None, Some(_)) => Ok(COMPARED),
        (None, None) => Ok(0),
    }
}

/// Runs this process as one start: measures, and prints a line.
pub(super) fn child(wanted: &Wanted, rows: &[Row]) -> Result<Code> {
    interrupt::listen();
    let budget = wanted.duration.unwrap_or(starts::EACH);
    let start = starts::one(rows, wanted.cpu, budget, wanted.burden.unwrap_or(0))
        .map_err(|why| anyhow::anyhow!(why))?;
    render::json_line(&start)?;
    Ok(Code::Done)
}

/// Runs the starts on a CPU. Starts that a signal or a failure prevented are missing at the end.
pub(super) fn run(
    wanted: &Wanted,
    count: u16,
    cpu: Option<u32>,
    each: Duration,
    told: impl Fn(f64),
) -> (Vec<Start>, Option<String>) {
    let mut all = Vec::new();
    for number in 0..count {
        if number > 0 {
            std::thread::sleep(PAUSE);
        }
        if interrupt::wished() {
            return (all, Some("interrupted".to_owned()));
        }
        match one(wanted, cpu, each) {
            Ok(start) => all.push(start),
            Err(_) if interrupt::wished() => return (all, Some("interrupted".to_owned())),
            Err(error) => return (all, Some(render::error(&error))),
        }
        told(f64::from(number + 1) / f64::from(count));
    }
    (all, None)
}

fn one(wanted: &Wanted, cpu: Option<u32>, each: Duration) -> Result<Start> {
    // The file of this program may have been replaced meanwhile; the link leads to the one that runs.
    let mut command = Command::new("/proc/self/exe");
    command.args(["bench", "--one-start", "--duration", &format!("{}ms", each.as_millis().max(1))]);
    if let Some(cpu) = cpu {
        command.args(["--cpu", &cpu.to_string()]);
    }
    if !wanted.only.is_empty() {
        command.args(["--only", &wanted.only.join(",")]);
    }
    if let Some(burden) = wanted.burden {
        command.args(["--burden", &burden.to_string()]);
    }
    let out = command
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .output()
        .context("cannot start this program once more, for --starts")?;
    if !out.status.success() {
        let said = String::from_utf8_lossy(&out.stderr);
        bail!("a start of --starts failed ({}): {}", out.status, said.trim());
    }
    serde_json::from_slice(&out.stdout).context("a start of --starts printed no figures")
}
