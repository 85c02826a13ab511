//! Files that a command line names, or that are in a directory that it names.
//!
//! The name may be wrong, or in a directory where other users create files. So a file is examined before it is opened
//! (`O_PATH` opens nothing): no device is opened, whatever links lead to it, and a file found in a directory never
//! blocks. Files that are read completely have a size limit, which is checked before the memory is allocated.

use rustix::fs::{FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Component, Path};

/// The kinds of files that may be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kinds {
    /// Only regular files: those found in a directory, and those that are read more than once.
    Regular,
    /// Also pipes, which a shell passes for `<(COMMAND)`: for names on the command line. Opening a FIFO waits for
    /// its writer. Also the files that this process has already open: `/dev/stdin`, `/dev/fd/3`; and `/dev/null`.
    Streams,
}

const PLACE: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);
const READ: OFlags = OFlags::RDONLY.union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// Opens a file for reading. Links are followed.
///
/// # Errors
/// Returns an error if the file does not exist, may not be opened, or is of another kind; the message states which.
pub fn open(path: &Path, kinds: Kinds) -> io::Result<File> {
    if kinds == Kinds::Streams && is_open_already(path) {
        return Ok(File::from(rustix::fs::open(path, READ, Mode::empty())?));
    }
    let place = rustix::fs::open(path, PLACE, Mode::empty())?;
    let stat = rustix::fs::fstat(&place)?;
    let kind = FileType::from_raw_mode(stat.st_mode);
    let flags = match kind {
        FileType::RegularFile => READ.union(OFlags::NONBLOCK),
        FileType::Fifo if kinds == Kinds::Streams => READ,
        _ => return Err(io::Error::other(format!("it is {}, not a regular file", name(kind)))),
    };
    let file = File::from(reopen(&place, path, flags)?);
    // Without /proc the name itself was opened, which may be another file now.
    let now = rustix::fs::fstat(&file)?;
    if id(&now) != id(&stat) || now.st_mode != stat.st_mode {
        return Err(io::Error::other("it was replaced while it was being opened"));
    }
    Ok(file)
}

/// Returns the number of the user whose symbolic link this name in a directory is, if that is neither root nor the user
/// who runs this program: the link may lead to a file that its owner may not read, so it is not followed.
#[must_use]
pub fn link_of_another_user(path: &Path) -> Option<u32> {
    let stat = rustix::fs::lstat(path).ok()?;
    let is_link = FileType::from_raw_mode(stat.st_mode) == FileType::Symlink;
    let ours = [0, rustix::process::geteuid().as_raw()];
    (is_link && !ours.contains(&stat.st_uid)).then_some(stat.st_uid)
}

fn id(stat: &Stat) -> (u64, u64) {
    // The types of these fields differ between processors.
    #[allow(clippy::unnecessary_cast, clippy::useless_conversion)]
    (stat.st_dev as u64, stat.st_ino as u64)
}

fn reopen(place: &OwnedFd, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let through = format!("/proc/self/fd/{}", place.as_fd().as_raw_fd());
    match rustix::fs::open(through, flags, Mode::empty()) {
        Err(Errno::NOENT) => rustix::fs::open(path, flags.union(OFlags::NONBLOCK), Mode::empty()),
        other => other,
    }
}

/// Whether a name refers to an already open or an empty file: only root creates such names.
fn is_open_already(path: &Path) -> bool {
    let below = |directory: &str| {
        path.strip_prefix(directory)
            .is_ok_and(|rest| rest.components().all(|part| matches!(part, Component::Normal(_))))
    };
    ["/dev/null", "/dev/stdin"].map(Path::new).contains(&path)
        || below("/dev/fd")
        || below("/proc/self/fd")
}

fn name(kind: FileType) -> &'static str {
    match kind {
        FileType::Directory => "a directory",
        FileType::Fifo => "a FIFO",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        _ => "something else",
    }
}

/// Reads a complete file of at most `most` bytes.
///
/// # Errors
/// Returns an error if [`open`] does, or if the file is too large or cannot be read.
pub fn read(path: &Path, kinds: Kinds, most: u64) -> io::Result<Vec<u8>> {
    let file = open(path, kinds)?;
    // A sparse file has less data on disk than its length; a file that the kernel generates has length 0.
    if file.metadata()?.len() > most {
        return Err(too_large(most));
    }
    all(file, most)
}

