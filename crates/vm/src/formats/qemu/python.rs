//! Command lines in Python: lists of strings, with the variables and constants that the file itself gives one value.
//!
//! Each list is a separate command line. A name with several values, a parameter, the result of a call: unknown.

mod values;

use super::code::{Part, Token, python};
use super::command::{Command, command, is_program};
use super::printed::in_call;
use crate::placed::{Placed, UNKNOWN};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The limit of alternative command lines of one list, by its conditions.
const MOST_VARIANTS: usize = 8;
/// The most words of one list.
const MOST_WORDS: usize = 512;
/// The limit of references from name to name.
const MOST_DEPTH: usize = 8;
/// The most values of one name.
const MOST_BINDINGS: usize = 128;
/// The most names of one line whose values are not followed.
const MOST_SPECIAL: usize = 32;
/// The limit of evaluation in one file, in tokens.
const MOST_WORK: usize = 400_000;

/// The forms of an assignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    Set,
    Add,
    Append,
    /// A parameter, a target of `for`: not known.
    Other,
}

/// One value of a name.
#[derive(Clone, Debug)]
struct Binding {
    how: How,
    /// The tokens of the value.
    value: Range<usize>,
    indent: usize,
}

#[derive(Clone, Debug)]
enum Value {
    Text(Placed),
    /// The alternatives of a list.
    Lists(Vec<Vec<Placed>>),
    Unknown(usize),
}

/// A file.
struct Reader {
    tokens: Vec<Token>,
    closes: Vec<usize>,
    /// The values of names, by function; 0 is the file itself.
    names: BTreeMap<(usize, String), Vec<Binding>>,
    /// The function around each function.
    parents: Vec<usize>,
    /// The functions of the tokens.
    scopes: Vec<usize>,
    /// Lists that are included in others.
    spliced: RefCell<BTreeSet<(usize, String)>>,
    work: Cell<usize>,
}

/// The command lines of a file.
pub(super) fn commands(text: &str) -> Vec<Command> {
    let reader = Reader::new(text);
    let mut found = Vec::new();
    // The end of the last list that was a command line.
    let mut taken = 0;
    let mut assigned: BTreeSet<usize> = BTreeSet::new();
    for binding in reader.names.values().flatten().filter(|binding| binding.how != How::Other) {
        assigned.insert(binding.value.start);
    }
    // Lists and calls first: the lists that they include are not separate command lines.
    for (at, token) in reader.tokens.iter().enumerate() {
        if reader.spent() {
            break;
        }
        if at < taken || assigned.contains(&at) || !(token.is("[") || token.is("(")) {
            continue;
        }
        let end = reader.close(at);
        let lists = match token.is("[") {
            true => reader.expression(at..reader.expression_end(at), 0),
            false => Value::Lists(reader.elements(at + 1..end, 0)),
        };
        let Value::Lists(lists) = lists else { continue };
        let call = token.is("(");
        let starts = |words: &Vec<Placed>| words.first().is_some_and(|it| is_program(it.as_str()));
        let before = found.len();
        found.extend(lists.iter().filter(|it| !call || starts(it)).filter_map(|it| command(it)));
        if found.len() > before {
            taken = end;
        }
    }
    for (key, bindings) in &reader.names {
        let spliced = reader.spliced.borrow().contains(key);
        if !spliced && bindings.iter().any(|binding| binding.how == How::Set) {
            match reader.value(&key.1, key.0, 0, 0) {
                Value::Lists(lists) => found.extend(lists.iter().filter_map(|it| command(it))),
                Value::Text(_) | Value::Unknown(_) => {}
            }
        }
    }
    // A command line in one string, or in several that Python joins.
    let mut behind = 0;
    for (at, token) in reader.tokens.iter().enumerate() {
        if !matches!(token, Token::Text { .. }) || at < behind {
            continue;
        }
        behind = reader.string_end(at);
        if in_call(text, token.at()) {
            continue;
        }
        if let Value::Text(text) = reader.expression(at..behind, 0)
            && text.as_str().contains(' ')
        {
            let words = text.words();
            let begins = words.iter().take(3).any(|word| is_program(word.as_str()));
            found.extend(command(&words).filter(|_| begins));
        }
    }
    if reader.spent() { Vec::new() } else { found }
}

/// Returns every string of a file, as one list of options; another expression in place of a value is unknown.
pub(super) fn pool(text: &str) -> Vec<Placed> {
    let reader = Reader::new(text);
    let mut words = Vec::new();
    let mut option = false;
    for (at, token) in reader.tokens.iter().enumerate() {
        match token {
            Token::Text { .. } => {
                if let Value::Text(text) = reader.expression(at..at + 1, MOST_DEPTH) {
                    let many = text.as_str().contains(' ') && text.as_str().starts_with('-');
                    let more = if many { text.words() } else { vec![text] };
                    option = more.last().is_some_and(|it| it.as_str().starts_with('-'));
                    words.extend(more);
                }
            }
            Token::Mark { text: ",", .. } => {}
            Token::Name { at, .. } if option => {
                let mut unknown = Placed::default();
                unknown.push(UNKNOWN, *at);
                words.push(unknown);
                option = false;
            }
            _ => option = false,
        }
    }
    words.truncate(MOST_WORDS);
    words
}

