//! Reserves room and makes new files before the first visible change: a full disk, a read-only mount or a forbidden
//! directory causes an error here, before any step is carried out.

use super::JournalError;
use super::capture::{Wanted, capture, durable, make_later, make_link};
use super::entry::{Entry, State, TEMPORARY};
use super::store::Store;
use super::tree::{Spot, Tree, errno, io};
use crate::plan::Action;
use rustix::fs::{AtFlags, FallocateFlags, Mode, OFlags};
use rustix::io::Errno;
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{OwnedFd, RawFd};
use std::path::{Path, PathBuf};

/// Makes the missing directories, the files that the steps write, and a reserve beside everything
/// that may have to be restored.
pub(super) fn stage(tree: &Tree, entry: &Entry) -> Result<(), JournalError> {
    for directory in &entry.directories {
        tree.make_directory(directory, 0o755)?;
    }
    let mut made = Vec::new();
    for (step, record) in targets(entry) {
        let new = || tree.sure_spot(&record.path)?.beside(entry.staged(step).as_ref());
        match entry.plan.steps.get(step).map(|step| &step.action) {
            Some(Action::Write { content, mode, .. }) => {
                let wanted = match &record.old {
                    State::File { meta, .. } => Wanted::Like(meta),
                    _ => Wanted::New(*mode),
                };
                make_later(&new()?, content.as_bytes(), wanted)?;
                made.push(record.path.with_file_name(entry.staged(step)));
            }
            Some(Action::Link { target, .. }) => make_link(&new()?, target, None)?,
            // A file that a step removes may have no directory, and needs no staging.
            _ => {}
        }
    }
    sync_all(tree, &made)?;
    let mut reserves: BTreeMap<&Path, u64> = BTreeMap::new();
    // A file that is only observed may be on a filesystem that cannot be written.
    for record in entry.records.iter().filter(|record| !record.observed) {
        // In whole blocks.
        let size = match record.old {
            State::File { size, .. } => size.saturating_add(1).next_multiple_of(4096),
            _ => 0,
        };
        if let Some(parent) = record.path.parent() {
            *reserves.entry(parent).or_default() += size;
        }
    }
    for (directory, size) in reserves {
        // A directory that a program may make does not exist yet.
        if let Some(spot) = tree.spot(&directory.join(entry.reserve()))? {
            reserve(&spot, size)?;
        }
    }
    Ok(())
}

/// Waits until files that were made are on the disk.
fn sync_all(tree: &Tree, made: &[PathBuf]) -> Result<(), JournalError> {
    made.iter().try_for_each(|path| durable(&tree.sure_spot(path)?))
}

fn targets(entry: &Entry) -> impl Iterator<Item = (usize, &super::entry::Record)> {
    let targets = entry.targets.iter().enumerate();
    targets.filter_map(|(step, index)| Some((step, entry.records.get((*index)?)?)))
}

fn reserve(spot: &Spot, size: u64) -> Result<(), JournalError> {
    spot.unlink()?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let fd = rustix::fs::openat(&spot.directory, &spot.name, flags, Mode::from_raw_mode(0o600))
        .map_err(io("make files in the directory of", &spot.shown))?;
    if size == 0 {
        return Ok(());
    }
    match rustix::fs::fallocate(&fd, FallocateFlags::empty(), 0, size) {
        Ok(()) => Ok(()),
        // Zeros do as well.
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => {
            let mut zeros = std::io::Read::take(std::io::repeat(0), size);
            let copied = std::io::copy(&mut zeros, &mut std::fs::File::from(fd));
            copied.map(drop).map_err(|error| io("keep room beside", &spot.shown)(errno(&error)))
        }
        Err(error) => Err(io("keep room beside", &spot.shown)(error)),
    }
}

