//! Files that a program of a plan must not change: the settings from which the plan was computed, and the files of boot
//! loaders that it is not expected to make.
//!
//! A program that makes `grub.cfg` may also change `/etc/default/grub`, which takes effect at its next run, or make an
//! entry that another boot loader shows. So these files are records of the change while it is made: they are compared
//! when the program has ended, and restored. An entry may be added as by any program that makes entries
//! ([`crate::boot::made`]); it is named when the change is reverted.

use super::capture::capture;
use super::entry::{Entry, Record, State, TEMPORARY};
use super::found::found;
use super::surroundings::loads_foreign;
use super::{Journal, JournalError};
use crate::boot::made::{Made, added, newly_loaded};
use crate::system::{settings_directories, settings_files};
use crate::words::Change;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Files besides those that a system is read from.
const FILES: [&str; 9] = [
    "/boot/grub/custom.cfg",
    "/boot/grub2/custom.cfg",
    "/boot/grub2/user.cfg",
    "/boot/loader/loader.conf",
    "/efi/loader/loader.conf",
    "/boot/efi/loader/loader.conf",
    "/etc/sysconfig/bootloader",
    "/etc/sysconfig/grub",
    "/etc/sysconfig/kernel",
];
/// Directories besides those, with the suffixes of the names in them.
const DIRECTORIES: [(&str, &str); 1] = [("/etc/grub.d", "")];
/// Where each system has a directory on the EFI system partition, with a `grub.cfg` that leads to the one in `/boot`.
pub(super) const EFI: [&str; 3] = ["/boot/efi/EFI", "/efi/EFI", "/boot/EFI"];
/// Files that generators write by themselves: the block of variables, whose words are checked elsewhere.
const LEFT_OUT: [&str; 3] = ["/proc/cmdline", "/boot/grub/grubenv", "/boot/grub2/grubenv"];

/// The files that are observed.
pub(super) fn files() -> impl Iterator<Item = &'static str> {
    settings_files().chain(FILES).filter(|path| !LEFT_OUT.contains(path))
}

/// Returns the directories whose files are observed, with the suffixes of their names.
pub(super) fn directories() -> impl Iterator<Item = (&'static str, &'static str)> {
    settings_directories().chain(DIRECTORIES)
}

/// Returns whether a name in an observed directory is included. systemd-boot accepts a suffix in any case.
pub(super) fn counts(name: &str, end: &str) -> bool {
    let tail = name.len().checked_sub(end.len()).and_then(|at| name.get(at..));
    !name.starts_with(TEMPORARY) && tail.is_some_and(|tail| tail.eq_ignore_ascii_case(end))
}

/// Refuses files that the program of a step (this command) changed or made besides those that it is expected to make.
/// Entries that it may add are named when the change is reverted.
pub(super) fn look(
    journal: &Journal,
    entry: &mut Entry,
    step: usize,
    command: &[String],
) -> Result<(), JournalError> {
    let tree = journal.place.tree();
    let refused = |path: &Path, why: String| {
        let path = journal.place.shown(path);
        let why = format!(
            "{why}, although that is not part of this change. If that is intended, run `{}` first, \
             look at the file, and then run this again",
            command.join(" ")
        );
        JournalError::NotMade { command: command.join(" "), path, why }
    };
    let ours = |record: &&Record| record.observed && record.rewritten_by.contains(&step);
    for record in entry.records.iter().filter(ours) {
        let now = found(tree, &record.path)?.state;
        if !now.same(&record.old) {
            let how = match (&record.old, &now) {
                (State::Absent, _) => "was made while it ran".to_owned(),
                (old, now) => format!("was changed while it ran ({})", old.difference(now)),
            };
            let lines = new_lines(journal, record);
            return Err(refused(&record.path, format!("{how}{lines}")));
        }
    }
    let mut more: Vec<PathBuf> = Vec::new();
    let records: HashSet<&Path> = entry.records.iter().map(|it| it.path.as_path()).collect();
    for watch in entry.watches.iter().filter(|watch| watch.observed && watch.step == step) {
        let end = watch.end.as_deref().unwrap_or_default();
        let there: HashSet<&str> = watch.names.iter().map(String::as_str).collect();
        let mut siblings: Option<Vec<Made>> = None;
        for name in tree.names(&watch.directory)?.unwrap_or_default() {
            let Some(name) = name.to_str().filter(|name| counts(name, end)) else { continue };
            let path = watch.directory.join(name);
            if there.contains(name) || records.contains(path.as_path()) {
                continue;
            }
            let siblings = siblings.get_or_insert_with(|| former(journal, entry, &watch.directory));
            let content = match tree.spot(&path)? {
                Some(spot) => capture(&spot)?.1,
                None => None,
            };
            let after = content.map(|content| String::from_utf8_lossy(&content).into_owned());
            let made = Made { path: path.clone(), before: None, after };
            let all = all_words(entry);
            let why = added(&made, siblings, &all, &super::made::has_kernel(tree));
            if let Some(why) = why {
                return Err(refused(&path, format!("was made while it ran: {why}")));
            }
            for (entry, name) in newly_loaded(std::slice::from_ref(&made)) {
                if let Some((file, why)) = loads_foreign(tree, &name, entry) {
                    let file = journal.place.shown(&file);
                    let why =
                        format!("was made while it ran, and loads {}, which {why}", file.display());
                    return Err(refused(&path, why));
                }
            }
            more.push(path);
        }
    }
    entry.neighbours.extend(more);
    Ok(())
}

