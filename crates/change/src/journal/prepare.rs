//! Before anything is changed: finds, checks and saves the files of the plan, and refuses steps that could not be made
//! or could not be reverted.

use super::bytes::digest;
use super::capture::capture;
use super::entry::{Entry, Phase, Planned, Record, State, TEMPORARY, VERSION, Watch};
use super::tree::{End, Located, Spot, Tree};
use super::{Journal, JournalError, observed};
use crate::plan::{Action, Plan};
use crate::system::passing;
use rustix::fs::{IFlags, Mode, OFlags};
use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// A directory with more files is not one whose files are rewritten.
const MAX_FILES: usize = 4096;

/// Seconds since 1970.
pub(super) fn now() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| i64::try_from(now.as_secs()).unwrap_or(i64::MAX))
}

/// The entry of a plan. Contents are kept; the entry itself is not written yet.
pub(super) fn prepare(
    journal: &Journal,
    plan: &Plan,
) -> Result<Entry, (Option<usize>, JournalError)> {
    let entry = Entry {
        version: VERSION,
        id: journal.store.next_id(),
        generation: 0,
        phase: Phase::Applying,
        begun: now(),
        boot: journal.place.boot(),
        plan: plan.clone(),
        steps_begun: Vec::new(),
        home: journal.lock.home.clone(),
        directories: Vec::new(),
        records: Vec::new(),
        targets: Vec::new(),
        watches: Vec::new(),
        clocksource: None,
        left: Vec::new(),
        forced: false,
        stuck: false,
        neighbours: Vec::new(),
        owned: Vec::new(),
        mounts: None,
        notes: Vec::new(),
        texts: Vec::new(),
        overridden: crate::words::Change::default(),
    };
    let mut draft = Draft { journal, tree: journal.place.tree(), entry, places: HashMap::new() };
    for (index, step) in plan.steps.iter().enumerate() {
        let target = draft.step(index, &step.action).map_err(|error| (Some(index), error))?;
        draft.entry.targets.push(target);
    }
    // After all steps: a file that one of them changes is not only observed. Only for programs that make boot entries.
    for (index, step) in plan.steps.iter().enumerate().filter(|_| !plan.expected.is_empty()) {
        if let Action::Run { rewrites, .. } = &step.action
            && !rewrites.is_empty()
        {
            draft.observe(index);
        }
    }
    // After the access to all paths, which mounts filesystems that are mounted at their first use.
    draft.entry.mounts = super::mounts::of(journal, &draft.entry);
    Ok(draft.entry)
}

struct Draft<'a> {
    journal: &'a Journal,
    tree: &'a Tree,
    entry: Entry,
    /// The index of the record of each path.
    places: HashMap<PathBuf, usize>,
}

