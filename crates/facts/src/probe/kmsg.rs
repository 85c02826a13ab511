//! Records of `/dev/kmsg`, in the format of `dmesg`.

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// Maximum bytes of the text (the largest ring buffers have 32 MiB).
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
            Ok(length) => push_record(&buffer[..length], &|_| true, &mut text),
            // The record was overwritten before it was read, or is longer than the buffer: the
            // next read returns the one after it.
            Err(Errno::PIPE | Errno::INVAL | Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(text)
}

/// Reads the messages that the kernel prints from now on. The descriptor is readable when there is a new one.
#[derive(Debug)]
pub struct Follower {
    kmsg: OwnedFd,
}

/// The limits of one read of a [`Follower`].
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Approximate maximum bytes of the text.
    pub bytes: usize,
    /// CPU time of the calling thread. Any user can make the kernel write thousands of records a second, and
    /// each costs a system call, wanted or not.
    pub cpu: Duration,
}

/// Lines of the kernel's log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lines {
    /// The wanted lines, in the format of `dmesg`.
    pub text: String,
    /// Whether a limit ended the read before the last record.
    pub more: bool,
}

impl Follower {
    /// Begins after the last record.
    ///
    /// # Errors
    /// Returns an error if `/dev/kmsg` does not exist, or if this user may not read it.
    pub fn at_end() -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let kmsg = rustix::fs::open("/dev/kmsg", flags, Mode::empty())?;
        let mut follower = Self { kmsg };
        follower.skip()?;
        Ok(follower)
    }

    /// Moves after the last record: unread records are skipped.
    ///
    /// # Errors
    /// Returns an error if the device does not permit it.
    pub fn skip(&mut self) -> io::Result<()> {
        rustix::fs::seek(&self.kmsg, rustix::fs::SeekFrom::End(0))?;
        Ok(())
    }

    /// The lines that were written since the last call, within `bounds`; empty if there are none. A record is
    /// decoded only if `wanted` accepts its message, which is passed as the device writes it: without time stamp and
    /// level, and with control characters as `\xNN`.
    ///
    /// # Errors
    /// Returns an error if the device can no longer be read.
    pub fn lines(&mut self, bounds: Bounds, wanted: &dyn Fn(&[u8]) -> bool) -> io::Result<Lines> {
        let read = |buffer: &mut [u8]| rustix::io::read(&self.kmsg, buffer);
        drain(read, thread_cpu, bounds, wanted)
    }
}

/// Number of records between two checks of the CPU time, each of which costs a system call like a record.
const UNTIMED: usize = 16;

