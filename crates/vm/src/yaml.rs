//! YAML as a tree whose every part knows where it stands: the only reader of YAML here.

use crate::lint::LintError;
use granit_parser::{Event, Parser};
use std::collections::HashSet;
use std::ops::Range;

/// Deeper nesting is no manifest.
const DEEPEST: usize = 100;

/// A node.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    Scalar {
        value: String,
        span: Range<usize>,
    },
    Map {
        entries: Vec<(Key, Node)>,
        start: usize,
    },
    List {
        items: Vec<Node>,
    },
    /// An alias: what it stands for is elsewhere.
    Alias,
}

/// A key.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub(crate) name: String,
    pub(crate) span: Range<usize>,
}

impl Node {
    /// The node below keys.
    pub(crate) fn at(&self, path: &[&str]) -> Option<&Node> {
        let mut node = self;
        for name in path {
            node = node.entry(name)?.1;
        }
        Some(node)
    }

    /// An entry of a map.
    pub(crate) fn entry(&self, name: &str) -> Option<(&Key, &Node)> {
        match self {
            Node::Map { entries, .. } => {
                entries.iter().find(|(key, _)| key.name == name).map(|(key, node)| (key, node))
            }
            _ => None,
        }
    }

    /// A scalar and its place.
    pub(crate) fn scalar(&self) -> Option<(&str, &Range<usize>)> {
        match self {
            Node::Scalar { value, span } => Some((value, span)),
            _ => None,
        }
    }

    /// The value of `true` and `false`.
    pub(crate) fn truth(&self) -> Option<bool> {
        match self.scalar()?.0 {
            // Kubernetes reads YAML 1.1.
            "true" | "True" | "TRUE" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => Some(true),
            "false" | "False" | "FALSE" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => Some(false),
            _ => None,
        }
    }

    /// The items of a list.
    pub(crate) fn items(&self) -> &[Node] {
        match self {
            Node::List { items } => items,
            _ => &[],
        }
    }

    /// Calls with every map, outermost first, until one is taken.
    pub(crate) fn find<'a>(&'a self, take: &mut dyn FnMut(&'a Node) -> bool) {
        match self {
            Node::Map { entries, .. } if !take(self) => {
                entries.iter().for_each(|(_, node)| node.find(take));
            }
            Node::List { items } => items.iter().for_each(|item| item.find(take)),
            _ => {}
        }
    }
}

/// The documents of a text.
pub(crate) fn parse(text: &str) -> Result<Vec<Node>, LintError> {
    let mut parser = Parser::new_from_str(text);
    let mut documents = Vec::new();
    let mut stack: Vec<(Node, Option<Key>)> = Vec::new();
    while let Some(event) = parser.next_event() {
        let (event, span) = event.map_err(|error| {
            let at = error.marker();
            LintError::at(at.line(), at.col() + 1, format!("no valid YAML: {}", error.info()))
        })?;
        let range = span.byte_range().unwrap_or(0..0);
        let done = match event {
            Event::MappingStart(..) | Event::SequenceStart(..) if stack.len() >= DEEPEST => {
                let what = format!("more than {DEEPEST} levels within each other");
                return Err(LintError::at(span.start.line(), span.start.col() + 1, what));
            }
            Event::MappingStart(..) => {
                stack.push((Node::Map { entries: Vec::new(), start: range.start }, None));
                None
            }
            Event::SequenceStart(..) => {
                stack.push((Node::List { items: Vec::new() }, None));
                None
            }
            Event::MappingEnd | Event::SequenceEnd => stack.pop().map(|(node, _)| node),
            Event::Scalar(value, ..) => {
                Some(Node::Scalar { value: value.into_owned(), span: range })
            }
            Event::Alias(..) => Some(Node::Alias),
            _ => None,
        };
        let Some(node) = done else {
            continue;
        };
        match stack.last_mut() {
            None => documents.push(node),
            Some((Node::List { items }, _)) => items.push(node),
            Some((Node::Map { entries, .. }, key)) => match key.take() {
                Some(key) => entries.push((key, node)),
                None => {
                    let (name, span) = match node {
                        Node::Scalar { value, span } => (value, span),
                        _ => (String::new(), 0..0),
                    };
                    *key = Some(Key { name, span });
                }
            },
            Some(_) => {}
        }
    }
    Ok(documents)
}

/// Where the scalars of a text stand, in order, and how far it is valid.
pub(crate) fn scalars(text: &str) -> (Vec<Range<usize>>, usize) {
    let mut parser = Parser::new_from_str(text);
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut read = 0;
    while let Some(event) = parser.next_event() {
        let Ok((event, span)) = event else { return (found, read) };
        let range = span.byte_range().unwrap_or(0..0);
        read = read.max(range.end);
        if matches!(event, Event::Scalar(..)) {
            found.push(range);
        }
    }
    (found, text.len())
}

/// A part of a text in which a change would not be certain to change one value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shared {
    /// All of it.
    pub(crate) span: Range<usize>,
    /// Why.
    pub(crate) what: &'static str,
}

/// Values that stand in several places at once (anchors), maps that get entries from elsewhere (`<<`) or have a key
/// twice, and values whose type a tag says.
pub(crate) fn shared(text: &str) -> Vec<Shared> {
    struct Open {
        start: usize,
        anchor: bool,
        map: bool,
        keys: HashSet<String>,
        key: bool,
        twice: bool,
        merged: bool,
    }
    let mut out = Vec::new();
    let mut stack: Vec<Open> = Vec::new();
    let mut parser = Parser::new_from_str(text);
    while let Some(Ok((event, span))) = parser.next_event() {
        let range = span.byte_range().unwrap_or(0..0);
        let map = matches!(event, Event::MappingStart(..));
        match event {
            Event::MappingStart(_, anchor, _) | Event::SequenceStart(_, anchor, _) => {
                let (keys, anchor) = (HashSet::new(), anchor > 0);
                let start = range.start;
                stack.push(Open {
                    start,
                    anchor,
                    map,
                    keys,
                    key: true,
                    twice: false,
                    merged: false,
                });
                continue;
            }
            Event::MappingEnd | Event::SequenceEnd => {
                if let Some(done) = stack.pop() {
                    let span = done.start..range.end.max(done.start);
                    for (is, what) in [
                        (
                            done.anchor,
                            "it is below an anchor (&), so other places have the same value",
                        ),
                        (done.twice, "a key is there twice"),
                        (done.merged, "entries are merged into it (<<)"),
                    ] {
                        if is {
                            out.push(Shared { span: span.clone(), what });
                        }
                    }
                }
            }
            Event::Scalar(value, _, anchor, tag) => {
                if anchor > 0 {
                    let what = "it has an anchor (&), so other places have the same value";
                    out.push(Shared { span: range.clone(), what });
                }
                if tag.is_some() {
                    out.push(Shared { span: range, what: "a tag (!) says what it is" });
                }
                if let Some(open) = stack.last_mut().filter(|open| open.map && open.key) {
                    open.merged |= value == "<<";
                    open.twice |= !open.keys.insert(value.into_owned());
                }
            }
            Event::Alias(..) | Event::UnresolvedAlias(..) => {}
            _ => continue,
        }
        // A node of a map is a key, then a value.
        if let Some(open) = stack.last_mut() {
            open.key = !open.key;
        }
    }
    out
}
