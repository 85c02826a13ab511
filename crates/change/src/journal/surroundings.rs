//! Unexpected changes in `/boot`: those that a program of a plan makes besides the files that it is expected to make.
//!
//! Before the program runs, the type, mode and owner of everything in `/boot` are recorded, and the kernels and initial
//! RAM disks are held open. When it has ended, every mode and owner must be the same, no kernel and no RAM disk may be
//! missing or empty, no directory may have been replaced (by a mount or a link), and the EFI system partition may have
//! no new `grub.cfg`. A difference is reverted at once if possible; otherwise it is reported.

use super::entry::{Entry, Owned, Record, State, TEMPORARY};
use super::tree::{End, Spot, Tree, errno};
use super::{Journal, JournalError};
use rustix::fs::{AtFlags, FileType, Gid, Mode, OFlags, Stat, Timespec, Timestamps, Uid};
use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// Directories of boot loaders, kernels and entries.
const TOP: [&str; 2] = ["/boot", "/efi"];
/// The limit of names that are examined: a system has a few hundred.
const MOST: usize = 20_000;
/// Directories below each other.
const DEPTH: usize = 12;
/// Files that are held open.
const HELD: usize = 64;
/// Modes and owners that the journal keeps.
const KEPT: usize = 1000;
/// The beginnings of names of kernels.
const KERNELS: [&str; 6] = ["vmlinu", "kernel", "image", "bzimage", "zimage", "linux"];
/// The prefixes and suffixes of names of initial RAM disks, of images of U-Boot, and of files that are loaded along
/// with kernels.
const BESIDE: [&str; 4] = ["uimage", "initr", "microcode", "xen"];
const ENDS: [&str; 5] = ["-ucode.img", ".efi", ".dtb", ".img", ".gz"];

/// One name before the program ran.
struct Seen {
    stat: Stat,
    /// A kernel or a disk, which would still be there if its name were removed.
    held: Option<File>,
}

/// Everything in `/boot` before a program ran.
pub(super) struct Surroundings {
    seen: BTreeMap<PathBuf, Seen>,
    /// Whether there were more than [`MOST`] names: then it is not known which ones are new.
    cut: bool,
}

/// Descriptions of the differences, and new directories.
#[derive(Default)]
pub(super) struct Differences {
    pub(super) faults: Vec<(PathBuf, String)>,
    pub(super) directories: Vec<PathBuf>,
    /// Of the faults, the paths that are not restored.
    pub(super) lasting: Vec<PathBuf>,
}

/// The difference of one path.
pub(super) struct Fault {
    why: String,
    /// Whether it is permanent: it is not restored, neither here nor with the rest.
    lasts: bool,
}

impl Fault {
    pub(super) fn mended(why: impl Into<String>) -> Self {
        Self { why: why.into(), lasts: false }
    }

    pub(super) fn lasting(why: impl Into<String>) -> Self {
        Self { why: why.into(), lasts: true }
    }
}

impl Differences {
    pub(super) fn add(&mut self, path: &Path, fault: Fault) {
        if fault.lasts {
            self.lasting.push(path.to_owned());
        }
        self.faults.push((path.to_owned(), fault.why));
    }
}

impl Surroundings {
    pub(super) fn look(tree: &Tree) -> Self {
        let mut held = 0;
        let (all, cut) = walk(tree);
        let mut seen = BTreeMap::new();
        for (path, stat) in all {
            let open = is_regular(&stat) && loaded(&path) && held < HELD;
            let file = open.then(|| open_for_reading(&tree.spot(&path).ok()??)).flatten();
            held += usize::from(file.is_some());
            seen.insert(path, Seen { stat, held: file });
        }
        Self { seen, cut }
    }

    /// The modes and owners of directories, kernels and disks.
    pub(super) fn owned(&self) -> Vec<Owned> {
        let counts =
            |path: &Path, stat: &Stat| is_directory(stat) || is_regular(stat) && loaded(path);
        let seen = self.seen.iter().filter(|(path, seen)| counts(path, &seen.stat));
        seen.take(KEPT)
            .map(|(path, Seen { stat, .. })| Owned {
                path: path.clone(),
                mode: stat.st_mode & 0o7777,
                uid: stat.st_uid,
                gid: stat.st_gid,
            })
            .collect()
    }

