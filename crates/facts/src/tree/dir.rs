//! A directory that mirrors a machine's root: a `--root` tree, an unpacked sosreport, or `/` itself.
//!
//! A mirror is foreign input, so nothing in it is trusted: every component is resolved by hand
//! from the directory's own descriptor, symbolic links are followed as the mirrored machine would
//! follow them (an absolute target starts at the mirror's root), a `..` that climbs above the root
//! is refused, and only regular files are opened, without blocking. A link of one user to a file of another is refused,
//! and so is one by which a name in `proc` or `sys` would be a file elsewhere: root would show, or put into a bundle, what
//! the author of the link cannot read.

use super::holes::Dense;
use super::{Tree, command_for, components, from_io, is_obeyed, is_virtual};
use crate::trusted::{self, Untrusted};
use crate::{Missing, Why};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::ffi::{CStr, CString, OsStr};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Links that one path may go through; the kernel's own limit.
const MAX_LINKS: usize = 40;

/// Names that one directory may list (`/sys/devices/system/cpu` has the most).
const MAX_NAMES: usize = 65_536;

const PROC_MAGIC: u64 = 0x9fa0;
const SYSFS_MAGIC: u64 = 0x6265_6572;

/// A directory that mirrors a machine's root.
#[derive(Debug)]
pub struct DirTree {
    root: OwnedFd,
    path: PathBuf,
    /// Whether `proc` below this root is a kernel's own: a file that is absent there is absent on the machine.
    real_proc: bool,
    /// The same of `sys`.
    real_sys: bool,
}

impl DirTree {
    /// Opens a root directory.
    ///
    /// # Errors
    /// Returns the system's error, for instance if the directory does not exist, is not a directory, or may not be
    /// opened.
    pub fn new(root: impl AsRef<Path>) -> io::Result<Self> {
        let path = root.as_ref().to_path_buf();
        let root = rustix::fs::open(&path, DIRECTORY, Mode::empty())?;
        let magic = |name: &str, wanted: u64| {
            rustix::fs::openat(&root, name, DIRECTORY | OFlags::NOFOLLOW, Mode::empty())
                .and_then(rustix::fs::fstatfs)
                // The width of f_type differs between architectures; the magic numbers fit in 32 bits.
                .is_ok_and(|stat| (stat.f_type as u64) & 0xffff_ffff == wanted)
        };
        let (real_proc, real_sys) = (magic("proc", PROC_MAGIC), magic("sys", SYSFS_MAGIC));
        Ok(Self { root, path, real_proc, real_sys })
    }

    /// The mirror's own directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Checks that the path still leads to this directory.
    ///
    /// # Errors
    /// Returns an error if the directory is gone, or another one has its name.
    pub fn check_place(&self) -> io::Result<()> {
        let (now, own) = (rustix::fs::stat(&self.path)?, rustix::fs::fstat(&self.root)?);
        if (now.st_dev, now.st_ino) == (own.st_dev, own.st_ino) {
            return Ok(());
        }
        Err(io::Error::other(format!("{} is now another directory", self.path.display())))
    }

    /// Whether both are mounted here: `/proc` and `/sys` of the running kernel.
    pub(super) fn is_running(&self) -> bool {
        self.real_proc && self.real_sys
    }

    /// Opens one file, which may be read from any place in it.
    ///
    /// # Errors
    /// See [`Tree::open`].
    pub fn file(&self, path: &str) -> Result<File, Missing> {
        // A mirror is believed about itself; `/` is this machine.
        if self.path == Path::new("/") && is_obeyed(path) {
            return open_trusted(&self.path.join(path), self.describe(path));
        }
        match self.resolve(path) {
            Ok(Node::File(file)) => Ok(file),
            Ok(Node::Directory(_)) => {
                Err(self.missing(path, Refused::Because("it is a directory")))
            }
            Err(error) => Err(self.missing(path, error)),
        }
    }

    fn missing(&self, path: &str, error: Refused) -> Missing {
        let at = self.describe(path);
        match error {
            Refused::Because(what) => Missing::new(Why::Unreadable(what.to_owned()), at),
            Refused::System(error) => {
                let missing = from_io(&error.into(), at);
                match missing.why {
                    Why::Absent if !self.is_proof(path) => self.not_mirrored(path),
                    _ => missing,
                }
            }
        }
    }

