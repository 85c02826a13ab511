//! Makes a change: records it, prepares it, makes it step by step, and checks it.

use super::appeared::appeared;
use super::bytes::digest;
use super::capture::{capture, sync_file};
use super::entry::{Entry, Phase, Planned, State};
use super::found::{Found, found};
use super::prepare::{now, prepare};
use super::put_back::{Former, Mode, decide, keep_open, leave_default, put_back};
use super::stage::{clear, enough_descriptors, hold, stage, sweep};
use super::surroundings::{self, Surroundings};
use super::{Applied, ApplyError, End, Journal, JournalError, Observer, Ran, packages};
use crate::plan::{Action, Plan};
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::OwnedFd;
use std::path::PathBuf;

/// Contents up to this size are kept as the change left them, to be compared with later changes by
/// others.
const MAX_SHOWN: u64 = 1 << 20;

/// The state of each record, by its number, that this change wrote or verified. It comes from the file that was made
/// under a temporary name, so that nothing that another process writes is mistaken for it.
type Written = BTreeMap<usize, State>;

/// The progress of a run.
#[derive(Default)]
struct Work {
    /// The step that was begun last.
    at: Option<usize>,
    written: Written,
    /// Directories with temporary names.
    held: Vec<OwnedFd>,
    /// Processes that programs have left behind.
    running: Vec<u32>,
    /// Paths that a program changed besides its own, and that are not restored.
    lasting: Vec<PathBuf>,
    /// Paths whose names were changed, and may not be on disk yet.
    named: BTreeSet<PathBuf>,
}

impl Work {
    /// Makes the changes of names durable.
    fn sync_names(&mut self, journal: &Journal) -> Result<(), JournalError> {
        let named = std::mem::take(&mut self.named);
        journal.place.tree().sync_names(named.iter().map(PathBuf::as_path))
    }
}

/// An error before anything was changed.
fn untouched(step: Option<usize>, cause: JournalError) -> ApplyError {
    ApplyError { step, cause, end: End::Untouched }
}

pub(super) fn apply(
    journal: &mut Journal,
    plan: &Plan,
    observer: &mut dyn Observer,
    end: Phase,
) -> Result<Applied, ApplyError> {
    if let Some(entry) = journal.store.entries().iter().find(|it| it.phase != Phase::Applied) {
        let cause = JournalError::Unfinished { id: entry.id, conflicts: Vec::new() };
        return Err(untouched(None, cause));
    }
    packages::wait(&journal.place, plan, || observer.stop())
        .map_err(|cause| untouched(None, cause))?;
    carry_out(journal, plan, observer, end)
}

/// Runs a program that rebuilds boot entries during an undo, as a separate change, so that its effects are checked
/// and restored as when a change is made, or by the next run if this one is killed. The entry of that change is
/// removed afterwards. Also returns the names that appeared next to its files.
pub(super) fn make_again(
    journal: &mut Journal,
    plan: &Plan,
    observer: &mut dyn Observer,
) -> Result<(Applied, Vec<PathBuf>), ApplyError> {
    // The next run reverts a change on trial: a killed run may not have checked it.
    let applied = carry_out(journal, plan, observer, Phase::Trial)?;
    let entry = journal.store.entries().iter().find(|entry| entry.id == applied.id);
    let beside = entry.map(|entry| entry.neighbours.clone()).unwrap_or_default();
    let removed = journal.store.remove(applied.id);
    removed.map_err(|cause| untouched(None, cause))?;
    Ok((applied, beside))
}

