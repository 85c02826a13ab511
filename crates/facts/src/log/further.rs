//! Further lines of a record: `dmesg` and `journalctl` print a record with line breaks as several lines, of which all but
//! the first are indented by the width of its prefix. Users can put line breaks, and whatever looks like a prefix after
//! them, into text that the kernel quotes, and into the records of their own programs. So such a line is not a message,
//! even with a time stamp of its own.

use super::lines::{line_before, text};
use super::prefix::{Stripped, strip};
use super::unstamped;
use std::borrow::Cow;
use std::ops::Range;

/// The narrowest prefix of such a record: `[    0.1] `, `kernel: `.
const NARROWEST: usize = 8;

/// Lines above a further line in which the first one of its record is looked for.
const ABOVE: usize = 64;
/// Bytes of a line in which a tool puts what precedes each line.
const FRONT: usize = 96;

/// What is above a place in a text.
#[derive(Clone, Copy, Debug, Default)]
struct Above {
    /// The width of the prefix of the last line that is not indented, if it begins a record.
    prefix: Option<usize>,
    /// The least indentation of the lines after it.
    least: usize,
}

/// Finds further lines in the windows of a text. Records have any length, so each line above is examined once.
#[derive(Debug, Default)]
pub(super) struct Records {
    /// What is above the first whole line of the window, and the place of that line.
    before: Above,
    from: usize,
    /// The place in the window up to which the lines were examined, and what is above it.
    at: usize,
    above: Above,
}

impl Records {
    /// Whether the line from `start` on is a further line of a record: it is indented by the width of the prefix of the
    /// last line that is not indented or less, and so are all lines in between. More blanks are the user's. In a text
    /// that is indented as a whole the line before is also indented.
    pub(super) fn has(&mut self, window: &[u8], start: usize) -> bool {
        let line = window.get(start..).unwrap_or_default();
        let own = blanks(line);
        if own >= NARROWEST {
            self.examine(window, start);
            if self.above.prefix.is_some_and(|width| width <= own.min(self.above.least)) {
                return true;
            }
        }
        let end = memchr::memchr(b'\n', line).unwrap_or(line.len());
        let line = text(line, 0, end);
        is_further(&line, || lines_above(window, start))
    }

    /// Removes processed bytes from the beginning of the window.
    pub(super) fn used(&mut self, window: &[u8], used: usize) {
        self.examine(window, used);
        (self.before, self.from, self.at) = (self.above, 0, 0);
    }

    /// Leaves out the rest of an overlong line at the beginning of the window.
    pub(super) fn skip(&mut self, rest: usize) {
        (self.from, self.at) = (rest, rest);
    }

    /// Examines the lines above a place.
    fn examine(&mut self, window: &[u8], start: usize) {
        if start < self.at {
            (self.above, self.at) = (self.before, self.from);
        }
        let (mut at, mut least) = (start, usize::MAX);
        while let Some(line) = line_before(window, at).filter(|line| line.start >= self.at) {
            let bytes = &window[line.clone()];
            at = line.start;
            // A line break alone leaves a line that is empty, or that has only the indentation.
            if bytes.trim_ascii().is_empty() {
                continue;
            }
            let width = blanks(bytes);
            if width < NARROWEST {
                let first = text(window, line.start, line.end);
                let prefix = record(&first).map(|(width, _)| width);
                (self.above, self.at) = (Above { prefix, least }, start);
                return;
            }
            least = least.min(width);
        }
        self.above.least = self.above.least.min(least);
        self.at = start;
    }
}

/// The lines above a place, the nearest first.
fn lines_above(window: &[u8], start: usize) -> impl Iterator<Item = Cow<'_, str>> {
    let mut at = start;
    std::iter::from_fn(move || {
        let line = line_before(window, at)?;
        at = line.start;
        Some(text(window, line.start, line.end))
    })
}

