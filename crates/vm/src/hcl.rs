//! Settings in HCL, read into the same tree as manifests: a block is an entry under its type, and contains an entry for
//! each of its labels, so `resource "a" "b" {}` is the same as `{"resource": {"a": {"b": {}}}}` in JSON.
//!
//! Variables and locals of the file are replaced by their defaults, and a block with `for_each` is there once for each
//! element; the values of other expressions are not known.

mod filled;
mod value;

use crate::lint::LintError;
use crate::placed::UNKNOWN;
use crate::yaml::{Key, Node};
use hcl_edit::Span;
use hcl_edit::structure::{Block, Body, Structure};
use std::ops::Range;
use value::{Reader, Scope, pairs};

/// The limit of elements of a `for_each` whose blocks are read.
const MOST_BLOCKS: usize = 256;

/// Reads a text.
pub(crate) fn parse(text: &str) -> Result<Node, LintError> {
    let body: Body = text.parse().or_else(|error: hcl_edit::parser::Error| {
        let filled = filled::filled(text).and_then(|text| text.parse().ok());
        let at = error.location();
        let message = || format!("not valid HCL: {}", error.message());
        filled.ok_or_else(|| LintError::at(at.line(), at.column(), message()))
    })?;
    let mut reader = Reader::default();
    for block in body.blocks() {
        match (block.ident.as_str(), block.labels.first()) {
            ("variable", Some(label)) => {
                if let Some(default) = block.body.get_attribute("default") {
                    reader.set("var", label.as_str(), default.value.clone());
                }
            }
            ("locals", None) => {
                for local in block.body.attributes() {
                    reader.set("local", local.key.as_str(), local.value.clone());
                }
            }
            _ => {}
        }
    }
    Ok(reader.body(&body, None))
}

/// Returns the first label of a block, from the text after the block's type. A label may be without
/// quotes; then only the brace distinguishes the block from other languages' commands.
pub(crate) fn first_label(text: &str) -> Option<&str> {
    let text = text.trim_start();
    match text.strip_prefix('"') {
        Some(quoted) => quoted.split_once('"').map(|(label, _)| label),
        None => text.split([' ', '\t', '{', '"']).next().filter(|_| text.contains('{')),
    }
}

fn range(node: &impl Span) -> Range<usize> {
    node.span().unwrap_or(0..0)
}

fn scalar(value: impl Into<String>, span: Range<usize>) -> Node {
    Node::Scalar { value: value.into(), span }
}

fn unknown(span: Range<usize>) -> Node {
    scalar(UNKNOWN, span)
}

impl Reader {
    fn body(&self, body: &Body, scope: Option<&Scope<'_>>) -> Node {
        let entries = body.iter().map(|structure| match structure {
            Structure::Attribute(attribute) => {
                let key =
                    Key { name: attribute.key.as_str().to_owned(), span: range(&attribute.key) };
                (key, self.expression(&attribute.value, scope))
            }
            Structure::Block(block) => self.block(block, scope),
        });
        Node::Map { entries: entries.collect(), start: range(body).start }
    }

    fn block(&self, block: &Block, scope: Option<&Scope<'_>>) -> (Key, Node) {
        // `dynamic "cpu" { content {} }` generates blocks of its label.
        let dynamic = block.ident.as_str() == "dynamic" && block.labels.len() == 1;
        let content = block.body.get_blocks("content").next().filter(|_| dynamic);
        let body = content.map_or(&block.body, |content| &content.body);
        let label = block.labels.first().map(|label| label.as_str()).filter(|_| dynamic);
        let iterator = block.body.get_attribute("iterator").filter(|_| dynamic);
        let iterator = iterator.map(|it| it.value.to_string().trim().to_owned());
        let name = iterator.as_deref().or(label).unwrap_or("each");
        let mut node = match self.elements(block, scope) {
            // A resource that a default switches off is judged nevertheless.
            Some(elements) if dynamic || !elements.is_empty() => {
                let bodies = elements.iter().map(|element| {
                    let scope = Scope { name, node: element, outer: scope };
                    self.body(body, Some(&scope))
                });
                Node::List { items: bodies.collect() }
            }
            _ => self.body(body, scope),
        };
        let span = range(&block.ident);
        let named = block.labels.iter().skip(usize::from(dynamic)).rev();
        for label in named {
            let key = Key { name: label.as_str().to_owned(), span: span.clone() };
            node = Node::Map { entries: vec![(key, node)], start: span.start };
        }
        (Key { name: label.unwrap_or(block.ident.as_str()).to_owned(), span }, node)
    }

