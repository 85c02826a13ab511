//! External text, made visible: characters that a terminal acts on, or that are invisible, are shown by name.
//!
//! Names of processes, kernel logs and files of virtual machines come from other users. If they are printed unchanged,
//! an escape sequence in them moves the cursor or renames the window, and an override of direction makes one word look
//! like another. Every program of the project passes its output through [`terminal`] or [`json`], at the one place that
//! writes to a terminal. Pure, except for the number of [`Ink::of_run`].
//!
//! The characters: Unicode 16, `Default_Ignorable_Code_Point` (`DerivedCoreProperties.txt`), the categories Cc, Cf, Zl,
//! Zp and Co, controls of direction (`Bidi_Control`), non-characters, and characters that are drawn as nothing although
//! their category is a visible one: the empty Braille pattern, the null notehead, the Khitan filler, Egyptian blanks
//! with the controls of their block. Spaces of category Zs are ordinary text.

use std::borrow::Cow;
use std::fmt::Write;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::OnceLock;

/// The names of the C0 characters.
const C0: [&str; 32] = [
    "NUL", "SOH", "STX", "ETX", "EOT", "ENQ", "ACK", "BEL", "BS", "TAB", "LF", "VT", "FF", "CR",
    "SO", "SI", "DLE", "DC1", "DC2", "DC3", "DC4", "NAK", "SYN", "ETB", "CAN", "EM", "SUB", "ESC",
    "FS", "GS", "RS", "US",
];

/// Whether a character is invisible, or acts on its neighbours: control characters (also line ends
/// and tabs), controls of direction, characters without width, separators of lines and paragraphs,
/// variation selectors, tags, fillers, private use.
#[must_use]
pub fn hides(c: char) -> bool {
    matches!(
        c,
        '\0'..='\x1f'
            | '\x7f'..='\u{9f}'
            | '\u{ad}'
            | '\u{34f}'
            | '\u{600}'..='\u{605}'
            | '\u{61c}'
            | '\u{6dd}'
            | '\u{70f}'
            | '\u{890}'..='\u{891}'
            | '\u{8e2}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{2800}'
            | '\u{3164}'
            | '\u{e000}'..='\u{f8ff}'
            | '\u{fdd0}'..='\u{fdef}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffc}'
            | '\u{110bd}'
            | '\u{110cd}'
            | '\u{13430}'..='\u{1345f}'
            | '\u{16fe4}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d159}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
            | '\u{f0000}'..
    ) || u32::from(c) & 0xfffe == 0xfffe
}

/// Text of one or more lines: every hidden character is shown by name (`<ESC>`, `<U+202E>`), except line ends and tabs.
/// Ordinary text, of any script, is returned unchanged. So is text that was already made visible.
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    terminal(text, None)
}

/// Text of one line, or a part of one: line ends and tabs are also shown by name.
#[must_use]
pub fn line(text: &str) -> Cow<'_, str> {
    if !text.chars().any(hides) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if hides(c) { name(&mut out, c) } else { out.push(c) }
    }
    Cow::Owned(out)
}

/// Text for a terminal: as [`visible`], but the colours of this `ink` become sequences of the terminal. Any other
/// escape is shown by name.
#[must_use]
pub fn terminal(text: &str, ink: Option<Ink>) -> Cow<'_, str> {
    let named = |c: char| hides(c) && !matches!(c, '\n' | '\t');
    let Some(first) = text.find(named) else { return Cow::Borrowed(text) };
    let mut out = String::with_capacity(text.len() + 16);
    let (before, mut rest) = text.split_at(first);
    out.push_str(before);
    while let Some(c) = rest.chars().next() {
        if let Some((code, after)) = ink.and_then(|ink| ink.code(rest)) {
            let _ = write!(out, "\x1b[{code}m");
            rest = after;
            continue;
        }
        if named(c) {
            name(&mut out, c)
        } else {
            out.push(c)
        }
        rest = &rest[c.len_utf8()..];
    }
    Cow::Owned(out)
}

