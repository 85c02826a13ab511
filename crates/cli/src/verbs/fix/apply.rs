//! `fix --apply`: verifies the counter, makes the change, watches it, and reverts everything if it does not last.

use super::{Seen, code, is_root, place, trial};
use crate::args::{Common, Fix};
use crate::exit::{Code, NotTakenBack};
use crate::render;
use crate::report::fix::{Came, FixReport, Mode, TakenBack, sentence};
use crate::ui::{err, out};
use anyhow::{Context, Result, anyhow, bail};
use clocksmith_change::journal::{
    Applied, ApplyError, End, Force, Journal, JournalError, Observer, Phase, Recovered, Report,
    Wait, Which,
};
use clocksmith_change::propose::{Outcome, Proposal};
use clocksmith_change::{Action, Step, Sysfs};
use clocksmith_measure::interrupt;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

/// How long to wait for another run.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) fn run(common: &Common, args: &Fix) -> Result<Code> {
    if common.root.is_none() && !is_root() {
        bail!(
            "only root can change the clocksource and the boot configuration; run `sudo {}`, or leave out --apply to \
             see the plan",
            crate::args::typed()
        );
    }
    // Until then a signal has its default action: the file system may not respond.
    let place = place(common)?;
    // Opening the journal restores the files of a change that was not finished: that is not cut short.
    let open =
        Journal::look(&place).is_ok_and(|all| all.iter().any(|it| it.phase != Phase::Applied));
    interrupt::listen_with_quit();
    // Without the thread a signal is heard when the reading is done.
    let _ = if open { Ok(()) } else { until_the_first_write() };
    let mut journal = super::open(&place, Wait::AtMost(PATIENCE))?;
    let _ = if open { until_the_first_write() } else { Ok(()) };
    let mut report = FixReport::new(Mode::Apply, common.root.as_deref());
    recovered(&journal, &mut report, Stuck::IsError)?;
    let kept = written_by_others(journal.recovered());
    if !kept.is_empty() {
        bail!(NotTakenBack(format!(
            "an earlier change was reverted, but another process changed {kept} at the same time, and its content was \
             kept: check it, then run this command again"
        )));
    }
    let Some(seen) = Seen::look_unless_stopped(common)? else {
        return interrupted(common, report);
    };
    report.clocksource = seen.report.clocksource.current.clone();
    let proposal = proposal(common, args, &seen, &mut report)?;
    report.propose(&proposal, &seen.system);
    if interrupt::wished() {
        return interrupted(common, report);
    }
    if !common.json {
        render::fix::print_plan(common, &report)?;
    }
    if proposal.outcome != Outcome::Planned {
        return finish(common, &report);
    }
    let target = proposal.target.as_deref().filter(|_| seen.is_live() && has_runtime(&proposal));
    let guardian = target.map(|_| trial::guardian()).transpose()?;
    out::go_on_after_change(super::SHOWN);
    let begun = Instant::now();
    let mut observer = Teller { wanted: !common.json && !common.quiet, live: place.is_live() };
    let made = match target {
        Some(_) => journal.attempt(&proposal.plan, &mut observer),
        None => journal.apply(&proposal.plan, &mut observer),
    };
    let applied = match made {
        Ok(applied) => applied,
        Err(error) => {
            if let (Some(guardian), false) =
                (guardian, matches!(error.end, End::Stuck(_) | End::Lost(_)))
            {
                guardian.dismiss();
            }
            return failed(common, report, error);
        }
    };
    report.change = Some(applied.id);
    report.by_hand.extend(
        applied.left.iter().map(|command| format!("run inside that system: {}", command.join(" "))),
    );
    if !applied.running.is_empty() {
        let pids: Vec<String> = applied.running.iter().map(ToString::to_string).collect();
        report.by_hand.push(format!(
            "a program of this change left processes that still run ({}), and their output was not checked: after they \
             have ended, check it with `clocksmith fix --status`",
            pids.join(", ")
        ));
    }
    let objection = target.and_then(|target| {
        let objection = trial::objection(common, args, &seen, target, begun, &mut report);
        let unwritten =
            |error| format!("the journal could not record that the change was confirmed: {error}");
        objection.or_else(|| journal.confirm(applied.id).err().map(unwritten))
    });
    if let Some(because) = objection {
        // A guardian that is not dismissed restores the clocksource when this one is gone.
        let reports = journal.undo(Which::Id(applied.id), Force::Yes).with_context(|| {
            NotTakenBack(format!(
                "{because}; and change {} could not be reverted. Try: clocksmith fix --undo",
                applied.id
            ))
        })?;
        report.taken_back.extend(reports.iter().map(|r| TakenBack::new(r, &because)));
        report.result = Came::RolledBack;
        let kept = others(&reports);
        let all = if kept.is_empty() {
            "everything was reverted".to_owned()
        } else {
            format!(
                "everything was reverted except {kept}, which another process changed at the same time"
            )
        };
        report.headline = sentence(&format!("{all}: {because}"));
        report.change = None;
    } else {
        report.result = Came::Applied;
        report.headline = done(&proposal, &applied);
    }
    if let Some(guardian) = guardian {
        guardian.dismiss();
    }
    if seen.is_live() {
        report.clocksource = Sysfs::live().current().ok();
    }
    finish(common, &report)
}