/// Operations that only inspect a string, and put it into no command line.
const LOOKS: [&str; 8] =
    [".endswith", ".startswith", ".replace", ".find", ".index", ".count", ".remove", "print"];

/// Returns the strings of a file that are words of a list, and are neither sentences nor compared.
pub(super) fn strings(text: &str) -> Vec<Placed> {
    let tokens = python(text);
    let before = |at: usize, back: usize| at.checked_sub(back).and_then(|at| tokens.get(at));
    let looked_at = |at: usize| {
        let one = before(at, 1);
        let compared =
            |token: &Token| token.is("==") || token.is("!=") || token.name() == Some("in");
        let looks = |name: &str| LOOKS.iter().any(|it| name.ends_with(it));
        let name = before(at, 2).and_then(Token::name);
        one.is_some_and(compared) || (one.is_some_and(|it| it.is("(")) && name.is_some_and(looks))
    };
    let parts = tokens.iter().enumerate().filter_map(|(at, token)| match token {
        Token::Text { parts, .. } if !looked_at(at) => Some(parts),
        _ => None,
    });
    let texts = parts.flatten().filter_map(|part| match part {
        Part::Text(text) => Some(text.clone()),
        Part::Name(..) => None,
    });
    texts.filter(|it| !it.as_str().contains(' ') || it.as_str().starts_with('-')).collect()
}

/// Returns the closing place of each bracket; the end for all other tokens.
fn closes(tokens: &[Token]) -> Vec<usize> {
    let mut closes = vec![tokens.len(); tokens.len()];
    let mut open = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let Token::Mark { text, .. } = token else { continue };
        match *text {
            "(" | "[" | "{" => open.push(at),
            ")" | "]" | "}" => {
                if let Some(begin) = open.pop().and_then(|begin: usize| closes.get_mut(begin)) {
                    *begin = at;
                }
            }
            _ => {}
        }
    }
    closes
}

impl Reader {
    fn new(text: &str) -> Self {
        let tokens = python(text);
        let mut reader = Self {
            closes: closes(&tokens),
            scopes: vec![0; tokens.len()],
            tokens,
            names: BTreeMap::new(),
            parents: vec![0],
            spliced: RefCell::default(),
            work: Cell::new(0),
        };
        reader.lines();
        reader
    }

    fn spent(&self) -> bool {
        self.work.get() > MOST_WORK
    }

    fn is(&self, at: usize, mark: &str) -> bool {
        self.tokens.get(at).is_some_and(|token| token.is(mark))
    }

    fn name(&self, at: usize) -> Option<&str> {
        self.tokens.get(at).and_then(Token::name)
    }

    /// Returns the closing place of a bracket.
    fn close(&self, open: usize) -> usize {
        self.closes.get(open).copied().unwrap_or(self.tokens.len())
    }

    /// Returns the end of an expression that begins with a list: `[...] + NAME + [...]`.
    fn expression_end(&self, from: usize) -> usize {
        let mut at = self.close(from) + 1;
        while self.is(at, "+") {
            at += match self.tokens.get(at + 1) {
                Some(token) if token.is("[") || token.is("(") => self.close(at + 1) + 1 - at,
                Some(Token::Name { .. }) if !self.is(at + 2, "(") => 2,
                _ => return at,
            };
        }
        at.min(self.tokens.len())
    }

    /// Returns the end of adjacent strings, and of those that `+` and names join with them.
    fn string_end(&self, from: usize) -> usize {
        let text = |at: usize| matches!(self.tokens.get(at), Some(Token::Text { .. }));
        let mut at = from + 1;
        loop {
            while text(at) {
                at += 1;
            }
            let name = self.name(at + 1).is_some() && !self.is(at + 2, "(");
            if !(self.is(at, "+") && (text(at + 1) || name)) {
                return at;
            }
            at += 2;
        }
    }

    /// Reads the logical lines.
    fn lines(&mut self) {
        let begins: Vec<usize> = (0..self.tokens.len())
            .filter(|n| matches!(self.tokens.get(*n), Some(Token::Line { .. })))
            .collect();
        let mut open: Vec<(usize, usize)> = Vec::new();
        for (n, begin) in begins.iter().enumerate() {
            let end = begins.get(n + 1).copied().unwrap_or(self.tokens.len());
            let Some(Token::Line { indent }) = self.tokens.get(*begin) else { continue };
            let indent = *indent;
            open.retain(|(outer, _)| *outer < indent);
            let scope = open.last().map_or(0, |(_, scope)| *scope);
            if let Some(scopes) = self.scopes.get_mut(*begin..end) {
                scopes.fill(scope);
            }
            let first = if self.name(begin + 1) == Some("async") { begin + 2 } else { begin + 1 };
            if matches!(self.name(first), Some("def" | "class")) {
                let inner = self.parents.len();
                self.parents.push(scope);
                open.push((indent, inner));
                if self.name(first) == Some("def") {
                    self.others(first + 2..end, inner);
                }
            } else {
                self.line(first, end, scope, indent);
            }
        }
    }

