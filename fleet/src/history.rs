//! A history: the reports of many days in one directory, one partition a day, as Hive and all that reads its layout know it:
//!
//! ```text
//! hosts/day=2026-01-05/clocksmith-0123456789abcdef.parquet
//! causes/day=2026-01-05/clocksmith-0123456789abcdef.parquet
//! remedies/day=2026-01-05/clocksmith-0123456789abcdef.parquet
//! ```
//!
//! Files are added and never written again. Three files of one name belong together, and exist when the one of `hosts`
//! does: it is named last. A report is identified by its host, its machine and its moment, and is added once.
//! [`compact`] merges the files of a day: the merged file lists the files that it replaces, so that after an
//! interruption nothing counts twice.
//!
//! Only files that this program wrote are removed, and none is overwritten. One run at a time writes; readers need no lock. Others
//! may own the directory: no link of another user is followed to a file that is written or removed.

use crate::copy::{self, Sink};
use crate::output;
use crate::tables::{self, Set, Staged, TABLES};
use anyhow::{Context, Result, bail};
use clocksmith_facts::trusted::{self, Parent};
use clocksmith_facts::visible;
use clocksmith_fleet::report::Added;
use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, RenameFlags};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Days that are written at the same time; each holds a row group in memory.
const AT_ONCE: usize = 4;
/// At most this many of the omitted ones are named.
const NAMED: usize = 5;
/// The prefix of the day in the name of a partition.
const PARTITION: &str = "day=";
/// The prefixes of the names of this program's files, and of those among them that replace others.
const OURS: &str = "clocksmith-";
const MERGED: &str = "clocksmith-merged-";
/// The key of the list in the footer of a merged file.
const REPLACES: &str = "clocksmith.replaces";
/// The directory of files that are not whole yet.
const TEMPORARY: &str = ".clocksmith-history-";

/// Whether a directory is a history.
pub(crate) fn is_history(dir: &Path) -> bool {
    let Ok(entries) = dir.join(TABLES[0]).read_dir() else { return false };
    entries.flatten().any(|entry| day_of(&entry.path()).is_some())
}

/// The day of a partition's directory.
fn day_of(dir: &Path) -> Option<String> {
    let name = dir.file_name()?.to_str()?;
    let day = name.strip_prefix(PARTITION)?;
    let plain = day.len() == 10 && day.is_ascii() && clocksmith_fleet::row::moment(day).is_some();
    (plain && dir.is_dir()).then(|| day.to_owned())
}

/// The tables of all days, oldest first. What is left out is said.
pub(crate) fn sets(dir: &Path) -> Result<Vec<Set>> {
    let (mut sets, mut odd) = (Vec::new(), odd(dir)?);
    for day in days(dir)? {
        let stems = stems(dir, &day)?;
        let replaced = replaced(dir, &day, &stems)?;
        for stem in stems.iter().filter(|stem| !replaced.contains(*stem)) {
            let files = [0, 1, 2].map(|table| {
                let file = file(dir, table, &day, stem);
                // A table that was not copied with the others has no rows.
                file.is_file().then_some(file)
            });
            if files[0].is_none() {
                odd.push(format!("{} is not a regular file", file(dir, 0, &day, stem).display()));
            }
            sets.push(Set::of_day(files, &day));
        }
    }
    for line in odd.iter().take(NAMED) {
        output::message(&format!("clocksmith-fleet: left out: {}\n", visible::line(line)));
    }
    if let Some(more @ 1..) = odd.len().checked_sub(NAMED) {
        output::message(&format!("clocksmith-fleet: left out: {more} more\n"));
    }
    Ok(sets)
}

/// Partitions whose names are not days.
fn odd(dir: &Path) -> Result<Vec<String>> {
    let mut odd: Vec<String> = entries(dir)?
        .iter()
        .filter(|path| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(PARTITION))
        })
        .filter(|path| day_of(path).is_none())
        .map(|path| format!("{} is not the directory of a day", path.display()))
        .collect();
    odd.sort_unstable();
    Ok(odd)
}

fn entries(dir: &Path) -> Result<Vec<PathBuf>> {
    let hosts = dir.join(TABLES[0]);
    let entries = hosts.read_dir().and_then(Iterator::collect::<std::io::Result<Vec<_>>>);
    let entries = entries.with_context(|| format!("cannot list {}", hosts.display()))?;
    Ok(entries.iter().map(std::fs::DirEntry::path).collect())
}

