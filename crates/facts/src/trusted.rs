//! Files and directories that no other user can have created, replaced or changed.
//!
//! Files that root obeys or writes repeatedly have a known name, and every user who may write a directory can create a
//! name in it. So each directory on the path is opened separately, without following a link (`O_NOFOLLOW`), and the
//! opened file is examined (`fstat`), not the name: nothing can change between the check and the use. Links are
//! followed by this code, and only if their owner is trusted.
//!
//! Trusted are root and the (effective) user of this process; group and others must not have write
//! permission, which an access control list shows in the bits of the group. A directory with the sticky bit may be
//! written by others if it is only on the path: names of other owners cannot be changed in it.
//!
//! A FUSE filesystem shows arbitrary owners, and other users can access it if `user_allow_other` was set
//! in fuse.conf. So one that another user mounted is not trusted, whatever it shows (`trusted/fuse.rs`).

mod fuse;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};
use thiserror::Error;

/// The maximum number of links, as in the kernel.
const MAX_LINKS: usize = 40;
/// To pass through a directory and to examine it; needs no permission to list it.
const WAY: OFlags =
    OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// A file that another user could have created or changed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{} (owner {owner}, mode {mode:04o}) {why}", path.display())]
pub struct Foreign {
    /// The file, directory or link.
    pub path: PathBuf,
    /// The id of its owner.
    pub owner: u32,
    /// Its permissions, with the sticky bit: 0 to 0o7777.
    pub mode: u32,
    /// The reason why it is not trusted.
    pub why: String,
}

/// The reason why a file is not used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Untrusted {
    /// Another user could have created or changed it.
    #[error(transparent)]
    Foreign(#[from] Foreign),
    /// A call to the system failed.
    #[error("cannot {what} {}: {error}", path.display())]
    Io {
        /// The verb, as in `cannot open`.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: Errno,
    },
}

impl From<Untrusted> for std::io::Error {
    fn from(error: Untrusted) -> Self {
        let kind = match &error {
            Untrusted::Foreign(_) => std::io::ErrorKind::PermissionDenied,
            Untrusted::Io { error, .. } => std::io::Error::from(*error).kind(),
        };
        Self::new(kind, error)
    }
}

/// The position of a directory relative to the requested file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// It is on the path.
    Way,
    /// It contains the requested files.
    Home,
}

/// Whether a missing directory is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// No: an error.
    Error,
    /// Yes, with this mode, minus the umask.
    Make(u32),
}

fn io(what: &'static str, path: &Path) -> impl FnOnce(Errno) -> Untrusted {
    let path = path.to_owned();
    move |error| Untrusted::Io { what, path, error }
}

/// Examines an opened directory.
///
/// # Errors
/// Returns an error if the directory is not trusted or cannot be examined.
pub fn directory(fd: impl AsFd, shown: &Path, part: Part) -> Result<(), Untrusted> {
    let fd = fd.as_fd();
    let stat = rustix::fs::fstat(fd).map_err(io("look at", shown))?;
    owner(&stat, shown)?;
    mount(fd, &stat, shown)?;
    let mode = permissions(&stat);
    if mode & 0o022 != 0 && (part == Part::Home || mode & 0o1000 == 0) {
        return Err(foreign(&stat, shown, "lets other users make and rename files in it"));
    }
    Ok(())
}

/// Examines an opened file.
///
/// # Errors
/// Returns an error if the file is not trusted, is not a regular file, or cannot be examined.
pub fn file(fd: impl AsFd, shown: &Path) -> Result<(), Untrusted> {
    let fd = fd.as_fd();
    let stat = rustix::fs::fstat(fd).map_err(io("look at", shown))?;
    if !FileType::from_raw_mode(stat.st_mode).is_file() {
        return Err(foreign(&stat, shown, "is not a regular file"));
    }
    owner(&stat, shown)?;
    mount(fd, &stat, shown)?;
    if permissions(&stat) & 0o022 != 0 {
        return Err(foreign(&stat, shown, "can be written by other users"));
    }
    Ok(())
}

/// Examines a link: its owner may have changed its target.
///
/// # Errors
/// Returns an error if the link is not trusted.
pub fn link(stat: &Stat, shown: &Path) -> Result<(), Untrusted> {
    owner(stat, shown)
}

