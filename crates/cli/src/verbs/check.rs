//! `check`: one line and an exit code for monitoring. Every failure is UNKNOWN, with exit code 3: monitoring treats 2
//! as CRITICAL.

use crate::args::{self, Check, CheckFormat, Common};
use crate::exit::{self, Code};
use crate::gather::{self, From};
use crate::render::{self, Style};
use crate::report::check::CheckReport;
use crate::ui::{err, out};
use anyhow::{Context, Result, anyhow, bail};
use clap::ValueEnum;
use clap::error::ErrorKind;
use clocksmith_diagnose::{Assessment, policy};
use clocksmith_facts::visible;
use clocksmith_watch::assess::{self, Live};
use clocksmith_watch::{Judgement, State};
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::Instant;

pub(crate) fn run(common: &Common, check: &Check) -> Result<Code> {
    let begun = Instant::now();
    let format = match check.format {
        _ if common.json => CheckFormat::Json,
        Some(format) => format,
        None => CheckFormat::Nagios,
    };
    let thresholds = check.resolved();
    let seen = one_format(common, check).and_then(|()| in_time(common, check)).map(|mut seen| {
        let asked = |vendor| policy::answer(vendor, &seen.facts, &seen.report);
        seen.report.policy = check.policy.map(asked);
        seen
    });
    let judgement = match &seen {
        Ok(seen) => clocksmith_watch::assess::judgement(seen, &thresholds),
        Err(error) => Judgement::unknown(&format!("{error:#}")),
    };
    if let Err(error) = &seen {
        err::line(&render::error(error));
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
            err::line(&render::error(&error));
            Ok(Code::Monitoring(State::Unknown.code()))
        }
        // A program that does not read to the end still sees the exit code.
        _ => Ok(Code::Monitoring(code(state, format))),
    }
}

/// Refuses two formats at once: what reads the output expects one of them.
fn one_format(common: &Common, check: &Check) -> Result<()> {
    match check.format.and_then(|format| format.to_possible_value()) {
        Some(name) if common.json && check.format != Some(CheckFormat::Json) => {
            bail!("--json and --format {}: choose one", name.get_name())
        }
        _ => Ok(()),
    }
}

/// Returns the exit code of a state. node-problem-detector supports 0 (OK), 1 (a problem) and everything else
/// (unknown): `pkg/custompluginmonitor/plugin/plugin.go`, 2026.
fn code(state: State, format: CheckFormat) -> u8 {
    match (format, state) {
        (CheckFormat::Npd, State::Critical) => State::Warning.code(),
        _ => state.code(),
    }
}

/// Returns the assessment, or an error after the time-out. An assessment that is late then ends with the process.
fn in_time(common: &Common, check: &Check) -> Result<Assessment> {
    let Some(timeout) = check.timeout else { return assess(common, check) };
    let late =
        || anyhow!("not done after {timeout:?} (--timeout): a file or a mount may not answer");
    // Whether a result is available at once depends on chance.
    if timeout.is_zero() {
        return Err(late());
    }
    let (send, received) = mpsc::channel();
    let (common, check) = (common.clone(), check.clone());
    std::thread::Builder::new()
        .name("check".to_owned())
        .spawn(move || {
            // After the timeout there is no receiver.
            let _ = send.send(assess(&common, &check));
        })
        .context("cannot start a thread")?;
    received.recv_timeout(timeout).unwrap_or_else(|_| Err(late()))
}

fn assess(common: &Common, check: &Check) -> Result<Assessment> {
    let Some(root) = common.root.as_deref() else {
        return Ok(Live::new().assess(!check.no_measure));
    };
    if let Ok(Some(live)) = Live::below(root) {
        return Ok(live.assess(!check.no_measure));
    }
    if check.resolved().of_cost() {
        bail!(
            "thresholds of the read cost (-w, -c, --warn-cost, --critical-cost) need a measurement of this machine, \
             but --root reads another one: leave them out"
        );
    }
    let from = From { root: Some(root), ..From::default() };
    Ok(assess::of(gather::facts(from)?, None))
}

/// Prints clap's message: help, the version, or the error of the command line. For `check` an error is UNKNOWN, with a
/// line on standard output, which monitoring reads.
pub(crate) fn wrong_usage(error: clap::Error) -> ExitCode {
    let asked = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    let checking = args::verb_of(words).is_some_and(|verb| verb == "check");
    // Messages quote words of the command line, so they have no colours; help has only the program's own words.
    let message = error.render();
    if asked {
        let page = match Style::of(&Common::default()).is_plain() {
            true => message.to_string(),
            false => message.ansi().to_string(),
        };
        return match out::help(&page) {
            Err(error) if !exit::is_broken_pipe(&error) => {
                err::line(&render::error(&error));
                let failed = Code::Monitoring(State::Unknown.code());
                if checking { failed } else { Code::Usage }.into()
            }
            _ => ExitCode::SUCCESS,
        };
    }
    // Words of the command line keep all their characters: without colours, no escape sequence of the message is the
    // program's.
    let mut first = args::plain_error().unwrap_or(message).ansi().to_string();
    // A line break of a word, of a file's name for example, makes no line of the message.
    for word in std::env::args_os().skip(1) {
        let word = word.to_string_lossy();
        for part in word.split('=').filter(|part| part.contains('\n')) {
            first = first.replace(part, &visible::line(part));
        }
    }
    err::text(&first);
    if !checking {
        return Code::Usage.into();
    }
    let first = first.lines().next().unwrap_or_default().trim_start_matches("error: ");
    let _ = render::text(&format!("{}\n", Judgement::unknown(&format!("usage: {first}")).line));
    Code::Monitoring(State::Unknown.code()).into()
}