fn days(dir: &Path) -> Result<Vec<String>> {
    let mut days: Vec<String> = entries(dir)?.iter().filter_map(|path| day_of(path)).collect();
    days.sort_unstable();
    Ok(days)
}

fn partition(dir: &Path, table: usize, day: &str) -> PathBuf {
    dir.join(TABLES.get(table).copied().unwrap_or_default()).join(format!("{PARTITION}{day}"))
}

fn file(dir: &Path, table: usize, day: &str, stem: &str) -> PathBuf {
    partition(dir, table, day).join(format!("{stem}.parquet"))
}

/// The names of a day's files, without `.parquet`. Hidden ones are those that another program is writing.
fn stems(dir: &Path, day: &str) -> Result<Vec<String>> {
    files_of(dir, 0, day)
}

fn files_of(dir: &Path, table: usize, day: &str) -> Result<Vec<String>> {
    let partition = partition(dir, table, day);
    if !partition.is_dir() {
        return Ok(Vec::new());
    }
    let entries = partition.read_dir().and_then(Iterator::collect::<std::io::Result<Vec<_>>>);
    let entries = entries.with_context(|| format!("cannot list {}", partition.display()))?;
    let stem = |entry: &std::fs::DirEntry| {
        let name = entry.file_name().into_string().ok()?;
        let stem = name.strip_suffix(".parquet").filter(|stem| !stem.starts_with(['.', '_']))?;
        Some(stem.to_owned())
    };
    let mut stems: Vec<String> = entries.iter().filter_map(stem).collect();
    stems.sort_unstable();
    Ok(stems)
}

/// The files of a day that a merged one replaces, and that an interruption left behind. The list is in a file that others may have
/// written: only other files of this day count.
fn replaced(dir: &Path, day: &str, stems: &[String]) -> Result<HashSet<String>> {
    let mut replaced = HashSet::new();
    if stems.len() < 2 {
        return Ok(replaced);
    }
    for stem in stems.iter().filter(|stem| stem.starts_with(MERGED)) {
        let opened = copy::open(&file(dir, 0, day, stem))?;
        let notes = opened.metadata().file_metadata().key_value_metadata();
        let note = notes.into_iter().flatten().find(|note| note.key == REPLACES);
        let list = note.and_then(|note| note.value.as_deref()).unwrap_or_default();
        let others = stems.iter().filter(|other| *other != stem);
        let listed: HashSet<&str> = list.split_whitespace().collect();
        replaced.extend(others.filter(|other| listed.contains(other.as_str())).cloned());
    }
    Ok(replaced)
}

/// A history that this run alone writes.
struct Writing {
    dir: PathBuf,
    /// Held until the end.
    _lock: File,
    temporary: TempDir,
}

