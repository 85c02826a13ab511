//! `verify`: whether the counter and the clocks can be trusted.

use crate::args::{Common, Require, Verify};
use crate::exit::Code;
use crate::render;
use crate::ui::err;
use crate::verify::state::{self, Kept};
use crate::verify::{claims, progress, report::VerifyReport};
use anyhow::{Result, bail};
use clocksmith_facts::cpu::CpuList;
use clocksmith_facts::tree::LiveTree;
use clocksmith_facts::{Facts, Origin, collect};
use clocksmith_measure::interrupt;
use clocksmith_measure::verify::{
    AbiCase, Confidence, History, Options, Outcome, Trust, abi, run_here,
};
use clocksmith_watch::edge::machine::verify_options;
use std::time::Duration;

/// How long a run takes.
const DURATION: Duration = Duration::from_secs(5);
/// How long a round of a long watch takes.
const ROUND: Duration = Duration::from_secs(10);
pub(crate) fn run_verb(common: &Common, args: &Verify) -> Result<Code> {
    if common.root.is_some() {
        bail!(
            "verify measures the machine that it runs on, but --root reads another one. `clocksmith why --root DIR` \
             shows the last result of that machine, if there is one"
        );
    }
    let mut watch = Watch::new(args)?;
    super::say_if_below_run();
    if args.soak {
        interrupt::listen();
        interrupt::breaks_runs();
        watch.options.duration = args.duration.map_or(ROUND, |end| end.min(ROUND));
        return soak(common, args, &mut watch);
    }
    let expected = watch.options.duration;
    interrupt::listen();
    interrupt::breaks_runs();
    let outcome = progress::during(common, expected, || watch.measure())?;
    finish(common, args, &watch.facts, outcome, None)
}

/// A run for another verb; the result is kept as that of `verify` is.
pub(super) fn quick(common: &Common) -> Result<Outcome> {
    let args = Verify::default();
    let mut watch = Watch::new(&args)?;
    let expected = watch.options.duration;
    let outcome = progress::during(common, expected, || watch.measure())?;
    save(&args, &watch.facts, &outcome);
    Ok(outcome)
}

/// The machine as it is now, and the state that is kept between rounds.
struct Watch<'a> {
    args: &'a Verify,
    facts: Facts,
    options: Options,
    history: History,
}

impl<'a> Watch<'a> {
    fn new(args: &'a Verify) -> Result<Self> {
        let facts = collect::collect(&LiveTree::new(), Origin::Live);
        let cpus = args.cpus.as_deref().map(|text| cpus(text, facts.cpu.online.value()));
        let cpus = cpus.transpose()?;
        let duration = args.duration.unwrap_or(DURATION);
        let options =
            Options { claims: claims::of(&facts), ..verify_options(&facts, cpus, duration) };
        Ok(Self { args, facts, options, history: History::default() })
    }

    /// Runs one measurement. If the kernel changes its clocksource meanwhile, the measurement belongs to neither, and
    /// it is repeated: a second after boot the kernel goes from tsc-early to tsc, at another rate.
    fn measure(&mut self) -> Result<Outcome> {
        let name = |facts: &Facts| facts.current_clocksource().value().map(|n| (*n).to_owned());
        for last in [false, true] {
            let mut outcome = run_here(&self.options, &mut self.history);
            let duration = self.options.duration;
            let now = Watch::new(self.args)?;
            let (before, after) = (name(&self.facts), name(&now.facts));
            if before == after {
                return Ok(outcome);
            }
            *self = now;
            self.options.duration = duration;
            if last {
                let show = |name: Option<String>| name.unwrap_or_else(|| "none".to_owned());
                outcome.verdict = Trust::Unknown;
                outcome.untested.insert(
                    0,
                    format!(
                        "the kernel switched from clocksource {} to {} meanwhile",
                        show(before),
                        show(after)
                    ),
                );
                return Ok(outcome);
            }
        }
        bail!("cannot verify: the clocksource changes all the time; try again")
    }
}

