//! What a revert does beside files: the clocksource in use, commands, and programs that make files again.

use super::super::entry::{Decision, Entry};
use super::super::made::{Against, look};
use super::super::mounts;
use super::super::surroundings::refuse;
use super::super::{Journal, JournalError, Ran, Report, Silent};
use crate::plan::Action;

/// Restores the clocksource, unless another process or a reboot has changed it since. After a reboot the
/// clocksource in use may have been chosen by a file of the change that is now removed: then it is
/// restored too.
pub(super) fn clocksource(journal: &Journal, entry: &Entry, ours: &str, report: &mut Report) {
    let Some(old) = &entry.clocksource else { return };
    let rebooted = entry.boot.is_none() || entry.boot != journal.place.boot();
    if rebooted && entry.plan.each_boot.is_none() {
        report.kept.push("the clocksource: the machine was booted since".to_owned());
        return;
    }
    // The last one that was chosen is in use, if all went well.
    let chosen: Vec<&str> = entry
        .plan
        .steps
        .iter()
        .filter_map(|step| match &step.action {
            Action::Clocksource { name } => Some(name.as_str()),
            _ => None,
        })
        .chain([ours])
        .collect();
    let chosen =
        if rebooted { entry.plan.each_boot.iter().map(String::as_str).collect() } else { chosen };
    match journal.place.sysfs().current() {
        Ok(current) if current == *old => {}
        // No kernel shows an empty name; a file that stands for its own may be cut off.
        Ok(current) if chosen.contains(&current.as_str()) || current.is_empty() => {
            match journal.place.sysfs().choose(old) {
                Ok(()) => report.clocksource = Some(old.clone()),
                Err(error) => report.troubles.push(format!("the clocksource: {error}")),
            }
        }
        Ok(current) => report.kept.push(format!(
            "the clocksource: another program or user chose {current} since, so {old} is not restored"
        )),
        Err(error) => report.troubles.push(format!("the clocksource: {error}")),
    }
}

/// Runs the commands for state outside of files, and the programs that make files again.
pub(super) fn commands(
    journal: &mut Journal,
    entry: &Entry,
    report: &mut Report,
) -> Result<(), JournalError> {
    for (step, planned) in entry.plan.steps.iter().enumerate().rev() {
        let Action::Run { undo, regenerate, .. } = &planned.action else { continue };
        if entry.begun(step).is_none() {
            continue;
        }
        let anew = entry.records.iter().any(|record| {
            record.decision == Some(Decision::Regenerate) && record.rewritten_by.contains(&step)
        });
        if let Some(command) = regenerate.as_ref().filter(|_| anew) {
            // Without it the change is still in force: the next run tries again.
            let before = mounts::of(journal, entry);
            let ran = journal.runner.run(&journal.place, command, &mut Silent);
            let hidden = mounts::settle(journal, entry, before.as_deref());
            let ran = ran?;
            refuse(journal, &hidden.faults, command)?;
            if matches!(ran, Ran::Done(_)) {
                look(journal, entry, step, command, Against::Nothing)?;
            }
            done(command, &ran, report);
        }
        if let Some(command) = undo {
            match journal.runner.run(&journal.place, command, &mut Silent) {
                Ok(ran) => done(command, &ran, report),
                Err(error) => report.troubles.push(error.to_string()),
            }
        }
    }
    Ok(())
}

fn done(command: &[String], ran: &Ran, report: &mut Report) {
    match ran {
        Ran::Done(_) => report.ran.push(command.to_owned()),
        Ran::Left => report.left.push(command.to_owned()),
    }
}
