//! Files that the watch writes: its history, and metrics for node_exporter's textfile collector.

use crate::event::Event;
use crate::history;
use clocksmith_facts::trusted::{self, Missing, Part, Untrusted};
use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Length at which the file of the history is rotated, in bytes. Together with the previous file,
/// the history takes about twice this at most.
const ROTATE: u64 = 1 << 20;
const NAME: &str = "history.jsonl";
const BEFORE: &str = "history.jsonl.1";

/// The history in a directory.
#[derive(Debug)]
pub struct Store {
    directory: OwnedFd,
    path: PathBuf,
    file: File,
    length: u64,
}

impl Store {
    /// Opens the history, and creates its directory if the directory does not exist. Also returns the saved text,
    /// oldest first.
    ///
    /// # Errors
    /// Returns an error if the directory or the file cannot be made or written, or if another user could have made or
    /// changed it: a file of that name may be a link to any file, or a pipe.
    pub fn open(dir: &Path) -> io::Result<(Self, String)> {
        let directory = trusted::open_directory(dir, Missing::Make(0o755), Part::Home)?;
        let path = dir.join(NAME);
        let mut kept = tail(&directory, dir, BEFORE)?;
        kept.push_str(&tail(&directory, dir, NAME)?);
        let mut file = append(&directory, &path)?;
        let mut length = file.seek(SeekFrom::End(0))?;
        // A line that a crash cut off must not take the next one with it.
        if length > 0 && !kept.ends_with('\n') {
            file.write_all(b"\n")?;
            length += 1;
        }
        Ok((Self { directory, path, file, length }, kept))
    }

    /// The same with a disk that is full.
    #[cfg(test)]
    pub(crate) fn full(mut self) -> Self {
        self.file = std::fs::OpenOptions::new().append(true).open("/dev/full").unwrap();
        self
    }

    /// Adds events.
    ///
    /// # Errors
    /// Returns an error if they cannot be written.
    pub fn add(&mut self, events: &[Event]) -> io::Result<()> {
        let text: String = events.iter().filter_map(history::line).collect();
        if self.length > 0 && self.length + text.len() as u64 > ROTATE {
            rustix::fs::renameat(&self.directory, NAME, &self.directory, BEFORE)?;
            self.file = append(&self.directory, &self.path)?;
            self.length = 0;
        }
        self.file.write_all(text.as_bytes())?;
        self.length += text.len() as u64;
        Ok(())
    }
}

fn append(directory: &OwnedFd, path: &Path) -> Result<File, Untrusted> {
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE;
    trusted::open_file(directory, NAME.as_ref(), flags, 0o644, path).map(File::from)
}

/// The largest number of bytes of a file that are read: a line of any length must not hide the lines before it.
const READ: u64 = 256 << 20;
/// Takes the place of a line that is too long to be an event.
const TOO_LONG: &[u8] = b"too long";

/// The last lines of a file, together at most as long as a file of the history becomes; nothing if it is not there.
fn tail(directory: &OwnedFd, dir: &Path, name: &str) -> io::Result<String> {
    let path = dir.join(name);
    let file = match trusted::open_file(directory, name.as_ref(), OFlags::RDONLY, 0, &path) {
        Err(Untrusted::Io { error: rustix::io::Errno::NOENT, .. }) => return Ok(String::new()),
        other => other?,
    };
    let mut file = File::from(file);
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(READ)))?;
    let bytes = last_lines(BufReader::new(file.take(READ)))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The last lines, of at most twice [`ROTATE`]; one that is longer than any event is replaced by a few words.
fn last_lines(mut reader: impl BufRead) -> io::Result<Vec<u8>> {
    let (mut lines, mut length) = (VecDeque::new(), 0);
    loop {
        let mut line = Vec::new();
        let most = history::LINE as u64 + 1;
        if (&mut reader).take(most).read_until(b'\n', &mut line)? == 0 {
            break;
        }
        if line.len() as u64 == most && !line.ends_with(b"\n") {
            line = TOO_LONG.to_vec();
            if skip_line(&mut reader)? {
                line.push(b'\n');
            }
        }
        length += line.len() as u64;
        lines.push_back(line);
        while length > 2 * ROTATE {
            length -= lines.pop_front().map_or(0, |line: Vec<u8>| line.len() as u64);
        }
    }
    Ok(lines.into_iter().flatten().collect())
}

/// Skips the rest of a line; returns whether the line has an end.
fn skip_line(reader: &mut impl BufRead) -> io::Result<bool> {
    loop {
        let bytes = reader.fill_buf()?;
        let (length, end) = (bytes.len(), bytes.iter().position(|byte| *byte == b'\n'));
        reader.consume(end.map_or(length, |at| at + 1));
        if end.is_some() || length == 0 {
            return Ok(end.is_some());
        }
    }
}