/// A JSON document with invisible characters written as `\uXXXX`: the values are the same. Line ends and tabs can only
/// be between values, and are kept.
#[must_use]
pub fn json(text: &str) -> Cow<'_, str> {
    let escaped = |c: char| hides(c) && !matches!(c, '\n' | '\t');
    let Some(first) = text.find(escaped) else { return Cow::Borrowed(text) };
    let (before, rest) = text.split_at(first);
    let mut out = String::with_capacity(text.len() + 16);
    out.push_str(before);
    for c in rest.chars() {
        if escaped(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

fn name(out: &mut String, c: char) {
    let code = u32::from(c);
    let _ = match C0.get(code as usize) {
        Some(name) => write!(out, "<{name}>"),
        None if c == '\x7f' => write!(out, "<DEL>"),
        None => write!(out, "<U+{code:04X}>"),
    };
}

/// The program's colours, distinguished from those in foreign text: each of their sequences begins with a number that
/// is drawn when the program starts. [`terminal`] removes the number; a sequence without it is text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Ink(u64);

impl std::fmt::Debug for Ink {
    // The number stays secret, even in a message.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Ink")
    }
}

impl Ink {
    /// Ink with this number, which no other program can know.
    #[must_use]
    pub const fn new(secret: u64) -> Self {
        Self(secret)
    }

    /// The ink of this run of the program: its number is random, so that no external text can be in the program's
    /// colours.
    #[must_use]
    pub fn of_run() -> Self {
        static INK: OnceLock<Ink> = OnceLock::new();
        // The keys of the standard library's hash tables are random in each process.
        *INK.get_or_init(|| Self::new(RandomState::new().build_hasher().finish()))
    }

    /// Text in a colour: `code` are the parameters of SGR (ECMA-48, 8.3.117), such as `1` or `31`.
    #[must_use]
    pub fn paint(self, code: &str, text: &str) -> String {
        let ink = self.0;
        format!("\x1b[{ink};{code}m{text}\x1b[{ink};0m")
    }

    /// Text that already has sequences of colour, and contains no external text: they become those of this ink.
    #[must_use]
    pub fn adopt(self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("\x1b[") {
            out.push_str(before);
            out.push_str("\x1b[");
            let _ = write!(out, "{};", self.0);
            rest = after;
        }
        out.push_str(rest);
        out
    }

    /// The parameters of a sequence of this ink at the beginning of a text, and what follows it.
    fn code(self, text: &str) -> Option<(&str, &str)> {
        let rest = text.strip_prefix("\x1b[")?;
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != ';')?;
        let after = rest.get(end..)?.strip_prefix('m')?;
        let (ink, code) = rest.get(..end)?.split_once(';')?;
        (ink.parse() == Ok(self.0)).then_some((code, after))
    }
}

