//! Taking changes back that are in force.

use super::entry::{Decision, Entry, Phase, Record};
use super::put_back::running::ready;
use super::put_back::taken_out::keep_texts;
use super::put_back::{Former, Mode, decide, put_back};
use super::stage::clear;
use super::{Force, Journal, JournalError, Report, Which};
use std::collections::BTreeSet;

pub(super) fn undo(
    journal: &mut Journal,
    which: Which,
    force: Force,
) -> Result<Vec<Report>, JournalError> {
    let all = journal.store.entries();
    let mut chosen: Vec<Entry> = match which {
        Which::All => all.to_vec(),
        Which::Last => all.last().cloned().into_iter().collect(),
        Which::Id(id) => all.iter().filter(|entry| entry.id == id).cloned().collect(),
    };
    if chosen.is_empty() {
        return Err(JournalError::NothingToUndo(match which {
            Which::Id(id) => format!("no change has the number {id}"),
            Which::All | Which::Last => "no change is in force".to_owned(),
        }));
    }
    chosen.reverse();
    let mode = if force == Force::Yes { Mode::Forced } else { Mode::Later };
    // All are examined before the first one is reverted.
    let mut former = Former::new();
    let mut texts: Vec<String> = Vec::new();
    for entry in &mut chosen {
        if entry.phase == Phase::Undoing && force == Force::No {
            unhindered(journal, entry)?;
        } else {
            decide(journal, entry, mode, &former)?;
        }
        if entry.phase.is_made() {
            ready(journal, entry)?;
        }
        // That check removes contents that no saved entry names.
        texts.extend(entry.texts.iter().cloned());
        texts.iter().try_for_each(|text| journal.store.keep(text.as_bytes()))?;
        for record in &entry.records {
            if record.decision == Some(Decision::PutBack) {
                former.insert(record.path.clone(), record.old.clone());
            }
        }
    }
    let mut reports = Vec::new();
    let mut made_again = BTreeSet::new();
    for mut entry in chosen {
        // Their present state is that of a program which this revert itself has run.
        for record in entry.records.iter_mut().filter(|it| made_again.contains(&it.path)) {
            record.seen = None;
        }
        let regenerated = |it: &&Record| it.decision == Some(Decision::Regenerate);
        made_again.extend(entry.records.iter().filter(regenerated).map(|it| it.path.clone()));
        let before = entry.phase;
        entry.forced = force == Force::Yes;
        if entry.phase.is_made() {
            entry.phase = Phase::Undoing;
        }
        keep_texts(journal, &entry)?;
        journal.store.save(&mut entry)?;
        reports.push(attempt(journal, &mut entry, before)?);
    }
    Ok(reports)
}

fn attempt(
    journal: &mut Journal,
    entry: &mut Entry,
    before: Phase,
) -> Result<Report, JournalError> {
    let result = put_back(journal, entry);
    if matches!(result, Err(JournalError::Partly { .. })) {
        entry.stuck = true;
        // If this fails, the next run still finishes, but reports that this one was killed.
        let _ = journal.store.save(entry);
    }
    if result.is_err() && before.is_made() && untouched(journal, entry) {
        // The failure (a full disk, for example) came before anything was reverted: the change is
        // in force as before.
        let _ = clear(journal.place.tree(), entry);
        entry.phase = before;
        for record in &mut entry.records {
            record.decision = None;
            record.seen = None;
        }
        let _ = journal.store.save(entry);
    }
    result
}

/// Whether everything is still as the change left it.
fn untouched(journal: &Journal, entry: &Entry) -> bool {
    entry.records.iter().all(|record| {
        record.decision == Some(Decision::Regenerate)
            || journal.place.tree().spot(&record.path).is_ok_and(|spot| {
                let current = spot.map_or(Ok(super::entry::State::Absent), |spot| {
                    super::capture::capture(&spot).map(|(state, _)| state)
                });
                current.is_ok_and(|current| {
                    record.new.as_ref().is_some_and(|new| current.identical(new))
                })
            })
    }) && journal.entries().iter().any(|other| other.id == entry.id)
}

/// Refuses to finish if a file that was still to be restored was changed by others. A file that a
/// program can regenerate is left to that program.
pub(super) fn unhindered(journal: &Journal, entry: &mut Entry) -> Result<(), JournalError> {
    let mode = if entry.forced { Mode::Forced } else { Mode::Later };
    let mut open = entry.clone();
    // Files that the programs of the undo regenerate belong to these programs.
    open.records.retain(|record| record.decision != Some(Decision::Regenerate));
    decide(journal, &mut open, mode, &Former::new())?;
    for record in &mut entry.records {
        if let Some(decided) = open.records.iter().find(|other| other.path == record.path) {
            record.decision = decided.decision;
            record.seen.clone_from(&decided.seen);
        }
    }
    Ok(())
}
