//! A filesystem whose server goes silent, by the kernel's own protocol (`include/uapi/linux/fuse.h`): every wait for it
//! has an end. Only root mounts one; elsewhere these tests print that they did nothing.

#![allow(clippy::unwrap_used, clippy::panic)]

use crate::signals::{send, send_to, with_default_signals};
use std::ffi::CString;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const PROGRAM: &str = env!("CARGO_BIN_EXE_clocksmith");
/// Longer than this is a hang, on any machine.
const PATIENCE: Duration = Duration::from_secs(60);
const MAX: usize = 128 << 10;

/// A mounted filesystem with one file, `program`.
struct Served {
    at: tempfile::TempDir,
    device: Arc<OwnedFd>,
    silent: Arc<AtomicBool>,
}

impl Served {
    /// `None` if it cannot be mounted.
    fn mount(program: Vec<u8>, answers: bool) -> Option<Self> {
        let at = tempfile::tempdir().unwrap();
        let device = std::fs::File::options().read(true).write(true).open("/dev/fuse").ok()?;
        let text = |text: &str| CString::new(text).unwrap();
        let options =
            format!("fd={},rootmode=40000,user_id=0,group_id=0,allow_other", device.as_raw_fd());
        let (source, kind, options) = (text("silent"), text("fuse"), text(&options));
        let path = text(at.path().to_str().unwrap());
        // SAFETY: the pointers are to live texts that end in NUL.
        let mounted = unsafe {
            libc::mount(source.as_ptr(), path.as_ptr(), kind.as_ptr(), 0, options.as_ptr().cast())
        };
        if mounted != 0 {
            return None;
        }
        let served = Self {
            at,
            device: Arc::new(device.into()),
            silent: Arc::new(AtomicBool::new(!answers)),
        };
        if answers {
            let (device, silent) = (Arc::clone(&served.device), Arc::clone(&served.silent));
            std::thread::spawn(move || serve(&device, &silent, &program));
        }
        Some(served)
    }

    fn program(&self) -> PathBuf {
        self.at.path().join("program")
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let path = CString::new(self.at.path().to_str().unwrap()).unwrap();
        // SAFETY: the pointer is to a live text that ends in NUL. Forced, so that every waiting request gets an error.
        unsafe { libc::umount2(path.as_ptr(), libc::MNT_FORCE | libc::MNT_DETACH) };
    }
}

/// Replies until it is to be silent; then it reads requests and replies to none.
fn serve(device: &OwnedFd, silent: &AtomicBool, program: &[u8]) {
    let mut request = vec![0; MAX + 4096];
    loop {
        let Ok(length) = rustix::io::read(device, &mut request) else { return };
        let word = |at: usize| u32::from_ne_bytes(request[at..at + 4].try_into().unwrap());
        let long = |at: usize| u64::from_ne_bytes(request[at..at + 8].try_into().unwrap());
        let (code, unique, node) = (word(4), long(8), long(16));
        // FORGET, INTERRUPT, BATCH_FORGET have no reply.
        if silent.load(Ordering::Relaxed) || [2, 36, 42].contains(&code) {
            continue;
        }
        let name = &request[40..length];
        let answer: Result<Vec<u8>, i32> = match code {
            // INIT: the version and the largest write.
            26 => {
                let mut out = vec![0; 64];
                out[0..4].copy_from_slice(&7u32.to_ne_bytes());
                out[4..8].copy_from_slice(&31u32.to_ne_bytes());
                out[20..24].copy_from_slice(&(MAX as u32).to_ne_bytes());
                Ok(out)
            }
            // LOOKUP
            1 if name.starts_with(b"program\0") => {
                let mut out = vec![0; 40];
                out[0..8].copy_from_slice(&2u64.to_ne_bytes());
                out.extend(attributes(2, program.len()));
                Ok(out)
            }
            1 => Err(libc::ENOENT),
            // GETATTR
            3 => Ok([vec![0; 16], attributes(node, program.len())].concat()),
            // OPEN, OPENDIR
            14 | 27 => Ok(vec![0; 16]),
            // READ
            15 => {
                let from = usize::try_from(long(48)).unwrap().min(program.len());
                let to = (from + word(56) as usize).min(program.len());
                Ok(program[from..to].to_vec())
            }
            // RELEASE, FLUSH, RELEASEDIR
            18 | 25 | 29 => Ok(Vec::new()),
            _ => Err(libc::ENOSYS),
        };
        let (error, body) = answer.map_or_else(|error| (-error, Vec::new()), |body| (0, body));
        let mut out = Vec::new();
        out.extend(u32::try_from(16 + body.len()).unwrap().to_ne_bytes());
        out.extend(error.to_ne_bytes());
        out.extend(unique.to_ne_bytes());
        out.extend(body);
        let _ = rustix::io::write(device, &out);
    }
}