/// Whether a user is root or the user of this process.
fn is_ours(user: u32) -> bool {
    user == 0 || user == rustix::process::geteuid().as_raw()
}

fn mount(fd: BorrowedFd<'_>, stat: &Stat, shown: &Path) -> Result<(), Untrusted> {
    match fuse::refused(fd) {
        Some(why) => Err(foreign(stat, shown, &why)),
        None => Ok(()),
    }
}

fn owner(stat: &Stat, shown: &Path) -> Result<(), Untrusted> {
    let user = rustix::process::geteuid().as_raw();
    if is_ours(stat.st_uid) {
        return Ok(());
    }
    let why = format!("belongs to a user other than the one who runs this (user {user})");
    Err(foreign(stat, shown, &why))
}

fn foreign(stat: &Stat, shown: &Path, why: &str) -> Untrusted {
    Untrusted::Foreign(Foreign {
        path: shown.to_owned(),
        owner: stat.st_uid,
        mode: permissions(stat),
        why: why.to_owned(),
    })
}

// The type of this field differs between processors.
#[allow(clippy::unnecessary_cast)]
fn permissions(stat: &Stat) -> u32 {
    (stat.st_mode as u32) & 0o7777
}

/// Opens a directory whose whole path from the root of the filesystem is trusted. A relative path begins at the
/// working directory.
///
/// # Errors
/// Returns an error if the directory or a part of its path is not trusted, is missing, or cannot be opened.
pub fn open_directory(path: &Path, missing: Missing, part: Part) -> Result<OwnedFd, Untrusted> {
    let (shown, last) = walk(path, missing, Look::Directories)?;
    directory(&last, &shown, part)?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat(&last, ".", flags, Mode::empty()).map_err(io("open", &shown))
}

/// Opens a file for reading that no other user can have created, replaced or changed: the file, and every directory and
/// link on its path, is trusted. A relative path begins at the working directory.
///
/// # Errors
/// Returns an error if a part of the path is not trusted, is missing, or cannot be opened.
pub fn open(path: &Path) -> Result<OwnedFd, Untrusted> {
    let mut path = path.to_owned();
    for _ in 0..=MAX_LINKS {
        let Parent { directory: at, name, shown } = parent(&path, Look::Directories)?;
        directory(&at, shown.parent().unwrap_or(&shown), Part::Way)?;
        match rustix::fs::statat(&at, &name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if FileType::from_raw_mode(stat.st_mode).is_symlink() => {
                link(&stat, &shown)?;
                path = shown.with_file_name(target(&at, &name, &shown)?);
            }
            _ => return open_file(&at, &name, OFlags::RDONLY, 0, &shown),
        }
    }
    Err(io("open", &path)(Errno::LOOP))
}

/// The opened directory of a file.
#[derive(Debug)]
pub struct Parent {
    /// The directory, as a place (`O_PATH`) for `openat(2)` and similar calls.
    pub directory: OwnedFd,
    /// The name of the file in it.
    pub name: OsString,
    /// The path of the file, without links.
    pub shown: PathBuf,
}

/// The directory of a file that will be written. It may belong to any user, but a link of another user on the path is
/// not followed: such a link would choose the destination of the file.
///
/// # Errors
/// Returns an error if a link is not trusted, or there is no such directory.
pub fn place(path: &Path) -> Result<Parent, Untrusted> {
    parent(path, Look::Links)
}

/// Opens a directory in which files will be written, and creates it if it is missing; returns its path without links,
/// and the open directory. It may belong to any user, but a link on its path that another user made is not followed.
///
/// # Errors
/// Returns an error if a link is not trusted, or the directory cannot be made or opened.
pub fn directory_to_write(path: &Path, missing: Missing) -> Result<(PathBuf, OwnedFd), Untrusted> {
    walk(path, missing, Look::Links)
}

/// The place of an existing file that will be changed: links at its name and on its path are followed, unless
/// another user created them. The file and its directory may belong to any user.
///
/// # Errors
/// Returns an error if a link is not trusted, or there is no such directory or name.
pub fn resolve(path: &Path) -> Result<Parent, Untrusted> {
    let mut path = path.to_owned();
    for _ in 0..=MAX_LINKS {
        let place = place(&path)?;
        let stat = rustix::fs::statat(&place.directory, &place.name, AtFlags::SYMLINK_NOFOLLOW)
            .map_err(io("find", &place.shown))?;
        if !FileType::from_raw_mode(stat.st_mode).is_symlink() {
            return Ok(place);
        }
        link(&stat, &place.shown)?;
        let target = target(&place.directory, &place.name, &place.shown)?;
        path = place.shown.with_file_name(target);
    }
    Err(io("open", &path)(Errno::LOOP))
}

