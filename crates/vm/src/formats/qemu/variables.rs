//! The variables of a script: its assignments, and the expansion of words.

use super::command::is_program;
use super::script::{MOST_WORDS, begin};
use super::together::{Given, Origin};
use crate::placed::{Placed, UNKNOWN};
use crate::shell::{Piece, Statement, Word, name_length};
use crate::words::listed;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

/// The limit of expansion, in bytes: only variables that double each other reach it.
const MOST_EXPANDED: usize = 4 << 20;
/// The limit of the variables' values, in bytes, for which the values of a branch are combined.
const MOST_PAIRED: usize = 16 << 10;
/// The most variables of a script whose values of a branch are combined.
const MOST_VARIABLES: usize = 64;
/// The most alternative values of a variable.
const MOST_OTHERS: usize = 8;
/// Words before an assignment.
const BEFORE: &str = "export local readonly declare typeset set then else do { Environment ENV ARG";

/// The value of a variable.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Scalar(Placed),
    Array(Vec<Placed>),
}

/// The variables that a script sets itself, at one place in it.
#[derive(Default)]
pub(super) struct Variables {
    now: BTreeMap<String, Value>,
    /// Alternative values of a variable.
    pub(super) others: BTreeMap<String, Vec<Given>>,
    /// Where the values were assigned.
    origins: BTreeMap<String, Origin>,
    /// The statement that is read, as the origin of a value, and the variables in it.
    here: (Origin, BTreeSet<String>),
    /// The statements that gave a variable its value, or added to it.
    given: BTreeMap<String, BTreeSet<usize>>,
    /// Lists from which words may have been removed.
    shortened: BTreeSet<String>,
    /// The variables that have the value that IFS had before the script set it: `OLD=$IFS`.
    saved: BTreeSet<String>,
    /// IFS at a place in the script, where it is not the last one.
    separator_there: Option<Option<char>>,
    /// The cost of the expansion so far, in bytes.
    spent: Cell<usize>,
}

impl Value {
    /// Returns the cost of its expansion, in bytes.
    fn cost(&self) -> usize {
        match self {
            Self::Scalar(text) => text.as_str().len(),
            Self::Array(words) => words.iter().map(|word| word.as_str().len() + 64).sum(),
        }
    }
}

impl Variables {
    /// Returns whether expansion has stopped: variables are then unknown.
    pub(super) fn exhausted(&self) -> bool {
        self.spent.get() > MOST_EXPANDED
    }

