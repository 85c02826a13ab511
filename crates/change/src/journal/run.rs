//! Runs programs of the system: checked before, in a clean environment, and not left behind.
//!
//! A program gets a clean environment, a umask of 022, no input, a separate process group, and ends with this process
//! (`PR_SET_PDEATHSIG`). Its children do not; so all of them have a mark in their environment, by which a later run
//! finds and ends them before it restores anything.

use super::marked::{MARK, end_orphans, mark};
pub use super::program::find;
use super::program::is_missing;
use super::program::search_path;
use super::tree::{errno, io};
use super::{JournalError, Observer, Place};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// The longest that a program may take, in seconds: os-prober looks at every disk, and an initial ram
/// disk may be made.
pub const TIMEOUT: u64 = 900;
/// The umask of a program: files that it makes have mode 0644 unless it sets another one.
pub(crate) const UMASK: u32 = 0o022;
/// The part of its output that is kept: the end, in bytes.
const OUTPUT: u64 = 64 << 10;
/// A program with more output is faulty and is ended, in bytes.
const MAX_OUTPUT: u64 = 64 << 20;
/// The time that a stopped program has to end by itself.
const GRACE: Duration = Duration::from_secs(5);

/// The outcome of a program that succeeded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ran {
    /// It ran, and said this on standard output and standard error.
    Done(String),
    /// It was not run: it belongs to a system other than the running one, and is left to be run
    /// inside it.
    Left,
}

/// Runs programs of a system.
pub trait Runner {
    /// Checks that the program can be run: called for every program before anything is changed.
    ///
    /// # Errors
    /// Returns an error if the program does not exist or is not executable.
    fn check(&self, place: &Place, program: &str) -> Result<(), JournalError>;

    /// Whether the program is not installed. One that may not be run for another reason is.
    fn is_missing(&self, _place: &Place, _program: &str) -> bool {
        false
    }

    /// Runs a command, and waits for its end.
    ///
    /// # Errors
    /// Returns an error if the program could not be started, failed, took too long, or was stopped
    /// ([`Observer::stop`]).
    fn run(
        &mut self,
        place: &Place,
        command: &[String],
        observer: &mut dyn Observer,
    ) -> Result<Ran, JournalError>;
}

/// Runs programs of the running system, and none of another one.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemRunner;

impl Runner for SystemRunner {
    fn check(&self, place: &Place, program: &str) -> Result<(), JournalError> {
        if !place.is_live() {
            return Ok(());
        }
        find(program).map(drop)
    }

    fn is_missing(&self, place: &Place, program: &str) -> bool {
        place.is_live() && is_missing(program)
    }

    fn run(
        &mut self,
        place: &Place,
        command: &[String],
        observer: &mut dyn Observer,
    ) -> Result<Ran, JournalError> {
        if !place.is_live() {
            return Ok(Ran::Left);
        }
        let program = find(command.first().map_or("", String::as_str))?;
        run_program(place, &program, command, &[], observer).map(Ran::Done)
    }
}

/// Runs a program, with the first word of the command as its name; returns its output.
///
/// # Errors
/// Returns an error if the program could not be started, failed, took longer than [`TIMEOUT`], or was stopped.
pub fn run_program(
    place: &Place,
    program: &Path,
    command: &[String],
    environment: &[(&str, &OsStr)],
    observer: &mut dyn Observer,
) -> Result<String, JournalError> {
    let shown = command.join(" ");
    let failed =
        |how: String, output: String| JournalError::Failed { command: shown.clone(), how, output };
    // Not a pipe: a file needs no reader, and children that stay do not delay this run.
    let memory = rustix::fs::memfd_create("output", rustix::fs::MemfdFlags::CLOEXEC)
        .map_err(io("make room for the output of", program))?;
    let mut output = File::from(memory);
    let copies = output.try_clone().and_then(|one| Ok((one, output.try_clone()?)));
    let (out, err) =
        copies.map_err(|error| io("make room for the output of", program)(errno(&error)))?;
    let mut child = start(place, program, command, environment, out, err)
        .map_err(|error| failed(format!("cannot be started: {error}"), String::new()))?;
    let ended = wait(&mut child, &output, observer);
    let text = end_of(&mut output);
    match ended {
        Ok(status) if status.success() => {
            observer.output(command, &text);
            Ok(text)
        }
        Ok(status) => {
            // No process may still write when files are restored.
            kill_group(&child);
            end_orphans(place)?;
            Err(failed(how(status), text))
        }
        Err(why) => {
            end_orphans(place)?;
            Err(match why {
                Ended::Stopped => JournalError::Stopped,
                Ended::Late => failed(format!("took longer than {TIMEOUT} s"), text),
                Ended::Loud => failed(format!("printed more than {} MiB", MAX_OUTPUT >> 20), text),
                Ended::Lost(error) => failed(format!("was lost: {error}"), text),
            })
        }
    }
}