/// Reads a text of proc or sys. A mount may cover it with anything, such as a FIFO or an endless device.
///
/// # Errors
/// Returns an error if [`read`] does, or if the bytes are not text.
pub fn text(path: impl AsRef<Path>) -> io::Result<String> {
    let bytes = read(path.as_ref(), Kinds::Regular, OF_THE_KERNEL)?;
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Bytes of a text of the kernel at most. `/proc/cpuinfo` of 8192 processors has 12 MiB.
const OF_THE_KERNEL: u64 = 32 << 20;

/// Reads the rest of a reader, at most `most` bytes.
///
/// # Errors
/// Returns an error if there is more than that, or if it cannot be read.
pub fn all(reader: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // One more byte shows that the limit is exceeded.
    reader.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(too_large(most));
    }
    Ok(bytes)
}

fn too_large(most: u64) -> io::Error {
    let size =
        if most >= 1 << 20 { format!("{} MiB", most >> 20) } else { format!("{} KiB", most >> 10) };
    io::Error::new(io::ErrorKind::FileTooLarge, format!("it is larger than {size}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use std::time::Instant;

    fn refused(path: &Path, kinds: Kinds) -> String {
        open(path, kinds).unwrap_err().to_string()
    }

    #[test]
    fn open_takes_regular_files_and_pipes_where_they_are_streams() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("file"), "x").unwrap();
        symlink("file", at("link")).unwrap();
        for kinds in [Kinds::Regular, Kinds::Streams] {
            assert_eq!(read(&at("file"), kinds, 1).unwrap(), b"x");
            assert_eq!(read(&at("link"), kinds, 1).unwrap(), b"x");
            assert!(refused(dir.path(), kinds).contains("a directory, not"));
            for device in ["/dev/zero", "/dev/ptmx"] {
                assert!(text(device).unwrap_err().to_string().contains("a device, not"));
                assert!(refused(Path::new(device), kinds).contains("a device, not a regular file"));
                let _ = std::fs::remove_file(at("device"));
                symlink(device, at("device")).unwrap();
                assert!(refused(&at("device"), kinds).contains("a device"));
            }
            assert_eq!(open(&at("none"), kinds).unwrap_err().kind(), io::ErrorKind::NotFound);
        }
        rustix::fs::mkfifoat(rustix::fs::CWD, at("fifo"), Mode::from_raw_mode(0o600)).unwrap();
        assert!(refused(&at("fifo"), Kinds::Regular).contains("a FIFO"));
        let fifo = at("fifo");
        let writer = std::thread::spawn(move || std::fs::write(fifo, "through"));
        assert_eq!(read(&at("fifo"), Kinds::Streams, 7).unwrap(), b"through");
        writer.join().unwrap().unwrap();
    }

    #[test]
    fn read_sees_the_size_before_it_reads() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sparse");
        File::create(&path).unwrap().set_len(1 << 40).unwrap();
        let begun = Instant::now();
        let error = read(&path, Kinds::Regular, 1 << 20).unwrap_err();
        assert_eq!(error.to_string(), "it is larger than 1 MiB");
        assert!(begun.elapsed().as_secs() < 60);
        assert_eq!(all(&b"abc"[..], 3).unwrap(), b"abc");
        assert_eq!(all(&b"abc"[..], 2).unwrap_err().to_string(), "it is larger than 0 KiB");
        // A source without a length and without an end.
        assert!(all(io::repeat(0), 4096).unwrap_err().to_string().contains("4 KiB"));
    }

    #[test]
    fn is_open_already_only_by_names_of_roots() {
        for name in ["/dev/null", "/dev/stdin", "/dev/fd/3", "/proc/self/fd/0"] {
            assert!(is_open_already(Path::new(name)), "{name}");
        }
        for name in ["/dev/fd/../zero", "/dev/zero", "stdin"] {
            assert!(!is_open_already(Path::new(name)), "{name}");
        }
    }
}
