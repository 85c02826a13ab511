//! Converts UTF-16 to UTF-8, and refuses input that is not text, with the reason.

use super::LogError;
use super::pieces::{Given, Pieces};
use std::io::{self, Read};

/// Bytes that are examined.
const LOOKED_AT: usize = 8192;
/// A run of NUL bytes this long is a hole in a text: a crash leaves blocks of them in log files, and
/// a truncated one begins with them. Binary files also have shorter runs and other bytes.
const HOLE: usize = 64;

/// Looks at the beginning of the input.
pub(super) fn check(window: &[u8], name: &str) -> Result<(), LogError> {
    let head = without_holes(window);
    // Consoles ring the bell, and go back to show progress (7, 8).
    let strange = head.iter().filter(|b| matches!(b, 0..=6 | 11 | 14..=26 | 28..=31 | 127)).count();
    // A log may hold a few control characters.
    let nothing = head.is_empty() && !window.is_empty();
    if nothing || head.len() >= 16 && strange * 10 > head.len() {
        return Err(LogError::Binary { name: name.to_owned() });
    }
    Ok(())
}

/// The first bytes that do not belong to a hole.
fn without_holes(window: &[u8]) -> Vec<u8> {
    let runs = window.chunk_by(|a, b| *a == 0 && *b == 0);
    let text = runs.filter(|run| run.len() < HOLE);
    text.flatten().copied().take(LOOKED_AT).collect()
}

/// Makes plain blanks of no-break spaces, in UTF-8 (`C2 A0`) and in Latin-1 (`A0` alone), from `from` on;
/// returns the new length of the text. Without it no word with such a blank would be found.
pub(super) fn plain_blanks(text: &mut [u8], from: usize) -> usize {
    // The first byte of a pair may be the last one of the text that was read before.
    let begin = from.saturating_sub(1);
    let Some(first) = memchr::memchr(0xa0, &text[begin..]).map(|at| begin + at) else {
        return text.len();
    };
    let begin = first.saturating_sub(1);
    let (mut write, mut read) = (begin, begin);
    while read < text.len() {
        let byte = text[read];
        let pair = byte == 0xc2 && text.get(read + 1) == Some(&0xa0);
        // Behind such a byte it is a part of another sign.
        let alone = byte == 0xa0 && write.checked_sub(1).is_none_or(|before| text[before] < 0x80);
        text[write] = if pair || alone { b' ' } else { byte };
        write += 1;
        read += 1 + usize::from(pair);
    }
    write
}

/// Characters before which Markdown editors put a backslash.
const ESCAPED: &[u8] = b"[]_*<>()#~|+-.!`";

/// Whether characters are escaped as by Markdown editors.
pub(super) fn escapes_signs(window: &[u8]) -> bool {
    memchr::memchr_iter(b'\\', window).any(|at| matches!(window.get(at + 1), Some(b'[' | b'_')))
}

/// Removes the backslashes before such characters, from `from` on; returns the new length of the text. With the
/// backslashes, words such as `wd\_now` would not be found.
pub(super) fn without_backslashes(text: &mut [u8], from: usize) -> usize {
    // The backslash may be the last byte of the text that was read before.
    let begin = from.saturating_sub(1);
    let (mut write, mut read) = (begin, begin);
    while let Some(found) = memchr::memchr(b'\\', &text[read..]) {
        let at = read + found;
        let escapes = text.get(at + 1).is_some_and(|next| ESCAPED.contains(next));
        // Without the backslash, or with it.
        let end = if escapes { at } else { at + 1 };
        text.copy_within(read..end, write);
        write += end - read;
        read = at + 1;
    }
    let length = text.len();
    text.copy_within(read.., write);
    write + (length - read)
}

/// Whether lines end in a carriage return alone, as some terminals record them.
pub(super) fn ends_lines_with_returns(window: &[u8]) -> bool {
    memchr::memchr(b'\n', window).is_none()
        && memchr::memchr_iter(b'\r', window).take(2).count() == 2
}

/// The input as UTF-8, if its beginning shows that it is UTF-16 (the output of PowerShell's `>`);
/// otherwise the unchanged input.
pub(super) fn utf8<'a>(mut reader: impl Read + 'a) -> io::Result<Box<dyn Read + 'a>> {
    let mut head = Vec::with_capacity(LOOKED_AT);
    reader.by_ref().take(LOOKED_AT as u64).read_to_end(&mut head)?;
    let order = order(&head);
    let all = io::Cursor::new(head).chain(reader);
    Ok(match order {
        Some(big_endian) => {
            Box::new(Given::new(Utf16 { inner: all, big_endian, units: Vec::new() }))
        }
        None => Box::new(all),
    })
}

/// Whether UTF-16 is big-endian; `None` for other text.
fn order(head: &[u8]) -> Option<bool> {
    if head.starts_with(&[0xff, 0xfe]) {
        return Some(false);
    }
    if head.starts_with(&[0xfe, 0xff]) {
        return Some(true);
    }
    // Without a byte order mark every second byte of plain text is NUL.
    let n = head.len() / 2;
    let share = |zero: usize, other: usize| {
        head.chunks_exact(2).filter(|pair| pair[zero] == 0 && pair[other] != 0).count() * 10 > n * 9
    };
    match n {
        0..16 => None,
        _ if share(1, 0) => Some(false),
        _ if share(0, 1) => Some(true),
        _ => None,
    }
}

/// Decodes UTF-16; unpaired surrogates become U+FFFD.
struct Utf16<R> {
    inner: R,
    big_endian: bool,
    /// Bytes that are not decoded yet: half a unit, or half a pair.
    units: Vec<u8>,
}

