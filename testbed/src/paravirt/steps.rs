//! Commands one after the other, with one time limit for all, their output in a log.

use crate::qemu::launch;
use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process_group};
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How often the end of a command is looked for.
const POLL: Duration = Duration::from_millis(100);
/// How long a command may take to end after it was asked to.
const GRACE: Duration = Duration::from_secs(10);

/// The commands' time and log.
pub(super) struct Steps {
    end: Instant,
    limit: Duration,
    log: PathBuf,
}

impl Steps {
    /// A new log; the time begins now.
    pub(super) fn begin(log: PathBuf, limit: Duration) -> Result<Steps> {
        File::create(&log).with_context(|| format!("making {}", log.display()))?;
        Ok(Steps { end: Instant::now() + limit, limit, log })
    }

    /// Runs a command to its end. It gets a separate process group, so that a compiler that it has started ends with it
    /// when the time is over.
    pub(super) fn run(&self, what: &str, mut command: Command) -> Result<()> {
        let log = || -> Result<File> {
            let file = File::options().append(true).open(&self.log);
            file.with_context(|| format!("opening {}", self.log.display()))
        };
        command.stdin(Stdio::null()).stdout(log()?).stderr(log()?).process_group(0);
        let name = command.get_program().to_string_lossy().into_owned();
        let mut child =
            launch::start(command).with_context(|| format!("starting {name} ({what})"))?;
        let status = loop {
            if let Some(status) = child.try_wait().with_context(|| format!("waiting for {name}"))? {
                break status;
            }
            if Instant::now() >= self.end {
                let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
                let tell = |signal| group.map(|group| kill_process_group(group, signal));
                tell(Signal::TERM);
                let hard = Instant::now() + GRACE;
                while child.try_wait().is_ok_and(|status| status.is_none()) {
                    if Instant::now() > hard {
                        tell(Signal::KILL);
                    }
                    std::thread::sleep(POLL);
                }
                bail!(
                    "{what}: not done after {} s; the log is {}",
                    self.limit.as_secs(),
                    self.log.display()
                );
            }
            std::thread::sleep(POLL);
        };
        if !status.success() {
            bail!(
                "{what}: {name} ended with {status}{}; the log is {}",
                self.last_words(),
                self.log.display()
            );
        }
        Ok(())
    }

    fn last_words(&self) -> String {
        let text = std::fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let mut lines: Vec<&str> =
            text.lines().rev().filter(|line| !line.trim().is_empty()).take(3).collect();
        lines.reverse();
        if lines.is_empty() { String::new() } else { format!(", saying: {}", lines.join(" / ")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(limit: u64, script: &str) -> (Result<()>, String, Duration) {
        let place = tempfile::tempdir().unwrap();
        let log = place.path().join("log");
        let begun = Instant::now();
        let steps = Steps::begin(log.clone(), Duration::from_secs(limit)).unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let done = steps.run("a test", command);
        (done, std::fs::read_to_string(log).unwrap(), begun.elapsed())
    }

    #[test]
    fn output_goes_to_the_log_and_a_failure_quotes_its_end() {
        let (done, log, _) = shell(60, "echo one; echo two >&2");
        assert!(done.is_ok());
        assert_eq!(log, "one\ntwo\n");
        let (done, _, _) = shell(60, "echo the reason; exit 3");
        let error = done.unwrap_err().to_string();
        assert!(error.contains("a test") && error.contains("the reason"), "{error}");
    }

    #[test]
    fn a_command_that_takes_too_long_ends_with_what_it_started() {
        let (done, log, took) = shell(1, "sleep 100 & echo $!; wait");
        assert!(done.unwrap_err().to_string().contains("not done after 1 s"));
        assert!(took < Duration::from_secs(50), "{took:?}");
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", log.trim()));
        // A zombie has ended, whether or not a process waits for it.
        assert!(
            stat.is_err() || stat.unwrap().contains(") Z "),
            "the command's own child still runs"
        );
    }
}
