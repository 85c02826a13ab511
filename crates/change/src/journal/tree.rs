//! Files below a root, without leaving it.
//!
//! Links are followed here, not by the kernel: an absolute link starts at the root, and `..` stops there, as for a
//! process whose root it is. The result is a path without links. Every later access opens it one directory at a time
//! and follows no link (`O_NOFOLLOW`), so a link that is made in the meantime is an error and cannot lead elsewhere.
//! `openat2` could resolve the links, but it exists only since Linux 5.6, and the filter of a container may refuse it.

use super::JournalError;
use clocksmith_facts::trusted::{self, Missing, Part};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, StatxAttributes, StatxFlags};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

/// As many links as the kernel follows.
const MAX_LINKS: usize = 40;

/// A directory, opened.
const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Whether a link at the end of a path is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// Yes.
    Follow,
    /// No: the link itself is meant.
    Keep,
}

/// A path without links, except perhaps at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Located {
    /// Begins with `/`, which is the root of the tree.
    pub(super) path: PathBuf,
    /// Directories on the path that do not exist, outermost first.
    pub(super) missing: Vec<PathBuf>,
    /// Links that were followed, each by its own place.
    pub(super) links: Vec<PathBuf>,
}

/// A name in an opened directory.
#[derive(Debug)]
pub(super) struct Spot {
    pub(super) directory: OwnedFd,
    pub(super) name: OsString,
    /// For messages.
    pub(super) shown: PathBuf,
}

/// Files below a root.
#[derive(Debug)]
pub(super) struct Tree {
    root: OwnedFd,
    path: PathBuf,
}

