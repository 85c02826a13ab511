//! `fix --undo`: takes back exactly what was done.

use super::{apply, is_root, place};
use crate::args::{Common, Fix};
use crate::exit::Code;
use crate::render;
use crate::report::fix::{Came, FixReport, Mode, TakenBack, sentence};
use anyhow::{Result, bail};
use clocksmith_change::journal::{Force, Journal, JournalError, Wait, Which};
use clocksmith_change::mistakes::clock_words;
use clocksmith_change::{Action, Sysfs};
use std::time::Duration;

pub(super) fn run(common: &Common, args: &Fix) -> Result<Code> {
    if common.root.is_none() && !is_root() {
        bail!("only root can take changes back: sudo clocksmith fix --undo");
    }
    let place = place(common)?;
    let mut journal = Journal::open(&place, Wait::AtMost(Duration::from_secs(10)))?;
    let mut report = FixReport::new(Mode::Undo, common.root.as_deref());
    let force = if args.force { Force::Yes } else { Force::No };
    if !args.force {
        apply::recovered(&journal, &mut report)?;
    }
    report.reboot = journal.entries().iter().any(|entry| {
        entry.plan.steps.iter().any(|step| match &step.action {
            Action::Write { content, .. } => !clock_words(content).is_empty(),
            Action::Run { command, .. } => !clock_words(&command.join(" ")).is_empty(),
            _ => false,
        })
    });
    let which = if args.all { Which::All } else { Which::Last };
    match journal.undo(which, force) {
        Ok(reports) => {
            report.taken_back.extend(reports.iter().map(|done| TakenBack::new(done, "")));
            report.result = Came::Undone;
            let tail =
                if report.reboot { ". The running kernel's command line stays until a reboot" } else { "" };
            let what: Vec<&str> = reports.iter().map(|done| done.summary.as_str()).collect();
            report.headline = sentence(&format!("taken back: {}{tail}", what.join("; ")));
        }
        Err(JournalError::NothingToUndo(why)) => {
            report.result = if report.taken_back.is_empty() { Came::NothingToDo } else { Came::Undone };
            report.reboot = false;
            report.headline = sentence(&format!("nothing to take back: {why}"));
        }
        Err(error @ JournalError::Conflicts { .. }) => {
            report.result = Came::Refused;
            report.reboot = false;
            report.headline = sentence(&format!("{error}. To overwrite that: --force"));
        }
        Err(error) => return Err(error.into()),
    }
    if place.is_live() {
        report.clocksource = Sysfs::live().current().ok();
    }
    if common.json { render::json(&report)? } else { render::fix::print(common, &report)? }
    Ok(super::code(report.result))
}