impl Draft<'_> {
    fn step(&mut self, step: usize, action: &Action) -> Result<Option<usize>, JournalError> {
        match action {
            Action::Write { path, content, .. } => {
                let planned = Planned::File(digest(content.as_bytes()));
                self.target(step, path, End::Follow, planned).map(Some)
            }
            Action::Remove { path } => {
                self.target(step, path, End::Keep, Planned::Absent).map(Some)
            }
            Action::Link { path, target } => {
                let planned = Planned::Link(target.clone());
                self.target(step, path, End::Keep, planned).map(Some)
            }
            Action::Run { command, rewrites, undo, regenerate } => {
                for command in [Some(command), undo.as_ref(), regenerate.as_ref()] {
                    let Some(command) = command else { continue };
                    let program = command.first().map_or("", String::as_str);
                    self.journal.runner.check(&self.journal.place, program)?;
                }
                for path in rewrites {
                    self.rewritten(step, path)?;
                }
                Ok(None)
            }
            Action::Clocksource { .. } => {
                if self.entry.clocksource.is_none() {
                    self.entry.clocksource = Some(self.journal.place.sysfs().current()?);
                }
                Ok(None)
            }
        }
    }

    fn target(
        &mut self,
        step: usize,
        path: &Path,
        end: End,
        planned: Planned,
    ) -> Result<usize, JournalError> {
        let located = self.tree.locate(path, end)?;
        self.steady(&located)?;
        self.lasting(path, &located)?;
        for directory in located.missing {
            // A file of an earlier step is at the path of a directory, or the reverse.
            if self.places.contains_key(&directory) {
                return Err(self.unfit(&directory, "would be a file and a directory"));
            }
            if planned != Planned::Absent && !self.entry.directories.contains(&directory) {
                self.entry.directories.push(directory);
            }
        }
        if self.entry.directories.contains(&located.path) {
            return Err(self.unfit(&located.path, "would be a file and a directory"));
        }
        // Through the link, a path of an earlier step below it would be another file.
        let below = |other: &PathBuf| other.starts_with(&located.path) && *other != located.path;
        if matches!(planned, Planned::Link(_)) && self.places.keys().any(below) {
            return Err(self.unfit(
                &located.path,
                "becomes a link, and an earlier step changes what is below it",
            ));
        }
        self.unmounted(&located.path)?;
        let index = self.record(step, &located.path, true)?;
        if let Some(record) = self.entry.records.get_mut(index) {
            record.step = step;
            record.planned.push(planned);
        }
        Ok(index)
    }

    fn rewritten(&mut self, step: usize, path: &Path) -> Result<(), JournalError> {
        // A link in its path may be replaced too.
        for end in [End::Keep, End::Follow] {
            let located = match self.tree.locate(path, end) {
                // The root itself, or a link to it.
                Err(JournalError::Path { .. }) if end == End::Follow => continue,
                other => other?,
            };
            self.steady(&located)?;
            if self.makes_link(&located.path) {
                return Err(self.unfit(&located.path, "becomes a link by an earlier step"));
            }
            let is_directory = self.tree.names(&located.path)?.is_some();
            if is_directory {
                self.watch(step, &located.path, None)?;
                continue;
            }
            self.unmounted(&located.path)?;
            let index = self.record(step, &located.path, true)?;
            let absent = self.entry.records.get(index).is_some_and(|it| it.old == State::Absent);
            if absent {
                // It may become a file, or a directory with files.
                self.watch(step, &located.path, None)?;
            }
            if let (Some(parent), Some(name)) = (located.path.parent(), located.path.file_name()) {
                let name = name.to_string_lossy().into_owned();
                if located.missing.is_empty() {
                    self.watch(step, parent, Some(name))?;
                } else {
                    for directory in located.missing {
                        self.watch(step, &directory, None)?;
                    }
                }
            }
            self.by(index, step);
        }
        Ok(())
    }

    /// Refuses a path if an earlier step changes one of its directories or links: it would be
    /// another file by then.
    fn steady(&self, located: &Located) -> Result<(), JournalError> {
        let changed = |path: &&PathBuf| {
            let record = self.places.get(*path).and_then(|index| self.entry.records.get(*index));
            record.is_some_and(|record| !record.planned.is_empty())
        };
        match located.links.iter().chain(&located.missing).find(changed) {
            Some(path) => {
                Err(self.unfit(path, "is changed by one step and is on the path of a later one"))
            }
            None => Ok(()),
        }
    }

    /// Refuses a file on which another one is mounted: no other file can be renamed over it, neither a new one nor the
    /// previous one.
    fn unmounted(&self, path: &Path) -> Result<(), JournalError> {
        let Some(spot) = self.tree.spot(path)? else { return Ok(()) };
        if spot.is_mount_point() {
            return Err(self.unfit(
                path,
                "is a mount point, so that no file can take its place: unmount it first",
            ));
        }
        Ok(())
    }

    /// Refuses a path whose links lead to a place that does not survive a boot, or to nothing.
    fn lasting(&self, path: &Path, located: &Located) -> Result<(), JournalError> {
        let Some(link) = located.links.first() else { return Ok(()) };
        let to = located.path.strip_prefix("/").unwrap_or(&located.path);
        let asked = path.strip_prefix("/").unwrap_or(path);
        if let Some(top) = passing(to).filter(|top| !asked.starts_with(top)) {
            let why = format!(
                "is a link that leads to {}, and what is in /{top} does not survive a boot. Replace the link by a file, then try again",
                located.path.display()
            );
            return Err(self.unfit(link, &why));
        }
        for link in &located.links {
            let target = match self.tree.locate(link, End::Follow) {
                // The root itself.
                Err(JournalError::Path { .. }) => continue,
                other => other?.path,
            };
            let there = match self.tree.spot(&target)? {
                Some(spot) => spot.stat()?.is_some(),
                None => false,
            };
            if !there {
                let why = format!(
                    "is a link to {}, where nothing is. Remove the link, or make what it leads to, then try again",
                    target.display()
                );
                return Err(self.unfit(link, &why));
            }
        }
        Ok(())
    }

    fn makes_link(&self, path: &Path) -> bool {
        let link = |planned: &Planned| matches!(planned, Planned::Link(_));
        self.entry
            .records
            .iter()
            .any(|record| record.path == path && record.planned.iter().any(link))
    }

    fn by(&mut self, index: usize, step: usize) {
        if let Some(record) = self.entry.records.get_mut(index) {
            record.step = step;
            if !record.rewritten_by.contains(&step) {
                record.rewritten_by.push(step);
            }
        }
    }

    fn watch(
        &mut self,
        step: usize,
        directory: &Path,
        prefix: Option<String>,
    ) -> Result<(), JournalError> {
        let there = self.tree.names(directory)?;
        let mut names = Vec::new();
        for name in there.iter().flatten() {
            // A boot loader does not read a file whose name is not UTF-8.
            let Some(name) = name.to_str().map(str::to_owned) else { continue };
            if name.starts_with(TEMPORARY)
                || prefix.as_ref().is_some_and(|prefix| !name.starts_with(prefix))
            {
                continue;
            }
            if names.len() >= MAX_FILES {
                let why = format!(
                    "has more than {MAX_FILES} files, which is too many for a configuration"
                );
                return Err(self.unfit(directory, &why));
            }
            let path = directory.join(&name);
            names.push(name);
            // The neighbours of one file are only counted: the program does not rewrite them.
            if prefix.is_none() {
                let index = self.record(step, &path, false)?;
                self.by(index, step);
            }
        }
        let directory = directory.to_owned();
        let existed = there.is_some();
        let (observed, end) = (false, None);
        self.entry.watches.push(Watch { directory, prefix, existed, step, names, observed, end });
        Ok(())
    }

    /// Records the files that the program of a step must not change. A file that cannot be read was not a source of the
    /// plan, and is left out.
    fn observe(&mut self, step: usize) {
        for path in observed::files() {
            if let Ok(located) = self.tree.locate(Path::new(path), End::Follow) {
                self.observe_one(step, &located.path);
            }
        }
        for top in observed::EFI {
            let names = self.tree.names(Path::new(top)).ok().flatten().unwrap_or_default();
            for name in names.into_iter().take(MAX_FILES) {
                self.observe_one(step, &Path::new(top).join(name).join("grub.cfg"));
            }
        }
        for (directory, end) in observed::directories() {
            let Ok(located) = self.tree.locate(Path::new(directory), End::Follow) else { continue };
            let directory = located.path;
            // One that a program is expected to write in.
            let known = |watch: &Watch| {
                watch.directory == directory
                    && watch.prefix.is_none()
                    && (!watch.observed || watch.step == step)
            };
            if self.entry.watches.iter().any(known) {
                continue;
            }
            let there = self.tree.names(&directory).ok().flatten();
            let existed = there.is_some();
            let names: Vec<String> = there
                .into_iter()
                .flatten()
                .filter_map(|name| name.into_string().ok())
                .filter(|name| observed::counts(name, end))
                .take(MAX_FILES)
                .collect();
            for name in &names {
                self.observe_one(step, &directory.join(name));
            }
            let (prefix, observed, end) = (None, true, Some(end.to_owned()));
            self.entry.watches.push(Watch {
                directory,
                prefix,
                existed,
                step,
                names,
                observed,
                end,
            });
        }
    }

    fn observe_one(&mut self, step: usize, path: &Path) {
        let many = self.entry.records.len();
        let Ok(index) = self.record(step, path, false) else { return };
        let Some(record) = self.entry.records.get_mut(index) else { return };
        if index == many {
            if record.old == State::Other {
                self.entry.records.pop();
                self.places.remove(path);
                return;
            }
            record.observed = true;
        }
        if record.observed && !record.rewritten_by.contains(&step) {
            record.rewritten_by.push(step);
        }
    }

    /// The record of a path; a new one is made with the present state.
    fn record(&mut self, step: usize, path: &Path, strict: bool) -> Result<usize, JournalError> {
        if let Some(index) = self.places.get(path) {
            return Ok(*index);
        }
        let (old, content) = match self.tree.spot(path)? {
            None => (State::Absent, None),
            Some(spot) => {
                if strict {
                    fit(&spot)?;
                }
                capture(&spot)?
            }
        };
        if strict && old == State::Other {
            return Err(self.unfit(path, "is not a regular file"));
        }
        if let Some(content) = content {
            self.journal.store.keep(&content)?;
        }
        self.entry.records.push(Record {
            path: path.to_owned(),
            step,
            planned: Vec::new(),
            rewritten_by: Vec::new(),
            old,
            new: None,
            observed: false,
            decision: None,
            seen: None,
            edited: false,
        });
        let index = self.entry.records.len() - 1;
        self.places.insert(path.to_owned(), index);
        Ok(index)
    }

    fn unfit(&self, path: &Path, why: &str) -> JournalError {
        JournalError::Unfit { path: self.tree.shown(path), why: why.to_owned() }
    }
}