fn carry_out(
    journal: &mut Journal,
    plan: &Plan,
    observer: &mut dyn Observer,
    end: Phase,
) -> Result<Applied, ApplyError> {
    let begun = prepare(journal, plan).and_then(|mut entry| {
        enough_descriptors(journal.place.tree(), &entry).map_err(|error| (None, error))?;
        journal.store.save(&mut entry).map_err(|error| (None, error))?;
        Ok(entry)
    });
    let mut entry = match begun {
        Ok(entry) => entry,
        Err((step, cause)) => {
            // The saved contents are not needed; the next run removes those that cannot be removed
            // now.
            let _ = journal.store.clean();
            return Err(untouched(step, cause));
        }
    };
    let mut work = Work::default();
    let result = make(journal, &mut entry, observer, end, &mut work);
    sweep(&work.held, &entry);
    match result {
        Ok(changed) => {
            let left = entry.left.iter().filter_map(|step| command_of(&entry, *step)).collect();
            Ok(Applied { id: entry.id, changed, left, running: work.running })
        }
        Err(cause) => {
            // A file is restored even if it cannot be synced now.
            let _ = work.sync_names(journal);
            let result = back(journal, &mut entry, &work.written).map(|mut report| {
                let lasting = work.lasting.iter().map(|path| journal.place.shown(path));
                let lasting =
                    lasting.map(|path| format!("{} stays as that program left it", path.display()));
                report.troubles.extend(lasting);
                report
            });
            if result.is_err() {
                entry.stuck = true;
                keep_open(journal, &mut entry);
                // If this fails, the next run still restores the rest, but reports that this one was killed.
                let _ = journal.store.save(&mut entry);
            }
            let end = match result {
                Ok(report) if entry.steps_begun.is_empty() && report.troubles.is_empty() => {
                    End::Untouched
                }
                Ok(report) => End::RolledBack(Box::new(report)),
                Err(error) if !journal.store.is_whole(&entry) => End::Lost(Box::new(error)),
                Err(error) => End::Stuck(Box::new(error)),
            };
            Err(ApplyError { step: work.at, cause, end })
        }
    }
}

/// Ends the trial of a change: it is in force.
pub(super) fn confirm(journal: &mut Journal, id: u64) -> Result<(), JournalError> {
    let entry = journal.store.entries().iter().find(|entry| entry.id == id);
    let Some(mut entry) = entry.filter(|entry| entry.phase == Phase::Trial).cloned() else {
        return Err(JournalError::NothingToUndo(format!("change {id} is not on trial")));
    };
    entry.phase = Phase::Applied;
    journal.store.save(&mut entry)
}

/// Attempts to examine files again that others write at this moment.
const AGAIN: usize = 3;

/// Restores everything, except files that another process has written in the meantime: they stay as they are.
fn back(
    journal: &mut Journal,
    entry: &mut Entry,
    written: &Written,
) -> Result<super::Report, JournalError> {
    let mut kept = leave_others(journal, entry, written);
    leave_default(journal, entry)?;
    let mut decided = decide(journal, entry, Mode::JustFailed, &Former::new());
    // Other programs wrote in between.
    for _ in 0..AGAIN {
        if !matches!(decided, Err(JournalError::Conflicts { .. })) {
            break;
        }
        kept.extend(leave_others(journal, entry, written));
        decided = decide(journal, entry, Mode::JustFailed, &Former::new());
    }
    decided?;
    let mut report = put_back(journal, entry)?;
    report.kept.extend(kept);
    Ok(report)
}

/// Makes the present state of files that others have written the one to restore; returns those that this change had
/// written before them.
fn leave_others(journal: &Journal, entry: &mut Entry, written: &Written) -> Vec<String> {
    let mut kept = Vec::new();
    for (index, record) in entry.records.iter_mut().enumerate() {
        if record.planned.is_empty() || !record.rewritten_by.is_empty() {
            continue;
        }
        let Ok(Some(spot)) = journal.place.tree().spot(&record.path) else { continue };
        let Ok((state, content)) = capture(&spot) else { continue };
        let ours = record.planned.iter().any(|planned| state.is(planned));
        if ours || state.same(&record.old) || state == State::Other {
            continue;
        }
        if content.is_some_and(|content| journal.store.keep(&content).is_err()) {
            continue;
        }
        if written.contains_key(&index) {
            kept.push(format!(
                "{}: another process wrote it after this change did, and its content stays: check \
                 whether it has words of this change",
                journal.place.shown(&record.path).display()
            ));
        }
        record.old = state;
    }
    kept
}

fn command_of(entry: &Entry, step: usize) -> Option<Vec<String>> {
    match &entry.plan.steps.get(step)?.action {
        Action::Run { command, .. } => Some(command.clone()),
        _ => None,
    }
}

