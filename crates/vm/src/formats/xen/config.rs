//! The syntax of `xl.cfg`: `key = value` with strings, numbers and lists.
//!
//! Source: xl.cfg(5), and `tools/libs/util/libxlu_cfg_l.l` of Xen 4.20. Old files are Python; statements that are not
//! settings are skipped.

use crate::document::Document;
use std::collections::HashMap;
use std::ops::Range;

/// One setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Setting {
    pub(super) key: String,
    /// The strings and numbers of the value; a value that is not a list has one.
    pub(super) values: Vec<Value>,
    /// The whole of it.
    pub(super) span: Range<usize>,
}

/// A string or a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Value {
    pub(super) text: String,
    /// With its quotes.
    pub(super) span: Range<usize>,
    pub(super) quoted: bool,
}

impl Setting {
    /// The only value.
    pub(super) fn one(&self) -> Option<&Value> {
        match self.values.as_slice() {
            [value] => Some(value),
            _ => None,
        }
    }

    /// Returns the value in lower case.
    pub(super) fn text(&self) -> String {
        self.one().map(|value| value.text.trim().to_ascii_lowercase()).unwrap_or_default()
    }

    /// The value as a boolean, which is a number, or in newer versions a word.
    pub(super) fn on(&self) -> Option<bool> {
        match self.text().as_str() {
            "" => None,
            "0" | "false" | "no" | "off" => Some(false),
            _ => Some(true),
        }
    }
}

/// Reads the settings, in their order.
pub(super) fn read(document: &Document) -> Vec<Setting> {
    let text = document.text.as_str();
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let (setting, next) = statement(text, at);
        found.extend(setting);
        at = next.max(at + 1);
    }
    found
}

/// Returns the ranges where it is not certain which setting applies, with the reason: the file has a line that is not a
/// setting, so it may be a program, or a name occurs twice.
pub(super) fn doubts(text: &str) -> Vec<(Range<usize>, &'static str)> {
    let all = |why| vec![(0..text.len(), why)];
    if text.contains("\"\"\"") || text.contains("'''") {
        return all("a text spans several lines");
    }
    let mut at = 0;
    let mut places: HashMap<String, Vec<Range<usize>>> = HashMap::new();
    while at < text.len() {
        let (setting, next) = statement(text, at);
        let piece = text.get(at..next).unwrap_or_default();
        let piece = piece.trim_matches([' ', '\t', '\r', '\n', ';', '\u{feff}']);
        match setting {
            Some(setting) => places.entry(setting.key).or_default().push(setting.span),
            None if piece.is_empty() || piece.starts_with('#') => {}
            None => return all("a line of the file is not a setting, so it may be a program"),
        }
        at = next.max(at + 1);
    }
    let twice = places.into_values().filter(|places| places.len() > 1).flatten();
    twice.map(|span| (span, "the setting occurs twice")).collect()
}

/// Returns one statement from `at`, and where the next one begins.
fn statement(text: &str, at: usize) -> (Option<Setting>, usize) {
    let bytes = text.as_bytes();
    let skip_blank = |mut at: usize| {
        while bytes.get(at).is_some_and(|b| matches!(b, b' ' | b'\t' | b'\r')) {
            at += 1;
        }
        at
    };
    let line_end = |from: usize| {
        bytes.iter().skip(from).position(|b| *b == b'\n').map_or(bytes.len(), |n| from + n + 1)
    };
    // A byte order mark.
    let at = if at == 0 && text.starts_with('\u{feff}') { 3 } else { at };
    let start = skip_blank(at);
    match bytes.get(start) {
        None => return (None, bytes.len()),
        Some(b'\n' | b';') => return (None, start + 1),
        Some(b'#') => return (None, line_end(start)),
        _ => {}
    }
    let mut end = start;
    while bytes.get(end).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_') {
        end += 1;
    }
    let mut next = skip_blank(end);
    if bytes.get(next) == Some(&b'+') {
        next += 1;
    }
    if end == start || bytes.get(next) != Some(&b'=') {
        return (None, line_end(start));
    }
    let key = text.get(start..end).unwrap_or_default().to_ascii_lowercase();
    let mut values = Vec::new();
    let mut depth = 0_u32;
    let mut at = next + 1;
    let mut last = at;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' | b'\'' => {
                // A string ends on its line; otherwise it was never closed.
                let close = bytes
                    .iter()
                    .skip(at + 1)
                    .take_while(|b| **b != b'\n')
                    .position(|b| b == byte)
                    .map(|n| at + 1 + n);
                let Some(close) = close else { return (None, line_end(at)) };
                let inner = text.get(at + 1..close).unwrap_or_default().to_owned();
                values.push(Value { text: inner, span: at..close + 1, quoted: true });
                at = close + 1;
                last = at;
                continue;
            }
            b'[' => depth += 1,
            b']' => depth = depth.saturating_sub(1),
            b'#' => {
                at = line_end(at);
                if depth == 0 {
                    break;
                }
                continue;
            }
            b'\n' | b';' if depth == 0 => {
                at += 1;
                break;
            }
            // Every byte at which a word ends; otherwise the loop would not advance.
            byte if byte.is_ascii_whitespace() || matches!(byte, b',' | b';') => {
                at += 1;
                continue;
            }
            _ => {
                let from = at;
                while bytes.get(at).is_some_and(|b| {
                    !b.is_ascii_whitespace()
                        && !matches!(b, b',' | b']' | b'[' | b'#' | b';' | b'"' | b'\'')
                }) {
                    at += 1;
                }
                let word = text.get(from..at).unwrap_or_default().to_owned();
                values.push(Value { text: word, span: from..at, quoted: false });
                last = at;
                continue;
            }
        }
        at += 1;
        last = at;
    }
    (Some(Setting { key, values, span: start..last.max(end) }), at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::Kind;
    use crate::text::Text;
    use proptest::prelude::*;

    fn of(text: &str) -> Vec<Setting> {
        let document = Document {
            name: "x.cfg".to_owned(),
            text: Text::new(text.to_owned()),
            kind: Kind::Xen,
            guest: None,
            models: None,
        };
        read(&document)
    }

    #[test]
    fn settings_of_every_form() {
        let text = "# comment\nname = 'a#b' # c\nimport os\nvcpus=2;acpi=1\r\ndisk = [ 'x,y',\n # no\n  \"z\" ]\nextra += \"q\"\nbad = 'open\nlast=0x1";
        let all = of(text);
        let keys: Vec<_> = all.iter().map(|s| s.key.as_str()).collect();
        assert_eq!(keys, ["name", "vcpus", "acpi", "disk", "extra", "last"]);
        assert_eq!(all[0].text(), "a#b");
        assert_eq!(all[3].values.iter().map(|v| v.text.as_str()).collect::<Vec<_>>(), ["x,y", "z"]);
        assert_eq!(&text[all[3].span.clone()], "disk = [ 'x,y',\n # no\n  \"z\" ]");
        assert_eq!(all[2].on(), Some(true));
    }

    proptest! {
        #[test]
        fn any_text(text in "[a-c=\\[\\]'\"#,;\n\t\x0b\x0c\r ü+]{0,60}") {
            for setting in of(&text) {
                prop_assert!(text.get(setting.span.clone()).is_some());
                for value in setting.values {
                    prop_assert!(text.get(value.span).is_some());
                }
            }
        }
    }
}
