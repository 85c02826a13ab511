//! JSON with positions: `serde_json` says whether it is valid, and this says where each value stands.

use crate::document::Document;
use crate::lint::LintError;
use serde_json::Value;
use std::ops::Range;

/// A value that is no list and no object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Leaf {
    /// Keys and indexes from the root.
    pub(crate) path: Vec<String>,
    /// The bytes of the value, with its quotes.
    pub(crate) span: Range<usize>,
}

impl Leaf {
    /// Whether the path ends so.
    pub(crate) fn ends(&self, tail: &[&str]) -> bool {
        self.path.len() >= tail.len()
            && self.path.iter().rev().zip(tail.iter().rev()).all(|(a, b)| a == b)
    }
}

/// A document that was read.
pub(crate) struct Json<'a> {
    pub(crate) text: &'a str,
    pub(crate) value: Value,
    pub(crate) leaves: Vec<Leaf>,
}

impl Json<'_> {
    /// The leaf at a path.
    pub(crate) fn at(&self, path: &[&str]) -> Option<&Leaf> {
        self.leaves.iter().find(|leaf| leaf.path.len() == path.len() && leaf.ends(path))
    }

    /// The text of a leaf that is a string: what stands between its quotes, and where it begins.
    /// `None` where it has escapes, since its bytes are then not what it says.
    pub(crate) fn plain(&self, leaf: &Leaf) -> Option<(&str, usize)> {
        let raw = self.text.get(leaf.span.clone())?;
        let inner = raw.strip_prefix('"')?.strip_suffix('"')?;
        (!inner.contains('\\')).then_some((inner, leaf.span.start + 1))
    }
}

/// Reads a document.
///
/// # Errors
/// It is no JSON.
pub(crate) fn read(document: &Document) -> Result<Json<'_>, LintError> {
    let text = document.text.as_str();
    let start = text.len() - text.trim_start_matches('\u{feff}').len();
    let body = text.get(start..).unwrap_or_default();
    let value = serde_json::from_str(body).map_err(|error| LintError::Syntax {
        line: u32::try_from(error.line()).unwrap_or(u32::MAX).max(1),
        column: u32::try_from(error.column()).unwrap_or(u32::MAX).max(1),
        what: format!("not JSON: {error}"),
    })?;
    Ok(Json { text, value, leaves: leaves(text) })
}

/// Where the leaves of valid JSON stand.
fn leaves(text: &str) -> Vec<Leaf> {
    enum Level {
        List(usize),
        Object(Option<String>),
    }
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut levels: Vec<Level> = Vec::new();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let start = at;
        at += 1;
        match byte {
            b'{' => levels.push(Level::Object(None)),
            b'[' => levels.push(Level::List(0)),
            b'}' | b']' => drop(levels.pop()),
            b',' => match levels.last_mut() {
                Some(Level::List(index)) => *index += 1,
                Some(Level::Object(key)) => *key = None,
                None => {}
            },
            b':' | b' ' | b'\t' | b'\r' | b'\n' => {}
            _ => {
                if *byte == b'"' {
                    while let Some(byte) = bytes.get(at) {
                        at += if *byte == b'\\' { 2 } else { 1 };
                        if *byte == b'"' {
                            break;
                        }
                    }
                } else {
                    while bytes.get(at).is_some_and(|b| {
                        !matches!(b, b',' | b']' | b'}' | b'{' | b'[' | b':' | b'"')
                            && !b.is_ascii_whitespace()
                    }) {
                        at += 1;
                    }
                }
                let span = start..at.min(bytes.len());
                if let Some(Level::Object(key @ None)) = levels.last_mut() {
                    let raw = text.get(span).unwrap_or_default();
                    *key = Some(serde_json::from_str(raw).unwrap_or_else(|_| raw.to_owned()));
                    continue;
                }
                let path = levels
                    .iter()
                    .map(|level| match level {
                        Level::List(index) => index.to_string(),
                        Level::Object(key) => key.clone().unwrap_or_default(),
                    })
                    .collect();
                found.push(Leaf { path, span });
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn leaves_stand_where_they_say() {
        let text = r#"{"a": [1, {"b\"c": "x y"}], "d": true}"#;
        let leaves = leaves(text);
        let all: Vec<(String, &str)> =
            leaves.iter().map(|l| (l.path.join("/"), &text[l.span.clone()])).collect();
        let expected =
            [("a/0", "1"), ("a/1/b\"c", "\"x y\""), ("d", "true")].map(|(p, t)| (p.to_owned(), t));
        assert_eq!(all, expected);
    }

    proptest! {
        #[test]
        fn any_text(text in "[\\[\\]{}\",:a1 \\\\\n]{0,40}") {
            for leaf in leaves(&text) {
                prop_assert!(text.get(leaf.span).is_some());
            }
        }
    }
}
