//! Programs that a change started, and their children, are found by a mark in their environment.
//!
//! Every user has processes, and a user decides what the kernel shows of them: an environment of any length
//! (`PR_SET_MM_MAP` of prctl(2)), or one whose memory is that of a file system that does not respond. So only the environment
//! of processes of this user is read, a limited part of it, and by a child, which can be left behind.

use super::tree::End;
use super::{DIRECTORY, JournalError, Observer, Place};
use clocksmith_facts::apart;
use clocksmith_facts::patient::Patience;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// The mark of a program that a change started: this, and the journal ([`mark`]).
pub(super) const MARK: &str = "CLOCKSMITH_CHANGE";
/// The time to wait for marked processes to end.
const GRACE: Duration = Duration::from_secs(5);
/// Milliseconds that all processes together may take to answer.
const PATIENCE_MS: u64 = 1_000;
/// Bytes of an environment that are read: arguments and environment of a program together have at most 6 MiB (execve(2)).
const ENVIRONMENT: u64 = 6 << 20;
/// Bytes of `/proc/PID/status`, most of which can be the list of groups.
const STATUS: u64 = 1 << 20;

/// The value of [`MARK`]: the number of the journal's directory, which no other directory of this machine has, and the
/// root of the system.
pub(super) fn mark(place: &Place) -> Vec<u8> {
    let directory = || {
        let located = place.tree().locate(Path::new(DIRECTORY), End::Follow).ok()?;
        place.tree().spot(&located.path).ok()??.stat().ok()?
    };
    let number = directory().map(|it| format!("{}:{}", it.st_dev, it.st_ino)).unwrap_or_default();
    let mut mark = number.into_bytes();
    mark.push(b' ');
    mark.extend_from_slice(place.real().as_os_str().as_encoded_bytes());
    mark
}

