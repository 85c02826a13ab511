//! Two logs in one text: what `diff` printed of them, or the message of a patch that shows what changes.
//! The new log counts; the lines that only the old one has are empty lines, so that numbers stay.

use super::lines::text;
use super::parse::begins_like_kernel;
use super::prefix::strip;
use std::io::{self, BufRead, BufReader, Read};

/// How the two logs are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// `-` in front of old lines, `+` in front of new ones.
    Unified,
    /// `<` in front of old lines, `>` in front of new ones.
    Normal,
}

/// Whether a text is a diff of two logs: lines of the kernel with the sign of either side.
pub(super) fn found(window: &[u8]) -> Option<Style> {
    let mut seen = [false; 5];
    for line in window.split(|byte| *byte == b'\n') {
        let line = line.trim_ascii_start();
        let Some(first) = line.first() else { continue };
        let at = match first {
            b'-' => 0,
            b'+' => 1,
            b'<' => 2,
            b'>' => 3,
            b'0'..=b'9' => {
                seen[4] |= is_range(line.trim_ascii_end());
                continue;
            }
            _ => continue,
        };
        if seen[at] {
            continue;
        }
        let rest = &line[1..];
        // Bullets and quotes have a blank behind them, and so have the signs of the plain format.
        let rest = match (at, rest.strip_prefix(b" ")) {
            (0 | 1, None) => rest,
            (2 | 3, Some(rest)) => rest,
            _ => continue,
        };
        seen[at] = is_kernel(&text(rest, 0, rest.len()));
    }
    match seen {
        [true, true, ..] => Some(Style::Unified),
        [_, _, true, true, true] => Some(Style::Normal),
        _ => None,
    }
}

fn is_kernel(line: &str) -> bool {
    !line.starts_with(' ') && (begins_like_kernel(line) || strip(line).at.is_some())
}

/// `12,13c14` and the like, which `diff` prints between its parts.
fn is_range(line: &[u8]) -> bool {
    let Some(at) = line.iter().position(|byte| b"acd".contains(byte)) else { return false };
    let number = |part: &[u8]| {
        !part.is_empty() && part.iter().all(|byte| byte.is_ascii_digit() || *byte == b',')
    };
    line.len() < 32 && number(&line[..at]) && number(&line[at + 1..])
}

/// Reads the new one of two logs.
pub(super) struct NewLog<R> {
    inner: BufReader<R>,
    style: Style,
    line: Vec<u8>,
    given: usize,
}

impl<R: Read> NewLog<R> {
    pub(super) fn new(inner: R, style: Style) -> Self {
        Self { inner: BufReader::new(inner), style, line: Vec::new(), given: 0 }
    }
}

impl<R: Read> Read for NewLog<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if self.given == self.line.len() {
            self.line.clear();
            self.given = 0;
            // A part of an overlong line is as good as a line here.
            (&mut self.inner).take(1 << 20).read_until(b'\n', &mut self.line)?;
            let sign = self.line.len() - self.line.trim_ascii_start().len();
            let (old, new) = match self.style {
                Style::Unified => (b'-', b'+'),
                Style::Normal => (b'<', b'>'),
            };
            match self.line.get_mut(sign) {
                Some(first) if *first == new => *first = b' ',
                Some(first) if *first == old => {
                    let ends = self.line.last() == Some(&b'\n');
                    self.line.clear();
                    self.line.extend_from_slice(if ends { b"\n" } else { b" " });
                }
                _ => {}
            }
        }
        let count = to.len().min(self.line.len() - self.given);
        to[..count].copy_from_slice(&self.line[self.given..self.given + count]);
        self.given += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn found_needs_lines_of_the_kernel_on_both_sides() {
        let of = |text: &str| found(text.as_bytes());
        let new = "+[    1.000000] clocksource: Switched to clocksource tsc\n";
        let old = "-[    1.000000] clocksource: Switched to clocksource hpet\n";
        assert_eq!(of(&format!("@@ -1 +1 @@\n{old}{new}")), Some(Style::Unified));
        assert_eq!(of(&format!("    -tsc: a\n    +tsc: b\n    {new}")), Some(Style::Unified));
        assert_eq!(of(new), None);
        assert_eq!(of(&old.replace("-[", "- [").repeat(2)), None);
        let plain =
            "3c3\n< tsc: Fast TSC calibration failed\n---\n> tsc: Fast TSC calibration using PIT\n";
        assert_eq!(of(plain), Some(Style::Normal));
        assert_eq!(of("> tsc: Fast TSC calibration failed\n"), None);
    }

    #[test]
    fn new_keeps_the_numbers_of_lines() {
        let mut out = String::new();
        NewLog::new(&b"@@ -1 +1 @@\n-old\n+new\n both\n"[..], Style::Unified)
            .read_to_string(&mut out)
            .unwrap();
        assert_eq!(out, "@@ -1 +1 @@\n\n new\n both\n");
    }
}
