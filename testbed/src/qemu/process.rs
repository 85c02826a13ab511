//! The running emulator. It is ended by its own handle: when it has said everything, when its time
//! is over, and when the value that represents it is dropped, also after an error. If the testbed
//! itself is killed, the kernel ends it: see [`launch`].

use crate::arch::Arch;
use crate::frames::Reader;
use crate::qemu::launch;
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// A boot whose output is incomplete.
#[derive(Debug, thiserror::Error)]
pub enum BootError {
    /// The emulator ended by itself.
    #[error("the emulator ended early ({status}){}; the guest's last words: {last}\nthe whole serial log: {}", unless_empty(.stderr), .log.display())]
    Ended {
        /// Its exit status.
        status: String,
        /// Its standard error.
        stderr: String,
        /// The end of the serial log.
        last: String,
        /// Where the serial log is.
        log: PathBuf,
    },
    /// The deadline passed.
    #[error("the guest was not done after {seconds} s{}; its last words: {last}\nthe whole serial log: {}", unless_empty(.frame), .log.display())]
    TimedOut {
        /// How long it had.
        seconds: u64,
        /// The frame it was in the middle of.
        frame: String,
        /// The end of the serial log.
        last: String,
        /// Where the serial log is.
        log: PathBuf,
    },
}

fn unless_empty(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(", saying: {text}") }
}

/// Gets each line of the guest first, and withholds it from others by returning true.
pub type Tap = Box<dyn Fn(&str) -> bool + Send>;

/// A running guest.
pub struct Guest {
    child: Child,
    lines: Receiver<String>,
    started: Instant,
    log: PathBuf,
    stderr: PathBuf,
}

impl Guest {
    /// Starts an emulator whose serial line comes to the testbed. The serial log and the emulator's messages go to
    /// files in `directory`.
    pub fn start(arch: Arch, arguments: &[OsString], directory: &Path) -> Result<Guest> {
        Guest::start_tapped(arch, None, arguments, directory, Box::new(|_| false))
    }

    /// As [`Guest::start`], but `tap` gets each line first, and the emulator may differ from the architecture's.
    pub fn start_tapped(
        arch: Arch,
        emulator: Option<&Path>,
        arguments: &[OsString],
        directory: &Path,
        tap: Tap,
    ) -> Result<Guest> {
        let (log, stderr) = (directory.join("serial.log"), directory.join("qemu.err"));
        let mut log_file =
            File::create(&log).with_context(|| format!("making {}", log.display()))?;
        let stderr_file =
            File::create(&stderr).with_context(|| format!("making {}", stderr.display()))?;
        let mut command = Command::new(emulator.unwrap_or_else(|| arch.qemu().as_ref()));
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr_file);
        let mut child = launch::start(command).with_context(|| start_help(arch))?;
        let started = Instant::now();
        let (sender, lines) = channel();
        if let Some(serial) = child.stdout.take() {
            std::thread::spawn(move || {
                let mut serial = BufReader::new(serial);
                let mut line = Vec::new();
                while serial.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
                    let _ = log_file.write_all(&line);
                    let text = String::from_utf8_lossy(&line).into_owned();
                    if !tap(&text) && sender.send(text).is_err() {
                        break;
                    }
                    line.clear();
                }
            });
        }
        Ok(Guest { child, lines, started, log, stderr })
    }

    /// Reads frames until the guest is done, then ends it. `deadline` is measured from the start.
    pub fn frames(mut self, deadline: Duration) -> Result<BTreeMap<String, String>, BootError> {
        let mut reader = Reader::new();
        let end = self.started + deadline;
        loop {
            match self.lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(line) => reader.line(&line),
                Err(RecvTimeoutError::Timeout) => {
                    return Err(BootError::TimedOut {
                        seconds: deadline.as_secs(),
                        frame: reader
                            .unfinished()
                            .map(|name| format!("it was saying `{name}`"))
                            .unwrap_or_default(),
                        last: last_words(&self.log),
                        log: self.log.clone(),
                    });
                }
                Err(RecvTimeoutError::Disconnected) => {
                    let status = self.child.wait().map(|s| s.to_string()).unwrap_or_default();
                    return Err(BootError::Ended {
                        status,
                        stderr: read(&self.stderr),
                        last: last_words(&self.log),
                        log: self.log.clone(),
                    });
                }
            }
            if reader.is_done() {
                return Ok(reader.into_frames());
            }
        }
    }

    /// Types a line on the guest's console.
    pub fn tell(&mut self, line: &str) -> Result<()> {
        let serial = self.child.stdin.as_mut().context("the guest's console takes no input")?;
        writeln!(serial, "{line}").with_context(|| format!("saying `{line}` to the guest"))
    }

    /// Returns the next lines of the guest, up to one that contains `text`, without that one.
    pub fn lines_until(&self, text: &str, patience: Duration) -> Result<Vec<String>> {
        let end = Instant::now() + patience;
        let mut lines = Vec::new();
        loop {
            let line = self.wait_for("", end.saturating_duration_since(Instant::now()))?;
            if line.contains(text) {
                return Ok(lines);
            }
            lines.push(line);
        }
    }

    /// Waits until the guest has printed a line that contains `text`, and returns the line.
    pub fn wait_for(&self, text: &str, patience: Duration) -> Result<String> {
        let end = Instant::now() + patience;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left).with_context(|| {
                let complaints = read(&self.stderr);
                format!(
                    "waiting for the guest to say `{text}`; its last words: {}; the emulator's: \
                     {}; see {}",
                    last_words(&self.log),
                    if complaints.is_empty() { "none" } else { &complaints },
                    self.log.display()
                )
            })?;
            if line.contains(text) {
                return Ok(line.trim_end().to_string());
            }
        }
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The message when the emulator cannot be started.
pub fn start_help(arch: Arch) -> String {
    format!(
        "starting {}; is it installed? (Debian package {}, without recommended packages)",
        arch.qemu(),
        arch.qemu_package()
    )
}

fn read(path: &Path) -> String {
    std::fs::read(path)
        .map(|bytes| String::from_utf8_lossy(&bytes).trim().to_string())
        .unwrap_or_default()
}

fn last_words(log: &Path) -> String {
    let text = read(log);
    let lines: Vec<&str> = text.lines().rev().take(5).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join(" / ")
}
