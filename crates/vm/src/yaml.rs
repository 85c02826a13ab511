//! YAML as a tree in which every part has its place: the only reader of YAML here.

mod source;

use crate::lint::LintError;
use granit_parser::{Event, Parser};
use source::{Source, complains};
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// The limit of nesting; a manifest is not deeper.
const DEEPEST: usize = 100;
/// The limit of nodes that anchors save and aliases copy: each alias of an alias may multiply them.
const MOST_COPIED: usize = 100_000;

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
    /// An alias that is not followed: it is inside its own anchor, or too many nodes would be copied.
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

    /// Returns an entry of a map. Of duplicate keys the last one applies, as for `kubectl`.
    pub(crate) fn entry(&self, name: &str) -> Option<(&Key, &Node)> {
        match self {
            Node::Map { entries, .. } => {
                entries.iter().rfind(|(key, _)| key.name == name).map(|(key, node)| (key, node))
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

    /// Calls `take` with every map, outermost first; does not go below one for which it returns true.
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

/// Counts the nodes of a part, up to [`MOST_COPIED`], and returns its number of levels.
fn measure(node: &Node, number: &mut usize) -> usize {
    if *number > MOST_COPIED {
        return 0;
    }
    *number += 1;
    let below = match node {
        Node::Map { entries, .. } => entries.iter().map(|(_, node)| measure(node, number)).max(),
        Node::List { items } => items.iter().map(|node| measure(node, number)).max(),
        Node::Scalar { .. } | Node::Alias => None,
    };
    below.unwrap_or(0) + 1
}

/// Replaces `<<` by its entries, except for keys that the map has.
fn merge(entries: &mut Vec<(Key, Node)>) {
    let is_merged = |key: &Key, node: &Node| {
        key.name == "<<" && matches!(node, Node::Map { .. } | Node::List { .. })
    };
    if !entries.iter().any(|(key, node)| is_merged(key, node)) {
        return;
    }
    let (merged, mut kept): (Vec<_>, Vec<_>) =
        std::mem::take(entries).into_iter().partition(|(key, node)| is_merged(key, node));
    let mut known: HashSet<String> = kept.iter().map(|(key, _)| key.name.clone()).collect();
    let maps = merged.into_iter().flat_map(|(_, node)| match node {
        Node::List { items } => items,
        other => vec![other],
    });
    for map in maps {
        let Node::Map { entries, .. } = map else { continue };
        kept.extend(entries.into_iter().filter(|(key, _)| known.insert(key.name.clone())));
    }
    *entries = kept;
}

/// Returns the documents of a text. An alias is replaced by its anchor's node, with the place of the anchor.
pub(crate) fn parse(text: &str) -> Result<Vec<Node>, LintError> {
    let strict = read(&Source::strict(text));
    let LintError::Syntax { what, .. } = match &strict {
        Ok(_) => return strict,
        Err(error) => error,
    };
    // Errors refer to the original text.
    let padded = if complains(what) { Source::padded(text) } else { None };
    padded.and_then(|source| read(&source).ok()).map_or(strict, Ok)
}

fn read(source: &Source<'_>) -> Result<Vec<Node>, LintError> {
    let mut parser = Parser::new_from_str(&source.text);
    let mut documents = Vec::new();
    let mut stack: Vec<(Node, Option<Key>, usize)> = Vec::new();
    let mut anchors: HashMap<usize, Node> = HashMap::new();
    let mut copied = 0;
    while let Some(event) = parser.next_event() {
        let (event, span) = event.map_err(|error| {
            let at = error.marker();
            LintError::at(at.line(), at.col() + 1, format!("not valid YAML: {}", error.info()))
        })?;
        let range = source.range(span.byte_range());
        let mut named = 0;
        let done = match event {
            Event::MappingStart(..) | Event::SequenceStart(..) if stack.len() >= DEEPEST => {
                let what = format!("more than {DEEPEST} nested levels");
                return Err(LintError::at(span.start.line(), span.start.col() + 1, what));
            }
            Event::MappingStart(_, anchor, _) => {
                stack.push((Node::Map { entries: Vec::new(), start: range.start }, None, anchor));
                None
            }
            Event::SequenceStart(_, anchor, _) => {
                stack.push((Node::List { items: Vec::new() }, None, anchor));
                None
            }
            Event::MappingEnd | Event::SequenceEnd => stack.pop().map(|(mut node, _, anchor)| {
                named = anchor;
                if let Node::Map { entries, .. } = &mut node {
                    merge(entries);
                }
                node
            }),
            Event::Scalar(value, _, anchor, _) => {
                named = anchor;
                Some(Node::Scalar { value: value.into_owned(), span: range })
            }
            Event::Alias(anchor, ..) => {
                let fits = |node: &&Node| stack.len() + measure(node, &mut copied) <= DEEPEST;
                let found = anchors.get(&anchor).filter(fits).filter(|_| copied <= MOST_COPIED);
                Some(found.cloned().unwrap_or(Node::Alias))
            }
            _ => None,
        };
        let Some(node) = done else {
            continue;
        };
        if named > 0 {
            measure(&node, &mut copied);
            if copied <= MOST_COPIED {
                anchors.insert(named, node.clone());
            }
        }
        match stack.last_mut() {
            None => documents.push(node),
            Some((Node::List { items }, ..)) => items.push(node),
            Some((Node::Map { entries, .. }, key, _)) => match key.take() {
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

/// Returns the places of a text's scalars, in order, and how far the text is valid.
pub(crate) fn scalars(text: &str) -> (Vec<Range<usize>>, usize) {
    let source = Source::of(text);
    let mut parser = Parser::new_from_str(&source.text);
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut read = 0;
    while let Some(event) = parser.next_event() {
        let Ok((event, span)) = event else { return (found, read) };
        let range = source.range(span.byte_range());
        read = read.max(range.end);
        if matches!(event, Event::Scalar(..)) {
            found.push(range);
        }
    }
    (found, text.len())
}

/// A part of a text in which a change may change more than one value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shared {
    /// All of it.
    pub(crate) span: Range<usize>,
    /// The reason.
    pub(crate) what: &'static str,
}

/// Returns values that are used in several places (anchors), maps that get entries from elsewhere (`<<`) or have a
/// duplicate key, and values whose type a tag sets.
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
    let source = Source::of(text);
    let mut parser = Parser::new_from_str(&source.text);
    while let Some(Ok((event, span))) = parser.next_event() {
        let range = source.range(span.byte_range());
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
                        (done.twice, "a key occurs twice"),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Node {
        parse(text).unwrap().remove(0)
    }

    #[test]
    fn an_alias_has_the_value_and_the_place_of_its_anchor() {
        let text = "a: &x {b: 1, c: [2]}\nd: *x\ne: {<<: *x, b: 3}\nf: &y 4\ng: *y\n";
        let root = of(text);
        let (value, span) = root.at(&["d", "b"]).and_then(Node::scalar).unwrap();
        assert_eq!((value, span), ("1", &(text.find('1').unwrap()..text.find('1').unwrap() + 1)));
        let value = |path: &[&str]| root.at(path).and_then(Node::scalar).unwrap().0.to_owned();
        assert_eq!((value(&["e", "b"]), value(&["g"])), ("3".to_owned(), "4".to_owned()));
        assert_eq!(root.at(&["e", "c"]).unwrap().items().len(), 1);
    }

    #[test]
    fn aliases_of_aliases_end() {
        // 10^9 nodes.
        let mut text = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
        for n in 1..9 {
            let list = vec![format!("*a{}", n - 1); 10].join(",");
            text.push_str(&format!("a{n}: &a{n} [{list}]\n"));
        }
        let mut number = 0;
        measure(&of(&text), &mut number);
        assert!(number < 3 * MOST_COPIED);
        // As deep as many levels of many aliases.
        let mut text = format!("a0: &a0 {}x{}\n", "[".repeat(60), "]".repeat(60));
        for n in 1..60 {
            text.push_str(&format!("a{n}: &a{n} [*a{}]\n", n - 1));
        }
        assert!(measure(&of(&text), &mut 0) <= DEEPEST);
        // An inner map is not merged twice.
        let text = "a: {<<: {b: 1, <<: {c: 2, b: 3}}, c: 4}\n";
        let root = of(text);
        let value = |key: &str| root.at(&["a", key]).and_then(Node::scalar).unwrap().0.to_owned();
        assert_eq!((value("b"), value("c")), ("1".to_owned(), "4".to_owned()));
        let mut number = 0;
        measure(&root, &mut number);
        assert_eq!(number, 4);
        // Within itself.
        assert!(matches!(of("a: &a [*a]").at(&["a"]).unwrap().items(), [Node::Alias]));
    }
}
