//! Checks whether a change is still in force.

use super::capture::capture;
use super::entry::{Entry, Phase, Record, State};
use super::found::{Found, behind, found};
use super::made::has_kernel;
use super::observed::all_words;
use super::put_back::origin::{Gone, gone};
use super::put_back::taken_out::{still_has, written};
use super::{JournalError, Place};
use crate::boot::made::{Made, check, has_entries, is_entry_file, options, uncounted};
use crate::plan::Action;
use crate::words;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Whether a step is still in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepStatus {
    /// It does.
    InForce,
    /// The state differs from the change's result: path or name, and the difference.
    Changed(Vec<(PathBuf, String)>),
    /// The previous state is in force again: another user or program, or a reboot, reverted the
    /// step.
    Gone,
    /// The command must still be run inside that system.
    Left,
    /// The state could not be read; the reason.
    Unknown(String),
}

/// Whether a change is still in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holds {
    /// For each step of the plan.
    pub steps: Vec<StepStatus>,
}

impl Holds {
    /// Whether every step is in force, as far as it was made.
    #[must_use]
    pub fn all(&self) -> bool {
        self.steps.iter().all(|step| matches!(step, StepStatus::InForce | StepStatus::Left))
    }
}

impl Entry {
    /// Whether the change is still in force, step by step. Reads only.
    #[must_use]
    pub fn holds(&self, place: &Place) -> Holds {
        self.holds_below(place, &[])
    }

    /// The same for a change below later ones, oldest first: the text that they made of this one's files is accepted,
    /// unless they revert its words. Reads only.
    #[must_use]
    pub fn holds_below(&self, place: &Place, later: &[Self]) -> Holds {
        let below = self.below(later);
        let steps = self.plan.steps.iter().enumerate();
        Holds { steps: steps.map(|(index, step)| below.step(place, index, &step.action)).collect() }
    }

    /// This change with the states that later ones gave its files.
    fn below(&self, later: &[Self]) -> Self {
        let mut below = self.clone();
        let own = &self.plan.cmdline;
        for other in later.iter().filter(|it| it.phase == Phase::Applied) {
            let other_words = &other.plan.cmdline;
            let against = own.add.iter().any(|word| other_words.remove.contains(word))
                || own.remove.iter().any(|word| other_words.add.contains(word));
            for record in below.records.iter_mut().filter(|_| !against) {
                let same = other.records.iter().find(|it| it.path == record.path);
                let Some((before, after)) = same.and_then(|it| Some((&it.old, it.new.as_ref()?)))
                else {
                    continue;
                };
                if record.new.as_ref().is_some_and(|new| before.same(new)) {
                    record.new = Some(after.clone());
                }
            }
        }
        below
    }

    fn step(&self, place: &Place, index: usize, action: &Action) -> StepStatus {
        if self.left.contains(&index) {
            return StepStatus::Left;
        }
        let result = match action {
            Action::Clocksource { name } => self.clocksource_holds(place, name),
            Action::Run { .. } => {
                let records = self.records.iter();
                let records = || records.clone().filter(|it| it.rewritten_by.contains(&index));
                match files(place, self, records()) {
                    // Other programs also regenerate entries: it is enough that these have the
                    // words.
                    Ok(StepStatus::Changed(changed)) if !self.plan.expected.is_empty() => {
                        has_words(place, self, index, changed)
                    }
                    other => other,
                }
            }
            _ => {
                let target = self.targets.get(index).copied().flatten();
                let record = target.and_then(|target| self.records.get(target));
                match (files(place, self, record.into_iter()), record) {
                    // Others may have changed the rest of it.
                    (Ok(StepStatus::Changed(changed)), Some(record)) => {
                        edited(place, self, record, changed)
                    }
                    (Ok(StepStatus::InForce), Some(record)) => new_entries(place, self, record),
                    (other, _) => other,
                }
            }
        };
        result.unwrap_or_else(|error| StepStatus::Unknown(error.to_string()))
    }

