//! Making a change: written down, made ready, made step by step, looked at.

use super::appeared::appeared;
use super::bytes::digest;
use super::capture::{capture, sync_file};
use super::entry::{Entry, Phase, State};
use super::prepare::{now, prepare};
use super::put_back::{Found, Mode, decide, put_back};
use super::stage::{clear, stage};
use super::{Applied, ApplyError, End, Journal, JournalError, Observer, Ran};
use crate::plan::{Action, Plan};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Contents up to this are kept as they were left, to be shown beside what somebody else made of them.
const MAX_SHOWN: u64 = 1 << 20;

pub(super) fn apply(
    journal: &mut Journal,
    plan: &Plan,
    observer: &mut dyn Observer,
    end: Phase,
) -> Result<Applied, ApplyError> {
    let untouched = |step, cause| ApplyError { step, cause, end: End::Untouched };
    if let Some(entry) = journal.store.entries().iter().find(|it| it.phase != Phase::Applied) {
        let cause = JournalError::Unfinished { id: entry.id, conflicts: Vec::new() };
        return Err(untouched(None, cause));
    }
    let begun = prepare(journal, plan).and_then(|mut entry| {
        journal.store.save(&mut entry).map_err(|error| (None, error))?;
        Ok(entry)
    });
    let mut entry = match begun {
        Ok(entry) => entry,
        Err((step, cause)) => {
            // What was saved is not needed; what cannot be removed is by the next run.
            let _ = journal.store.clean();
            return Err(untouched(step, cause));
        }
    };
    let mut at = None;
    let result = make(journal, &mut entry, observer, end, &mut at);
    match result {
        Ok(changed) => {
            let left = entry.left.iter().filter_map(|step| command_of(&entry, *step)).collect();
            Ok(Applied { id: entry.id, changed, left })
        }
        Err(cause) => {
            let result = back(journal, &mut entry);
            if result.is_err() {
                entry.stuck = true;
                // Without it the next run puts back the rest all the same, and says that this one was killed.
                let _ = journal.store.save(&mut entry);
            }
            let end = match result {
                Ok(report) if entry.steps_begun.is_empty() && report.troubles.is_empty() => {
                    End::Untouched
                }
                Ok(report) => End::RolledBack(Box::new(report)),
                Err(error) => End::Stuck(Box::new(error)),
            };
            Err(ApplyError { step: at, cause, end })
        }
    }
}

/// From on trial to in force.
pub(super) fn confirm(journal: &mut Journal, id: u64) -> Result<(), JournalError> {
    let entry = journal.store.entries().iter().find(|entry| entry.id == id);
    let Some(mut entry) = entry.filter(|entry| entry.phase == Phase::Trial).cloned() else {
        return Err(JournalError::NothingToUndo(format!("change {id} is not on trial")));
    };
    entry.phase = Phase::Applied;
    journal.store.save(&mut entry)
}

fn back(journal: &mut Journal, entry: &mut Entry) -> Result<super::Report, JournalError> {
    decide(journal, entry, Mode::JustFailed, &Found::new())?;
    put_back(journal, entry)
}

fn command_of(entry: &Entry, step: usize) -> Option<Vec<String>> {
    match &entry.plan.steps.get(step)?.action {
        Action::Run { command, .. } => Some(command.clone()),
        _ => None,
    }
}

/// Everything after the entry was written.
fn make(
    journal: &mut Journal,
    entry: &mut Entry,
    observer: &mut dyn Observer,
    end: Phase,
    at: &mut Option<usize>,
) -> Result<Vec<PathBuf>, JournalError> {
    stage(journal.place.tree(), entry)?;
    let steps = entry.plan.steps.clone();
    for (index, step) in steps.iter().enumerate() {
        if observer.stop() {
            return Err(JournalError::Stopped);
        }
        *at = Some(index);
        if entry.begun(index).is_none() {
            // Steps that only replace files are begun together: what is put back does not depend on which of them was,
            // and writing all of the entry before each of several hundred takes longer than they do.
            let together = steps.iter().skip(index).take_while(|it| replaces(&it.action)).count();
            entry.steps_begun.resize(index + together.max(1), now());
            journal.store.save(entry)?;
        }
        observer.step(index, step);
        self::step(journal, entry, index, &step.action, observer)?;
    }
    *at = None;
    if observer.stop() {
        return Err(JournalError::Stopped);
    }
    clear(journal.place.tree(), entry)?;
    appeared(journal, entry, |_, _| true)?;
    look_again(journal, entry)?;
    entry.phase = end;
    let mut changed = entry.directories.clone();
    changed.extend(
        entry
            .records
            .iter()
            .filter(|record| record.new.as_ref().is_some_and(|new| !new.same(&record.old)))
            .map(|record| record.path.clone()),
    );
    // Up to here the change is taken back by whoever finds it; from here on it is in force, or on trial.
    if let Err(error) = journal.store.save(entry) {
        entry.phase = Phase::Applying;
        return Err(error);
    }
    Ok(changed)
}