/// Whether a file must outlive a power cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durable {
    /// It is on the disk before it replaces the old file.
    Yes,
    /// It may be lost: it is written again soon.
    No,
}

/// The effect of a new file on an existing one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// Replaces the file. A link is replaced, never followed.
    Former,
    /// Leaves the file as it is, and returns an error.
    Nothing,
}

/// Writes a file so that a reader sees either the old content or the new content, never a part of it.
///
/// # Errors
/// Returns an error if the file cannot be written or renamed.
pub fn replace(path: &Path, content: &[u8], durable: Durable) -> io::Result<()> {
    let place = trusted::place(path)?;
    put(&place.directory, &place.name, content, 0o644, durable, Over::Former)
}

/// Writes a file in an open directory, which may belong to any user: under a new name, and renames it when it is
/// complete. So no link is followed, and a full disk leaves nothing behind. The umask applies to `mode`.
///
/// # Errors
/// Returns an error if the file cannot be written or renamed.
pub fn put(
    directory: impl AsFd,
    name: &OsStr,
    content: &[u8],
    mode: u32,
    durable: Durable,
    over: Over,
) -> io::Result<()> {
    let directory = directory.as_fd();
    // The name does not end in .prom, so node_exporter ignores the file.
    let mut beside = OsString::from(".");
    beside.push(name);
    beside.push(format!(".{}", std::process::id()));
    // Removes a file that a killed program of the same number left.
    let _ = rustix::fs::unlinkat(directory, &beside, AtFlags::empty());
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(directory, &beside, flags, Mode::from_raw_mode(mode))?;
    let mut file = File::from(file);
    let written = file
        .write_all(content)
        .and_then(|()| if durable == Durable::Yes { file.sync_all() } else { Ok(()) })
        .and_then(|()| match over {
            Over::Former => Ok(rustix::fs::renameat(directory, &beside, directory, name)?),
            Over::Nothing => give_name(directory, &beside, name),
        });
    if written.is_err() {
        let _ = rustix::fs::unlinkat(directory, &beside, AtFlags::empty());
    }
    written
}