/// Runs rounds until the time is up or a signal arrives; reports each one.
fn soak(common: &Common, args: &Verify, watch: &mut Watch<'_>) -> Result<Code> {
    let begun = std::time::Instant::now();
    let mut worst: Option<Outcome> = None;
    let mut rounds = 0u64;
    loop {
        let outcome = watch.measure()?;
        // A round that was cut short proves nothing.
        if interrupt::wished() {
            break;
        }
        rounds += 1;
        let report = VerifyReport::new(&watch.facts, &outcome, Some(rounds));
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
        let half = watch.options.duration / 2;
        let over = args.duration.is_some_and(|end| begun.elapsed() + half > end);
        if over {
            break;
        }
    }
    let Some(worst) = worst else {
        err::line("ended by a signal before the first round was complete: nothing is known");
        return Ok(Code::Undetermined);
    };
    if common.json {
        save(args, &watch.facts, &worst);
        return Ok(code(args, &worst));
    }
    finish(common, args, &watch.facts, worst, Some(rounds))
}

fn finish(
    common: &Common,
    args: &Verify,
    facts: &Facts,
    outcome: Outcome,
    rounds: Option<u64>,
) -> Result<Code> {
    let mut report = VerifyReport::new(facts, &outcome, rounds);
    report.abi = args.abi.then(abi);
    match save(args, facts, &outcome) {
        Some(Kept::In(path)) => report.kept = Some(path.display().to_string()),
        Some(Kept::Earlier(why)) => report.not_kept = Some(why),
        None => {}
    }
    if common.json {
        render::json(&report)?;
    } else {
        render::verify::print(common, &report)?;
    }
    let wrong = |cases: &Vec<AbiCase>| cases.iter().any(|case| case.right == Some(false));
    if report.abi.as_ref().is_some_and(wrong) {
        return Ok(Code::Bad);
    }
    Ok(code(args, &outcome))
}

/// Saves the result for `why` and others; returns where it was saved, if that succeeded.
fn save(args: &Verify, facts: &Facts, outcome: &Outcome) -> Option<Kept> {
    // An interrupted run has nothing to save.
    if args.no_save || !outcome.complete {
        return None;
    }
    match state::save(facts, outcome) {
        Ok(kept) => Some(kept),
        Err(error) => {
            let error = render::error(&error);
            err::line(&format!("{error} (the result itself is valid)"));
            None
        }
    }
}

fn code(args: &Verify, outcome: &Outcome) -> Code {
    let needed = match args.require {
        None | Some(Require::Low) => Confidence::Low,
        Some(Require::Medium) => Confidence::Medium,
        Some(Require::High) => Confidence::High,
    };
    match outcome.verdict {
        Trust::NotTrusted => Code::Bad,
        Trust::Trusted if outcome.confidence >= needed => Code::Done,
        Trust::Trusted | Trust::Unknown => Code::Undetermined,
    }
}

fn gravity(trust: Trust) -> u8 {
    match trust {
        Trust::Trusted => 0,
        Trust::Unknown => 1,
        Trust::NotTrusted => 2,
    }
}

/// Returns the requested CPUs. A CPU that does not exist is an error: a run without it would look like a proof for it.
fn cpus(text: &str, online: Option<&CpuList>) -> Result<Vec<u32>> {
    let list = match CpuList::parse(text) {
        Ok(list) if list.0.is_empty() => {
            bail!("--cpus: an empty list; expected CPUs such as 0-3,8")
        }
        Ok(list) => list,
        Err(error) => bail!("--cpus {text}: {error}; expected CPUs such as 0-3,8"),
    };
    if let Some(online) = online {
        let unknown: CpuList = list.0.difference(&online.0).copied().collect();
        if unknown.count() > 0 {
            bail!(
                "--cpus {text}: this machine has no CPU {unknown} online; online are {online}. Name \
                 some of these"
            );
        }
    }
    Ok(list.0.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_unknown_is_an_error() {
        let online: CpuList = [0, 1].into_iter().collect();
        assert_eq!(cpus("0-1", Some(&online)).unwrap(), [0, 1]);
        let error = |text| cpus(text, Some(&online)).unwrap_err().to_string();
        assert!(error("0-99").contains("no CPU 2-99 online; online are 0-1"), "{}", error("0-99"));
        assert!(error("99").contains("no CPU 99"));
        assert!(error("").contains("empty") && error("x").contains("expected"));
        // If sysfs does not list the CPUs, the kernel checks each of them.
        assert_eq!(cpus("99", None).unwrap(), [99]);
    }
}