/// Refuses files that cannot be replaced without harm.
fn fit(spot: &Spot) -> Result<(), JournalError> {
    let unfit = |path: &PathBuf, why: &str| {
        Err(JournalError::Unfit { path: path.clone(), why: why.to_owned() })
    };
    // A file with two names would become two files, or be half written for a moment if it were written
    // in place; neither is acceptable for a boot loader's file that is shared on purpose.
    let Some(stat) = spot.stat()? else { return Ok(()) };
    let regular = rustix::fs::FileType::from_raw_mode(stat.st_mode).is_file();
    if regular && stat.st_nlink > 1 {
        let why = "has another name (a hard link), which would no longer be the same file. \
                   Make it a file of its own (cp it, and rename the copy over it), then try again";
        return unfit(&spot.shown, why);
    }
    if flagged(&spot.directory) {
        return unfit(
            &spot.shown,
            "is in a directory that is immutable or append-only: `lsattr -d` shows it, and `chattr \
             -i` or `chattr -a` on the directory removes that, if it is not intended",
        );
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file =
        regular.then(|| rustix::fs::openat(&spot.directory, &spot.name, flags, Mode::empty()).ok());
    if file.flatten().is_some_and(|file| flagged(&file)) {
        return unfit(
            &spot.shown,
            "is immutable or append-only: `lsattr` shows it, and `chattr -i` or `chattr -a` removes \
             that, if it is not intended",
        );
    }
    Ok(())
}

fn flagged(fd: &OwnedFd) -> bool {
    // Not all filesystems have flags.
    rustix::fs::ioctl_getflags(fd)
        .is_ok_and(|flags| flags.intersects(IFlags::IMMUTABLE | IFlags::APPEND))
}