/// Removes everything that was made under temporary names.
pub(super) fn clear(tree: &Tree, entry: &Entry) -> Result<(), JournalError> {
    let mut names: Vec<(PathBuf, String)> = Vec::new();
    for (index, record) in entry.records.iter().enumerate() {
        if let Some(parent) = record.path.parent() {
            names.push((parent.to_owned(), entry.saved(index)));
            names.push((parent.to_owned(), entry.reserve()));
        }
    }
    for (step, record) in targets(entry) {
        if let Some(parent) = record.path.parent() {
            names.push((parent.to_owned(), entry.staged(step)));
        }
    }
    names.sort();
    names.dedup();
    // By directory: each is opened and synced once.
    for group in names.chunk_by(|(one, _), (two, _)| one == two) {
        let Some((directory, first)) = group.first() else { continue };
        let Some(there) = tree.names(directory)? else { continue };
        let Some(spot) = tree.spot(&directory.join(first))? else { continue };
        let mut removed = false;
        for (_, name) in group {
            if there.iter().any(|other| other == name.as_str()) {
                removed |= spot.beside(name.as_ref())?.unlink()?;
            }
        }
        if removed {
            spot.sync()?;
        }
    }
    Ok(())
}

/// Descriptors that a change and its revert need besides those of [`hold`].
const DESCRIPTORS: usize = 24;

/// Makes sure that enough files can be opened for a change and for its revert: without them the change would end half
/// made.
///
/// # Errors
/// Returns an error if too few can be opened.
pub(super) fn enough_descriptors(tree: &Tree, entry: &Entry) -> Result<(), JournalError> {
    let parents: BTreeSet<&Path> =
        entry.records.iter().filter_map(|record| record.path.parent()).collect();
    let top = Path::new("/");
    let open = || tree.directory(top).map_err(io("open as many files as a change needs, in", top));
    (0..DESCRIPTORS + parents.len()).map(|_| open()).collect::<Result<Vec<_>, _>>().map(drop)
}

/// Whether a descriptor leaves enough others below the limit.
pub(super) fn leaves_enough(descriptor: RawFd) -> bool {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let used = u64::try_from(descriptor).unwrap_or(0) + 4 * DESCRIPTORS as u64;
    limit.is_none_or(|limit| used < limit)
}

/// Opens the directories in which an entry has temporary names: one that is renamed meanwhile is still reached.
pub(super) fn hold(tree: &Tree, entry: &Entry) -> Vec<OwnedFd> {
    let mut parents: Vec<&Path> =
        entry.records.iter().filter_map(|record| record.path.parent()).collect();
    parents.sort();
    parents.dedup();
    parents.into_iter().filter_map(|parent| tree.directory(parent).ok()).collect()
}

/// Removes the temporary names of an entry from these directories, wherever they are now.
pub(super) fn sweep(held: &[OwnedFd], entry: &Entry) {
    let own = format!("{TEMPORARY}{}-", entry.id);
    for directory in held {
        let names = super::tree::names(directory).unwrap_or_default();
        let ours = names.iter().filter(|name| name.as_encoded_bytes().starts_with(own.as_bytes()));
        // One that cannot be removed does no harm.
        let removed = ours
            .map(|name| rustix::fs::unlinkat(directory, name, AtFlags::empty()))
            .filter(Result::is_ok)
            .count();
        if removed > 0 {
            let _ = rustix::fs::fsync(directory);
        }
    }
}

/// Makes the files that will be restored again, under clocksmith's own names.
pub(super) fn stage_saved(
    tree: &Tree,
    store: &Store,
    entry: &Entry,
    chosen: impl Fn(usize) -> bool,
) -> Result<(), JournalError> {
    let mut made = Vec::new();
    for (index, record) in entry.records.iter().enumerate() {
        let State::File { content, meta, .. } = &record.old else { continue };
        if !chosen(index) {
            continue;
        }
        let Some(spot) = tree.spot(&record.path)? else { continue };
        if !capture(&spot)?.0.same(&record.old) {
            let new = spot.beside(entry.saved(index).as_ref())?;
            make_later(&new, &store.content(content)?, Wanted::Exactly(meta))?;
            made.push(record.path.with_file_name(entry.saved(index)));
        }
    }
    sync_all(tree, &made)
}
