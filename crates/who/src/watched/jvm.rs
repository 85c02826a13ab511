//! Names of code that runtimes make: the maps that they write, and the request to a Java virtual machine for
//! its map.
//!
//! The JVM writes `/tmp/perf-PID.map` on a request by its attach protocol, which `jcmd` uses: a file
//! `.attach_pidPID` and SIGQUIT make it listen at a socket (HotSpot attachListener_linux.cpp, JDK 9 and
//! later; `Compiler.perfmap` since 17). The signal would end any other JVM, or make it dump its threads or its
//! memory. So the signal is sent only to a JVM that was configured to take requests (`hotspot`), would
//! recognise this one (`attach`), and has mapped no code that may have set another action (`jdk`), unless the
//! user requests it; and only once: the file stays if the JVM did not reply, and a JVM with such a file is not
//! signalled.

use super::attach;
use super::guard::{NotOpened, Temporary, text};
use super::hotspot;
use super::process::Process;
use super::remains::{self, Map, Request};
use crate::symbols::perf_map::PerfMap;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// How long the JVM may take to listen, and to reply.
const PATIENCE: Duration = Duration::from_secs(2);

/// The kernel's data about a process.
struct Status(String);

impl Status {
    fn of(pid: u32) -> Self {
        Self(text(&format!("/proc/{pid}/status"), 1 << 16).unwrap_or_default())
    }

    fn line(&self, name: &str) -> Option<&str> {
        self.0.lines().find_map(|line| line.strip_prefix(name)).map(str::trim)
    }

    /// Whether a mask of signals has SIGQUIT.
    fn quit(&self, mask: &str) -> bool {
        self.line(mask)
            .and_then(|mask| u64::from_str_radix(mask, 16).ok())
            .is_some_and(|mask| mask & 1 << (libc::SIGQUIT - 1) != 0)
    }

    /// Returns whether the process would handle a signal now.
    fn can_be_signalled(&self) -> Result<(), &'static str> {
        if self.line("State:").is_none_or(|state| state.starts_with(['T', 't', 'Z', 'X'])) {
            Err("it is stopped")
        } else if !self.quit("SigCgt:") {
            Err("it takes no requests (-Xrs)")
        } else if self.quit("SigPnd:") || self.quit("ShdPnd:") {
            Err("an earlier signal still waits for it")
        } else {
            Ok(())
        }
    }
}

/// The id that a process has in its own namespace: the last of `NSpid`.
#[must_use]
pub fn inner_pid(pid: u32) -> u32 {
    let status = Status::of(pid);
    let ids = status.line("NSpid:");
    ids.and_then(|ids| ids.split_ascii_whitespace().last()?.parse().ok()).unwrap_or(pid)
}

/// A map that was read, and the file that it was: one that has not changed is not read again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    place: (u64, u64),
    length: u64,
    changed: (i64, i64),
}

/// A map that was read, held open: when its process has ended, the map still names the code of its samples.
#[derive(Debug, Default)]
pub struct Written {
    version: Option<Version>,
    file: Option<File>,
}

/// A map that a runtime has written by itself (`node --perf-basic-prof`, `python -X perf`), below the
/// process's own root. `None` if there is no map, or if it is the one that was read before (`known`).
///
/// # Errors
/// Returns the reason if there is such a map and it is not used.
pub fn written_map(pid: u32, known: &mut Written) -> Result<Option<PerfMap>, String> {
    let name = format!("perf-{}.map", inner_pid(pid));
    let opened = Temporary::of(pid).and_then(|tmp| match tmp.look(&name) {
        // A run of this program has requested it, and reads it itself.
        Some(stat) if remains::is_our_map(&stat) => Err(NotOpened::Absent),
        _ => tmp.open(&name),
    });
    let file = match (opened, &known.file) {
        (Err(NotOpened::Absent), Some(file)) => {
            file.try_clone().map_err(|error| NotOpened::Refused(error.to_string()))
        }
        (opened, _) => opened,
    };
    let read = file.and_then(|mut file| {
        let refused = |error: std::io::Error| NotOpened::Refused(error.to_string());
        let meta = file.metadata().map_err(refused)?;
        let version = Version {
            place: (meta.dev(), meta.ino()),
            length: meta.len(),
            changed: (meta.mtime(), meta.mtime_nsec()),
        };
        if known.version.replace(version) == Some(version) {
            return Ok(None);
        }
        file.rewind().map_err(refused)?;
        known.file = Some(file.try_clone().map_err(refused)?);
        PerfMap::of(file).map(Some).map_err(|error| NotOpened::Refused(error.to_string()))
    });
    match read {
        Ok(map) => Ok(map),
        Err(NotOpened::Absent) => Ok(None),
        Err(NotOpened::Refused(why)) => {
            Err(format!("process {pid}: the names in its /tmp/{name} are not used: {why}"))
        }
    }
}

