//! What a program made is looked at, before the change goes on: its exit code does not say that it did its work.

use super::capture::capture;
use super::entry::{Entry, State};
use super::tree::End;
use super::{Journal, JournalError};
use crate::boot::made::{Made, check};
use crate::plan::Action;
use crate::words::Change;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Refuses what the program of a step made (by this command), if it is not whole, or one of these words is not where
/// it must be.
pub(super) fn look(
    journal: &Journal,
    entry: &Entry,
    step: usize,
    command: &[String],
    expected: &Change,
) -> Result<(), JournalError> {
    let action = entry.plan.steps.get(step).map(|step| &step.action);
    let Some(Action::Run { rewrites, .. }) = action else { return Ok(()) };
    // What makes no boot entries rewrites no files.
    if entry.plan.expected.is_empty() || rewrites.is_empty() {
        return Ok(());
    }
    let tree = journal.place.tree();
    let mut paths: BTreeSet<PathBuf> = entry
        .records
        .iter()
        .filter(|record| record.rewritten_by.contains(&step))
        .map(|record| record.path.clone())
        .collect();
    // Those that were not there before.
    for watch in entry.watches.iter().filter(|it| it.step == step && it.prefix.is_none()) {
        let names = tree.names(&watch.directory)?.unwrap_or_default();
        paths.extend(names.into_iter().map(|name| watch.directory.join(name)));
    }
    let mut files = Vec::new();
    for path in paths {
        let before = entry.records.iter().find(|record| record.path == path);
        let before = match before.map(|record| &record.old) {
            Some(State::File { content, .. }) => Some(journal.store.content(content)?),
            _ => None,
        };
        let after = match tree.spot(&path)? {
            Some(spot) => capture(&spot)?.1,
            None => None,
        };
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        files.push(Made { path, before: before.map(text), after: after.map(text) });
    }
    let has_kernel = |name: &str| {
        let there = || {
            let located = tree.locate(&Path::new("/boot").join(name), End::Follow).ok()?;
            tree.spot(&located.path).ok()??.stat().ok()?
        };
        !name.is_empty() && there().is_some()
    };
    check(&files, expected, &has_kernel).map_err(|fault| JournalError::NotMade {
        command: command.join(" "),
        path: journal.place.shown(&fault.path),
        why: fault.why,
    })
}