    /// Returns what `each`, or the name of a dynamic block, is for the elements of `for_each`; `None` without it, or
    /// if the elements are not known.
    fn elements(&self, block: &Block, scope: Option<&Scope<'_>>) -> Option<Vec<Node>> {
        let attribute = block.body.get_attribute("for_each")?;
        let span = range(attribute);
        let all = pairs(&self.expression(&attribute.value, scope))?;
        let element = |(key, value): (Node, Node)| {
            let entry =
                |name: &str, node: Node| (Key { name: name.to_owned(), span: span.clone() }, node);
            Node::Map { entries: vec![entry("key", key), entry("value", value)], start: span.start }
        };
        Some(all.into_iter().take(MOST_BLOCKS).map(element).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn first_label_may_stand_without_quotes() {
        for (text, label) in [
            (" \"qemu\" \"a\" {", Some("qemu")),
            (" qemu a {", Some("qemu")),
            (" qemu \"a\" {", Some("qemu")),
            ("\tqemu{", Some("qemu")),
            (" qemu", None),
            (" = \"qemu\"", None),
            ("", None),
        ] {
            assert_eq!(first_label(text), label, "{text}");
        }
    }

    #[test]
    fn parse_a_block_is_what_the_same_in_json_is() {
        let text = "variable \"cpu\" {\n  default = \"host\"\n}\nlocals {\n  both = [var.cpu, \"b\"]\n}\nresource \"r\" \"n\" {\n  cpu { mode = \"x\" }\n  a = var.cpu\n  b = \"${var.cpu},+invtsc\"\n  c = file(\"x\")\n  d = local.both\n  e = concat(local.both, [1])\n}\n";
        let node = parse(text).unwrap();
        let at = |path: &[&str]| node.at(&[&["resource", "r", "n"], path].concat()).cloned();
        let scalar =
            |path: &[&str]| at(path).unwrap().scalar().map(|(value, _)| value.to_owned()).unwrap();
        assert_eq!(scalar(&["cpu", "mode"]), "x");
        assert_eq!(scalar(&["a"]), "host");
        assert_eq!(scalar(&["b"]), "host,+invtsc");
        assert_eq!(scalar(&["c"]), UNKNOWN.to_string());
        assert_eq!(at(&["d"]).unwrap().items().len(), 2);
        assert_eq!(at(&["e"]).unwrap().items().len(), 3);
        let span = at(&["cpu", "mode"]).unwrap().scalar().unwrap().1.clone();
        assert_eq!(&text[span], "\"x\"");
    }

    #[test]
    fn parse_what_doubles_itself_or_is_deep_comes_to_an_end() {
        let mut text = String::from("locals {\n  a0 = [1, 1]\n");
        for n in 1..40 {
            text.push_str(&format!("  a{n} = [local.a{0}, local.a{0}, local.a{n}]\n", n - 1));
        }
        text.push_str("}\nx = local.a39\n");
        assert!(parse(&text).is_ok());
        for deep in ["[", "(", "{a=", "!", "-", "a ? b : ", "a[", "f("] {
            let _ = parse(&format!("x = {}", deep.repeat(20_000)));
        }
        let _ = parse(&"a {".repeat(20_000));
        let _ = parse(&format!("x = \"{}", "${\"".repeat(20_000)));
    }

    proptest! {
        #[test]
        fn parse_any_text_is_a_tree_or_an_error(text in "[a-c={}\\[\\]\"$.,\n ()?:1]{0,60}") {
            let _ = parse(&text);
        }
    }
}