    /// Whether absence below this root proves absence on the machine.
    fn is_proof(&self, path: &str) -> bool {
        (self.real_proc && path.starts_with("proc/"))
            || (self.real_sys && path.starts_with("sys/"))
            || self.path == Path::new("/")
    }

    fn not_mirrored(&self, path: &str) -> Missing {
        let missing = Missing::new(Why::NotAsked, self.describe(path));
        // One of the two is mounted, as in a container: the other one was forgotten, or is not a sysfs.
        let other = match (self.real_proc, self.real_sys) {
            (true, false) => Some("sys"),
            (false, true) => Some("proc"),
            _ => None,
        };
        if let Some(top) = other.filter(|top| path.split('/').next() == Some(top)) {
            let place = crate::shell::quote(&format!("{}/{top}", self.path.display()));
            return missing.how(format!("mount /{top} of the host at {place}"));
        }
        // The sender of a directory chooses its name, and this is pasted into a shell.
        let file = crate::shell::quote(&format!("{}/{path}", self.path.display()));
        match command_for(path) {
            Some(command) => missing.how(format!("{command} > {file}")),
            None if is_virtual(path) => missing.how("run `clocksmith collect` on that machine"),
            None => missing.how(format!("copy /{path} of that machine to {file}")),
        }
    }

    /// Opens the file or directory that `path` names, if its links are followed ([`Way`]).
    fn resolve(&self, path: &str) -> Result<Node, Refused> {
        let (node, way) = self.walk(path)?;
        if !way.owners.is_empty() {
            self.is_followed(path, &node, &way)?;
        }
        Ok(node)
    }

    /// Refuses what a link leads to although the author of the link may not be allowed to read it: a file of another
    /// user, and any other file by the name of one that the kernel makes.
    fn is_followed(&self, path: &str, node: &Node, way: &Way) -> Result<(), Refused> {
        let owner = rustix::fs::fstat(node.as_fd())?.st_uid;
        let ours = [0, rustix::process::geteuid().as_raw(), owner];
        if way.owners.iter().any(|link| !ours.contains(link)) {
            return Err(Refused::Because("a link of another user than the owner of the file"));
        }
        let kernels = |top: &str| {
            let place = self.walk(top).map(|(_, way)| way.names);
            place.is_ok_and(|place| !place.is_empty() && way.names.starts_with(&place))
        };
        let top = path.split('/').find(|part| !matches!(*part, "" | ".")).unwrap_or_default();
        if KERNELS.contains(&top) && !KERNELS.into_iter().any(kernels) {
            return Err(Refused::Because("a link that leads out of proc and sys"));
        }
        Ok(())
    }

    /// Walks to the file or directory that `path` names.
    fn walk(&self, path: &str) -> Result<(Node, Way), Refused> {
        let mut todo: VecDeque<CString> = VecDeque::new();
        push_front(&mut todo, components(path).map_err(Refused::Because)?.iter().copied())?;
        let mut stack: Vec<OwnedFd> = Vec::new();
        let mut way = Way::default();
        while let Some(name) = todo.pop_front() {
            if name.as_bytes() == b".." {
                if stack.pop().is_none() {
                    return Err(Refused::Because("a link that leads out of the root directory"));
                }
                way.names.pop();
                continue;
            }
            let here = stack.last().map_or_else(|| self.root.as_fd(), AsFd::as_fd);
            let stat = rustix::fs::statat(here, &name, AtFlags::SYMLINK_NOFOLLOW)?;
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::Symlink => {
                    way.owners.push(stat.st_uid);
                    if way.owners.len() > MAX_LINKS {
                        return Err(Refused::Because("too many symbolic links"));
                    }
                    let target = rustix::fs::readlinkat(here, &name, Vec::new())?;
                    let text =
                        target.to_str().map_err(|_| Refused::Because("a link not in UTF-8"))?;
                    if text.starts_with('/') {
                        stack.clear();
                        way.names.clear();
                    }
                    let parts = text.split('/').filter(|part| !matches!(*part, "" | "."));
                    push_front(&mut todo, parts.collect::<Vec<_>>().into_iter())?;
                }
                FileType::Directory => {
                    stack.push(open_at(here, &name, DIRECTORY)?);
                    way.names.push(name);
                }
                FileType::RegularFile if todo.is_empty() => {
                    let file = regular(open_at(here, &name, FILE)?)?;
                    way.names.push(name);
                    return Ok((Node::File(file), way));
                }
                FileType::RegularFile => return Err(Refused::System(Errno::NOTDIR)),
                _ => return Err(Refused::Because("it is not a regular file")),
            }
        }
        let directory = match stack.pop() {
            Some(directory) => directory,
            None => self.root.try_clone().map_err(|_| Refused::System(Errno::MFILE))?,
        };
        Ok((Node::Directory(directory), way))
    }
}

