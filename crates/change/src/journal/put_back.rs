//! Reverts a change: first the action for every file is decided, with nothing changed; then the
//! actions are made, so that a repetition after half of them gives the same result.

mod decide;
mod leave;
pub(super) mod origin;
mod own_words;
pub(super) mod running;
pub(super) mod taken_out;
mod words;

pub(super) use decide::decide;
pub(super) use leave::leave_default;

use super::capture::{capture, make_link, set_time};
use super::entry::{Decision, Entry, Phase, Record, State};
use super::found::{Found, behind, found};
use super::stage::{clear, hold, stage_saved, sweep};
use super::tree::Spot;
use super::{Journal, JournalError, Report};
use crate::plan::Action;
use crate::words::Change;
use origin::{fits, is_half_made, is_rerun, makes_entries};
use running::{clocksource, commands};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The state of each file if later changes are reverted first.
pub(super) type Former = BTreeMap<PathBuf, State>;

/// The tolerance of file times in seconds, because clocks are set, and files get the time of the last tick.
const SLACK: i64 = 30;

/// The situation of a revert, which decides which states count as made by this change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// The run that made the change, immediately afterwards: a rewrite of a file that its programs may rewrite is
    /// attributed to them.
    JustFailed,
    /// A later run; others may have changed files in between.
    Later,
    /// The change is reverted regardless of the current state.
    Forced,
}

/// Carries out the decisions, and removes the entry.
pub(super) fn put_back(journal: &mut Journal, entry: &mut Entry) -> Result<Report, JournalError> {
    let held = hold(journal.place.tree(), entry);
    let report = restore_all(journal, entry);
    // Also where a file could not be restored: the next run makes them again.
    sweep(&held, entry);
    report
}