fn interrupted(common: &Common, mut report: FixReport) -> Result<Code> {
    report.result = Came::Undetermined;
    report.headline = "Interrupted before anything was changed.".to_owned();
    report.steps.clear();
    finish(common, &report)
}

fn done(proposal: &Proposal, applied: &Applied) -> String {
    let (id, summary) = (applied.id, &proposal.plan.summary);
    let left: Vec<String> = applied.left.iter().map(|command| command.join(" ")).collect();
    if !left.is_empty() {
        let reboot = if proposal.reboot { ", and the system has been rebooted" } else { "" };
        return sentence(&format!(
            "written (change {id}): {summary}; it has no effect until the following has been run inside that \
             system{reboot}: {}",
            left.join("; ")
        ));
    }
    let tail = if proposal.reboot { "; reboot for the kernel command line" } else { "" };
    sentence(&format!("done (change {id}): {summary}{tail}"))
}

fn finish(common: &Common, report: &FixReport) -> Result<Code> {
    if common.json {
        render::json(report)?;
    } else if matches!(report.result, Came::Applied | Came::RolledBack)
        || report.result == Came::Undetermined && interrupt::wished()
    {
        render::fix::print_outcome(common, report)?;
    }
    // A change was requested, and none was made.
    Ok(if report.result == Came::ByHand { Code::Bad } else { code(report.result) })
}

fn has_runtime(proposal: &Proposal) -> bool {
    proposal.plan.steps.iter().any(|step| matches!(step.action, Action::Clocksource { .. }))
}

/// Whether a change that cannot be recovered is an error.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stuck {
    /// It is, and the run ends.
    IsError,
    /// It is not: conflicting files are overwritten.
    IsForced,
}

/// Reports the recovered changes of a run that was killed.
pub(super) fn recovered(journal: &Journal, report: &mut FixReport, stuck: Stuck) -> Result<()> {
    for recovered in journal.recovered() {
        let (done, because, then) = match recovered {
            Recovered::RolledBack(done) => (
                done,
                "an earlier run was killed while it made the change",
                "all of it was reverted",
            ),
            Recovered::Unconfirmed(done) => (
                done,
                "an earlier run was killed, or the power failed, while it watched the change, so the change was \
                 not confirmed",
                "all of it was reverted",
            ),
            Recovered::FinishedUndo(done) => (
                done,
                "an earlier run was killed while it reverted the change",
                "the revert is now complete",
            ),
            Recovered::Mended(done) => {
                (done, "an earlier run could not revert everything", "the rest was reverted now")
            }
            Recovered::Stuck { .. } if stuck == Stuck::IsForced => continue,
            Recovered::Stuck { id, summary, error } => {
                // Another error is not overcome by force.
                let force = matches!(error, JournalError::Unfinished { .. });
                let what = if force {
                    format!(". {}: clocksmith fix --undo --force", super::undo::FORCE)
                } else {
                    String::new()
                };
                let text = format!(
                    "change {id} of an earlier run ({summary}) was never finished: {error}{what}"
                );
                // These errors are about a file that another user could have written.
                let foreign =
                    matches!(error, JournalError::Foreign(_) | JournalError::Program { .. });
                return Err(if foreign { anyhow!(text) } else { NotTakenBack(text).into() });
            }
        };
        report.taken_back.push(TakenBack::new(done, because));
        let all = done.troubles.is_empty() && done.written_by_others.is_empty();
        let but = if all { "" } else { ", except for what is named below" };
        err::line(&format!("clocksmith: {because}; {then}{but}"));
    }
    Ok(())
}

/// Files that another process changed while an earlier change was reverted, and that were kept.
pub(super) fn written_by_others(recovered: &[Recovered]) -> String {
    others(recovered.iter().filter_map(|it| match it {
        Recovered::RolledBack(done)
        | Recovered::Unconfirmed(done)
        | Recovered::FinishedUndo(done)
        | Recovered::Mended(done) => Some(done),
        Recovered::Stuck { .. } => None,
    }))
}

