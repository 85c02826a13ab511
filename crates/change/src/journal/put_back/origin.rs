//! Decides whether the run that a later one finds incomplete can have left the present files, or another process has
//! changed them since.
//!
//! A time does not decide it: a kernel can be installed a minute after a run was killed. So the contents are compared.
//! A boot loader's program leaves the previous file with the words of the change, complete or truncated; everything
//! else belongs to another process, and is never replaced by the previous bytes, which have the entries of the kernels
//! of that time.

use super::super::capture::capture;
use super::super::entry::{Entry, Record, State};
use super::super::made::missing_images;
use super::super::observed::all_words;
use super::super::{Journal, JournalError, Place, mounts};
use crate::boot::made::{has_entries, images, is_broken, is_entry_file, kernels, uncounted};
use crate::plan::Action;
use crate::words::Change;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Whether a plan makes boot entries.
pub(super) fn makes_entries(entry: &Entry) -> bool {
    !entry.plan.expected.is_empty()
}

/// Whether the change is the run of a program that an undo makes entries again with: the undo runs it again.
pub(super) fn is_rerun(entry: &Entry) -> bool {
    let step = |action: &Action| matches!(action, Action::Run { rewrites, undo: None, regenerate: None, .. } if !rewrites.is_empty());
    entry.plan.steps.len() == 1 && entry.plan.steps.iter().all(|it| step(&it.action))
}

/// Returns the words of a text, without those that a change adds or removes, and without the padding of an environment
/// block.
fn tokens<'a>(text: &'a str, words: &HashSet<&str>) -> Vec<&'a str> {
    let apart = |it: char| it.is_whitespace() || "\"'".contains(it);
    text.split(apart)
        .filter(|it| !it.is_empty() && !words.contains(it))
        .filter(|it| !it.bytes().all(|byte| byte == b'#'))
        .collect()
}

/// How much of another text a text has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Has {
    All,
    /// It is truncated.
    Part,
}

/// Compares a text with another one, except for these words.
fn is_of(old: &str, now: &str, words: &HashSet<&str>) -> Option<Has> {
    let (was, is) = (tokens(old, words), tokens(now, words));
    if was == is {
        return Some(Has::All);
    }
    let Some((last, whole)) = is.split_last() else { return Some(Has::Part) };
    let cut = |next: &str| next.starts_with(last);
    let part = was.starts_with(whole)
        && (was.get(whole.len()).copied().is_some_and(cut)
            || words.iter().any(|it| it.starts_with(last)));
    part.then_some(Has::Part)
}

/// The texts of a record: the previous one, and the present one.
fn texts(journal: &Journal, record: &Record) -> Option<(String, String)> {
    let State::File { content, .. } = &record.old else { return None };
    let old = journal.store.text(content)?;
    Some((old, text_at(journal, &record.path)?))
}

pub(super) fn text_at(journal: &Journal, path: &Path) -> Option<String> {
    let spot = journal.place.tree().spot(path).ok()??;
    String::from_utf8(capture(&spot).ok()?.1?).ok()
}

fn set(change: &Change) -> HashSet<&str> {
    change.add.iter().chain(&change.remove).map(String::as_str).collect()
}

fn is_of_change(entry: &Entry, old: &str, now: &str) -> Option<Has> {
    is_of(old, now, &set(&all_words(entry)))
}

/// Returns whether a text differs from the previous one only by the words of a change.
pub(super) fn differs_by_words(entry: &Entry, old: &str, now: &str) -> bool {
    is_of_change(entry, old, now) == Some(Has::All)
}

/// The words of a line, without those of a change.
pub(super) fn without_words(entry: &Entry, line: &str) -> Vec<String> {
    tokens(line, &set(&all_words(entry))).into_iter().map(str::to_owned).collect()
}

/// Returns whether the programs of a change that makes entries can have left this state, ended at any moment, and the
/// previous file would boot: all files that it names exist.
pub(super) fn is_of_program(
    journal: &Journal,
    entry: &Entry,
    record: &Record,
    current: &State,
) -> bool {
    match (&record.old, current) {
        (State::File { .. }, State::File { .. }) => {
            let Some((old, now)) = texts(journal, record) else { return false };
            match is_of_change(entry, &old, &now) {
                Some(Has::All) => true,
                Some(Has::Part) => fits(journal, entry, record),
                // A process that has finished does not leave a file that boots nothing.
                None => is_broken(&record.path, &old, &now) && fits(journal, entry, record),
            }
        }
        (State::File { .. }, State::Absent) => {
            has_entries(&record.path) && fits(journal, entry, record)
        }
        _ => false,
    }
}