fn parent(path: &Path, look: Look) -> Result<Parent, Untrusted> {
    // `x/..` and `/` name directories.
    let name = path.file_name().ok_or_else(|| io("open", path)(Errno::ISDIR))?.to_owned();
    let above = match path.parent() {
        Some(above) if !above.as_os_str().is_empty() => above,
        _ => Path::new("."),
    };
    let (above, directory) = walk(above, Missing::Error, look)?;
    Ok(Parent { directory, shown: above.join(&name), name })
}

fn target(at: impl AsFd, name: &OsStr, shown: &Path) -> Result<PathBuf, Untrusted> {
    let target =
        rustix::fs::readlinkat(at, name, Vec::new()).map_err(io("read the link", shown))?;
    Ok(PathBuf::from(OsString::from_vec(target.into_bytes())))
}

/// The parts of a path that are examined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    /// Links and directories.
    Directories,
    /// Links only.
    Links,
}

/// Walks to a directory: returns its path without links, and its descriptor. Directories on the path are examined; the
/// last one is not.
fn walk(path: &Path, missing: Missing, look: Look) -> Result<(PathBuf, OwnedFd), Untrusted> {
    let begin = std::path::absolute(path)
        .map_err(|error| io("find", path)(Errno::from_io_error(&error).unwrap_or(Errno::NOENT)))?;
    let root = Path::new("/");
    let mut way = vec![(root.to_owned(), open_part(None, OsStr::new("/"), root)?)];
    let mut todo = Vec::new();
    push(&mut todo, &begin);
    let mut links = 0;
    while let Some(name) = todo.pop() {
        if name == ".." {
            if way.len() > 1 {
                way.pop();
            }
            continue;
        }
        let Some((place, at)) = way.last() else { break };
        if look == Look::Directories {
            directory(at, place, Part::Way)?;
        }
        let shown = place.join(&name);
        let stat = match rustix::fs::statat(at, &name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => {
                let Missing::Make(mode) = missing else {
                    return Err(io("open", &shown)(Errno::NOENT));
                };
                match rustix::fs::mkdirat(at, &name, Mode::from_raw_mode(mode)) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(error) => return Err(io("make the directory", &shown)(error)),
                }
                None
            }
            other => Some(other.map_err(io("look at", &shown))?),
        };
        match stat {
            Some(stat) if FileType::from_raw_mode(stat.st_mode).is_symlink() => {
                link(&stat, &shown)?;
                links += 1;
                if links > MAX_LINKS {
                    return Err(io("open", &shown)(Errno::LOOP));
                }
                let target = target(at, &name, &shown)?;
                if target.is_absolute() {
                    way.truncate(1);
                }
                push(&mut todo, &target);
            }
            _ => {
                let fd = open_part(Some(at), &name, &shown)?;
                way.push((shown, fd));
            }
        }
    }
    way.pop().ok_or_else(|| io("open", path)(Errno::NOENT))
}

fn open_part(at: Option<&OwnedFd>, name: &OsStr, shown: &Path) -> Result<OwnedFd, Untrusted> {
    match at {
        Some(at) => rustix::fs::openat(at, name, WAY, Mode::empty()),
        None => rustix::fs::open(name, WAY, Mode::empty()),
    }
    .map_err(io("open", shown))
}

/// Pushes the parts of a path onto a stack, the first one on top.
fn push(todo: &mut Vec<OsString>, path: &Path) {
    todo.extend(path.components().rev().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    }));
}