fn how(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("failed with status {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "failed".to_owned(),
    }
}

fn start(
    place: &Place,
    program: &Path,
    command: &[String],
    environment: &[(&str, &OsStr)],
    out: File,
    err: File,
) -> std::io::Result<Child> {
    let us = rustix::process::getpid();
    // That of the file which it replaces, or none.
    let language = super::language::of(place, command);
    let language =
        if language.is_empty() { vec![("LC_ALL", "C.UTF-8".to_owned())] } else { language };
    let mut child = Command::new(program);
    if let Some(name) = command.first() {
        child.arg0(name);
    }
    child
        .args(command.iter().skip(1))
        .env_clear()
        .env("PATH", search_path())
        .envs(language)
        .env("HOME", "/root")
        .env(MARK, OsStr::from_bytes(&mark(place)))
        .envs(environment.iter().copied())
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(out)
        .stderr(err)
        .process_group(0);
    let hook = move || {
        // Other users can read the files that it makes, and cannot write them, for any umask of the caller.
        rustix::process::umask(rustix::fs::Mode::from_raw_mode(UMASK));
        let kill = Some(rustix::process::Signal::KILL);
        rustix::process::set_parent_process_death_signal(kill)?;
        // It does not inherit descriptors that this process inherited itself; before kernel 5.11 it
        // does.
        // SAFETY: takes numbers; descriptors are only marked to be closed by exec.
        unsafe {
            libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC)
        };
        // Ours may have come before.
        if rustix::process::getppid() != Some(us) {
            return Err(std::io::ErrorKind::Interrupted.into());
        }
        Ok(())
    };
    // SAFETY: between fork and exec it makes four system calls, and none allocates or locks.
    unsafe { child.pre_exec(hook) };
    child.spawn()
}

enum Ended {
    Stopped,
    Late,
    Loud,
    Lost(std::io::Error),
}

