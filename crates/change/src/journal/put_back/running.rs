//! The parts of a revert besides files: the clocksource in use, commands, and programs that
//! regenerate files.

use super::super::apply::make_again;
use super::super::entry::{Decision, Entry, Phase, Record, State};
use super::super::found::{behind, found};
use super::super::prepare::prepare;
use super::super::stage::enough_descriptors;
use super::super::{End, Journal, JournalError, Observer, Ran, Report, Silent, packages};
use super::origin::is_half_made;
use super::own_words::Former;
use super::restore;
use super::words::standing;
use crate::plan::{Action, Plan, Step};
use crate::words::{self, Change};

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
    // If all went well, the last chosen one is in use.
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
        // No kernel shows an empty name; a file in place of the kernel's may be truncated.
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

/// Runs the commands for state outside of files, and the programs that regenerate files.
pub(super) fn commands(
    journal: &mut Journal,
    entry: &Entry,
    report: &mut Report,
) -> Result<(), JournalError> {
    for (step, planned) in entry.plan.steps.iter().enumerate().rev() {
        let Action::Run { undo, .. } = &planned.action else { continue };
        if entry.begun(step).is_none() {
            continue;
        }
        if let Some(command) = made_again(entry, step) {
            let ran = remake(journal, entry, step, planned, command, report)?;
            done(command, &ran, report);
            report.troubles.extend(empty_images(journal, entry, step));
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

/// Regenerates the files of a step, so that they are without the words of the change. If that
/// fails, the change is still in force: the next run tries again.
fn remake(
    journal: &mut Journal,
    entry: &Entry,
    step: usize,
    planned: &Step,
    command: &[String],
    report: &mut Report,
) -> Result<Ran, JournalError> {
    if let Err(error) = all_fit(journal, entry, step) {
        let restored = std::mem::take(&mut report.restored);
        return Err(JournalError::Partly { restored, open: vec![error.to_string()] });
    }
    let mut open = bases(journal, entry, step);
    let plan = again(journal, entry, planned, command);
    let mut observer = Signals(journal.stop);
    let former = Former::of(journal, entry, step, command);
    let error = match make_again(journal, &plan, &mut observer) {
        Ok((applied, beside)) => {
            if applied.left.is_empty() {
                former.settle(journal, entry, report);
            }
            report.kept.extend(super::beside(journal, entry, &beside));
            let ran = applied.left.is_empty();
            return Ok(if ran { Ran::Done(String::new()) } else { Ran::Left });
        }
        Err(error) => error,
    };
    let ended = match &error.end {
        End::RolledBack(it) if it.troubles.is_empty() && it.kept.is_empty() => {
            ". The files that it made were restored".to_owned()
        }
        // Files of the change have been restored already.
        End::Untouched => String::new(),
        end => format!(". {end}"),
    };
    open.push(format!(
        "change {} ({}) is still in force there: {}{ended}",
        entry.id, entry.plan.summary, error.cause
    ));
    Err(JournalError::Partly { restored: std::mem::take(&mut report.restored), open })
}

/// Restores the previous files if a killed program left files that boot nothing. The next run of
/// the program is compared with the restored files, and if that run fails, they still boot the
/// kernels that exist. Returns the failures.
fn bases(journal: &Journal, entry: &Entry, step: usize) -> Vec<String> {
    let mut open = Vec::new();
    for (index, record) in entry.records.iter().enumerate() {
        let again =
            record.decision == Some(Decision::Regenerate) && record.rewritten_by.contains(&step);
        let Ok(now) = found(journal.place.tree(), &record.path) else { continue };
        if again && now.link.is_none() && is_half_made(journal, entry, record, &now.state) {
            let record = Record { seen: Some(now.state), ..record.clone() };
            if let Err(error) = restore(journal, entry, index, &record) {
                open.push(error.to_string());
            }
        }
    }
    open
}

/// Checks a program that an undo runs, before anything is changed: it exists, and the files that it rewrites are fit.
pub(in super::super) fn ready(journal: &Journal, entry: &Entry) -> Result<(), JournalError> {
    for (step, planned) in entry.plan.steps.iter().enumerate() {
        if let Some(command) = made_again(entry, step) {
            let open = super::super::mounts::hinders(journal, entry);
            if !open.is_empty() {
                return Err(JournalError::Partly { restored: Vec::new(), open });
            }
            all_fit(journal, entry, step)?;
            let plan = again(journal, entry, planned, command);
            // A change on trial that fails is reverted at once.
            if entry.phase == Phase::Applied {
                packages::wait(&journal.place, &plan, journal.stop)?;
            }
            let ready = prepare(journal, &plan).map_err(|(_, error)| error);
            let ready = ready.and_then(|it| enough_descriptors(journal.place.tree(), &it));
            let cleaned = journal.store.clean();
            ready.and(cleaned)?;
        }
    }
    Ok(())
}

/// Refuses to make the files of a step again, if one is not fit for that.
fn all_fit(journal: &Journal, entry: &Entry, step: usize) -> Result<(), JournalError> {
    let again =
        |it: &&Record| it.rewritten_by.contains(&step) && it.decision == Some(Decision::Regenerate);
    entry.records.iter().filter(again).try_for_each(|record| fit(journal, record))
}

/// Refuses a file that a program would regenerate, if a link or another thing was put in its place
/// since.
fn fit(journal: &Journal, record: &Record) -> Result<(), JournalError> {
    let now = found(journal.place.tree(), &record.path)?;
    let was_link = matches!(record.old, State::Link { .. });
    let why = match (&now.state, &now.link) {
        (_, Some(link)) => behind(&journal.place, link),
        (State::Link { target, .. }, None) if !was_link => {
            format!("is now a link to {}, and nothing is changed through a link", target.display())
        }
        (State::Other, None) if record.old != State::Other => {
            "is no longer a regular file".to_owned()
        }
        _ => return Ok(()),
    };
    let path = journal.place.shown(&record.path);
    let why = if now.link.is_some() { format!("is elsewhere: {why}") } else { why };
    let why = format!("{why}. Restore the file in its place, then try again");
    Err(JournalError::Unfit { path, why })
}

/// Returns the command that makes the files of a step again, if any must be.
fn made_again(entry: &Entry, step: usize) -> Option<&Vec<String>> {
    let Action::Run { regenerate, .. } = &entry.plan.steps.get(step)?.action else { return None };
    entry.begun(step)?;
    let anew = entry.records.iter().any(|record| {
        record.decision == Some(Decision::Regenerate) && record.rewritten_by.contains(&step)
    });
    regenerate.as_ref().filter(|_| anew)
}

/// Returns the plan to run the program of a step again: added words must be gone, removed words must be present again,
/// and nothing but the words of the change may differ. Words that others have put into the settings stay, and are named
/// ([`super::words::adopted`]); those that they have removed there are not restored.
fn again(journal: &Journal, entry: &Entry, step: &Step, command: &[String]) -> Plan {
    let mut step = step.clone();
    if let Action::Run { command: run, undo, regenerate, .. } = &mut step.action {
        command.clone_into(run);
        (*undo, *regenerate) = (None, None);
    }
    let of = &entry.plan;
    let more = &entry.overridden;
    let get = of.expected.remove.iter().chain(&of.cmdline.remove).chain(&more.add);
    let lose = of.expected.add.iter().chain(&of.cmdline.add).chain(&more.remove);
    let words = Change { add: get.cloned().collect(), remove: lose.cloned().collect() };
    let by_command = |word: &String| {
        command.iter().any(|it| words::has(it, word) || it.ends_with(&format!("={word}")))
    };
    let back = |word: &&String| by_command(word) || !standing(journal, entry, word).is_empty();
    let gone = |word: &&String| by_command(word) || standing(journal, entry, word).is_empty();
    Plan {
        summary: format!("regenerate boot entries, without change {}", entry.id),
        steps: vec![step],
        cmdline: words,
        expected: Change {
            add: of.expected.remove.iter().filter(back).cloned().collect(),
            remove: of.expected.add.iter().filter(gone).cloned().collect(),
        },
        each_boot: None,
        ..of.clone()
    }
}

/// Returns kernels and initial RAM disks of the regenerated entries that are empty: a program that
/// failed before can have emptied them, and their entries start nothing.
fn empty_images(journal: &Journal, entry: &Entry, step: usize) -> Vec<String> {
    let made = entry.records.iter().filter(|record| record.rewritten_by.contains(&step));
    let mut found: Vec<_> =
        made.flat_map(|record| super::origin::empty_images(journal, &record.path)).collect();
    found.sort();
    found.dedup();
    let shown = |path| journal.place.shown(path).display().to_string();
    found
        .iter()
        .map(|path| {
            format!("{} is empty, so its entry starts nothing: install it again", shown(path))
        })
        .collect()
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
