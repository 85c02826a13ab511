//! The decision for every file of a change that is reverted.

use super::super::appeared::appeared;
use super::super::capture::capture;
use super::super::entry::{Decision, Entry, Phase, Record, State};
use super::super::found::{Found, behind, found};
use super::super::run::TIMEOUT;
use super::super::{Conflict, Journal, JournalError, observed};
use super::leave::{gone_entries, installed_since, leave_as_it_is, without_program};
use super::origin::{is_half_made, is_made_by_program, is_of_program, is_rerun, makes_entries};
use super::taken_out::{keep_texts, override_words, stays, take_out};
use super::{Former, Mode, SLACK};
use crate::plan::Action;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};
use std::path::Path;

/// Decides the action for every file, or reports the files that another program or user changed.
pub(in super::super) fn decide(
    journal: &Journal,
    entry: &mut Entry,
    mode: Mode,
    former: &Former,
) -> Result<(), JournalError> {
    if mode != Mode::JustFailed {
        observed::leave(journal, entry);
    }
    if entry.phase == Phase::Applying {
        let before = entry.clone();
        // Names that stay: another process may have made them.
        let others = RefCell::new(Vec::new());
        appeared(journal, entry, |step, path, state| {
            let made = match before.begun(step) {
                None => return false,
                Some(_) if mode == Mode::JustFailed => !installed_since(journal, &before, path),
                Some(begun) if !makes_entries(&before) => return in_time(begun, state),
                Some(begun) => in_time(begun, state) && is_made_by_program(journal, &before, path),
            };
            if !made {
                others.borrow_mut().push(path.to_owned());
            }
            made
        })?;
        let others = others.into_inner();
        entry.neighbours.extend(others.into_iter().filter(|it| !before.neighbours.contains(it)));
    }
    let mut conflicts = Vec::new();
    let mut decisions = Vec::new();
    if mode != Mode::JustFailed {
        gone_entries(journal, entry, mode)?;
    }
    if entry.phase.is_made() && mode != Mode::JustFailed {
        without_program(journal, entry)?;
    }
    let mut left = BTreeMap::new();
    for index in 0..entry.records.len() {
        let Some(record) = entry.records.get(index) else { continue };
        // The reason why nothing can be changed there.
        let mut hidden = None;
        let later = former.get(&record.path);
        let current = match later {
            Some(state) => state.clone(),
            None => match found(journal.place.tree(), &record.path) {
                Ok(Found { state, link: Some(link) }) if !state.same(&record.old) => {
                    // Whatever it is, it is not at the place that this change wrote.
                    hidden = Some(behind(&journal.place, &link));
                    State::Other
                }
                Ok(Found { state, .. }) => state,
                // For example too large: a file that a program has just made need not be read to be replaced.
                Err(_) if mode == Mode::JustFailed => State::Other,
                Err(error) => return Err(error),
            },
        };
        let edited = entry.phase.is_made() && mode != Mode::JustFailed && hidden.is_none();
        if edited && !ours(journal, entry, record, &current, mode) {
            let text = later.and_then(|state| match state {
                State::File { content, .. } => journal.store.text(content),
                _ => None,
            });
            if take_out(journal, entry, index, &current, text) {
                decisions.push((Decision::PutBack, current));
                continue;
            }
            let by_force = mode == Mode::Forced
                && entry.records.get(index).is_some_and(|record| !record.planned.is_empty());
            if by_force {
                if stays(journal, entry, index, &current)? {
                    decisions.push((Decision::PutBack, current));
                    continue;
                }
                override_words(journal, entry, index);
            }
        }
        let Some(record) = entry.records.get(index) else { continue };
        let by_program = record.planned.is_empty() && makes_entries(entry);
        let decision = if mode == Mode::Forced && !(by_program && can_regenerate(entry, record))
            || hidden.is_some() && mode == Mode::JustFailed
            || ours(journal, entry, record, &current, mode)
        {
            Decision::PutBack
        } else if is_rerun(entry) && mode != Mode::JustFailed {
            // If it boots in its present state, the undo that ran the program runs it again.
            if !is_half_made(journal, entry, record, &current) {
                left.insert(index, current.clone());
            }
            Decision::PutBack
        } else if can_regenerate(entry, record) {
            Decision::Regenerate
        } else {
            let conflict = conflict(journal, record, &current);
            let difference = hidden.unwrap_or_else(|| conflict.difference.clone());
            conflicts.push(Conflict { difference, ..conflict });
            Decision::PutBack
        };
        decisions.push((decision, current));
    }
    if !conflicts.is_empty() {
        return Err(JournalError::Conflicts { conflicts });
    }
    keep_texts(journal, entry)?;
    for (index, state) in left {
        let Some(record) = entry.records.get_mut(index) else { continue };
        leave_as_it_is(journal, record, state)?;
    }
    // Files that were created since (a kernel's) belong to other changes: the program regenerates
    // them all.
    let half = entry.phase == Phase::Applying && makes_entries(entry);
    let grown = if (entry.phase.is_made() || half) && mode != Mode::JustFailed {
        grown(journal, entry)?
    } else {
        Vec::new()
    };
    let anew: Vec<usize> = decisions
        .iter()
        .zip(&entry.records)
        .filter(|((decision, _), _)| *decision == Decision::Regenerate)
        .flat_map(|(_, record)| record.rewritten_by.iter().copied())
        .chain(grown)
        .filter(|step| regenerate(entry, *step).is_some())
        .collect();
    for (index, (decision, current)) in decisions.into_iter().enumerate() {
        let Some(record) = entry.records.get_mut(index) else { continue };
        // The remains of a killed program next to its files are removed.
        let remains = entry.phase == Phase::Applying && record.old == State::Absent;
        let together = record.planned.is_empty()
            && !(remains && decision == Decision::PutBack)
            && record.rewritten_by.iter().any(|step| anew.contains(step));
        record.decision = Some(if together { Decision::Regenerate } else { decision });
        record.seen = Some(current);
    }
    Ok(())
}

