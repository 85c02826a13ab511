//! `run`: a program with another clock.

use crate::args::{Common, Run};
use crate::exit::{Code, NotRun};
use crate::render;
use crate::run::apart::Apart;
use crate::run::caution;
use crate::run::choose::{self, Choice, Refused};
use crate::run::preload;
use crate::run::report::RunReport;
use crate::run::slow::Slow;
use crate::run::{Source, Via};
use crate::ui::err;
use anyhow::{Result, bail};
use clocksmith_measure::program;
use clocksmith_run::{Act, Baseline, Failure, Launch};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Mutex;

pub(crate) fn run(common: &Common, args: &Run) -> Result<Code> {
    let baseline = Baseline::begin();
    if common.root.is_some() {
        bail!("run runs a program here; --root shows another machine");
    }
    let Some((program, arguments)) = args.command.split_first() else {
        bail!("run: no program; expected: clocksmith run -- COMMAND");
    };
    let apart = common.json.then(Apart::take).transpose()?;
    let mut command = Command::new(program);
    command.args(arguments);
    let mut start = Start { common, args, apart, baseline, command };
    if let Some(slow) = &args.as_if {
        if args.via == Via::Preload {
            bail!("--as needs another vDSO, which --via preload does not provide");
        }
        let act =
            Act::Slow { by_call: slow.by_call, least_ns: slow.least_ns, extra_ns: slow.extra_ns };
        let mut report = begin(args, "vdso", None, slow.basis.clone());
        report.slow = Some(slow.into());
        note_slow(common, slow);
        return Ok(start.launch(act, report));
    }
    let choice = match choose::choose(&choose::Live, args.source, args.relaxed) {
        Ok(choice) => choice,
        Err(Refused(why)) => return Ok(start.refused(&why)),
    };
    let report = |via| begin(args, via, Some(choice.source), choice.reason.clone());
    let act = match choice.source {
        Source::Exact => {
            note(common, &format!("run with the kernel's clock as it is: {}", choice.reason));
            // This process is replaced, so it cannot report the end.
            start.tell(&report("none"));
            return Ok(start.exec());
        }
        Source::Disciplined => Act::Line { ordered: !args.relaxed },
        Source::Coarse => Act::Coarse,
    };
    if args.via == Via::Preload {
        return start.by_preload(&choice, &report("preload"));
    }
    Ok(start.launch(act, report("vdso")))
}

/// A program that is about to be started.
struct Start<'a> {
    common: &'a Common,
    args: &'a Run,
    /// The descriptor for the document, with `--json`, until it is written.
    apart: Option<Apart>,
    baseline: Baseline,
    command: Command,
}

impl Start<'_> {
    fn launch(mut self, act: Act, report: RunReport) -> Code {
        let mut launch = Launch::new(act, self.baseline);
        launch.follow = !self.args.no_follow;
        self.caution();
        let shown = self.command.get_program().to_string_lossy().into_owned();
        let launch = launch.on_refusal(move |why| {
            err::line(&format!("clocksmith: {shown} runs with the kernel's clock as it is: {why}"));
        });
        // The process that traces writes it when the program has ended.
        let apart = self.apart.as_ref().and_then(|apart| apart.copy().ok());
        let launch = match &apart {
            Some(apart) => launch.keep(apart),
            None => launch,
        };
        let (apart, quiet) = (Mutex::new(apart), self.common.quiet || self.common.json);
        let launch = launch.on_end(move |totals| {
            if let Some(apart) = apart.lock().ok().and_then(|mut apart| apart.take()) {
                apart.write(&report.clone().with(totals));
            }
            if !quiet && totals.untouched > 0 {
                left_alone(totals);
            }
        });
        program::by_the_kernel_alone(&mut self.command);
        match launch.exec(&mut self.command) {
            Failure::NotRun(error) => not_run(&error, &self.command),
            failure @ (Failure::Forbidden(_) | Failure::NoProc(_) | Failure::Unavailable) => self
                .refused(&format!(
                    "{failure}. For programs with a shared C library, use --via preload"
                )),
            failure => self.refused(&failure.to_string()),
        }
    }

    fn by_preload(mut self, choice: &Choice, report: &RunReport) -> Result<Code> {
        let args = self.args;
        if args.no_follow {
            bail!(
                "--no-follow: all children inherit a preloaded library; with --via vdso they do \
                 not"
            );
        }
        let library = match preload::find(args.preload_file.as_deref()) {
            Ok(library) => library,
            Err(error) => return Ok(self.refused(&format!("{error:#}"))),
        };
        if let Err(refusal) = clocksmith_run::check(self.command.get_program()) {
            return Ok(self.refused(&Failure::from(refusal).to_string()));
        }
        let settings = match choice.source {
            Source::Coarse => "coarse".to_owned(),
            _ => {
                let Some(rate) = self.baseline.rate() else {
                    return Ok(self.refused("the counter does not advance"));
                };
                format!("{}:{rate}", if args.relaxed { "relaxed" } else { "ordered" })
            }
        };
        self.command
            .env("LD_PRELOAD", preload::environment(&library, std::env::var_os("LD_PRELOAD")));
        self.command.env(preload::SETTINGS, settings);
        self.tell(report);
        Ok(self.exec())
    }

    /// Becomes the program; the code is that of a failure.
    fn exec(&mut self) -> Code {
        program::by_the_kernel_alone(&mut self.command);
        not_run(&self.command.exec(), &self.command)
    }

    /// Warns of programs that do not work together with `run`.
    fn caution(&self) {
        if self.common.quiet {
            return;
        }
        let program = self.command.get_program();
        let options = ["ASAN_OPTIONS", "LSAN_OPTIONS"].map(|name| std::env::var(name).ok());
        let follows = !self.args.no_follow;
        let leaks = follows
            && clocksmith_run::checks_for_leaks(program)
            && !caution::no_leak_check(&options);
        if let Some(text) = caution::of(program, follows, leaks) {
            err::text(&render::wrap(&text, "clocksmith: ", "  "));
        }
    }

    /// Writes the document, if it is requested.
    fn tell(&mut self, report: &RunReport) {
        if let Some(apart) = self.apart.take() {
            apart.write(report);
        }
    }

    /// The program does not get another clock: it is not run, or runs without.
    fn refused(mut self, why: &str) -> Code {
        if !self.args.or_plain {
            return refused(why);
        }
        let program = self.command.get_program().to_string_lossy().into_owned();
        let text = format!("{program} runs with the kernel's clock as it is: {why}");
        err::text(&render::wrap(&text, "clocksmith: ", "  "));
        self.tell(&begin(self.args, "none", Some(Source::Exact), why.to_owned()));
        self.exec()
    }
}
/// Children that did not get the clock.
fn left_alone(totals: &clocksmith_run::Totals) {
    for (program, why) in &totals.reasons {
        err::line(&format!("clocksmith: not changed: {program}: {why}"));
    }
    let more = totals.untouched.saturating_sub(totals.reasons.len() as u64);
    if more > 0 {
        err::line(&format!("clocksmith: not changed: {more} more"));
    }
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

/// Prints a note on standard error, unless `--quiet` is set.
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
    let shown = command.get_program().display();
    let says = render::without_numbers(&error.to_string());
    match program::refused_by_the_kernel(error) {
        Some(why) => err::line(&format!("clocksmith: {shown}: {says}: {why}")),
        None => err::line(&format!("clocksmith: {shown}: {says}")),
    }
    Code::NotRun(match error.kind() {
        io::ErrorKind::NotFound => NotRun::NotFound,
        _ => NotRun::NotExecutable,
    })
}
