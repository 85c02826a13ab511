//! JSON with positions: `serde_json` validates it, `jsonc-parser` finds the place of each value.

use crate::document::Document;
use crate::lint::LintError;
use crate::yaml::{Key, Node};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, ast, parse_to_ast};
use serde_json::Value;
use std::ops::Range;
use std::rc::Rc;

mod filled;

/// A value that is neither a list nor an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Leaf {
    /// Where it is in the document; `None` for the root.
    path: Option<Rc<Step>>,
    /// The bytes of the value, with its quotes.
    pub(crate) span: Range<usize>,
}

/// A key or an index, and its parent. Leaves of one object share the steps above it, so that deep documents and long
/// keys cost nothing.
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

    /// Returns whether the path has this end.
    pub(crate) fn ends(&self, tail: &[&str]) -> bool {
        let mut steps = self.steps();
        tail.iter().rev().all(|part| steps.next() == Some(part))
    }
}

/// Returns whether a text begins like JSON. A function of Nix (`{ pkgs, ... }:`) and a block of a shell also begin with a
/// brace.
pub(crate) fn begins(text: &str) -> bool {
    let begins = text.trim_start_matches('\u{feff}').trim_start();
    let Some(inside) = begins.strip_prefix('{') else {
        // The section of a unit also begins with a bracket.
        let value = begins.trim_start_matches('[').trim_start();
        let literal = ["true", "false", "null"].iter().any(|it| value.starts_with(it));
        return begins.starts_with('[')
            && (literal || !value.starts_with(|c: char| c.is_alphabetic()));
    };
    let inside = inside.trim_start();
    let name = |c: char| c.is_ascii_alphanumeric() || "_-'".contains(c);
    let behind = inside.trim_start_matches(name).trim_start();
    let code = inside.starts_with(|c: char| c.is_ascii_alphabetic()) && !behind.starts_with(':');
    !(code || inside.starts_with("..."))
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

    /// Returns the text between the quotes of a leaf that is a string, and where it begins. `None` if it has escapes,
    /// since its bytes then differ from its value.
    pub(crate) fn plain(&self, leaf: &Leaf) -> Option<(&str, usize)> {
        let raw = self.text.get(leaf.span.clone())?;
        let inner = raw.strip_prefix('"')?.strip_suffix('"')?;
        (!inner.contains('\\')).then_some((inner, leaf.span.start + 1))
    }
}

/// Describes the error in a text, without any part of the text (`xml.rs`): errors about values quote them.
fn kind(error: &serde_json::Error) -> String {
    if error.is_data() {
        "a value of a kind that was not expected".to_owned()
    } else {
        error.to_string()
    }
}

/// Reads a document.
///
/// # Errors
/// Returns an error if the document is not JSON.
pub(crate) fn read(document: &Document) -> Result<Json<'_>, LintError> {
    let text = document.text.as_str();
    let start = text.len() - text.trim_start_matches('\u{feff}').len();
    let body = text.get(start..).unwrap_or_default();
    let wrong = |error: &serde_json::Error| {
        LintError::at(error.line(), error.column(), format!("not JSON: {}", kind(error)))
    };
    match serde_json::from_str(body) {
        Ok(value) => Ok(Json { text, value, leaves: leaves(body, start) }),
        // The places in a template are those of what it generates.
        Err(error) => {
            let made = filled::filled(body).ok_or_else(|| wrong(&error))?;
            let value = serde_json::from_str(&made).map_err(|_| wrong(&error))?;
            Ok(Json { text, value, leaves: leaves(&made, start) })
        }
    }
}

/// Whether a text is JSON only after a template was filled in.
pub(crate) fn is_generated(text: &str) -> bool {
    let body = text.trim_start_matches('\u{feff}');
    begins(body)
        && serde_json::from_str::<serde::de::IgnoredAny>(body).is_err()
        && filled::filled(body).is_some()
}

/// Returns the places of the leaves of valid JSON, which begins at `base` in the document.
fn leaves(body: &str, base: usize) -> Vec<Leaf> {
    let mut found = Vec::new();
    let read = parse_to_ast(body, &CollectOptions::default(), &ParseOptions::default());
    if let Some(root) = read.ok().and_then(|read| read.value) {
        walk(&root, base, None, &mut found);
    }
    found
}

