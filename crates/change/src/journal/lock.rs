//! One run at a time.
//!
//! The lock is `flock` on a file in the journal's directory: the kernel releases it however its holder
//! ends. The directory is removed when nothing is in force, and the file with it; so the holder of the
//! lock checks whether the file still has its name.

use super::tree::{End, Tree, io};
use super::{DIRECTORY, JournalError, Place, Wait};
use clocksmith_facts::trusted::{self, Part};
use rustix::fs::{AtFlags, FlockOperation, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const NAME: &str = "lock";
const PAUSE: Duration = Duration::from_millis(20);
/// The time allowed after a holder has ended, until the programs that it started have also ended.
const GRACE: Duration = Duration::from_secs(2);
/// Attempts if the directory is removed each time. So many in a row do not happen by chance.
const ATTEMPTS: u32 = 1000;

#[derive(Debug)]
pub(super) struct Lock {
    directory: OwnedFd,
    path: PathBuf,
    file: File,
    /// Directories made for the journal that must be removed with it, outermost first.
    pub(super) home: Vec<PathBuf>,
}

impl Lock {
    pub(super) fn take(tree: &Tree, wait: Wait) -> Result<Self, JournalError> {
        let begun = Instant::now();
        let mut home = Vec::new();
        let mut refused = None;
        for _ in 0..ATTEMPTS {
            let located = tree.locate(Path::new(DIRECTORY), End::Follow)?;
            let shown = tree.shown(&located.path);
            // Before anything is made there.
            if let Some(parent) = located.missing.first().unwrap_or(&located.path).parent() {
                tree.trusted_directory(parent, &located.links, Part::Way)?;
            }
            // Other users may read the results that `verify` saves next to it; the journal has copies of secrets.
            let mut vanished = false;
            let wanted = located.missing.iter().map(|path| (path, 0o755));
            for (path, mode) in wanted.chain([(&located.path, 0o700)]) {
                match tree.make_directory(path, mode) {
                    Ok(true) => home.push(path.clone()),
                    Ok(false) => {}
                    // Its parent was removed; or it belongs to a filesystem in which no directory can be made, such as
                    // `/proc`.
                    Err(error @ JournalError::Io { error: Errno::NOENT, .. }) => {
                        vanished = true;
                        refused = Some(error);
                    }
                    Err(error) => return Err(error),
                }
            }
            let opened = tree.trusted_directory(&located.path, &[], Part::Home);
            let opened = opened.and_then(|directory| {
                let flags = OFlags::RDWR | OFlags::CREATE;
                let path = shown.join(NAME);
                let file = trusted::open_file(&directory, NAME.as_ref(), flags, 0o600, &path)?;
                Ok((file, directory))
            });
            let (file, directory) = match opened {
                Ok(opened) => opened,
                Err(JournalError::Io { error: Errno::NOENT, .. })
                    if !vanished || home.len() < 64 =>
                {
                    continue;
                }
                Err(error) => return Err(error),
            };
            let mut file = File::from(file);
            acquire(&mut file, wait, begun, &shown)?;
            let named = rustix::fs::statat(&directory, NAME, AtFlags::SYMLINK_NOFOLLOW);
            let ours = rustix::fs::fstat(&file).map_err(io("look at the lock in", &shown))?;
            if named.is_ok_and(|named| (named.st_ino, named.st_dev) == (ours.st_ino, ours.st_dev)) {
                // The owner of the lock, for messages of other runs only.
                let _ = rustix::fs::ftruncate(&file, 0);
                let _ = file.rewind().and_then(|()| write!(file, "{}", std::process::id()));
                home.dedup();
                return Ok(Self { directory, path: located.path, file, home });
            }
        }
        Err(refused.unwrap_or(JournalError::Busy { pid: None }))
    }

    pub(super) fn directory(&self) -> &OwnedFd {
        &self.directory
    }

    /// Releases the lock; before that, removes the journal's directory if it is empty.
    pub(super) fn release(&mut self, place: &Place, empty: bool) {
        if empty {
            self.leave(place);
        }
        // Closing it is not enough: a child that another thread is just starting also has it open.
        let _ = rustix::fs::flock(&self.file, FlockOperation::Unlock);
    }

    fn leave(&mut self, place: &Place) {
        // Files that cannot be removed stay, and are harmless.
        let tree = place.tree();
        let names = tree.names(&self.path).ok().flatten().unwrap_or_default();
        if names.iter().any(|name| name != NAME) {
            return;
        }
        let _ = rustix::fs::unlinkat(&self.directory, NAME, AtFlags::empty());
        let _ = tree.remove_directory(&self.path);
        if let Some(parent) = self.path.parent() {
            let _ = tree.remove_directory(parent);
        }
        self.home.sort();
        for path in self.home.iter().rev() {
            let _ = tree.remove_directory(path);
        }
    }
}

fn acquire(file: &mut File, wait: Wait, begun: Instant, shown: &Path) -> Result<(), JournalError> {
    loop {
        match rustix::fs::flock(&*file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(()),
            Err(Errno::WOULDBLOCK) => {}
            Err(Errno::INTR) => continue,
            Err(error) => return Err(io("lock", shown)(error)),
        }
        let pid = holder(file);
        let patience = match wait {
            // A killed holder's program, which is being ended too, may have it a moment longer.
            Wait::No if pid.is_some_and(is_gone) => GRACE,
            Wait::No => Duration::ZERO,
            Wait::AtMost(patience) => patience,
        };
        if begun.elapsed() >= patience {
            return Err(JournalError::Busy { pid });
        }
        std::thread::sleep(PAUSE);
    }
}

/// Refuses a lock that another user could have written, as [`Lock::take`] does. Creates nothing, and takes nothing.
pub(super) fn look(directory: &OwnedFd, shown: &Path) -> Result<(), JournalError> {
    let path = shown.join(NAME);
    match trusted::open_file(directory, NAME.as_ref(), OFlags::RDONLY, 0, &path) {
        Ok(_) | Err(trusted::Untrusted::Io { error: Errno::NOENT, .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Whether a process holds the lock. Creates nothing.
pub(super) fn is_held(tree: &Tree) -> bool {
    let open = || {
        let located = tree.locate(Path::new(DIRECTORY), End::Follow).ok()?;
        let directory = tree.trusted_directory(&located.path, &located.links, Part::Home).ok()?;
        let shown = tree.shown(&located.path).join(NAME);
        trusted::open_file(&directory, NAME.as_ref(), OFlags::RDONLY, 0, &shown).ok()
    };
    let Some(file) = open() else { return false };
    // Shared, so that two queries do not mistake each other for a run; released by closing.
    rustix::fs::flock(&file, FlockOperation::NonBlockingLockShared) == Err(Errno::WOULDBLOCK)
}

/// The process that wrote its id into the lock file.
fn holder(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.seek(SeekFrom::Start(0)).ok()?;
    file.take(16).read_to_string(&mut text).ok()?;
    text.parse().ok()
}

fn is_gone(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid) == Err(Errno::SRCH))
}