/// Carries out everything after the entry was written.
fn make(
    journal: &mut Journal,
    entry: &mut Entry,
    observer: &mut dyn Observer,
    end: Phase,
    work: &mut Work,
) -> Result<Vec<PathBuf>, JournalError> {
    let staged = stage(journal.place.tree(), entry);
    work.held = hold(journal.place.tree(), entry);
    staged?;
    let steps = entry.plan.steps.clone();
    for (index, step) in steps.iter().enumerate() {
        if observer.stop() {
            return Err(JournalError::Stopped);
        }
        work.at = Some(index);
        // A program finds the files that were written before it, even after a power cut.
        if !replaces(&step.action) {
            work.sync_names(journal)?;
        }
        if entry.begun(index).is_none() {
            // Steps that only replace files are begun together: the restore does not depend on which of them was
            // begun, and writing the whole entry before each of several hundred steps takes longer than the steps.
            let together = steps.iter().skip(index).take_while(|it| replaces(&it.action)).count();
            entry.steps_begun.resize(index + together.max(1), now());
            journal.store.save(entry)?;
        }
        observer.step(index, step);
        self::step(journal, entry, index, &step.action, observer, work)?;
    }
    work.at = None;
    work.sync_names(journal)?;
    if observer.stop() {
        return Err(JournalError::Stopped);
    }
    clear(journal.place.tree(), entry)?;
    appeared(journal, entry, |_, _, _| true)?;
    look_again(journal, entry, &work.written)?;
    super::observed::forget(entry);
    entry.owned.clear();
    entry.phase = end;
    let mut changed = entry.directories.clone();
    changed.extend(
        entry
            .records
            .iter()
            .filter(|record| record.new.as_ref().is_some_and(|new| !new.same(&record.old)))
            .map(|record| record.path.clone()),
    );
    // Up to here the next run that finds the change reverts it; from here on it is in force, or on
    // trial.
    if let Err(error) = journal.store.save(entry) {
        entry.phase = Phase::Applying;
        return Err(error);
    }
    // Contents of files that were only observed.
    let _ = journal.store.clean();
    Ok(changed)
}

fn replaces(action: &Action) -> bool {
    matches!(action, Action::Write { .. } | Action::Link { .. } | Action::Remove { .. })
}

