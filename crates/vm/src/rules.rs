//! The rules: a Markdown page for each kind of file, from which `build.rs` generates a table.
//!
//! `rule!("ID")` names a rule at the place where the code finds it. It does not compile with an id
//! that no page has.
#![allow(clippy::panic)] // A panic is an error of the compiler here.

use crate::finding::Rule;
use crate::formats::FORMATS;
use crate::parameters;

/// The rules of a page: those of a kind of file by the name of its folder.
macro_rules! rules {
    ($page:literal) => {{
        const RULES: &[$crate::finding::Rule] =
            include!(concat!(env!("OUT_DIR"), "/", $page, ".rs"));
        RULES
    }};
}

/// The rule of an id.
macro_rules! rule {
    ($id:literal) => {{
        const RULE: &$crate::finding::Rule = $crate::rules::known($id);
        RULE
    }};
}

/// Returns every rule. Ids are unique.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    // Kinds of QEMU come first.
    let of = |qemu: bool| FORMATS.iter().filter(move |format| format.qemu.is_some() == qemu);
    of(true).chain(of(false)).flat_map(|format| format.rules).chain(parameters::RULES)
}

/// The rule of an id.
#[must_use]
pub fn rule(id: &str) -> Option<&'static Rule> {
    rules().find(|rule| rule.id == id)
}

/// The rule of an id that some page has.
pub(crate) const fn known(id: &str) -> &'static Rule {
    let mut format = 0;
    while format < FORMATS.len() {
        if let Some(rule) = among(FORMATS[format].rules, id) {
            return rule;
        }
        format += 1;
    }
    match among(parameters::RULES, id) {
        Some(rule) => rule,
        None => panic!("no page of rules has this id"),
    }
}

const fn among(rules: &'static [Rule], id: &str) -> Option<&'static Rule> {
    let mut n = 0;
    while n < rules.len() {
        if equal(rules[n].id, id) {
            return Some(&rules[n]);
        }
        n += 1;
    }
    None
}

const fn equal(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut n = 0;
    while n < one.len() && n < other.len() && one[n] == other[n] {
        n += 1;
    }
    n == one.len() && n == other.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn rules_all_have_an_id_of_their_own_and_say_why() {
        let mut ids = HashSet::new();
        for rule in rules() {
            assert!(ids.insert(rule.id), "{} twice", rule.id);
            assert!(
                rule.id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
            );
            for words in [rule.summary, rule.why, rule.risk, rule.source] {
                assert!(!words.is_empty() && words.trim() == words, "{}", rule.id);
            }
        }
    }

    #[test]
    fn rule_like_another_one_has_its_own_lines_first() {
        let (own, like) = (rule("lv-kvmclock-off").unwrap(), rule("q-kvmclock-off").unwrap());
        assert_eq!((own.severity, own.summary, own.why), (like.severity, like.summary, like.why));
        assert!(own.source.starts_with("libvirt "), "{}", own.source);
    }
}
