//! One file for each verb: gather, call the crates below, render.

mod bench;
pub(crate) mod check;
mod collect;
mod completions;
mod explain;
mod fix;
pub(crate) mod fleet;
mod man;
mod predict;
mod run;
mod verify;
pub(crate) mod vm;
mod watch;
#[cfg(feature = "who")]
mod who;
mod why;

use crate::args::{self, Args, Verb};
use crate::exit::Code;
use crate::ui::out;
use anyhow::Result;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Runs the requested verb; without one, `why`.
pub(crate) fn run(args: Args) -> Result<Code> {
    if answers(args.verb.as_ref()) {
        out::go_on_without_reader();
    }
    match args.verb {
        None => why::run(&args.common, &args.why),
        Some(Verb::Why(args::WhyOf { file, mut why })) => {
            why.log = file.or(why.log);
            why::run(&args.common, &why)
        }
        Some(Verb::Predict(predict)) => predict::run(&args.common, &predict),
        Some(Verb::Verify(verify)) => verify::run_verb(&args.common, &verify),
        Some(Verb::Check(check)) => check::run(&args.common, &check),
        Some(Verb::Watch(watch)) => watch::run(&args.common, &watch),
        Some(Verb::Collect(collect)) => collect::run(&args.common, &collect),
        Some(Verb::Fleet(fleet)) => fleet::run(&args.common, &fleet),
        Some(Verb::Bench(bench)) => bench::run(&args.common, &bench),
        Some(Verb::Fix(fix)) => fix::run(&args.common, &fix),
        Some(Verb::Vm(vm)) => vm::run(&args.common, &vm),
        Some(Verb::Run(run)) => run::run(&args.common, &run),
        Some(Verb::GuardClocksource(guard)) => Ok(bench::sweep::guard(&guard)),
        #[cfg(feature = "who")]
        Some(Verb::Who(who)) => who::run(&args.common, &who),
        #[cfg(not(feature = "who"))]
        Some(Verb::Who(_)) => Err(crate::build::lacks("who")),
        Some(Verb::Completions(completions)) => completions::run(&args.common, &completions),
        Some(Verb::Man(man)) => man::run(&args.common, &man),
        Some(Verb::Explain(explain)) => explain::run(&args.common, &explain),
    }
}

/// Has a program killed when the thread that starts it ends: a signal ends this program at once, and a program that
/// continues, or that ignores signals, would stay.
fn ends_with_this_thread(program: &mut Command) {
    // SAFETY: the hook makes one system call, on numbers.
    unsafe {
        program.pre_exec(|| {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            Ok(())
        });
    }
}

/// Prints that the clocks that a verb measures are not the kernel's, if the verb is below `clocksmith run`.
fn say_if_below_run() {
    if clocksmith_measure::bench::vdso::is_replaced() {
        crate::ui::err::line(
            "clocksmith: the clocks of this process are served by a vDSO that is not the kernel's, \
             such as that of `clocksmith run`; the figures are those of that clock",
        );
    }
}

/// Returns whether a verb does one thing and ends: its exit code is a result, or it has changed something. The others
/// continue until their reader has gone, or only print their output.
fn answers(verb: Option<&Verb>) -> bool {
    match verb {
        None
        | Some(
            Verb::Why(_)
            | Verb::Predict(_)
            | Verb::Verify(_)
            | Verb::Fix(_)
            | Verb::Vm(_)
            | Verb::Explain(_),
        ) => true,
        Some(_) => false,
    }
}