/// Which Java virtual machines are requested to name their code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requests {
    /// None.
    No,
    /// Those in which no code can have set its own action for the signal: see `jdk`.
    Sure,
    /// Others as well, at the user's request.
    Wished,
}

/// Requests the JVM's map, and removes the file again if it was not there before. After an error there must not be
/// another request.
///
/// # Errors
/// Returns the reason if the JVM gave no map, and how to get one.
pub fn ask(process: &Process, requests: Requests) -> Result<PerfMap, String> {
    let pid = process.pid;
    let gap = |why: &str| {
        format!(
            "process {pid}: names of compiled Java functions are missing: {why}. They need HotSpot of JDK 17 \
             or later, root or the user of the process with the right to read its memory, and no \
             -XX:+DisableAttachMechanism"
        )
    };
    let reason = |error: NotOpened| match error {
        NotOpened::Absent => gap("its /tmp cannot be seen"),
        NotOpened::Refused(why) => gap(&why),
    };
    let inner = inner_pid(pid);
    let tmp = Temporary::of(pid).map_err(reason)?;
    let name = format!(".java_pid{inner}");
    remains::remove_former(&tmp, pid, inner, tmp.socket(&name).is_ok());
    let map = format!("perf-{inner}.map");
    // The JVM writes to that name, even if it exists.
    let there = tmp.look(&map).is_some();
    if there {
        tmp.open(&map).map_err(reason)?;
    }
    let held = tmp.stat().map_err(reason)?;
    attach::may_hold_files(&held, tmp.owners()).map_err(|why| gap(&why))?;
    let socket = match tmp.socket(&name) {
        Ok(socket) => socket,
        Err(NotOpened::Absent) => wake(process, inner, &tmp, requests).map_err(|why| gap(&why))?,
        Err(refused) => return Err(reason(refused)),
    };
    // Made before it is written: another user's link of this name would lead the JVM to one of its own files.
    let made = if there { None } else { Some(Map::make(&tmp, inner).map_err(reason)?) };
    if let Some(made) = &made {
        made.is_told();
    }
    let answer = command(pid, &socket).map_err(|error| gap(&format!("no answer: {error}")))?;
    let (status, text) = answer.split_once('\n').unwrap_or((&answer, ""));
    if status.trim() != "0" {
        let line = text.lines().next().unwrap_or("it knows no Compiler.perfmap");
        return Err(gap(&format!("the JVM says: {line}")));
    }
    let names = tmp
        .open(&map)
        .map_err(reason)
        .and_then(|file: File| PerfMap::of(file).map_err(|error| gap(&error.to_string())));
    drop(made);
    names.and_then(|names| if names.is_empty() { Err(gap("it wrote no map")) } else { Ok(names) })
}

/// Names that are listed at most.
const NAMED: usize = 3;

/// Why a JVM with code other than its JDK's gets no signal.
fn stranger(names: &[String]) -> Option<String> {
    let listed = names.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    let more = names.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!names.is_empty()).then(|| {
        format!(
            "beside its JDK it has {listed}{more}, which may use SIGQUIT for something else; \
             --attach asks it nevertheless, and `jcmd PID Compiler.perfmap` (by the same signal) \
             writes the names"
        )
    })
}

