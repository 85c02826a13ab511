//! What a revert does beside files: the clocksource in use, commands, and programs that make files again.

use super::super::apply::make_again;
use super::super::entry::{Decision, Entry};
use super::super::{End, Journal, JournalError, Observer, Ran, Report, Silent};
use crate::plan::{Action, Plan, Step};
use crate::words::Change;

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
            let plan = again(entry, planned, command);
            let mut observer = Signals(journal.stop);
            let ran = match make_again(journal, &plan, &mut observer) {
                Ok(applied) if applied.left.is_empty() => Ran::Done(String::new()),
                Ok(_) => Ran::Left,
                Err(error) => {
                    let summary = &entry.plan.summary;
                    let ended = match &error.end {
                        End::RolledBack(it) if it.troubles.is_empty() && it.kept.is_empty() => {
                            "What it made was put back".to_owned()
                        }
                        end => end.to_string(),
                    };
                    let why = format!(
                        "change {} ({summary}) is still in force there: {}. {ended}",
                        entry.id, error.cause
                    );
                    let restored = std::mem::take(&mut report.restored);
                    return Err(JournalError::Partly { restored, open: vec![why] });
                }
            };
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

/// The plan of running the program of a step again: what was added must be gone, and nothing but the words of the change may
/// differ. Whether words that it removed come back depends on the settings, which others may have changed since.
fn again(entry: &Entry, step: &Step, command: &[String]) -> Plan {
    let mut step = step.clone();
    if let Action::Run { command: run, undo, regenerate, .. } = &mut step.action {
        command.clone_into(run);
        (*undo, *regenerate) = (None, None);
    }
    let of = &entry.plan;
    let words = Change {
        add: of.expected.remove.iter().chain(&of.cmdline.remove).cloned().collect(),
        remove: of.cmdline.add.clone(),
    };
    Plan {
        summary: format!("make boot entries again, without change {}", entry.id),
        steps: vec![step],
        cmdline: words,
        expected: Change { add: Vec::new(), remove: of.expected.add.clone() },
        each_boot: None,
        ..of.clone()
    }
}

/// Stops where the caller wants it ([`Journal::open_until`]).
struct Signals(fn() -> bool);

impl Observer for Signals {
    fn stop(&self) -> bool {
        (self.0)()
    }
}

fn done(command: &[String], ran: &Ran, report: &mut Report) {
    match ran {
        Ran::Done(_) => report.ran.push(command.to_owned()),
        Ran::Left => report.left.push(command.to_owned()),
    }
}