    /// Compares, and restores differences if possible. `entry` has the files that the change restores itself, and gets
    /// the new `grub.cfg` of the EFI system partition.
    pub(super) fn restore(
        &self,
        journal: &Journal,
        entry: &mut Entry,
        step: usize,
        command: &[String],
    ) -> Differences {
        let tree = journal.place.tree();
        let ours: HashSet<PathBuf> = entry.records.iter().map(|it| it.path.clone()).collect();
        let now = walk(tree).0;
        let mut found = Differences::default();
        for (path, seen) in &self.seen {
            if ours.contains(path) {
                continue;
            }
            let fault = match now.get(path) {
                None if loaded(path) && is_regular(&seen.stat) => Some(gone(tree, path, seen)),
                None => None,
                Some(is) => differs(tree, path, &seen.stat, is)
                    .or_else(|| other(path, &seen.stat, is, command)),
            };
            if let Some(fault) = fault {
                found.add(path, fault);
            }
        }
        if self.cut {
            return found;
        }
        for (path, stat) in &now {
            if self.seen.contains_key(path) {
                continue;
            }
            let counts = is_directory(stat) || is_regular(stat) && loaded(path);
            if let Some(why) = counts.then(|| foreign(tree, path, stat)).flatten() {
                found.add(path, Fault::lasting(format!("was made while it ran, and {why}")));
            }
            if is_directory(stat) {
                found.directories.push(path.clone());
            } else if is_of_efi(path) && !ours.contains(path) {
                found.add(path, Fault::mended("was made while it ran"));
                added(entry, path, step);
            }
        }
        found
    }
}

/// Restores the modes and owners that a program of an earlier run changed. Returns the restored paths, and the other
/// ones with the reason.
pub(super) fn own_again(
    tree: &Tree,
    owned: &[Owned],
    ours: impl Fn(&Stat) -> bool,
) -> (Vec<PathBuf>, Vec<String>) {
    let (mut restored, mut open) = (Vec::new(), Vec::new());
    for was in owned {
        let Ok(Some(is)) = stat_of(tree, &was.path) else { continue };
        let same = (was.mode, was.uid, was.gid) == (is.st_mode & 0o7777, is.st_uid, is.st_gid);
        if same || !(is_directory(&is) || is_regular(&is)) {
            continue;
        }
        let mut wanted = is;
        wanted.st_mode = is.st_mode & !0o7777 | was.mode;
        (wanted.st_uid, wanted.st_gid) = (was.uid, was.gid);
        if ours(&is) && owned_as(tree, &was.path, &wanted, &is).is_some() {
            restored.push(was.path.clone());
            continue;
        }
        open.push(format!(
            "{} had mode {:04o} and owner {}:{}, and has mode {:04o} and owner {}:{}",
            was.path.display(),
            was.mode,
            was.uid,
            was.gid,
            is.st_mode & 0o7777,
            is.st_uid,
            is.st_gid
        ));
    }
    (restored, open)
}

/// Refuses changes of a program besides its files, after everything possible was restored.
///
/// # Errors
/// Returns an error if there was any such change.
pub(super) fn refuse(
    journal: &Journal,
    faults: &[(PathBuf, String)],
    command: &[String],
) -> Result<(), JournalError> {
    let Some(((path, why), rest)) = faults.split_first() else { return Ok(()) };
    let mut more: String = rest
        .iter()
        .take(4)
        .map(|(path, why)| format!("; {} {why}", journal.place.shown(path).display()))
        .collect();
    if rest.len() > 4 {
        more += &format!("; and {} more", rest.len() - 4);
    }
    Err(JournalError::NotMade {
        command: command.join(" "),
        path: journal.place.shown(path),
        why: format!("{why}{more}, although that is not part of this change"),
    })
}

/// A new file that the program must not make is removed with the rest.
fn added(entry: &mut Entry, path: &Path, step: usize) {
    entry.records.push(Record {
        path: path.to_owned(),
        step,
        planned: Vec::new(),
        rewritten_by: vec![step],
        old: State::Absent,
        new: None,
        observed: true,
        decision: None,
        seen: None,
        edited: false,
    });
}

/// Describes how another user could write a file or a directory from which a kernel is loaded. The owner of `/boot`
/// may.
fn foreign(tree: &Tree, path: &Path, stat: &Stat) -> Option<String> {
    let boot = || stat_of(tree, Path::new(TOP[0])).ok()?.map(|stat| stat.st_uid);
    let ours = rustix::process::geteuid().as_raw();
    if ![0, ours].contains(&stat.st_uid) && boot() != Some(stat.st_uid) {
        return Some(format!("belongs to user {}", stat.st_uid));
    }
    // Root's own group has no other members.
    let others = stat.st_mode & 0o002 != 0 || stat.st_mode & 0o020 != 0 && stat.st_gid != 0;
    let modes = || {
        let spot = tree.spot(path).ok().flatten();
        spot.is_none_or(|spot| !super::capture::keeps_no_modes(&spot.directory))
    };
    (others && modes())
        .then(|| format!("can be written by other users (mode {:04o})", stat.st_mode & 0o7777))
}