/// Whether the present state is the previous one, or one that this change made.
fn ours(journal: &Journal, entry: &Entry, record: &Record, current: &State, mode: Mode) -> bool {
    if current.same(&record.old) || record.new.as_ref().is_some_and(|new| current.same(new)) {
        return true;
    }
    // A directory that the change made, at a path that a program was expected to write; it is
    // removed with the others.
    if *current == State::Other && entry.directories.contains(&record.path) {
        return true;
    }
    if entry.phase.is_made() {
        return false;
    }
    // A directory with a mode, or a link's owner, need not be as planned while it is being made.
    record.planned.iter().any(|planned| current.is(planned))
        || entry.phase == Phase::Applying
            && record.rewritten_by.iter().filter_map(|step| entry.begun(*step)).any(|begun| {
                mode == Mode::JustFailed
                    || in_time(begun, current)
                        && (!makes_entries(entry) || is_of_program(journal, entry, record, current))
            })
}

/// Returns whether a program that was begun at this time, and killed, may have left this state. A later change by
/// others (a kernel update) must not be lost.
fn in_time(begun: i64, state: &State) -> bool {
    let longest = i64::try_from(TIMEOUT).unwrap_or(i64::MAX);
    state.meta().is_none_or(|meta| {
        (begun - SLACK..=begun.saturating_add(longest).saturating_add(SLACK)).contains(&meta.ctime)
    })
}

fn regenerate(entry: &Entry, step: usize) -> Option<&Vec<String>> {
    match &entry.plan.steps.get(step)?.action {
        Action::Run { regenerate, .. } => regenerate.as_ref(),
        _ => None,
    }
}

fn can_regenerate(entry: &Entry, record: &Record) -> bool {
    // If a step of the change wrote the file as well, no program generates its previous content.
    record.planned.is_empty()
        && record.rewritten_by.iter().any(|step| regenerate(entry, *step).is_some())
}

fn conflict(journal: &Journal, record: &Record, current: &State) -> Conflict {
    let left = record.new.as_ref().unwrap_or(&record.old);
    let found = journal.place.tree().spot(&record.path).ok().flatten();
    let found = found.and_then(|spot| String::from_utf8(capture(&spot).ok()?.1?).ok());
    Conflict {
        path: journal.place.shown(&record.path),
        difference: left.difference(current),
        left: match left {
            State::File { content, .. } => journal.store.text(content),
            _ => None,
        },
        found,
    }
}

/// Returns the steps whose directories have files that did not exist when the change was made.
fn grown(journal: &Journal, entry: &Entry) -> Result<Vec<usize>, JournalError> {
    let mut steps = Vec::new();
    for watch in entry.watches.iter().filter(|watch| watch.prefix.is_none()) {
        let names = journal.place.tree().names(&watch.directory)?.unwrap_or_default();
        let there: HashSet<&str> = watch.names.iter().map(String::as_str).collect();
        let known: HashSet<&Path> =
            entry.records.iter().map(|record| record.path.as_path()).collect();
        let grown = names.iter().any(|name| {
            name.to_str().is_none_or(|name| !there.contains(name))
                && !known.contains(watch.directory.join(name).as_path())
        });
        if grown {
            steps.push(watch.step);
        }
    }
    Ok(steps)
}