fn restore_all(journal: &mut Journal, entry: &Entry) -> Result<Report, JournalError> {
    let tree = journal.place.tree();
    if entry.phase == Phase::Applying {
        let open = super::mounts::hinders(journal, entry);
        if !open.is_empty() {
            return Err(JournalError::Partly { restored: Vec::new(), open });
        }
    }
    // Room first.
    clear(tree, entry)?;
    let chosen = |index: usize| entry.records.get(index).is_some_and(put_backs);
    let room = stage_saved(tree, &journal.store, entry, chosen);
    // Without room, a change that is in force stays in force; an incomplete one is restored as far as possible.
    if entry.phase != Phase::Applying {
        room?;
    }
    let mut open: Vec<String> = Vec::new();
    let mut named: Vec<&Path> = Vec::new();
    let mut report = Report {
        id: entry.id,
        summary: entry.plan.summary.clone(),
        // Of a revert's own run, nothing was in force.
        cmdline: if is_rerun(entry) { Change::default() } else { entry.plan.cmdline.clone() },
        ..Report::default()
    };
    for (step, planned) in entry.plan.steps.iter().enumerate().rev() {
        if let Action::Clocksource { name } = &planned.action {
            let first = !entry.plan.steps.iter().take(step).any(is_clocksource);
            if entry.begun(step).is_some() && first {
                clocksource(journal, entry, name, &mut report);
            }
        }
        for (index, record) in entry.records.iter().enumerate() {
            if record.step != step || !put_backs(record) {
                continue;
            }
            match restore(journal, entry, index, record) {
                Ok(Restored::Yes) => {
                    named.push(&record.path);
                    if !record.edited {
                        report.restored.push(record.path.clone());
                    }
                }
                Ok(Restored::WasAlready) => {}
                Ok(Restored::Kept(path, difference)) => {
                    report.kept.push(format!(
                        "{}: another process changed it at this moment ({difference}), and it stays \
                         as it is: check whether it has words of this change",
                        path.display()
                    ));
                    report.written_by_others.push(path);
                }
                // The other files can still be restored.
                Err(error) => open.push(error.to_string()),
            }
        }
    }
    if let Err(error) = tree.sync_names(named) {
        open.push(error.to_string());
    }
    let made = entry.watches.iter().filter(|watch| !watch.existed).map(|watch| &watch.directory);
    let mut directories: Vec<&PathBuf> = entry.directories.iter().chain(made).collect();
    directories.sort();
    directories.dedup();
    for directory in directories.into_iter().rev() {
        let gone =
            || Ok(tree.names(directory)?.is_some().then(|| tree.remove_directory(directory)));
        match gone().and_then(|gone: Option<Result<bool, JournalError>>| gone.transpose()) {
            Ok(None) => {}
            Ok(Some(true)) => report.directories.push(directory.clone()),
            // The directory still has files that could not be restored.
            Ok(Some(false)) if !open.is_empty() => {}
            Ok(Some(false)) => {
                report.kept.push(format!("{}: it is not empty", directory.display()));
            }
            Err(error) => open.push(error.to_string()),
        }
    }
    report.kept.extend(beside(journal, entry, &entry.neighbours));
    // Changes to other files by a program of a run that ended early.
    let begun = entry.steps_begun.iter().min().copied().unwrap_or_default();
    let in_this_run = |stat: &rustix::fs::Stat| stat.st_ctime >= (begun - SLACK) as _;
    let (owned, still) = super::surroundings::own_again(tree, &entry.owned, in_this_run);
    report.restored.extend(owned);
    open.extend(still);
    report.kept.extend(snapshots(journal, entry));
    report.kept.extend(entry.notes.iter().cloned());
    // A step is reverted only if that is visible.
    if open.is_empty() {
        open = remaining(journal, entry, &report);
    }
    if open.is_empty() {
        commands(journal, entry, &mut report)?;
        open = remaining(journal, entry, &report);
    }
    if !open.is_empty() {
        return Err(JournalError::Partly { restored: report.restored, open });
    }
    let edits_boot = makes_entries(entry) || !entry.plan.cmdline.is_empty();
    if entry.phase != Phase::Applying || edits_boot && !is_rerun(entry) {
        report.kept.extend(words::adopted(journal, entry));
        words::kept_by_entries(journal, entry, &mut report);
    }
    journal.store.remove(entry.id)?;
    journal.lock.home.extend(entry.home.iter().cloned());
    Ok(report)
}

/// Returns the messages about names that appeared next to the files of a program.
fn beside(journal: &Journal, entry: &Entry, neighbours: &[PathBuf]) -> Vec<String> {
    let there = |path: &Path| journal.place.tree().spot(path).ok()??.stat().ok()?;
    let known = |path: &Path| entry.records.iter().any(|record| record.path == *path);
    let neighbours: BTreeSet<&PathBuf> = neighbours.iter().collect();
    let left = neighbours.into_iter().filter(|path| !known(path) && there(path).is_some());
    left.map(|path| {
        format!(
            "{}: it appeared, or was changed, while a program of this change ran or since, and whether that program made \
             it is not known",
            path.display()
        )
    })
    .collect()
}

/// Returns files of entries of snapshots (grub-btrfs) that a program of the change made besides its own, and that have
/// its words.
fn snapshots(journal: &Journal, entry: &Entry) -> Vec<String> {
    let files = ["/boot/grub/grub-btrfs.cfg", "/boot/grub2/grub-btrfs.cfg"];
    let text = |path: &str| {
        let spot = journal.place.tree().spot(Path::new(path)).ok()??;
        String::from_utf8(capture(&spot).ok()?.1?).ok()
    };
    let words = &entry.plan.expected.add;
    let has = |text: &str| {
        let found = words.iter().filter(|word| text.split_ascii_whitespace().any(|it| it == *word));
        found.cloned().collect::<Vec<_>>().join(" ")
    };
    let found = files.into_iter().filter_map(|path| Some((path, has(&text(path)?))));
    found
        .filter(|(_, words)| !words.is_empty())
        .map(|(path, words)| {
            format!(
                "{path}: its entries of snapshots have {words} until the program that makes it \
                 (grub-btrfs) regenerates it"
            )
        })
        .collect()
}

