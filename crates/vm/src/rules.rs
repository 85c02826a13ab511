//! The rules: a Markdown page for each kind of file, read when the crate is compiled.
//!
//! A page has a section for each rule: its id; how much it matters, and what is the matter; why; what
//! is risked; who says so. What a section leaves out is as in the rule of another page that its line
//! `Like:` names. `rule!("ID")` is a rule where it is found: an id that no page has does not compile.
#![allow(clippy::panic)] // A panic is an error of the compiler here.

use crate::finding::{Rule, Severity};
use crate::formats::FORMATS;
use crate::parameters;

/// The rules of a page; of two pages, where sections of the first are like sections of the second.
macro_rules! rules {
    ($page:literal $(, like $other:literal)?) => {{
        const PAGE: &str = include_str!($page);
        const OTHER: &str = concat!($(include_str!($other))?);
        // It ends: a page is read once, section by section.
        #[allow(long_running_const_eval)]
        const RULES: [$crate::finding::Rule; $crate::rules::count(PAGE)] =
            $crate::rules::read(PAGE, OTHER);
        &RULES
    }};
}

/// The rule of an id.
macro_rules! rule {
    ($id:literal) => {{
        const RULE: &$crate::finding::Rule = $crate::rules::known($id);
        RULE
    }};
}

/// Every rule. An id stands once.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    // What runs under QEMU comes first.
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

/// How many sections a page has.
pub(crate) const fn count(page: &str) -> usize {
    let (mut count, mut at) = (0, 0);
    while let Some(next) = behind(page, at, "\n## ") {
        (count, at) = (count + 1, next);
    }
    count
}

/// Reads a page; `other` has what its sections are like.
pub(crate) const fn read<const N: usize>(page: &'static str, other: &'static str) -> [Rule; N] {
    const NONE: Rule =
        Rule { id: "", severity: Severity::Info, summary: "", why: "", risk: "", source: "" };
    let (mut rules, mut n, mut at) = ([NONE; N], 0, 0);
    while let Some(start) = behind(page, at, "\n## ") {
        rules[n] = one(section(page, start), other);
        (n, at) = (n + 1, start);
    }
    rules
}

/// The rule of a section.
const fn one(own: &'static str, other: &'static str) -> Rule {
    let like = match field(own, "\nLike: ") {
        Some(id) => named(other, id),
        None => own,
    };
    let (severity, summary) = match (field(like, "\nError: "), field(like, "\nWarn: ")) {
        (Some(summary), _) => (Severity::Error, summary),
        (_, Some(summary)) => (Severity::Warn, summary),
        _ => (Severity::Info, said(own, like, "\nInfo: ")),
    };
    Rule {
        id: line(own, 0),
        severity,
        summary,
        why: said(own, like, "\nWhy: "),
        risk: said(own, like, "\nRisk: "),
        source: said(own, like, "\nSource: "),
    }
}

/// What a section says, or else the one that it is like.
const fn said(own: &'static str, like: &'static str, mark: &str) -> &'static str {
    match (field(own, mark), field(like, mark)) {
        (Some(said), _) | (None, Some(said)) => said,
        (None, None) => panic!("a section of a page of rules lacks a line"),
    }
}

/// The section of an id.
const fn named(page: &'static str, id: &str) -> &'static str {
    let mut at = 0;
    while let Some(start) = behind(page, at, "\n## ") {
        if equal(line(page, start), id) {
            return section(page, start);
        }
        at = start;
    }
    panic!("a section is like one that is not there")
}

/// From a place in a page to the next section.
const fn section(page: &'static str, start: usize) -> &'static str {
    match behind(page, start, "\n## ") {
        Some(next) => page.split_at(next).0.split_at(start).1,
        None => page.split_at(start).1,
    }
}

/// What stands behind a mark on its line.
const fn field(section: &'static str, mark: &str) -> Option<&'static str> {
    match behind(section, 0, mark) {
        Some(at) => Some(line(section, at)),
        None => None,
    }
}

/// The rest of a line.
const fn line(text: &'static str, start: usize) -> &'static str {
    match behind(text, start, "\n") {
        Some(next) => text.split_at(next - 1).0.split_at(start).1,
        None => text.split_at(start).1,
    }
}

/// Just behind the next mark.
const fn behind(text: &str, from: usize, mark: &str) -> Option<usize> {
    // The compiler interprets this loop: one comparison for most bytes, and no call.
    let (bytes, first) = (text.as_bytes(), mark.as_bytes()[0]);
    let mut at = from;
    while at < bytes.len() {
        if bytes[at] == first && stands(text, at, mark) {
            return Some(at + mark.len());
        }
        at += 1;
    }
    None
}

const fn stands(text: &str, at: usize, mark: &str) -> bool {
    if text.len() < at + mark.len() {
        return false;
    }
    let mut n = 0;
    while n < mark.len() && text.as_bytes()[at + n] == mark.as_bytes()[n] {
        n += 1;
    }
    n == mark.len()
}

const fn equal(one: &str, other: &str) -> bool {
    one.len() == other.len() && stands(one, 0, other)
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
        const OTHER: &str =
            "# A\n\n## a\n\nWarn: x\n\nWhy: y\n\nRisk: z\n\nSource: s\n\n## b\n\nInfo: b";
        const PAGE: &str = "# B\n\n## c\n\nLike: a\n\nSource: t\n";
        let [rule] = read::<{ count(PAGE) }>(PAGE, OTHER);
        assert_eq!((rule.id, rule.severity, rule.summary), ("c", Severity::Warn, "x"));
        assert_eq!((rule.why, rule.risk, rule.source), ("y", "z", "t"));
        assert_eq!(count(OTHER), 2);
    }
}
