//! Records of `/dev/kmsg`, as the lines that `dmesg` prints.

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Text that is kept at most (the largest ring buffers have 32 MiB).
const LIMIT: usize = 64 << 20;

/// Reads the whole ring buffer.
pub(super) fn read() -> io::Result<String> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let kmsg = rustix::fs::open("/dev/kmsg", flags, Mode::empty())?;
    let mut text = String::new();
    // One read returns one record, and 8 KiB is the longest that any kernel writes.
    let mut buffer = [0u8; 8192];
    while text.len() < LIMIT {
        match rustix::io::read(&kmsg, &mut buffer) {
            Ok(0) | Err(Errno::AGAIN) => break,
            Ok(length) => push_record(&buffer[..length], &mut text),
            // The record was overwritten before it was read, or is longer than the buffer: the
            // next read returns the one after it.
            Err(Errno::PIPE | Errno::INVAL | Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(text)
}

/// What the kernel says from now on. The descriptor is readable when there is something new.
#[derive(Debug)]
pub struct Follower {
    kmsg: OwnedFd,
}

impl Follower {
    /// Begins behind the last record.
    ///
    /// # Errors
    /// `/dev/kmsg` is not there, or this user may not read it.
    pub fn at_end() -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let kmsg = rustix::fs::open("/dev/kmsg", flags, Mode::empty())?;
        rustix::fs::seek(&kmsg, rustix::fs::SeekFrom::End(0))?;
        Ok(Self { kmsg })
    }

    /// The lines that were written since the last call, at most about `limit` bytes of them; empty if
    /// there are none.
    ///
    /// # Errors
    /// The device cannot be read any more.
    pub fn lines(&mut self, limit: usize) -> io::Result<String> {
        let mut text = String::new();
        let mut buffer = [0u8; 8192];
        while text.len() < limit {
            match rustix::io::read(&self.kmsg, &mut buffer) {
                Ok(0) | Err(Errno::AGAIN) => break,
                Ok(length) => push_record(&buffer[..length], &mut text),
                Err(Errno::PIPE | Errno::INVAL | Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(text)
    }
}

impl AsFd for Follower {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.kmsg.as_fd()
    }
}

/// Appends one record `PRIORITY,SEQUENCE,MICROSECONDS,FLAGS[,...];TEXT` as one line. What a program
/// wrote to the device has another facility than the kernel's, and is dropped. A record is one
/// message: line breaks in it stay written as `\x0a`, because users can have the kernel quote them.
/// Lines behind the first begin with a blank and hold the device's properties; they are dropped.
fn push_record(record: &[u8], text: &mut String) {
    use std::fmt::Write;
    let line = record.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let Some(semicolon) = line.iter().position(|byte| *byte == b';') else { return };
    let header = String::from_utf8_lossy(&line[..semicolon]);
    let mut fields = header.split(',');
    // The facility stands above the three bits of the level; the kernel's is 0.
    let of_kernel = fields.next().and_then(|n| n.parse::<u32>().ok()).is_some_and(|n| n < 8);
    let time = fields.nth(1).and_then(|time| time.parse::<u64>().ok());
    let (true, Some(time)) = (of_kernel, time) else { return };
    let message = unescape(&line[semicolon + 1..]);
    let message = String::from_utf8_lossy(&message);
    // Writing to a String cannot fail.
    let _ = writeln!(text, "[{:5}.{:06}] {message}", time / 1_000_000, time % 1_000_000);
}

/// Undoes the kernel's `\xNN`, but for control characters other than a tab.
fn unescape(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((byte, after)) = rest.split_first() {
        let code = (*byte == b'\\')
            .then(|| after.strip_prefix(b"x")?.get(..2))
            .flatten()
            .and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok())
            .filter(|code| *code == b'\t' || *code >= 0x20 && *code != 0x7f);
        match code {
            Some(code) => {
                out.push(code);
                rest = &after[3..];
            }
            None => {
                out.push(*byte);
                rest = after;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lines(record: &str) -> String {
        let mut text = String::new();
        push_record(record.as_bytes(), &mut text);
        text
    }

    #[test]
    fn records_become_lines() {
        assert_eq!(
            lines(
                "6,339,5140900,-,caller=T1;NET: Registered protocol\n SUBSYSTEM=acpi\n DEVICE=+x\n"
            ),
            "[    5.140900] NET: Registered protocol\n"
        );
        assert_eq!(lines("4,0,123456789012,c;a;b\n"), "[123456.789012] a;b\n");
        assert_eq!(
            lines("4,0,0,-;tab\\x09back\\x5cslash \\xzz \\x\n"),
            "[    0.000000] tab\tback\\slash \\xzz \\x\n"
        );
        assert_eq!(lines("4,0,1,-;one\\x0atwo\n"), "[    0.000001] one\\x0atwo\n");
        // Facility 1 (user), level 4: a program wrote it.
        assert_eq!(lines("12,0,1,-;tsc: Marking TSC unstable due to x\n"), "");
        for broken in ["", "x", "x,0,1,-;y", "4,0;x", "4,0,x,-;y"] {
            assert_eq!(lines(broken), "");
        }
    }

    #[test]
    fn the_ring_buffer_is_read_or_refused() {
        if let Ok(text) = read() {
            assert!(text.lines().all(|line| line.starts_with('[')));
        }
    }

    proptest! {
        #[test]
        fn any_record(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            push_record(&bytes, &mut String::new());
            prop_assert!(unescape(&bytes).len() <= bytes.len());
        }
    }
}
