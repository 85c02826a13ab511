//! Opens files that a watched program has chosen: its files in `/tmp`, and the files that it has
//! mapped.
//!
//! `who` often runs as root, and the program may be any user's. So a file is not opened if it could block (a FIFO, a
//! device), if a link leads to it, or if its owner is neither the program's user nor root. First only a handle is
//! opened (`O_PATH`, which does not open the file), then the file is examined, then that same file is opened.

use super::{patient, served};
use rustix::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use rustix::fs::{AtFlags, FileType, Gid, Mode, OFlags, Stat, Uid};
use std::ffi::CStr;
use std::fs::File;
use std::path::Path;

/// Why a file was not opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotOpened {
    /// There is none.
    Absent,
    /// It is not to be trusted, or the system refused it: the reason.
    Refused(String),
}

impl From<rustix::io::Errno> for NotOpened {
    fn from(error: rustix::io::Errno) -> Self {
        match error {
            rustix::io::Errno::NOENT | rustix::io::Errno::SRCH => Self::Absent,
            error => Self::Refused(std::io::Error::from(error).to_string()),
        }
    }
}

/// The users whose files of a process are trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owners {
    /// The effective user of the process.
    pub user: u32,
    /// The effective group of the process.
    pub group: u32,
    /// The user that is root for the process: 0, or the user that its user namespace maps to root.
    pub root: u32,
}

impl Owners {
    /// Reads the owners of a process; `None` if it is gone.
    #[must_use]
    pub fn of(pid: u32) -> Option<Self> {
        let status = text(&format!("/proc/{pid}/status"), 1 << 16)?;
        let map = text(&format!("/proc/{pid}/uid_map"), 1 << 16).unwrap_or_default();
        Self::parse(&status, &map)
    }

    fn parse(status: &str, map: &str) -> Option<Self> {
        // Real, effective, saved, of the file system.
        let effective = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_ascii_whitespace().nth(1)?.parse::<u32>().ok()
        };
        let root = map.lines().find_map(|line| {
            let mut numbers = line.split_ascii_whitespace().map(str::parse::<u32>);
            match (numbers.next()?.ok()?, numbers.next()?.ok()?) {
                (0, outside) => Some(outside),
                _ => None,
            }
        });
        Some(Self { user: effective("Uid:")?, group: effective("Gid:")?, root: root.unwrap_or(0) })
    }

    fn has(&self, uid: u32) -> bool {
        uid == 0 || uid == self.user || uid == self.root
    }

    /// Whether only the process's user and root can have written a file; otherwise the reason why
    /// not.
    fn wrote(&self, stat: &Stat) -> Result<(), NotOpened> {
        let refused = |why: String| Err(NotOpened::Refused(why));
        if !self.has(stat.st_uid) {
            return refused(format!(
                "it belongs to user {}, and the process to user {}",
                stat.st_uid, self.user
            ));
        }
        if stat.st_mode & 0o002 != 0 {
            return refused("every user can write it".to_owned());
        }
        if stat.st_mode & 0o020 != 0 && stat.st_gid != self.group && stat.st_gid != 0 {
            return refused(format!("group {} can write it", stat.st_gid));
        }
        Ok(())
    }
}

/// A text of the kernel, of at most this number of bytes.
#[must_use]
pub fn text(path: &str, most: u64) -> Option<String> {
    let mut bytes = Vec::new();
    let file = File::from(rustix::fs::open(path, READ, Mode::empty()).ok()?);
    std::io::Read::read_to_end(&mut std::io::Read::take(file, most), &mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Holds a place without opening it.
const PLACE: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);
const READ: OFlags =
    OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// Opens the regular file at a place.
fn open_regular(place: &OwnedFd, stat: &Stat) -> Result<File, NotOpened> {
    let what = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {
            let path = format!("/proc/self/fd/{}", place.as_raw_fd());
            return Ok(File::from(rustix::fs::open(path, READ, Mode::empty())?));
        }
        FileType::Fifo => "a FIFO",
        FileType::Symlink => "a symbolic link",
        FileType::Directory => "a directory",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        _ => "something else",
    };
    Err(NotOpened::Refused(format!("it is {what}, not a regular file")))
}

/// Opens a file that a process has mapped, through the mapping itself: the process has the file open already.
/// Devices are not opened.
///
/// # Errors
/// Returns an error if the file is gone, is not a regular file, or may not be opened.
pub fn open_mapped(path: &Path) -> Result<File, NotOpened> {
    let place = rustix::fs::open(path, PLACE, Mode::empty())?;
    let stat = rustix::fs::fstat(&place)?;
    open_regular(&place, &stat)
}

