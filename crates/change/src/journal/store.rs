//! The journal's own files: entries and saved contents.
//!
//! An entry is a file of two lines: the entry in JSON, and the SHA-256 of that line. It is written under another name,
//! synced, and renamed; its generations alternate between two names, so that the previous one remains if a filesystem
//! loses the data of the last one in a power cut. A content is a file named by its SHA-256.

use super::bytes::digest;
use super::capture::{MAX_SIZE, begin_sync};
use super::entry::{Entry, VERSION};
use super::tree::{errno, io, names};
use super::{DIRECTORY, JournalError, Place};
use clocksmith_facts::trusted::{self, Part, Untrusted};
use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// The name under which everything is written first.
const NEW: &str = "new";
/// The end of the name of a saved content.
const CONTENT: &str = ".content";
/// The end of the name of an entry.
const ENTRY: &str = ".json";
/// A larger entry is refused.
const MAX_ENTRY: u64 = 64 << 20;

#[derive(Debug)]
pub(super) struct Store {
    directory: OwnedFd,
    shown: PathBuf,
    entries: Vec<Entry>,
    /// Contents that may not be on the disk yet.
    unsynced: RefCell<Vec<String>>,
}

/// A generation of an entry, as it was found.
enum Found {
    Good(Box<Entry>),
    Damaged(String),
}

impl Store {
    pub(super) fn load(directory: &OwnedFd, shown: &Path) -> Result<Self, JournalError> {
        let directory = directory.try_clone().map_err(|error| io("open", shown)(errno(&error)))?;
        let (entries, torn) = read_all(&directory, shown)?;
        contents(&directory, shown, &entries)?;
        let unsynced = RefCell::default();
        let store = Self { directory, shown: shown.to_owned(), entries, unsynced };
        for name in torn {
            store.unlink(&name)?;
        }
        store.clean()?;
        Ok(store)
    }

    pub(super) fn look(place: &Place) -> Result<Vec<Entry>, JournalError> {
        use super::tree::End;
        let tree = place.tree();
        let located = tree.locate(Path::new(DIRECTORY), End::Follow)?;
        let shown = place.shown(&located.path);
        // If others could have made the journal, they could also have moved it: its absence is trusted only in a place
        // where its presence would be.
        let absent = || -> Result<Vec<Entry>, JournalError> {
            let parent = located.missing.first().unwrap_or(&located.path).parent();
            let parent = parent.unwrap_or(Path::new("/"));
            tree.trusted_directory(parent, &located.links, Part::Way)?;
            Ok(Vec::new())
        };
        // Another file in its place is an error, because then it is not known whether a change is in force.
        match tree.directory(&located.path) {
            Err(Errno::NOENT) => return absent(),
            Err(error) => return Err(io("open", &shown)(error)),
            Ok(_) => {}
        }
        match tree.trusted_directory(&located.path, &located.links, Part::Home) {
            Ok(directory) => {
                super::lock::look(&directory, &shown)?;
                let entries = read_all(&directory, &shown)?.0;
                contents(&directory, &shown, &entries)?;
                Ok(entries)
            }
            Err(JournalError::Io { error: Errno::NOENT, .. }) => absent(),
            Err(error) => Err(error),
        }
    }

