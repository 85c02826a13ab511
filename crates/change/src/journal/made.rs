//! Checks the files that a program made, before the change continues: its exit code does not prove that it did
//! its work.

use super::capture::capture;
use super::entry::{Entry, Record, State, Watch};
use super::observed::all_words;
use super::surroundings::loads_foreign;
use super::tree::{End, Tree};
use super::{Journal, JournalError, Observer};
use crate::boot::made::{Kind, Made, check, images, newly_loaded};
use crate::plan::Action;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

/// The states of files that passed the check.
pub(super) type Checked = BTreeMap<PathBuf, State>;

/// Refuses the files that the program of a step made (by this command), if they are not whole, if one of the words is
/// not at its required place, or if anything else changed.
pub(super) fn look(
    journal: &Journal,
    entry: &Entry,
    step: usize,
    command: &[String],
) -> Result<Checked, JournalError> {
    let mut states = Checked::new();
    let action = entry.plan.steps.get(step).map(|step| &step.action);
    let Some(Action::Run { rewrites, .. }) = action else { return Ok(states) };
    // A program that makes no boot entries rewrites no files.
    if entry.plan.expected.is_empty() || rewrites.is_empty() {
        return Ok(states);
    }
    let tree = journal.place.tree();
    let mut paths: BTreeSet<PathBuf> = entry
        .records
        .iter()
        .filter(|record| record.rewritten_by.contains(&step) && !record.observed)
        .map(|record| record.path.clone())
        .collect();
    // Files that did not exist before.
    let makes = |watch: &&Watch| watch.step == step && watch.prefix.is_none() && !watch.observed;
    for watch in entry.watches.iter().filter(makes) {
        let names = tree.names(&watch.directory)?.unwrap_or_default();
        paths.extend(names.into_iter().map(|name| watch.directory.join(name)));
    }
    let records: HashMap<&Path, &Record> =
        entry.records.iter().map(|record| (record.path.as_path(), record)).collect();
    let mut files = Vec::new();
    for path in paths {
        let former = records.get(path.as_path()).map(|record| &record.old);
        let before = match former {
            Some(State::File { content, .. }) => Some(journal.store.content(content)?),
            _ => None,
        };
        let (state, after) = match tree.spot(&path)? {
            Some(spot) => capture(&spot)?,
            None => (State::Absent, None),
        };
        if let Some(why) = opened_up(former, &state) {
            let path = journal.place.shown(&path);
            return Err(JournalError::NotMade { path, why, command: command.join(" ") });
        }
        if let Some(why) = other_kind(former, &state) {
            let path = journal.place.shown(&path);
            return Err(JournalError::NotMade { path, why, command: command.join(" ") });
        }
        // The file at the end of a link that existed before.
        let (before, after) = match (&state, after) {
            (State::Link { .. }, None) => behind(journal, &records, &path)?,
            (_, after) => (before, after),
        };
        states.insert(path.clone(), state);
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        files.push(Made { path, before: before.map(text), after: after.map(text) });
    }
    // The files that grub.cfg reads in addition and that decide the default entry.
    let beside: BTreeSet<PathBuf> = files
        .iter()
        .filter(|made| made.path.ends_with("grub.cfg"))
        .flat_map(|made| ["custom.cfg", "grubenv"].map(|name| made.path.with_file_name(name)))
        .collect();
    for path in beside {
        let content = tree.spot(&path)?.and_then(|spot| capture(&spot).ok()?.1);
        if let Some(content) = content.filter(|_| !files.iter().any(|made| made.path == path)) {
            let content = Some(String::from_utf8_lossy(&content).into_owned());
            files.push(Made { path, before: content.clone(), after: content });
        }
    }
    let has_kernel = has_kernel(tree);
    let plan = &entry.plan;
    let all = all_words(entry);
    let checked = check(&files, &plan.expected, Some(&all), &has_kernel);
    let command = command.join(" ");
    checked.map_err(|fault| JournalError::NotMade {
        path: journal.place.shown(&fault.path),
        why: match fault.kind {
            Kind::Words => format!(
                "{}. Its settings may be read from another place, or be overwritten there",
                fault.why
            ),
            Kind::Other => format!(
                "{}. If that is intended (it was out of date), run `{command}` first, look at the \
                 file, and then run this again",
                fault.why
            ),
            Kind::Unseen => format!(
                "{}. So whether the next boot has the words cannot be verified: write the words there by hand, or make the \
                 default entry one that the settings make",
                fault.why
            ),
        },
        command: command.clone(),
    })?;
    let loaded = newly_loaded(&files).into_iter();
    let mut foreign = loaded.filter_map(|(entry, name)| loads_foreign(tree, &name, entry));
    if let Some((path, why)) = foreign.next() {
        let why = format!(
            "{why}, and a new entry loads it. If that is intended, give it to root (chown, chmod \
             go-w) first"
        );
        return Err(JournalError::NotMade { path: journal.place.shown(&path), why, command });
    }
    Ok(states)
}

/// The previous and the present content of a file.
type Contents = (Option<Vec<u8>>, Option<Vec<u8>>);