impl Writing {
    fn begin(dir: &Path) -> Result<Self> {
        if tables::Set::flat(dir).file(0).is_some_and(Path::exists) {
            bail!("{} has tables of --out; give another directory for the history", dir.display());
        }
        let dir = &tables::directory(dir)?;
        let lock = File::open(dir).with_context(|| format!("cannot open {}", dir.display()))?;
        // Some filesystems have no locks on directories: that error is ignored.
        let locked = rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive);
        if locked == Err(rustix::io::Errno::WOULDBLOCK) {
            bail!("another run writes into {}; run this one after it", dir.display());
        }
        // Removes the directories of killed runs.
        for entry in dir.read_dir()?.flatten() {
            if entry.file_name().to_string_lossy().starts_with(TEMPORARY) {
                let _ = std::fs::remove_dir_all(entry.path());
            }
        }
        let temporary = TempDir::with_prefix_in(TEMPORARY, dir)
            .with_context(|| format!("cannot write into {}", dir.display()))?;
        Ok(Self { dir: dir.to_owned(), _lock: lock, temporary })
    }

    fn new_file(&self, table: usize, day: &str) -> PathBuf {
        self.temporary.path().join(format!("{day}-{table}.parquet"))
    }

    /// Removes the remains of an interruption in a day: files that a merged one replaces, and those without the one of
    /// `hosts`.
    fn repair(&self, day: &str) -> Result<()> {
        let stems = stems(&self.dir, day)?;
        for stem in replaced(&self.dir, day, &stems)? {
            self.remove(day, &stem)?;
        }
        for table in 1..TABLES.len() {
            for stem in files_of(&self.dir, table, day)? {
                if !file(&self.dir, 0, day, &stem).exists() {
                    self.remove(day, &stem)?;
                }
            }
        }
        Ok(())
    }

    /// Removes the three files of a name, if this program wrote them.
    fn remove(&self, day: &str, stem: &str) -> Result<()> {
        for table in 0..TABLES.len() {
            let file = file(&self.dir, table, day, stem);
            if file.exists() {
                let place = trusted::place(&file).context("nothing is removed there")?;
                if is_ours(&place.shown)? {
                    rustix::fs::unlinkat(&place.directory, &place.name, AtFlags::empty())
                        .with_context(|| format!("cannot remove {}", file.display()))?;
                }
            }
        }
        Ok(())
    }

    /// Gives the new files of a day their final names; `hosts` comes last.
    fn publish(&self, day: &str, stem: &str, new: &[Option<PathBuf>; 3]) -> Result<()> {
        for table in (0..TABLES.len()).rev() {
            let Some(Some(from)) = new.get(table) else { continue };
            tables::directory(&partition(&self.dir, table, day))?;
            let to = file(&self.dir, table, day, stem);
            let place = trusted::place(&to).context("nothing is written there")?;
            rename(from, &place)
                .with_context(|| format!("cannot give {} its name", to.display()))?;
            // Not every filesystem can; the files themselves are on the disk.
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let _ = rustix::fs::openat(&place.directory, ".", flags, Mode::empty())
                .and_then(rustix::fs::fsync);
        }
        Ok(())
    }
}

/// Renames, and overwrites nothing.
fn rename(from: &Path, to: &Parent) -> Result<()> {
    let (here, flags) = (rustix::fs::CWD, RenameFlags::NOREPLACE);
    match rustix::fs::renameat_with(here, from, &to.directory, &to.name, flags) {
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS | rustix::io::Errno::NOTSUP) => {
            let link = AtFlags::SYMLINK_NOFOLLOW;
            if rustix::fs::statat(&to.directory, &to.name, link).is_ok() {
                bail!("it already exists");
            }
            rustix::fs::renameat(here, from, &to.directory, &to.name)?;
        }
        Err(rustix::io::Errno::EXIST) => bail!("it already exists"),
        other => other?,
    }
    Ok(())
}

/// Whether this program wrote a file: by its name and by its footer.
fn is_ours(file: &Path) -> Result<bool> {
    let named = file.file_name().is_some_and(|name| name.to_string_lossy().starts_with(OURS));
    if !named {
        return Ok(false);
    }
    let opened = copy::open(file)?;
    let by = opened.metadata().file_metadata().created_by();
    Ok(by.is_some_and(|by| by.starts_with("clocksmith-fleet ")))
}

/// Adds the dated reports of documents that the history has not.
pub(crate) fn append(dir: &Path, staged: &Staged) -> Result<Added> {
    let writing = Writing::begin(dir)?;
    let hosts = staged.all.file(0).context("no table of hosts")?;
    let mut added = Added { directory: dir.display().to_string(), ..Added::default() };
    let mut days: BTreeMap<String, u64> = BTreeMap::new();
    copy::each_key(hosts, |keys, at| {
        match keys.taken_at(at).and_then(|date| date.get(..10)) {
            Some(day) => match days.get_mut(day) {
                Some(count) => *count += 1,
                None => _ = days.insert(day.to_owned(), 1),
            },
            None => added.undated += 1,
        }
        Ok(())
    })?;
    let days: Vec<String> = days.into_keys().collect();
    for days in days.chunks(AT_ONCE) {
        let new = append_days(&writing, staged, hosts, days, &mut added)?;
        added.days += new;
    }
    Ok(added)
}

