//! `fix --undo`: reverts exactly the changes of `fix --apply`.

use super::apply::{Stuck, others, recovered, written_by_others};
use super::{is_root, place};
use crate::args::{Common, Fix};
use crate::exit::{Code, NotTakenBack};
use crate::render;
use crate::report::fix::{Came, FixReport, Mode, TakenBack, sentence};
use crate::ui::out;
use anyhow::{Result, bail};
use clocksmith_change::Sysfs;
use clocksmith_change::journal::{
    Force, Journal, JournalError, Place, Recovered, Report, Wait, Which,
};
use clocksmith_change::words::Change;
use clocksmith_measure::interrupt;
use std::time::Duration;

pub(super) fn run(common: &Common, args: &Fix) -> Result<Code> {
    if common.root.is_none() && !is_root() {
        bail!("only root can revert changes; run `sudo {}`", crate::args::typed());
    }
    let place = place(common)?;
    let mut report = FixReport::new(Mode::Undo, common.root.as_deref());
    out::go_on_after_change(super::SHOWN);
    if let Err(error) = take_back(args, &place, &mut report) {
        // A failed undo also gets a document.
        if common.json {
            let partly = error.is::<NotTakenBack>();
            report.result = if partly { Came::PartlyUndone } else { Came::Refused };
            report.headline = sentence(&format!("{error:#}"));
            render::json(&report)?;
        }
        return Err(error);
    }
    if place.is_live() {
        report.clocksource = Sysfs::live().current().ok();
    }
    if common.json {
        render::json(&report)?
    } else {
        render::fix::print(common, &report)?
    }
    Ok(super::code(report.result))
}

fn take_back(args: &Fix, place: &Place, report: &mut FixReport) -> Result<()> {
    // Files that a program makes are restored then, and are never left half made.
    interrupt::listen_with_quit();
    let mut journal = super::open(place, Wait::AtMost(Duration::from_secs(10)))?;
    interrupt::hold();
    let (force, stuck) =
        if args.force { (Force::Yes, Stuck::IsForced) } else { (Force::No, Stuck::IsError) };
    recovered(&journal, report, stuck)?;
    let mut changes: Vec<Change> = changes(journal.recovered());
    let taken = !report.taken_back.is_empty();
    let mut kept = vec![written_by_others(journal.recovered())];
    let mut troubles: Vec<String> =
        done(journal.recovered()).flat_map(|done| done.troubles.clone()).collect();
    let which = if args.all { Which::All } else { Which::Last };
    // An unfinished change was the last change: the one before it is not meant.
    let result = if taken && !args.all { Ok(Vec::new()) } else { journal.undo(which, force) };
    match result {
        Ok(reports) => {
            report.taken_back.extend(reports.iter().map(|done| TakenBack::new(done, "")));
            kept.push(others(&reports));
            troubles.extend(reports.iter().flat_map(|done| done.troubles.iter().cloned()));
            changes.extend(reports.into_iter().map(|done| done.cmdline));
            undone(report, &kept, &troubles);
        }
        Err(JournalError::NothingToUndo(_)) if taken => undone(report, &kept, &troubles),
        Err(JournalError::NothingToUndo(why)) => {
            report.result = Came::NothingToDo;
            report.headline = sentence(&format!("nothing to revert: {why}"));
        }
        Err(error @ JournalError::Conflicts { .. }) => {
            report.result = Came::Refused;
            report.headline = sentence(&format!("{error}. {FORCE}"));
        }
        Err(error @ JournalError::Unfit { .. }) => {
            report.result = Came::Refused;
            report.headline = sentence(&format!("nothing was reverted: {error}"));
        }
        Err(error @ JournalError::Partly { .. }) => {
            let has_rest = Journal::look(place).is_ok_and(|all| !all.is_empty());
            let rest = if has_rest {
                "The journal still has the rest of the change: after you remove the obstacle, `clocksmith fix --undo` \
                 reverts it"
            } else {
                "The journal is gone, or is no longer trusted: no later run reverts the rest"
            };
            bail!(NotTakenBack(format!("not everything could be reverted: {error}. {rest}")));
        }
        Err(error) => return Err(error.into()),
    }
    if matches!(report.result, Came::Undone | Came::PartlyUndone)
        && place.is_live()
        && booted_with(&changes)
    {
        report.reboot = true;
        report.headline.push_str(" The running kernel was booted with it, and needs a reboot.");
    }
    Ok(())
}

/// The effect of `--force`, for the message that nothing was reverted without it.
pub(super) const FORCE: &str = "Check them. --force restores their content from before the change, and later \
                                edits are lost; the boot loader's program generates its own files again";

fn undone(report: &mut FixReport, kept: &[String], troubles: &[String]) {
    report.result = Came::Undone;
    let what: Vec<&str> = report.taken_back.iter().map(|taken| taken.summary.as_str()).collect();
    report.headline = sentence(&format!("reverted: {}", what.join("; ")));
    let kept: Vec<&str> = kept.iter().map(String::as_str).filter(|it| !it.is_empty()).collect();
    if !kept.is_empty() {
        report.result = Came::PartlyUndone;
        report.headline.push_str(&format!(
            " But another process changed {} at the same time, and its change was kept: check \
             whether it contains words of this change.",
            kept.join(", ")
        ));
    }
    if !troubles.is_empty() {
        report.result = Came::PartlyUndone;
        report.headline.push_str(&format!(" But not all of it: {}.", troubles.join("; ")));
    }
}

/// Returns the parameters that recovery on opening the journal removed from the command line or added to it.
fn changes(recovered: &[Recovered]) -> Vec<Change> {
    done(recovered).map(|done| done.cmdline.clone()).collect()
}

/// The changes that were finished or reverted when the journal was opened.
fn done(recovered: &[Recovered]) -> impl Iterator<Item = &Report> {
    recovered.iter().filter_map(|recovered| match recovered {
        Recovered::RolledBack(done)
        | Recovered::Unconfirmed(done)
        | Recovered::Mended(done)
        | Recovered::FinishedUndo(done) => Some(done),
        Recovered::Stuck { .. } => None,
    })
}

/// Returns whether the running kernel got a command line that one of these changes made.
fn booted_with(changes: &[Change]) -> bool {
    let line = clocksmith_facts::given::text("/proc/cmdline").unwrap_or_default();
    changes.iter().any(|change| !change.is_empty() && change.holds(&line))
}
