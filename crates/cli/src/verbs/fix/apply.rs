//! `fix --apply`: verifies, makes the change, watches it, and puts everything back if it does not hold.

use super::{Seen, code, is_root, place};
use crate::args::{Common, Fix};
use crate::exit::{Code, NotTakenBack};
use crate::render;
use crate::report::fix::{Came, FixReport, Gain, Mode, TakenBack, sentence};
use anyhow::{Context, Result, anyhow, bail};
use clocksmith_change::journal::{
    ApplyError, End, Force, Journal, JournalError, Observer, Recovered, Wait, Which,
};
use clocksmith_change::propose::{Checked, Outcome, Proposal};
use clocksmith_change::{Action, Step, Sysfs};
use clocksmith_facts::tree::LiveTree;
use clocksmith_facts::{Origin, collect, log, verified};
use clocksmith_measure::interrupt;
use clocksmith_measure::verify::Trust;
use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

/// How long another run is waited for.
const PATIENCE: Duration = Duration::from_secs(10);
/// Between two looks at the clocksource.
const LOOK: Duration = Duration::from_millis(200);
/// How long it is watched if nobody says.
const WATCH: Duration = Duration::from_secs(30);
/// A change that is to make reads faster and leaves them at more than this share of the cost does not.
const FASTER: f64 = 0.9;

pub(super) fn run(common: &Common, args: &Fix) -> Result<Code> {
    if common.root.is_none() && !is_root() {
        bail!(
            "only root can change the clocksource and the boot configuration: sudo clocksmith fix \
             --apply (without --apply it shows the plan, as anybody)"
        );
    }
    interrupt::listen();
    let place = place(common)?;
    let mut journal = Journal::open(&place, Wait::AtMost(PATIENCE))?;
    let mut report = FixReport::new(Mode::Apply, common.root.as_deref());
    recovered(&journal, &mut report)?;
    let seen = Seen::look(common)?;
    report.clocksource = seen.diagnosis.current.name.clone();
    let proposal = proposal(common, args, &seen, &mut report)?;
    report.propose(&proposal, &seen.system);
    if !common.json {
        render::fix::print_plan(common, &report)?;
    }
    if proposal.outcome != Outcome::Planned {
        return finish(common, &report);
    }
    let mut observer = Teller { wanted: !common.json && !common.quiet };
    let applied = match journal.apply(&proposal.plan, &mut observer) {
        Ok(applied) => applied,
        Err(error) => return failed(common, report, error),
    };
    report.change = Some(applied.id);
    report.by_hand.extend(
        applied.left.iter().map(|command| format!("run inside that system: {}", command.join(" "))),
    );
    let objection = if seen.is_live() && has_runtime(&proposal) {
        after(common, args, &seen, &proposal, &mut report)?
    } else {
        None
    };
    if let Some(because) = objection {
        let reports = journal.undo(Which::Id(applied.id), Force::Yes).with_context(|| {
            NotTakenBack(format!(
                "{because}; and change {} could not be taken back. Try: clocksmith fix --undo",
                applied.id
            ))
        })?;
        report.taken_back.extend(reports.iter().map(|r| TakenBack::new(r, &because)));
        report.result = Came::RolledBack;
        report.headline = sentence(&format!("everything was put back: {because}"));
        report.change = None;
    } else {
        report.result = Came::Applied;
        report.headline = done(&proposal, applied.id);
    }
    if seen.is_live() {
        report.clocksource = Sysfs::live().current().ok();
    }
    finish(common, &report)
}

fn done(proposal: &Proposal, id: u64) -> String {
    let tail = if proposal.reboot { "; reboot for the kernel command line" } else { "" };
    sentence(&format!("done (change {id}): {}{tail}", proposal.plan.summary))
}

fn finish(common: &Common, report: &FixReport) -> Result<Code> {
    if common.json {
        render::json(report)?;
    } else if matches!(report.result, Came::Applied | Came::RolledBack) {
        render::fix::print_outcome(common, report)?;
    }
    Ok(code(report.result))
}

fn has_runtime(proposal: &Proposal) -> bool {
    proposal.plan.steps.iter().any(|step| matches!(step.action, Action::Clocksource { .. }))
}

/// What a run that was killed had left.
pub(super) fn recovered(journal: &Journal, report: &mut FixReport) -> Result<()> {
    for recovered in journal.recovered() {
        match recovered {
            Recovered::RolledBack(done) => {
                let because = "an earlier run was killed while it made the change";
                report.taken_back.push(TakenBack::new(done, because));
                eprintln!("clocksmith: {because}; everything of it was put back");
            }
            Recovered::FinishedUndo(done) => {
                let because = "an earlier run was killed while it took the change back";
                report.taken_back.push(TakenBack::new(done, because));
                eprintln!("clocksmith: {because}; that is finished now");
            }
            Recovered::Stuck { id, summary, error } => {
                return Err(anyhow!(
                    "change {id} of an earlier run ({summary}) is half done: {error}. To overwrite what \
                     others changed since: clocksmith fix --undo --force"
                ));
            }
        }
    }
    Ok(())
}