fn walk(value: &ast::Value<'_>, base: usize, path: Option<Rc<Step>>, found: &mut Vec<Leaf>) {
    let step = |name: String| Some(Rc::new(Step { name, within: path.clone() }));
    match value {
        ast::Value::Object(object) => {
            for property in &object.properties {
                walk(&property.value, base, step(property.name.as_str().to_owned()), found);
            }
        }
        ast::Value::Array(array) => {
            for (index, element) in array.elements.iter().enumerate() {
                walk(element, base, step(index.to_string()), found);
            }
        }
        leaf => {
            let range = leaf.range();
            found.push(Leaf { path, span: base + range.start..base + range.end });
        }
    }
}

/// Returns a document as the same kind of tree as a manifest's.
pub(crate) fn tree(document: &Document) -> Result<Node, LintError> {
    fn node(value: &ast::Value<'_>, base: usize) -> Node {
        let span = |range: jsonc_parser::common::Range| base + range.start..base + range.end;
        match value {
            ast::Value::Object(object) => Node::Map {
                entries: object
                    .properties
                    .iter()
                    .map(|property| {
                        let name = property.name.as_str().to_owned();
                        (
                            Key { name, span: span(property.name.range()) },
                            node(&property.value, base),
                        )
                    })
                    .collect(),
                start: base + object.range.start,
            },
            ast::Value::Array(array) => {
                Node::List { items: array.elements.iter().map(|item| node(item, base)).collect() }
            }
            ast::Value::StringLit(text) => {
                Node::Scalar { value: text.value.to_string(), span: span(text.range) }
            }
            ast::Value::NumberLit(number) => {
                Node::Scalar { value: number.value.to_owned(), span: span(number.range) }
            }
            ast::Value::BooleanLit(truth) => {
                Node::Scalar { value: truth.value.to_string(), span: span(truth.range) }
            }
            ast::Value::NullKeyword(null) => {
                Node::Scalar { value: String::new(), span: span(null.range) }
            }
        }
    }
    let json = read(document)?;
    let start = json.text.len() - json.text.trim_start_matches('\u{feff}').len();
    let body = json.text.get(start..).unwrap_or_default();
    let made = is_generated(body).then(|| filled::filled(body)).flatten();
    let body = made.as_deref().unwrap_or(body);
    let read = parse_to_ast(body, &CollectOptions::default(), &ParseOptions::default());
    let root = read.ok().and_then(|read| read.value);
    root.map(|root| node(&root, start)).ok_or_else(|| LintError::whole("not JSON"))
}

/// Returns the objects of a document with a duplicate key, including nested ones.
pub(crate) fn twice(text: &str) -> Vec<Range<usize>> {
    fn walk(value: &ast::Value<'_>, found: &mut Vec<Range<usize>>) {
        match value {
            ast::Value::Object(object) => {
                let mut keys = std::collections::HashSet::new();
                if !object.properties.iter().all(|property| keys.insert(property.name.as_str())) {
                    let range = object.range();
                    found.push(range.start..range.end);
                }
                object.properties.iter().for_each(|property| walk(&property.value, found));
            }
            ast::Value::Array(array) => {
                array.elements.iter().for_each(|element| walk(element, found))
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    let start = text.len() - text.trim_start_matches('\u{feff}').len();
    let body = text.get(start..).unwrap_or_default();
    let read = parse_to_ast(body, &CollectOptions::default(), &ParseOptions::default());
    if let Some(root) = read.ok().and_then(|read| read.value) {
        walk(&root, &mut found);
    }
    found.into_iter().map(|range| range.start + start..range.end + start).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn leaves_stand_where_they_say() {
        let text = r#"{"a": [1, {"b\"c": "x y"}], "d": true}"#;
        let leaves = leaves(text, 0);
        let all: Vec<(String, &str)> =
            leaves.iter().map(|l| (l.path().join("/"), &text[l.span.clone()])).collect();
        let expected =
            [("a/0", "1"), ("a/1/b\"c", "\"x y\""), ("d", "true")].map(|(p, t)| (p.to_owned(), t));
        assert_eq!(all, expected);
    }

    proptest! {
        #[test]
        fn any_text(text in "[\\[\\]{}\",:a1 \\\\\n]{0,40}") {
            for leaf in leaves(&text, 0) {
                prop_assert!(text.get(leaf.span).is_some());
            }
        }
    }
}
