//! One file a verb: gather, ask the crates below, render.

mod bench;
mod collect;
mod explain;
mod predict;
mod verify;
mod who;
mod why;

use crate::args::{Args, Verb};
use crate::exit::Code;
use anyhow::Result;

/// Runs the verb that was asked for; without one, `why`.
pub(crate) fn run(args: Args) -> Result<Code> {
    match args.verb {
        None => why::run(&args.common, &args.why),
        Some(Verb::Why(why)) => why::run(&args.common, &why),
        Some(Verb::Predict(predict)) => predict::run(&args.common, &predict),
        Some(Verb::Verify(verify)) => verify::run_verb(&args.common, &verify),
        Some(Verb::Collect(collect)) => collect::run(&args.common, &collect),
        Some(Verb::Bench(bench)) => bench::run(&args.common, &bench),
        Some(Verb::GuardClocksource(guard)) => Ok(bench::sweep::guard(&guard)),
        Some(Verb::Who(who)) => who::run(&args.common, &who),
        Some(Verb::Explain(explain)) => explain::run(&args.common, &explain),
    }
}
