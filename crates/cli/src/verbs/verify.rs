//! `verify`: whether the counter and the clocks can be trusted.

use crate::args::{Common, Verify};
use crate::exit::Code;
use crate::render;
use crate::verify::{claims, interrupt, progress, report::VerifyReport, state};
use anyhow::{Result, bail};
use clocksmith_facts::cpu::CpuList;
use clocksmith_facts::tree::LiveTree;
use clocksmith_facts::{Facts, Origin, collect, log};
use clocksmith_measure::verify::{History, Options, Outcome, Real, Trust, run};
use std::time::Duration;

/// How long a run takes.
const DURATION: Duration = Duration::from_secs(5);
/// How long a round of a long watch takes.
const ROUND: Duration = Duration::from_secs(10);

pub(crate) fn run_verb(common: &Common, args: &Verify) -> Result<Code> {
    if common.root.is_some() {
        bail!(
            "verify measures the machine that it runs on; --root shows another one. Its last result, \
             if there is one, is shown by: clocksmith why --root DIR"
        );
    }
    let cpus = args.cpus.as_deref().map(cpus).transpose()?;
    let tree = LiveTree::new();
    let mut facts = collect::collect(&tree, Origin::Live);
    log::complete(&mut facts);
    let mut options = Options {
        duration: args.duration.unwrap_or(DURATION),
        cpus,
        claims: claims::of(&facts),
        counter_is_clock: counter_is_clock(&facts),
    };
    let mut history = History::default();
    if !args.soak {
        let outcome = progress::during(common, options.duration, || {
            run(&Real, &options, &mut history)
        });
        return finish(common, args, &facts, outcome, None);
    }
    let end = args.duration;
    options.duration = end.map_or(ROUND, |end| end.min(ROUND));
    soak(common, args, &facts, &options, end)
}

/// Rounds until the time is up, or somebody interrupts; every one is reported.
fn soak(
    common: &Common,
    args: &Verify,
    facts: &Facts,
    options: &Options,
    end: Option<Duration>,
) -> Result<Code> {
    interrupt::listen();
    let begun = std::time::Instant::now();
    let mut history = History::default();
    let mut worst: Option<Outcome> = None;
    let mut rounds = 0u64;
    loop {
        let outcome = run(&Real, options, &mut history);
        rounds += 1;
        let report = VerifyReport::new(facts, &outcome, Some(rounds));
        if common.json {
            render::json_line(&report)?;
        } else {
            render::verify::round(&report)?;
        }
        // A fault that was seen once stays seen.
        let graver = |known: &Outcome| gravity(outcome.verdict) >= gravity(known.verdict);
        if worst.as_ref().is_none_or(graver) {
            worst = Some(outcome);
        }
        let over = end.is_some_and(|end| begun.elapsed() + options.duration / 2 > end);
        if over || interrupt::came() {
            break;
        }
    }
    let Some(worst) = worst else { return Ok(Code::Undetermined) };
    if common.json {
        save(args, facts, &worst);
        return Ok(code(&worst));
    }
    finish(common, args, facts, worst, Some(rounds))
}

fn finish(
    common: &Common,
    args: &Verify,
    facts: &Facts,
    outcome: Outcome,
    rounds: Option<u64>,
) -> Result<Code> {
    let mut report = VerifyReport::new(facts, &outcome, rounds);
    report.kept = save(args, facts, &outcome);
    if common.json {
        render::json(&report)?;
    } else {
        render::verify::print(common, &report)?;
    }
    Ok(code(&outcome))
}

/// Keeps the result for `why` and others; where it is, if that succeeded.
fn save(args: &Verify, facts: &Facts, outcome: &Outcome) -> Option<String> {
    if args.no_save {
        return None;
    }
    match state::save(facts, outcome) {
        Ok(path) => Some(path.display().to_string()),
        Err(error) => {
            eprintln!("{} (the result above holds all the same)", render::error(&error));
            None
        }
    }
}

fn code(outcome: &Outcome) -> Code {
    match outcome.verdict {
        Trust::Trusted => Code::Done,
        Trust::NotTrusted => Code::Bad,
        Trust::Unknown => Code::Undetermined,
    }
}

fn gravity(trust: Trust) -> u8 {
    match trust {
        Trust::Trusted => 0,
        Trust::Unknown => 1,
        Trust::NotTrusted => 2,
    }
}

fn cpus(text: &str) -> Result<Vec<u32>> {
    match CpuList::parse(text) {
        Ok(list) if list.0.is_empty() => {
            bail!("--cpus: an empty list; expected processors such as 0-3,8")
        }
        Ok(list) => Ok(list.0.into_iter().collect()),
        Err(error) => bail!("--cpus {text}: {error}; expected processors such as 0-3,8"),
    }
}

/// Whether the kernel makes its time of the counter that programs can read.
fn counter_is_clock(facts: &Facts) -> bool {
    facts
        .current_clocksource()
        .value()
        .is_some_and(|name| name.starts_with("tsc") || *name == "arch_sys_counter")
}