/// Ends programs that a killed run had started for this system.
///
/// # Errors
/// Returns an error if some of them do not end, or may belong to another journal.
pub(super) fn end_orphans(place: &Place) -> Result<(), JournalError> {
    let begun = Instant::now();
    loop {
        let Marked { ours, unclear } = marked(place);
        let pids: Vec<u32> = ours.iter().chain(&unclear).copied().collect();
        if pids.is_empty() {
            return Ok(());
        }
        if begun.elapsed() > GRACE {
            return Err(JournalError::Orphans { pids });
        }
        for pid in ours {
            let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
            if let Some(pid) = pid {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Waits for processes that a program of this system has left behind: they may still write. Returns those that have not
/// ended in time; they are not ended, since a service may have been started in this way.
pub(super) fn settle(place: &Place, observer: &dyn Observer) -> Vec<u32> {
    let begun = Instant::now();
    loop {
        let pids = marked(place).ours;
        if pids.is_empty() || begun.elapsed() > GRACE || observer.stop() {
            return pids;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Marked processes of this system.
pub(super) struct Marked {
    /// Those that a run with this journal started.
    pub(super) ours: Vec<u32>,
    /// Those with the same root, in the same mount namespace, whose journal was another directory: it may have been
    /// moved. This process waits for them, and never ends them.
    unclear: Vec<u32>,
}

/// Finds the marked processes. Processes of other mount namespaces and roots (containers, images that are being built)
/// belong to other systems.
pub(super) fn marked(place: &Place) -> Marked {
    let us = std::process::id();
    let mark = mark(place);
    let root = place.real().as_os_str().as_encoded_bytes();
    let mut found = Marked { ours: Vec::new(), unclear: Vec::new() };
    let proc = Path::new("/proc");
    // Without /proc no process can be found.
    let Ok(processes) = std::fs::read_dir(proc) else { return found };
    let pids: Vec<u32> = processes
        .filter_map(|process| process.ok()?.file_name().to_str()?.parse().ok())
        .filter(|&pid: &u32| pid != us)
        .collect();
    let ask = |pid: u32| value(&proc.join(pid.to_string())).unwrap_or_default();
    let mut answers = apart::each(&Patience::new(PATIENCE_MS), &pids, ask);
    if answers.iter().all(Option::is_none) {
        // No child can be started.
        answers = pids.iter().map(|pid| Some(ask(*pid))).collect();
    }
    // One that does not answer is taken for another user's, who could otherwise have every change refused.
    for (pid, value) in pids.into_iter().zip(answers) {
        let Some(value) = value.filter(|value| !value.is_empty()) else { continue };
        if value.splitn(2, |&byte| byte == b' ').nth(1) != Some(root) {
            continue;
        }
        if value == mark && !value.starts_with(b" ") {
            found.ours.push(pid);
        } else if is_in_our_system(pid) {
            found.unclear.push(pid);
        }
    }
    found
}

/// The value of the mark of a process, if it runs as this user.
fn value(process: &Path) -> Option<Vec<u8>> {
    if !is_ours(process) {
        return None;
    }
    let environment = begin(&process.join("environ"), ENVIRONMENT)?;
    let name = format!("{MARK}=").into_bytes();
    let mut variables = environment.split(|&byte| byte == 0);
    variables.find_map(|it| it.strip_prefix(name.as_slice())).map(<[u8]>::to_vec)
}

/// The beginning of a file, at most this many bytes.
fn begin(path: &Path, most: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(most).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Whether a process has the mount namespace and the root directory of this one.
fn is_in_our_system(pid: u32) -> bool {
    let namespace = |of: &str| std::fs::read_link(format!("/proc/{of}/ns/mnt")).ok();
    let root = |of: &str| {
        let meta = std::fs::metadata(format!("/proc/{of}/root")).ok()?;
        Some((meta.dev(), meta.ino()))
    };
    let pid = pid.to_string();
    namespace(&pid) == namespace("thread-self") && root(&pid) == root("thread-self")
}

/// Whether a process runs as this user, and was started so: any user can mark programs of their own, even those that
/// become root by their set-user-ID bit, and would keep this process waiting.
fn is_ours(process: &Path) -> bool {
    // Its name may have any bytes.
    let status = begin(&process.join("status"), STATUS).unwrap_or_default();
    let status = String::from_utf8_lossy(&status);
    let ours = rustix::process::geteuid().as_raw();
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    // Real, effective, saved and filesystem's.
    line.is_some_and(|line| line.split_whitespace().take(2).all(|uid| uid.parse() == Ok(ours)))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::Sysfs;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::process::{CommandExt, ExitStatusExt};
    use std::process::{Child, Command};

    /// A system in a directory of its own, with a journal.
    pub(in super::super) fn place() -> (tempfile::TempDir, Place) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join(DIRECTORY)).unwrap();
        let place = Place::at(dir.path(), Sysfs::at(dir.path())).unwrap();
        (dir, place)
    }

    /// A process that a run with this mark started.
    fn sleeping(mark: &[u8]) -> Child {
        let mut command = Command::new("/bin/sleep");
        command.arg("1000").env(MARK, OsStr::from_bytes(mark)).spawn().unwrap()
    }

    #[test]
    fn end_orphans_program_of_another_journal_is_not_ended() {
        let (_dir, place) = place();
        let mut other = b"1:1 ".to_vec();
        other.extend_from_slice(place.real().as_os_str().as_encoded_bytes());
        let (mut theirs, mut ours) = (sleeping(&other), sleeping(&mark(&place)));
        while marked(&place).ours.is_empty() || marked(&place).unclear.is_empty() {
            std::thread::sleep(Duration::from_millis(2));
        }
        let error = end_orphans(&place).unwrap_err().to_string();
        assert!(error.contains(&theirs.id().to_string()), "{error}");
        assert!(theirs.try_wait().unwrap().is_none() && ours.wait().unwrap().signal() == Some(9));
        theirs.kill().unwrap();
        theirs.wait().unwrap();
    }

    #[test]
    fn mark_on_a_process_of_another_user_is_not_believed() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let (_dir, place) = place();
        let sleep = |user| {
            let mut command = Command::new("/bin/sleep");
            command
                .arg("1000")
                .env(MARK, OsStr::from_bytes(&mark(&place)))
                .uid(user)
                .spawn()
                .unwrap()
        };
        let (mut theirs, mut ours) = (sleep(1000), sleep(0));
        // Until both have become that program.
        while marked(&place).ours.is_empty() {
            std::thread::sleep(Duration::from_millis(2));
        }
        assert_eq!(marked(&place).ours, [ours.id()]);
        end_orphans(&place).unwrap();
        assert!(theirs.try_wait().unwrap().is_none());
        theirs.kill().unwrap();
        theirs.wait().unwrap();
        ours.wait().unwrap();
    }

    #[test]
    fn environment_of_another_user_is_not_opened_and_no_long_one_read_to_its_end() {
        let dir = tempfile::tempdir().unwrap();
        let of = |user: u32| {
            std::fs::write(
                dir.path().join("status"),
                format!("Name:\tx\nUid:\t{user}\t{user}\t0\t0\n"),
            )
        };
        let ours = rustix::process::geteuid().as_raw();
        let environment = dir.path().join("environ");
        // A FIFO without a writer: opening it would never end.
        let made = Command::new("mkfifo").arg(&environment).status().unwrap();
        assert!(made.success());
        of(ours + 1).unwrap();
        assert_eq!(value(dir.path()), None);
        std::fs::remove_file(&environment).unwrap();
        std::fs::write(&environment, b"A=1\0CLOCKSMITH_CHANGE=1:2 /\0B=2").unwrap();
        assert_eq!(value(dir.path()), None);
        of(ours).unwrap();
        // More than any memory has.
        File::options().write(true).open(&environment).unwrap().set_len(1 << 42).unwrap();
        assert_eq!(value(dir.path()).as_deref(), Some(&b"1:2 /"[..]));
    }
}