/// Returns whether the previous file of a record boots as before: every kernel and disk that its
/// entries name exists, of those that existed when its program began, as far as that is known.
pub(super) fn fits(journal: &Journal, entry: &Entry, record: &Record) -> bool {
    let State::File { content, .. } = &record.old else { return true };
    if !has_entries(&record.path) {
        return true;
    }
    let Some(text) = journal.store.text(content) else { return false };
    let base = |name: &str| name.rsplit('/').next().map(str::to_owned);
    let was_there = |name: &String| {
        entry.owned.is_empty()
            || entry.owned.iter().any(|it| it.path.to_str().and_then(base) == base(name))
    };
    let missing = missing_images(journal.place.tree(), &record.path, &text);
    !missing.iter().any(was_there)
}

/// Returns the files that the previous entries of a path load, that no longer exist, and that the
/// present ones do not load.
pub(super) fn lost_images(journal: &Journal, record: &Record) -> Vec<String> {
    let State::File { content, .. } = &record.old else { return Vec::new() };
    let old = journal.store.text(content).filter(|_| has_entries(&record.path));
    let Some((old, now)) = old.zip(text_at(journal, &record.path)) else { return Vec::new() };
    let loaded = images(&record.path, &now);
    let mut missing = missing_images(journal.place.tree(), &record.path, &old);
    missing.retain(|it| !loaded.contains(it));
    missing
}

/// Returns whether a file boots nothing in its present state, but did before, or is truncated.
pub(super) fn is_half_made(
    journal: &Journal,
    entry: &Entry,
    record: &Record,
    current: &State,
) -> bool {
    match (&record.old, current) {
        (State::File { .. }, State::Absent) => {
            has_entries(&record.path)
                && (!is_entry_file(&record.path) || fits(journal, entry, record))
        }
        (State::File { .. }, State::File { .. }) => {
            let broken = |(old, now): (String, String)| {
                is_broken(&record.path, &old, &now)
                    || is_of_change(entry, &old, &now) == Some(Has::Part)
            };
            texts(journal, record).is_some_and(broken)
        }
        _ => false,
    }
}

/// Returns whether a program that was ended can have made a new file: it has the content of a file that the program
/// rewrites, complete or truncated, and is not an entry of an existing kernel.
pub(super) fn is_made_by_program(journal: &Journal, entry: &Entry, path: &Path) -> bool {
    let Some(text) = text_at(journal, path) else { return false };
    if is_entry_file(path) && boots_here(journal, path) {
        return false;
    }
    let beside = entry.records.iter().filter(|it| it.path.parent() == path.parent());
    let mut former = beside.filter_map(|record| match &record.old {
        State::File { content, .. } => journal.store.text(content),
        _ => None,
    });
    former.any(|old| is_of_change(entry, &old, &text).is_some())
}

/// Returns whether a path has an entry whose kernel and disks exist.
pub(super) fn boots_here(journal: &Journal, path: &Path) -> bool {
    let text = text_at(journal, path);
    text.is_some_and(|text| missing_images(journal.place.tree(), path, &text).is_empty())
}

/// Returns the paths of the kernels of an entry file that exist.
pub(super) fn kernels_of(journal: &Journal, path: &Path) -> Vec<PathBuf> {
    let Some(text) = text_at(journal, path) else { return Vec::new() };
    let tree = journal.place.tree();
    let tops = path.ancestors().nth(3).into_iter().chain([Path::new("/boot"), Path::new("/")]);
    let tops: Vec<&Path> = tops.collect();
    let there = |path: &PathBuf| {
        tree.spot(path).is_ok_and(|spot| spot.is_some_and(|it| matches!(it.stat(), Ok(Some(_)))))
    };
    kernels(path, &text)
        .iter()
        .filter_map(|name| {
            let plain = name.trim_start_matches('/');
            tops.iter().map(|top| top.join(plain)).find(there)
        })
        .collect()
}

