//! Lines that a log repeats many times, and that differ only in their figures.
//!
//! A user who can write into a log, or who sends one, determines how many of its lines have a keyword: a compressed log
//! of a few kilobytes may have millions. So after [`ENOUGH`] parsed lines of one shape in the same boot, more of them
//! are counted but not parsed. The last such lines of each kind of event are stored unparsed, for the end of the log.

use super::event::Event;
use super::lines::text;
use super::parse::{self, Groups};
use super::prefix::strip;
use super::store::{KEPT, Store};
use super::{Entry, journal};
use std::collections::{HashMap, VecDeque};
use std::mem::Discriminant;

/// Number of lines of one shape that are parsed, in one boot.
const ENOUGH: u32 = 1_000;
/// Maximum number of stored shapes. In a log with more, no shape makes up most of it.
const SHAPES: usize = 4096;
/// Longer lines, in bytes, are always parsed.
const LONGEST: usize = 400;

type Kind = Discriminant<Event>;

struct Shape {
    lines: u32,
    /// The kind of event of such a line; `None`: no event.
    kind: Option<Kind>,
}

/// The last unparsed lines of one kind.
#[derive(Default)]
struct Held {
    lines: VecDeque<(u64, Vec<u8>)>,
    omitted: u64,
}

/// The shapes of the lines of one boot.
#[derive(Default)]
pub(super) struct Repeated {
    shapes: HashMap<Vec<u8>, Shape>,
    held: HashMap<Kind, Held>,
    /// The shape of the current line.
    now: Vec<u8>,
}

impl Repeated {
    /// Whether enough lines of this shape were parsed; then the line is counted. `number` is that of the line.
    pub(super) fn is_enough(&mut self, line: &[u8], number: u64) -> bool {
        self.now.clear();
        if line.len() > LONGEST {
            return false;
        }
        shape(line, &mut self.now);
        let Some(shape) = self.shapes.get(&self.now).filter(|shape| shape.lines >= ENOUGH) else {
            return false;
        };
        if let Some(kind) = shape.kind {
            self.held.entry(kind).or_default().hold(number, line);
        }
        true
    }

    /// Stores the kind of event of the line that was checked last.
    pub(super) fn looked_at(&mut self, kind: Option<Kind>) {
        if self.now.is_empty() {
            return;
        }
        if let Some(shape) = self.shapes.get_mut(&self.now) {
            // A line that is an event only sometimes cannot be judged by its shape.
            shape.lines = if shape.kind == kind { shape.lines + 1 } else { 0 };
            shape.kind = kind;
        } else if self.shapes.len() < SHAPES {
            self.shapes.insert(self.now.clone(), Shape { lines: 1, kind });
        }
    }

    /// Discards the shapes: another boot begins.
    pub(super) fn clear(&mut self) {
        self.shapes.clear();
        self.held.clear();
    }

    /// Parses the stored lines and adds them to the store.
    pub(super) fn finish(self, store: &mut Store) {
        for (kind, held) in self.held {
            let entries = held.lines.into_iter().filter_map(|(line, raw)| entry(line, &raw));
            let entries = entries.filter(|entry| entry.event.kind() == kind).collect();
            store.add_last(kind, entries, held.omitted);
        }
    }
}

impl Held {
    fn hold(&mut self, number: u64, line: &[u8]) {
        // A repeated line is the same message, as two consoles print it.
        if self.lines.back().is_some_and(|(_, last)| last == line) {
            return;
        }
        let mut buffer = if self.lines.len() < KEPT {
            Vec::new()
        } else {
            self.omitted += 1;
            self.lines.pop_front().map(|(_, buffer)| buffer).unwrap_or_default()
        };
        buffer.clear();
        buffer.extend_from_slice(line);
        self.lines.push_back((number, buffer));
    }
}

fn entry(line: u64, raw: &[u8]) -> Option<Entry> {
    let raw = text(raw, 0, raw.len());
    let record = journal::message(&raw);
    let stripped = strip(record.as_ref().map_or(&*raw, |record| &*record.message));
    let event = parse::parse(stripped.message, Groups::of(stripped.message))?;
    let at = record.as_ref().and_then(|record| record.at).or(stripped.at);
    Some(Entry { line, at, text: super::store::evidence(&raw), event })
}