/// The directories whose files the kernel makes.
const KERNELS: [&str; 2] = ["proc", "sys"];

/// How a path was resolved.
#[derive(Default)]
struct Way {
    /// The components without links, from the root.
    names: Vec<CString>,
    /// The owners of the links on the way.
    owners: Vec<u32>,
}

const DIRECTORY: OFlags = OFlags::DIRECTORY.union(OFlags::RDONLY).union(OFlags::CLOEXEC);
/// Never waits for the writer of a FIFO, never becomes the controlling terminal's owner.
const FILE: OFlags =
    OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

enum Node {
    File(File),
    Directory(OwnedFd),
}

impl AsFd for Node {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::File(file) => file.as_fd(),
            Self::Directory(directory) => directory.as_fd(),
        }
    }
}

enum Refused {
    System(Errno),
    Because(&'static str),
}

impl From<Errno> for Refused {
    fn from(error: Errno) -> Self {
        Self::System(error)
    }
}

fn open_at(dir: BorrowedFd<'_>, name: &CStr, flags: OFlags) -> Result<OwnedFd, Errno> {
    // NOFOLLOW: the file that was just examined may have been replaced by a link.
    rustix::fs::openat(dir, name, flags | OFlags::NOFOLLOW, Mode::empty())
}

fn push_front<'a>(
    todo: &mut VecDeque<CString>,
    parts: impl DoubleEndedIterator<Item = &'a str>,
) -> Result<(), Refused> {
    for part in parts.rev() {
        todo.push_front(CString::new(part).map_err(|_| Refused::Because("a NUL byte in a path"))?);
    }
    if todo.len() > 1024 { Err(Refused::System(Errno::NAMETOOLONG)) } else { Ok(()) }
}

/// Opens a file that counts only if no other user can have made or changed it.
pub(super) fn open_trusted(path: &Path, at: String) -> Result<File, Missing> {
    trusted::open(path).map(File::from).map_err(|error| match error {
        Untrusted::Foreign(foreign) => Missing::new(Why::Unreadable(foreign.to_string()), at),
        Untrusted::Io { error, .. } => from_io(&error.into(), at),
    })
}

fn regular(fd: OwnedFd) -> Result<File, Refused> {
    match FileType::from_raw_mode(rustix::fs::fstat(&fd)?.st_mode) {
        FileType::RegularFile => Ok(File::from(fd)),
        _ => Err(Refused::Because("it is not a regular file")),
    }
}

/// The names in an open directory, sorted; names that are not UTF-8 are left out (no file that is
/// wanted has one).
pub(super) fn names(directory: OwnedFd) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in Dir::new(directory)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if let Some(name) = name.to_str().filter(|name| !matches!(*name, "." | "..")) {
            if names.len() == MAX_NAMES {
                return Err(io::Error::other("too many names in one directory"));
            }
            names.push(name.to_owned());
        }
    }
    names.sort_unstable();
    Ok(names)
}

impl Tree for DirTree {
    fn describe(&self, path: &str) -> String {
        self.path.join(path).display().to_string()
    }

