//! Behaviour of the program with unusable input: it prints what it tried, on what, and the next step; it exits with 2;
//! it never panics, and prints no half a document. Where an input could take it too long, the time is compared with that of
//! another run; the end of one that hangs is that of the test program, at its limit.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bundles;
mod files;
mod logs;
mod roots;
mod stack;
#[path = "../../../../facts/tests/it/tarball.rs"]
mod tarball;
mod usage;

use std::ffi::OsStr;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The result of a run.
struct Outcome {
    code: Option<i32>,
    stdout: String,
    stderr: String,
    /// Of processors: others on the machine make it a little longer, and the time by the clock much.
    took: Duration,
}

/// The user who runs the program.
#[derive(Clone, Copy, PartialEq)]
enum User {
    Me,
    /// A user without rights, where this test may become that user.
    Nobody,
}

// `ended` waits for the child.
#[allow(clippy::zombie_processes)]
fn run_as<S: AsRef<OsStr>>(
    user: User,
    arguments: &[S],
    feed: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Outcome {
    let mut command = Command::new(env!("CARGO_BIN_EXE_clocksmith"));
    command.args(arguments).env("RUST_BACKTRACE", "1");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    if user == User::Nobody {
        command.uid(65_534).gid(65_534);
    }
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // A program that has seen enough closes its end.
    match feed(&mut stdin) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => panic!("{error}"),
        _ => drop(stdin),
    }
    let (mut stdout, mut stderr) = (String::new(), String::new());
    let mut errors = child.stderr.take().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| errors.read_to_string(&mut stderr).unwrap());
        child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
    });
    let (code, took) = ended(child.id());
    Outcome { code, stdout, stderr, took }
}

/// Waits for a child: its exit code, and the time of processors that it took.
fn ended(pid: u32) -> (Option<i32>, Duration) {
    let pid = libc::pid_t::try_from(pid).unwrap();
    let mut status = 0;
    // SAFETY: all bits zero are a value of this structure of integers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `pid` is a child that is waited for only here; both pointers are to locals.
    let found = unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut usage) };
    assert_eq!(found, pid, "wait4: {}", std::io::Error::last_os_error());
    let of = |time: libc::timeval| {
        let micros = u64::try_from(time.tv_sec * 1_000_000 + time.tv_usec).unwrap();
        Duration::from_micros(micros)
    };
    let code = libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status));
    (code, of(usage.ru_utime) + of(usage.ru_stime))
}

/// Asserts that a run took at most so many times as long as another one of the same test.
#[track_caller]
fn at_most(times: u32, what: &str, outcome: &Outcome, other: &Outcome) {
    let (took, of) = (outcome.took, other.took);
    assert!(took < of * times, "{what} took {took:?}, more than {times} times {of:?}");
}

fn run<S: AsRef<OsStr>>(arguments: &[S]) -> Outcome {
    run_as(User::Me, arguments, |_| Ok(()))
}

/// Asserts that an outcome is a decent refusal that has these words in its message.
#[track_caller]
fn refused(what: &str, outcome: &Outcome, words: &[&str]) {
    let Outcome { code, stdout, stderr, .. } = outcome;
    assert_eq!(*code, Some(2), "{what}: {stderr}{stdout}");
    assert_eq!(stdout, "", "{what}: output in spite of an error");
    for panic in ["panicked", "RUST_BACKTRACE", "stack backtrace", "internal"] {
        assert!(!stderr.contains(panic), "{what}: {stderr}");
    }
    let ours = stderr.starts_with("clocksmith: ");
    // Messages about wrong usage are clap's, with a line of usage.
    assert!(ours || stderr.starts_with("error: "), "{what}: {stderr}");
    assert!(stderr.trim_end().lines().count() <= if ours { 2 } else { 8 }, "{what}: {stderr}");
    assert!(stderr.len() < 600, "{what}: {stderr}");
    for word in words {
        assert!(stderr.contains(word), "{what}: no {word:?} in: {stderr}");
    }
}

/// Runs with and without `--json`, and asserts a refusal of both.
#[track_caller]
fn refuses(what: &str, arguments: &[&str], words: &[&str]) {
    refused(what, &run(arguments), words);
    let json: Vec<&str> = arguments.iter().copied().chain(["--json"]).collect();
    refused(&format!("{what} (JSON)"), &run(&json), words);
}

/// A directory that everybody may read.
fn directory() -> tempfile::TempDir {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o755)).unwrap();
    dir
}

/// Writes a file into a separate directory; returns the path, and the value that keeps the directory.
fn file(name: &str, content: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let dir = directory();
    let path = dir.path().join(name);
    std::fs::write(&path, content).unwrap();
    (dir, path)
}