/// The limit of quoted lines, and of characters of each.
const LINES: usize = 3;
const LETTERS: usize = 160;

/// Returns the lines that were added to a file, for a message: they are lost when it is restored, and another process
/// may have written them.
fn new_lines(journal: &Journal, record: &Record) -> String {
    let old = match &record.old {
        State::File { content, .. } => journal.store.text(content).unwrap_or_default(),
        _ => String::new(),
    };
    let content = || capture(&journal.place.tree().spot(&record.path).ok()??).ok()?.1;
    let Some(now) = content().and_then(|content| String::from_utf8(content).ok()) else {
        return String::new();
    };
    let had: Vec<&str> = old.lines().collect();
    let new = now.lines().filter(|line| !line.trim().is_empty() && !had.contains(line));
    let quoted: Vec<String> = new
        .take(LINES)
        .map(|line| format!("`{}`", line.chars().take(LETTERS).collect::<String>()))
        .collect();
    if quoted.is_empty() { String::new() } else { format!(", with {}", quoted.join(", ")) }
}

/// Leaves the observed files as they are, if it is not known which process changed them: a run was killed, and other
/// programs may have written since. They are named when the change is reverted.
pub(super) fn leave(journal: &Journal, entry: &mut Entry) {
    let tree = journal.place.tree();
    let changed = |record: &&Record| {
        record.observed && !found(tree, &record.path).is_ok_and(|now| now.state.same(&record.old))
    };
    let changed: Vec<PathBuf> =
        entry.records.iter().filter(changed).map(|record| record.path.clone()).collect();
    let records: HashSet<&Path> = entry.records.iter().map(|it| it.path.as_path()).collect();
    let new = |watch: &super::entry::Watch| -> Vec<PathBuf> {
        let there: HashSet<&str> = watch.names.iter().map(String::as_str).collect();
        let names = tree.names(&watch.directory).ok().flatten().unwrap_or_default();
        let end = watch.end.as_deref().unwrap_or_default();
        let names = names.into_iter().filter_map(|name| name.into_string().ok());
        names
            .filter(|name| counts(name, end) && !there.contains(name.as_str()))
            .map(|name| watch.directory.join(name))
            .filter(|path| !records.contains(path.as_path()))
            .collect()
    };
    let more: Vec<PathBuf> =
        entry.watches.iter().filter(|watch| watch.observed).flat_map(new).collect();
    entry.neighbours.extend(changed.into_iter().chain(more));
    forget(entry);
}

/// All words that may differ, each once.
pub(super) fn all_words(entry: &Entry) -> Change {
    let plan = &entry.plan;
    let all = |one: &[String], other: &[String]| {
        let more = other.iter().filter(|word| !one.contains(word));
        one.iter().chain(more).cloned().collect()
    };
    Change {
        add: all(&plan.expected.add, &plan.cmdline.add),
        remove: all(&plan.expected.remove, &plan.cmdline.remove),
    }
}

/// The files of a directory as they were.
fn former(journal: &Journal, entry: &Entry, directory: &Path) -> Vec<Made> {
    let inside = entry.records.iter().filter(|record| record.path.parent() == Some(directory));
    inside
        .filter_map(|record| {
            let State::File { content, .. } = &record.old else { return None };
            let before = journal.store.text(content)?;
            Some(Made { path: record.path.clone(), before: Some(before), after: None })
        })
        .collect()
}

/// Removes the records of observed files: they are unchanged, and later changes by other programs do not concern this
/// change.
pub(super) fn forget(entry: &mut Entry) {
    let kept: Vec<bool> = entry.records.iter().map(|record| !record.observed).collect();
    // The new index of each record that stays.
    let places: Vec<Option<usize>> = kept
        .iter()
        .scan(0, |next, kept| {
            let place = kept.then_some(*next);
            *next += usize::from(*kept);
            Some(place)
        })
        .collect();
    for target in &mut entry.targets {
        *target = target.and_then(|target| places.get(target).copied().flatten());
    }
    entry.records.retain(|record| !record.observed);
    entry.watches.retain(|watch| !watch.observed);
}
