//! Duplicate keys in a map of a manifest, which programs treat differently: `kubectl` and Helm silently take the last
//! one, Kustomize refuses the file.

use crate::finding::{Finding, Severity};
use crate::words::listed;
use crate::yaml::{Key, Node};
use std::collections::HashMap;

/// Keys around a domain, and keys of a domain that affect its clock.
const AROUND: &str = "spec template domain clock features cpu";
/// Keys below which every key affects the clock.
const WITHIN: &str = "clock features cpu";
/// The limit of findings; a person does not make more such mistakes in one file.
const MOST: usize = 64;

/// Returns the findings for an object with a machine.
pub(super) fn check(root: &Node) -> Vec<Finding> {
    let mut found = Vec::new();
    walk(root, false, &mut found);
    found.truncate(MOST);
    let finding = |(key, same): (&Key, bool)| {
        let name = &key.name;
        let finding =
            Finding::new(rule!("kv-duplicate-key"), key.span.clone()).fix("remove one of them");
        // Nothing is lost with either of them.
        match same {
            true => finding
                .severity(Severity::Info)
                .summary(format!("{name} is in one map twice, with the same content")),
            false => {
                finding.summary(format!("{name} is in one map twice, and the last one counts"))
            }
        }
    };
    found.into_iter().map(finding).collect()
}

fn walk<'a>(node: &'a Node, within: bool, found: &mut Vec<(&'a Key, bool)>) {
    match node {
        Node::Map { entries, .. } => {
            let mut last: HashMap<&str, (&Key, &Node)> = HashMap::new();
            for (key, value) in entries {
                let name = key.name.as_str();
                if within || listed(AROUND, name) {
                    let before = last.insert(name, (key, value)).filter(|_| found.len() < MOST);
                    found.extend(before.map(|(key, other)| (key, same(other, value, 0))));
                }
                walk(value, within || listed(WITHIN, name), found);
            }
        }
        Node::List { items } => items.iter().for_each(|item| walk(item, within, found)),
        _ => {}
    }
}

/// Returns whether two nodes have the same content.
fn same(one: &Node, other: &Node, depth: usize) -> bool {
    const DEEPEST: usize = 32;
    match (one, other) {
        _ if depth > DEEPEST => false,
        (Node::Scalar { value: one, .. }, Node::Scalar { value: other, .. }) => one == other,
        (Node::List { items: one }, Node::List { items: other }) => {
            one.len() == other.len()
                && one.iter().zip(other).all(|(one, other)| same(one, other, depth + 1))
        }
        (Node::Map { entries: one, .. }, Node::Map { entries: other, .. }) => {
            let pairs = one.iter().zip(other);
            one.len() == other.len()
                && pairs.into_iter().all(|((key, one), (name, other))| {
                    key.name == name.name && same(one, other, depth + 1)
                })
        }
        _ => false,
    }
}
