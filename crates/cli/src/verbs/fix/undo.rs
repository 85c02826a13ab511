//! `fix --undo`: takes back exactly what was done.

use super::{apply, is_root, place};
use crate::args::{Common, Fix};
use crate::exit::Code;
use crate::render;
use crate::report::fix::{Came, FixReport, Mode, TakenBack, sentence};
use anyhow::{Result, bail};
use clocksmith_change::journal::{Entry, Force, Journal, JournalError, Wait, Which};
use clocksmith_change::mistakes::clock_words;
use clocksmith_change::unit::UNIT;
use clocksmith_change::{Action, Step, Sysfs};
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
    let chosen = if place.is_live() { at_boot(journal.entries()) } else { None };
    let which = if args.all { Which::All } else { Which::Last };
    match journal.undo(which, force) {
        Ok(reports) => {
            report.taken_back.extend(reports.iter().map(|done| TakenBack::new(done, "")));
            if let Some((ours, former)) = chosen {
                put_back(&ours, &former, &mut report);
            }
            report.result = Came::Undone;
            let tail = if report.reboot {
                ". The running kernel's command line stays until a reboot"
            } else {
                ""
            };
            let what: Vec<&str> = reports.iter().map(|done| done.summary.as_str()).collect();
            report.headline = sentence(&format!("taken back: {}{tail}", what.join("; ")));
        }
        Err(JournalError::NothingToUndo(why)) => {
            report.result =
                if report.taken_back.is_empty() { Came::NothingToDo } else { Came::Undone };
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
    if common.json {
        render::json(&report)?
    } else {
        render::fix::print(common, &report)?
    }
    Ok(super::code(report.result))
}

/// What the last change's unit chose in this boot, and what was in use before the change: the journal
/// puts back what it chose itself, and that was in another boot.
fn at_boot(entries: &[Entry]) -> Option<(String, String)> {
    let entry = entries.last()?;
    let unit =
        |step: &Step| matches!(&step.action, Action::Write { path, .. } if path.ends_with(UNIT));
    entry.plan.steps.iter().find(|step| unit(step))?;
    let name = entry.plan.steps.iter().find_map(|step| match &step.action {
        Action::Clocksource { name } => Some(name.clone()),
        _ => None,
    })?;
    Some((name, entry.clocksource.clone()?))
}

fn put_back(ours: &str, former: &str, report: &mut FixReport) {
    let sysfs = Sysfs::live();
    if sysfs.current().ok().as_deref() != Some(ours) || ours == former {
        return;
    }
    match sysfs.choose(former) {
        Ok(()) => {
            if let Some(taken) = report.taken_back.last_mut() {
                taken.troubles.retain(|line| !line.starts_with("the clocksource"));
                taken.done.push(format!(
                    "{former} is in use again, which the unit had changed in this boot"
                ));
            }
        }
        Err(error) => report.notes.push(format!("{ours} stays in use until a reboot: {error}")),
    }
}
