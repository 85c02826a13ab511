//! Two logs in one text: the output of `diff`, or the message of a patch that shows a change.
//! The new log is used; the lines of the old log alone become empty lines, so that line numbers stay.

use super::lines::text;
use super::parse::begins_like_kernel;
use super::pieces::Pieces;
use super::prefix::strip;
use std::io::{self, BufRead, BufReader, Read};

/// The format of the difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// `-` before old lines, `+` before new ones.
    Unified,
    /// `<` before old lines, `>` before new ones.
    Normal,
    /// The old lines between `*** 1,3 ****` and `--- 1,3 ----`, and then the new ones; `!`, `-` and `+` before
    /// those that differ.
    Context,
}

/// Lines with a sign from which on a text is a diff of two logs, even if a table is drawn in it.
const BESIDE_A_TABLE: u32 = 4;

/// Whether a text is a diff of two logs: kernel lines, some marked as of the old log (`-`) and some
/// as of the new one (`+`).
///
/// If a console prints a table while the kernel prints its messages, single kernel lines begin
/// after an edge of the table, which looks like such a mark, so in that text more of these lines
/// are required.
pub(super) fn found(window: &[u8]) -> Option<Style> {
    let mut seen = [false; 5];
    let (mut signed, mut table) = (0, false);
    let mut parts = [false; 3];
    for line in window.split(|byte| *byte == b'\n') {
        match border(line) {
            Some(Part::Outside) => parts[0] = true,
            Some(Part::Old) => parts[1] |= parts[0],
            Some(Part::New) => parts[2] |= parts[1],
            None => {}
        }
        if parts[2] {
            return Some(Style::Context);
        }
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
        let rest = &line[1..];
        table |= is_edge(line);
        if seen[at] && !table {
            signed += u32::from(at < 2);
            continue;
        }
        // A blank follows bullets and quotes, and also the signs of the plain format.
        let rest = match (at, rest.strip_prefix(b" ")) {
            (0 | 1, None) => rest,
            (2 | 3, Some(rest)) => rest,
            _ => continue,
        };
        let kernel = !rest.starts_with(b"-") && is_kernel(&text(rest, 0, rest.len()));
        seen[at] |= kernel;
        signed += u32::from(kernel && at < 2);
    }
    match seen {
        [true, true, ..] if !table || signed >= BESIDE_A_TABLE => Some(Style::Unified),
        [_, _, true, true, true] => Some(Style::Normal),
        _ => None,
    }
}

/// `+----`: an edge of a table.
fn is_edge(line: &[u8]) -> bool {
    line.starts_with(b"+--") || line.starts_with(b"+==")
}

fn is_kernel(line: &str) -> bool {
    !line.starts_with(' ') && (begins_like_kernel(line) || strip(line).at.is_some())
}

/// A range such as `12,13c14`, which `diff` prints between its parts.
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
    /// The old part of a context diff, until it is known whether a new one follows.
    held: Vec<u8>,
    part: Part,
}

/// The part of a context diff that contains a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Old,
    New,
    Outside,
}

impl<R: Read> NewLog<R> {
    pub(super) fn new(inner: R, style: Style) -> Self {
        let (line, held) = (Vec::new(), Vec::new());
        Self { inner: BufReader::new(inner), style, line, held, part: Part::Outside }
    }

    /// A line of a unified or a plain diff.
    fn signed(&mut self, out: &mut Vec<u8>) {
        let sign = self.line.len() - self.line.trim_ascii_start().len();
        let (old, new) = if self.style == Style::Normal { (b'<', b'>') } else { (b'-', b'+') };
        match self.line.get_mut(sign) {
            Some(first) if *first == new => *first = b' ',
            Some(first) if *first == old => {
                let ends = self.line.last() == Some(&b'\n');
                out.extend_from_slice(if ends { b"\n" } else { b" " });
                return;
            }
            _ => {}
        }
        out.extend_from_slice(&self.line);
    }

    /// A line of a context diff. Its old part is left out, unless the new one, which is the same
    /// except for lines that are gone, was not printed.
    fn in_context(&mut self, out: &mut Vec<u8>) {
        let border = border(&self.line);
        // The new part begins after its border, if it has one.
        if self.part == Part::New && !self.held.is_empty() {
            self.give_held(out, border.is_some());
        }
        match border {
            Some(Part::New) => self.held.extend_from_slice(&self.line),
            None if self.part == Part::Old && self.held.len() < 1 << 20 => {
                self.held.extend_from_slice(&self.line)
            }
            None => {
                if self.part == Part::New && self.line.len() > 1 && b"!+".contains(&self.line[0]) {
                    self.line[0] = b' ';
                }
                out.extend_from_slice(&self.line);
            }
            Some(_) => {
                self.give_held(out, false);
                out.extend_from_slice(&self.line);
            }
        }
        self.part = border.unwrap_or(self.part);
    }