    fn open(&self, path: &str) -> Result<Box<dyn Read + '_>, Missing> {
        self.file(path).map(|file| Box::new(Dense::new(file)) as Box<dyn Read>)
    }

    fn list(&self, dir: &str) -> Result<Vec<String>, Missing> {
        match self.resolve(dir) {
            Ok(Node::Directory(directory)) => {
                names(directory).map_err(|error| from_io(&error, self.describe(dir)))
            }
            Ok(Node::File(_)) => Err(self.missing(dir, Refused::Because("it is not a directory"))),
            Err(error) => Err(self.missing(dir, error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    #[test]
    fn open_trusted_result_that_others_could_have_written_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("verify.json");
        std::fs::write(&path, "{}").unwrap();
        let mode = |path: &Path, mode| {
            std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
        };
        let open = || open_trusted(&path, "here".to_owned()).map(drop).map_err(|m| m.why);
        mode(&path, 0o644);
        assert_eq!(open(), Ok(()));
        let refused = |words: &str| match open() {
            Err(Why::Unreadable(why)) => assert!(why.contains(words), "{why}"),
            other => panic!("{words}: {other:?}"),
        };
        mode(&path, 0o664);
        refused("verify.json (owner");
        mode(&path, 0o644);
        mode(dir.path(), 0o777);
        refused("lets other users");
        mode(dir.path(), 0o755);
        if rustix::process::geteuid().is_root() {
            chown(&path, Some(1000), None).unwrap();
            refused("belongs to a user other than");
            chown(&path, Some(0), None).unwrap();
        }
        assert_eq!(open(), Ok(()));
        std::fs::remove_file(&path).unwrap();
        assert_eq!(open(), Err(Why::Absent));
    }

    fn tree() -> (tempfile::TempDir, DirTree) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("proc/sub")).unwrap();
        std::fs::write(dir.path().join("proc/cmdline"), "quiet\n").unwrap();
        let tree = DirTree::new(dir.path()).unwrap();
        (dir, tree)
    }

    #[test]
    fn files_are_read_and_directories_listed() {
        let (dir, tree) = tree();
        assert_eq!(tree.read("proc/cmdline", 100).unwrap(), b"quiet\n");
        assert_eq!(tree.list("proc").unwrap(), ["cmdline", "sub"]);
        let source = format!("{}/proc/cmdline", dir.path().display());
        assert_eq!(tree.describe("proc/cmdline"), source);
    }

    #[test]
    fn what_a_mirror_lacks_was_not_asked_and_says_how_to_get_it() {
        let (dir, tree) = tree();
        let missing = tree.read("dmesg", 10).unwrap_err();
        assert_eq!(missing.why, Why::NotAsked);
        assert_eq!(missing.how.unwrap(), format!("sudo dmesg > {}/dmesg", dir.path().display()));
        assert!(tree.list("sys").unwrap_err().how.unwrap().contains("copy /sys "));
        // ENOTDIR is the same as absent.
        assert_eq!(tree.read("proc/cmdline/x", 10).unwrap_err().why, Why::NotAsked);
    }

    #[test]
    fn a_real_proc_proves_absence() {
        let tree = DirTree::new("/").unwrap();
        assert_eq!(tree.read("proc/no-such-file", 10).unwrap_err().why, Why::Absent);
    }

    #[test]
    fn a_name_of_the_kernel_is_no_file_elsewhere() {
        let (dir, tree) = tree();
        let root = dir.path();
        for made in ["etc", "sys/class/dmi", "sys/devices/virtual/dmi/id"] {
            std::fs::create_dir_all(root.join(made)).unwrap();
        }
        std::fs::write(root.join("etc/shadow"), "secret").unwrap();
        std::fs::write(root.join("sys/devices/virtual/dmi/id/sys_vendor"), "QEMU").unwrap();
        symlink("../../devices/virtual/dmi/id", root.join("sys/class/dmi/id")).unwrap();
        symlink("sub/../cmdline", root.join("proc/within")).unwrap();
        symlink("/sys/class/dmi/id/sys_vendor", root.join("proc/to_sys")).unwrap();
        assert_eq!(tree.read("sys/class/dmi/id/sys_vendor", 10).unwrap(), b"QEMU");
        assert_eq!(tree.read("proc/within", 10).unwrap(), b"quiet\n");
        assert_eq!(tree.read("proc/to_sys", 10).unwrap(), b"QEMU");
        symlink("../etc/shadow", root.join("proc/config.gz")).unwrap();
        symlink("/etc/shadow", root.join("proc/version")).unwrap();
        symlink("../etc", root.join("proc/1")).unwrap();
        symlink("../proc/version", root.join("sys/again")).unwrap();
        for path in ["proc/config.gz", "proc/version", "proc/1/shadow", "sys/again"] {
            let why = tree.read(path, 10).unwrap_err().why;
            assert!(matches!(&why, Why::Unreadable(text) if text.contains("leads out")), "{why:?}");
        }
        assert!(tree.list("proc/1").is_err());
        // A mirror whose proc is a link has its files where that leads.
        std::fs::rename(root.join("proc"), root.join("host")).unwrap();
        symlink("host", root.join("proc")).unwrap();
        assert_eq!(tree.read("proc/cmdline", 10).unwrap(), b"quiet\n");
        assert!(tree.read("proc/config.gz", 10).is_err());
        std::fs::remove_file(root.join("proc")).unwrap();
        symlink(".", root.join("proc")).unwrap();
        symlink("etc/shadow", root.join("cmdline")).unwrap();
        assert!(tree.read("proc/cmdline", 10).is_err());
    }

    #[test]
    fn a_link_of_one_user_to_a_file_of_another_is_not_followed() {
        use std::os::unix::fs::lchown;
        let (dir, tree) = tree();
        let (secret, link) = (dir.path().join("secret"), dir.path().join("dmesg"));
        std::fs::write(&secret, "secret").unwrap();
        symlink("secret", &link).unwrap();
        assert_eq!(tree.read("dmesg", 10).unwrap(), b"secret");
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: only root can give a link to another user");
            return;
        }
        lchown(&link, Some(1000), None).unwrap();
        let why = tree.read("dmesg", 10).unwrap_err().why;
        assert!(matches!(&why, Why::Unreadable(text) if text.contains("another user")), "{why:?}");
        chown(&secret, Some(1000), None).unwrap();
        assert_eq!(tree.read("dmesg", 10).unwrap(), b"secret");
    }

    #[test]
    fn links_stay_inside() {
        let (dir, tree) = tree();
        let root = dir.path();
        std::fs::write(root.join("inner"), "inside").unwrap();
        std::fs::create_dir_all(root.join("var/sub")).unwrap();
        symlink("../../inner", root.join("var/sub/up")).unwrap();
        symlink("/inner", root.join("absolute")).unwrap();
        symlink("../../../../../../etc/passwd", root.join("proc/out")).unwrap();
        symlink("/etc/passwd", root.join("passwd")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        symlink("proc", root.join("p")).unwrap();
        assert_eq!(tree.read("var/sub/up", 10).unwrap(), b"inside");
        assert_eq!(tree.read("absolute", 10).unwrap(), b"inside");
        assert_eq!(tree.read("p/cmdline", 10).unwrap(), b"quiet\n");
        symlink("var", root.join("v")).unwrap();
        assert_eq!(tree.list("v/sub").unwrap(), ["up"]);
        let refused = |path| match tree.read(path, 10_000).unwrap_err().why {
            Why::Unreadable(text) => text,
            other => panic!("{other:?}"),
        };
        assert!(refused("proc/out").contains("leads out"));
        assert!(refused("loop").contains("too many"));
        assert!(refused("../etc/passwd").contains("'..'"));
        assert!(refused("/etc/passwd").contains("absolute"));
        // The mirrored machine's own /etc/passwd, which this mirror does not have.
        assert_eq!(tree.read("passwd", 10_000).unwrap_err().why, Why::NotAsked);
    }

    #[test]
    fn fifos_and_sockets_are_refused_without_waiting() {
        let (dir, tree) = tree();
        let fifo = dir.path().join("dmesg");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, FileType::Fifo, Mode::from_raw_mode(0o600), 0)
            .unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(dir.path().join("cpuid")).unwrap();
        for path in ["dmesg", "cpuid", "proc"] {
            let why = tree.read(path, 10).unwrap_err().why;
            assert!(matches!(why, Why::Unreadable(_)), "{path}: {why:?}");
        }
        assert!(crate::given::open(&fifo, crate::given::Kinds::Regular).is_err());
        assert!(matches!(tree.list("dmesg").unwrap_err().why, Why::Unreadable(_)));
    }

    #[test]
    fn long_files_are_refused() {
        let (_dir, tree) = tree();
        assert!(tree.read("proc/cmdline", 6).is_ok());
        assert!(matches!(tree.read("proc/cmdline", 5).unwrap_err().why, Why::Unreadable(_)));
    }
}
