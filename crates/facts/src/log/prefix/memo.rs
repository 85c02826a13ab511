//! What was found of the lines that were seen last. A text is read by many questions, and most of them begin with its lines
//! without their prefixes; to find these prefixes is a quarter to a half of the work.

use super::Stripped;
use std::cell::RefCell;
use std::ops::Range;

/// Places in the table; a line has one, by its checksum.
const PLACES: usize = 1 << 15;
/// Longest line that is kept.
const LONGEST: usize = 1 << 10;
/// Bytes of lines that are kept at most.
const MOST: usize = 8 << 20;

thread_local! {
    static TABLE: RefCell<Table> = const { RefCell::new(Table { places: Vec::new(), bytes: 0 }) };
}

struct Table {
    places: Vec<Option<Box<Entry>>>,
    /// Length of all lines in it.
    bytes: usize,
}

struct Entry {
    line: Box<str>,
    /// With empty texts.
    rest: Stripped<'static>,
    message: Range<usize>,
    host: Option<Range<usize>>,
    writer: Option<Range<usize>>,
}

/// The result of `strip` for a line, from the table if it is there.
pub(super) fn of<'a>(line: &'a str, strip: impl FnOnce(&'a str) -> Stripped<'a>) -> Stripped<'a> {
    if line.len() > LONGEST {
        return strip(line);
    }
    let place = crc32fast::hash(line.as_bytes()) as usize % PLACES;
    if let Some(known) = TABLE.with_borrow(|table| table.get(place, line)) {
        return known;
    }
    let found = strip(line);
    TABLE.with_borrow_mut(|table| table.put(place, line, &found));
    found
}

impl Table {
    fn get<'a>(&self, place: usize, line: &'a str) -> Option<Stripped<'a>> {
        let entry = self.places.get(place)?.as_ref().filter(|entry| *entry.line == *line)?;
        let part = |range: &Option<Range<usize>>| range.clone().and_then(|range| line.get(range));
        Some(Stripped {
            message: line.get(entry.message.clone())?,
            host: part(&entry.host),
            writer: part(&entry.writer),
            ..entry.rest
        })
    }

    fn put(&mut self, place: usize, line: &str, found: &Stripped<'_>) {
        let Some(entry) = Entry::of(line, found) else { return };
        if self.bytes + line.len() > MOST {
            self.places.clear();
            self.bytes = 0;
        }
        self.places.resize_with(PLACES, || None);
        let before = self.places[place].replace(Box::new(entry));
        self.bytes += line.len();
        self.bytes -= before.map_or(0, |entry| entry.line.len());
    }
}

impl Entry {
    /// `None` if a text is not a part of the line.
    fn of(line: &str, found: &Stripped<'_>) -> Option<Self> {
        let place = |part: &str| {
            let start = part.as_ptr().addr().checked_sub(line.as_ptr().addr())?;
            let range = start..start + part.len();
            (range.end <= line.len() && line.get(range.clone()) == Some(part)).then_some(range)
        };
        let part = |part: Option<&str>| part.map_or(Some(None), |part| place(part).map(Some));
        Some(Self {
            line: line.into(),
            rest: Stripped { message: "", host: None, writer: None, ..*found },
            message: place(found.message)?,
            host: part(found.host)?,
            writer: part(found.writer)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{search, strip};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_line_that_was_seen_has_the_same_parts() {
        for line in [
            "",
            "Nov 30 12:00:00 db1 kernel: [    1.500000] tsc: Marking TSC unstable due to clocksource watchdog",
            "Nov 30 12:00:00 db1 chronyd[7]: System clock wrong by 1.5 seconds",
            "> [    0.000000] Linux version 6.1.0",
            "3:Nov 30 12:00:00 relay db1 kernel: x",
        ] {
            assert_eq!(strip(line), search(line), "{line}");
            let again = String::from(line);
            assert_eq!(strip(&again), search(line), "{line}");
        }
    }

    #[test]
    fn lines_of_one_place_and_many_lines_are_told_apart() {
        for round in 0..2 {
            for number in 0..2 * PLACES {
                let line = format!("Nov 30 12:00:00 db{number} sshd[{number}]: x{number}");
                let found = strip(&line);
                assert_eq!(found.message, format!("x{number}"), "{round}");
                assert_eq!(found.host, Some(format!("db{number}").as_str()), "{round}");
            }
        }
        TABLE.with_borrow(|table| {
            let kept = table.places.iter().flatten().map(|entry| entry.line.len()).sum::<usize>();
            assert_eq!(kept, table.bytes);
            assert!(table.bytes <= MOST);
        });
    }

    #[test]
    fn a_text_from_elsewhere_is_not_kept() {
        let found = Stripped { message: "x", ..Stripped::default() };
        assert!(Entry::of("a line with x", &found).is_none());
    }

    proptest! {
        #[test]
        fn any_line_has_the_same_parts_twice(line in "[<\\[ >|#0-9]{0,8}(Nov 30 12:00:00 )?[a-z]{0,6} ?(kernel: )?[\\[ ]{0,3}[0-9.]{0,9}\\]? ?.{0,30}") {
            let first = strip(&line);
            prop_assert_eq!(first, search(&line));
            prop_assert_eq!(strip(&line), first);
        }
    }
}
