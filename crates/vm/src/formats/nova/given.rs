//! Properties of flavors and images that are given to OpenStack: by its commands in a script, and by templates of Heat,
//! playbooks and other YAML or JSON. Nothing is changed in them.
//!
//! Source: openstack(1), flavor create and image set; nova(1), flavor-key; heat, resources/openstack/nova/flavor.py;
//! openstack.cloud, plugins/modules/compute_flavor.py and image.py.

use super::{PROPERTIES, judge, mentions};
use crate::detect::Clues;
use crate::document::Document;
use crate::formats::qemu::script::expanded;
use crate::guest::Guest;
use crate::inner::{MOST_MACHINES, nothing, together};
use crate::lint::{LintError, Report};
use crate::placed::Placed;
use crate::shell::Statement;
use crate::words::{base, listed};
use crate::yaml::{self, Node};
use std::ops::Range;

/// Keys that only a flavor's or an image's properties have.
const OWN: [&str; 4] =
    ["hw:hide_hypervisor_id", "hide_hypervisor_id", "img_hide_hypervisor_id", "hw_time_hpet"];
/// Options of the commands that take no value.
const SWITCHES: &str = "--public --private --shared --community --protected --unprotected --no-property --activate --force \
    --progress --import";
/// Options with a property.
const PROPERTY: &str = "--property --image-property";

/// Whether a text is YAML or JSON with such a key.
pub(super) fn in_tree(clues: &Clues<'_>) -> bool {
    let key = |line: &str| {
        let line = line.trim_start_matches(['-', ' ', '{', '"', '\'']);
        OWN.iter().any(|name| {
            let rest = line.strip_prefix(name).map(|rest| rest.trim_start_matches(['"', '\'']));
            rest.is_some_and(|rest| rest.starts_with(':'))
        })
    };
    !clues.starts("#!") && (clues.has(key) || OWN.iter().any(|name| clues.quotes(name)))
}

/// Returns the place after the words that begin a command of OpenStack for flavors and images.
fn begins(statement: &Statement) -> Option<usize> {
    let names: Vec<&str> =
        statement.words.iter().map(|word| word.literal().unwrap_or_default()).collect();
    let program = |name: &&str| matches!(base(name), "openstack" | "nova" | "glance");
    let at = names.iter().position(program)?;
    if names.iter().take(at).any(|name| listed("echo printf # alias which", name)) {
        return None;
    }
    let rest = names.get(at + 1..)?;
    let is = |list: &str, n: usize| rest.get(n).is_some_and(|name| listed(list, name));
    // Options of the program may precede the object.
    let object = rest.iter().position(|name| listed("flavor image flavor-key", name));
    let object = object.unwrap_or(0);
    let long = is("flavor image", object) && is("create set", object + 1);
    let short = is("flavor-key", object) || is("image-create image-update", object);
    let length = usize::from(long) + usize::from(long || short);
    (length > 0).then_some(at + 1 + object + length)
}

/// Whether a text is a script that gives properties which affect a clock.
pub(super) fn in_commands(text: &str) -> bool {
    ["openstack ", "nova flavor-key", "glance "].iter().any(|name| text.contains(name))
        && mentions(text)
        && !commands(text).is_empty()
}

/// The properties that commands give to one flavor or image.
struct Object {
    name: String,
    properties: Vec<(String, Placed)>,
}

fn commands(text: &str) -> Vec<Object> {
    let mut out: Vec<Object> = Vec::new();
    for (statement, words) in &expanded(text, |statement| begins(statement).is_some()) {
        let Some(from) = begins(statement).filter(|_| out.len() < MOST_MACHINES) else { continue };
        let object = read(words.get(from..).unwrap_or_default());
        let relevant = |(name, _): &(String, Placed)| PROPERTIES.contains(&name.as_str());
        if !object.properties.iter().any(relevant) {
            continue;
        }
        match out.iter_mut().find(|it| it.name == object.name && !it.name.is_empty()) {
            Some(known) => known.properties.extend(object.properties),
            None => out.push(object),
        }
    }
    out
}

/// Reads the options of a command, and the name of its object.
fn read(words: &[Placed]) -> Object {
    let mut object = Object { name: String::new(), properties: Vec::new() };
    let mut rest = words.iter();
    let mut property = |word: &Placed, from: usize| {
        let text = word.as_str();
        let at = text.get(from..).and_then(|rest| rest.find('=')).map(|at| from + at);
        if let Some(at) = at {
            let name = text.get(from..at).unwrap_or_default().to_owned();
            object.properties.push((name, word.slice(at + 1..text.len())));
        }
    };
    let mut name = String::new();
    while let Some(word) = rest.next() {
        let text = word.as_str();
        let option = text.split_once('=').map_or(text, |(option, _)| option);
        if listed(PROPERTY, option) && option.len() < text.len() {
            property(word, option.len() + 1);
        } else if listed(PROPERTY, option) {
            if let Some(word) = rest.next() {
                property(word, 0);
            }
        } else if text.starts_with('-') {
            if option.len() == text.len() && !listed(SWITCHES, text) {
                rest.next();
            }
        } else if text.contains('=') {
            // `nova flavor-key FLAVOR set NAME=VALUE`.
            property(word, 0);
        } else if name.is_empty() && !word.unknown() {
            name = text.to_owned();
        }
    }
    object.name = name;
    object
}

/// Judges a script.
pub(super) fn script(document: &Document) -> Result<Report, LintError> {
    let objects = commands(document.text.as_str());
    let judged = objects.iter().map(|object| {
        let of = |name: &str| {
            let given = object.properties.iter().rev().find(|(known, _)| known == name);
            let value = given.map(|(_, value)| value).filter(|it| !it.unknown() && !it.is_empty());
            value.map(|value| (value.as_str(), value.span()))
        };
        judge(document, &of)
    });
    all(judged.collect::<Result<Vec<_>, _>>()?, "a command gives it to OpenStack")
}

/// Judges YAML or JSON.
pub(super) fn tree(document: &Document) -> Result<Report, LintError> {
    let mut reports = Vec::new();
    let mut failed = None;
    for root in yaml::parse(document.text.as_str())? {
        root.find(&mut |node| {
            let Node::Map { entries, .. } = node else { return false };
            if !entries.iter().any(|(key, _)| OWN.contains(&key.name.as_str())) {
                return false;
            }
            match judge(document, &|name: &str| value(node, name)) {
                Ok(report) if reports.len() < MOST_MACHINES => reports.push(report),
                Ok(_) => {}
                Err(error) => failed = Some(error),
            }
            true
        });
    }
    match failed {
        Some(error) => Err(error),
        None => all(reports, "a template or a playbook gives it to OpenStack"),
    }
}

/// A value that the file itself has.
fn value<'a>(node: &'a Node, name: &str) -> Option<(&'a str, Range<usize>)> {
    let (value, at) = node.entry(name)?.1.scalar()?;
    let known = !value.is_empty() && !value.contains("{{") && !value.contains('$');
    known.then(|| (value, at.clone()))
}

fn all(reports: Vec<Report>, why: &str) -> Result<Report, LintError> {
    let mut report = together(reports).unwrap_or_else(|| nothing(Guest::Unknown));
    report.findings.iter_mut().for_each(|finding| finding.leave_edits(why));
    Ok(report)
}
