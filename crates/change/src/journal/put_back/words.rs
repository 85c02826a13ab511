//! The places of the words of a change after it was reverted: in settings of others, and in entries of kernels that
//! were installed since.

use super::super::capture::capture;
use super::super::entry::Entry;
use super::super::observed::all_words;
use super::super::tree::End;
use super::super::{Journal, Report, observed};
use crate::boot::made::{is_entry_file, options};
use crate::plan::Action;
use crate::words;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Scripts that generate entries themselves: a word in them is not a setting.
const SCRIPTS: &str = "/etc/grub.d";
/// The prefix of the names whose words GRUB's generator adds to every entry of Linux.
const GRUB: &str = "GRUB_CMDLINE_LINUX";

/// Returns the settings that have a word which others may have put there. A file that the change itself wrote, and that
/// is not reverted yet, is ignored.
pub(super) fn standing(journal: &Journal, entry: &Entry, word: &str) -> Vec<PathBuf> {
    let tree = journal.place.tree();
    let mut paths: BTreeSet<PathBuf> = BTreeSet::new();
    let mut add = |path: &Path| {
        let ours = path.starts_with("/etc") && !path.starts_with(SCRIPTS);
        if let Some(located) = tree.locate(path, End::Follow).ok().filter(|_| ours) {
            paths.insert(located.path);
        }
    };
    observed::files().map(Path::new).for_each(&mut add);
    for (directory, end) in observed::directories() {
        let names = tree.names(Path::new(directory)).ok().flatten().unwrap_or_default();
        let counted =
            names.iter().filter(|it| it.to_str().is_some_and(|it| observed::counts(it, end)));
        counted.for_each(|name| add(&Path::new(directory).join(name)));
    }
    let has = |path: &PathBuf| {
        let Some((state, Some(content))) =
            tree.spot(path).ok().flatten().and_then(|spot| capture(&spot).ok())
        else {
            return false;
        };
        let ours = |it: &&super::Record| {
            it.path == *path && it.new.as_ref().is_some_and(|new| new.same(&state))
        };
        // The present text is the future text, unless the change wrote it and its revert replaces it.
        let former = entry.records.iter().find(ours).map(|it| &it.old);
        let text = match former {
            None => String::from_utf8(content).unwrap_or_default(),
            Some(super::State::File { content, .. }) => {
                journal.store.text(content).unwrap_or_default()
            }
            Some(_) => return false,
        };
        text.lines().any(|line| sets(line, word))
    };
    paths.into_iter().filter(has).collect()
}

/// Returns whether a line of settings adds a word to entries.
pub(super) fn sets(line: &str, word: &str) -> bool {
    let line = line.trim();
    let name = line.strip_prefix("export ").unwrap_or(line).trim_start();
    // Those of recovery entries and of Xen do not apply to all.
    let other = name
        .strip_prefix(GRUB)
        .is_some_and(|rest| rest.starts_with('_') && !rest.starts_with("_DEFAULT"));
    if line.starts_with('#') || other {
        return false;
    }
    let (_, value) = line.split_once(['"', '\'']).unwrap_or(("", line));
    let plain =
        |it: &str| it == word || it.ends_with(&format!("={word}")) && name.starts_with(GRUB);
    value.split(|it: char| it.is_whitespace() || "\"'".contains(it)).any(plain)
}

/// Returns a message for each word that a reverted change had added and that is also in settings that the change did
/// not write.
pub(super) fn adopted(journal: &Journal, entry: &Entry) -> Vec<String> {
    let words = all_words(entry);
    let found = words.add.iter().filter_map(|word| {
        let paths = standing(journal, entry, word);
        let shown: Vec<String> =
            paths.iter().map(|path| journal.place.shown(path).display().to_string()).collect();
        (!shown.is_empty()).then(|| {
            format!(
                "{word} is also in {}, and this change did not write it there: it stays there, and on the \
                 entries that are made from it",
                shown.join(", ")
            )
        })
    });
    found.collect()
}

/// Reports entries of kernels that were installed since the change was made, and that have its words: kernel-install
/// takes them from where the change had put them. An entry that is older than the change has a word from others.
pub(super) fn kept_by_entries(journal: &Journal, entry: &Entry, report: &mut Report) {
    let tree = journal.place.tree();
    let entries = |step: &crate::plan::Step| match &step.action {
        Action::Write { path, .. } => {
            path.parent().filter(|_| is_entry_file(path)).map(Path::to_owned)
        }
        _ => None,
    };
    let records =
        entry.records.iter().map(|it| it.path.as_path()).filter(|path| is_entry_file(path));
    let mut directories: BTreeSet<PathBuf> = entry.plan.steps.iter().filter_map(entries).collect();
    directories.extend(records.filter_map(Path::parent).map(Path::to_owned));
    let known: BTreeSet<&Path> = entry.records.iter().map(|it| it.path.as_path()).collect();
    let begun = entry.steps_begun.iter().min().copied();
    let is_older = |path: &Path| {
        let stat = || tree.spot(path).ok()??.stat().ok()?;
        begun.zip(stat()).is_some_and(|(begun, it)| it.st_ctime < begun as _)
    };
    let expected = all_words(entry);
    // Others need those.
    let mut add = expected.add.clone();
    add.retain(|word| standing(journal, entry, word).is_empty());
    for path in directories.iter().flat_map(|directory| {
        let names = tree.names(directory).ok().flatten().unwrap_or_default();
        names.into_iter().map(|name| directory.join(name))
    }) {
        if known.contains(path.as_path()) {
            continue;
        }
        let content = || capture(&tree.spot(&path).ok()??).ok()?.1;
        let Some(text) = content().and_then(|it| String::from_utf8(it).ok()) else { continue };
        let Some(options) = options(&path, &text) else { continue };
        let list = |all: &[String], there: bool| {
            let all = all.iter().filter(|word| words::has(&options, word) == there);
            all.cloned().collect::<Vec<_>>().join(" ")
        };
        let shown = journal.place.shown(&path);
        let shown = shown.display();
        let has = list(&add, true);
        if !has.is_empty() && is_older(&path) {
            report.kept.push(format!("{shown}: it is older than the change, and keeps its {has}"));
        } else if !has.is_empty() {
            report
                .troubles
                .push(format!("{shown}, which was made since, has {has}: remove it there by hand"));
        }
        let lacks = list(&expected.remove, false);
        if !lacks.is_empty() && !is_older(&path) {
            report.troubles.push(format!(
                "{shown}, which was made since, lacks {lacks}: add it there by hand"
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_word_only_where_entries_get_it() {
        for line in [
            "GRUB_CMDLINE_LINUX_DEFAULT=\"quiet nohz=off\"",
            "GRUB_CMDLINE_LINUX='nohz=off'",
            "GRUB_CMDLINE_LINUX=nohz=off",
            "root=/dev/vda nohz=off",
        ] {
            assert!(sets(line, "nohz=off"), "{line}");
        }
        for line in [
            "#GRUB_CMDLINE_LINUX=\"nohz=off\"",
            "GRUB_CMDLINE_LINUX_RECOVERY=\"nohz=off\"",
            "GRUB_CMDLINE_LINUX=\"nohz=offset\"",
        ] {
            assert!(!sets(line, "nohz=off"), "{line}");
        }
    }
}