/// Reads records until there are no more or a limit is reached.
fn drain(
    mut read: impl FnMut(&mut [u8]) -> Result<usize, Errno>,
    cpu: impl Fn() -> Duration,
    bounds: Bounds,
    wanted: &dyn Fn(&[u8]) -> bool,
) -> io::Result<Lines> {
    let mut text = String::new();
    let mut buffer = [0u8; 8192];
    let begun = cpu();
    for turn in 1_usize.. {
        match read(&mut buffer) {
            Ok(0) | Err(Errno::AGAIN) => break,
            Ok(length) => push_record(&buffer[..length], wanted, &mut text),
            Err(Errno::PIPE | Errno::INVAL | Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let late = turn % UNTIMED == 0 && cpu().saturating_sub(begun) >= bounds.cpu;
        if late || text.len() >= bounds.bytes {
            return Ok(Lines { text, more: true });
        }
    }
    Ok(Lines { text, more: false })
}

/// CPU time of this thread.
fn thread_cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

impl AsFd for Follower {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.kmsg.as_fd()
    }
}

/// Appends one record `PRIORITY,SEQUENCE,MICROSECONDS,FLAGS[,...];TEXT` as one line, if it is `wanted`. A record that a
/// program wrote to the device has a facility other than the kernel's, and is dropped. A record is one
/// message: line breaks in it stay written as `\x0a`, because users can make the kernel quote them.
/// Lines after the first one begin with a blank and contain the device's properties; they are dropped.
fn push_record(record: &[u8], wanted: &dyn Fn(&[u8]) -> bool, text: &mut String) {
    use std::fmt::Write;
    let Some(semicolon) = memchr::memchr(b';', record) else { return };
    let (header, message) = (&record[..semicolon], &record[semicolon + 1..]);
    let mut fields = header.split(|byte| *byte == b',');
    let mut number = |nth| std::str::from_utf8(fields.nth(nth)?).ok()?.parse::<u64>().ok();
    // The facility is above the three bits of the level; the kernel's is 0.
    let of_kernel = number(0).is_some_and(|n| n < 8);
    let (true, Some(time)) = (of_kernel, number(1)) else { return };
    if !wanted(message) {
        return;
    }
    let message = &message[..memchr::memchr(b'\n', message).unwrap_or(message.len())];
    let message = unescape(message);
    let message = String::from_utf8_lossy(&message);
    // Writing to a String cannot fail.
    let _ = writeln!(text, "[{:5}.{:06}] {message}", time / 1_000_000, time % 1_000_000);
}

/// Decodes the kernel's `\xNN`, except control characters other than a tab.
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
    use std::cell::Cell;

    fn lines(record: &str) -> String {
        let mut text = String::new();
        push_record(record.as_bytes(), &|_| true, &mut text);
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
        for broken in ["", "x", "x,0,1,-;y", "4,0;x", "4,0,x,-;y", "4,0\n;x,1"] {
            assert_eq!(lines(broken), "");
        }
    }

    /// Reads of a device with this number of irrelevant records, followed by one about the TSC.
    fn device(records: usize) -> impl FnMut(&mut [u8]) -> Result<usize, Errno> {
        let mut left = records;
        move |buffer| {
            let text: &[u8] = match left {
                0 => return Err(Errno::AGAIN),
                1 => b"4,9,2000000,-;tsc: Marking TSC unstable\n",
                _ => b"3,8,1000000,-;tmpfs: Unknown parameter 'tsc: x'\n",
            };
            left -= 1;
            buffer[..text.len()].copy_from_slice(text);
            Ok(text.len())
        }
    }

    #[test]
    fn drain_flood_keeps_what_is_wanted_alone() {
        let bounds = Bounds { bytes: 100, cpu: Duration::from_millis(8) };
        let wanted = |message: &[u8]| message.starts_with(b"tsc");
        let lines = drain(device(50_000), || Duration::ZERO, bounds, &wanted).unwrap();
        // Far more than 100 bytes were skipped.
        assert_eq!(lines.text, "[    2.000000] tsc: Marking TSC unstable\n");
        assert!(!lines.more);
        let lines = drain(device(50_000), || Duration::ZERO, bounds, &|_| true).unwrap();
        assert!(lines.more && lines.text.len() < 200);
    }

    #[test]
    fn drain_flood_ends_at_the_bound_of_cpu_time() {
        let (asked, taken) = (Cell::new(0), Cell::new(0_usize));
        // Each check of the CPU time returns 1 ms more.
        let cpu = || {
            asked.set(asked.get() + 1);
            Duration::from_millis(asked.get())
        };
        let mut records = device(50_000);
        let read = |buffer: &mut [u8]| {
            taken.set(taken.get() + 1);
            records(buffer)
        };
        let bounds = Bounds { bytes: 1 << 20, cpu: Duration::from_millis(8) };
        let lines = drain(read, cpu, bounds, &|_| false).unwrap();
        assert!(lines.more && lines.text.is_empty());
        assert_eq!(taken.get(), 8 * UNTIMED);
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
            push_record(&bytes, &|_| true, &mut String::new());
            prop_assert!(unescape(&bytes).len() <= bytes.len());
        }
    }
}