/// The proposal, with the counter verified where it matters.
fn proposal(common: &Common, args: &Fix, seen: &Seen, report: &mut FixReport) -> Result<Proposal> {
    let proposal = seen.propose(args, &seen.checked());
    if !proposal.verify_first {
        return Ok(proposal);
    }
    if !common.json && !common.quiet {
        eprintln!("clocksmith: verifying the counter before it becomes the clock (5 s)");
    }
    let outcome = super::super::verify::quick(common)?;
    report.verified.push(format!("before: {}", render::verify::headline(&outcome)));
    // As it is read by everybody else: of this boot, and just now.
    let kept = verified::recent(&LiveTree::new());
    let checked = match (kept, outcome.counter) {
        (_, Trust::NotTrusted) => Checked::Failed(first(&outcome.findings)),
        (Some(kept), _) => Checked::of(Some(&kept)),
        (None, Trust::Trusted) => Checked::Passed("verify passed just now".to_owned()),
        (None, Trust::Unknown) => {
            Checked::Unknown(outcome.untested.first().cloned().unwrap_or_default())
        }
    };
    Ok(seen.propose(args, &checked))
}

fn first(findings: &[clocksmith_measure::verify::Finding]) -> String {
    let fault = findings.iter().find(|f| f.weight != clocksmith_measure::verify::Weight::Note);
    fault.map_or_else(|| "a fault was found".to_owned(), |finding| finding.summary.clone())
}

/// Whether the new clocksource holds, is faster, and is not objected to; the objection otherwise.
fn after(
    common: &Common,
    args: &Fix,
    seen: &Seen,
    proposal: &Proposal,
    report: &mut FixReport,
) -> Result<Option<String>> {
    let Some(target) = &proposal.target else { return Ok(None) };
    let end = Instant::now() + args.watch.unwrap_or(WATCH);
    let now = Seen::look(common)?;
    if let (Some(before), Some(after)) = (seen.cost(), now.cost()) {
        report.reads = Some(Gain { before_ns: before, after_ns: after, ratio: before / after });
        // Who named a clocksource may have wanted the slower one.
        if args.to.is_none() && after > before * FASTER {
            return Ok(Some(format!("reads of the time are no faster with {target}")));
        }
    }
    let outcome = super::super::verify::quick(common)?;
    report.verified.push(format!("after: {}", render::verify::headline(&outcome)));
    match outcome.verdict {
        Trust::Trusted => {}
        Trust::NotTrusted if args.accept_time_may_go_backward => {}
        Trust::NotTrusted => {
            return Ok(Some(format!("verify objects: {}", first(&outcome.findings))));
        }
        Trust::Unknown if args.accept_time_may_go_backward || args.accept_unverified_counter => {}
        Trust::Unknown => {
            return Ok(Some("it could not be verified with the new clocksource".to_owned()));
        }
    }
    watch(common, target, end)
}

/// Looks at the clocksource until the time is up.
fn watch(common: &Common, target: &str, end: Instant) -> Result<Option<String>> {
    let sysfs = Sysfs::live();
    let shown = stderr().is_terminal() && !common.quiet;
    let clear = || {
        if shown {
            // Progress that cannot be shown is no error.
            let _ = write!(stderr(), "\r{:<60}\r", "");
        }
    };
    loop {
        let current = sysfs.current()?;
        if current != target {
            clear();
            return Ok(Some(demoted(target, &current)));
        }
        if interrupt::wished() {
            clear();
            return Ok(Some("it was interrupted while the change was being watched".to_owned()));
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            clear();
            return Ok(None);
        }
        if shown {
            let _ = write!(stderr(), "\rwatching {target}: {} s left ", left.as_secs() + 1);
        }
        std::thread::sleep(LOOK.min(left));
    }
}

/// The kernel went away from it: with its own words, if they can be read.
fn demoted(target: &str, current: &str) -> String {
    let mut facts = collect::collect(&LiveTree::new(), Origin::Live);
    log::complete(&mut facts);
    let known = clocksmith_change::known::known(&facts, Vec::new());
    let said = known.demoted.iter().rev().find(|(name, _)| name == target);
    let said = said.map_or_else(String::new, |(_, at)| format!(" ({at})"));
    format!("the kernel went from {target} to {current}{said}")
}

fn failed(common: &Common, mut report: FixReport, error: ApplyError) -> Result<Code> {
    let text = error.to_string();
    match error.end {
        End::Stuck(_) => Err(anyhow!(NotTakenBack(text))),
        End::Untouched if !matches!(error.cause, JournalError::Clocksource(_)) => {
            Err(anyhow!(text))
        }
        End::Untouched | End::RolledBack(_) => {
            if let End::RolledBack(done) = &error.end {
                report.taken_back.push(TakenBack::new(done, &error.cause.to_string()));
            }
            report.result = Came::RolledBack;
            report.headline = sentence(&format!("nothing was changed: {text}"));
            finish(common, &report)
        }
    }
}

/// Says each step as it begins.
struct Teller {
    wanted: bool,
}

impl Observer for Teller {
    fn step(&mut self, index: usize, step: &Step) {
        if !self.wanted {
            return;
        }
        let what = match &step.action {
            Action::Write { path, .. } => format!("writing {}", path.display()),
            Action::Remove { path } => format!("removing {}", path.display()),
            Action::Link { path, .. } => format!("linking {}", path.display()),
            Action::Run { command, .. } => format!("running {}", command.join(" ")),
            Action::Clocksource { name } => format!("choosing {name}"),
        };
        eprintln!("step {}: {what}", index + 1);
    }

    fn stop(&self) -> bool {
        interrupt::wished()
    }
}