/// Moves a file to a name that is free.
fn give_name(at: BorrowedFd<'_>, from: &OsStr, to: &OsStr) -> io::Result<()> {
    match rustix::fs::renameat_with(at, from, at, to, RenameFlags::NOREPLACE) {
        // A filesystem that cannot: a second name does not replace either.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            match rustix::fs::linkat(at, from, at, to, AtFlags::empty()) {
                Ok(()) => Ok(rustix::fs::unlinkat(at, from, AtFlags::empty())?),
                Err(Errno::EXIST) => Err(io::ErrorKind::AlreadyExists.into()),
                // A filesystem without hard links: checks, then renames.
                Err(_) => match rustix::fs::statat(at, to, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
                    Err(_) => Ok(rustix::fs::renameat(at, from, at, to)?),
                },
            }
        }
        other => Ok(other?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Kind;
    use crate::history::History;
    use crate::judge::State;

    #[test]
    fn the_history_is_kept_and_bounded() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().join("a/b");
        let (mut store, kept) = Store::open(&dir).unwrap();
        assert_eq!(kept, "");
        let events: Vec<Event> = (0..1000)
            .map(|i| Event::new(f64::from(i), Kind::Warp, State::Ok, "x".repeat(100)))
            .collect();
        for _ in 0..30 {
            store.add(&events).unwrap();
        }
        let sizes: Vec<u64> = std::fs::read_dir(&dir)
            .unwrap()
            .map(|f| f.unwrap().metadata().unwrap().len())
            .collect();
        assert!(sizes.len() == 2 && sizes.iter().all(|size| *size <= ROTATE), "{sizes:?}");
        std::fs::OpenOptions::new()
            .append(true)
            .open(dir.join(NAME))
            .unwrap()
            .write_all(b"{\"time\":1")
            .unwrap();
        let (mut store, _) = Store::open(&dir).unwrap();
        store.add(&events[..1]).unwrap();
        let (_, kept) = Store::open(&dir).unwrap();
        let mut history = History::default();
        assert_eq!(history.load(&kept), 1);
        assert_eq!(history.events().next_back().unwrap(), &events[0]);
    }

    #[test]
    fn open_history_with_a_long_line_keeps_the_lines_around_it() {
        let dir = tempfile::tempdir().unwrap();
        let good =
            |time: f64| history::line(&Event::new(time, Kind::Warp, State::Ok, "x")).unwrap();
        let long = "[".repeat(5 << 20);
        for (text, strange, events) in [
            (format!("{}{}{long}\n{}", good(1.0), good(2.0), good(3.0)), 1, 4),
            // The last one, which a crash cut off.
            (format!("{}{}{long}", good(1.0), good(2.0)), 1, 3),
        ] {
            std::fs::write(dir.path().join(NAME), text).unwrap();
            let (mut store, kept) = Store::open(dir.path()).unwrap();
            assert!(kept.len() < 1000, "{}", kept.len());
            store.add(&[Event::new(4.0, Kind::Warp, State::Ok, "y")]).unwrap();
            let (_, kept) = Store::open(dir.path()).unwrap();
            let mut history = History::default();
            assert_eq!((history.load(&kept), history.events().len()), (strange, events));
            let _ = std::fs::remove_file(dir.path().join(BEFORE));
        }
    }

    #[test]
    fn history_at_a_name_of_others_is_not_opened() {
        use std::os::unix::fs::{PermissionsExt, chown, symlink};
        let root = tempfile::tempdir().unwrap();
        let (target, dir) = (root.path().join("target"), root.path().join("state"));
        std::fs::write(&target, "precious").unwrap();
        let refused = |what: &str| {
            let error = Store::open(&dir).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{error}");
            assert!(error.to_string().contains(what), "{what}: {error}");
        };
        for name in [NAME, BEFORE] {
            std::fs::create_dir_all(&dir).unwrap();
            symlink(&target, dir.join(name)).unwrap();
            refused("is a symbolic link");
            std::fs::remove_file(dir.join(name)).unwrap();
            // A pipe must not stop the start either.
            let mode = rustix::fs::Mode::from_raw_mode(0o600);
            rustix::fs::mkfifoat(rustix::fs::CWD, dir.join(name), mode).unwrap();
            refused("is not a regular file");
            std::fs::remove_dir_all(&dir).unwrap();
        }
        assert_eq!(std::fs::read_to_string(&target).unwrap(), "precious");
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o777)).unwrap();
        refused("mode 0777");
        std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o755)).unwrap();
        Store::open(&dir).unwrap();
        if rustix::process::geteuid().is_root() {
            chown(&dir, Some(1000), None).unwrap();
            refused("owner 1000");
        }
    }

    #[test]
    fn a_file_is_replaced_as_a_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("clocksmith.prom");
        replace(&path, b"one\n", Durable::No).unwrap();
        replace(&path, b"two\n", Durable::Yes).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "two\n");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
        assert!(replace(&dir.path().join("no/x.prom"), b"x", Durable::No).is_err());
    }

    #[test]
    fn a_link_at_the_name_or_of_others_on_the_way_is_not_followed() {
        use std::os::unix::fs::{lchown, symlink};
        let dir = tempfile::tempdir().unwrap();
        let (precious, path) = (dir.path().join("precious"), dir.path().join("out"));
        std::fs::write(&precious, "precious").unwrap();
        let read = |path: &Path| std::fs::read_to_string(path).unwrap();
        // One link at the file's name, and one at the temporary name.
        symlink(&precious, &path).unwrap();
        symlink(&precious, dir.path().join(format!(".out.{}", std::process::id()))).unwrap();
        replace(&path, b"new", Durable::No).unwrap();
        assert_eq!((read(&path).as_str(), read(&precious).as_str()), ("new", "precious"));
        assert!(std::fs::symlink_metadata(&path).unwrap().is_file());
        let there = put(
            File::open(dir.path()).unwrap(),
            OsStr::new("out"),
            b"x",
            0o600,
            Durable::No,
            Over::Nothing,
        );
        assert_eq!(there.unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(
            (read(&path).as_str(), std::fs::read_dir(dir.path()).unwrap().count()),
            ("new", 2)
        );
        // A link of ours to a directory is followed, and one of another user is not.
        let (inner, link) = (dir.path().join("inner"), dir.path().join("link"));
        std::fs::create_dir(&inner).unwrap();
        symlink(&inner, &link).unwrap();
        replace(&link.join("one"), b"one", Durable::No).unwrap();
        assert_eq!(read(&inner.join("one")), "one");
        if rustix::process::geteuid().is_root() {
            lchown(&link, Some(1000), None).unwrap();
            let error = replace(&link.join("two"), b"two", Durable::No).unwrap_err().to_string();
            assert!(error.contains("link (owner 1000"), "{error}");
            assert_eq!(std::fs::read_dir(&inner).unwrap().count(), 1);
        }
    }
}