fn wait(child: &mut Child, output: &File, observer: &dyn Observer) -> Result<ExitStatus, Ended> {
    let begun = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Ok(None) => {}
            Err(error) => return Err(Ended::Lost(error)),
        }
        let why = if observer.stop() {
            Some(Ended::Stopped)
        } else if begun.elapsed() >= Duration::from_secs(TIMEOUT) {
            Some(Ended::Late)
        } else if output.metadata().is_ok_and(|meta| meta.len() > MAX_OUTPUT) {
            Some(Ended::Loud)
        } else {
            None
        };
        if let Some(why) = why {
            end(child);
            return Err(why);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

/// First with SIGTERM: the program may have files to clean up.
fn end(child: &mut Child) {
    let begun = Instant::now();
    signal_group(child, rustix::process::Signal::TERM);
    while begun.elapsed() < GRACE && matches!(child.try_wait(), Ok(None)) {
        std::thread::sleep(Duration::from_millis(10));
    }
    kill_group(child);
    let _ = child.wait();
}

fn kill_group(child: &Child) {
    signal_group(child, rustix::process::Signal::KILL);
}

fn signal_group(child: &Child, signal: rustix::process::Signal) {
    let pid = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
    if let Some(pid) = pid {
        // No process may be left in the group.
        let _ = rustix::process::kill_process_group(pid, signal);
    }
}

fn end_of(output: &mut File) -> String {
    let length = output.metadata().map_or(0, |meta| meta.len());
    let mut text = Vec::new();
    let start = SeekFrom::Start(length.saturating_sub(OUTPUT));
    // Output that cannot be read is not shown; the failure of the program is known from its status.
    let _ = output.seek(start).and_then(|_| output.take(OUTPUT).read_to_end(&mut text));
    String::from_utf8_lossy(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::super::Silent;
    use super::super::marked::{marked, tests::place};
    use super::*;
    use std::path::PathBuf;

    fn shell(
        place: &Place,
        script: &str,
        observer: &mut dyn Observer,
    ) -> Result<String, JournalError> {
        let command = ["sh", "-c", script].map(str::to_owned);
        run_program(place, Path::new("/bin/sh"), &command, &[], observer)
    }

    #[test]
    fn nothing_of_ours_is_around_a_program() {
        let (_dir, place) = place();
        let text =
            shell(&place, "env; pwd; readlink /proc/self/fd/0; ls /proc/self/fd", &mut Silent)
                .unwrap();
        for line in text.lines().filter(|line| line.contains('=')) {
            let name = line.split('=').next().unwrap();
            assert!(
                ["PATH", "LC_ALL", "HOME", MARK, "PWD", "_", "SHLVL", "OLDPWD"].contains(&name),
                "{line}"
            );
        }
        assert!(text.contains("\n/\n/dev/null\n"), "{text}");
        // `ls` has its directory open as 3.
        assert!(text.ends_with("\n0\n1\n2\n3\n"), "{text}");
    }

    #[test]
    fn programs_get_a_umask_of_ours() {
        use std::os::unix::fs::PermissionsExt;
        const CHILD: &str = "CLOCKSMITH_TEST_UMASK";
        // A umask is the whole process's, and other tests run in this one.
        if std::env::var_os(CHILD).is_none() {
            for umask in ["000", "077"] {
                let script = format!("umask {umask}; exec \"$0\" \"$@\"");
                let status = Command::new("/bin/sh")
                    .args(["-c", &script])
                    .arg(std::env::current_exe().unwrap())
                    .args(["--exact", "journal::run::tests::programs_get_a_umask_of_ours"])
                    .env(CHILD, umask)
                    .stdout(Stdio::null())
                    .status();
                assert!(status.unwrap().success(), "with a umask of {umask}");
            }
            return;
        }
        let (dir, place) = place();
        let file = dir.path().join("made");
        let script = format!("umask; echo x > {}", file.display());
        assert_eq!(shell(&place, &script, &mut Silent).unwrap(), "0022\n");
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o644);
    }

    #[test]
    fn how_a_program_failed_is_said_with_its_words() {
        let (_dir, place) = place();
        let text =
            shell(&place, "echo a; echo b >&2; exit 7", &mut Silent).unwrap_err().to_string();
        assert!(text.ends_with("failed with status 7:\na\nb"), "{text}");
        let text = shell(&place, "kill -9 $$", &mut Silent).unwrap_err().to_string();
        assert!(text.contains("was ended by signal 9 and printed nothing"), "{text}");
        let many = shell(&place, "yes | head -c 1000000; echo end; exit 1", &mut Silent);
        let text = many.unwrap_err().to_string();
        assert!(text.len() < 70_000 && text.ends_with("end"));
    }

    #[test]
    fn run_with_remaining_children_does_not_wait_and_ends_them() {
        let (_dir, place) = place();
        assert_eq!(shell(&place, "sleep 1000 & echo started", &mut Silent).unwrap(), "started\n");
        assert_eq!(marked(&place).ours.len(), 1);
        end_orphans(&place).unwrap();
        assert!(marked(&place).ours.is_empty());
        // Also those in a separate session, when the program fails.
        assert!(shell(&place, "setsid sleep 1000 & sleep 0.1; exit 1", &mut Silent).is_err());
        assert!(marked(&place).ours.is_empty());
    }

    #[test]
    fn a_program_is_stopped_with_its_children() {
        /// Stops as soon as the program is at work.
        struct Ready(PathBuf);
        impl Observer for Ready {
            fn stop(&self) -> bool {
                self.0.exists()
            }
        }
        let (dir, place) = place();
        let shown = dir.path().display();
        let script = format!(
            "trap 'echo tidy > {shown}/tidy; exit' TERM; sleep 1000 & echo > {shown}/ready; wait"
        );
        let ready = dir.path().join("ready");
        let error = shell(&place, &script, &mut Ready(ready)).unwrap_err();
        assert!(matches!(error, JournalError::Stopped));
        assert!(dir.path().join("tidy").exists());
    }
}
