//! The kernel log of the running machine, from a source that this user may read.

use super::kmsg;
use crate::log::banner;
use crate::tree::{from_io, ways};
use crate::{Missing, Why};
use std::io::{self, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// The arguments that make `journalctl` print this boot's kernel messages.
const JOURNAL_ARGUMENTS: [&str; 7] = ["-k", "-b", "0", "-o", "short-monotonic", "--no-pager", "-q"];

/// The paths of `journalctl`; the search path is not used, since this may run as root.
const JOURNALCTL: [&str; 3] =
    ["/usr/bin/journalctl", "/bin/journalctl", "/run/current-system/sw/bin/journalctl"];

/// The time limit of `journalctl`.
const PATIENCE: Duration = Duration::from_secs(2);

/// Maximum bytes of the text.
const LIMIT: u64 = 64 << 20;

/// A kernel log and its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveLog {
    /// The lines as `dmesg` prints them.
    pub text: Vec<u8>,
    /// `/dev/kmsg`, `syslog(2)`, `journalctl -k -b 0 ...`.
    pub source: String,
}

impl LiveLog {
    /// Whether the log has the beginning of the boot.
    #[must_use]
    pub(crate) fn has_beginning(&self) -> bool {
        banner::is_in(&self.text)
    }
}

/// Reads only the ring buffer: at once, and without starting another program.
///
/// # Errors
/// Returns an error if the buffer cannot be read, with the reason for `/dev/kmsg`.
pub fn ring() -> Result<LiveLog, Missing> {
    match kmsg::read() {
        Ok(text) => Ok(LiveLog { text: text.into_bytes(), source: "/dev/kmsg".to_owned() }),
        // Containers have no /dev/kmsg; the system call is older and often allowed.
        Err(error) => syslog().map_err(|refused| match (error.kind(), refused.kind()) {
            (io::ErrorKind::NotFound, io::ErrorKind::PermissionDenied) => {
                Missing::new(Why::Permission, "syslog(2)").how(ways::CAPABILITY)
            }
            _ => from_io(&error, "/dev/kmsg".to_owned()),
        }),
    }
}

/// Reads the ring buffer, if it still has the beginning of the boot; otherwise the journal, if that
/// does; otherwise the rest of the ring buffer.
///
/// # Errors
/// Returns an error if none of them can be read, with the reason for `/dev/kmsg`.
pub fn read() -> Result<LiveLog, Missing> {
    match ring() {
        Ok(ring) if ring.has_beginning() => Ok(ring),
        Ok(ring) => match journal() {
            Some(journal) if journal.has_beginning() => Ok(journal),
            _ if ring.text.is_empty() => Err(Missing::new(Why::Absent, ring.source)),
            _ => Ok(ring),
        },
        Err(missing) => journal().ok_or(missing),
    }
}

/// The ring buffer by `syslog(2)`.
fn syslog() -> io::Result<LiveLog> {
    const READ_ALL: libc::c_int = 3;
    const SIZE_BUFFER: libc::c_int = 10;
    // SAFETY: this operation returns a size and takes no pointer.
    let size = unsafe { libc::klogctl(SIZE_BUFFER, std::ptr::null_mut(), 0) };
    let size = usize::try_from(size).map_err(|_| io::Error::last_os_error())?;
    let mut buffer = vec![0u8; size.min(LIMIT as usize)];
    let room = libc::c_int::try_from(buffer.len()).unwrap_or(libc::c_int::MAX);
    // SAFETY: the pointer and the length are those of a live, exclusively borrowed buffer.
    let length = unsafe { libc::klogctl(READ_ALL, buffer.as_mut_ptr().cast(), room) };
    let length = usize::try_from(length).map_err(|_| io::Error::last_os_error())?;
    buffer.truncate(length);
    Ok(LiveLog { text: without_priorities(&buffer), source: "syslog(2)".to_owned() })
}

/// Removes the `<6>` before each line, and the lines of programs: those of a facility other than
/// the kernel's, which is 0.
fn without_priorities(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let digits = |inside: &[u8]| {
            !inside.is_empty() && inside.len() <= 4 && inside.iter().all(u8::is_ascii_digit)
        };
        let split = line
            .strip_prefix(b"<")
            .and_then(|rest| rest.iter().position(|byte| *byte == b'>').map(|at| rest.split_at(at)))
            .filter(|(inside, _)| digits(inside));
        match split {
            Some((number, rest)) if number.len() == 1 && number[0] < b'8' => {
                out.extend_from_slice(&rest[1..]);
            }
            Some(_) => {}
            None => out.extend_from_slice(line),
        }
    }
    out
}

/// This boot's kernel messages in the journal; `None` if there is no journal, or it takes too long.
fn journal() -> Option<LiveLog> {
    let program = JOURNALCTL.into_iter().find(|path| Path::new(path).exists())?;
    let text = output(Command::new(program).args(JOURNAL_ARGUMENTS).env("LC_ALL", "C"), PATIENCE)?;
    // Without entries `journalctl` prints a remark, and succeeds.
    let source = format!("journalctl {}", JOURNAL_ARGUMENTS.join(" "));
    text.starts_with(b"[").then_some(LiveLog { text, source })
}

/// The standard output of a command; `None` if the command cannot be started or does not end in time; then it
/// is killed.
fn output(command: &mut Command, patience: Duration) -> Option<Vec<u8>> {
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
    let stdout = child.stdout.take()?;
    let (sender, receiver) = mpsc::channel();
    let reader = std::thread::Builder::new().name("journal".to_owned()).spawn(move || {
        let mut text = Vec::new();
        let read = stdout.take(LIMIT).read_to_end(&mut text);
        // After a timeout the receiver is gone, which is not an error here.
        let _ = sender.send(read.map(|_| text));
    });
    let text = match reader {
        Ok(_) => receiver.recv_timeout(patience).ok().and_then(Result::ok),
        Err(_) => None,
    };
    // After the command's output has ended (or is too long, or late) the command is no longer
    // needed.
    let _ = child.kill();
    let _ = child.wait();
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::Instant;

    #[test]
    fn priorities_are_removed() {
        let text = b"<6>[    0.000000] Linux <5>\n<12>[ 1.0] x\n[ 2.0] y\n<x>z\n<>q\n<1";
        assert_eq!(without_priorities(text), b"[    0.000000] Linux <5>\n[ 2.0] y\n<x>z\n<>q\n<1");
    }

    #[test]
    fn commands_that_hang_are_ended() {
        let begun = Instant::now();
        assert_eq!(output(Command::new("sleep").arg("60"), Duration::from_millis(50)), None);
        assert!(begun.elapsed() < Duration::from_secs(10));
        let echo = output(Command::new("echo").arg("[x"), Duration::from_secs(10));
        assert_eq!(echo.as_deref(), Some(b"[x\n".as_slice()));
        assert_eq!(output(&mut Command::new("/nonexistent/x"), PATIENCE), None);
    }

    #[test]
    fn this_machine_has_a_log_or_a_reason() {
        match read() {
            Ok(log) => assert!(!log.text.is_empty() && !log.source.is_empty()),
            Err(missing) => assert!(missing.at.is_some()),
        }
    }

    proptest! {
        #[test]
        fn any_text(text in proptest::collection::vec(any::<u8>(), 0..100)) {
            prop_assert!(without_priorities(&text).len() <= text.len());
        }
    }
}
