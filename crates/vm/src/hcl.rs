//! Settings in HCL, read into the same tree as manifests: a block is an entry under its type, and contains an entry for
//! each of its labels, so `resource "a" "b" {}` is the same as `{"resource": {"a": {"b": {}}}}` in JSON.
//!
//! Variables and locals of the file are replaced by their defaults; the values of other expressions are not known.

use crate::lint::LintError;
use crate::placed::UNKNOWN;
use crate::yaml::{Key, Node};
use hcl_edit::expr::{Expression, ObjectKey, Traversal, TraversalOperator};
use hcl_edit::structure::{Block, Body, Structure};
use hcl_edit::template::{Element, Template};
use hcl_edit::{Ident, Span};
use std::cell::Cell;
use std::collections::HashMap;
use std::ops::Range;

/// The most variables that refer to each other in sequence.
const DEEPEST: usize = 4;
/// The limit of nodes that replace variables: only lists that double each other reach it.
const MOST: usize = 100_000;

/// Reads a text.
pub(crate) fn parse(text: &str) -> Result<Node, LintError> {
    let body: Body = text.parse().map_err(|error: hcl_edit::parser::Error| {
        let at = error.location();
        LintError::at(at.line(), at.column(), format!("not valid HCL: {}", error.message()))
    })?;
    let mut reader = Reader { known: HashMap::new(), made: Cell::new(0) };
    for block in body.blocks() {
        match (block.ident.as_str(), block.labels.first()) {
            ("variable", Some(label)) => {
                if let Some(default) = block.body.get_attribute("default") {
                    reader.known.insert(("var", label.as_str().to_owned()), default.value.clone());
                }
            }
            ("locals", None) => {
                for local in block.body.attributes() {
                    reader
                        .known
                        .insert(("local", local.key.as_str().to_owned()), local.value.clone());
                }
            }
            _ => {}
        }
    }
    Ok(reader.body(&body))
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

struct Reader {
    /// The values of variables and locals.
    known: HashMap<(&'static str, String), Expression>,
    made: Cell<usize>,
}

fn range(node: &impl Span) -> Range<usize> {
    node.span().unwrap_or(0..0)
}

fn unknown(span: Range<usize>) -> Node {
    Node::Scalar { value: UNKNOWN.to_string(), span }
}

/// Returns a node with the place of the name that refers to it: nothing of it can be changed there.
fn moved(node: Node, span: &Range<usize>) -> Node {
    match node {
        Node::Scalar { value, .. } => Node::Scalar { value, span: span.clone() },
        Node::List { items } => {
            Node::List { items: items.into_iter().map(|item| moved(item, span)).collect() }
        }
        Node::Map { entries, .. } => Node::Map {
            entries: entries
                .into_iter()
                .map(|(key, node)| (Key { name: key.name, span: span.clone() }, moved(node, span)))
                .collect(),
            start: span.start,
        },
        Node::Alias => Node::Alias,
    }
}

impl Reader {
    fn body(&self, body: &Body) -> Node {
        let entries = body.iter().map(|structure| match structure {
            Structure::Attribute(attribute) => {
                let key =
                    Key { name: attribute.key.as_str().to_owned(), span: range(&attribute.key) };
                (key, self.expression(&attribute.value, 0))
            }
            Structure::Block(block) => self.block(block),
        });
        Node::Map { entries: entries.collect(), start: range(body).start }
    }

    fn block(&self, block: &Block) -> (Key, Node) {
        // `dynamic "cpu" { content {} }` generates blocks of its label.
        let dynamic = block.ident.as_str() == "dynamic" && block.labels.len() == 1;
        let content = block.body.get_blocks("content").next().filter(|_| dynamic);
        let mut node = self.body(content.map_or(&block.body, |content| &content.body));
        let span = range(&block.ident);
        let named = block.labels.iter().skip(usize::from(dynamic)).rev();
        for label in named {
            let key = Key { name: label.as_str().to_owned(), span: span.clone() };
            node = Node::Map { entries: vec![(key, node)], start: span.start };
        }
        let name =
            block.labels.first().filter(|_| dynamic).map_or(block.ident.as_str(), |it| it.as_str());
        (Key { name: name.to_owned(), span }, node)
    }

    fn expression(&self, expression: &Expression, depth: usize) -> Node {
        let span = range(expression);
        self.made.set(self.made.get() + 1);
        if self.made.get() > MOST {
            return unknown(span);
        }
        let scalar = |value: String| Node::Scalar { value, span: span.clone() };
        match expression {
            Expression::Null(_) => scalar(String::new()),
            Expression::Bool(value) => scalar(value.value().to_string()),
            Expression::Number(value) => scalar(value.value().to_string()),
            Expression::String(value) => {
                // A long text may be inserted in many places.
                let cost = if depth > 0 { value.value().len() / 64 } else { 0 };
                self.made.set(self.made.get() + cost);
                scalar(value.value().clone())
            }
            Expression::Array(array) => Node::List {
                items: array.iter().map(|item| self.expression(item, depth)).collect(),
            },
            Expression::Object(object) => {
                let entries = object.iter().map(|(key, value)| {
                    let name = match key {
                        ObjectKey::Ident(name) => name.as_str().to_owned(),
                        ObjectKey::Expression(name) => match self.expression(name, depth) {
                            Node::Scalar { value, .. } => value,
                            _ => UNKNOWN.to_string(),
                        },
                    };
                    (Key { name, span: range(key) }, self.expression(value.expr(), depth))
                });
                Node::Map { entries: entries.collect(), start: span.start }
            }
            Expression::StringTemplate(template) => self
                .template(template.iter(), depth)
                .map_or_else(|| unknown(span.clone()), |node| moved(node, &span)),
            Expression::HeredocTemplate(heredoc) => {
                let template: &Template = &heredoc.template;
                self.template(template.iter(), depth)
                    .map_or_else(|| unknown(span.clone()), |node| moved(node, &span))
            }
            Expression::Parenthesis(inner) => self.expression(inner.inner(), depth),
            Expression::Traversal(traversal) => self
                .variable(traversal, depth)
                .map_or_else(|| unknown(span.clone()), |node| moved(node, &span)),
            Expression::FuncCall(call) if call.name.name.as_str() == "concat" => {
                let parts = call.args.iter().flat_map(|part| match self.expression(part, depth) {
                    Node::List { items } => items,
                    other => vec![other],
                });
                Node::List { items: parts.collect() }
            }
            _ => unknown(span),
        }
    }

    fn template<'a>(
        &self,
        elements: impl Iterator<Item = &'a Element>,
        depth: usize,
    ) -> Option<Node> {
        let mut text = String::new();
        let elements: Vec<&Element> = elements.collect();
        for element in &elements {
            match element {
                Element::Literal(literal) => text.push_str(literal),
                Element::Interpolation(inside) => match self.expression(&inside.expr, depth) {
                    Node::Scalar { value, .. } => text.push_str(&value),
                    whole if elements.len() == 1 => return Some(whole),
                    _ => text.push(UNKNOWN),
                },
                Element::Directive(_) => text.push(UNKNOWN),
            }
            if text.len() > MOST {
                return None;
            }
        }
        Some(Node::Scalar { value: text, span: 0..0 })
    }

    /// Returns the value of `var.NAME` or `local.NAME`, as the file sets it.
    fn variable(&self, traversal: &Traversal, depth: usize) -> Option<Node> {
        let Expression::Variable(of) = &traversal.expr else { return None };
        let of = match of.as_str() {
            "var" => "var",
            "local" => "local",
            _ => return None,
        };
        let [operator] = traversal.operators.as_slice() else { return None };
        let TraversalOperator::GetAttr(name) = operator.value() else { return None };
        let name: &Ident = name;
        let value = self.known.get(&(of, name.as_str().to_owned())).filter(|_| depth < DEEPEST)?;
        Some(self.expression(value, depth + 1))
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