/// All names in the directories in which the program of a step is expected to write.
fn names(journal: &Journal, entry: &Entry, step: usize) -> BTreeSet<PathBuf> {
    let watches = entry.watches.iter().filter(|watch| watch.step == step && !watch.observed);
    let inside = |directory: &PathBuf| {
        // A directory that cannot be listed has no known names.
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
    work: &mut Work,
) -> Result<(), JournalError> {
    let target = entry.targets.get(index).copied().flatten();
    let spot = match target.and_then(|index| entry.records.get(index)) {
        // Nothing to remove if its directory does not exist.
        Some(record) => journal.place.tree().spot(&record.path)?,
        None => None,
    };
    match (action, spot) {
        (Action::Write { .. } | Action::Link { .. }, Some(spot)) => {
            let staged = spot.beside(entry.staged(index).as_ref())?;
            unchanged(journal, entry, target, &spot)?;
            let planned = planned(action);
            let there = capture(&spot)?.0;
            let same = planned.as_ref().is_some_and(|planned| there.is(planned));
            let made = if same { there } else { capture(&staged)?.0 };
            if !planned.as_ref().is_some_and(|planned| made.is(planned)) {
                return Err(JournalError::Unfit {
                    path: staged.shown,
                    why: "was changed by another process before it was renamed: try again"
                        .to_owned(),
                });
            }
            work.written.extend(target.map(|target| (target, made)));
            work.named.extend(path_of(entry, target));
            if same { staged.unlink().map(drop) } else { staged.rename(&spot) }
        }
        (Action::Remove { .. }, Some(spot)) => {
            unchanged(journal, entry, target, &spot)?;
            work.written.extend(target.map(|target| (target, State::Absent)));
            work.named.extend(path_of(entry, target));
            spot.unlink().map(drop)
        }
        (Action::Run { command, .. }, _) => {
            let before = names(journal, entry, index);
            let makes_entries = matches!(action, Action::Run { rewrites, .. } if !rewrites.is_empty())
                && !entry.plan.expected.is_empty();
            let around = makes_entries.then(|| Surroundings::look(journal.place.tree()));
            if let Some(around) = &around {
                // Also for a run that finds this one killed.
                entry.owned = around.owned();
                journal.store.save(entry)?;
            }
            let ran = journal.runner.run(&journal.place, command, observer);
            let after = names(journal, entry, index);
            // Also those of a program that failed.
            entry.neighbours.extend(after.difference(&before).cloned());
            if matches!(ran, Ok(Ran::Left)) {
                entry.left.push(index);
                return Ok(());
            }
            // The results are checked only when none of its processes still writes.
            if matches!(action, Action::Run { rewrites, .. } if ran.is_ok() && !rewrites.is_empty())
            {
                work.running.extend(super::marked::settle(&journal.place, observer));
            }
            let hidden = super::mounts::settle(journal, entry, entry.mounts.as_deref());
            let beside =
                around.map(|it| it.restore(journal, entry, index, command)).unwrap_or_default();
            let own = by_program(journal, entry, index, &work.written, command);
            let good = ran.and_then(|_| {
                own?;
                surroundings::refuse(journal, &hidden.faults, command)?;
                super::made::look(journal, entry, index, command)?;
                super::observed::look(journal, entry, index, command)?;
                surroundings::refuse(journal, &beside.faults, command)?;
                super::made::script_check(journal, entry, index, observer)
            });
            if good.is_err() {
                work.lasting.extend(hidden.lasting.into_iter().chain(beside.lasting));
                // Removed with the rest if they are empty by then.
                let known = entry.directories.clone();
                entry
                    .directories
                    .extend(beside.directories.into_iter().filter(|it| !known.contains(it)));
            }
            good
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

/// Refuses changes by the program of a step (this command) to files that earlier steps of the plan wrote, and records
/// that it made them: they are restored like files that programs rewrite.
fn by_program(
    journal: &Journal,
    entry: &mut Entry,
    step: usize,
    written: &Written,
    command: &[String],
) -> Result<(), JournalError> {
    let mut first = None;
    for (index, wanted) in written {
        let Some(record) = entry.records.get_mut(*index) else { continue };
        if record.rewritten_by.contains(&step) {
            continue;
        }
        let now = match found(journal.place.tree(), &record.path) {
            Ok(Found { state, link: None }) => state,
            _ => State::Other,
        };
        if !now.same(wanted) {
            record.rewritten_by.push(step);
            first.get_or_insert_with(|| JournalError::NotMade {
                command: command.join(" "),
                path: journal.place.shown(&record.path),
                why: format!(
                    "was changed while it ran ({}), after this change had written it",
                    wanted.difference(&now)
                ),
            });
        }
    }
    first.map_or(Ok(()), Err)
}

/// The path that a step writes.
fn path_of(entry: &Entry, target: Option<usize>) -> Option<PathBuf> {
    Some(entry.records.get(target?)?.path.clone())
}

/// The state that an action gives its path.
fn planned(action: &Action) -> Option<Planned> {
    match action {
        Action::Write { content, .. } => Some(Planned::File(digest(content.as_bytes()))),
        Action::Link { target, .. } => Some(Planned::Link(target.clone())),
        Action::Remove { .. } => Some(Planned::Absent),
        Action::Run { .. } | Action::Clocksource { .. } => None,
    }
}

/// Refuses to replace a file that another process has changed since it was read.
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
        why: format!("was changed by another process at this moment ({difference}): try again"),
    })
}

/// Records the state that this change gave everything, and makes the writes of programs durable.
///
/// # Errors
/// Returns an error if another process has changed a file since this change wrote it, or has mounted something over
/// one.
fn look_again(journal: &Journal, entry: &mut Entry, written: &Written) -> Result<(), JournalError> {
    let open = super::mounts::hinders(journal, entry);
    if !open.is_empty() {
        return Err(JournalError::Partly { restored: Vec::new(), open });
    }
    let mut checked = super::made::Checked::new();
    for (index, step) in entry.plan.steps.iter().enumerate() {
        if let Action::Run { command, .. } = &step.action
            && !entry.left.contains(&index)
        {
            // Again: others may have made them again, for a kernel that they installed.
            let found = super::made::look(journal, entry, index, command)?;
            checked.extend(found);
        }
    }
    for (index, record) in entry.records.iter_mut().enumerate() {
        let (state, content) = match journal.place.tree().spot(&record.path)? {
            Some(spot) => {
                let (state, content) = capture(&spot)?;
                if !record.rewritten_by.is_empty() && !state.identical(&record.old) {
                    sync_file(&spot)?;
                }
                (state, content)
            }
            None => (State::Absent, None),
        };
        let by_program = record.rewritten_by.iter().any(|step| !entry.left.contains(step));
        let wanted = written.get(&index).filter(|_| !by_program);
        if let Some(wanted) = wanted.filter(|wanted| !state.same(wanted)) {
            return Err(JournalError::Unfit {
                path: journal.place.shown(&record.path),
                why: format!(
                    "was changed by another process right after this change wrote it ({}): try again",
                    wanted.difference(&state)
                ),
            });
        }
        match content {
            Some(content) if content.len() as u64 <= MAX_SHOWN && !state.same(&record.old) => {
                journal.store.keep(&content)?;
            }
            _ => {}
        }
        record.new = Some(match wanted {
            Some(wanted) => wanted.clone(),
            None if by_program => checked.remove(&record.path).unwrap_or(state),
            // Its program was left, or there was nothing to remove.
            None => record.old.clone(),
        });
    }
    Ok(())
}
