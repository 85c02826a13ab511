//! Whether a text is HTML: which of its elements are those of a page, and which are words of the records of a log.

use super::{BLANKS, BREAKS, entity, is_end, line_end, name, tag};
use crate::log::{further, is_record, lines, prefix, transcript};

/// Tags that show that a text is HTML.
const SIGNS: [&str; 9] = ["br", "pre", "span", "p", "div", "td", "code", "html", "font"];

/// The form of a text with HTML.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::log) struct Style {
    /// Lines are broken as in quoted-printable mail.
    pub(in crate::log) soft: bool,
    /// Elements separate the messages of the whole text. Otherwise they do so only in lines that begin with one: in
    /// another line a user can have chosen the words with an element.
    pub(super) whole: bool,
    /// The text is a log alone: its elements are words of records, which their writers chose, except for those that end each of
    /// its lines.
    pub(super) alone: bool,
    /// Elements are written as entities, because the text has none that is not: in a page they are words.
    pub(super) encoded: bool,
}

/// Lines with the kernel's prefix and without the end of a line as an element, at most, in a text whose lines elements end.
const KERNEL_WITHOUT: usize = 2;

/// The form of a text, if it is HTML at least in parts.
pub(in crate::log) fn found(text: &[u8]) -> Option<Style> {
    let is_tag = memchr::memchr_iter(b'<', text).any(|at| {
        name(&text[at..]).is_some_and(|(name, _)| SIGNS.contains(&name.as_str()))
            && tag(&text[at..]).is_some()
    });
    let escaped = || encoded().any(|sign| memchr::memmem::find(text, sign.as_bytes()).is_some());
    (is_tag || escaped()).then(|| {
        let soft = is_quoted_printable(text);
        let joined;
        let text = if soft {
            joined = String::from_utf8_lossy(text).replace("=\n", "");
            joined.as_bytes()
        } else {
            text
        };
        Style { soft, whole: is_whole(text), alone: is_log_alone(text), encoded: !is_tag }
    })
}

/// Whether only records of a log, and their further lines, have elements: those of a text without any HTML around it.
fn is_log_alone(text: &[u8]) -> bool {
    let mut found = false;
    let all = text.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    let all: Vec<&[u8]> = all.collect();
    for (at, line) in all.iter().enumerate() {
        if !memchr::memchr2_iter(b'<', b'&', line).any(|at| is_sign(&line[at..])) {
            continue;
        }
        let plain = lines::text(line, 0, line.len());
        let is_record = !begins_with_element(line) && is_of_a_log(&plain);
        let above = || all[..at].iter().rev().map(|line| lines::text(line, 0, line.len()));
        if !is_record && !further::is_further(&plain, above) {
            return false;
        }
        found = true;
    }
    found
}

/// Blanks and the ends of lines, written as entities.
fn encoded() -> impl Iterator<Item = &'static str> {
    ["&nbsp;"].into_iter().chain(BLANKS).chain(BREAKS)
}

/// Whether a tag, or the end of a line or a blank as an entity, begins here.
fn is_sign(text: &[u8]) -> bool {
    tag(text).is_some() || encoded().any(|sign| text.starts_with(sign.as_bytes()))
}

/// Whether the lines of a text are broken as in quoted-printable mail. The words of a message of a log do not show it:
/// they would join it with the next one.
fn is_quoted_printable(text: &[u8]) -> bool {
    ["=3D\"", "quoted-printable"].iter().any(|sign| {
        memchr::memmem::find_iter(text, sign.as_bytes()).any(|at| {
            let line = lines::line_around(text, 0..text.len(), at..at + sign.len());
            begins_with_element(&text[line.clone()])
                || !is_of_a_log(&lines::text(text, line.start, line.end))
        })
    })
}

/// Whether elements separate the messages of a text: nearly all lines with the prefix of a log contain the end of a
/// line as an element, and many of them more than one. A text without such a line begins with an element, or each of
/// its lines ends with one.
fn is_whole(text: &[u8]) -> bool {
    let (mut prefixed, mut without, mut inner) = (0_usize, 0_usize, 0_usize);
    let (mut others, mut unmarked, mut begins) = (0_usize, 0_usize, None);
    let mut is_last_without = false;
    let mut of_kernel = 0_usize;
    let mut prompted = false;
    for line in text.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
        let marked = begins_with_element(line);
        begins.get_or_insert(marked);
        if marked {
            others += 1;
            continue;
        }
        let plain = lines::text(line, 0, line.len());
        let (breaks, ends) = breaks(line);
        if is_of_a_log(&plain) {
            prefixed += 1;
            is_last_without = breaks == 0;
            without += usize::from(breaks == 0);
            of_kernel += usize::from(breaks == 0 && further::is_marked(&plain));
            inner += usize::from(breaks > usize::from(ends));
        } else {
            others += 1;
            unmarked += usize::from(!ends);
            prompted |= transcript::is_prompt(&plain);
        }
    }
    if prefixed == 0 {
        return !prompted && (begins == Some(true) || 2 * unmarked <= others);
    }
    let without = without - usize::from(is_last_without);
    // Any client of a server can add lines of programs to a log, so that a share of all lines proves nothing.
    !prompted && of_kernel <= KERNEL_WITHOUT && 10 * without <= prefixed && 2 * inner >= prefixed
}

/// Whether a line has the prefix of a record of a log, in one of its forms.
fn is_of_a_log(plain: &str) -> bool {
    let line = prefix::strip(plain);
    is_record(plain)
        || line.at.is_some()
        || line.dated
        || line.is_message()
        || plain.trim_start().starts_with(['{', '"'])
}

/// Whether a line begins with an element, or with a bracket that is written as an entity.
pub(super) fn begins_with_element(line: &[u8]) -> bool {
    let quoted = |byte: &&u8| byte.is_ascii_whitespace() || **byte == b'>';
    let line = &line[line.iter().take_while(quoted).count()..];
    let is_document = || {
        let head = line[..line.len().min(9)].to_ascii_lowercase();
        head.starts_with(b"<!doctype") || head.starts_with(b"<?xml")
    };
    let is_bracket = || {
        let head = String::from_utf8_lossy(&line[..line.len().min(12)]);
        entity(&head).is_some_and(|(sign, _)| sign == '[')
    };
    match line.first() {
        Some(b'<') => tag(line).is_some() || is_document(),
        Some(b'&') => is_bracket(),
        _ => false,
    }
}

/// The number of elements of a line that end one, and whether the line ends with one.
fn breaks(line: &[u8]) -> (usize, bool) {
    let (mut count, mut ends) = (0, false);
    for at in memchr::memchr2_iter(b'<', b'&', line) {
        let Some(length) = line_end(&line[at..]) else { continue };
        count += 1;
        ends = is_end(&line[at + length..], true);
    }
    (count, ends)
}