/// Returns the paths that should be in their previous state and are not, as programs find them.
fn remaining(journal: &Journal, entry: &Entry, report: &Report) -> Vec<String> {
    let tree = journal.place.tree();
    let records = entry.records.iter().filter(|record| put_backs(record));
    let mut open = Vec::new();
    for record in records.filter(|record| record.old != State::Other) {
        let shown = journal.place.shown(&record.path);
        // A directory of this change that now has other files, or a file that another process changed: both are
        // reported.
        let said =
            entry.directories.contains(&record.path) || report.written_by_others.contains(&shown);
        if said {
            continue;
        }
        let shown = shown.display();
        match found(tree, &record.path) {
            Ok(Found { state, .. }) if state.same(&record.old) => {}
            Ok(Found { state, link }) => {
                let why = match link {
                    Some(link) => behind(&journal.place, &link),
                    None if record.old == State::Absent => "it exists again".to_owned(),
                    None => record.old.difference(&state),
                };
                open.push(format!("{shown} is not as it was before: {why}"));
            }
            Err(error) => open.push(format!("{shown} may not be as it was before: {error}")),
        }
    }
    open
}

/// Records in the entry the files that a run could not restore immediately after its programs
/// changed them, so that a later run knows it, and restores them as well.
pub(super) fn keep_open(journal: &Journal, entry: &mut Entry) {
    let touched = |record: &&mut Record| {
        record.observed || record.new.is_none() && !record.rewritten_by.is_empty()
    };
    for record in entry.records.iter_mut().filter(touched) {
        let now = journal.place.tree().spot(&record.path).ok().flatten().map(|spot| capture(&spot));
        let (now, content) = match now {
            Some(Ok(now)) => now,
            // A directory in its place, for example, or none in which it would be.
            Some(Err(_)) => (State::Other, None),
            None => (State::Absent, None),
        };
        if now.same(&record.old) {
            continue;
        }
        record.observed = false;
        // Its state is known by its content. Without that, the time of the program shows whose it is.
        let kept = content.is_none_or(|content| journal.store.keep(&content).is_ok());
        record.new = kept.then_some(now);
    }
}

fn put_backs(record: &Record) -> bool {
    record.decision != Some(Decision::Regenerate)
}

fn is_clocksource(step: &crate::plan::Step) -> bool {
    matches!(step.action, Action::Clocksource { .. })
}

/// Restores the previous files if a killed program left files that boot nothing, and if the files
/// that the previous ones name exist. A file that cannot be restored stays, and so does the entry.
pub(super) fn mend(journal: &Journal, entry: &Entry) {
    let mut named: Vec<&Path> = Vec::new();
    for (index, record) in entry.records.iter().enumerate() {
        let by_program =
            makes_entries(entry) && !record.rewritten_by.is_empty() && !record.observed;
        let Ok(now) = found(journal.place.tree(), &record.path) else { continue };
        if by_program
            && now.link.is_none()
            && is_half_made(journal, entry, record, &now.state)
            && fits(journal, entry, record)
        {
            let record = &Record { seen: Some(now.state), ..record.clone() };
            if restore(journal, entry, index, record).is_ok() {
                named.extend(entry.records.get(index).map(|record| record.path.as_path()));
            }
        }
    }
    let _ = journal.place.tree().sync_names(named);
}

/// The result for one path.
enum Restored {
    /// The previous state was restored.
    Yes,
    /// It was already in the previous state.
    WasAlready,
    /// Another process has changed it since it was examined: its path as seen from outside, and the difference.
    Kept(PathBuf, String),
}