/// Makes the JVM listen.
fn wake(
    process: &Process,
    inner: u32,
    tmp: &Temporary,
    requests: Requests,
) -> Result<OwnedFd, String> {
    let pid = process.pid;
    // Held from before the proof: the id could be another process's by the time of the signal.
    let id = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or("no process id")?;
    let same = pidfd_open(id, PidfdFlags::empty())
        .map_err(|error| format!("it cannot be held (pidfd_open, Linux 5.3): {error}"))?;
    Status::of(pid).can_be_signalled()?;
    let code = hotspot::takes_requests(process)?;
    attach::would_be_seen(pid, inner, tmp.owners())?;
    let name = format!(".attach_pid{inner}");
    if tmp.look(&name).is_some() {
        return Err(format!(
            "it did not answer an earlier request: /tmp/{name} is still there; remove that to ask again"
        ));
    }
    if requests != Requests::Wished
        && let Some(why) = stranger(&process.strangers(code))
    {
        return Err(why);
    }
    let request = Request::make(tmp, pid, inner)?;
    request.is_told();
    signal(&same).map_err(|error| {
        request.is_not_told();
        format!("it may not be signalled: {error}")
    })?;
    let begun = Instant::now();
    // Also after a signal to this program: the file is removed when the JVM has seen it.
    while begun.elapsed() < PATIENCE {
        if let Ok(socket) = tmp.socket(&format!(".java_pid{inner}")) {
            return Ok(socket);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    // The file stays: it shows the next run that the JVM does not reply, and, if the JVM was only busy, shows the JVM
    // that the signal did not request a dump.
    request.keep();
    Err(format!("it does not listen; /tmp/{name} stays, so that it is not asked again"))
}

fn signal(process: &OwnedFd) -> std::io::Result<()> {
    Ok(pidfd_send_signal(process, Signal::QUIT)?)
}

/// The process that listens at the other end; 0 if it is not in a namespace that is seen from here.
fn listener(stream: &OwnedFd) -> std::io::Result<libc::pid_t> {
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: both pointers are to live values, and `length` is the size of the first.
    let got = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut peer).cast(),
            &raw mut length,
        )
    };
    if got == 0 { Ok(peer.pid) } else { Err(std::io::Error::last_os_error()) }
}

/// Protocol version 1: the version, the command and three arguments, each with a zero after it.
fn command(pid: u32, socket: &OwnedFd) -> std::io::Result<String> {
    // Without blocking: a socket whose owner accepts no connections would block this program for ever.
    let flags = SocketFlags::CLOEXEC.union(SocketFlags::NONBLOCK);
    let stream = net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    let place = SocketAddrUnix::new(format!("/proc/self/fd/{}", socket.as_raw_fd()))?;
    net::connect(&stream, &place)?;
    if u32::try_from(listener(&stream)?) != Ok(pid) {
        return Err(std::io::Error::other("another process listens at its socket"));
    }
    let mut stream = UnixStream::from(stream);
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(b"1\0jcmd\0Compiler.perfmap\0\0\0")?;
    let mut answer = Vec::new();
    let begun = Instant::now();
    let mut buffer = [0; 4096];
    // One limit for the whole reply: single bytes with pauses would never reach the time limit of one read.
    while answer.len() < 1 << 16 && begun.elapsed() < 2 * PATIENCE {
        match stream.read(&mut buffer)? {
            0 => break,
            length => answer.extend_from_slice(buffer.get(..length).unwrap_or_default()),
        }
    }
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_cannot_answer_is_not_signalled() {
        let status = |state: &str, caught: &str, pending: &str| {
            Status(format!(
                "Name:\tjava\nState:\t{state}\nSigPnd:\t0000000000000000\nShdPnd:\t{pending}\nSigCgt:\t{caught}\n"
            ))
        };
        let none = "0000000000000000";
        let quit = "0000000000000004";
        assert_eq!(status("S (sleeping)", quit, none).can_be_signalled(), Ok(()));
        assert!(status("T (stopped)", quit, none).can_be_signalled().is_err());
        assert!(status("S (sleeping)", none, none).can_be_signalled().is_err());
        assert!(status("S (sleeping)", quit, quit).can_be_signalled().is_err());
        assert!(Status(String::new()).can_be_signalled().is_err());
    }

    #[test]
    fn a_socket_of_another_process_gets_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("socket");
        let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let flags = rustix::fs::OFlags::PATH.union(rustix::fs::OFlags::CLOEXEC);
        let place = rustix::fs::open(&path, flags, rustix::fs::Mode::empty()).unwrap();
        let error = command(1, &place).unwrap_err();
        assert!(error.to_string().contains("another process"), "{error}");
        let mut heard = Vec::new();
        listener.accept().unwrap().0.read_to_end(&mut heard).unwrap();
        assert!(heard.is_empty());
    }
}