/// Returns the reason why another user could choose the file that a boot loader loads by a name of an entry: the file,
/// or a directory of it in `/boot`, belongs to that user.
pub(super) fn loads_foreign(tree: &Tree, name: &str, entry: &Path) -> Option<(PathBuf, String)> {
    let plain = name.trim_start_matches('/');
    let base = plain.rsplit('/').next().unwrap_or(plain);
    let mut candidates: Vec<PathBuf> =
        [name, plain, base].into_iter().map(|name| Path::new(TOP[0]).join(name)).collect();
    // An entry file names the kernel by the path in its own file system.
    let top = entry.ancestors().nth(3).filter(|_| entry.extension().is_some_and(|it| it != "cfg"));
    candidates.extend(top.map(|top| top.join(plain)));
    candidates.dedup();
    let look = |path: &PathBuf| {
        let located = tree.locate(path, End::Follow).ok()?;
        let stat = stat_of(tree, &located.path).ok()??;
        if !is_regular(&stat) {
            return None;
        }
        let directories = located.path.ancestors().skip(1);
        let directories = directories.take_while(|it| TOP.iter().any(|top| it.starts_with(top)));
        let way = directories.filter_map(|it| Some((it.to_owned(), stat_of(tree, it).ok()??)));
        std::iter::once((located.path.clone(), stat))
            .chain(way)
            .find_map(|(path, stat)| Some((path.clone(), foreign(tree, &path, &stat)?)))
    };
    candidates.iter().find_map(look)
}

/// Describes how a path differs, after the difference was restored if possible.
fn differs(tree: &Tree, path: &Path, was: &Stat, is: &Stat) -> Option<Fault> {
    let kind = |stat: &Stat| FileType::from_raw_mode(stat.st_mode);
    if kind(was) != kind(is) {
        return Some(Fault::lasting("is of another kind, and is left as it is"));
    }
    if is_directory(was) && !is_same(was, is) {
        return Some(Fault::lasting("is another directory, and is left as it is"));
    }
    if is_regular(was) && was.st_size > 0 && is.st_size == 0 && loaded(path) {
        let why = "became empty, and cannot be restored: no copy of it was made";
        return Some(Fault::lasting(why));
    }
    if kind(was) == FileType::Symlink {
        return None;
    }
    let owner = |stat: &Stat| (stat.st_uid, stat.st_gid);
    let how = if owner(was) == owner(is) {
        if was.st_mode == is.st_mode {
            return None;
        }
        format!(
            "had its mode changed from {:04o} to {:04o}",
            was.st_mode & 0o7777,
            is.st_mode & 0o7777
        )
    } else {
        format!(
            "had its owner changed from {}:{} to {}:{}",
            was.st_uid, was.st_gid, is.st_uid, is.st_gid
        )
    };
    Some(match owned_as(tree, path, was, is) {
        Some(()) => Fault::mended(format!("{how} (it was restored)")),
        None => Fault::lasting(format!("{how}, and it could not be restored")),
    })
}

/// Describes how a kernel or an initial RAM disk was replaced. A program may install the same kernel again; disks are
/// made by programs of boot loaders, but not by GRUB's.
fn other(path: &Path, was: &Stat, is: &Stat, command: &[String]) -> Option<Fault> {
    let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
    let program = command.first()?.rsplit('/').next()?;
    let grub = program.contains("grub") && program != "grubby";
    let disk = grub && name.starts_with("initr");
    let fixed = disk || KERNELS.iter().any(|it| name.starts_with(it));
    let what = if disk { "initial RAM disk" } else { "kernel" };
    if !fixed || !is_regular(is) {
        return None;
    }
    if was.st_size != is.st_size {
        let why = format!("is another {what}, and cannot be restored: no copy of it was made");
        return Some(Fault::lasting(why));
    }
    // A file that was made again has another number, one that was written another time.
    let when = |stat: &Stat| (stat.st_mtime, stat.st_mtime_nsec);
    (grub && (!is_same(was, is) || when(was) != when(is))).then(|| {
        Fault::lasting(
            "was written again, in the same size, and cannot be restored: whether its content is \
             the previous one is not known",
        )
    })
}

/// Restores the previous owner and mode of a path.
fn owned_as(tree: &Tree, path: &Path, was: &Stat, is: &Stat) -> Option<()> {
    let spot = tree.spot(path).ok()??;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let fd = rustix::fs::openat(&spot.directory, &spot.name, flags, Mode::empty()).ok()?;
    // Only the file that was compared, and not one that replaced it since.
    if !is_same(&rustix::fs::fstat(&fd).ok()?, is) {
        return None;
    }
    if (was.st_uid, was.st_gid) != (is.st_uid, is.st_gid) {
        let (uid, gid) = (Uid::from_raw(was.st_uid), Gid::from_raw(was.st_gid));
        rustix::fs::fchown(&fd, Some(uid), Some(gid)).ok()?;
    }
    rustix::fs::fchmod(&fd, Mode::from_raw_mode(was.st_mode & 0o7777)).ok()
}