/// Attributes of the directory (1) or of the file.
fn attributes(node: u64, length: usize) -> Vec<u8> {
    let (mode, size) = if node == 1 { (0o40755u32, 0) } else { (0o100755, length as u64) };
    let mut out = Vec::new();
    for long in [node, size, size.div_ceil(512), 0, 0, 0] {
        out.extend(long.to_ne_bytes());
    }
    for word in [0, 0, 0, mode, 1, 0, 0, 0, 4096, 0] {
        out.extend(word.to_ne_bytes());
    }
    out
}

fn not_here() {
    eprintln!("skipped: no FUSE filesystem can be mounted here");
}

/// Waits for a child to end by itself, in time; returns its exit status.
fn end(child: &mut std::process::Child, what: &str) -> std::process::ExitStatus {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if begun.elapsed() > PATIENCE {
            let _ = child.kill();
            panic!("{what} did not end");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
#[cfg(feature = "who")]
fn who_ends_where_the_filesystem_of_a_program_went_silent() {
    let shell = std::fs::read(Path::new("/bin/sh").canonicalize().unwrap()).unwrap();
    let Some(served) = Served::mount(shell, true) else { return not_here() };
    let busy = ["-c", "while :; do :; done"];
    let mut program =
        Command::new(served.program()).args(busy).stdin(Stdio::null()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(500));
    assert!(program.try_wait().unwrap().is_none(), "the program runs");
    served.silent.store(true, Ordering::Relaxed);
    let out = tempfile::tempfile().unwrap();
    let mut who = Command::new(PROGRAM)
        .args(["who", "--duration", "500ms", "--verbose", "-p", &program.id().to_string()])
        .stdin(Stdio::null())
        .stdout(out.try_clone().unwrap())
        .stderr(out)
        .spawn()
        .unwrap();
    let begun = Instant::now();
    let mut ended = None;
    while ended.is_none() && begun.elapsed() < PATIENCE {
        ended = who.try_wait().unwrap();
        std::thread::sleep(Duration::from_millis(50));
    }
    let _ = program.kill();
    drop(served);
    let _ = (program.wait(), who.kill(), who.wait());
    let status = ended.expect("who ended");
    assert!(status.code().is_some_and(|code| code <= 3), "{status}");
}

/// A thread reads a page of standard input through `/proc/self/mem`, with the lock of the memory map held, and another one
/// wants to change the map: readers of the map, of the command line and of the memory wait until they are killed. A
/// process with the same memory that becomes another program then waits with the lock of its program held.
#[cfg(feature = "who")]
const LOCKED: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static char *page, stack[65536];
static int memory;

static void *reads(void *none) {
    char bytes[8];
    return pread(memory, bytes, 8, (off_t)page) < 0 ? none : none;
}

static void *maps(void *none) {
    usleep(200000);
    mmap(0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return none;
}

static int becomes(void *none) {
    (void)none;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    usleep(1200000);
    execl("/bin/sleep", "sleep", "60", (char *)0);
    return 1;
}

static void *lists(void *none) {
    syscall(SYS_getdents64, open("/proc/self", O_RDONLY | O_DIRECTORY), page, 4096);
    return none;
}

static void *creates(void *none) {
    usleep(200000);
    open("/proc/self/none", O_CREAT | O_WRONLY, 0600);
    return none;
}

int main(int count, char **words) {
    pthread_t first, second;
    page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, 0, 0);
    if (count > 1) {
        printf("%s\n", words[1]);
        fflush(stdout);
        usleep(500000);
        pthread_create(&first, 0, lists, 0);
        pthread_create(&second, 0, creates, 0);
        for (;;) pause();
    }
    memory = open("/proc/self/mem", O_RDONLY);
    printf("%7d\n", clone(becomes, stack + sizeof stack - 64, CLONE_VM | SIGCHLD, 0));
    fflush(stdout);
    usleep(500000);
    pthread_create(&first, 0, reads, 0);
    pthread_create(&second, 0, maps, 0);
    for (;;) pause();
}
"#;

#[test]
#[cfg(feature = "who")]
fn verbs_end_where_the_map_of_a_process_is_locked() {
    verbs_end_beside(&[], &["cmdline"], "io");
}

/// With one thread that lists the process's directory into such memory, and one that waits to create a file there, not
/// even a signal ends a look into the directory.
#[test]
#[cfg(feature = "who")]
fn verbs_end_where_the_directory_of_a_process_is_locked() {
    verbs_end_beside(&["listing"], &["loginuid", "sessionid"], "");
}

/// `files` of the process, and one of its child, cannot be read then.
#[cfg(feature = "who")]
fn verbs_end_beside(words: &[&str], files: &[&str], of_child: &str) {
    let Some(served) = Served::mount(vec![0; 4096], true) else { return not_here() };
    let dir = tempfile::tempdir_in("/tmp").unwrap();
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let (source, locked) = (dir.path().join("locked.c"), dir.path().join("locked"));
    std::fs::write(&source, LOCKED).unwrap();
    match Command::new("cc").args(["-pthread", "-o"]).args([&locked, &source]).status() {
        Ok(status) => assert!(status.success(), "cc: {status}"),
        Err(error) => return eprintln!("skipped: cc: {error}"),
    }
    // Another user starts it, independent of the umask.
    std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut program = Command::new(&locked)
        .args(words)
        .stdin(std::fs::File::open(served.program()).unwrap())
        .stdout(Stdio::piped())
        .uid(65534)
        .gid(65534)
        .spawn()
        .unwrap();
    let mut line = [0; 7];
    std::io::Read::read_exact(program.stdout.as_mut().unwrap(), &mut line).unwrap();
    served.silent.store(true, Ordering::Relaxed);
    std::thread::sleep(Duration::from_secs(2));
    let pid = program.id().to_string();
    let child = String::from_utf8_lossy(&line).trim().to_owned();
    let is_locked = |pid: &str, file: &str| {
        let path = format!("/proc/{pid}/{file}");
        let (sender, receiver) = std::sync::mpsc::channel();
        std::thread::spawn(move || sender.send(std::fs::read(path).is_ok()));
        receiver.recv_timeout(Duration::from_millis(500)).is_err()
    };
    let locked = files.iter().all(|file| is_locked(&pid, file))
        && (of_child.is_empty() || is_locked(&child, of_child));
    let ends = |arguments: &[&str]| {
        let mut verb = Command::new(PROGRAM)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let begun = Instant::now();
        while verb.try_wait().unwrap().is_none() && begun.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(50));
        }
        let status = verb.try_wait().unwrap();
        let _ = (verb.kill(), verb.wait());
        status.and_then(|status| status.code()).is_some_and(|code| code <= 3)
    };
    let who = ends(&["who", "--duration", "500ms", "-p", &pid]);
    let of_child = of_child.is_empty() || ends(&["who", "--duration", "500ms", "-p", &child]);
    let by_name = ends(&["who", "--duration", "500ms", "--name", "locked"]);
    let why = ends(&["why", "--no-measure"]);
    let _ = program.kill();
    drop(served);
    let _ = program.wait();
    assert!(locked, "the kernel shows such processes");
    let all = [who, of_child, by_name, why];
    assert_eq!(all, [true; 4], "who -p, who -p of the child, who --name, why");
}

