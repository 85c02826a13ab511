//! Asking a Java virtual machine for the names of its compiled code.
//!
//! The machine writes `/tmp/perf-PID.map` when it is asked by its attach protocol, which `jcmd` speaks:
//! a file `.attach_pidPID` and SIGQUIT make it listen at a socket (HotSpot attachListener_linux.cpp, JDK
//! 9 and later; `Compiler.perfmap` since 17). The signal is sent only where the machine has a handler
//! for it: to others it would be the end.

use super::process::Process;
use crate::symbols::perf_map::PerfMap;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long the machine may take to listen, and to answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// A map that is longer than this is not read.
const LONGEST: u64 = 256 << 20;

/// The id that a process has in its own namespace: the last of `NSpid`.
#[must_use]
pub fn inner_pid(pid: u32) -> u32 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    line.and_then(|ids| ids.split_ascii_whitespace().last()?.parse().ok()).unwrap_or(pid)
}

/// Whether a process has a handler for SIGQUIT (`SigCgt`, signal 3).
fn handles_quit(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask & 1 << (libc::SIGQUIT - 1) != 0)
}

/// A map that a runtime has written by itself (`node --perf-basic-prof`, `python -X perf`), below the
/// process's own root.
#[must_use]
pub fn written_map(pid: u32) -> Option<PerfMap> {
    let inner = inner_pid(pid);
    read_map(pid, &PathBuf::from(format!("/proc/{pid}/root/tmp/perf-{inner}.map")))
}

/// Reads a map that belongs to the process's user, or to root.
fn read_map(pid: u32, path: &Path) -> Option<PerfMap> {
    let file = File::open(path).ok()?;
    let meta = file.metadata().ok().filter(|meta| meta.is_file() && meta.len() <= LONGEST)?;
    let owner = std::fs::metadata(format!("/proc/{pid}")).ok()?.uid();
    if meta.uid() != owner && meta.uid() != 0 {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(LONGEST).read_to_end(&mut bytes).ok()?;
    Some(PerfMap::parse(&String::from_utf8_lossy(&bytes)))
}

/// Asks the machine for its map, and takes the file away again if it was not there before.
///
/// # Errors
/// Why it gave none, and what would help.
pub fn ask(process: &Process) -> Result<PerfMap, String> {
    let pid = process.pid;
    let gap = |why: &str| {
        format!(
            "process {pid}: names of compiled Java functions are missing: {why}. They need JDK 17 or \
             later, the user of the process or root, and no -XX:+DisableAttachMechanism"
        )
    };
    let inner = inner_pid(pid);
    let root = PathBuf::from(format!("/proc/{pid}/root/tmp"));
    let socket = root.join(format!(".java_pid{inner}"));
    if !is_socket(&socket) {
        if !handles_quit(pid) {
            return Err(gap("the machine takes no requests (-Xrs)"));
        }
        wake(pid, inner, &root, &socket).map_err(|why| gap(&why))?;
    }
    let map = root.join(format!("perf-{inner}.map"));
    let there = map.exists();
    let answer = command(&socket).map_err(|error| gap(&format!("no answer: {error}")))?;
    let (status, text) = answer.split_once('\n').unwrap_or((&answer, ""));
    if status.trim() != "0" {
        let line = text.lines().next().unwrap_or("it knows no Compiler.perfmap");
        return Err(gap(&format!("the machine says: {line}")));
    }
    let names = read_map(pid, &map);
    if !there {
        let _ = std::fs::remove_file(&map);
    }
    names.filter(|names| !names.is_empty()).ok_or_else(|| gap("it wrote no map"))
}

fn is_socket(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|meta| meta.file_type().is_socket())
}

/// Makes the machine listen.
fn wake(pid: u32, inner: u32, root: &Path, socket: &Path) -> Result<(), String> {
    let trigger = root.join(format!(".attach_pid{inner}"));
    let made = OpenOptions::new().write(true).create_new(true).open(&trigger);
    made.map_err(|error| format!("cannot create {}: {error}", trigger.display()))?;
    let id = i32::try_from(pid).map_err(|_| "no process id".to_owned())?;
    // SAFETY: sends a signal, for which the process has a handler.
    let sent = unsafe { libc::kill(id, libc::SIGQUIT) } == 0;
    let begun = Instant::now();
    while sent && !is_socket(socket) && begun.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(10));
    }
    let _ = std::fs::remove_file(&trigger);
    if is_socket(socket) { Ok(()) } else { Err("it does not listen".to_owned()) }
}

/// Protocol version 1: the version, the command and three arguments, each with a zero behind it.
fn command(socket: &Path) -> std::io::Result<String> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(b"1\0jcmd\0Compiler.perfmap\0\0\0")?;
    let mut answer = Vec::new();
    stream.take(1 << 16).read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}