/// A line with one character for each run of digits, and one for each run of blanks. Hexadecimal
/// letters after a digit are also digits.
fn shape(line: &[u8], out: &mut Vec<u8>) {
    let mut last = 0;
    for byte in line {
        let class = match byte {
            b'0'..=b'9' => b'0',
            b'a'..=b'f' if last == b'0' => b'0',
            b'\t' => b' ',
            other => *other,
        };
        // `0x` is a separate run, and `0x7f`, `0xff` continue as one.
        let class = if class == b'x' && last == b'0' { b'0' } else { class };
        if class != last || !matches!(class, b'0' | b' ') {
            out.push(class);
        }
        last = class;
    }
}

#[cfg(test)]
mod tests {
    use super::super::KernelLog;
    use super::*;
    use std::fmt::Write;

    fn scan(text: &str) -> KernelLog {
        KernelLog::scan(text.as_bytes(), "log").unwrap()
    }

    /// A repeated message, once a second.
    fn flood(out: &mut String, seconds: std::ops::Range<u32>) {
        for second in seconds {
            let cpu = second % 7;
            writeln!(out, "[{second:5}.400000] clocksource: timekeeping watchdog on CPU{cpu}: hpet read-back delay of 171330ns, attempt 4, marking unstable").unwrap();
        }
    }

    #[test]
    fn shape_is_the_line_without_figures() {
        let of = |line: &str| {
            let mut out = Vec::new();
            shape(line.as_bytes(), &mut out);
            out
        };
        assert_eq!(of("[   12.5] CPU1: x"), of("[ 9217.400000] CPU17: x"));
        assert_eq!(of("[1.5] RIP: 0033:0x7f6abebf3b"), of("[1.5] RIP: 0010:0x400010"));
        assert_ne!(of("[1.5] hpet"), of("[1.5] tsc"));
        assert_eq!(of(""), b"");
    }

    #[test]
    fn flood_keeps_its_first_and_last_lines_and_hides_no_other() {
        let mut text = "[    0.000000] Linux version 6.1.0 (a@b) #1 SMP\n".to_owned();
        flood(&mut text, 10..10 + 3 * ENOUGH);
        text.push_str("[40000.000000] clocksource: Switched to clocksource hpet\n");
        flood(&mut text, 40_001..40_011);
        let log = scan(&text);
        let delays: Vec<u64> = log
            .entries
            .iter()
            .filter(|entry| entry.text.contains("read-back"))
            .map(|entry| entry.line)
            .collect();
        assert_eq!(delays.len(), 2 * KEPT);
        assert_eq!(delays[..3], [2, 3, 4]);
        assert_eq!(*delays.last().unwrap(), log.lines);
        assert!(delays.windows(2).all(|two| two[0] < two[1]));
        assert_eq!(log.omitted, u64::from(3 * ENOUGH) + 10 - 2 * KEPT as u64);
        let last = log.entries.iter().rev().find(|e| e.text.contains("read-back")).unwrap();
        assert_eq!(last.at, Some(40_010.4));
        assert_eq!(
            log.last(|event| matches!(event, Event::Switched(_)).then_some(())).unwrap().0.line,
            u64::from(3 * ENOUGH) + 2
        );
        assert_eq!((log.boots, log.last_at), (1, Some(40_010.4)));
    }

    #[test]
    fn boot_after_a_flood_is_looked_at_anew() {
        let mut text = "[    0.000000] Linux version 6.1.0 (a@b) #1 SMP\n".to_owned();
        flood(&mut text, 10..10 + 2 * ENOUGH);
        text.push_str("[    0.000000] Linux version 6.1.0 (a@b) #1 SMP\n");
        flood(&mut text, 10..13);
        let log = scan(&text);
        assert_eq!((log.boots, log.omitted), (2, 0));
        assert_eq!(log.entries.iter().filter(|e| e.text.contains("read-back")).count(), 3);
    }

    #[test]
    fn line_that_was_repeated_is_parsed_once() {
        let mut shapes = Repeated::default();
        for number in 0..ENOUGH {
            assert!(!shapes.is_enough(b"[1.0] tsc: x", u64::from(number)));
            shapes.looked_at(None);
        }
        assert!(shapes.is_enough(b"[2.75] tsc: x", 7) && shapes.held.is_empty());
        assert!(!shapes.is_enough(b"[2.75] tsc: y", 8));
        shapes.clear();
        assert!(!shapes.is_enough(b"[2.75] tsc: x", 9));
    }
}
