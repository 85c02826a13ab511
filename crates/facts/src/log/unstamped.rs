//! Lines under the kernel's name without its time stamp: each user writes such a line (`logger -t kernel`), and in the
//! file of a syslog daemon nothing else distinguishes it. The time stamps are a setting of the kernel (`printk.time`),
//! so a line without one is not the kernel's if nearly all others have one.
//!
//! Real files have a few such lines, of the daemon itself: `kernel: imklog 5.8.6, log source = /proc/kmsg started.`

use super::lines::line_around;

/// Number of lines with a time stamp from which on the others are not of the kernel.
const STAMPED: usize = 16;
/// The number of lines with a time stamp for each one without, at least. Texts of several machines have fewer.
const FOR_EACH: usize = 4;
/// Maximum bytes of a header.
const HEADER: usize = 100;
/// The kernel's name in a header.
const NAME: &[u8] = b"kernel: ";

/// Whether a line under the kernel's name has its time stamp; `None` for other lines.
fn is_stamped(line: &[u8]) -> Option<bool> {
    let line = line.trim_ascii_start();
    let at = memchr::memmem::find(&line[..line.len().min(HEADER)], NAME)?;
    let head = &line[..at];
    let begins = head.first()?;
    let is_header = (begins.is_ascii_digit() || begins.is_ascii_uppercase() || *begins == b'<')
        && head.ends_with(b" ")
        && memchr::memmem::find(head, b": ").is_none();
    let message = line[at + NAME.len()..].trim_ascii_start();
    is_header.then(|| {
        message.strip_prefix(b"[").is_some_and(|rest| {
            let rest = rest.trim_ascii_start();
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            digits > 0 && rest.get(digits) == Some(&b'.')
        })
    })
}

/// Whether lines under the kernel's name without a time stamp are not the kernel's, by all these lines.
pub(super) fn are_foreign<'a>(lines: impl Iterator<Item = &'a [u8]>) -> bool {
    let (mut stamped, mut bare) = (0, 0);
    for line in lines {
        match is_stamped(line) {
            Some(true) => stamped += 1,
            Some(false) => bare += 1,
            None => {}
        }
    }
    stamped >= STAMPED && stamped / FOR_EACH >= bare
}

/// The same for the lines of a window.
pub(super) fn are_foreign_in(window: &[u8]) -> bool {
    let whole = 0..window.len();
    are_foreign(
        memchr::memmem::find_iter(window, NAME)
            .map(|at| &window[line_around(window, whole.clone(), at..at + NAME.len())]),
    )
}

/// For each line, whether it is under the kernel's name and not the kernel's.
pub(super) fn foreign(lines: &[String]) -> Vec<bool> {
    if !are_foreign(lines.iter().map(String::as_bytes)) {
        return vec![false; lines.len()];
    }
    lines.iter().map(|line| is_stamped(line.as_bytes()) == Some(false)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::KernelLog;

    /// A file with lines of the kernel, with or without time stamps, and one line of a user.
    fn file(stamps: bool, lines: usize) -> String {
        use std::fmt::Write;
        let mut text = String::new();
        for at in 0..lines {
            let stamp = if stamps { format!("[   {at:2}.000000] ") } else { String::new() };
            _ = writeln!(text, "Nov 22 10:00:{at:02} db1 kernel: {stamp}pci 0000:00:{at:02}.0: x");
        }
        text + "Nov 22 10:05:00 db1 kernel: tsc: Marking TSC unstable due to clocksource watchdog\n"
    }

    #[test]
    fn line_without_a_stamp_beside_lines_with_stamps_is_not_the_kernels() {
        for (stamps, lines, kept) in [(true, 20, 0), (true, 8, 1), (false, 20, 1)] {
            let log = KernelLog::scan(file(stamps, lines).as_bytes(), "log").unwrap();
            assert_eq!(log.entries.len(), kept, "{stamps} {lines}");
        }
    }

    #[test]
    fn texts_of_several_machines_are_read_as_before() {
        let text = file(true, 20) + &file(false, 8);
        assert!(!are_foreign(text.lines().map(str::as_bytes)));
        assert!(!are_foreign_in(text.as_bytes()));
        let own = "Nov 22 10:00:00 db1 kernel: imklog 5.8.6, log source = /proc/kmsg started.\n";
        assert!(are_foreign_in((file(true, 20) + own).as_bytes()));
    }

    #[test]
    fn other_programs_and_outputs_are_not_counted() {
        for line in [
            "Nov 22 10:05:00 db1 myapp[812]: kernel: [ 1.000000] x",
            "[ 5000.123456] db1 kernel: x",
            "kernel: x",
            "the kernel: x",
        ] {
            assert_eq!(is_stamped(line.as_bytes()), None, "{line}");
        }
        let dated = "2025-11-22T10:05:00.123456+00:00 db1 kernel: [    1.000000] x";
        assert_eq!(is_stamped(dated.as_bytes()), Some(true));
    }
}