    /// Records names that get values which are not followed.
    fn others(&mut self, range: Range<usize>, scope: usize) {
        let names: Vec<String> = range.filter_map(|at| self.name(at).map(str::to_owned)).collect();
        for name in names {
            let binding = Binding { how: How::Other, value: 0..0, indent: 0 };
            self.names.entry((scope, name)).or_default().push(binding);
        }
    }

    fn bind(&mut self, name: &str, scope: usize, binding: Binding) {
        // Attributes belong to the object, wherever they are set.
        let scope = if name.contains('.') { 0 } else { scope };
        self.names.entry((scope, name.to_owned())).or_default().push(binding);
    }

    fn line(&mut self, first: usize, end: usize, scope: usize, indent: usize) {
        let special = |at: &usize| {
            matches!(self.name(*at), Some("for" | "as" | "global" | "nonlocal"))
                || self.is(at + 1, ":=")
        };
        let special: Vec<usize> = (first..end).filter(special).take(MOST_SPECIAL).collect();
        for at in special {
            match self.name(at) {
                Some("for") => {
                    let until = (at..end).find(|n| self.name(*n) == Some("in")).unwrap_or(end);
                    self.others(at + 1..until, scope);
                }
                Some("as") => self.others(at + 1..(at + 2).min(end), scope),
                Some("global" | "nonlocal") => {
                    self.others(at + 1..end, scope);
                    self.others(at + 1..end, 0);
                }
                Some(_) if self.is(at + 1, ":=") => self.others(at..at + 1, scope),
                _ => {}
            }
        }
        let Some(name) = self.name(first).map(str::to_owned) else { return };
        let bind = |how, value| Binding { how, value, indent };
        // `NAME: type = value`
        let annotated = self.is(first + 1, ":");
        let sign = match annotated {
            true => (first + 1..end).find(|at| self.is(*at, "=")).unwrap_or(first + 1),
            false => first + 1,
        };
        if self.is(sign, "=") {
            // `a = b = value` and `a, b = ...` are not followed.
            let again = self.split(sign + 1..end, "=").len() > 1;
            let how = if again { How::Other } else { How::Set };
            self.bind(&name, scope, bind(how, sign + 1..end));
        } else if self.is(first + 1, "+=") {
            self.bind(&name, scope, bind(How::Add, first + 2..end));
        } else if self.is(first + 1, ",") && (first..end).any(|at| self.is(at, "=")) {
            let until = (first..end).find(|at| self.is(*at, "=")).unwrap_or(end);
            self.others(first..until, scope);
        } else if let Some((list, method)) = name.rsplit_once('.')
            && self.is(first + 1, "(")
        {
            let inside = first + 2..self.close(first + 1).min(end);
            match method {
                "extend" => self.bind(list, scope, bind(How::Add, inside)),
                "append" => self.bind(list, scope, bind(How::Append, inside)),
                // Other changes of a list are not followed: the list is then unknown.
                "insert" | "remove" | "pop" | "clear" => {
                    self.bind(list, scope, bind(How::Other, 0..0))
                }
                _ => {}
            }
        }
    }

    /// Returns the parts of a range between marks outside of brackets.
    fn split(&self, range: Range<usize>, mark: &str) -> Vec<Range<usize>> {
        self.work.set(self.work.get() + range.len());
        let (mut out, mut from, mut depth) = (Vec::new(), range.start, 0usize);
        for at in range.clone() {
            let Some(token) = self.tokens.get(at) else { break };
            if token.is("(") || token.is("[") || token.is("{") {
                depth += 1;
            } else if token.is(")") || token.is("]") || token.is("}") {
                depth = depth.saturating_sub(1);
            } else if depth == 0 && token.is(mark) {
                out.push(from..at);
                from = at + 1;
            }
        }
        out.push(from..range.end);
        out
    }

    /// Returns the scope in which a name has its values.
    fn key(&self, name: &str, scope: usize) -> Option<(usize, String)> {
        let mut here = if name.contains('.') { 0 } else { scope };
        loop {
            let key = (here, name.to_owned());
            if self.names.contains_key(&key) {
                return Some(key);
            }
            here = *self.parents.get(here).filter(|_| here != 0)?;
        }
    }

    /// Records that a list is included in another one.
    fn splice(&self, range: &Range<usize>) {
        if let (Some(name), true) = (self.name(range.start), range.len() == 1) {
            let scope = self.scopes.get(range.start).copied().unwrap_or_default();
            self.spliced.borrow_mut().extend(self.key(name, scope));
        }
    }
}