/// Returns the kernels and disks of a file's entries that exist but are empty.
pub(super) fn empty_images(journal: &Journal, path: &Path) -> Vec<PathBuf> {
    let text = text_at(journal, path).filter(|_| has_entries(path));
    let names = text.map(|text| images(path, &text)).unwrap_or_default();
    let top = path.ancestors().nth(3).filter(|_| is_entry_file(path));
    let places = top.into_iter().chain([Path::new("/boot"), Path::new("/")]);
    let places: Vec<&Path> = places.collect();
    let is_empty = |path: &PathBuf| {
        let stat = || journal.place.tree().spot(path).ok()??.stat().ok()?;
        stat().is_some_and(|it| {
            rustix::fs::FileType::from_raw_mode(it.st_mode).is_file() && it.st_size == 0
        })
    };
    let at = |name: &String| {
        let plain = name.trim_start_matches('/').to_owned();
        places.iter().map(move |top| top.join(&plain)).collect::<Vec<_>>()
    };
    names.iter().flat_map(at).filter(is_empty).collect()
}

/// Whether an environment block makes one of these entries the default one, and has the previous
/// words of kernels.
pub(super) fn chooses(journal: &Journal, record: &Record, entries: &[String]) -> bool {
    let Some((old, now)) = texts(journal, record) else { return false };
    let value = |text: &str, name: &str| {
        text.lines().find_map(|line| Some(line.strip_prefix(name)?.trim().to_owned()))
    };
    value(&now, "saved_entry=").is_some_and(|entry| entries.contains(&entry))
        && value(&old, "kernelopts=") == value(&now, "kernelopts=")
}

/// The fate of an entry file that is no longer at its path: the package manager has removed it with its kernel, or
/// systemd-boot has given it another count of boots.
pub(in super::super) enum Gone {
    Renamed(PathBuf),
    Removed,
    /// It is not known whether it was removed, for this reason: its directory is not mounted, or has no entry.
    Unseen(String),
}

/// Finds a missing entry file of a record; `None` for other files.
pub(in super::super) fn gone(
    place: &Place,
    entry: &Entry,
    record: &Record,
) -> Result<Option<Gone>, JournalError> {
    let tree = place.tree();
    if !is_entry_file(&record.path) || !matches!(record.old, State::File { .. }) {
        return Ok(None);
    }
    let Some(directory) = record.path.parent() else { return Ok(None) };
    let names = tree.names(directory)?.unwrap_or_default();
    let own = uncounted(&record.path);
    let mut others = names
        .iter()
        .map(|name| directory.join(name))
        .filter(|path| *path != record.path && is_entry_file(path) && uncounted(path) == own);
    if let Some(other) = others.next() {
        return Ok(Some(Gone::Renamed(other)));
    }
    if let Some(at) = mounts::missing(place, entry, &record.path) {
        let at = place.shown(at);
        let why = format!(
            "does not exist, and the file system that was on {} is not mounted: mount it",
            at.display()
        );
        return Ok(Some(Gone::Unseen(why)));
    }
    Ok(Some(if names.iter().any(|name| is_entry_file(&directory.join(name))) {
        Gone::Removed
    } else {
        let why = "does not exist, and neither does any other entry in its directory: mount the \
                   file system that has them in its original place";
        Gone::Unseen(why.to_owned())
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_of_another_with_the_words_whole_or_cut_off() {
        let words = HashSet::from(["nohz=off"]);
        let old = "linux /vmlinuz-6 ro quiet\ninitrd /i-6\n";
        let new = "linux /vmlinuz-6 ro quiet nohz=off\ninitrd /i-6\n";
        for end in 0..new.len() - 1 {
            assert_eq!(is_of(old, &new[..end], &words), Some(Has::Part), "{}", &new[..end]);
        }
        assert_eq!(is_of(old, new, &words), Some(Has::All));
        for other in [
            "linux /vmlinuz-7 ro quiet nohz=off\ninitrd /i-7\n",
            "linux /vmlinuz-6 ro quiet audit=1\ninitrd /i-6\n",
            "linux /vmlinuz-6 ro quiet\ninitrd /i-6\nmore\n",
        ] {
            assert_eq!(is_of(old, other, &words), None, "{other}");
        }
        assert_eq!(is_of("a=1\n####", "a=1\nnohz=off\n##", &words), Some(Has::All));
    }
}
