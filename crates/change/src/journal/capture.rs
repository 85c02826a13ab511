//! Captures the state of a path, with everything that can be restored, and makes a file with that
//! state.

use super::JournalError;
use super::bytes::{digest, hex, unhex};
use super::entry::{Meta, State};
use super::tree::{Spot, errno, io};
use rustix::fs::{
    AtFlags, FileType, Gid, Mode, OFlags, Stat, Timespec, Timestamps, Uid, XattrFlags,
};
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Files above this are not touched: no configuration is so large.
pub(super) const MAX_SIZE: u64 = 64 << 20;
/// All attributes of a file; the kernel's limit for one value, and for the list of names.
const MAX_XATTR: usize = 65536;

/// The state of a path, and its content if it is a file.
pub(super) fn capture(spot: &Spot) -> Result<(State, Option<Vec<u8>>), JournalError> {
    let Some(stat) = spot.stat()? else { return Ok((State::Absent, None)) };
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => file(spot),
        FileType::Symlink => {
            let target = rustix::fs::readlinkat(&spot.directory, &spot.name, Vec::new())
                .map_err(io("read the link", &spot.shown))?;
            let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
            let meta = meta(&stat, xattrs(&Of::Link(link_path(spot)), &spot.shown)?);
            Ok((State::Link { target, meta }, None))
        }
        _ => Ok((State::Other, None)),
    }
}

fn file(spot: &Spot) -> Result<(State, Option<Vec<u8>>), JournalError> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let fd = rustix::fs::openat(&spot.directory, &spot.name, flags, Mode::empty())
        .map_err(io("open", &spot.shown))?;
    let stat = rustix::fs::fstat(&fd).map_err(io("look at", &spot.shown))?;
    let too_large = || JournalError::Unfit {
        path: spot.shown.clone(),
        why: format!(
            "is larger than {} MiB, which is too large for a configuration",
            MAX_SIZE >> 20
        ),
    };
    if u64::try_from(stat.st_size).unwrap_or(u64::MAX) > MAX_SIZE {
        return Err(too_large());
    }
    let xattrs = xattrs(&Of::File(&fd), &spot.shown)?;
    let mut content = Vec::new();
    // It may grow while it is read.
    File::from(fd)
        .take(MAX_SIZE + 1)
        .read_to_end(&mut content)
        .map_err(|error| io("read", &spot.shown)(errno(&error)))?;
    if content.len() as u64 > MAX_SIZE {
        return Err(too_large());
    }
    let state = State::File {
        content: digest(&content),
        size: content.len() as u64,
        meta: meta(&stat, xattrs),
    };
    Ok((state, Some(content)))
}

// The types of these fields differ between processors.
#[allow(clippy::unnecessary_cast, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn meta(stat: &Stat, xattrs: Vec<(String, String)>) -> Meta {
    Meta {
        mode: (stat.st_mode as u32) & 0o7777,
        uid: stat.st_uid,
        gid: stat.st_gid,
        mtime: (stat.st_mtime as i64, stat.st_mtime_nsec as u32),
        ctime: stat.st_ctime as i64,
        xattrs,
    }
}

enum Of<'a> {
    File(&'a OwnedFd),
    /// By a path: the attributes of a link cannot be read by a descriptor.
    Link(PathBuf),
}

fn link_path(spot: &Spot) -> PathBuf {
    Path::new("/proc/self/fd").join(spot.directory.as_raw_fd().to_string()).join(&spot.name)
}