/// Whose record a line is a further one of, by a gap in it that is as wide as the prefix of the record above. Quotations,
/// lists, editors and search tools put the same text before each line, and so before the further lines of a record.
fn is_set_in<'a, I>(line: &str, above: impl Fn() -> I) -> Option<Of>
where
    I: Iterator<Item = Cow<'a, str>>,
{
    let line = with_blanks(line);
    gaps(&line).find_map(|gap| {
        // Where this line has blanks, the first line of the record has the beginning of its prefix.
        let front = &line[..gap.start];
        above().take(ABOVE).find_map(|line| beginning(&with_blanks(&line), front, &gap)).flatten()
    })
}

/// Whose record begins in the place of such a gap after the same text, if the gap is as wide as its prefix; `None`: the line also
/// has blanks there.
fn beginning(line: &str, front: &str, gap: &Range<usize>) -> Option<Option<Of>> {
    let behind = line.get(gap.start..)?;
    let begin = line.len() - behind.trim_start().len();
    if behind.trim().is_empty() || begin >= gap.end {
        return None;
    }
    if !is_alike(&line[..gap.start], front) {
        return Some(None);
    }
    Some(record(&line[begin..]).filter(|(width, _)| gap.end - begin >= *width).map(|(_, of)| of))
}

/// Whether two texts before records differ in numbers alone: those of lines, and times.
fn is_alike(one: &str, other: &str) -> bool {
    let is_number = |byte: u8| byte.is_ascii_digit() || byte == b' ';
    one.len() == other.len()
        && one.bytes().zip(other.bytes()).all(|(a, b)| a == b || is_number(a) && is_number(b))
}

/// The gaps of a line that are as wide as a prefix.
fn gaps(line: &str) -> impl Iterator<Item = Range<usize>> {
    let mut from = 0;
    std::iter::from_fn(move || {
        while from < line.len().min(FRONT) {
            let gap = from..from + blanks(&line.as_bytes()[from..]);
            from = gap.end.max(from + 1);
            if gap.len() >= NARROWEST && gap.end < line.len() {
                return Some(gap);
            }
        }
        None
    })
}

/// A line with blanks instead of its tabs.
fn with_blanks(line: &str) -> Cow<'_, str> {
    if line.contains('\t') {
        line.replace('\t', &" ".repeat(NARROWEST)).into()
    } else {
        line.into()
    }
}

/// Whether a line is a further one of a record among the lines above it, the nearest first.
pub(super) fn is_further<'a, I>(line: &str, above: impl Fn() -> I) -> bool
where
    I: Iterator<Item = Cow<'a, str>>,
{
    is_set_in(line, above).is_some()
}

/// Whose record a further line is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    Kernel,
    Program,
}

/// For each line of a text, whether it is a further line of a record, and of whose. A line that a program wrote under the
/// kernel's name counts as one.
pub(crate) fn of_records(lines: &[String]) -> Vec<Option<Of>> {
    let mut begun = None;
    let foreign = unstamped::foreign(lines);
    let mut of_record = |(at, (line, foreign)): (usize, (&String, &bool))| {
        if line.trim().is_empty() {
            return None;
        }
        if let Some(of) =
            is_set_in(line, || lines[..at].iter().rev().map(|line| line.as_str().into()))
        {
            return Some(of);
        }
        if let Some((_, of)) = begun.filter(|(width, _)| blanks(line.as_bytes()) >= *width) {
            return Some(of);
        }
        begun = if line.starts_with(' ') { None } else { record(line) };
        foreign.then_some(Of::Program)
    };
    lines.iter().zip(&foreign).enumerate().map(&mut of_record).collect()
}

/// The width of the prefix of a record, and whose it is. One of the kernel begins at the margin.
fn record(line: &str) -> Option<(usize, Of)> {
    let stripped = strip(line);
    let (prefix, of) = match stripped.writer {
        // Not up to the message: its own time stamp counts as a part of the prefix.
        Some(writer) => {
            let name = line.find(writer)?;
            (&line[..name + line[name..].find(": ")? + ": ".len()], Of::Program)
        }
        None if line.starts_with(' ') => return None,
        None => (prefix_of_kernel(line, &stripped)?, Of::Kernel),
    };
    let width = prefix.chars().count();
    (width >= NARROWEST).then_some((width, of))
}