    fn clocksource_holds(&self, place: &Place, name: &str) -> Result<StepStatus, JournalError> {
        let current = place.sysfs().current()?;
        Ok(if current == name {
            StepStatus::InForce
        } else if self.boot != place.boot() || Some(&current) == self.clocksource.as_ref() {
            StepStatus::Gone
        } else {
            let path = place.sysfs().directory().join("current_clocksource");
            StepStatus::Changed(vec![(path, format!("{current} is in use"))])
        })
    }
}

/// Returns the status of a program's step when these files differ from its result: in force, if every existing entry
/// has the words.
fn has_words(
    place: &Place,
    entry: &Entry,
    step: usize,
    changed: Vec<(PathBuf, String)>,
) -> Result<StepStatus, JournalError> {
    let tree = place.tree();
    let expected = &entry.plan.expected;
    let records = entry.records.iter().filter(|record| record.rewritten_by.contains(&step));
    let mut paths: BTreeSet<PathBuf> = BTreeSet::new();
    let unseen = |record: &Record| matches!(gone(place, entry, record), Ok(Some(Gone::Unseen(_))));
    for record in records.clone() {
        let Found { state, link } = found(tree, &record.path)?;
        let is_file = |state: &State| matches!(state, State::File { .. });
        let entry_file = is_entry_file(&record.path);
        let absent = state == State::Absent && entry_file && !unseen(record);
        let differs = link.is_some() || record.new.as_ref().is_some_and(|new| !state.same(new));
        if differs && !(is_file(&state) && link.is_none() || absent) {
            return Ok(StepStatus::Changed(changed));
        }
        paths.insert(record.path.clone());
        // Also settings that the program has changed.
        let own = record.new.as_ref().is_some_and(|new| !new.same(&record.old));
        if differs && own && !has_entries(&record.path) && !record.path.ends_with("grubenv") {
            let text = text(place, &record.path)?.unwrap_or_default();
            let apart = |it: char| it.is_whitespace() || "\"'".contains(it);
            let has = |word: &String| {
                text.split(apart).any(|it| it == word || it.ends_with(&format!("={word}")))
            };
            if !expected.add.iter().all(has) || expected.remove.iter().any(has) {
                return Ok(StepStatus::Changed(changed));
            }
        }
    }
    let watches = entry.watches.iter().filter(|it| it.step == step && it.prefix.is_none());
    for watch in watches {
        let names = tree.names(&watch.directory)?.unwrap_or_default();
        paths.extend(names.iter().map(|name| watch.directory.join(name)));
    }
    let mut made = Vec::new();
    for path in paths {
        let was = records.clone().any(|it| it.path == path && it.new != Some(State::Absent));
        let after = text(place, &path)?;
        made.push(Made { path, before: was.then(String::new), after });
    }
    Ok(match check(&made, expected, None, &has_kernel(tree)) {
        Ok(()) => StepStatus::InForce,
        Err(fault) => StepStatus::Changed(vec![(place.shown(&fault.path), fault.why)]),
    })
}

/// The status of a file that the change wrote and that has changed since: in force, if it still has all that was
/// written.
fn edited(
    place: &Place,
    entry: &Entry,
    record: &Record,
    changed: Vec<(PathBuf, String)>,
) -> Result<StepStatus, JournalError> {
    let Found { state, link } = found(place.tree(), &record.path)?;
    let is_file = |state: &State| matches!(state, State::File { .. });
    if link.is_none()
        && is_file(&state)
        && is_file(&record.old)
        && let Some(new) = written(entry, record)
        && let Some(now) = text(place, &record.path)?
        && still_has(new, &now, &all_words(entry))
    {
        return new_entries(place, entry, record);
    }
    Ok(StepStatus::Changed(changed))
}