    /// Writes the old part and the border after it: whole except for the lines that are gone, or as
    /// empty lines.
    fn give_held(&mut self, out: &mut Vec<u8>, whole: bool) {
        for line in std::mem::take(&mut self.held).split_inclusive(|byte| *byte == b'\n') {
            let stays =
                border(line).is_some() || whole && !matches!(line.first(), Some(b'-' | b'!'));
            out.extend_from_slice(if stays { line } else { b"\n" });
        }
    }
}

/// The border of a part of a context diff: `*** 1,3 ****`, `--- 1,3 ----`, a row of asterisks.
fn border(line: &[u8]) -> Option<Part> {
    let line = line.trim_ascii_end();
    if line.len() >= 8 && line.iter().all(|byte| *byte == b'*') {
        return Some(Part::Outside);
    }
    let range = |open: &[u8], close: &[u8]| {
        let inside = line.strip_prefix(open)?.strip_suffix(close)?;
        let digits = |byte: &u8| byte.is_ascii_digit() || *byte == b',';
        (!inside.is_empty() && inside.iter().all(digits)).then_some(())
    };
    let old = range(b"*** ", b" ****").map(|()| Part::Old);
    old.or_else(|| range(b"--- ", b" ----").map(|()| Part::New))
}

impl<R: Read> Pieces for NewLog<R> {
    fn piece(&mut self, out: &mut Vec<u8>) -> io::Result<bool> {
        self.line.clear();
        // A part of an overlong line is as good as a line here.
        let got = (&mut self.inner).take(1 << 20).read_until(b'\n', &mut self.line)?;
        match self.style {
            _ if got == 0 => {
                let missing = self.part == Part::New;
                self.give_held(out, missing);
            }
            Style::Context => self.in_context(out),
            Style::Unified | Style::Normal => self.signed(out),
        }
        Ok(got > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::pieces::Given;
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
    fn found_is_no_table_of_a_console() {
        let table = "    +-------------------[    5.327925] dog: x\n---------+\n    +----[    5.380196] y: z\n\
                     --------[    5.393093] dog: x\n-----+\n+\n+[    5.400000] a: b\n-[    5.410000] a: b\n";
        assert_eq!(found(table.as_bytes()), None);
        let diff = "-[    1.0] a\n+[    1.000001] a: b\n-[    1.000002] b: c\n+[    1.000003] c: d\n-[    1.000004] d: e\n";
        assert_eq!(found(format!("+------+\n{diff}").as_bytes()), Some(Style::Unified));
    }

    #[test]
    fn new_keeps_the_numbers_of_lines() {
        let mut out = String::new();
        let diff = &b"@@ -1 +1 @@\n-old\n+new\n both\n"[..];
        Given::new(NewLog::new(diff, Style::Unified)).read_to_string(&mut out).unwrap();
        assert_eq!(out, "@@ -1 +1 @@\n\n new\n both\n");
    }

    #[test]
    fn new_of_a_context_diff_keeps_the_numbers_of_lines() {
        let of = |text: &str| {
            let mut out = String::new();
            assert_eq!(found(text.as_bytes()), Some(Style::Context));
            Given::new(NewLog::new(text.as_bytes(), Style::Context))
                .read_to_string(&mut out)
                .unwrap();
            out
        };
        let head = "*** a\tdate\n--- b\tdate\n***************\n*** 1,3 ****\n";
        assert_eq!(
            of(&format!("{head}  same\n! old\n--- 1,3 ----\n  same\n! new\n")),
            format!("{head}\n\n--- 1,3 ----\n  same\n  new\n")
        );
        // A part in which nothing was added is not printed.
        let gone = format!("{head}  same\n- gone\n  too\n--- 1,2 ----\n");
        let stays = format!("{head}  same\n\n  too\n--- 1,2 ----\n");
        assert_eq!(of(&gone), stays);
        assert_eq!(of(&format!("{gone}***************\n")), format!("{stays}***************\n"));
    }
}