/// Restores the previous state of a path.
fn restore(
    journal: &Journal,
    entry: &Entry,
    index: usize,
    record: &Record,
) -> Result<Restored, JournalError> {
    let tree = journal.place.tree();
    let Some(spot) = tree.spot(&record.path)? else {
        let there = found(tree, &record.path)?;
        if let Some(link) = &there.link {
            if there.state.same(&record.old) {
                return Ok(Restored::WasAlready);
            }
            let path = journal.place.shown(&record.path);
            let why = format!(
                "cannot be restored: {}. Remove that link, or restore the directory in its place",
                behind(&journal.place, link)
            );
            return Err(JournalError::Unfit { path, why });
        }
        if record.old == State::Absent {
            return Ok(Restored::WasAlready);
        }
        if let Some(difference) = foreign(record, &State::Absent) {
            return Ok(Restored::Kept(journal.place.shown(&record.path), difference));
        }
        // Forced: its directory was removed in the meantime.
        if let Some(parent) = record.path.parent() {
            let mut missing: Vec<_> = parent.ancestors().collect();
            missing.pop();
            for directory in missing.into_iter().rev() {
                tree.make_directory(directory, 0o755)?;
            }
        }
        let spot = tree.sure_spot(&record.path)?;
        return restore_at(journal, entry, index, record, &spot);
    };
    restore_at(journal, entry, index, record, &spot)
}

/// The present state of a path that is to be restored.
fn present(record: &Record, spot: &Spot) -> Result<State, JournalError> {
    match capture(spot) {
        Ok((state, _)) => Ok(state),
        // It is replaced without being read.
        Err(_) if matches!(record.old, State::File { .. }) => Ok(State::Other),
        Err(error) => Err(error),
    }
}

/// The difference of a state from the one that was examined, if neither that nor the previous state
/// is found.
fn foreign(record: &Record, current: &State) -> Option<String> {
    let seen = record.seen.as_ref()?;
    let known = current.same(seen) || current.same(&record.old);
    (!known).then(|| seen.difference(current))
}

fn restore_at(
    journal: &Journal,
    entry: &Entry,
    index: usize,
    record: &Record,
    spot: &Spot,
) -> Result<Restored, JournalError> {
    let current = present(record, spot)?;
    if current.identical(&record.old) {
        return Ok(Restored::WasAlready);
    }
    let saved = spot.beside(entry.saved(index).as_ref())?;
    let kept = |difference| {
        saved.unlink()?;
        Ok(Restored::Kept(spot.shown.clone(), difference))
    };
    if let Some(difference) = foreign(record, &current) {
        return kept(difference);
    }
    // Again, immediately before the change.
    let again = || present(record, spot).map(|state| foreign(record, &state));
    match &record.old {
        State::Other => return Ok(Restored::WasAlready),
        State::Absent => {
            if current == State::Other {
                return Ok(Restored::WasAlready);
            }
            if let Some(difference) = again()? {
                return kept(difference);
            }
            spot.unlink()?;
        }
        State::File { meta, content, .. } => {
            if current.same(&record.old)
                && current.meta().map(|meta| &meta.xattrs) == Some(&meta.xattrs)
            {
                set_time(spot, meta)?;
            } else {
                // Another process may have changed it, or the disk is full: only the complete
                // previous file is renamed.
                let whole = saved.stat()?.is_some() && capture(&saved)?.0.same(&record.old);
                if !whole {
                    let content = journal.store.content(content)?;
                    let wanted = super::capture::Wanted::Exactly(meta);
                    super::capture::make(&saved, &content, wanted)?;
                }
                if let Some(difference) = again()? {
                    return kept(difference);
                }
                saved.rename(spot)?;
            }
        }
        State::Link { target, meta } => {
            make_link(&saved, target, Some(meta))?;
            if let Some(difference) = again()? {
                return kept(difference);
            }
            saved.rename(spot)?;
        }
    }
    Ok(Restored::Yes)
}

#[cfg(test)]
mod tests;