#[test]
fn why_of_a_root_that_is_not_served_ends_by_a_signal() {
    let Some(served) = Served::mount(Vec::new(), false) else { return not_here() };
    let root = served.at.path().to_str().unwrap().to_owned();
    let mut why = Command::new(PROGRAM)
        .args(["why", "--root", &root])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_secs(1));
    if why.try_wait().unwrap().is_none() {
        send(&why, libc::SIGTERM);
    }
    let status = end(&mut why, "why");
    assert!(status.signal() == Some(libc::SIGTERM) || status.code() == Some(2), "{status}");
}

/// A signal ends `watch` in a moment where a silent filesystem keeps it at its start.
#[test]
fn watch_on_a_silent_filesystem_ends_by_a_signal() {
    let root = tempfile::tempdir().unwrap();
    let sysfs = root.path().join("sys/devices/system/clocksource/clocksource0");
    std::fs::create_dir_all(&sysfs).unwrap();
    std::fs::write(sysfs.join("available_clocksource"), "tsc hpet\n").unwrap();
    std::fs::write(sysfs.join("current_clocksource"), "tsc\n").unwrap();
    for (option, name, answers) in [("--web-config", "program", false)] {
        for signal in [libc::SIGTERM, libc::SIGINT] {
            let Some(served) = Served::mount(Vec::new(), answers) else { return not_here() };
            let mut command = Command::new(PROGRAM);
            let mut watch = with_default_signals(&mut command)
                .args([
                    "watch",
                    "--listen",
                    "127.0.0.1:0",
                    "--no-history",
                    "--look",
                    "1s",
                    "--root",
                ])
                .arg(root.path())
                .arg(option)
                .arg(served.at.path().join(name))
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            std::thread::sleep(Duration::from_secs(1));
            served.silent.store(true, Ordering::Relaxed);
            // Longer than from one look to the next.
            std::thread::sleep(Duration::from_secs(2));
            assert!(watch.try_wait().unwrap().is_none(), "{option}: it waits");
            let pid = i32::try_from(watch.id()).unwrap();
            let begun = Instant::now();
            send_to(pid, signal);
            let mut ended = None;
            while ended.is_none() && begun.elapsed() < Duration::from_secs(8) {
                ended = watch.try_wait().unwrap();
                std::thread::sleep(Duration::from_millis(20));
            }
            drop(served);
            let _ = (watch.kill(), watch.wait());
            let status = ended.unwrap_or_else(|| panic!("{option}: {signal} did not end it"));
            assert_eq!(status.signal(), Some(signal), "{option}: {status}");
        }
    }
}
