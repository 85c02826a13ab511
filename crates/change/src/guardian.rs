//! A process that outlives the process that changed the clocksource, and restores the original one.
//!
//! A pipe connects it to its owner. The kernel closes the pipe when the owner ends, even after SIGKILL, when the owner
//! can no longer run any code. The guardian runs in a separate session and ignores the signals that a terminal or a
//! service manager sends to all processes, so that a signal that ends the owner does not end the guardian.
//!
//! If both are killed with SIGKILL at once, the clocksource is not restored.

use crate::switch::{ChangeError, Sysfs};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Error, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

/// The guardian's message when it is on watch.
const READY: &str = "on watch";
/// The owner's message after it has restored the clocksource itself.
const DISMISSED: &str = "dismissed";
/// Attempts to restore the clocksource, and the time between them.
const ATTEMPTS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(100);

/// The owner's end.
#[derive(Debug)]
pub struct Guardian {
    sysfs: Sysfs,
    original: String,
    child: Child,
    pipe: Option<ChildStdin>,
}

impl Guardian {
    /// Starts a guardian that will restore the clocksource in use now: this program, with `arguments`
    /// that make it call [`watch`]. From here on the clocksource may be changed.
    ///
    /// # Errors
    /// Returns an error if the guardian cannot be started or does not report that it is on watch. Nothing was changed
    /// then.
    pub fn start(sysfs: &Sysfs, arguments: &[OsString]) -> Result<Self, ChangeError> {
        let original = sysfs.current()?;
        let failed = |error| ChangeError::Guardian { original: original.clone(), error };
        // The link, not the path: the program's file may have been replaced since.
        let mut child = Command::new("/proc/self/exe")
            .args(arguments)
            .arg(&original)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let pipe = child.stdin.take();
        let mut line = String::new();
        if let Some(out) = child.stdout.take() {
            BufReader::new(out).read_line(&mut line).map_err(failed)?;
        }
        if line.trim_end() != READY {
            drop(pipe);
            let _ = child.wait();
            return Err(failed(Error::other("it does not answer")));
        }
        Ok(Self { sysfs: sysfs.clone(), original, child, pipe })
    }

    /// The clocksource that is restored.
    #[must_use]
    pub fn original(&self) -> &str {
        &self.original
    }

    /// Restores the clocksource, verifies that by a read, and dismisses the guardian. If that
    /// fails, the guardian tries again for two seconds, and this function waits for it.
    ///
    /// # Errors
    /// Returns an error if the clocksource in use is not the original one afterwards.
    pub fn restore(mut self) -> Result<(), ChangeError> {
        self.end()
    }

    /// Dismisses the guardian, and does not change the clocksource: the change stays, or another process
    /// has restored it.
    pub fn dismiss(mut self) {
        if let Some(mut pipe) = self.pipe.take() {
            // This fails if the guardian has been killed, which does not matter.
            let _ = writeln!(pipe, "{DISMISSED}");
        }
        let _ = self.child.wait();
    }

    fn end(&mut self) -> Result<(), ChangeError> {
        let Some(mut pipe) = self.pipe.take() else { return Ok(()) };
        if put_back(&self.sysfs, &self.original).is_ok() {
            // This fails if the guardian has been killed, which does not matter.
            let _ = writeln!(pipe, "{DISMISSED}");
        }
        drop(pipe);
        let _ = self.child.wait();
        let current = self.sysfs.current()?;
        if current == self.original {
            Ok(())
        } else {
            Err(ChangeError::NotTaken { wanted: self.original.clone(), current })
        }
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        // Callers that need the result call `restore`.
        let _ = self.end();
    }
}

/// Chooses the original clocksource, if it is not in use.
fn put_back(sysfs: &Sysfs, original: &str) -> Result<bool, ChangeError> {
    if sysfs.current()? == original {
        return Ok(false);
    }
    sysfs.choose(original).map(|()| true)
}

/// The result of a guardian's watch.
#[derive(Debug)]
pub enum Watched {
    /// The owner restored the clocksource itself.
    Dismissed,
    /// The owner ended; the original was in use.
    Untouched,
    /// The owner ended; the original is in use again.
    Restored,
}

/// Runs a guardian: reads from `input` until the owner ends, and then restores `original`. Reports on `output` when it
/// is on watch.
///
/// # Errors
/// Returns an error if the original clocksource cannot be restored.
pub fn watch(
    sysfs: &Sysfs,
    original: &str,
    mut input: impl Read,
    mut output: impl Write,
) -> Result<Watched, ChangeError> {
    let mut heard = Vec::new();
    // An owner that has already ended is noticed below.
    let _ = writeln!(output, "{READY}").and_then(|()| output.flush());
    drop(output);
    let _ = input.read_to_end(&mut heard);
    if String::from_utf8_lossy(&heard).trim_end() == DISMISSED {
        return Ok(Watched::Dismissed);
    }
    let mut result = put_back(sysfs, original);
    for _ in 1..ATTEMPTS {
        if result.is_ok() {
            break;
        }
        std::thread::sleep(PAUSE);
        result = put_back(sysfs, original);
    }
    result.map(|changed| if changed { Watched::Restored } else { Watched::Untouched })
}

/// Makes this process hard to end: puts it in a separate session, ignores the signals of a terminal or a service
/// manager, and makes it the last choice of a kernel that is out of memory.
pub fn harden() {
    // SAFETY: takes no pointer; fails where this process leads a group already, which does no harm.
    unsafe { libc::setsid() };
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT, libc::SIGPIPE] {
        // SAFETY: ignoring a signal runs no code of this program.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
    // Only root may; without it the guardian is less protected.
    let _ = std::fs::write("/proc/self/oom_score_adj", "-1000");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(current: &str) -> (tempfile::TempDir, Sysfs) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("current_clocksource"), current).unwrap();
        let sysfs = Sysfs::at(dir.path());
        (dir, sysfs)
    }

    #[test]
    fn an_owner_that_goes_away_is_cleaned_up_after() {
        let (_dir, sysfs) = files("hpet");
        let mut said = Vec::new();
        let watched = watch(&sysfs, "tsc", &b""[..], &mut said).unwrap();
        assert!(matches!(watched, Watched::Restored), "{watched:?}");
        assert_eq!(sysfs.current().unwrap(), "tsc");
        assert_eq!(said, b"on watch\n");
    }

    #[test]
    fn partial_word_does_not_dismiss() {
        let (_dir, sysfs) = files("hpet");
        watch(&sysfs, "tsc", &b"dismiss"[..], Vec::new()).unwrap();
        assert_eq!(sysfs.current().unwrap(), "tsc");
    }

    #[test]
    fn nothing_is_written_where_nothing_is_to_do() {
        let (_dir, sysfs) = files("tsc");
        let watched = watch(&sysfs, "tsc", &b""[..], Vec::new()).unwrap();
        assert!(matches!(watched, Watched::Untouched));
        // Dismissed: another user may have chosen a clocksource since, on purpose.
        let (_dir, sysfs) = files("hpet");
        let watched = watch(&sysfs, "tsc", &b"dismissed\n"[..], Vec::new()).unwrap();
        assert!(matches!(watched, Watched::Dismissed));
        assert_eq!(sysfs.current().unwrap(), "hpet");
    }
}
