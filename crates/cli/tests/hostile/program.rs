//! Runs of the program, and the checks of every one of them.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A run takes a few hundredths of a second. Longer than this is a hang, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// The most memory that a run may take.
const MOST_KIB: i64 = 150 << 10;

/// The result of a run.
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) took: Duration,
    pub(crate) kib: i64,
}

/// Why a run is not as it must be.
pub(crate) type Fault = String;

/// Characters that a terminal acts on, or that are invisible. A second list, to check the program's.
fn acts(c: char) -> bool {
    let code = u32::from(c);
    (c.is_control() && c != '\n' && c != '\t')
        || matches!(code, 0xad | 0x61c | 0x180e | 0xfeff | 0x2028 | 0x2029 | 0xe000..=0xf8ff)
        || matches!(code, 0x200b..=0x200f | 0x202a..=0x202e | 0x2060..=0x206f)
        || matches!(code, 0xfe00..=0xfe0f | 0xe0000..=0xe0fff)
}

/// Checks that a text has no forbidden character.
pub(crate) fn clean(what: &str, text: &str) -> Result<(), Fault> {
    match text.char_indices().find(|(_, c)| acts(*c)) {
        None => Ok(()),
        Some((at, c)) => {
            let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
            let around: String = text[line..].chars().take(200).collect();
            Err(format!("{what} has U+{:04X}: {around:?}", u32::from(c)))
        }
    }
}

/// Runs the program in a directory; faults are those that no input may cause.
// `wait` waits for the child, and reads its memory use.
#[allow(clippy::zombie_processes)]
pub(crate) fn run<S: AsRef<OsStr>>(dir: &Path, arguments: &[S]) -> Result<Run, Fault> {
    let (out, err) = (dir.join("stdout"), dir.join("stderr"));
    let begun = Instant::now();
    let child = Command::new(env!("CARGO_BIN_EXE_clocksmith"))
        .args(arguments)
        .current_dir(dir)
        .env("XDG_STATE_HOME", dir)
        .stdin(Stdio::null())
        .stdout(File::create(&out).unwrap())
        .stderr(File::create(&err).unwrap())
        .spawn()
        .unwrap();
    let (status, kib) = wait(child.id(), begun)?;
    let took = begun.elapsed();
    let read = |path: &Path| {
        String::from_utf8(fs::read(path).unwrap()).map_err(|error| format!("not UTF-8: {error}"))
    };
    let (stdout, stderr) = (read(&out)?, read(&err)?);
    clean("standard output", &stdout)?;
    clean("standard error", &stderr)?;
    let code = libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status));
    if !matches!(code, Some(0..=3)) || stderr.contains("panicked") {
        return Err(format!("ended with {code:?} ({status:#x}): {stderr}"));
    }
    if kib > MOST_KIB {
        return Err(format!("took {kib} KiB"));
    }
    Ok(Run { code, stdout, took, kib })
}

/// Waits for a child: its status, and the most memory that it had.
fn wait(pid: u32, begun: Instant) -> Result<(i32, i64), Fault> {
    let pid = libc::pid_t::try_from(pid).unwrap();
    loop {
        let mut status = 0;
        // SAFETY: all bits zero are a value of this structure of integers.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: `pid` is a child that is waited for only here; both pointers are to locals.
        let ended = unsafe { libc::wait4(pid, &raw mut status, libc::WNOHANG, &raw mut usage) };
        if ended == pid {
            return Ok((status, usage.ru_maxrss));
        }
        assert_eq!(ended, 0, "wait4: {}", std::io::Error::last_os_error());
        if begun.elapsed() > PATIENCE {
            // SAFETY: the process is still a child of this one, since it has not been waited for.
            unsafe {
                libc::kill(pid, libc::SIGKILL);
                libc::wait4(pid, &raw mut status, 0, &raw mut usage);
            }
            return Err(format!("hangs: no end after {PATIENCE:?}"));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Runs the program on a separate terminal; returns the terminal's output. `None` if there is no script(1).
pub(crate) fn on_terminal(dir: &Path, arguments: &[OsString]) -> Option<String> {
    let quote = |word: &OsStr| format!("'{}'", word.to_str().unwrap().replace('\'', r"'\''"));
    let mut command = quote(OsStr::new(env!("CARGO_BIN_EXE_clocksmith")));
    for argument in arguments {
        command = format!("{command} {}", quote(argument));
    }
    let output = Command::new("script")
        .args(["-q", "-e", "-c", &command, "/dev/null"])
        .current_dir(dir)
        .env("TERM", "xterm")
        .env_remove("NO_COLOR")
        .stdin(Stdio::null())
        .output()
        .ok()?;
    Some(String::from_utf8(output.stdout).unwrap())
}

/// Returns a terminal's output without the program's colours and the terminal's line ends, and the number of colours.
pub(crate) fn without_colours(shown: &str) -> (String, usize) {
    let mut text = shown.replace("\r\n", "\n");
    let mut found = 0;
    for code in ["0", "1", "2", "31", "32", "33"] {
        let sequence = format!("\x1b[{code}m");
        found += text.matches(&sequence).count();
        text = text.replace(&sequence, "");
    }
    (text, found)
}

/// Runs a command that the program advises, as a user would who copies it: in a shell that may neither write files nor
/// start anything but stand-ins that do nothing. Any program called `pwned` leaves a mark.
pub(crate) fn try_command(dir: &Path, command: &str) -> Result<(), Fault> {
    let syntax = Command::new("bash").args(["-n", "-c", command]).output().unwrap();
    if !syntax.status.success() {
        return Err(format!("no command of a shell: {command:?}"));
    }
    let programs = dir.join("programs");
    fs::create_dir_all(&programs).unwrap();
    let (mark, nothing) = (dir.join("mark"), programs.join("true"));
    let script = |path: &Path, body: &str| {
        use std::os::unix::fs::PermissionsExt;
        fs::write(path, format!("#!/bin/sh\n{body}\n")).unwrap();
        fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
    };
    script(&programs.join("pwned"), &format!(": >'{}'", mark.display()));
    script(&nothing, "exit 0");
    let name = |word: &&str| {
        word.len() < 24
            && *word != "pwned"
            && word.chars().all(|c| c.is_ascii_lowercase() || c == '-')
    };
    for word in command.split_whitespace().filter(name) {
        let _ = std::os::unix::fs::symlink(&nothing, programs.join(word));
    }
    let empty = dir.join("empty");
    fs::create_dir_all(&empty).unwrap();
    // Restricted: no redirection, no program by a path, no other PATH (bash(1), RESTRICTED SHELL). By its path, since
    // the PATH below has only the stand-ins.
    Command::new("/bin/bash")
        .args(["--norc", "--noprofile", "-r", "-c", command])
        .current_dir(&empty)
        .env_clear()
        .env("PATH", &programs)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    if mark.exists() {
        fs::remove_file(&mark).unwrap();
        return Err(format!("a word of the machine is run: {command:?}"));
    }
    Ok(())
}