/// Describes that a kernel or a disk was removed, after it was written again from the file that is held open.
fn gone(tree: &Tree, path: &Path, seen: &Seen) -> Fault {
    let again =
        seen.held.as_ref().is_some_and(|held| write_again(tree, path, held, &seen.stat).is_ok());
    if again {
        Fault::mended("was removed (it was restored)")
    } else {
        Fault::lasting("is gone, and cannot be restored")
    }
}

fn write_again(tree: &Tree, path: &Path, held: &File, was: &Stat) -> Result<(), JournalError> {
    let spot = tree.sure_spot(path)?;
    let failed = |error: rustix::io::Errno| super::tree::io("write", &spot.shown)(error);
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let fd = rustix::fs::openat(&spot.directory, &spot.name, flags, Mode::from_raw_mode(0o600))
        .map_err(failed)?;
    let mut new = File::from(fd);
    let mut from = held;
    let written = from
        .seek(SeekFrom::Start(0))
        .and_then(|_| std::io::copy(&mut from, &mut new))
        .and_then(|_| new.sync_all());
    if let Err(error) = written {
        let _ = spot.unlink();
        return Err(failed(errno(&error)));
    }
    // A filesystem without owners and modes (FAT) ignores these.
    let (uid, gid) = (Uid::from_raw(was.st_uid), Gid::from_raw(was.st_gid));
    let _ = rustix::fs::fchown(&new, Some(uid), Some(gid));
    let _ = rustix::fs::fchmod(&new, Mode::from_raw_mode(was.st_mode & 0o7777));
    let omit = Timespec { tv_sec: 0, tv_nsec: rustix::fs::UTIME_OMIT as _ };
    let last_modification = Timespec { tv_sec: was.st_mtime as _, tv_nsec: was.st_mtime_nsec as _ };
    let _ = rustix::fs::futimens(&new, &Timestamps { last_access: omit, last_modification });
    spot.sync()
}

/// Everything below the top directories, and these; whether there was more.
fn walk(tree: &Tree) -> (BTreeMap<PathBuf, Stat>, bool) {
    let mut all = BTreeMap::new();
    let mut todo: Vec<PathBuf> = TOP.into_iter().map(PathBuf::from).collect();
    while let Some(path) = todo.pop() {
        if all.len() >= MOST {
            return (all, true);
        }
        let Ok(Some(stat)) = stat_of(tree, &path) else { continue };
        let below = is_directory(&stat) && path.components().count() <= DEPTH;
        let names = if below { tree.names(&path).ok().flatten() } else { None };
        let names = names.unwrap_or_default().into_iter();
        todo.extend(
            names
                .filter(|name| !name.to_string_lossy().starts_with(TEMPORARY))
                .map(|name| path.join(name)),
        );
        all.insert(path, stat);
    }
    (all, false)
}

fn stat_of(tree: &Tree, path: &Path) -> Result<Option<Stat>, JournalError> {
    let Some(spot) = tree.spot(path)? else { return Ok(None) };
    match rustix::fs::statat(&spot.directory, &spot.name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(error) => Err(super::tree::io("look at", &spot.shown)(error)),
    }
}

fn open_for_reading(spot: &Spot) -> Option<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let fd = rustix::fs::openat(&spot.directory, &spot.name, flags, Mode::empty()).ok()?;
    super::stage::leaves_enough(fd.as_raw_fd()).then(|| File::from(fd))
}

fn is_same(one: &Stat, other: &Stat) -> bool {
    (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
}

fn is_regular(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode).is_file()
}

fn is_directory(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode).is_dir()
}

/// Whether a boot loader loads a file of this name for a kernel.
fn loaded(path: &Path) -> bool {
    let Some(name) = path.file_name() else { return false };
    let name = name.to_string_lossy().to_ascii_lowercase();
    KERNELS.iter().chain(&BESIDE).any(|it| name.starts_with(it))
        || ENDS.iter().any(|it| name.ends_with(it))
}

/// Whether a path is a `grub.cfg` of a boot loader on the EFI system partition.
fn is_of_efi(path: &Path) -> bool {
    let below = |top: &str| path.starts_with(top);
    path.ends_with("grub.cfg") && (below("/boot/efi") || below("/efi") || below("/boot/EFI"))
}