/// Opens a mapped file by its name: the file must be the one that was mapped, or belong to the
/// process's user or to root.
///
/// # Errors
/// Returns an error if [`open_mapped`] does, or if another user may have written the file.
pub fn open_named(path: &Path, inode: u64, owners: &Owners) -> Result<File, NotOpened> {
    let place = rustix::fs::open(path, PLACE | OFlags::NOFOLLOW, Mode::empty())?;
    let stat = rustix::fs::fstat(&place)?;
    if stat.st_ino != inode {
        owners.wrote(&stat)?;
    }
    open_regular(&place, &stat)
}

/// The directory `/tmp` as a process sees it.
#[derive(Debug)]
pub struct Temporary {
    dir: OwnedFd,
    owners: Owners,
}

impl Temporary {
    /// Opens the directory.
    ///
    /// # Errors
    /// Returns an error if the process is gone, or if `/tmp` is a link, belongs to another user, or may not be opened.
    pub fn of(pid: u32) -> Result<Self, NotOpened> {
        let owners = Owners::of(pid).ok_or(NotOpened::Absent)?;
        let directory = PLACE | OFlags::DIRECTORY;
        let path = format!("/proc/{pid}/root");
        let root = patient::ask(pid, || rustix::fs::open(path, directory, Mode::empty()))?;
        // A lookup of the name would wait for the program that serves the filesystem.
        if served::is_place_served(&root, pid) {
            return Err(NotOpened::Refused(
                "its root is on a filesystem that a program or another machine serves".to_owned(),
            ));
        }
        let tmp = rustix::fs::openat(&root, "tmp", directory | OFlags::NOFOLLOW, Mode::empty());
        if tmp.is_ok_and(|tmp| served::is_place_served(&tmp, pid)) {
            return Err(NotOpened::Refused(
                "its /tmp is on a filesystem that a program or another machine serves".to_owned(),
            ));
        }
        Self::below(&root, owners)
    }

    /// The same below any directory.
    ///
    /// # Errors
    /// See [`Temporary::of`].
    pub fn below(root: impl AsFd, owners: Owners) -> Result<Self, NotOpened> {
        // A link would lead from the process's root to a directory of this program's.
        let directory = PLACE | OFlags::DIRECTORY | OFlags::NOFOLLOW;
        let dir = rustix::fs::openat(root, "tmp", directory, Mode::empty())?;
        let stat = rustix::fs::fstat(&dir)?;
        if !owners.has(stat.st_uid) {
            let why = format!("/tmp belongs to user {}", stat.st_uid);
            return Err(NotOpened::Refused(why));
        }
        Ok(Self { dir, owners })
    }

    /// Opens a file in it that the process's user or root has written.
    ///
    /// # Errors
    /// Returns an error if the file does not exist, or must not be trusted.
    pub fn open(&self, name: &str) -> Result<File, NotOpened> {
        let place = rustix::fs::openat(&self.dir, name, PLACE | OFlags::NOFOLLOW, Mode::empty())?;
        let stat = rustix::fs::fstat(&place)?;
        let file = open_regular(&place, &stat)?;
        self.owners.wrote(&stat)?;
        // Another name of the file may be in a directory that other users write.
        if stat.st_nlink > 1 {
            return Err(NotOpened::Refused("it has other names (hard links)".to_owned()));
        }
        Ok(file)
    }

    /// The file of a name, links not followed.
    #[must_use]
    pub fn look(&self, name: impl rustix::path::Arg) -> Option<Stat> {
        rustix::fs::statat(&self.dir, name, AtFlags::SYMLINK_NOFOLLOW).ok()
    }

    /// Holds the place of a socket of the process's user or root.
    ///
    /// # Errors
    /// Returns an error if the file does not exist, is not a socket, or belongs to another user.
    pub fn socket(&self, name: &str) -> Result<OwnedFd, NotOpened> {
        let place = rustix::fs::openat(&self.dir, name, PLACE | OFlags::NOFOLLOW, Mode::empty())?;
        let stat = rustix::fs::fstat(&place)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::Socket {
            return Err(NotOpened::Refused("it is not a socket".to_owned()));
        }
        if !self.owners.has(stat.st_uid) {
            return Err(NotOpened::Refused(format!("it belongs to user {}", stat.st_uid)));
        }
        Ok(place)
    }

    /// Makes an empty file of this mode that was not there.
    ///
    /// # Errors
    /// Returns an error if the file already exists or cannot be made.
    pub fn make(&self, name: &CStr, mode: u32) -> Result<File, NotOpened> {
        let flags = OFlags::WRONLY
            .union(OFlags::CREATE)
            .union(OFlags::EXCL)
            .union(OFlags::NOFOLLOW)
            .union(OFlags::CLOEXEC);
        let file = rustix::fs::openat(&self.dir, name, flags, Mode::from_raw_mode(mode))?;
        Ok(File::from(file))
    }

