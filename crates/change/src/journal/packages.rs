//! Detects whether packages are being installed or removed at this moment: then kernels are added
//! and removed, and the package manager also runs the program that makes boot entries.
//!
//! dpkg and apt (`lock-frontend`), and rpm (`.rpm.lock`) lock a file with fcntl for as long as that takes. libalpm
//! (pacman, pamac) creates one and keeps it open (`_alpm_handle_lock()`); apk opens one to write the database
//! (`apk_db_open()`), and locks it with flock. Locks are only queried, never taken: a package manager that begins later
//! does not have to wait. A file that a killed pacman left is not open in any process, and is ignored.

use super::{JournalError, Place};
use crate::plan::{Action, Plan};
use rustix::fs::{Mode, OFlags};
use rustix::process::{Flock, FlockType};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// The sign by which a running package manager is detected.
#[derive(Clone, Copy)]
enum Lock {
    /// The file is locked with fcntl.
    Record,
    /// The file is open.
    Open,
}

/// The locks, with the package manager of each.
const LOCKS: [(&str, Lock, &str); 7] = [
    ("/var/lib/dpkg/lock-frontend", Lock::Record, "dpkg"),
    ("/var/lib/dpkg/lock", Lock::Record, "dpkg"),
    ("/var/lib/rpm/.rpm.lock", Lock::Record, "rpm"),
    ("/usr/lib/sysimage/rpm/.rpm.lock", Lock::Record, "rpm"),
    ("/var/lib/pacman/db.lck", Lock::Open, "pacman"),
    ("/run/apk/db.lock", Lock::Open, "apk"),
    ("/lib/apk/db/lock", Lock::Open, "apk"),
];
/// The time to wait for a package manager, and the interval of the queries.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(200);
/// The limit of parents that are examined.
const GENERATIONS: usize = 64;

/// Waits until no packages are being installed, if a plan runs a program that makes files.
///
/// # Errors
/// Returns an error if packages are still being installed after the wait, or the user has interrupted it.
pub(super) fn wait(
    place: &Place,
    plan: &Plan,
    stop: impl Fn() -> bool,
) -> Result<(), JournalError> {
    let makes =
        |action: &Action| matches!(action, Action::Run { rewrites, .. } if !rewrites.is_empty());
    if !place.is_live() || !plan.steps.iter().any(|step| makes(&step.action)) {
        return Ok(());
    }
    let begun = Instant::now();
    loop {
        let held = LOCKS
            .iter()
            .find_map(|(path, lock, name)| Some((*name, holder(Path::new(path), *lock)?)));
        let Some((name, pid)) = held else { return Ok(()) };
        if stop() {
            return Err(JournalError::Stopped);
        }
        if begun.elapsed() >= PATIENCE {
            return Err(JournalError::Packages { name, pid });
        }
        std::thread::sleep(PAUSE);
    }
}

/// The process that holds the lock of a file, unless this one runs on its behalf.
fn holder(path: &Path, lock: Lock) -> Option<u32> {
    match lock {
        Lock::Record => locker(path),
        Lock::Open => opener(path),
    }
}

fn locker(path: &Path) -> Option<u32> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = rustix::fs::open(path, flags, Mode::empty()).ok()?;
    // Readers (`rpm -q`) do not matter.
    let lock = rustix::process::fcntl_getlk(&file, &Flock::from(FlockType::ReadLock)).ok()??;
    let pid = u32::try_from(lock.pid?.as_raw_nonzero().get()).ok()?;
    (!is_ancestor(pid)).then_some(pid)
}

/// Returns the process that has a file open. Only processes of root and of this user are examined: a package manager is
/// one of them, and no other user can make one that delays this.
fn opener(path: &Path) -> Option<u32> {
    let real = path.canonicalize().ok()?;
    let of = |path: &Path| std::fs::metadata(path).ok().map(|it| (it.dev(), it.ino()));
    let file = of(&real)?;
    let ours = [0, rustix::process::geteuid().as_raw()];
    // A container's file may have the same name.
    let has =
        |link: &Path| std::fs::read_link(link).is_ok_and(|it| it == real) && of(link) == Some(file);
    std::fs::read_dir("/proc").ok()?.flatten().find_map(|process| {
        let pid = process.file_name().to_str()?.parse().ok()?;
        if !ours.contains(&process.metadata().ok()?.uid()) {
            return None;
        }
        let mut links = std::fs::read_dir(process.path().join("fd")).ok()?.flatten();
        (links.any(|link| has(&link.path())) && !is_ancestor(pid)).then_some(pid)
    })
}

fn is_ancestor(pid: u32) -> bool {
    let mut at = std::process::id();
    for _ in 0..GENERATIONS {
        if at == pid {
            return true;
        }
        let Some(parent) = parent(at) else { return false };
        at = parent;
    }
    false
}

fn parent(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_ascii_whitespace().nth(1)?.parse().ok().filter(|it| *it != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::process::{Command, Stdio};

    const CHILD: &str = "CLOCKSMITH_TEST_HOLDS";

    #[test]
    fn lock_of_another_process_is_seen_and_that_of_a_parent_is_not() {
        let test =
            "journal::packages::tests::lock_of_another_process_is_seen_and_that_of_a_parent_is_not";
        let Some(path) = std::env::var_os(CHILD) else {
            return held_by_a_child(test, Lock::Record);
        };
        let file = std::fs::File::options().write(true).open(path).unwrap();
        let lock = rustix::fs::FlockOperation::NonBlockingLockExclusive;
        rustix::fs::fcntl_lock(&file, lock).unwrap();
        hold();
    }

    #[test]
    fn open_lock_of_another_process_is_seen_and_one_that_was_left_is_not() {
        let test = "journal::packages::tests::open_lock_of_another_process_is_seen_and_one_that_was_left_is_not";
        let Some(path) = std::env::var_os(CHILD) else { return held_by_a_child(test, Lock::Open) };
        let _open = std::fs::File::options().write(true).open(path).unwrap();
        hold();
    }

    /// Waits until the parent has looked.
    fn hold() {
        std::io::stderr().write_all(b"!").unwrap();
        let _ = std::io::stdin().read(&mut [0]);
    }

    fn held_by_a_child(test: &str, lock: Lock) {
        let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        assert_eq!(holder(&path, lock), None);
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--nocapture"])
            .env(CHILD, &path)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stderr.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        assert_eq!(holder(&path, lock), Some(child.id()));
        drop(child.stdin.take());
        assert!(child.wait().unwrap().success());
        assert_eq!(holder(&path, lock), None);
        assert!(is_ancestor(parent(std::process::id()).unwrap()) && !is_ancestor(u32::MAX));
    }
}
