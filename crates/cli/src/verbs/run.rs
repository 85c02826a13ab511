//! `run`: a program with another clock.

use crate::args::{Common, Run};
use crate::exit::{Code, NotRun};
use crate::render;
use crate::run::choose::{self, Choice, Refused};
use crate::run::preload;
use crate::run::report::RunReport;
use crate::run::slow::Slow;
use crate::run::{Source, Via};
use crate::ui::err;
use anyhow::{Result, bail};
use clocksmith_run::{Act, Baseline, Failure, Launch};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

pub(crate) fn run(common: &Common, args: &Run) -> Result<Code> {
    let baseline = Baseline::begin();
    if common.root.is_some() {
        bail!("run runs a program here; --root shows another machine");
    }
    let Some((program, arguments)) = args.command.split_first() else {
        bail!("run: no program; expected: clocksmith run -- COMMAND");
    };
    let mut command = Command::new(program);
    command.args(arguments);
    if let Some(slow) = &args.as_if {
        if args.via == Via::Preload {
            bail!("--as needs another vDSO: it is not there with --via preload");
        }
        let act =
            Act::Slow { by_call: slow.by_call, least_ns: slow.least_ns, extra_ns: slow.extra_ns };
        let mut report = begin(args, "vdso", None, slow.basis.clone());
        report.slow = Some(slow.into());
        note_slow(common, slow);
        return Ok(launch(common, args, act, baseline, &mut command, report));
    }
    let choice = match choose::choose(&choose::Live, args.source, args.relaxed) {
        Ok(choice) => choice,
        Err(Refused(why)) => return Ok(refused(&why)),
    };
    let report = |via| begin(args, via, Some(choice.source), choice.reason.clone());
    let act = match choice.source {
        Source::Exact => {
            note(common, &format!("run with the kernel's clock as it is: {}", choice.reason));
            // Nobody is there when it ends.
            tell(common, &report("none"));
            return Ok(not_run(&command.exec(), &command));
        }
        Source::Disciplined => Act::Line { ordered: !args.relaxed },
        Source::Coarse => Act::Coarse,
    };
    if args.via == Via::Preload {
        return by_preload(common, args, &choice, baseline, &mut command, &report("preload"));
    }
    Ok(launch(common, args, act, baseline, &mut command, report("vdso")))
}

fn launch(
    common: &Common,
    args: &Run,
    act: Act,
    baseline: Baseline,
    command: &mut Command,
    report: RunReport,
) -> Code {
    let mut launch = Launch::new(act, baseline);
    launch.follow = !args.no_follow;
    let shown = command.get_program().to_string_lossy().into_owned();
    let launch = launch.on_refusal(move |why| {
        err::line(&format!("clocksmith: {shown} runs with the kernel's clock as it is: {why}"));
    });
    let (tells, quiet) = (common.clone(), common.quiet);
    let launch = launch.on_end(move |totals| {
        tell(&tells, &report.clone().with(totals));
        if !quiet && !tells.json && totals.untouched > 0 {
            left_alone(totals);
        }
    });
    match launch.exec(command) {
        Failure::NotRun(error) => not_run(&error, command),
        failure @ (Failure::Forbidden(_) | Failure::Unavailable) => refused(&format!(
            "{failure}. There is --via preload, for programs with a shared C library"
        )),
        failure => refused(&failure.to_string()),
    }
}

/// Children that did not get the clock.
fn left_alone(totals: &clocksmith_run::Totals) {
    for (program, why) in &totals.reasons {
        err::line(&format!("clocksmith: left alone: {program}: {why}"));
    }
    let more = totals.untouched.saturating_sub(totals.reasons.len() as u64);
    if more > 0 {
        err::line(&format!("clocksmith: left alone: {more} more"));
    }
}

fn by_preload(
    common: &Common,
    args: &Run,
    choice: &Choice,
    baseline: Baseline,
    command: &mut Command,
    report: &RunReport,
) -> Result<Code> {
    if args.no_follow {
        bail!(
            "--no-follow: what is preloaded is inherited by all children; --via vdso can do without"
        );
    }
    let library = match preload::find(args.preload_file.as_deref()) {
        Ok(library) => library,
        Err(error) => return Ok(refused(&format!("{error:#}"))),
    };
    if let Err(refusal) = clocksmith_run::check(command.get_program()) {
        return Ok(refused(&Failure::from(refusal).to_string()));
    }
    let settings = match choice.source {
        Source::Coarse => "coarse".to_owned(),
        _ => {
            let Some(rate) = baseline.rate() else {
                return Ok(refused("the counter does not go on"));
            };
            format!("{}:{rate}", if args.relaxed { "relaxed" } else { "ordered" })
        }
    };
    command.env("LD_PRELOAD", preload::environment(&library, std::env::var_os("LD_PRELOAD")));
    command.env(preload::SETTINGS, settings);
    tell(common, report);
    Ok(not_run(&command.exec(), command))
}

fn begin(args: &Run, via: &'static str, source: Option<Source>, reason: String) -> RunReport {
    RunReport {
        schema: "clocksmith.run.v1",
        command: args.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        via,
        source: source.map(Source::name),
        reason,
        ordered: !args.relaxed,
        slow: None,
        followed: !args.no_follow,
        programs: None,
        untouched: None,
        reasons: Vec::new(),
    }
}

/// The document, on standard error: standard output is the program's.
fn tell(common: &Common, report: &RunReport) {
    if common.json {
        err::json(report);
    }
}

fn note_slow(common: &Common, slow: &Slow) {
    let each = match (slow.least_ns, slow.extra_ns) {
        (0, 0) => "is a system call".to_owned(),
        (0, extra) => format!("takes {extra} ns more"),
        (least, _) => format!("takes at least {least} ns"),
    };
    note(
        common,
        &format!("run as if on {}: each read of the time {each} ({})", slow.name, slow.basis),
    );
}

/// On standard error, unless nobody wants to know.
fn note(common: &Common, text: &str) {
    if common.verbose && !common.quiet && !common.json {
        err::text(&render::wrap(text, "clocksmith: ", "  "));
    }
}

fn refused(why: &str) -> Code {
    err::text(&render::wrap(why, "clocksmith: not run: ", "  "));
    Code::NotRun(NotRun::Refused)
}

fn not_run(error: &io::Error, command: &Command) -> Code {
    let program = command.get_program().display();
    err::line(&format!("clocksmith: {program}: {error}"));
    Code::NotRun(match error.kind() {
        io::ErrorKind::NotFound => NotRun::NotFound,
        _ => NotRun::NotExecutable,
    })
}
