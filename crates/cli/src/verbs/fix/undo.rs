//! `fix --undo`: takes back exactly what was done.

use super::apply::{Stuck, others, recovered, written_by_others};
use super::{is_root, place};
use crate::args::{Common, Fix};
use crate::exit::{Code, NotTakenBack};
use crate::render;
use crate::report::fix::{Came, FixReport, Mode, TakenBack, sentence};
use anyhow::{Result, bail};
use clocksmith_change::Sysfs;
use clocksmith_change::journal::{Force, Journal, JournalError, Recovered, Wait, Which};
use clocksmith_change::words::Change;
use clocksmith_measure::interrupt;
use std::time::Duration;

pub(super) fn run(common: &Common, args: &Fix) -> Result<Code> {
    if common.root.is_none() && !is_root() {
        bail!("only root can take changes back: sudo clocksmith fix --undo");
    }
    let place = place(common)?;
    // What a program makes is restored then, and is never left half made.
    interrupt::listen();
    let mut journal =
        Journal::open_until(&place, Wait::AtMost(Duration::from_secs(10)), interrupt::wished)?;
    let mut report = FixReport::new(Mode::Undo, common.root.as_deref());
    let (force, stuck) =
        if args.force { (Force::Yes, Stuck::IsForced) } else { (Force::No, Stuck::IsError) };
    recovered(&journal, &mut report, stuck)?;
    let mut changes: Vec<Change> = changes(journal.recovered());
    let taken = !report.taken_back.is_empty();
    let mut kept = vec![written_by_others(journal.recovered())];
    let mut troubles = Vec::new();
    let which = if args.all { Which::All } else { Which::Last };
    // What was never finished was the last change: the one before it is not meant.
    let result = if taken && !args.all { Ok(Vec::new()) } else { journal.undo(which, force) };
    match result {
        Ok(reports) => {
            report.taken_back.extend(reports.iter().map(|done| TakenBack::new(done, "")));
            kept.push(others(&reports));
            troubles.extend(reports.iter().flat_map(|done| done.troubles.iter().cloned()));
            changes.extend(reports.into_iter().map(|done| done.cmdline));
            undone(&mut report, &kept, &troubles);
        }
        Err(JournalError::NothingToUndo(_)) if taken => undone(&mut report, &kept, &troubles),
        Err(JournalError::NothingToUndo(why)) => {
            report.result = Came::NothingToDo;
            report.headline = sentence(&format!("nothing to take back: {why}"));
        }
        Err(error @ JournalError::Conflicts { .. }) => {
            report.result = Came::Refused;
            report.headline = sentence(&format!("{error}. To overwrite that: --force"));
        }
        Err(error @ JournalError::Partly { .. }) => bail!(NotTakenBack(format!(
            "not everything could be taken back: {error}. The journal has the rest: when that is mended, `clocksmith fix --undo` \
             takes it back"
        ))),
        Err(error) => return Err(error.into()),
    }
    if matches!(report.result, Came::Undone | Came::PartlyUndone)
        && place.is_live()
        && booted_with(&changes)
    {
        report.reboot = true;
        report.headline.push_str(" The running kernel was booted with it, and needs a reboot.");
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

fn undone(report: &mut FixReport, kept: &[String], troubles: &[String]) {
    report.result = Came::Undone;
    let what: Vec<&str> = report.taken_back.iter().map(|taken| taken.summary.as_str()).collect();
    report.headline = sentence(&format!("taken back: {}", what.join("; ")));
    let kept: Vec<&str> = kept.iter().map(String::as_str).filter(|it| !it.is_empty()).collect();
    if !kept.is_empty() {
        report.result = Came::PartlyUndone;
        report.headline.push_str(&format!(
            " But another process changed {} in this moment, and that stays as it is: look whether it has words of \
             this change.",
            kept.join(", ")
        ));
    }
    if !troubles.is_empty() {
        report.result = Came::PartlyUndone;
        report.headline.push_str(&format!(" But not all of it: {}.", troubles.join("; ")));
    }
}

/// What opening the journal took off the command line again, or put there.
fn changes(recovered: &[Recovered]) -> Vec<Change> {
    let of = |recovered: &Recovered| match recovered {
        Recovered::RolledBack(done)
        | Recovered::Unconfirmed(done)
        | Recovered::Mended(done)
        | Recovered::FinishedUndo(done) => Some(done.cmdline.clone()),
        Recovered::Stuck { .. } => None,
    };
    recovered.iter().filter_map(of).collect()
}

/// Whether the running kernel got a command line that one of these changes made.
fn booted_with(changes: &[Change]) -> bool {
    let line = std::fs::read_to_string("/proc/cmdline").unwrap_or_default();
    changes.iter().any(|change| !change.is_empty() && change.holds(&line))
}