fn replaces(action: &Action) -> bool {
    matches!(action, Action::Write { .. } | Action::Link { .. } | Action::Remove { .. })
}

/// All names in the directories in which the program of a step is expected to write.
fn names(journal: &Journal, entry: &Entry, step: usize) -> BTreeSet<PathBuf> {
    let watches = entry.watches.iter().filter(|watch| watch.step == step);
    let inside = |directory: &PathBuf| {
        // What cannot be listed has no names that could be told apart.
        let names = journal.place.tree().names(directory).ok().flatten().unwrap_or_default();
        let directory = directory.clone();
        names.into_iter().map(move |name| directory.join(name))
    };
    watches.flat_map(|watch| inside(&watch.directory)).collect()
}

fn step(
    journal: &mut Journal,
    entry: &mut Entry,
    index: usize,
    action: &Action,
    observer: &mut dyn Observer,
) -> Result<(), JournalError> {
    let target = entry.targets.get(index).copied().flatten();
    let spot = match target.and_then(|index| entry.records.get(index)) {
        // Nothing to remove where its directory is not there.
        Some(record) => journal.place.tree().spot(&record.path)?,
        None => None,
    };
    match (action, spot) {
        (Action::Write { content, .. }, Some(spot)) => {
            let staged = spot.beside(entry.staged(index).as_ref())?;
            unchanged(journal, entry, target, &spot)?;
            let same = match capture(&spot)?.0 {
                State::File { content: there, .. } => there == digest(content.as_bytes()),
                _ => false,
            };
            if same { staged.unlink().map(drop) } else { staged.rename(&spot) }
        }
        (Action::Link { target: wanted, .. }, Some(spot)) => {
            let staged = spot.beside(entry.staged(index).as_ref())?;
            unchanged(journal, entry, target, &spot)?;
            let same = matches!(capture(&spot)?.0, State::Link { target, .. } if target == *wanted);
            if same { staged.unlink().map(drop) } else { staged.rename(&spot) }
        }
        (Action::Remove { .. }, Some(spot)) => {
            unchanged(journal, entry, target, &spot)?;
            if spot.unlink()? { spot.sync() } else { Ok(()) }
        }
        (Action::Run { command, .. }, _) => {
            let before = names(journal, entry, index);
            let ran = journal.runner.run(&journal.place, command, observer);
            let after = names(journal, entry, index);
            // Also those of a program that failed.
            entry.neighbours.extend(after.difference(&before).cloned());
            if ran? == Ran::Left {
                entry.left.push(index);
                return Ok(());
            }
            super::made::look(journal, entry, index, command, &entry.plan.expected)
        }
        (Action::Clocksource { name }, _) => {
            let sysfs = journal.place.sysfs();
            if sysfs.current()? != *name {
                sysfs.choose(name)?;
            }
            Ok(())
        }
        (Action::Write { path, .. } | Action::Link { path, .. }, None) => {
            Err(super::tree::io("open the directory of", path)(rustix::io::Errno::NOENT))
        }
        (Action::Remove { .. }, None) => Ok(()),
    }
}

/// Refuses to replace what was changed since it was looked at, by anybody else.
fn unchanged(
    journal: &Journal,
    entry: &Entry,
    target: Option<usize>,
    spot: &super::tree::Spot,
) -> Result<(), JournalError> {
    let Some(record) = target.and_then(|index| entry.records.get(index)) else { return Ok(()) };
    let found = capture(spot)?.0;
    let ours = record.planned.iter().any(|planned| found.is(planned));
    if ours || found.same(&record.old) || !record.rewritten_by.is_empty() {
        return Ok(());
    }
    let difference = record.old.difference(&found);
    Err(JournalError::Unfit {
        path: journal.place.shown(&record.path),
        why: format!("was changed by somebody else in this moment ({difference}): try again"),
    })
}

/// Records what everything is now, and makes durable what programs wrote.
fn look_again(journal: &Journal, entry: &mut Entry) -> Result<(), JournalError> {
    for record in &mut entry.records {
        let Some(spot) = journal.place.tree().spot(&record.path)? else {
            record.new = Some(State::Absent);
            continue;
        };
        let (state, content) = capture(&spot)?;
        if !record.rewritten_by.is_empty() && !state.identical(&record.old) {
            sync_file(&spot)?;
        }
        match content {
            Some(content) if content.len() as u64 <= MAX_SHOWN && !state.same(&record.old) => {
                journal.store.keep(&content)?;
            }
            _ => {}
        }
        record.new = Some(state);
    }
    Ok(())
}
