//! Whether packages are being installed or removed at this moment: kernels come and go then, and the package manager runs the
//! program that makes boot entries, too.
//!
//! dpkg and apt (`lock-frontend`), and rpm (`.rpm.lock`) lock a file with fcntl for as long as that takes. The lock is only looked
//! at, never taken: a package manager that begins later is not kept waiting.

use super::{JournalError, Place};
use crate::plan::{Action, Plan};
use rustix::fs::{Mode, OFlags};
use rustix::process::{Flock, FlockType};
use std::path::Path;
use std::time::{Duration, Instant};

/// The locks, with whose they are.
const LOCKS: [(&str, &str); 4] = [
    ("/var/lib/dpkg/lock-frontend", "dpkg"),
    ("/var/lib/dpkg/lock", "dpkg"),
    ("/var/lib/rpm/.rpm.lock", "rpm"),
    ("/usr/lib/sysimage/rpm/.rpm.lock", "rpm"),
];
/// How long another one is waited for, and how often it is looked at.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(200);
/// Parents that are looked at, at most.
const GENERATIONS: usize = 64;

/// Waits until no packages are being installed, if a plan runs a program that makes files.
///
/// # Errors
/// They still are, or the user has interrupted.
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
        let held = LOCKS.iter().find_map(|(path, name)| Some((*name, holder(Path::new(path))?)));
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
fn holder(path: &Path) -> Option<u32> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = rustix::fs::open(path, flags, Mode::empty()).ok()?;
    // Readers (`rpm -q`) are no matter.
    let lock = rustix::process::fcntl_getlk(&file, &Flock::from(FlockType::ReadLock)).ok()??;
    let pid = u32::try_from(lock.pid?.as_raw_nonzero().get()).ok()?;
    (!is_ancestor(pid)).then_some(pid)
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
        if let Some(path) = std::env::var_os(CHILD) {
            let file = std::fs::File::options().write(true).open(path).unwrap();
            let lock = rustix::fs::FlockOperation::NonBlockingLockExclusive;
            rustix::fs::fcntl_lock(&file, lock).unwrap();
            std::io::stderr().write_all(b"!").unwrap();
            let _ = std::io::stdin().read(&mut [0]);
            return;
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(holder(file.path()), None);
        let test =
            "journal::packages::tests::lock_of_another_process_is_seen_and_that_of_a_parent_is_not";
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test, "--nocapture"])
            .env(CHILD, file.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stderr.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        assert_eq!(holder(file.path()), Some(child.id()));
        drop(child.stdin.take());
        assert!(child.wait().unwrap().success());
        assert_eq!(holder(file.path()), None);
        assert!(is_ancestor(parent(std::process::id()).unwrap()) && !is_ancestor(u32::MAX));
    }
}