/// Opens a file of an opened directory and examines the opened file. It never opens through a link,
/// and never waits for the other end of a pipe. `flags` are additional ones of `open(2)`.
///
/// # Errors
/// Returns an error if the file is not trusted, is missing, or cannot be opened.
pub fn open_file(
    directory: impl AsFd,
    name: &OsStr,
    flags: OFlags,
    mode: u32,
    shown: &Path,
) -> Result<OwnedFd, Untrusted> {
    let directory = directory.as_fd();
    let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(directory, name, flags, Mode::from_raw_mode(mode));
    let fd = match opened {
        // A link; a pipe without a reader, or a socket. Only for the message.
        Err(error @ (Errno::LOOP | Errno::NXIO)) => {
            let stat = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW);
            return Err(match stat {
                Ok(stat) if FileType::from_raw_mode(stat.st_mode).is_symlink() => {
                    foreign(&stat, shown, "is a symbolic link")
                }
                Ok(stat) => foreign(&stat, shown, "is not a regular file"),
                Err(_) => io("open", shown)(error),
            });
        }
        other => other.map_err(io("open", shown))?,
    };
    file(&fd, shown)?;
    Ok(fd)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, chown, lchown, symlink};

    fn chmod(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn open(path: &Path) -> Result<OwnedFd, Untrusted> {
        open_directory(path, Missing::Error, Part::Home)
    }

    #[test]
    fn directory_others_can_write_is_refused_with_owner_and_mode() {
        let dir = tempfile::tempdir().unwrap();
        let inner = dir.path().join("way/home");
        fs::create_dir_all(&inner).unwrap();
        chmod(&dir.path().join("way"), 0o755);
        chmod(&inner, 0o755);
        open(&inner).unwrap();
        for mode in [0o775, 0o757, 0o1777] {
            chmod(&inner, mode);
            let Err(Untrusted::Foreign(foreign)) = open(&inner) else { panic!("{mode:o}") };
            assert_eq!((foreign.path.as_path(), foreign.mode), (inner.as_path(), mode));
        }
        chmod(&inner, 0o755);
        chmod(&dir.path().join("way"), 0o777);
        let error = open(&inner).unwrap_err().to_string();
        assert!(error.contains("way (owner") && error.contains("mode 0777"), "{error}");
        // Others can create names in it, and cannot change ours.
        chmod(&dir.path().join("way"), 0o1777);
        open(&inner).unwrap();
    }

    #[test]
    fn missing_directories_are_made_and_links_of_ours_followed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b");
        assert!(open(&path).is_err() && !path.exists());
        open_directory(&path, Missing::Make(0o755), Part::Home).unwrap();
        assert!(path.is_dir());
        symlink("a/../a/b", dir.path().join("link")).unwrap();
        open(&dir.path().join("link")).unwrap();
        symlink("circle", dir.path().join("circle")).unwrap();
        assert!(open(&dir.path().join("circle")).is_err());
    }

    #[test]
    fn only_regular_files_of_ours_are_opened() {
        let dir = tempfile::tempdir().unwrap();
        let fd = open(dir.path()).unwrap();
        let flags = OFlags::RDWR | OFlags::CREATE;
        let try_open = |name: &str, flags| {
            open_file(&fd, OsStr::new(name), flags, 0o644, &dir.path().join(name))
        };
        try_open("file", flags).unwrap();
        symlink("file", dir.path().join("link")).unwrap();
        assert!(try_open("link", flags).unwrap_err().to_string().contains("symbolic link"));
        rustix::fs::mkfifoat(&fd, "pipe", Mode::from_raw_mode(0o600)).unwrap();
        for flags in [OFlags::RDONLY, OFlags::WRONLY, OFlags::RDWR] {
            let error = try_open("pipe", flags).unwrap_err().to_string();
            assert!(error.contains("not a regular file"), "{error}");
        }
        chmod(&dir.path().join("file"), 0o666);
        assert!(try_open("file", flags).unwrap_err().to_string().contains("mode 0666"));
    }

    #[test]
    fn open_follows_links_of_ours_to_files_that_others_cannot_write() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("home");
        fs::create_dir(&home).unwrap();
        fs::write(home.join("file"), "x").unwrap();
        symlink("home/file", dir.path().join("link")).unwrap();
        symlink("../link", home.join("back")).unwrap();
        for name in ["home/file", "link", "home/back"] {
            super::open(&dir.path().join(name)).unwrap();
        }
        symlink("circle", dir.path().join("circle")).unwrap();
        for name in ["circle", "none", "home", "home/.."] {
            assert!(super::open(&dir.path().join(name)).is_err(), "{name}");
        }
        chmod(&home.join("file"), 0o620);
        let error = super::open(&dir.path().join("link")).unwrap_err().to_string();
        assert!(error.contains("home/file (owner") && error.contains("mode 0620"), "{error}");
        chmod(&home.join("file"), 0o600);
        chmod(&home, 0o777);
        let error = super::open(&dir.path().join("link")).unwrap_err().to_string();
        assert!(error.contains("home (owner") && error.contains("mode 0777"), "{error}");
        // In a directory like /tmp a file of ours stays ours.
        chmod(&home, 0o1777);
        super::open(&dir.path().join("link")).unwrap();
    }

    #[test]
    fn place_is_anybodys_and_no_link_of_others_leads_to_it() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("home");
        fs::create_dir(&home).unwrap();
        chmod(&home, 0o777);
        symlink("home", dir.path().join("link")).unwrap();
        let place = super::place(&dir.path().join("link/new")).unwrap();
        assert_eq!((place.name.as_os_str(), &place.shown), (OsStr::new("new"), &home.join("new")));
        assert!(super::place(&dir.path().join("none/new")).is_err());
        if rustix::process::geteuid().is_root() {
            lchown(dir.path().join("link"), Some(1000), None).unwrap();
            let error = super::place(&dir.path().join("link/new")).unwrap_err().to_string();
            assert!(error.contains("link (owner 1000"), "{error}");
        }
    }

    #[test]
    fn resolve_follows_links_of_ours_alone() {
        let dir = tempfile::tempdir().unwrap();
        let (home, link) = (dir.path().join("home"), dir.path().join("link"));
        fs::create_dir(&home).unwrap();
        fs::write(home.join("file"), "x").unwrap();
        symlink("home/file", &link).unwrap();
        symlink("../link", home.join("back")).unwrap();
        symlink("home", dir.path().join("way")).unwrap();
        for name in ["home/file", "link", "home/back", "way/file", "way/back"] {
            let found = super::resolve(&dir.path().join(name)).unwrap().shown;
            assert_eq!(found, fs::canonicalize(home.join("file")).unwrap(), "{name}");
        }
        symlink("circle", dir.path().join("circle")).unwrap();
        for name in ["circle", "none", "home/.."] {
            assert!(super::resolve(&dir.path().join(name)).is_err(), "{name}");
        }
        if rustix::process::geteuid().is_root() {
            lchown(&link, Some(1000), None).unwrap();
            lchown(dir.path().join("way"), Some(1000), None).unwrap();
            for name in ["link", "home/back", "way/file"] {
                let error = super::resolve(&dir.path().join(name)).unwrap_err().to_string();
                assert!(error.contains("(owner 1000"), "{error}");
            }
        }
    }

    #[test]
    fn what_belongs_to_another_user_is_refused() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let (ours, theirs) = (dir.path().join("ours"), dir.path().join("theirs"));
        fs::create_dir_all(&ours).unwrap();
        fs::create_dir_all(theirs.join("home")).unwrap();
        // With any umask.
        let mode = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        mode(&ours, 0o755);
        mode(&theirs, 0o755);
        mode(&theirs.join("home"), 0o755);
        chown(&theirs, Some(1000), None).unwrap();
        let error = open(&theirs.join("home")).unwrap_err().to_string();
        assert!(error.contains("theirs (owner 1000, mode 0755)"), "{error}");
        symlink(&theirs, dir.path().join("to-theirs")).unwrap();
        assert!(matches!(open(&dir.path().join("to-theirs")), Err(Untrusted::Foreign(_))));
        // The link of another user, to one of our directories.
        symlink(&ours, dir.path().join("link")).unwrap();
        open(&dir.path().join("link")).unwrap();
        lchown(dir.path().join("link"), Some(1000), None).unwrap();
        assert!(matches!(open(&dir.path().join("link")), Err(Untrusted::Foreign(_))));
        fs::write(ours.join("file"), "x").unwrap();
        mode(&ours.join("file"), 0o644);
        chown(ours.join("file"), Some(1000), None).unwrap();
        let fd = open(&ours).unwrap();
        let error =
            open_file(&fd, OsStr::new("file"), OFlags::RDONLY, 0, &ours.join("file")).unwrap_err();
        assert!(error.to_string().contains("file (owner 1000, mode 0644)"), "{error}");
    }
}
