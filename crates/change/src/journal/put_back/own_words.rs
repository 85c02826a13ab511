//! The words that other users or programs added to entries and settings, if the program of a revert (grubby) removes
//! words from all of them, or adds words to all.
//!
//! A file that differs from the previous one only by the words of the change becomes the previous one. For any other
//! file, the words that it lost or got are reported, if these may not come from the change.

use super::super::entry::{Entry, Record, State};
use super::super::found::found;
use super::super::observed::all_words;
use super::super::{Journal, Report};
use super::origin::{differs_by_words, text_at, without_words};
use super::restore;
use super::words::{sets, standing};
use crate::boot::made::{is_entry_file, options};
use crate::words;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The texts of entries and settings before such a program runs.
pub(super) struct Former {
    step: usize,
    texts: BTreeMap<PathBuf, String>,
}

impl Former {
    /// Returns the texts; empty for a program that takes the words from settings.
    pub(super) fn of(journal: &Journal, entry: &Entry, step: usize, command: &[String]) -> Self {
        let mut former = Self { step, texts: BTreeMap::new() };
        let all = all_words(entry);
        let named = |word: &String| {
            command.iter().any(|it| words::has(it, word) || it.ends_with(&format!("={word}")))
        };
        if !all.add.iter().chain(&all.remove).any(named) {
            return former;
        }
        let mut paths: BTreeSet<PathBuf> = records(entry, step).map(|it| it.path.clone()).collect();
        let entries = paths.iter().filter(|path| is_entry_file(path));
        let directories: BTreeSet<PathBuf> =
            entries.filter_map(|path| path.parent()).map(Path::to_owned).collect();
        for directory in directories {
            let names = journal.place.tree().names(&directory).ok().flatten().unwrap_or_default();
            let names = names.iter().map(|name| directory.join(name));
            paths.extend(names.filter(|path| is_entry_file(path)));
        }
        let texts =
            paths.into_iter().filter_map(|path| Some((path.clone(), text_at(journal, &path)?)));
        former.texts = texts.collect();
        former
    }

    /// Restores the words of others after the program ran, or names them.
    pub(super) fn settle(&self, journal: &Journal, entry: &Entry, report: &mut Report) {
        for (path, before) in &self.texts {
            let Some(after) = text_at(journal, path) else { continue };
            let known = entry.records.iter().enumerate();
            let known = known.filter(|(_, it)| it.rewritten_by.contains(&self.step));
            match known.clone().find(|(_, it)| it.path == *path) {
                Some((index, record)) => {
                    known_file(journal, entry, (index, record), [before, &after], report);
                }
                None => self.new_entry(journal, entry, path, [before, &after], report),
            }
        }
    }

    /// Reports on an entry that was made since the change: its previous words do not exist.
    fn new_entry(
        &self,
        journal: &Journal,
        entry: &Entry,
        path: &Path,
        [before, after]: [&str; 2],
        report: &mut Report,
    ) {
        let shown = journal.place.shown(path);
        let shown = shown.display();
        let all = all_words(entry);
        for word in all.add.iter().filter(|it| has(path, before, it) && !has(path, after, it)) {
            let settings = standing(journal, entry, word);
            if let Some(settings) = settings.first() {
                let settings = journal.place.shown(settings);
                report.troubles.push(format!(
                    "{shown}, which was made since, lost {word}, which others have in {}: add it there by hand",
                    settings.display()
                ));
            }
        }
        for word in all.remove.iter().filter(|it| !has(path, before, it) && has(path, after, it)) {
            let lacked = |record: &Record| {
                let State::File { content, .. } = &record.old else { return false };
                let text = journal.store.text(content);
                is_entry_file(&record.path)
                    && text.is_some_and(|text| !has(&record.path, &text, word))
            };
            if records(entry, self.step).any(lacked) {
                report.troubles.push(format!(
                    "{shown}, which was made since, got {word}, which not every entry had: remove \
                     it there by hand if it is not wanted"
                ));
            } else {
                report
                    .kept
                    .push(format!("{shown}: it was made since, and got {word} like all entries"));
            }
        }
    }
}

fn records(entry: &Entry, step: usize) -> impl Iterator<Item = &Record> {
    entry.records.iter().filter(move |record| record.rewritten_by.contains(&step))
}

/// Returns whether an entry, or the entries that are generated from settings, have a word.
fn has(path: &Path, text: &str, word: &str) -> bool {
    if is_entry_file(path) {
        return options(path, text).is_some_and(|options| words::has(&options, word));
    }
    text.lines().any(|line| sets(line, word))
}

fn known_file(
    journal: &Journal,
    entry: &Entry,
    (index, record): (usize, &Record),
    [before, after]: [&str; 2],
    report: &mut Report,
) {
    let State::File { content, .. } = &record.old else { return };
    let Some(old) = journal.store.text(content) else { return };
    let has = |text: &str, word: &str| has(&record.path, text, word);
    let all = all_words(entry);
    let lost: Vec<&String> = all.add.iter().filter(|it| has(&old, it) && !has(after, it)).collect();
    let got: Vec<&String> =
        all.remove.iter().filter(|it| !has(&old, it) && has(after, it)).collect();
    let shown = journal.place.shown(&record.path);
    let shown = shown.display();
    if !lost.is_empty() || !got.is_empty() {
        // The program made the difference, and no other process before it.
        let by_program =
            lost.iter().all(|it| has(before, it)) && !got.iter().any(|it| has(before, it));
        let mended =
            by_program && differs_by_words(entry, &old, after) && former(journal, entry, index);
        if mended {
            report.restored.push(record.path.clone());
            return;
        }
        for word in lost {
            report.troubles.push(format!(
                "{shown} had {word} before the change, and lacks it now: add it there by hand"
            ));
        }
        for word in got {
            report.troubles.push(format!(
                "{shown} had no {word} before the change, and has it now: remove it there by hand"
            ));
        }
    }
    // The change adds its words at the end of a line. Where others have written anything before one since, it may be theirs.
    let lines: BTreeSet<Vec<String>> = old.lines().map(|it| without_words(entry, it)).collect();
    for word in all.add.iter().filter(|it| !has(&old, it) && has(before, it) && !has(after, it)) {
        let set = before.lines().filter(|line| sets(line, word));
        let start = set.map(|line| {
            line.rfind(word.as_str()).map_or(line, |at| line.get(..at).unwrap_or(line))
        });
        if start.map(|line| without_words(entry, line)).any(|line| !lines.contains(&line)) {
            report.troubles.push(format!(
                "{shown} was changed since, and lost {word}: whether others had put it there is not known, so add it there \
                 by hand if they had"
            ));
        }
    }
}

/// Restores the previous file.
fn former(journal: &Journal, entry: &Entry, index: usize) -> bool {
    let Some(record) = entry.records.get(index) else { return false };
    let Ok(now) = found(journal.place.tree(), &record.path) else { return false };
    let record = Record { seen: Some(now.state), ..record.clone() };
    now.link.is_none()
        && restore(journal, entry, index, &record).is_ok()
        && journal.place.tree().sync_names([record.path.as_path()]).is_ok()
        && found(journal.place.tree(), &record.path).is_ok_and(|it| it.state.same(&record.old))
}