    /// Oldest first.
    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub(super) fn entry(&self, id: u64) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.id == id)
    }

    pub(super) fn next_id(&self) -> u64 {
        self.entries.last().map_or(1, |entry| entry.id.saturating_add(1))
    }

    /// Writes the entry. When this returns, the entry is on the disk.
    pub(super) fn save(&mut self, entry: &mut Entry) -> Result<(), JournalError> {
        entry.generation += 1;
        let json = serde_json::to_string(entry).map_err(|error| JournalError::Unfit {
            path: self.shown.clone(),
            why: format!("cannot take the entry, perhaps because a link is not UTF-8: {error}"),
        })?;
        let text = format!("{json}\n{}\n", digest(json.as_bytes()));
        self.sync_contents()?;
        self.write(&name_of(entry), text.as_bytes())?;
        self.sync()?;
        match self.entries.iter_mut().find(|other| other.id == entry.id) {
            Some(other) => other.clone_from(entry),
            None => self.entries.push(entry.clone()),
        }
        Ok(())
    }

    /// Removes an entry: the change no longer exists. When this returns, the removal is on disk.
    pub(super) fn remove(&mut self, id: u64) -> Result<(), JournalError> {
        let Some(entry) = self.entry(id) else { return Ok(()) };
        let newest = name_of(entry);
        // The older generation first: it must never be the only one.
        self.unlink(&format!("{id}.{}{ENTRY}", entry.generation.wrapping_add(1) % 2))?;
        self.sync()?;
        self.unlink(&newest)?;
        self.sync()?;
        self.entries.retain(|entry| entry.id != id);
        self.clean()
    }

    /// Keeps a content; [`Store::save`] makes it durable. Until then no entry names it.
    pub(super) fn keep(&self, content: &[u8]) -> Result<(), JournalError> {
        let name = digest(content);
        // An existing one may be damaged.
        if self.content(&name).is_ok() {
            return Ok(());
        }
        let file = format!("{name}{CONTENT}");
        let path = self.shown.join(&file);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let write = || -> Result<(), Errno> {
            self.unlink_quietly(&file)?;
            let mode = Mode::from_raw_mode(0o600);
            let fd = rustix::fs::openat(&self.directory, &file, flags | OFlags::CLOEXEC, mode)?;
            let mut open = File::from(fd);
            open.write_all(content).map_err(|error| errno(&error))?;
            begin_sync(&open.into());
            Ok(())
        };
        write().map_err(|error| {
            // Otherwise a full disk would stay full.
            let _ = self.unlink(&file);
            io("write", &path)(error)
        })?;
        self.unsynced.borrow_mut().push(file);
        Ok(())
    }

    /// Waits until all contents are on the disk.
    fn sync_contents(&self) -> Result<(), JournalError> {
        for file in self.unsynced.take() {
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let synced = rustix::fs::openat(&self.directory, &file, flags, Mode::empty())
                .and_then(rustix::fs::fsync);
            match synced {
                // No longer needed.
                Ok(()) | Err(Errno::NOENT) => {}
                Err(error) => return Err(io("sync", &self.shown.join(&file))(error)),
            }
        }
        Ok(())
    }

    /// A content that was kept.
    pub(super) fn content(&self, name: &str) -> Result<Vec<u8>, JournalError> {
        let file = format!("{name}{CONTENT}");
        let path = self.shown.join(&file);
        let content = read(&self.directory, OsStr::new(&file), &path, MAX_SIZE + 1)?;
        if digest(&content) == name {
            return Ok(content);
        }
        Err(JournalError::Damaged {
            path,
            why: "its content has another checksum".to_owned(),
            next: "The file that it was saved from must be restored from a backup",
        })
    }

    /// Whether an entry and its contents still exist: a program that runs as root may remove the
    /// journal.
    pub(super) fn is_whole(&self, entry: &Entry) -> bool {
        let there = |name: &str| {
            let path = self.shown.join(name);
            rustix::fs::statat(rustix::fs::CWD, &path, AtFlags::SYMLINK_NOFOLLOW).is_ok()
        };
        let turns = [0, 1].map(|turn| format!("{}.{turn}{ENTRY}", entry.id));
        turns.iter().any(|name| there(name))
            && needed(entry).all(|name| there(&format!("{name}{CONTENT}")))
    }

    /// A content that was kept, if it is text.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        String::from_utf8(self.content(name).ok()?).ok()
    }

    /// Removes files that no entry needs: partly written files of a killed run, and contents.
    pub(super) fn clean(&self) -> Result<(), JournalError> {
        let needed: std::collections::HashSet<&str> =
            self.entries.iter().flat_map(needed).collect();
        for name in names(&self.directory).map_err(io("list", &self.shown))? {
            let Some(name) = name.to_str() else { continue };
            let content = name.strip_suffix(CONTENT).filter(|name| name.len() == 64);
            if name == NEW || content.is_some_and(|name| !needed.contains(name)) {
                self.unlink(name)?;
            }
        }
        Ok(())
    }

    fn write(&self, name: &str, content: &[u8]) -> Result<(), JournalError> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let path = self.shown.join(name);
        let failed = io("write", &path);
        let write = || -> Result<(), Errno> {
            let mode = Mode::from_raw_mode(0o600);
            // The remains of a killed run.
            self.unlink_quietly(NEW)?;
            let fd = rustix::fs::openat(&self.directory, NEW, flags | OFlags::CLOEXEC, mode)?;
            let mut file = File::from(fd);
            file.write_all(content).map_err(|error| errno(&error))?;
            rustix::fs::fsync(&file)?;
            // The contents' names too must be there before an entry's.
            if name.ends_with(ENTRY) {
                rustix::fs::fsync(&self.directory)?;
            }
            rustix::fs::renameat(&self.directory, NEW, &self.directory, name)
        };
        write().map_err(|error| {
            // Otherwise a full disk would stay full.
            let _ = self.unlink(NEW);
            failed(error)
        })
    }

    fn unlink(&self, name: &str) -> Result<(), JournalError> {
        self.unlink_quietly(name).map_err(io("remove", &self.shown.join(name)))
    }

    fn unlink_quietly(&self, name: &str) -> Result<(), Errno> {
        match rustix::fs::unlinkat(&self.directory, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn sync(&self) -> Result<(), JournalError> {
        rustix::fs::fsync(&self.directory).map_err(io("sync", &self.shown))
    }
}

/// Refuses saved contents that another user could have written: a revert would not use them.
fn contents(directory: &OwnedFd, shown: &Path, entries: &[Entry]) -> Result<(), JournalError> {
    for name in entries.iter().flat_map(needed) {
        let name = format!("{name}{CONTENT}");
        let path = shown.join(&name);
        match trusted::open_file(directory, OsStr::new(&name), OFlags::RDONLY, 0, &path) {
            // A missing file is an error where it is needed.
            Ok(_) | Err(Untrusted::Io { error: Errno::NOENT, .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// The names of the contents that an entry needs.
fn needed(entry: &Entry) -> impl Iterator<Item = &str> {
    let states = entry.records.iter().flat_map(|record| [Some(&record.old), record.new.as_ref()]);
    states.flatten().filter_map(|state| match state {
        super::entry::State::File { content, .. } => Some(content.as_str()),
        _ => None,
    })
}

fn name_of(entry: &Entry) -> String {
    format!("{}.{}{ENTRY}", entry.id, entry.generation % 2)
}

/// The newest good generation of every entry; and files without any content that is known.
fn read_all(directory: &OwnedFd, shown: &Path) -> Result<(Vec<Entry>, Vec<String>), JournalError> {
    let mut found: BTreeMap<u64, Vec<(String, Found)>> = BTreeMap::new();
    for name in names(directory).map_err(io("list", shown))? {
        let Some(name) = name.to_str() else { continue };
        let number = name.strip_suffix(ENTRY).and_then(|stem| {
            let (id, turn) = stem.split_once('.')?;
            matches!(turn, "0" | "1").then(|| id.parse().ok())?
        });
        // Files with other names do not belong to the journal.
        let Some(id) = number else { continue };
        let path = shown.join(name);
        let bytes = match read(directory, OsStr::new(name), &path, MAX_ENTRY) {
            // Read without the lock: it went away meanwhile.
            Err(JournalError::Io { error: Errno::NOENT, .. }) => continue,
            other => other?,
        };
        found.entry(id).or_default().push((name.to_owned(), parse(&bytes, id, &path)?));
    }
    let mut entries = Vec::new();
    let mut torn = Vec::new();
    for (id, generations) in found {
        let alone = generations.len() == 1;
        let mut best: Option<Box<Entry>> = None;
        let mut bad = None;
        for (name, generation) in generations {
            match generation {
                Found::Good(entry) => {
                    if best.as_ref().is_none_or(|best| best.generation < entry.generation) {
                        best = Some(entry);
                    }
                }
                Found::Damaged(why) => bad = Some((name, why)),
            }
        }
        match (best, bad) {
            (Some(entry), _) => entries.push(*entry),
            // The first generation, and nothing else: nothing had been changed yet.
            (None, Some((name, _))) if alone && name == format!("{id}.1{ENTRY}") => torn.push(name),
            (None, Some((name, why))) => {
                return Err(JournalError::Damaged {
                    path: shown.join(name),
                    why,
                    next: "It says what an earlier run changed; restore it from a backup, or look \
                           at the files saved beside it and then move the directory away",
                });
            }
            (None, None) => {}
        }
    }
    Ok((entries, torn))
}

fn parse(bytes: &[u8], id: u64, path: &Path) -> Result<Found, JournalError> {
    let damaged = |why: &str| Ok(Found::Damaged(why.to_owned()));
    let Ok(text) = std::str::from_utf8(bytes) else { return damaged("no text") };
    let mut lines = text.lines();
    let (Some(json), Some(checksum)) = (lines.next(), lines.next()) else {
        return damaged("its end is missing");
    };
    if digest(json.as_bytes()) != checksum || lines.next().is_some() {
        return damaged("its checksum is wrong");
    }
    // The version first: the rest may have another form.
    #[derive(serde::Deserialize)]
    struct Version {
        version: u64,
    }
    match serde_json::from_str::<Version>(json) {
        Ok(Version { version }) if version > u64::from(VERSION) => {
            return Err(JournalError::Newer { path: path.to_owned(), found: version });
        }
        Ok(_) => {}
        Err(error) => return damaged(&error.to_string()),
    }
    match serde_json::from_str::<Entry>(json) {
        Ok(entry) if entry.id == id => Ok(Found::Good(Box::new(entry))),
        Ok(_) => damaged("it has the number of another entry"),
        Err(error) => damaged(&error.to_string()),
    }
}

fn read(fd: &OwnedFd, name: &OsStr, shown: &Path, limit: u64) -> Result<Vec<u8>, JournalError> {
    let file = trusted::open_file(fd, name, OFlags::RDONLY, 0, shown)?;
    let mut content = Vec::new();
    File::from(file)
        .take(limit)
        .read_to_end(&mut content)
        .map_err(|error| io("read", shown)(errno(&error)))?;
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_bytes_are_taken_for_an_entry_but_its_own(bytes: Vec<u8>, text: String) {
            for bytes in [bytes.as_slice(), text.as_bytes()] {
                let sum = digest(bytes);
                let with = [bytes, b"\n", sum.as_bytes(), b"\n"].concat();
                for bytes in [bytes, &with] {
                    prop_assert!(matches!(parse(bytes, 1, Path::new("x")), Ok(Found::Damaged(_))));
                }
            }
        }
    }

    #[test]
    fn deep_nesting_is_damage() {
        let json = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        let text = format!("{json}\n{}\n", digest(json.as_bytes()));
        assert!(matches!(parse(text.as_bytes(), 1, Path::new("x")), Ok(Found::Damaged(_))));
    }
}