fn xattrs(of: &Of<'_>, shown: &Path) -> Result<Vec<(String, String)>, JournalError> {
    let mut list = vec![0; MAX_XATTR];
    let length = match of {
        Of::File(fd) => rustix::fs::flistxattr(fd, &mut list[..]),
        Of::Link(path) => rustix::fs::llistxattr(path, &mut list[..]),
    };
    let length = match length {
        Ok(length) => length,
        Err(Errno::OPNOTSUPP) => 0,
        // Without /proc a link's are not seen; it seldom has any. A file's would be lost.
        Err(Errno::NOSYS) if matches!(of, Of::Link(_)) => 0,
        Err(Errno::NOENT | Errno::NOTDIR) if matches!(of, Of::Link(_)) => 0,
        Err(error) => return Err(io("list the attributes of", shown)(error)),
    };
    list.truncate(length);
    let mut value = vec![0; MAX_XATTR];
    let mut found = Vec::new();
    for name in list.split(|&byte| byte == 0).filter(|name| !name.is_empty()) {
        // The kernel makes these from the content; they are not set by hand.
        if name == b"security.ima" || name == b"security.evm" {
            continue;
        }
        let length = match of {
            Of::File(fd) => rustix::fs::fgetxattr(fd, name, &mut value[..]),
            Of::Link(path) => rustix::fs::lgetxattr(path, name, &mut value[..]),
        };
        let Ok(name) = std::str::from_utf8(name) else { continue };
        match length {
            Ok(length) => found.push((name.to_owned(), hex(value.get(..length).unwrap_or(&[])))),
            // Gone meanwhile, or one that may be listed and not read.
            Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::ACCESS | Errno::PERM) => {}
            Err(error) => return Err(io("read the attributes of", shown)(error)),
        }
    }
    found.sort();
    Ok(found)
}

/// The metadata for a new file.
#[derive(Clone, Copy, Debug)]
pub(super) enum Wanted<'a> {
    /// All of this; the time of the last change too.
    Exactly(&'a Meta),
    /// The owner, mode and attributes of the file that it replaces.
    Like(&'a Meta),
    /// This mode, and otherwise the defaults of its directory.
    New(u32),
}

/// Makes a complete and durable file under a temporary name; only its name is not durable yet.
pub(super) fn make(spot: &Spot, content: &[u8], wanted: Wanted<'_>) -> Result<(), JournalError> {
    make_later(spot, content, wanted)?;
    durable(spot)
}

/// Waits until a file that was made is on disk.
pub(super) fn durable(spot: &Spot) -> Result<(), JournalError> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let fd = rustix::fs::openat(&spot.directory, &spot.name, flags, Mode::empty())
        .map_err(io("open", &spot.shown))?;
    rustix::fs::fsync(&fd).map_err(io("sync", &spot.shown))
}

/// Begins to write a file to the disk. If many are begun before the first one is waited for, a filesystem with a
/// journal writes its journal once, and not for each of them.
pub(super) fn begin_sync(fd: &OwnedFd) {
    // SAFETY: takes numbers. A filesystem that does not know it has nothing begun.
    unsafe { libc::sync_file_range(fd.as_raw_fd(), 0, 0, libc::SYNC_FILE_RANGE_WRITE) };
}

/// Like [`make`], but durable only after [`durable`]. A file that could not be made as a whole is removed: its name
/// would be taken for the whole one.
pub(super) fn make_later(
    spot: &Spot,
    content: &[u8],
    wanted: Wanted<'_>,
) -> Result<(), JournalError> {
    // A file of an earlier attempt may exist.
    spot.unlink()?;
    fill(spot, content, wanted).inspect_err(|_| {
        let _ = spot.unlink();
    })
}

fn fill(spot: &Spot, content: &[u8], wanted: Wanted<'_>) -> Result<(), JournalError> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    // No other user may read the file before it has its owner.
    let fd = rustix::fs::openat(&spot.directory, &spot.name, flags, Mode::from_raw_mode(0o600))
        .map_err(io("make", &spot.shown))?;
    let mut file = File::from(fd);
    file.write_all(content).map_err(|error| io("write", &spot.shown)(errno(&error)))?;
    let fd = OwnedFd::from(file);
    let stat = rustix::fs::fstat(&fd).map_err(io("look at", &spot.shown))?;
    match wanted {
        Wanted::New(mode) => chmod(&fd, &stat, mode, spot)?,
        Wanted::Like(meta) | Wanted::Exactly(meta) => {
            // In this order: a change of the owner removes the set-user-ID bits and capabilities.
            if (stat.st_uid, stat.st_gid) != (meta.uid, meta.gid) {
                let (uid, gid) = (Uid::from_raw(meta.uid), Gid::from_raw(meta.gid));
                rustix::fs::fchown(&fd, Some(uid), Some(gid))
                    .map_err(io("set the owner of", &spot.shown))?;
            }
            chmod(&fd, &stat, meta.mode, spot)?;
            set_xattrs(&Of::File(&fd), meta, &spot.shown)?;
            if let Wanted::Exactly(meta) = wanted {
                rustix::fs::futimens(&fd, &times(meta))
                    .map_err(io("set the time of", &spot.shown))?;
            }
        }
    }
    begin_sync(&fd);
    Ok(())
}

