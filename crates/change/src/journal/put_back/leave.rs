//! Files that a revert leaves as other programs made them: entries that were removed or renamed, and those of kernels
//! that were installed while a program ran.

use super::super::capture::capture;
use super::super::entry::{Entry, Phase, Record, State};
use super::super::found::{Found, found};
use super::super::observed::all_words;
use super::super::{Journal, JournalError, mounts};
use super::Mode;
use super::origin::{Gone, boots_here, chooses, fits, gone, kernels_of, text_at};
use crate::boot::made::is_entry_file;
use crate::plan::Action;
use crate::words::Change;
use std::path::{Path, PathBuf};

/// Makes the present state of a file, which another process wrote, the one to restore.
pub(super) fn leave_as_it_is(
    journal: &Journal,
    record: &mut Record,
    state: State,
) -> Result<(), JournalError> {
    let content = match journal.place.tree().spot(&record.path)? {
        Some(spot) => capture(&spot)?.1,
        None => None,
    };
    if let Some(content) = content {
        journal.store.keep(&content)?;
    }
    record.old = state;
    Ok(())
}

/// Follows renamed entry files, and leaves removed ones as they are: an entry of a kernel that was removed boots
/// nothing.
pub(super) fn gone_entries(
    journal: &Journal,
    entry: &mut Entry,
    mode: Mode,
) -> Result<(), JournalError> {
    let by_force = mode == Mode::Forced || entry.phase == Phase::Applying;
    let mut notes = Vec::new();
    for index in 0..entry.records.len() {
        let Some(record) = entry.records.get(index) else { continue };
        let there = found(journal.place.tree(), &record.path);
        if !matches!(there, Ok(Found { state: State::Absent, link: None })) {
            continue;
        }
        let Some(gone) = gone(&journal.place, entry, record)? else { continue };
        let shown = journal.place.shown(&record.path);
        let shown = shown.display();
        // A program may have removed it.
        let program = !record.rewritten_by.is_empty() || mode == Mode::Forced;
        let back = by_force && program && fits(journal, entry, record);
        let known = |path: &PathBuf| entry.records.iter().any(|it| it.path == *path);
        let mut unseen = None;
        let renamed = match gone {
            Gone::Renamed(path) if !known(&path) => Some(path),
            Gone::Unseen(why) if mode != Mode::Forced && !back => {
                let path = journal.place.shown(&record.path);
                return Err(JournalError::Unfit { path, why: format!("{why}, then try again") });
            }
            _ if back => continue,
            Gone::Unseen(why) => {
                unseen = Some(why);
                None
            }
            _ => None,
        };
        let Some(record) = entry.records.get_mut(index) else { continue };
        if let Some(path) = renamed {
            notes.push(format!("{shown}: it is now {}", path.display()));
            record.path = path;
            continue;
        }
        if record.old != State::Absent {
            notes.push(match unseen {
                None => format!("{shown}: it was removed since, and is not restored"),
                Some(why) => format!(
                    "{shown} {why}, and check whether it has words of this change: they were not \
                     reverted there"
                ),
            });
        }
        record.old = State::Absent;
    }
    entry.notes.extend(notes);
    Ok(())
}

/// Leaves the files of a program as they are, if that program is no longer installed (another boot loader has replaced
/// it), and they have nothing of the change left to revert.
pub(super) fn without_program(journal: &Journal, entry: &mut Entry) -> Result<(), JournalError> {
    let change = all_words(entry);
    for step in 0..entry.plan.steps.len() {
        let Some(Action::Run { regenerate: Some(command), .. }) =
            entry.plan.steps.get(step).map(|it| &it.action)
        else {
            continue;
        };
        let Some(program) = command.first().filter(|_| entry.begun(step).is_some()) else {
            continue;
        };
        if !journal.runner.is_missing(&journal.place, program) {
            continue;
        }
        let program = program.clone();
        let indices = entry.records.iter().enumerate();
        let indices = indices.filter(|(_, it)| it.planned.is_empty());
        let indices: Vec<usize> = indices
            .filter(|(_, it)| it.rewritten_by.contains(&step))
            .map(|(index, _)| index)
            .collect();
        let mut states = Vec::new();
        for index in indices {
            let Some(record) = entry.records.get(index) else { continue };
            let Found { state, link } = found(journal.place.tree(), &record.path)?;
            let unseen = mounts::missing(&journal.place, entry, &record.path).is_some();
            if link.is_some() || unseen || !is_rid_of(journal, record, &state, &change) {
                return Ok(());
            }
            states.push((index, state));
        }
        for (index, state) in states {
            let Some(record) = entry.records.get_mut(index) else { continue };
            if state.same(&record.old) {
                continue;
            }
            let how = match state {
                State::Absent => "it is gone",
                _ => "it has no words of this change",
            };
            entry.notes.push(format!(
                "{}: {program} is no longer installed, and {how}, so it stays as it is",
                journal.place.shown(&record.path).display()
            ));
            entry.texts.extend(text_at(journal, &record.path));
            record.old = state;
        }
    }
    Ok(())
}

/// Returns whether a file of a program no longer has anything of a change.
fn is_rid_of(journal: &Journal, record: &Record, state: &State, change: &Change) -> bool {
    match state {
        State::Absent => true,
        State::File { .. } => text_at(journal, &record.path).is_some_and(|text| {
            let has = |word: &String| text.split_ascii_whitespace().any(|it| it == word);
            !change.add.iter().any(has) && change.remove.iter().all(has)
        }),
        _ => false,
    }
}

/// Leaves the block of GRUB's variables as it is if another process has made an entry of a kernel that it installed the
/// default one. Words of kernels are not kept in this way.
pub(in super::super) fn leave_default(
    journal: &Journal,
    entry: &mut Entry,
) -> Result<(), JournalError> {
    let installed: Vec<String> = entry
        .neighbours
        .iter()
        .filter(|path| installed_since(journal, entry, path))
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
        .collect();
    for index in 0..entry.records.len() {
        let Some(record) = entry.records.get(index) else { continue };
        let block = record.path.ends_with("grubenv") && !record.rewritten_by.is_empty();
        if !installed.is_empty() && block && chooses(journal, record, &installed) {
            let now = found(journal.place.tree(), &record.path)?.state;
            let Some(record) = entry.records.get_mut(index) else { continue };
            leave_as_it_is(journal, record, now)?;
        }
    }
    Ok(())
}

/// Whether a path has an entry of a kernel that was installed while the program of a step ran: no boot loader's program installs
/// kernels.
pub(super) fn installed_since(journal: &Journal, entry: &Entry, path: &Path) -> bool {
    is_entry_file(path)
        && !entry.owned.is_empty()
        && kernels_of(journal, path)
            .iter()
            .any(|kernel| !entry.owned.iter().any(|owned| owned.path == *kernel))
        && boots_here(journal, path)
}