impl<R: Read> Pieces for Utf16<R> {
    fn piece(&mut self, out: &mut Vec<u8>) -> io::Result<bool> {
        let mut buffer = [0u8; LOOKED_AT];
        let got = self.inner.read(&mut buffer)?;
        self.units.extend_from_slice(&buffer[..got]);
        let unit = |pair: &[u8]| {
            let pair = [pair[0], pair[1]];
            if self.big_endian { u16::from_be_bytes(pair) } else { u16::from_le_bytes(pair) }
        };
        let mut units: Vec<u16> = self.units.chunks_exact(2).map(unit).collect();
        // The second half of a pair comes with the next bytes.
        if got > 0 && units.last().is_some_and(|last| (0xd800..0xdc00).contains(last)) {
            units.pop();
        }
        self.units.drain(..units.len() * 2);
        let mut utf8 = [0u8; 4];
        for c in char::decode_utf16(units) {
            let c = c.unwrap_or(char::REPLACEMENT_CHARACTER);
            if c != '\u{feff}' {
                out.extend_from_slice(c.encode_utf8(&mut utf8).as_bytes());
            }
        }
        Ok(got > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn refused(bytes: &[u8]) -> bool {
        check(bytes, "x").is_err()
    }

    #[test]
    fn holes_are_no_reason() {
        let line = b"[    0.000000] Linux version 6.1.0\n";
        for size in [1, 100, 5000, 200_000] {
            let hole = vec![0; size];
            assert!(!refused(&[&hole[..], line, line].concat()), "{size}");
            assert!(!refused(&[line, &hole[..], line].concat()), "{size}");
        }
    }

    #[test]
    fn console_that_shows_progress_is_text() {
        let spins =
            b"[-]\x08\x08\x08[\\]\x08\x08\x08[|]\x08\x08\x08[/]\x08\x08\x08\x07".repeat(400);
        assert!(!refused(&[&spins[..], b"\n[    0.000000] Linux version 6.1.0\n"].concat()));
    }

    #[test]
    fn binary_is_refused() {
        assert!(refused(&[0; 100_000]));
        let scattered: Vec<u8> = (0..9000u32).map(|i| ((i * i) >> 3) as u8 & 0x1f).collect();
        assert!(refused(&scattered));
        // Little-endian numbers.
        let numbers: Vec<u8> = (0..3000u32).flat_map(|i| (i * 7).to_le_bytes()).collect();
        assert!(refused(&numbers));
    }

    fn decoded(bytes: &[u8]) -> String {
        let mut text = String::new();
        utf8(bytes).unwrap().read_to_string(&mut text).unwrap();
        text
    }

    fn encoded(text: &str, big_endian: bool) -> Vec<u8> {
        let bytes = |unit: u16| if big_endian { unit.to_be_bytes() } else { unit.to_le_bytes() };
        text.encode_utf16().flat_map(bytes).collect()
    }

    #[test]
    fn no_break_spaces_of_both_encodings_are_blanks() {
        let plain = |text: &[u8], from: usize| {
            let mut text = text.to_vec();
            let length = plain_blanks(&mut text, from);
            text.truncate(length);
            text
        };
        assert_eq!(plain(b"[\xa0\xa0 0.1] a\xc2\xa0b", 0), b"[   0.1] a b");
        // The bytes are parts of other signs here: U+00E0, U+2020, U+1F920.
        for other in ["\u{e0}", "\u{2020}", "\u{1f920}"] {
            assert_eq!(plain(other.as_bytes(), 0), other.as_bytes());
        }
        assert_eq!(plain(b"a\xc2\xa0b", 2), b"a b");
    }

    #[test]
    fn backslashes_of_markdown_are_taken_out() {
        let plain = |text: &[u8], from: usize| {
            let mut text = text.to_vec();
            let length = without_backslashes(&mut text, from);
            text.truncate(length);
            text
        };
        assert!(escapes_signs(b"wd\\_now") && !escapes_signs(b"a\\n \\x"));
        assert_eq!(plain(b"\\[ 0.1\\] wd\\_now \\n", 0), b"[ 0.1] wd_now \\n");
        assert_eq!(plain(b"a\\_b", 2), b"a_b");
    }

    #[test]
    fn half_a_unit_and_half_a_pair_end_the_text() {
        assert_eq!(decoded(&[0xff, 0xfe, b'a', 0, b'b']), "a");
        assert_eq!(decoded(&[0xff, 0xfe, b'a', 0, 0x3d, 0xd8]), "a\u{fffd}");
    }

    proptest! {
        #[test]
        fn utf16_is_read_as_utf8(
            start in "[ -~]{40}",
            part in "(\\PC|\u{1f512}){0,200}",
            times in 0..26_usize,
            big_endian: bool,
        ) {
            let text = start + &part.repeat(times);
            let mark = encoded(&format!("\u{feff}{text}"), big_endian);
            prop_assert_eq!(decoded(&mark), text.replace('\u{feff}', ""));
        }

        #[test]
        fn ascii_needs_no_byte_order_mark(
            part in "[ -~]{32,300}",
            times in 1..31_usize,
            big_endian: bool,
        ) {
            let text = part.repeat(times);
            prop_assert_eq!(decoded(&encoded(&text, big_endian)), text);
        }

        #[test]
        fn other_text_stays(text in "\\PC{0,200}") {
            prop_assert_eq!(decoded(text.as_bytes()), text);
        }
    }
}