    /// Returns the value of a variable, and adds the cost of one expansion.
    fn value<'v>(&'v self, name: &str, with: Option<(&String, &'v Value)>) -> Option<&'v Value> {
        let value = match with {
            Some((known, value)) if known == name => value,
            _ => self.now.get(name)?,
        };
        self.spend(value.cost());
        (!self.exhausted()).then_some(value)
    }

    fn spend(&self, bytes: usize) {
        self.spent.set(self.spent.get().saturating_add(bytes));
    }

    /// Reads the assignments at the beginning of a statement, and returns the words after them.
    pub(super) fn assign<'s>(&mut self, statement: &'s Statement, under: bool) -> &'s [Word] {
        let words = statement.words.as_slice();
        self.stand_at(statement);
        // The shell's own separator again.
        if let [unset, names @ ..] = words
            && unset.literal() == Some("unset")
            && names.iter().any(|name| name.literal() == Some("IFS"))
        {
            self.now.remove("IFS");
        }
        if let [set, dashes, rest @ ..] = words
            && set.literal() == Some("set")
            && dashes.literal() == Some("--")
        {
            let value = Value::Array(self.expand(rest, None));
            self.set("@", value, false, under || statement.conditional);
            return &[];
        }
        let mut index = 0;
        while let Some(word) = words.get(index) {
            let plain = word.literal();
            if plain.is_some_and(|t| listed(BEFORE, t))
                || (index > 0
                    && plain
                        .is_some_and(|t| matches!(t, "-a" | "-r" | "-x" | "-g" | "-ga" | "-ar")))
            {
                index += 1;
                continue;
            }
            // `NAME := words` of make, `NAME = words` of make and others.
            let operator = words.get(index + 1).and_then(Word::literal);
            if let (Some(name), Some(operator @ ("=" | ":=" | "+=" | "?="))) = (plain, operator)
                && name_length(name) == name.len()
            {
                let tail = words.get(index + 2..).unwrap_or_default();
                let value = Value::Array(self.expand(tail, None));
                self.set(name, value, operator == "+=", under);
                // The words may themselves be a command.
                return tail;
            }
            let Some((name, append, value)) = self.assignment(word) else {
                break;
            };
            if append && value.as_str().is_empty() && statement.array.is_none() {
                index += 1;
                continue;
            }
            index += 1;
            let last = index == words.len();
            if self.keeps_separator(word, &name, append) || name == "IFS" && !last {
                // `IFS=, read ...` is for that command only.
                continue;
            }
            let value = match &statement.array {
                Some(array) if last => Value::Array(self.expand(array, None)),
                _ => Value::Scalar(value),
            };
            // `ExecStart=/usr/bin/qemu-system-x86_64 -m 1G` is a command nevertheless.
            if !last && matches!(&value, Value::Scalar(text) if is_program(text.as_str())) {
                return words.get(index - 1..).unwrap_or_default();
            }
            match &value {
                // `Environment="NAME=value"` of a unit.
                Value::Scalar(text) if name == "Environment" => {
                    let length = name_length(text.as_str());
                    let inner = text.as_str().get(..length).unwrap_or_default().to_owned();
                    if text.as_str().get(length..).is_some_and(|rest| rest.starts_with('=')) {
                        let rest = text.slice(length + 1..text.as_str().len());
                        self.set(&inner, Value::Scalar(rest), false, under);
                    }
                }
                _ => self.set(&name, value, append, under),
            }
        }
        words.get(index..).unwrap_or_default()
    }

    /// Notes the statement that is read.
    fn stand_at(&mut self, statement: &Statement) {
        let words = statement.words.iter().chain(statement.array.iter().flatten());
        let name = |piece: &Piece| match piece {
            Piece::Variable { name, .. } => Some(name.clone()),
            _ => None,
        };
        let names: BTreeSet<String> =
            words.flat_map(|word| &word.pieces).filter_map(name).collect();
        let parts = names.iter().filter_map(|name| self.origins.get(name));
        self.here = (Origin::of(begin(statement), !statement.conditional, parts), names);
    }

    /// Whether an assignment keeps or restores the shell's own IFS: `OLD=$IFS`, `IFS=$OLD`.
    fn keeps_separator(&mut self, word: &Word, name: &str, append: bool) -> bool {
        let [Piece::Literal(text), Piece::Variable { name: from, .. }] = word.pieces.as_slice()
        else {
            return false;
        };
        let only = text.as_str().len() == name.len() + 1 && !append;
        if only && from == "IFS" && !self.now.contains_key("IFS") {
            self.saved.insert(name.to_owned());
        } else if only && name == "IFS" && self.saved.contains(from) {
            self.now.remove(name);
            return true;
        }
        false
    }

    /// `NAME=value` or `NAME+=value`.
    fn assignment(&self, word: &Word) -> Option<(String, bool, Placed)> {
        let Some(Piece::Literal(first)) = word.pieces.first() else {
            return None;
        };
        let text = first.as_str();
        let length = name_length(text);
        let rest = text.get(length..).unwrap_or_default();
        let (append, skip) = match rest.as_bytes() {
            _ if length == 0 => return None,
            [b'=', ..] => (false, 1),
            [b'+', b'=', ..] => (true, 2),
            _ => return None,
        };
        let mut value = first.slice(length + skip..text.len());
        for piece in word.pieces.iter().skip(1) {
            self.piece(piece, None, &mut value);
        }
        Some((text.get(..length).unwrap_or_default().to_owned(), append, value))
    }

    fn set(&mut self, name: &str, value: Value, append: bool, under: bool) {
        if (append || under)
            && let Some(old) = self.now.get(name)
        {
            self.spend(old.cost());
            if self.exhausted() {
                return;
            }
        }
        let old = self.origins.get(name).cloned();
        let origin = match append || self.here.1.contains(name) {
            true => self.here.0.adds(old.as_ref()),
            false => self.here.0.replaces(),
        };
        let old_origin = old.unwrap_or_default();
        self.origins.insert(name.to_owned(), origin);
        let given = self.given.entry(name.to_owned()).or_default();
        if !append && !self.here.1.contains(name) {
            given.clear();
        }
        given.insert(self.here.0.at());
        // `CPU+=,+invtsc` in a branch: the list without it is the other one.
        if let (true, Some(Value::Scalar(old)), Value::Scalar(more)) =
            (append && under, self.now.get(name), &value)
            && more.as_str().starts_with(',')
        {
            let old = Value::Scalar(old.clone());
            let others = self.others.entry(name.to_owned()).or_default();
            if others.len() < MOST_OTHERS {
                others.push((old, old_origin.clone()));
            }
        }
        let value = match (self.now.get(name), append) {
            (Some(Value::Scalar(old)), true) => {
                let mut text = old.clone();
                match value {
                    Value::Scalar(more) => text.append(&more),
                    Value::Array(more) => {
                        let mut words = text.words();
                        words.extend(more);
                        words.truncate(MOST_WORDS);
                        self.now.insert(name.to_owned(), Value::Array(words));
                        return;
                    }
                }
                Value::Scalar(text)
            }
            (Some(Value::Array(old)), true) => {
                let mut words = old.clone();
                match value {
                    Value::Scalar(more) => words.push(more),
                    Value::Array(more) => words.extend(more),
                }
                words.truncate(MOST_WORDS);
                Value::Array(words)
            }
            (Some(old), false) if under => {
                let others = self.others.entry(name.to_owned()).or_default();
                if others.len() < MOST_OTHERS {
                    others.push((old.clone(), old_origin));
                }
                value
            }
            _ => value,
        };
        self.now.insert(name.to_owned(), value);
    }

    /// Returns where the value of a variable was assigned.
    pub(super) fn origin(&self, name: &str) -> Option<&Origin> {
        self.origins.get(name)
    }

    /// Returns a value of a variable by its number: the alternative values, and the last one behind them.
    pub(super) fn given(&self, name: &str, number: usize) -> Option<&Value> {
        let others = self.others.get(name).map(Vec::as_slice).unwrap_or_default();
        match others.get(number) {
            Some((value, _)) => Some(value),
            None => self.now.get(name).filter(|_| number == others.len()),
        }
    }

    /// Returns whether values of several variables are combined, each time at the cost of a copy of all variables.
    pub(super) fn may_pair(&self) -> bool {
        self.now.len() <= MOST_VARIABLES
            && self.now.values().map(Value::cost).sum::<usize>() <= MOST_PAIRED
    }

    /// Returns the variables with other values of some of them; one without a value is not known.
    pub(super) fn with(&self, values: impl Iterator<Item = (String, Option<Value>)>) -> Self {
        let mut now = self.now.clone();
        for (name, value) in values {
            match value {
                Some(value) => now.insert(name, value),
                None => now.remove(&name),
            };
        }
        Self {
            now,
            saved: self.saved.clone(),
            separator_there: self.separator_there,
            spent: self.spent.clone(),
            ..Self::default()
        }
    }

    /// Adds what is not known to a list or a value, unless the statement at a place has already added to it. `words`:
    /// whether these are further words.
    pub(super) fn extend(&mut self, name: &str, by: Option<usize>, words: bool) {
        let added = |at: usize| self.given.get(name).is_some_and(|given| given.contains(&at));
        if by.is_some_and(added) {
            return;
        }
        let at = by.unwrap_or_default();
        match self.now.get_mut(name) {
            Some(Value::Array(list)) if list.len() < MOST_WORDS => {
                let mut unknown = Placed::default();
                unknown.push(UNKNOWN, at);
                list.push(unknown);
            }
            Some(Value::Scalar(text)) => {
                if words {
                    text.push(' ', at);
                }
                text.push(UNKNOWN, at);
            }
            _ => {}
        }
    }

    /// Adds what is not known to every list of options: a file that is sourced may add to it.
    pub(super) fn extend_lists(&mut self) {
        let list = |value: &Value| match value {
            Value::Array(words) => words.iter().any(|word| word.as_str().starts_with('-')),
            Value::Scalar(text) => text.as_str().contains(" -"),
        };
        let names = self.now.iter().filter(|(_, value)| list(value)).map(|(name, _)| name.clone());
        for name in names.collect::<Vec<_>>() {
            self.extend(&name, None, true);
        }
    }

    /// Makes the words of a list unknown, except for a program: some of them are removed.
    pub(super) fn shorten(&mut self, name: &str) {
        let Some(Value::Array(list)) = self.now.get_mut(name) else { return };
        for word in list.iter_mut().filter(|word| !is_program(word.as_str())) {
            let mut unknown = Placed::default();
            unknown.push(UNKNOWN, word.span().start);
            *word = unknown;
        }
        self.shortened.insert(name.to_owned());
    }

    /// Returns whether a statement assigns a list from which words may have been removed.
    pub(super) fn is_shortened(&self, statement: &Statement) -> bool {
        let words = statement.words.as_slice();
        let literal = |at: usize| words.get(at).and_then(Word::literal);
        let name = |word: &Word| match word.pieces.first() {
            Some(Piece::Literal(text)) if text.as_str().contains('=') => {
                text.as_str().get(..name_length(text.as_str())).map(str::to_owned)
            }
            _ => None,
        };
        let set = literal(0) == Some("set") && literal(1) == Some("--");
        set && self.shortened.contains("@")
            || words.iter().filter_map(name).any(|name| self.shortened.contains(&name))
    }

    /// Adds to the end of a variable.
    pub(super) fn more(&mut self, name: &str, value: Value) {
        self.set(name, value, self.now.contains_key(name), false);
    }

    /// Returns the variables that these words contain.
    pub(super) fn named(&self, words: &[Word]) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for piece in words.iter().flat_map(|word| &word.pieces) {
            if let Piece::Variable { name, .. } = piece
                && self.others.contains_key(name)
                && !names.contains(name)
            {
                names.push(name.clone());
            }
        }
        names
    }

    /// Returns the words that a shell would make of these.
    pub(super) fn expand(&self, words: &[Word], with: Option<(&String, &Value)>) -> Vec<Placed> {
        let mut out: Vec<Placed> = Vec::new();
        for word in words {
            if out.len() > MOST_WORDS {
                break;
            }
            let mut text = Placed::default();
            let mut any = word.pieces.is_empty();
            for piece in &word.pieces {
                if let Piece::Variable { name, quoted, joined, or_empty, .. } = piece
                    && !(*quoted && *joined)
                {
                    let parts = match self.value(name, with) {
                        Some(Value::Scalar(scalar)) if *or_empty && scalar.is_empty() => None,
                        Some(Value::Array(parts)) => Some(parts.clone()),
                        Some(Value::Scalar(scalar)) if !quoted => {
                            // Each word is a separate string.
                            self.spend(scalar.as_str().len() * 7);
                            Some(scalar.words())
                        }
                        _ => None,
                    };
                    if let Some(parts) = parts {
                        for (n, part) in parts.iter().enumerate() {
                            if n > 0 {
                                out.push(std::mem::take(&mut text));
                            }
                            text.append(part);
                            any = true;
                        }
                        continue;
                    }
                }
                any = true;
                self.piece(piece, with, &mut text);
            }
            if any {
                out.push(text);
            }
        }
        out.truncate(MOST_WORDS);
        out
    }

    /// Joins the words of arrays, from now on, with the separator that IFS had at another place.
    pub(super) fn join_with(&mut self, separator: Option<char>) {
        self.separator_there = Some(separator);
    }

    /// Returns the separator of the words of `"${NAME[*]}"`: the first character of IFS.
    pub(super) fn separator(&self) -> Option<char> {
        if let Some(there) = self.separator_there {
            return there;
        }
        match self.now.get("IFS") {
            None => Some(' '),
            Some(Value::Scalar(value)) => value.as_str().chars().next(),
            Some(Value::Array(_)) => Some(UNKNOWN),
        }
    }

    /// Appends one part of a word as one string.
    pub(super) fn piece(&self, piece: &Piece, with: Option<(&String, &Value)>, text: &mut Placed) {
        match piece {
            Piece::Literal(literal) => text.append(literal),
            Piece::Opaque { at } => text.push(UNKNOWN, *at),
            Piece::Variable { name, default, or_empty, at, joined, .. } => {
                match self.value(name, with).filter(|value| !(*or_empty && value.cost() == 0)) {
                    Some(Value::Scalar(value)) => text.append(value),
                    Some(Value::Array(values)) => {
                        for (n, value) in values.iter().enumerate() {
                            if let (Some(separator), true) =
                                (if *joined { self.separator() } else { Some(' ') }, n > 0)
                            {
                                text.push(separator, *at);
                            }
                            text.append(value);
                        }
                    }
                    None => match default {
                        Some(default) if !self.exhausted() => text.append(default),
                        _ => text.push(UNKNOWN, *at),
                    },
                }
            }
        }
    }
}