/// The system's number of an error of the standard library.
pub(super) fn errno(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

/// Converts an error of the system to one that names the attempted operation and its object.
pub(super) fn io(what: &'static str, path: &Path) -> impl FnOnce(Errno) -> JournalError + use<> {
    let path = path.to_owned();
    move |error| JournalError::Io { what, path, error }
}

impl Tree {
    pub(super) fn open(root: &Path) -> Result<Self, JournalError> {
        // The root itself may be given by a link.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::open(root, flags, Mode::empty()).map_err(io("open", root))?;
        Ok(Self { root: fd, path: root.to_owned() })
    }

    /// The path as seen from outside.
    pub(super) fn shown(&self, path: &Path) -> PathBuf {
        self.path.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// Follows links.
    pub(super) fn locate(&self, path: &Path, end: End) -> Result<Located, JournalError> {
        let wrong = |why| JournalError::Path { path: path.to_owned(), why };
        let mut todo = Vec::new();
        push(&mut todo, path);
        let mut way: Vec<(OsString, OwnedFd)> = Vec::new();
        let mut missing: Vec<OsString> = Vec::new();
        let mut links = Vec::new();
        while let Some(name) = todo.pop() {
            if name == ".." {
                if !missing.is_empty() {
                    return Err(wrong("goes up from a directory that does not exist"));
                }
                way.pop();
                continue;
            }
            let last = todo.is_empty();
            if !missing.is_empty() {
                missing.push(name);
                continue;
            }
            let at = way.last().map_or(&self.root, |(_, fd)| fd);
            let failed = io("look at", &self.shown(path));
            match rustix::fs::statat(at, &name, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => missing.push(name),
                Err(error) => return Err(failed(error)),
                Ok(stat) => match FileType::from_raw_mode(stat.st_mode) {
                    FileType::Symlink if !last || end == End::Follow => {
                        if links.len() >= MAX_LINKS {
                            return Err(wrong("its links lead in circles"));
                        }
                        let mut link = PathBuf::from("/");
                        link.extend(way.iter().map(|(name, _)| name).chain([&name]));
                        links.push(link);
                        let target =
                            rustix::fs::readlinkat(at, &name, Vec::new()).map_err(failed)?;
                        let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
                        if target.is_absolute() {
                            way.clear();
                        }
                        push(&mut todo, &target);
                    }
                    _ if last => missing.push(name),
                    _ => {
                        let fd = rustix::fs::openat(at, &name, DIRECTORY, Mode::empty())
                            .map_err(failed)?;
                        way.push((name, fd));
                    }
                },
            }
        }
        let mut place = PathBuf::from("/");
        place.extend(way.iter().map(|(name, _)| name));
        let Some(name) = missing.pop() else { return Err(wrong("is a directory")) };
        let missing = missing
            .into_iter()
            .map(|name| {
                place.push(name);
                place.clone()
            })
            .collect();
        place.push(name);
        Ok(Located { path: place, missing, links })
    }

    /// Opens a directory of a located path; follows no link.
    pub(super) fn directory(&self, path: &Path) -> Result<OwnedFd, Errno> {
        let mut fd = rustix::fs::openat(&self.root, ".", DIRECTORY, Mode::empty())?;
        for part in path.components() {
            if let Component::Normal(name) = part {
                fd = rustix::fs::openat(&fd, name, DIRECTORY, Mode::empty())?;
            }
        }
        Ok(fd)
    }

    /// The same, if no other user can have made or changed anything from the root of the filesystem to it:
    /// the checks are on the opened directory itself. `links` are those that were followed on the way, as
    /// [`Tree::locate`] gives them.
    pub(super) fn trusted_directory(
        &self,
        path: &Path,
        links: &[PathBuf],
        part: Part,
    ) -> Result<OwnedFd, JournalError> {
        // A link decides nothing, because its target is checked. But a user who can change it can lead the next run
        // elsewhere.
        for link in links {
            let Some(parent) = link.parent() else { continue };
            self.trusted_directory(parent, &[], Part::Way)?;
            let spot = self.sure_spot(link)?;
            if let Some(stat) = spot.stat()? {
                trusted::link(&stat, &spot.shown)?;
            }
        }
        let above = trusted::open_directory(&self.path, Missing::Error, Part::Way)?;
        let stat = |fd: &OwnedFd| rustix::fs::fstat(fd).map_err(io("look at", &self.path));
        let (named, ours) = (stat(&above)?, stat(&self.root)?);
        if (named.st_ino, named.st_dev) != (ours.st_ino, ours.st_dev) {
            return Err(JournalError::Path {
                path: self.path.clone(),
                why: "became a different directory at this moment: try again",
            });
        }
        let mut fd = above;
        let mut at = PathBuf::from("/");
        let mut parts = path.components().peekable();
        while let Some(component) = parts.next() {
            let Component::Normal(name) = component else { continue };
            at.push(name);
            let shown = self.shown(&at);
            fd = rustix::fs::openat(&fd, name, DIRECTORY, Mode::empty())
                .map_err(io("open", &shown))?;
            let part = if parts.peek().is_none() { part } else { Part::Way };
            trusted::directory(&fd, &shown, part)?;
        }
        Ok(fd)
    }

    /// The end of a located path, in its opened directory; `None` if the directory is missing.
    pub(super) fn spot(&self, path: &Path) -> Result<Option<Spot>, JournalError> {
        let shown = self.shown(path);
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(JournalError::Path { path: shown, why: "is a directory" });
        };
        match self.directory(parent) {
            Ok(directory) => Ok(Some(Spot { directory, name: name.to_owned(), shown })),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(error) => Err(io("open the directory of", &shown)(error)),
        }
    }

    /// A link that is now on the way to a located path, where none was: a program finds another
    /// file there.
    pub(super) fn link_on_way(&self, path: &Path) -> Result<Option<Located>, JournalError> {
        match self.locate(path, End::Keep) {
            Ok(located) => Ok(Some(located).filter(|located| !located.links.is_empty())),
            // A file is in place of a directory: nothing is below it.
            Err(JournalError::Io { error: Errno::NOTDIR | Errno::NOENT, .. }) => Ok(None),
            // A link that leads to itself has no target, either.
            Err(JournalError::Path { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The same, where the directory must be there.
    pub(super) fn sure_spot(&self, path: &Path) -> Result<Spot, JournalError> {
        self.spot(path)?.ok_or_else(|| io("open the directory of", &self.shown(path))(Errno::NOENT))
    }

    /// Makes a directory of a located path durably; an existing one is accepted. Returns whether it was made.
    pub(super) fn make_directory(&self, path: &Path, mode: u32) -> Result<bool, JournalError> {
        let spot = self.sure_spot(path)?;
        match rustix::fs::mkdirat(&spot.directory, &spot.name, Mode::from_raw_mode(mode)) {
            Ok(()) => {}
            Err(Errno::EXIST) => return Ok(false),
            Err(error) => return Err(io("make the directory", &spot.shown)(error)),
        }
        // For any umask of the process.
        let made = self.directory(path).map_err(io("open", &spot.shown))?;
        rustix::fs::fchmod(&made, Mode::from_raw_mode(mode))
            .map_err(io("set the mode of", &spot.shown))?;
        rustix::fs::fsync(&made).map_err(io("sync", &spot.shown))?;
        spot.sync()?;
        Ok(true)
    }

    /// Removes a directory if it is empty; returns whether it no longer exists.
    pub(super) fn remove_directory(&self, path: &Path) -> Result<bool, JournalError> {
        let Some(spot) = self.spot(path)? else { return Ok(true) };
        match rustix::fs::unlinkat(&spot.directory, &spot.name, AtFlags::REMOVEDIR) {
            Ok(()) => spot.sync().map(|()| true),
            Err(Errno::NOENT) => Ok(true),
            Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => Ok(false),
            Err(error) => Err(io("remove the directory", &spot.shown)(error)),
        }
    }

    /// Makes changes of names durable, in the directories of these paths; in those that exist.
    pub(super) fn sync_names<'a>(
        &self,
        paths: impl IntoIterator<Item = &'a Path>,
    ) -> Result<(), JournalError> {
        let parents: BTreeSet<&Path> = paths.into_iter().filter_map(Path::parent).collect();
        for parent in parents {
            // Any name in it.
            if let Some(spot) = self.spot(&parent.join("x"))? {
                spot.sync()?;
            }
        }
        Ok(())
    }

    /// The names in a directory of a located path, sorted; `None` if it is not a directory.
    pub(super) fn names(&self, path: &Path) -> Result<Option<Vec<OsString>>, JournalError> {
        match self.directory(path) {
            Ok(fd) => names(&fd).map(Some).map_err(io("list", &self.shown(path))),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(error) => Err(io("open", &self.shown(path))(error)),
        }
    }
}

/// The names in an opened directory, sorted.
pub(super) fn names(fd: &OwnedFd) -> Result<Vec<OsString>, Errno> {
    let mut names = Vec::new();
    for entry in rustix::fs::Dir::read_from(fd)? {
        let name = entry?.file_name().to_bytes().to_vec();
        if name != b"." && name != b".." {
            names.push(OsString::from_vec(name));
        }
    }
    names.sort();
    Ok(names)
}

/// Pushes the parts of a path onto a stack, the first one on top.
fn push(todo: &mut Vec<OsString>, path: &Path) {
    todo.extend(path.components().rev().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    }));
}

impl Spot {
    /// Another name in the same directory.
    pub(super) fn beside(&self, name: &OsStr) -> Result<Self, JournalError> {
        let failed = io("open the directory of", &self.shown);
        let directory = self
            .directory
            .try_clone()
            .map_err(|error| failed(Errno::from_io_error(&error).unwrap_or(Errno::MFILE)))?;
        Ok(Self { directory, name: name.to_owned(), shown: self.shown.with_file_name(name) })
    }

    /// The file's status; `None` if it does not exist.
    pub(super) fn stat(&self) -> Result<Option<Stat>, JournalError> {
        match rustix::fs::statat(&self.directory, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(io("look at", &self.shown)(error)),
        }
    }

    /// Returns whether another file or directory is mounted on it. Kernels before 5.8 do not report that
    /// (`STATX_ATTR_MOUNT_ROOT`, statx(2)).
    pub(super) fn is_mount_point(&self) -> bool {
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        let found = rustix::fs::statx(&self.directory, &self.name, flags, StatxFlags::TYPE);
        found.is_ok_and(|found| found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
    }

    /// Removes the file; returns whether it existed. Not yet durable.
    pub(super) fn unlink(&self) -> Result<bool, JournalError> {
        match rustix::fs::unlinkat(&self.directory, &self.name, AtFlags::empty()) {
            Ok(()) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(error) => Err(io("remove", &self.shown)(error)),
        }
    }

    /// Gives the file another name in the same directory. Not yet durable.
    pub(super) fn rename(&self, to: &Self) -> Result<(), JournalError> {
        rustix::fs::renameat(&self.directory, &self.name, &to.directory, &to.name)
            .map_err(io("replace", &to.shown))
    }

    /// Makes changes of names in its directory durable.
    pub(super) fn sync(&self) -> Result<(), JournalError> {
        match rustix::fs::fsync(&self.directory) {
            // Some filesystems cannot sync directories; that is ignored.
            Ok(()) | Err(Errno::INVAL) => Ok(()),
            Err(error) => Err(io("sync the directory of", &self.shown)(error)),
        }
    }
}
