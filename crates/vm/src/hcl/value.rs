//! Values of HCL: what the expressions of a file are, as far as the file shows it.
//!
//! Source: the pages of Terraform's language (Expressions, Functions).

use super::{range, scalar, unknown};
use crate::placed::UNKNOWN;
use crate::yaml::{Key, Node};
use hcl_edit::expr::{
    BinaryOperator, Expression, ForExpr, FuncCall, ObjectKey, Traversal, TraversalOperator,
    UnaryOperator,
};
use hcl_edit::template::Element;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

/// The most variables that refer to each other in sequence.
const DEEPEST: usize = 6;
/// The limit of nodes that replace variables: only lists that double each other reach it.
const MOST: usize = 100_000;

/// A variable or a local.
type Name = (&'static str, String);

/// The values of the names of a file.
#[derive(Default)]
pub(super) struct Reader {
    /// The expressions of variables and locals.
    known: HashMap<Name, Expression>,
    /// Their values; of one that is being read, none.
    read: RefCell<HashMap<Name, Option<Rc<Node>>>>,
    depth: Cell<usize>,
    made: Cell<usize>,
}

/// A name that only a part of the file has: `each`, or the variable of a `for`.
pub(super) struct Scope<'a> {
    pub(super) name: &'a str,
    pub(super) node: &'a Node,
    pub(super) outer: Option<&'a Scope<'a>>,
}

impl Scope<'_> {
    fn find(&self, name: &str) -> Option<&Node> {
        if self.name == name { Some(self.node) } else { self.outer?.find(name) }
    }
}

/// Returns a node with the place of the name that refers to it: nothing of it can be changed there.
fn moved(node: &Node, span: &Range<usize>) -> Node {
    match node {
        Node::Scalar { value, .. } => scalar(value.clone(), span.clone()),
        Node::List { items } => {
            Node::List { items: items.iter().map(|item| moved(item, span)).collect() }
        }
        Node::Map { entries, .. } => Node::Map {
            entries: entries
                .iter()
                .map(|(key, node)| {
                    (Key { name: key.name.clone(), span: span.clone() }, moved(node, span))
                })
                .collect(),
            start: span.start,
        },
        Node::Alias => Node::Alias,
    }
}

/// The number of nodes, or a number above the limit.
fn count(node: &Node, limit: usize) -> usize {
    let mut sum = 1;
    let below: Vec<&Node> = match node {
        Node::Map { entries, .. } => entries.iter().map(|(_, node)| node).collect(),
        Node::List { items } => items.iter().collect(),
        // A long text may be inserted in many places.
        Node::Scalar { value, .. } => return 1 + value.len() / 64,
        Node::Alias => return 1,
    };
    for node in below {
        if sum > limit {
            break;
        }
        sum += count(node, limit - sum);
    }
    sum
}

/// The elements of a collection, each with its key: a list has numbers, but in a set each element is its own key.
pub(super) fn pairs(node: &Node) -> Option<Vec<(Node, Node)>> {
    match node {
        Node::Map { entries, .. } => Some(
            entries
                .iter()
                .map(|(key, value)| (scalar(key.name.clone(), key.span.clone()), value.clone()))
                .collect(),
        ),
        Node::List { items } => {
            Some(items.iter().map(|item| (item.clone(), item.clone())).collect())
        }
        Node::Scalar { .. } | Node::Alias => None,
    }
}

fn is_unknown(node: &Node) -> bool {
    match node {
        Node::Scalar { value, .. } => value.contains(UNKNOWN),
        Node::Alias => true,
        Node::Map { .. } | Node::List { .. } => false,
    }
}

/// Returns the entry of a map, or the element of a list.
fn child<'a>(node: &'a Node, name: &str) -> Option<&'a Node> {
    match node {
        Node::Map { .. } => node.entry(name).map(|(_, node)| node),
        Node::List { items } => items.get(name.parse::<usize>().ok()?),
        Node::Scalar { .. } | Node::Alias => None,
    }
}