/// In force, unless the directory of an entry has one that was made since, is like those of the change, and lacks its words: it
/// may be the one that boots by default. The first of them reports it.
fn new_entries(place: &Place, entry: &Entry, record: &Record) -> Result<StepStatus, JournalError> {
    let ours = |it: &&Record| is_entry_file(&it.path) && it.path.parent() == record.path.parent();
    let first = entry.records.iter().find(ours);
    let (Some(directory), Some(true)) =
        (record.path.parent(), first.map(|first| first.path == record.path))
    else {
        return Ok(StepStatus::InForce);
    };
    let tree = place.tree();
    let change = all_words(entry);
    let rest = |options: &str| -> BTreeSet<String> {
        let own = |word: &&str| change.add.iter().chain(&change.remove).any(|it| it == word);
        words::all(options).into_iter().filter(|it| !own(it)).map(str::to_owned).collect()
    };
    let known: BTreeSet<_> =
        entry.records.iter().filter(ours).map(|it| uncounted(&it.path)).collect();
    let like: Vec<BTreeSet<String>> = entry
        .records
        .iter()
        .filter(ours)
        .filter_map(|it| Some(rest(&options(&it.path, written(entry, it)?)?)))
        .collect();
    let begun = entry.steps_begun.iter().min().copied().unwrap_or_default();
    for name in tree.names(directory)?.unwrap_or_default() {
        let path = directory.join(name);
        if known.contains(&uncounted(&path)) || !is_entry_file(&path) {
            continue;
        }
        let Some(spot) = tree.spot(&path)? else { continue };
        let since = spot.stat()?.is_some_and(|stat| stat.st_ctime >= begun as _);
        let Some(text) = text(place, &path)?.filter(|_| since) else { continue };
        let Some(options) = options(&path, &text) else { continue };
        let open = change.open(&options);
        if open.is_empty() || !like.contains(&rest(&options)) {
            continue;
        }
        let why = match open.add.is_empty() {
            false => format!("was made since, and lacks {}", open.add.join(" ")),
            true => format!("was made since, and has {}", open.remove.join(" ")),
        };
        return Ok(StepStatus::Changed(vec![(place.shown(&path), why)]));
    }
    Ok(StepStatus::InForce)
}

/// The content of a file, if it is text.
fn text(place: &Place, path: &Path) -> Result<Option<String>, JournalError> {
    let Some(spot) = place.tree().spot(path)? else { return Ok(None) };
    Ok(capture(&spot)?.1.map(|content| String::from_utf8_lossy(&content).into_owned()))
}

fn files<'a>(
    place: &Place,
    entry: &Entry,
    records: impl Iterator<Item = &'a Record>,
) -> Result<StepStatus, JournalError> {
    let mut changed = Vec::new();
    let mut gone_all = true;
    for record in records {
        let Some(new) = &record.new else {
            return Ok(StepStatus::Unknown("the change is half done".to_owned()));
        };
        let Found { state: mut current, link } = found(place.tree(), &record.path)?;
        // An entry may have been removed with its kernel, or have another count of boots in its name.
        if current == State::Absent && link.is_none() && *new != State::Absent {
            match gone(place, entry, record)? {
                Some(Gone::Removed) => {
                    gone_all = false;
                    continue;
                }
                Some(Gone::Unseen(why)) => {
                    gone_all = false;
                    changed.push((place.shown(&record.path), why));
                    continue;
                }
                Some(Gone::Renamed(path)) => current = found(place.tree(), &path)?.state,
                None => {}
            }
        }
        let hidden = link.map(|link| behind(place, &link));
        if hidden.is_some() || !current.same(new) {
            gone_all &= current.same(&record.old);
            let difference = hidden.unwrap_or_else(|| new.difference(&current));
            changed.push((place.shown(&record.path), difference));
        }
    }
    Ok(match changed.is_empty() {
        true => StepStatus::InForce,
        false if gone_all => StepStatus::Gone,
        false => StepStatus::Changed(changed),
    })
}
