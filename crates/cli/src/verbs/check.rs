//! `check`: one line and an exit code for monitoring. Whatever goes wrong is UNKNOWN, with exit code 3:
//! monitoring takes 2 for CRITICAL.

use crate::args::{Check, CheckFormat, Common};
use crate::exit::{self, Code};
use crate::gather::{self, From};
use crate::render;
use crate::report::check::CheckReport;
use anyhow::{Result, bail};
use clap::error::ErrorKind;
use clocksmith_diagnose::Assessment;
use clocksmith_watch::assess::{self, Live};
use clocksmith_watch::{Judgement, State};
use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

pub(crate) fn run(common: &Common, check: &Check) -> Result<Code> {
    let begun = Instant::now();
    let format = match check.format {
        Some(format) => format,
        None if common.json => CheckFormat::Json,
        None => CheckFormat::Nagios,
    };
    let thresholds = check.thresholds.resolved();
    let seen = assess(common, check);
    let judgement = match &seen {
        Ok(seen) => clocksmith_watch::assess::judgement(seen, &thresholds),
        Err(error) => Judgement::unknown(&format!("{error:#}")),
    };
    if let Err(error) = &seen {
        eprintln!("{}", render::error(error));
    }
    let seen = seen.ok();
    let state = judgement.state;
    let printed = match format {
        CheckFormat::Nagios => {
            render::text(&render::check::nagios(&judgement, seen.as_ref(), &thresholds, common))
        }
        CheckFormat::Npd => render::text(&render::check::npd(&judgement)),
        CheckFormat::Tap => render::text(&render::check::tap(&judgement)),
        CheckFormat::Prometheus => {
            render::text(&render::check::prometheus(&judgement, seen.as_ref()))
        }
        CheckFormat::Json => {
            let elapsed_ms = begun.elapsed().as_secs_f64() * 1e3;
            render::json(&CheckReport::new(seen, &judgement, thresholds, elapsed_ms))
        }
    };
    match printed {
        Err(error) if !exit::is_broken_pipe(&error) => {
            eprintln!("{}", render::error(&error));
            Ok(Code::Monitoring(State::Unknown.code()))
        }
        // Who does not read to the end still sees the exit code.
        _ => Ok(Code::Monitoring(code(state, format))),
    }
}

/// The exit code of a state. node-problem-detector knows 0 (OK), 1 (a problem) and everything else
/// (unknown): `pkg/custompluginmonitor/plugin/plugin.go`, 2026.
fn code(state: State, format: CheckFormat) -> u8 {
    match (format, state) {
        (CheckFormat::Npd, State::Critical) => State::Warning.code(),
        _ => state.code(),
    }
}

fn assess(common: &Common, check: &Check) -> Result<Assessment> {
    let Some(root) = common.root.as_deref() else {
        return Ok(Live::new().assess(!check.no_measure));
    };
    if check.thresholds.warn_cost.is_some() || check.thresholds.critical_cost.is_some() {
        bail!(
            "--warn-cost and --critical-cost measure the machine that this runs on, and --root shows \
             another one: leave one of them out"
        );
    }
    let from = From { root: Some(root), ..From::default() };
    Ok(assess::of(gather::facts(from)?, None))
}

/// Ends the program for a command line that clap refused. For `check` that is UNKNOWN, with a line on
/// standard output, where monitoring looks.
pub(crate) fn wrong_usage(error: clap::Error) -> ExitCode {
    let asked = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    let checking = std::env::args_os().skip(1).any(|word| word == "check");
    if asked {
        let printed = error.print().and_then(|()| std::io::stdout().flush());
        return match printed.map_err(anyhow::Error::from) {
            Err(error) if !exit::is_broken_pipe(&error) => {
                let error = error.context("cannot write to standard output");
                eprintln!("{}", render::error(&error));
                let failed = Code::Monitoring(State::Unknown.code());
                if checking { failed } else { Code::Usage }.into()
            }
            _ => ExitCode::SUCCESS,
        };
    }
    if !checking {
        error.exit();
    }
    // Where nobody listens any more there is nothing left to do.
    let _ = error.print();
    let first = error.to_string();
    let first = first.lines().next().unwrap_or_default().trim_start_matches("error: ");
    let _ = render::text(&format!("{}\n", Judgement::unknown(&format!("usage: {first}")).line));
    Code::Monitoring(State::Unknown.code()).into()
}