impl Reader {
    /// Sets the value of a variable or of a local.
    pub(super) fn set(&mut self, of: &'static str, name: &str, value: Expression) {
        self.known.insert((of, name.to_owned()), value);
    }

    /// Counts nodes, and returns whether there may be more.
    fn may_make(&self, number: usize) -> bool {
        self.made.set(self.made.get().saturating_add(number));
        self.made.get() <= MOST
    }

    fn copy(&self, node: &Node, span: &Range<usize>) -> Node {
        let left = MOST.saturating_sub(self.made.get());
        if self.may_make(count(node, left)) { moved(node, span) } else { unknown(span.clone()) }
    }

    /// Returns the value of an expression; a part that is not known is [`UNKNOWN`].
    pub(super) fn expression(&self, expression: &Expression, scope: Option<&Scope<'_>>) -> Node {
        self.value(expression, scope).unwrap_or_else(|| unknown(range(expression)))
    }

    /// Returns the value of an expression; `None` if it refers to what a map or a list does not have.
    fn value(&self, expression: &Expression, scope: Option<&Scope<'_>>) -> Option<Node> {
        let span = range(expression);
        if !self.may_make(1) {
            return Some(unknown(span));
        }
        let of = |value: String| scalar(value, span.clone());
        Some(match expression {
            Expression::Null(_) => of(String::new()),
            Expression::Bool(value) => of(value.value().to_string()),
            Expression::Number(value) => of(value.value().to_string()),
            Expression::String(value) => of(value.value().clone()),
            Expression::Array(array) => Node::List {
                items: array.iter().map(|item| self.expression(item, scope)).collect(),
            },
            Expression::Object(object) => {
                let entries = object.iter().map(|(key, value)| {
                    let name = match key {
                        ObjectKey::Ident(name) => name.as_str().to_owned(),
                        ObjectKey::Expression(name) => self.text(name, scope),
                    };
                    (Key { name, span: range(key) }, self.expression(value.expr(), scope))
                });
                Node::Map { entries: entries.collect(), start: span.start }
            }
            Expression::StringTemplate(template) => self.template(template.iter(), &span, scope),
            Expression::HeredocTemplate(heredoc) => {
                self.template(heredoc.template.iter(), &span, scope)
            }
            Expression::Parenthesis(inner) => return self.value(inner.inner(), scope),
            Expression::Variable(name) => self.copy(scope?.find(name.as_str())?, &span),
            Expression::Traversal(traversal) => return self.traversal(traversal, &span, scope),
            Expression::FuncCall(call) => return self.call(call, &span, scope),
            Expression::Conditional(it) => match self.text(&it.cond_expr, scope).as_str() {
                "true" => return self.value(&it.true_expr, scope),
                "false" => return self.value(&it.false_expr, scope),
                _ => unknown(span),
            },
            Expression::UnaryOp(it) if *it.operator.value() == UnaryOperator::Not => {
                match self.text(&it.expr, scope).as_str() {
                    "true" => of("false".to_owned()),
                    "false" => of("true".to_owned()),
                    _ => unknown(span),
                }
            }
            Expression::BinaryOp(it) => {
                let sides = (self.text(&it.lhs_expr, scope), self.text(&it.rhs_expr, scope));
                let known = !sides.0.contains(UNKNOWN) && !sides.1.contains(UNKNOWN);
                let is = |word: &str| sides.0 == word || sides.1 == word;
                let both = |word: &str| sides.0 == word && sides.1 == word;
                match it.operator.value() {
                    BinaryOperator::Eq if known => of((sides.0 == sides.1).to_string()),
                    BinaryOperator::NotEq if known => of((sides.0 != sides.1).to_string()),
                    BinaryOperator::And if is("false") => of("false".to_owned()),
                    BinaryOperator::And if both("true") => of("true".to_owned()),
                    BinaryOperator::Or if is("true") => of("true".to_owned()),
                    BinaryOperator::Or if both("false") => of("false".to_owned()),
                    _ => unknown(span),
                }
            }
            Expression::ForExpr(it) => self.each(it, &span, scope),
            _ => unknown(span),
        })
    }