/// Whether a line has a prefix that only the kernel's messages have: a program may also have one with a time
/// (`phc2sys[812.101]: ...`).
pub(crate) fn is_marked(line: &str) -> bool {
    prefix_of_kernel(line, &strip(line)).is_some()
}

/// The prefix of a line, if only the kernel's messages have such a prefix.
fn prefix_of_kernel<'a>(line: &'a str, stripped: &Stripped<'_>) -> Option<&'a str> {
    let prefix = line.rfind(stripped.message).and_then(|at| line.get(..at)).unwrap_or_default();
    (stripped.kernel == Some(true) && stripped.writer.is_none() && is_kernels(prefix))
        .then_some(prefix)
}

fn is_kernels(prefix: &str) -> bool {
    prefix.starts_with(['[', '<']) || prefix.contains("kern")
}

fn blanks(line: &[u8]) -> usize {
    line.iter().take_while(|byte| **byte == b' ').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last_is_of_record(log: &str) -> bool {
        let mut records = Records::default();
        records.has(log.as_bytes(), log.rfind('\n').map_or(0, |at| at + 1))
    }

    #[test]
    fn records_of_any_length_are_followed_across_windows() {
        let width = " ".repeat(15);
        for between in [100, 200, 5000] {
            let breaks = format!("{width}x\n").repeat(between);
            let log = format!("[ 4000.000001] a\n{breaks}{width}tsc: x");
            assert!(last_is_of_record(&log), "{between}");
            // Each second window begins in the record; a line may be read again.
            let mut records = Records::default();
            let (mut window, mut seen) = (log.as_str(), 0);
            while let Some(at) = window.find('\n') {
                let next = at + 1;
                assert!(records.has(window.as_bytes(), next), "{seen}");
                assert_eq!(records.has(window.as_bytes(), 0), seen > 0);
                seen += 1;
                records.used(window.as_bytes(), next);
                window = &window[next..];
            }
            assert_eq!(seen, between + 1);
        }
        // An overlong line of the record does not end it.
        let mut records = Records::default();
        let first = format!("[ 4000.000001] a\n{width}{}", "x".repeat(50));
        records.used(first.as_bytes(), first.len());
        let rest = format!("xxx\n{width}tsc: x");
        records.skip(4);
        assert!(records.has(rest.as_bytes(), 4) && records.has(rest.as_bytes(), 4));
        // After the record.
        let log = format!("[ 4000.000001] a\n{width}b\nroot@x:~# dmesg\n{width}tsc: x");
        assert!(!last_is_of_record(&log));
    }

    #[test]
    fn further_line_of_a_record_is_one_in_a_quotation_and_in_a_list() {
        let width = " ".repeat(15);
        for (first, front) in [("", ""), ("kern  :info  : ", "> "), ("kern  :info  : ", "    12\t")]
        {
            let prefix = format!("{first}[ 4000.000001] ");
            let width = " ".repeat(prefix.len());
            let log = format!("{front}{prefix}a\n{front}{width}{prefix}tsc: x");
            assert!(last_is_of_record(&log), "{log}");
        }
        let date = "[Mon Nov 30 09:00:00 2026] ";
        for front in ["> ", "Nov 30 09:30:01 ", "    ", "12:"] {
            let width = " ".repeat(date.len());
            let log = format!("{front}{date}a\n{front}{width}{date}tsc: x");
            assert!(last_is_of_record(&log), "{log}");
        }
        for front in [
            "",
            "    ",
            "\t",
            "> ",
            ">> ",
            "    12\t",
            "12:",
            "| ",
            "- ",
            "* ",
            "web-1  | ",
            "db1: ",
            "`",
            "        \"",
        ] {
            for between in ["", &format!("{front}{width}[ 4000.200000] a\n")] {
                let above = format!("{front}[ 4000.000001] tmpfs: Unknown parameter 'x\n{between}");
                let log = format!("{above}{front}{width}[ 4000.250000] tsc: x");
                assert!(last_is_of_record(&log), "{log}");
                let lines: Vec<String> = log.lines().map(str::to_owned).collect();
                assert!(of_records(&lines).last().is_some_and(Option::is_some), "{log}");
                let label = format!("{above}{front}{width}current_clocksource: hpet'");
                assert!(last_is_of_record(&label), "{label}");
                let next = format!("{above}{front}[ 4000.250000] tsc: x");
                assert!(!last_is_of_record(&next), "{next}");
            }
        }
        // Stamps that are right-justified by other text, and columns, are those of records.
        assert!(!last_is_of_record("a: [ 4000.000001] x\na long name: [ 4000.250000] tsc: x"));
        assert!(!last_is_of_record(
            "db1          [ 4000.000001] x\ndb1          [ 4000.250000] tsc: x"
        ));
    }

    #[test]
    fn line_that_is_indented_by_the_prefix_is_of_the_record() {
        for prefix in [
            "[ 4000.000001] ",
            "kern  :info  : [ 4000.000001] ",
            "Nov 22 10:00:00 host kernel: ",
            "[Wed Dec 22 08:37:21 2021] ",
        ] {
            let width = " ".repeat(prefix.len());
            for between in ["", "\n", &format!("\n{width}"), &format!("\n{width}a\n{width}b")] {
                for more in [
                    "tsc: x",
                    "[ 5000.000001] tsc: x",
                    "<6>[ 5000.000001] tsc: x",
                    // The user's own blanks.
                    " [ 5000.000001] tsc: x",
                    "                    [ 5000.000001] tsc: x",
                ] {
                    let log = format!("{prefix}tmpfs: Unknown 'x{between}\n{width}{more}");
                    assert!(last_is_of_record(&log), "{log}");
                    let lines: Vec<String> = log.lines().map(str::to_owned).collect();
                    let (first, last) = (of_records(&lines)[0], of_records(&lines).pop());
                    assert_eq!((first, last), (None, Some(Some(Of::Kernel))), "{log}");
                }
            }
        }
    }

    #[test]
    fn line_that_is_indented_by_the_header_is_of_the_program() {
        for header in [
            "Nov 22 10:00:00 host myapp[812]: ",
            "2025-11-22T10:00:00+0000 host myapp[812]: ",
            "Nov 22 10:00:00 host kernel[812]: ",
        ] {
            for message in ["x", "[ 4000.000001] x"] {
                for more in ["tsc: x", "[ 5000.000001] tsc: x", "   clocksource: hpet"] {
                    let log = format!("{header}{message}\n{}{more}", " ".repeat(header.len()));
                    assert!(last_is_of_record(&log), "{log}");
                    let lines: Vec<String> = log.lines().map(str::to_owned).collect();
                    assert_eq!(of_records(&lines), [None, Some(Of::Program)], "{log}");
                }
            }
        }
        // A block below the line of a program.
        assert!(!last_is_of_record("Nov 22 10:00:00 host myapp[812]: x\n        tsc: x"));
    }

    #[test]
    fn lines_of_an_indented_text_are_not() {
        let line = "               [    1.000000] tsc: x";
        assert!(!last_is_of_record(line));
        assert!(!last_is_of_record(&format!("{line}\n{line}")));
        assert!(!last_is_of_record(&format!("My log is this:\n{line}")));
        assert!(!last_is_of_record(&format!("root@x:~# dmesg\n{line}")));
        // Indented by less.
        assert!(!last_is_of_record("[    0.500000] a\n        [    1.000000] tsc: x"));
        assert!(!last_is_of_record("[    0.500000] a\n[    1.000000] tsc: x"));
    }
}