/// The same, of a revert.
pub(super) fn others<'a>(reports: impl IntoIterator<Item = &'a Report>) -> String {
    let paths = reports.into_iter().flat_map(|done| &done.written_by_others);
    paths.map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

/// The proposal, with the counter verified where it matters.
fn proposal(common: &Common, args: &Fix, seen: &Seen, report: &mut FixReport) -> Result<Proposal> {
    let proposal = seen.propose(args, &seen.checked());
    if !proposal.verify_first {
        return Ok(proposal);
    }
    if !common.json && !common.quiet {
        err::line("clocksmith: verifying the counter before it becomes the clock (5 s)");
    }
    let outcome = super::super::verify::quick(common)?;
    report.verified.push(format!("before: {}", crate::verify::report::headline(&outcome)));
    Ok(seen.propose(args, &trial::checked(&outcome)))
}

fn failed(common: &Common, mut report: FixReport, error: ApplyError) -> Result<Code> {
    let text = error.to_string();
    match error.end {
        // As if the signal had come before the first step.
        End::Untouched if matches!(error.cause, JournalError::Stopped) => {
            interrupted(common, report)
        }
        End::Stuck(_) | End::Lost(_) => Err(anyhow!(NotTakenBack(text))),
        End::Untouched if !matches!(error.cause, JournalError::Clocksource(_)) => {
            Err(anyhow!(text))
        }
        End::Untouched | End::RolledBack(_) => {
            if let End::RolledBack(done) = &error.end {
                report.taken_back.push(TakenBack::new(done, &error.cause.to_string()));
            }
            report.result = Came::RolledBack;
            let all = !matches!(&error.end, End::RolledBack(done) if !done.troubles.is_empty());
            let what = if all { "nothing was changed" } else { "the change was not made" };
            report.headline = sentence(&format!("{what}: {text}"));
            finish(common, &report)
        }
    }
}

/// The phase of this run: [`READING`], [`WRITING`] or [`ENDING`].
static PHASE: AtomicU8 = AtomicU8::new(READING);
/// Nothing has been changed.
const READING: u8 = 0;
/// The first step has begun: a signal is handled between the steps, and everything is restored.
const WRITING: u8 = 1;
/// The process is ending.
const ENDING: u8 = 2;
/// How long an orderly end may take while nothing has been changed.
const PATIENCE_READING: Duration = Duration::from_secs(1);

/// Ends the program after a signal, even while it reads a file that is very large or does not respond; until the first
/// step begins.
fn until_the_first_write() -> std::io::Result<()> {
    let wait = || {
        let mut since = None;
        while PHASE.load(Ordering::SeqCst) == READING {
            std::thread::sleep(Duration::from_millis(50));
            let Some(signal) = interrupt::signal() else { continue };
            let waited = since.get_or_insert_with(Instant::now).elapsed();
            if waited >= PATIENCE_READING && change_phase(ENDING) {
                err::line("clocksmith: interrupted before anything was changed");
                // SAFETY: ends the process and all its threads; no code of this program runs after it.
                unsafe { libc::_exit(128 + signal) }
            }
        }
    };
    std::thread::Builder::new().name("interrupt".to_owned()).spawn(wait)?;
    // The kernel prefers this thread, and a thread that waits for a file system may not run a handler.
    leave_signals(libc::SIG_BLOCK);
    Ok(())
}

/// Blocks the signals that [`interrupt::listen_with_quit`] hears in this thread, or no longer does.
fn leave_signals(how: libc::c_int) {
    // SAFETY: all bits zero are a value of this structure of integers; the pointers are to a live value.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT] {
            libc::sigaddset(&raw mut set, signal);
        }
        libc::pthread_sigmask(how, &raw const set, std::ptr::null_mut());
    }
}

/// Ends the phase of reading, if it lasts; returns whether this call did.
fn change_phase(to: u8) -> bool {
    PHASE.compare_exchange(READING, to, Ordering::SeqCst, Ordering::SeqCst).is_ok()
}

/// Records that files are changed from now on.
fn writes() {
    if !change_phase(WRITING) && PHASE.load(Ordering::SeqCst) == ENDING {
        // The other thread ends the process.
        loop {
            std::thread::park();
        }
    }
    interrupt::hold();
    leave_signals(libc::SIG_UNBLOCK);
}

/// Prints each step as it begins.
struct Teller {
    wanted: bool,
    /// Whether this is the running system; programs of another one are not run.
    live: bool,
}

impl Observer for Teller {
    fn step(&mut self, index: usize, step: &Step) {
        writes();
        if !self.wanted {
            return;
        }
        let what = match &step.action {
            Action::Write { path, .. } => format!("writing {}", path.display()),
            Action::Remove { path } => format!("removing {}", path.display()),
            Action::Link { path, .. } => format!("linking {}", path.display()),
            Action::Run { command, .. } if self.live => format!("running {}", command.join(" ")),
            Action::Run { command, .. } => {
                format!("run this inside that system, not here: {}", command.join(" "))
            }
            Action::Clocksource { name } => format!("choosing {name}"),
        };
        err::line(&format!("step {}: {what}", index + 1));
    }

    fn stop(&self) -> bool {
        super::stop()
    }
}