    /// Returns the text of a scalar; that of anything else is not known.
    fn text(&self, expression: &Expression, scope: Option<&Scope<'_>>) -> String {
        match self.expression(expression, scope) {
            Node::Scalar { value, .. } => value,
            _ => UNKNOWN.to_string(),
        }
    }

    fn template<'a>(
        &self,
        elements: impl Iterator<Item = &'a Element>,
        span: &Range<usize>,
        scope: Option<&Scope<'_>>,
    ) -> Node {
        let mut text = String::new();
        let elements: Vec<&Element> = elements.collect();
        for element in &elements {
            match element {
                Element::Literal(literal) => text.push_str(literal),
                Element::Interpolation(inside) => match self.expression(&inside.expr, scope) {
                    Node::Scalar { value, .. } => text.push_str(&value),
                    whole if elements.len() == 1 => return moved(&whole, span),
                    _ => text.push(UNKNOWN),
                },
                Element::Directive(_) => text.push(UNKNOWN),
            }
            if text.len() > MOST {
                return unknown(span.clone());
            }
        }
        scalar(text, span.clone())
    }

    /// Returns the value of `var.NAME`, `local.NAME`, `each.value.NAME` and of what is below.
    fn traversal(
        &self,
        traversal: &Traversal,
        span: &Range<usize>,
        scope: Option<&Scope<'_>>,
    ) -> Option<Node> {
        let mut operators = traversal.operators.iter().map(|operator| operator.value());
        let nothing = || Some(unknown(span.clone()));
        let global;
        let made;
        let mut node = match &traversal.expr {
            Expression::Variable(name) => match scope.and_then(|scope| scope.find(name.as_str())) {
                Some(node) => node,
                None => {
                    let of = match name.as_str() {
                        "var" => "var",
                        "local" => "local",
                        _ => return nothing(),
                    };
                    let Some(TraversalOperator::GetAttr(name)) = operators.next() else {
                        return nothing();
                    };
                    let Some(value) = self.global(of, name.as_str()) else { return nothing() };
                    global = value;
                    &global
                }
            },
            other => {
                made = self.expression(other, scope);
                &made
            }
        };
        for operator in operators {
            let name = match operator {
                TraversalOperator::GetAttr(name) => name.as_str().to_owned(),
                TraversalOperator::Index(index) => self.text(index, scope),
                TraversalOperator::LegacyIndex(index) => index.value().to_string(),
                TraversalOperator::AttrSplat(_) | TraversalOperator::FullSplat(_) => {
                    return nothing();
                }
            };
            if name.contains(UNKNOWN) || is_unknown(node) {
                return nothing();
            }
            node = child(node, &name)?;
        }
        Some(self.copy(node, span))
    }

    /// Returns the value of a variable or of a local; `None` if the file has none, or if it refers to itself.
    fn global(&self, of: &'static str, name: &str) -> Option<Rc<Node>> {
        let key = (of, name.to_owned());
        if let Some(read) = self.read.borrow().get(&key) {
            return read.clone();
        }
        let expression = self.known.get(&key).filter(|_| self.depth.get() < DEEPEST)?;
        self.read.borrow_mut().insert(key.clone(), None);
        self.depth.set(self.depth.get() + 1);
        let node = Rc::new(self.expression(expression, None));
        self.depth.set(self.depth.get() - 1);
        self.read.borrow_mut().insert(key, Some(node.clone()));
        Some(node)
    }

    /// Returns the value of a function's call.
    fn call(
        &self,
        call: &FuncCall,
        span: &Range<usize>,
        scope: Option<&Scope<'_>>,
    ) -> Option<Node> {
        let all = || call.args.iter().map(|argument| self.expression(argument, scope));
        let first = || call.args.get(0).map(|argument| self.expression(argument, scope));
        let name = if call.name.is_namespaced() { "" } else { call.name.name.as_str() };
        let nothing = || Some(unknown(span.clone()));
        match name {
            "toset" | "tolist" | "tomap" | "tostring" | "tonumber" | "tobool" | "sensitive"
            | "nonsensitive" => self.value(call.args.get(0)?, scope),
            "concat" => {
                let parts = all().flat_map(|part| match part {
                    Node::List { items } => items,
                    other => vec![other],
                });
                Some(Node::List { items: parts.collect() })
            }
            "merge" => {
                let mut entries: Vec<(Key, Node)> = Vec::new();
                for part in all() {
                    let Node::Map { entries: more, .. } = part else { return nothing() };
                    for (key, node) in more {
                        entries.retain(|(known, _)| known.name != key.name);
                        entries.push((key, node));
                    }
                }
                Some(Node::Map { entries, start: span.start })
            }
            "lookup" => {
                let (map, name) = (first()?, self.text(call.args.get(1)?, scope));
                if is_unknown(&map) || name.contains(UNKNOWN) {
                    return nothing();
                }
                match (child(&map, &name), call.args.get(2)) {
                    (Some(node), _) => Some(self.copy(node, span)),
                    (None, Some(default)) => self.value(default, scope),
                    (None, None) => None,
                }
            }
            "try" => call.args.iter().find_map(|argument| self.value(argument, scope)),
            "coalesce" => {
                let given = |node: &Node| node.scalar().is_none_or(|(value, _)| !value.is_empty());
                all().find(given)
            }
            "join" => {
                let separator = call.args.get(0).map(|it| self.text(it, scope))?;
                let Some(Node::List { items }) =
                    call.args.get(1).map(|argument| self.expression(argument, scope))
                else {
                    return nothing();
                };
                let unknown = UNKNOWN.to_string();
                let words = items.iter().map(|it| it.scalar().map_or(&*unknown, |(text, _)| text));
                let text = words.collect::<Vec<_>>().join(&separator);
                (text.len() <= MOST).then(|| scalar(text, span.clone())).or_else(nothing)
            }
            _ => nothing(),
        }
    }

    /// Returns the value of a `for`: an object, or a list.
    fn each(&self, it: &ForExpr, span: &Range<usize>, scope: Option<&Scope<'_>>) -> Node {
        let collection = self.expression(&it.intro.collection_expr, scope);
        let Some(all) = pairs(&collection).filter(|_| !it.grouping) else {
            return unknown(span.clone());
        };
        let is_list = matches!(collection, Node::List { .. });
        let key_name = it.intro.key_var.as_ref().map_or("", |name| name.as_str());
        let mut entries = Vec::new();
        let mut items = Vec::new();
        for (n, (key, value)) in all.into_iter().enumerate() {
            let key = if is_list { scalar(n.to_string(), span.clone()) } else { key };
            let outer = Scope { name: key_name, node: &key, outer: scope };
            let inner =
                Scope { name: it.intro.value_var.as_str(), node: &value, outer: Some(&outer) };
            let inner = Some(&inner);
            match it.cond.as_ref().map(|cond| self.text(&cond.expr, inner)).as_deref() {
                None | Some("true") => {}
                Some("false") => continue,
                Some(_) => return unknown(span.clone()),
            }
            let value = self.expression(&it.value_expr, inner);
            match &it.key_expr {
                Some(key) => {
                    let name = self.text(key, inner);
                    entries.push((Key { name, span: span.clone() }, value));
                }
                None => items.push(value),
            }
        }
        match it.key_expr {
            Some(_) => Node::Map { entries, start: span.start },
            None => Node::List { items },
        }
    }
}