    /// The same, and gives it to the process's user.
    ///
    /// # Errors
    /// Returns an error if the file already exists, or cannot be made or given to that user.
    pub fn make_theirs(&self, name: &CStr, mode: u32) -> Result<(), NotOpened> {
        self.make(name, mode)?;
        let (user, group) = (Uid::from_raw(self.owners.user), Gid::from_raw(self.owners.group));
        let given = rustix::fs::chownat(
            &self.dir,
            name,
            Some(user),
            Some(group),
            AtFlags::SYMLINK_NOFOLLOW,
        );
        given.map_err(|error| {
            let _ = rustix::fs::unlinkat(&self.dir, name, AtFlags::empty());
            NotOpened::from(error)
        })
    }

    /// Returns the metadata of the directory itself.
    ///
    /// # Errors
    /// Returns an error if the metadata cannot be read.
    pub fn stat(&self) -> Result<Stat, NotOpened> {
        Ok(rustix::fs::fstat(&self.dir)?)
    }

    /// Removes a file; does nothing to a directory or a missing file.
    pub fn remove(&self, name: impl rustix::path::Arg) {
        let _ = rustix::fs::unlinkat(&self.dir, name, AtFlags::empty());
    }

    /// The users whose files in it are trusted.
    #[must_use]
    pub fn owners(&self) -> Owners {
        self.owners
    }
}

impl AsRawFd for Temporary {
    fn as_raw_fd(&self) -> RawFd {
        self.dir.as_raw_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    struct Place {
        dir: tempfile::TempDir,
        tmp: Temporary,
    }

    fn place() -> Place {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("tmp")).unwrap();
        let here = std::fs::metadata(dir.path()).unwrap();
        let owners = Owners { user: here.uid(), group: here.gid(), root: 0 };
        let tmp = Temporary::below(File::open(dir.path()).unwrap(), owners).unwrap();
        Place { dir, tmp }
    }

    fn refused(of: Result<File, NotOpened>) -> String {
        match of {
            Err(NotOpened::Refused(why)) => why,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_could_block_or_leads_elsewhere_is_not_opened() {
        let Place { dir, tmp } = place();
        let at = |name: &str| dir.path().join("tmp").join(name);
        std::fs::write(at("good"), "x").unwrap();
        assert!(tmp.open("good").is_ok());
        let fifo = Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, at("fifo"), FileType::Fifo, fifo, 0).unwrap();
        assert!(refused(tmp.open("fifo")).contains("a FIFO"));
        symlink(at("good"), at("link")).unwrap();
        assert!(refused(tmp.open("link")).contains("symbolic link"));
        std::fs::hard_link(at("good"), at("second")).unwrap();
        assert!(refused(tmp.open("second")).contains("hard links"));
        assert!(refused(tmp.open("..")).contains("directory"));
        assert_eq!(tmp.open("none").unwrap_err(), NotOpened::Absent);
        assert!(open_mapped(Path::new("/dev/null")).is_err());
        assert!(open_mapped(&at("fifo")).is_err());
    }

    #[test]
    fn open_file_writable_by_others_is_refused() {
        let Place { dir, tmp } = place();
        let path = dir.path().join("tmp/map");
        std::fs::write(&path, "x").unwrap();
        let mode = |mode| std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        mode(0o664);
        assert!(tmp.open("map").is_ok());
        mode(0o666);
        assert!(refused(tmp.open("map")).contains("every user"));
        mode(0o644);
        // For a process of another user the file belongs to a third user.
        let root = || File::open(dir.path()).unwrap();
        let stranger = Owners { user: tmp.owners.user + 77, ..tmp.owners };
        let stat = tmp.look("map").unwrap();
        if stat.st_uid == 0 {
            // Root's files are accepted for every user.
            let mut foreign = stat;
            foreign.st_uid = 12;
            assert!(matches!(stranger.wrote(&foreign), Err(NotOpened::Refused(_))));
        } else {
            assert!(Temporary::below(root(), stranger).is_err());
        }
        let mut group = stat;
        (group.st_mode, group.st_gid) = (stat.st_mode | 0o020, stat.st_gid + 5);
        assert!(tmp.owners.wrote(&group).is_err());
    }

    #[test]
    fn a_link_for_tmp_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        symlink("/tmp", dir.path().join("tmp")).unwrap();
        let owners = Owners { user: 0, group: 0, root: 0 };
        assert!(Temporary::below(File::open(dir.path()).unwrap(), owners).is_err());
    }

    #[test]
    fn owners_are_the_effective_ones_and_roots_of_the_namespace() {
        let status = "Name:\tx\nUid:\t1000\t33\t1000\t1000\nGid:\t1000\t34\t1000\t1000\n";
        let owners = Owners::parse(status, "         0     100000      65536\n").unwrap();
        assert_eq!(owners, Owners { user: 33, group: 34, root: 100_000 });
        assert!(owners.has(0) && owners.has(100_000) && !owners.has(1000));
        assert_eq!(Owners::parse("", ""), None);
        assert!(Owners::of(std::process::id()).is_some());
    }
}