/// Columns of a text on a terminal, one for each character: sequences of colour take none.
#[must_use]
pub fn width(text: &str) -> usize {
    let (mut columns, mut rest) = (0, text);
    while let Some((before, after)) = rest.split_once("\x1b[") {
        columns += before.chars().count();
        let parameters = after.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
        rest = match parameters.strip_prefix('m') {
            Some(behind) => behind,
            None => {
                columns += 2;
                after
            }
        };
    }
    columns + rest.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Ordinary text of many scripts, with tabs and line ends.
    const ORDINARY: &str = "Zürich 10 µs\t時計 часы ρολόι ساعة שעון घड़ी นาฬิกา ನಡೆ 시계 ⏱ 🕰 ±0.5 …\n\u{a0}\u{3000}é e\u{301}";

    #[test]
    fn what_hides_is_named() {
        assert_eq!(
            visible("evil\x1b]0;pwn\x07\r\u{9b}2J\x7f\0"),
            "evil<ESC>]0;pwn<BEL><CR><U+009B>2J<DEL><NUL>"
        );
        assert_eq!(
            visible("tsc\u{202e}elbatsnu\u{200b}\u{e0041}\u{fe0f}\u{2028}\u{e000}"),
            "tsc<U+202E>elbatsnu<U+200B><U+E0041><U+FE0F><U+2028><U+E000>"
        );
        assert_eq!(visible("a\u{fffc}b\u{fffd}"), "a<U+FFFC>b\u{fffd}");
        assert_eq!(line("a\nb\tc"), "a<LF>b<TAB>c");
    }

    #[test]
    fn blank_signs_and_every_control_of_format_are_named() {
        for (first, last) in [
            (0xad, 0xad),
            (0x600, 0x605),
            (0x115f, 0x1160),
            (0x17b4, 0x17b5),
            (0x180b, 0x180f),
            (0x2800, 0x2800),
            (0x3164, 0x3164),
            (0xfe00, 0xfe0f),
            (0xffa0, 0xffa0),
            (0x110bd, 0x110bd),
            (0x13430, 0x1345f),
            (0x16fe4, 0x16fe4),
            (0x1bca0, 0x1bca3),
            (0x1d159, 0x1d159),
            (0x1d173, 0x1d17a),
            (0xe0000, 0xe0fff),
        ] {
            for code in first..=last {
                let sign = char::from_u32(code).unwrap();
                assert_eq!(visible(&format!("a{sign}b")), format!("a<U+{code:04X}>b"));
            }
        }
    }

    #[test]
    fn ordinary_text_is_borrowed() {
        assert!(matches!(visible(ORDINARY), Cow::Borrowed(ORDINARY)));
        assert!(matches!(json(ORDINARY), Cow::Borrowed(ORDINARY)));
        assert!(matches!(line("時計"), Cow::Borrowed("時計")));
    }

    #[test]
    fn only_our_own_ink_colours() {
        let ink = Ink::new(77);
        let text = ink.paint("1", "bold \x1b[1m\x1b[78;31mother\x1b[77m");
        assert_eq!(
            terminal(&text, Some(ink)),
            "\x1b[1mbold <ESC>[1m<ESC>[78;31mother<ESC>[77m\x1b[0m"
        );
        assert!(!terminal(&text, None).contains('\x1b'));
        assert_eq!(terminal(&ink.adopt("\x1b[1mHelp\x1b[0m"), Some(ink)), "\x1b[1mHelp\x1b[0m");
        assert_eq!(width(&ink.paint("1;32", "時計")), 2);
        assert_eq!(width("\x1b[2Jab"), 6);
        assert!(!format!("{ink:?}").contains("77"));
    }

    proptest! {
        #[test]
        fn any_text_is_visible_once_and_for_all(any in any::<String>(), secret: u64) {
            let seen = visible(&any);
            prop_assert!(seen.chars().all(|c| matches!(c, '\n' | '\t') || !hides(c)));
            prop_assert!(seen.chars().all(|c| matches!(c, '\n' | '\t') || !c.is_control()));
            prop_assert_eq!(visible(&seen), seen.as_ref());
            prop_assert!(matches!(visible(&seen), Cow::Borrowed(_)));
            prop_assert!(!line(&any).contains(hides));
            // A text without the number has no colours.
            prop_assert_eq!(terminal(&any, Some(Ink::new(secret))), seen.as_ref());
        }

        #[test]
        fn no_sequence_passes_without_the_number(parts in proptest::collection::vec("(\x1b|\\[|;|m|[0-9]{1,4}|x)", 0..40)) {
            let text = parts.concat();
            prop_assert!(!terminal(&text, Some(Ink::new(u64::MAX))).contains('\x1b'));
        }

        #[test]
        fn json_keeps_its_values(any in any::<String>(), planes in proptest::collection::vec(any::<char>(), 0..8)) {
            let value = serde_json::json!({ "text": any, "more": planes.into_iter().collect::<String>(), "\u{9b}": "\u{e0041}" });
            let text = serde_json::to_string_pretty(&value).unwrap();
            let seen = json(&text);
            prop_assert!(seen.chars().all(|c| c == '\n' || !hides(c)));
            prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&seen).unwrap(), value);
        }
    }
}
