//! Files that programs of a plan made and that did not exist before.

use super::capture::capture;
use super::entry::{Entry, Record, State, TEMPORARY};
use super::observed::counts;
use super::{Journal, JournalError};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Records new files that programs made. `chosen` decides, from the step, the path and the state of the file,
/// whether a program of the change made it.
pub(super) fn appeared(
    journal: &Journal,
    entry: &mut Entry,
    chosen: impl Fn(usize, &Path, &State) -> bool,
) -> Result<(), JournalError> {
    let tree = journal.place.tree();
    let mut recorded: HashSet<PathBuf> =
        entry.records.iter().map(|record| record.path.clone()).collect();
    for watch in entry.watches.clone() {
        let there: HashSet<&str> = watch.names.iter().map(String::as_str).collect();
        for name in tree.names(&watch.directory)?.unwrap_or_default() {
            let path = watch.directory.join(&name);
            // A boot loader does not read a file whose name is not UTF-8.
            let Some(name) = name.to_str() else { continue };
            let known = there.contains(name)
                || name.starts_with(TEMPORARY)
                || watch.prefix.as_ref().is_some_and(|prefix| !name.starts_with(prefix))
                || watch.end.as_ref().is_some_and(|end| !counts(name, end))
                || recorded.contains(&path);
            if known {
                continue;
            }
            let Some(spot) = tree.spot(&path)? else { continue };
            let state = capture(&spot)?.0;
            if state != State::Other && chosen(watch.step, &path, &state) {
                recorded.insert(path.clone());
                entry.records.push(Record {
                    path,
                    step: watch.step,
                    planned: Vec::new(),
                    rewritten_by: vec![watch.step],
                    old: State::Absent,
                    new: None,
                    observed: watch.observed,
                    decision: None,
                    seen: None,
                    edited: false,
                });
            }
        }
    }
    Ok(())
}
