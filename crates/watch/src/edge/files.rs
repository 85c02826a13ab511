//! Files that the watch writes: its history, and metrics for node_exporter's textfile collector.

use crate::event::Event;
use crate::history;
use clocksmith_facts::trusted::{self, Missing, Part, Untrusted};
use rustix::fs::OFlags;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Length at which the file of the history is put aside, in bytes. With the one before, that is the most
/// it takes.
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
    /// Opens it, and makes the directory if it is not there; also gives what was kept, oldest first.
    ///
    /// # Errors
    /// The directory or the file cannot be made or written, or another user could have made or changed them: what is
    /// at such a name may be a link to any file, or a pipe.
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
        self.file = OpenOptions::new().append(true).open("/dev/full").unwrap();
        self
    }

    /// Adds events.
    ///
    /// # Errors
    /// They cannot be written.
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

/// The end of a file, at most as long as a file of the history becomes; nothing where it is not there.
fn tail(directory: &OwnedFd, dir: &Path, name: &str) -> io::Result<String> {
    let path = dir.join(name);
    let file = match trusted::open_file(directory, name.as_ref(), OFlags::RDONLY, 0, &path) {
        Err(Untrusted::Io { error: rustix::io::Errno::NOENT, .. }) => return Ok(String::new()),
        other => other?,
    };
    let mut file = File::from(file);
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(2 * ROTATE)))?;
    let mut bytes = Vec::new();
    file.take(2 * ROTATE).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Whether a file must outlive a power cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durable {
    /// It is on the disk before it takes its place.
    Yes,
    /// It is written again soon.
    No,
}

/// Writes a file so that a reader sees the old one or the new one, and never half of it.
///
/// # Errors
/// It cannot be written or moved to its place.
pub fn replace(path: &Path, content: &[u8], durable: Durable) -> io::Result<()> {
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // Its name does not end in .prom, so node_exporter passes it over.
    let beside = dir.join(format!(".{name}.{}", std::process::id()));
    // One that a killed program of the same number left behind.
    let _ = std::fs::remove_file(&beside);
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o644)
        .open(&beside)
        .and_then(|mut file| {
            file.write_all(content)?;
            if durable == Durable::Yes { file.sync_all() } else { Ok(()) }
        })
        .and_then(|()| std::fs::rename(&beside, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    written
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
            refused("is no regular file");
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
}
