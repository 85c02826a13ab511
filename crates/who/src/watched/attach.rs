//! Whether a Java virtual machine recognises a request to attach.
//!
//! HotSpot treats SIGQUIT as a request to listen if it finds `.attach_pidPID` of its own user or root, first in its
//! working directory, then in `/tmp` (`AttachListener::is_init_trigger`, `attachListener_posix.cpp` since JDK 9);
//! otherwise it dumps its threads. A file that it cannot reach, or whose owner has no number in its user namespace,
//! does not count. A process that has `libjvm.so` and runs no JVM, such as the child of a JVM that has not yet
//! started its own program, is ended by the signal, or handles it in its own way.

use super::guard::Owners;
use super::patient;
use super::served;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Mode, OFlags, Stat};
use std::os::unix::fs::MetadataExt;

/// The thread that takes the signals of a JVM, with its name as the kernel truncates it
/// (`JavaThread::..."Signal Dispatcher"`, `os.cpp`).
const DISPATCHER: &str = "Signal Dispatch";
/// Threads whose names are read at most.
const THREADS: usize = 20_000;
const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::CLOEXEC).union(OFlags::DIRECTORY);
/// Every user may search and write, and may remove only their own files.
const SHARED: u32 = 0o1003;

/// Whether a request to a JVM with this id in its own namespace would be recognised.
///
/// # Errors
/// Returns the reason if the request would not be seen.
pub(super) fn would_be_seen(pid: u32, inner: u32, owners: Owners) -> Result<(), String> {
    let space = |of: &str| {
        let meta = patient::ask(pid, || std::fs::metadata(format!("/proc/{of}/ns/user")).ok())?;
        Some((meta.dev(), meta.ino()))
    };
    if space("self").is_none() || space("self") != space(&pid.to_string()) {
        return Err(
            "it is in another user namespace, where a request may look like another signal; \
                    in its container, `jcmd PID Compiler.perfmap` writes the names"
                .to_owned(),
        );
    }
    if !is_launcher(pid) {
        return Err("its program is not java, and may have a use of its own for the signal; \
                    `jcmd PID Compiler.perfmap` writes the names"
            .to_owned());
    }
    if !has_dispatcher(pid) {
        return Err("it has no thread that takes requests".to_owned());
    }
    let unknown = || "its working directory cannot be seen".to_owned();
    let cwd = open(pid, "cwd").ok_or_else(unknown)?;
    let name = format!(".attach_pid{inner}");
    match rustix::fs::statat(&cwd, &name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(rustix::io::Errno::NOENT) => {}
        Ok(_) => return Err(format!("{name} is already in its working directory")),
        Err(_) => return Err(unknown()),
    }
    let root = open(pid, "root").and_then(|root| rustix::fs::fstat(root).ok());
    if root.is_none_or(|root| !searches(&root, owners)) {
        return Err("it cannot search its root directory".to_owned());
    }
    Ok(())
}

/// A directory of a process; not one that a program or another machine serves.
fn open(pid: u32, what: &str) -> Option<OwnedFd> {
    let path = format!("/proc/{pid}/{what}");
    let place = patient::ask(pid, || rustix::fs::open(path, DIRECTORY, Mode::empty()).ok())?;
    (!served::is_place_served(&place, pid)).then_some(place)
}

/// Whether it was started by the launcher of a JDK, which takes no signals for itself. A program that makes a JVM
/// inside itself may have set its own action for SIGQUIT since, which the kernel does not show.
fn is_launcher(pid: u32) -> bool {
    patient::link(pid, "exe")
        .is_some_and(|program| program.file_name().is_some_and(|name| name == "java"))
}

fn has_dispatcher(pid: u32) -> bool {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return false };
    threads.flatten().take(THREADS).any(|thread| {
        std::fs::read(thread.path().join("comm"))
            .is_ok_and(|name| name.trim_ascii_end() == DISPATCHER.as_bytes())
    })
}

/// Whether the user of a process may search a directory, by its mode.
fn searches(directory: &Stat, owners: Owners) -> bool {
    let bit = if directory.st_uid == owners.user {
        0o100
    } else if directory.st_gid == owners.group {
        0o010
    } else {
        0o001
    };
    owners.user == 0 || directory.st_mode & bit != 0
}

/// Whether this program may create a file in a directory `/tmp` for a virtual machine: every user may create files there
/// and only their owners may remove them, or the directory belongs to the JVM's user. The user may have mounted any
/// other directory there.
///
/// # Errors
/// Returns the reason if it may not.
pub(super) fn may_hold_files(tmp: &Stat, owners: Owners) -> Result<(), String> {
    let own = tmp.st_uid == owners.user && tmp.st_mode & 0o022 == 0 && tmp.st_mode & 0o300 == 0o300;
    if own || tmp.st_mode & SHARED == SHARED {
        Ok(())
    } else {
        Err(format!("its /tmp is not a shared directory (mode {:o})", tmp.st_mode & 0o7777))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWNERS: Owners = Owners { user: 1000, group: 1000, root: 0 };

    fn directory(uid: u32, mode: u32) -> Stat {
        let mut stat = rustix::fs::stat("/").unwrap();
        (stat.st_uid, stat.st_gid, stat.st_mode) = (uid, uid, 0o040_000 | mode);
        stat
    }

    #[test]
    fn tmp_of_root_alone_or_writable_without_the_sticky_bit_holds_no_files() {
        for (uid, mode, good) in [
            (0, 0o1777, true),
            (1000, 0o700, true),
            (1000, 0o1777, true),
            (0, 0o755, false),
            (0, 0o777, false),
            (0, 0o1770, false),
            (1000, 0o770, false),
            (1000, 0o500, false),
            (1001, 0o700, false),
        ] {
            let held = may_hold_files(&directory(uid, mode), OWNERS);
            assert_eq!(held.is_ok(), good, "{uid} {mode:o}: {held:?}");
        }
        assert!(may_hold_files(&directory(0, 0o700), Owners { user: 0, ..OWNERS }).is_ok());
    }

    #[test]
    fn directory_is_searched_by_mode() {
        assert!(searches(&directory(0, 0o755), OWNERS) && !searches(&directory(0, 0o750), OWNERS));
        assert!(!searches(&directory(1000, 0o077), OWNERS));
        assert!(searches(&directory(1000, 0o700), OWNERS));
    }

    #[test]
    fn program_without_a_machine_is_not_asked() {
        let owners = Owners::of(std::process::id()).unwrap();
        let why = would_be_seen(std::process::id(), std::process::id(), owners).unwrap_err();
        assert!(why.contains("not java"), "{why}");
        assert!(!has_dispatcher(std::process::id()));
    }
}
