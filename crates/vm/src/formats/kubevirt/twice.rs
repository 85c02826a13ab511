//! Duplicate keys in a map of a manifest, which programs treat differently: `kubectl` and Helm silently take the last
//! one, Kustomize refuses the file.

use crate::finding::Finding;
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
    let finding = |key: &Key| {
        let name = &key.name;
        Finding::new(rule!("kv-duplicate-key"), key.span.clone())
            .summary(format!("{name} is in one map twice, and the last one counts"))
            .fix("remove one of them")
    };
    found.into_iter().map(finding).collect()
}

fn walk<'a>(node: &'a Node, within: bool, found: &mut Vec<&'a Key>) {
    match node {
        Node::Map { entries, .. } => {
            let mut last: HashMap<&str, &Key> = HashMap::new();
            for (key, value) in entries {
                let name = key.name.as_str();
                if within || listed(AROUND, name) {
                    found.extend(last.insert(name, key).filter(|_| found.len() < MOST));
                }
                walk(value, within || listed(WITHIN, name), found);
            }
        }
        Node::List { items } => items.iter().for_each(|item| walk(item, within, found)),
        _ => {}
    }
}
