//! JSON with positions: `serde_json` says whether it is valid, and this says where each value stands.

use crate::document::Document;
use crate::lint::LintError;
use serde_json::Value;
use std::ops::Range;
use std::rc::Rc;

/// A value that is no list and no object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Leaf {
    /// Where it is in the document; `None` for the root.
    path: Option<Rc<Step>>,
    /// The bytes of the value, with its quotes.
    pub(crate) span: Range<usize>,
}

/// A key or an index, and what it is within. Leaves of one object share what is above it, so that deep
/// documents and long keys cost nothing.
#[derive(Debug, PartialEq, Eq)]
struct Step {
    name: String,
    within: Option<Rc<Step>>,
}

impl Leaf {
    /// Keys and indexes, the root's last.
    fn steps(&self) -> impl Iterator<Item = &str> {
        std::iter::successors(self.path.as_deref(), |step| step.within.as_deref())
            .map(|step| step.name.as_str())
    }

    /// Keys and indexes from the root.
    pub(crate) fn path(&self) -> Vec<&str> {
        let mut path: Vec<&str> = self.steps().collect();
        path.reverse();
        path
    }

    /// Whether the path ends so.
    pub(crate) fn ends(&self, tail: &[&str]) -> bool {
        let mut steps = self.steps();
        tail.iter().rev().all(|part| steps.next() == Some(part))
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
        self.leaves.iter().find(|leaf| leaf.ends(path) && leaf.steps().count() == path.len())
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
    /// The list or object that is open, where it is itself, and the step to what comes next in it.
    struct Level {
        within: Option<Rc<Step>>,
        /// The index in a list; `None` in an object.
        index: Option<usize>,
        next: Option<Rc<Step>>,
    }
    let step = |within: &Option<Rc<Step>>, name: String| {
        Some(Rc::new(Step { name, within: within.clone() }))
    };
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut levels: Vec<Level> = Vec::new();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let start = at;
        at += 1;
        match byte {
            b'{' | b'[' => {
                let within = levels.last().and_then(|level| level.next.clone());
                let index = (*byte == b'[').then_some(0);
                let next = index.and_then(|_| step(&within, "0".to_owned()));
                levels.push(Level { within, index, next });
            }
            b'}' | b']' => drop(levels.pop()),
            b',' => {
                if let Some(level) = levels.last_mut() {
                    level.index = level.index.map(|index| index + 1);
                    level.next =
                        level.index.and_then(|index| step(&level.within, index.to_string()));
                }
            }
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
                if let Some(level @ Level { index: None, next: None, .. }) = levels.last_mut() {
                    let raw = text.get(span).unwrap_or_default();
                    let key = serde_json::from_str(raw).unwrap_or_else(|_| raw.to_owned());
                    level.next = step(&level.within, key);
                    continue;
                }
                let path = levels.last().and_then(|level| level.next.clone());
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
            leaves.iter().map(|l| (l.path().join("/"), &text[l.span.clone()])).collect();
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