fn append_days(
    writing: &Writing,
    staged: &Staged,
    hosts: &Path,
    days: &[String],
    added: &mut Added,
) -> Result<u64> {
    let mut known: HashSet<u64> = HashSet::new();
    for day in days {
        writing.repair(day)?;
        for stem in stems(&writing.dir, day)? {
            copy::each_key(&file(&writing.dir, 0, day, &stem), |keys, at| {
                known.insert(keys.key(at));
                Ok(())
            })?;
        }
    }
    // For each report 1 and the place of the day that it is added to, or 0; and for each day a number of all that is added.
    let mut places: Vec<u8> = Vec::new();
    let mut names: Vec<(u64, DefaultHasher)> = vec![(0, DefaultHasher::new()); days.len()];
    copy::each_key(hosts, |keys, at| {
        let day = keys.taken_at(at).and_then(|date| date.get(..10));
        let place = day.and_then(|day| days.iter().position(|known| known == day));
        let mut chosen = 0;
        if let Some(place) = place {
            let key = keys.key(at);
            if known.insert(key) {
                if let Some((count, name)) = names.get_mut(place) {
                    *count += 1;
                    key.hash(name);
                }
                chosen = u8::try_from(place + 1)?;
                added.added += 1;
            } else {
                added.known += 1;
            }
        }
        places.push(chosen);
        Ok(())
    })?;
    drop(known);
    let mut new: Vec<[Option<PathBuf>; 3]> = vec![[None, None, None]; days.len()];
    for table in 0..TABLES.len() {
        let from = staged.all.file(table).context("no table")?;
        let schema = copy::columns(&tables::fields(table), &[from.to_owned()])?;
        for (place, day) in days.iter().enumerate() {
            if names.get(place).is_none_or(|(count, _)| *count == 0) {
                continue;
            }
            let mut sink = Sink::new(writing.new_file(table, day), schema.clone())?;
            let mut row = staged.rows(table);
            sink.add(from, |_, _| {
                places.get(row() as usize).is_some_and(|chosen| usize::from(*chosen) == place + 1)
            })?;
            if let Some(files) = new.get_mut(place) {
                files[table] = Some(sink.finish()?);
            }
        }
    }
    let mut written = 0;
    for ((day, (count, name)), new) in days.iter().zip(names).zip(&new) {
        if count > 0 {
            writing.publish(day, &format!("{OURS}{:016x}", name.finish()), new)?;
            written += 1;
        }
    }
    Ok(written)
}

/// The work that [`compact`] did.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Compacted {
    /// Days with several files.
    pub(crate) days: u64,
    /// Files of hosts that were merged.
    pub(crate) files: u64,
}

/// Merges the files of each day into one.
pub(crate) fn compact(dir: &Path) -> Result<Compacted> {
    if !is_history(dir) {
        bail!(
            "{} is not a history; `clocksmith fleet INPUT --history DIR` makes one",
            dir.display()
        );
    }
    let writing = Writing::begin(dir)?;
    let mut done = Compacted::default();
    for day in days(dir)? {
        writing.repair(&day)?;
        let mut merged = Vec::new();
        for stem in stems(dir, &day)? {
            if is_ours(&file(dir, 0, &day, &stem))? {
                merged.push(stem);
            }
        }
        if merged.len() > 1 {
            merge(&writing, &day, &merged)?;
            done.days += 1;
            done.files += merged.len() as u64;
        }
    }
    Ok(done)
}

fn merge(writing: &Writing, day: &str, stems: &[String]) -> Result<()> {
    // The file that each report is taken from.
    let mut from: HashMap<u64, usize> = HashMap::new();
    let mut new = [None, None, None];
    for (table, new) in new.iter_mut().enumerate() {
        let files: Vec<(usize, PathBuf)> = stems
            .iter()
            .map(|stem| file(&writing.dir, table, day, stem))
            .enumerate()
            .filter(|(_, file)| file.is_file())
            .collect();
        let paths: Vec<PathBuf> = files.iter().map(|(_, file)| file.clone()).collect();
        let schema = copy::columns(&tables::fields(table), &paths)?;
        let mut sink = Sink::new(writing.new_file(table, day), schema)?;
        for (place, file) in &files {
            sink.add(file, |keys, at| *from.entry(keys.key(at)).or_insert(*place) == *place)?;
        }
        if table == 0 {
            sink.note(REPLACES, stems.join(" "));
        }
        *new = Some(sink.finish()?);
    }
    let mut name = DefaultHasher::new();
    stems.hash(&mut name);
    writing.publish(day, &format!("{MERGED}{:016x}", name.finish()), &new)?;
    stems.iter().try_for_each(|stem| writing.remove(day, stem))
}