fn chmod(fd: &OwnedFd, stat: &Stat, mode: u32, spot: &Spot) -> Result<(), JournalError> {
    // FAT refuses modes that it cannot keep; there all files have the same one.
    if stat.st_mode & 0o7777 == mode {
        return Ok(());
    }
    match rustix::fs::fchmod(fd, Mode::from_raw_mode(mode)) {
        Err(Errno::PERM) if keeps_no_modes(fd) => Ok(()),
        result => result.map_err(io("set the mode of", &spot.shown)),
    }
}

/// `MSDOS_SUPER_MAGIC`, which VFAT has too (linux/magic.h).
pub(super) fn keeps_no_modes(fd: &OwnedFd) -> bool {
    rustix::fs::fstatfs(fd).is_ok_and(|stat| stat.f_type == 0x4d44)
}

fn set_xattrs(of: &Of<'_>, meta: &Meta, shown: &Path) -> Result<(), JournalError> {
    let there = xattrs(of, shown)?;
    for (name, value) in meta.xattrs.iter().filter(|wanted| !there.contains(wanted)) {
        let value = unhex(value).unwrap_or_default();
        match of {
            Of::File(fd) => rustix::fs::fsetxattr(fd, name, &value, XattrFlags::empty()),
            Of::Link(path) => rustix::fs::lsetxattr(path, name, &value, XattrFlags::empty()),
        }
        .map_err(io("set the attributes of", shown))?;
    }
    // Removes the attributes that the directory gave it by default. A security module's labels
    // cannot be removed.
    for (name, _) in &there {
        let wanted = meta.xattrs.iter().any(|(other, _)| other == name);
        if !wanted && !name.starts_with("security.") {
            match of {
                Of::File(fd) => rustix::fs::fremovexattr(fd, name),
                Of::Link(path) => rustix::fs::lremovexattr(path, name),
            }
            .map_err(io("set the attributes of", shown))?;
        }
    }
    Ok(())
}

fn times(meta: &Meta) -> Timestamps {
    let omit = Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_OMIT as _ };
    let last_modification = Timespec { tv_sec: meta.mtime.0 as _, tv_nsec: meta.mtime.1 as _ };
    Timestamps { last_access: omit, last_modification }
}

/// Sets the modification time of a file, durably.
pub(super) fn set_time(spot: &Spot, meta: &Meta) -> Result<(), JournalError> {
    rustix::fs::utimensat(&spot.directory, &spot.name, &times(meta), AtFlags::SYMLINK_NOFOLLOW)
        .map_err(io("set the time of", &spot.shown))?;
    sync_file(spot)
}

/// Makes a link under a temporary name; not durable yet.
pub(super) fn make_link(
    spot: &Spot,
    target: &Path,
    meta: Option<&Meta>,
) -> Result<(), JournalError> {
    spot.unlink()?;
    rustix::fs::symlinkat(target.as_os_str().as_bytes(), &spot.directory, &spot.name)
        .map_err(io("make the link", &spot.shown))?;
    let Some(meta) = meta else { return Ok(()) };
    let (uid, gid) = (Uid::from_raw(meta.uid), Gid::from_raw(meta.gid));
    let made = spot.stat()?.map(|stat| (stat.st_uid, stat.st_gid));
    if made != Some((meta.uid, meta.gid)) {
        let keep = AtFlags::SYMLINK_NOFOLLOW;
        rustix::fs::chownat(&spot.directory, &spot.name, Some(uid), Some(gid), keep)
            .map_err(io("set the owner of", &spot.shown))?;
    }
    set_xattrs(&Of::Link(link_path(spot)), meta, &spot.shown)?;
    set_time(spot, meta)
}

/// Makes a file's content durable that another program wrote.
pub(super) fn sync_file(spot: &Spot) -> Result<(), JournalError> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    match rustix::fs::openat(&spot.directory, &spot.name, flags, Mode::empty()) {
        Ok(fd) => rustix::fs::fsync(fd).map_err(io("sync", &spot.shown))?,
        Err(Errno::LOOP | Errno::NOENT) => {}
        Err(error) => return Err(io("open", &spot.shown)(error)),
    }
    spot.sync()
}
