//! Files that programs of a plan made and that were not there before.

use super::capture::capture;
use super::entry::{Entry, Record, State, TEMPORARY};
use super::{Journal, JournalError};

/// Records new files that programs made. `chosen` decides, from the step and the state of the file,
/// whether a program of the change made it.
pub(super) fn appeared(
    journal: &Journal,
    entry: &mut Entry,
    chosen: impl Fn(usize, &State) -> bool,
) -> Result<(), JournalError> {
    let tree = journal.place.tree();
    for watch in entry.watches.clone() {
        for name in tree.names(&watch.directory)?.unwrap_or_default() {
            let path = watch.directory.join(&name);
            // A boot loader does not read a file whose name is not text.
            let Some(name) = name.to_str() else { continue };
            let known = watch.names.iter().any(|other| other == name)
                || name.starts_with(TEMPORARY)
                || watch.prefix.as_ref().is_some_and(|prefix| !name.starts_with(prefix))
                || entry.records.iter().any(|record| record.path == path);
            if known {
                continue;
            }
            let Some(spot) = tree.spot(&path)? else { continue };
            let state = capture(&spot)?.0;
            if state != State::Other && chosen(watch.step, &state) {
                entry.records.push(Record {
                    path,
                    step: watch.step,
                    planned: Vec::new(),
                    rewritten_by: vec![watch.step],
                    old: State::Absent,
                    new: None,
                    decision: None,
                    seen: None,
                });
            }
        }
    }
    Ok(())
}