/// Returns the contents of the file to which a link leads.
fn behind(
    journal: &Journal,
    records: &HashMap<&Path, &Record>,
    path: &Path,
) -> Result<Contents, JournalError> {
    let tree = journal.place.tree();
    let Ok(located) = tree.locate(path, End::Follow) else { return Ok((None, None)) };
    let before = match records.get(located.path.as_path()).map(|record| &record.old) {
        Some(State::File { content, .. }) => Some(journal.store.content(content)?),
        _ => None,
    };
    let after = match tree.spot(&located.path)? {
        Some(spot) => capture(&spot)?.1,
        None => None,
    };
    Ok((before, after))
}

/// Describes how a file that was made is of a different kind from the previous one, or cannot be
/// read.
fn other_kind(was: Option<&State>, is: &State) -> Option<String> {
    match (was, is) {
        (Some(State::File { .. } | State::Link { .. }), State::Other) => {
            Some("is no longer a regular file".to_owned())
        }
        (Some(State::File { .. }), State::Link { target, .. }) => {
            Some(format!("is now a link to {}", target.display()))
        }
        (Some(State::Link { .. }), State::File { .. }) => Some("is no longer a link".to_owned()),
        _ => None,
    }
}

/// Whether `/boot` has a file of a name, or the system one of a path: a regular one that is not empty.
pub(super) fn has_kernel(tree: &Tree) -> impl Fn(&str) -> bool {
    move |name: &str| {
        let there = || {
            let located = tree.locate(&Path::new("/boot").join(name), End::Follow).ok()?;
            let stat = tree.spot(&located.path).ok()??.stat().ok()??;
            let regular = rustix::fs::FileType::from_raw_mode(stat.st_mode).is_file();
            (regular && stat.st_size > 0).then_some(())
        };
        !name.is_empty() && there().is_some()
    }
}

/// Returns the kernels and initial RAM disks that the entries of a file name, but that do not exist. Entry files name
/// them by paths that start at the root of their filesystem.
pub(super) fn missing_images(tree: &Tree, path: &Path, text: &str) -> Vec<String> {
    let top = path.ancestors().nth(3).filter(|_| !path.ends_with("grub.cfg"));
    let has = has_kernel(tree);
    let there = |name: &String| {
        let plain = name.trim_start_matches('/');
        let base = plain.rsplit('/').next().unwrap_or(plain);
        let beside = top.map(|top| top.join(plain).to_string_lossy().into_owned());
        has(name) || has(plain) || beside.is_some_and(|name| has(&name)) || has(base)
    };
    images(path, text).into_iter().filter(|name| !there(name)).collect()
}

/// Returns whether another user can write a file that was made, but could not before: that user would choose what
/// boots.
fn opened_up(was: Option<&State>, is: &State) -> Option<String> {
    let State::File { meta, .. } = is else { return None };
    let (mode, uid) = match was {
        Some(State::File { meta, .. }) => (meta.mode, meta.uid),
        _ => (0o644, 0),
    };
    let ours = rustix::process::geteuid().as_raw();
    if meta.uid != uid && meta.uid != 0 && meta.uid != ours {
        return Some(format!("belongs to user {}", meta.uid));
    }
    let new = meta.mode & 0o022 & !mode;
    (new != 0).then(|| format!("can be written by other users (mode {:04o})", meta.mode))
}

/// Names of GRUB's own check of a script's syntax.
const SCRIPT_CHECK: [&str; 2] = ["grub-script-check", "grub2-script-check"];

/// Checks the syntax of every grub.cfg that the program of a step made, with GRUB's own program, if that is installed.
///
/// # Errors
/// Returns an error if GRUB's program rejects one of them.
pub(super) fn script_check(
    journal: &mut Journal,
    entry: &Entry,
    step: usize,
    observer: &mut dyn Observer,
) -> Result<(), JournalError> {
    let paths = scripts(&entry.records, step);
    if paths.is_empty() || entry.plan.expected.is_empty() || !journal.place.is_live() {
        return Ok(());
    }
    let there = |name: &&str| journal.runner.check(&journal.place, name).is_ok();
    let Some(program) = SCRIPT_CHECK.into_iter().find(there) else { return Ok(()) };
    for path in paths {
        let shown = journal.place.shown(&path);
        let command = [program.to_owned(), shown.display().to_string()];
        match journal.runner.run(&journal.place, &command, observer) {
            Ok(_) => {}
            Err(JournalError::Failed { output, .. }) => {
                return Err(JournalError::NotMade {
                    command: program.to_owned(),
                    path: shown,
                    why: format!("is not a script that GRUB can read: {}", output.trim()),
                });
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The `grub.cfg` that the program of a step made: not those that it must leave as they are, most of which do not
/// exist.
fn scripts(records: &[Record], step: usize) -> Vec<PathBuf> {
    records
        .iter()
        .filter(|record| record.rewritten_by.contains(&step) && !record.observed)
        .filter(|record| record.path.ends_with("grub.cfg"))
        .map(|record| record.path.clone())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_those_that_the_program_makes() {
        let record = |path: &str, step, observed| Record {
            path: path.into(),
            step,
            planned: Vec::new(),
            rewritten_by: vec![step],
            old: State::Absent,
            new: None,
            observed,
            decision: None,
            seen: None,
            edited: false,
        };
        let records = [
            record("/boot/grub/grub.cfg", 2, false),
            // Observed, and not there on this system.
            record("/boot/grub2/grub.cfg", 2, true),
            record("/boot/efi/EFI/debian/grub.cfg", 1, false),
            record("/boot/grub/grubenv", 2, false),
        ];
        assert_eq!(scripts(&records, 2), [PathBuf::from("/boot/grub/grub.cfg")]);
    }
}
