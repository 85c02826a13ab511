//! What is added to a variable, or removed from it, where only a run shows it: a function that adds to a list and is called after
//! the list was assigned, a file that is sourced, words that are removed from a list. What such a list has then is not
//! known.

use super::appended::{behind, function};
use super::variables::Variables;
use crate::shell::{Piece, Statement, Word, name_length};
use crate::words::{base, listed};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::ops::Range;

/// The limit of functions that are read.
const MOST: usize = 256;
/// The limit of functions that call each other.
const MOST_DEPTH: usize = 4;
/// The limit of statements that are followed in calls.
const MOST_FOLLOWED: usize = 1 << 16;
/// Files that no script of a machine adds options by.
const OF_SYSTEM: &str = "os-release lsb-release init-functions activate functions bashrc .bashrc profile .profile \
    bash_completion";

/// The functions of a script.
#[derive(Default)]
pub(super) struct Functions<'a> {
    text: &'a str,
    all: &'a [Statement],
    bodies: BTreeMap<&'a str, Range<usize>>,
    /// Whether a loop leaves out some of its words: `[ "$a" = -no-hpet ] && continue`.
    skips: bool,
    /// The number of statements that were followed in calls.
    followed: Cell<usize>,
}

/// An addition in a function: the variable, the place of the statement, and whether it adds words.
struct Addition<'a> {
    name: &'a str,
    at: usize,
    words: bool,
}

/// Returns the addition of a statement: `A+=(...)`, `A=("${A[@]}" ...)`, `O+=" ..."`, `O="$O ..."`.
fn addition(statement: &Statement) -> Option<Addition<'_>> {
    let [word] = behind(&statement.words) else { return None };
    let Some(Piece::Literal(first)) = word.pieces.first() else { return None };
    let name = first.as_str().get(..name_length(first.as_str()))?;
    let rest = first.as_str().get(name.len()..)?;
    let itself = |word: &Word, at: usize| matches!(word.pieces.get(at), Some(Piece::Variable { name: it, .. }) if it == name);
    let value = rest.trim_start_matches(['+', '=']);
    let (adds, words) = match &statement.array {
        Some(array) if rest == "=" => (array.first().is_some_and(|it| itself(it, 0)), true),
        Some(_) => (rest == "+=", true),
        None if rest == "=" => {
            let text = match word.pieces.get(2) {
                Some(Piece::Literal(text)) => text.as_str(),
                _ => "",
            };
            (itself(word, 1), text.starts_with(' '))
        }
        None => (rest.starts_with("+="), value.starts_with(' ')),
    };
    (adds && !name.is_empty()).then(|| Addition {
        name,
        at: super::script::begin(statement),
        words,
    })
}

impl<'a> Functions<'a> {
    /// Finds the functions of a script.
    pub(super) fn of(text: &'a str, all: &'a [Statement]) -> Self {
        let skips = all.iter().any(|statement| begins(statement, "continue"));
        let mut found = Self { text, all, skips, ..Self::default() };
        if !text.contains("()") && !text.contains("function ") {
            return found;
        }
        let mut at = 0;
        while at < all.len() && found.bodies.len() < MOST {
            let Some((name, first)) = function(text, all, at) else {
                at += 1;
                continue;
            };
            let word =
                |n: usize| all.get(n).and_then(|it| it.words.first()).and_then(Word::literal);
            let end = (first..all.len()).find(|n| word(*n) == Some("}")).unwrap_or(all.len());
            found.bodies.insert(name, first..end);
            at = first.max(at + 1);
        }
        found
    }

    /// Returns the function that a statement outside of it calls, and the words that it gets.
    fn called(&self, number: usize) -> Option<(&'a str, &'a [Word])> {
        let statement = self.all.get(number)?;
        let (first, rest) = behind(&statement.words).split_first()?;
        let name = first.literal()?;
        let (name, body) = self.bodies.get_key_value(name)?;
        let after = self.text.get(first.span.end..)?.trim_start_matches([' ', '\t']);
        (!body.contains(&number) && !after.starts_with('(')).then_some((*name, rest))
    }

    /// Returns whether a statement names the words of a loop that may leave out some of them.
    pub(super) fn chooses(&self, statement: &Statement) -> bool {
        self.skips && begins(statement, "for")
    }

    /// Adds what is not known to the variables to which a statement adds by a function or by another file, and removes
    /// what it may remove.
    pub(super) fn follow(&self, number: usize, variables: &mut Variables) {
        let Some(statement) = self.all.get(number) else { return };
        if let Some((name, words)) = self.called(number) {
            self.call(name, words, variables, 0);
        }
        let words = behind(&statement.words);
        let Some(first) = words.first().and_then(Word::literal) else { return };
        let literal = |at: usize| words.get(at).and_then(Word::literal);
        match first {
            "." | "source" if words.len() > 1 => {
                let of_system = |name: &str| listed(OF_SYSTEM, base(name));
                if !literal(1).is_some_and(of_system) {
                    variables.extend_lists();
                }
            }
            "shift" => variables.shorten("@"),
            "unset" => {
                for word in words.iter().skip(1) {
                    if let Some(Piece::Literal(text)) = word.pieces.first()
                        && let Some((name, _)) = text.as_str().split_once('[')
                    {
                        variables.shorten(name);
                    }
                }
            }
            _ => {}
        }
    }

    /// Follows the call of a function.
    fn call(&self, name: &str, words: &[Word], variables: &mut Variables, depth: usize) {
        let Some(body) = self.bodies.get(name) else { return };
        for number in body.clone() {
            let Some(statement) = self.all.get(number) else { continue };
            self.followed.set(self.followed.get() + 1);
            if self.followed.get() > MOST_FOLLOWED {
                return;
            }
            if let Some(added) = addition(statement) {
                variables.extend(added.name, Some(added.at), added.words);
            }
            if is_reference(statement) {
                let names = words.iter().filter_map(Word::literal);
                names.for_each(|name| variables.extend(name, None, true));
            }
            if let Some((inner, words)) = self.called(number).filter(|_| depth < MOST_DEPTH) {
                self.call(inner, words, variables, depth + 1);
            }
        }
    }
}

/// Returns whether the command of a statement has a name.
fn begins(statement: &Statement, name: &str) -> bool {
    behind(&statement.words).first().and_then(Word::literal) == Some(name)
}

/// Returns whether a statement declares a reference to another variable: `local -n list=$1`.
fn is_reference(statement: &Statement) -> bool {
    let mut words = behind(&statement.words).iter().filter_map(Word::literal);
    let declares = words.next().is_some_and(|it| listed("local declare typeset", it));
    declares && words.any(|it| it.starts_with('-') && it.contains('n'))
}
