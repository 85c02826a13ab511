//! The values of expressions of Python, as far as the file itself determines them.

use super::{How, MOST_BINDINGS, MOST_DEPTH, MOST_VARIANTS, MOST_WORDS, Reader, Value};
use crate::formats::qemu::code::{Part, Token};
use crate::placed::{Placed, UNKNOWN};
use std::ops::Range;

impl Reader {
    /// Returns the value of a name.
    pub(super) fn value(&self, name: &str, scope: usize, at: usize, depth: usize) -> Value {
        let Some(key) = self.key(name, scope) else { return Value::Unknown(at) };
        let bindings = self.names.get(&key).map(Vec::as_slice).unwrap_or_default();
        let sets = bindings.iter().filter(|it| it.how == How::Set).count();
        let other = bindings.iter().any(|it| it.how == How::Other);
        if depth > MOST_DEPTH
            || bindings.len() > MOST_BINDINGS
            || sets == 0
            || other
            || bindings.first().is_some_and(|it| it.how != How::Set)
        {
            return Value::Unknown(at);
        }
        let mut lists: Vec<Vec<Placed>> = Vec::new();
        let mut text: Option<Placed> = None;
        let (mut done, mut base) = (Vec::new(), 0);
        for binding in bindings {
            let value = match binding.how {
                How::Append => Value::Lists(self.elements(binding.value.clone(), depth + 1)),
                _ => self.expression(binding.value.clone(), depth + 1),
            };
            match (binding.how, value) {
                (How::Set, Value::Lists(new)) => {
                    done.append(&mut lists);
                    (lists, base) = (new, binding.indent);
                }
                (How::Set, Value::Text(new)) if sets == 1 => {
                    (text, base) = (Some(new), binding.indent)
                }
                (How::Add, Value::Text(more)) if binding.indent <= base && text.is_some() => {
                    if let Some(text) = &mut text {
                        text.append(&more);
                    }
                }
                (How::Add | How::Append, Value::Lists(more)) if text.is_none() => {
                    lists = joined(&lists, &more, binding.indent > base);
                }
                (How::Add, Value::Unknown(at)) if text.is_none() => {
                    lists = joined(&lists, &[vec![unknown(at)]], false);
                }
                _ => return Value::Unknown(at),
            }
        }
        done.append(&mut lists);
        match text {
            Some(text) if done.is_empty() => Value::Text(text),
            None if !done.is_empty() => {
                done.truncate(MOST_VARIANTS);
                Value::Lists(done)
            }
            _ => Value::Unknown(at),
        }
    }

    /// Returns the value of an expression.
    pub(super) fn expression(&self, range: Range<usize>, depth: usize) -> Value {
        self.work.set(self.work.get() + range.len() + 1);
        let start = self.tokens.get(range.start).map_or(0, Token::at);
        if depth > MOST_DEPTH + 1 || self.spent() {
            return Value::Unknown(start);
        }
        let mut sum: Option<Value> = None;
        let terms = self.split(range, "+");
        let several = terms.len() > 1;
        for term in terms {
            if several {
                self.splice(&term);
            }
            let value = self.term(term, depth);
            sum = Some(match (sum, value) {
                (None, value) => value,
                (Some(Value::Lists(one)), Value::Lists(other)) => {
                    Value::Lists(joined(&one, &other, false))
                }
                (Some(Value::Lists(one)), Value::Unknown(at)) => {
                    Value::Lists(joined(&one, &[vec![unknown(at)]], false))
                }
                (Some(Value::Text(mut one)), Value::Text(other)) => {
                    one.append(&other);
                    Value::Text(one)
                }
                (Some(Value::Text(mut one)), Value::Unknown(at)) => {
                    one.push(UNKNOWN, at);
                    Value::Text(one)
                }
                (Some(Value::Unknown(at)), Value::Text(other)) => {
                    let mut one = unknown(at);
                    one.append(&other);
                    Value::Text(one)
                }
                (Some(Value::Unknown(at)), Value::Lists(other)) => {
                    Value::Lists(joined(&[vec![unknown(at)]], &other, false))
                }
                _ => Value::Unknown(start),
            });
        }
        sum.unwrap_or(Value::Unknown(start))
    }

    fn term(&self, range: Range<usize>, depth: usize) -> Value {
        let tokens = self.tokens.get(range.clone()).unwrap_or_default();
        let tokens = match tokens {
            [head @ .., Token::Line { .. }] => head,
            all => all,
        };
        let start = tokens.first().map_or(0, Token::at);
        let scope = self.scopes.get(range.start).copied().unwrap_or_default();
        match tokens {
            [Token::Name { text, at }] => self.value(text, scope, *at, depth + 1),
            [first, ..]
                if (first.is("[") || first.is("("))
                    && self.close(range.start) + 1 == range.start + tokens.len() =>
            {
                let inside = range.start + 1..self.close(range.start);
                // `("a" "b")` is not a list.
                if first.is("(") && self.split(inside.clone(), ",").len() == 1 {
                    return self.expression(inside, depth + 1);
                }
                Value::Lists(self.elements(inside, depth + 1))
            }
            [Token::Text { .. }, ..] => {
                let mut text = Placed::default();
                for (n, token) in tokens.iter().enumerate() {
                    match token {
                        Token::Text { parts, .. } => self.string(parts, scope, depth, &mut text),
                        // `"...".format(...)`, `"..." % ...`: the inserted values are not known.
                        _ if token.is("%") || token.name().is_some_and(|it| it == ".format") => {
                            let open = |c: char| matches!(c, '%' | '{');
                            match text.as_str().find(open) {
                                Some(from) => {
                                    let mut cut = text.slice(0..from);
                                    cut.push(UNKNOWN, token.at());
                                    return Value::Text(cut);
                                }
                                None => return Value::Text(text),
                            }
                        }
                        _ if n > 0 => return Value::Unknown(start),
                        _ => {}
                    }
                }
                Value::Text(text)
            }
            _ => Value::Unknown(start),
        }
    }

    fn string(&self, parts: &[Part], scope: usize, depth: usize, text: &mut Placed) {
        for part in parts {
            match part {
                Part::Text(part) => text.append(part),
                Part::Name(name, at) => match self.value(name, scope, *at, depth + 1) {
                    Value::Text(value) => text.append(&value),
                    _ => text.push(UNKNOWN, *at),
                },
            }
        }
    }

    /// Returns the alternatives of a list, from its elements.
    pub(super) fn elements(&self, range: Range<usize>, depth: usize) -> Vec<Vec<Placed>> {
        let mut lists: Vec<Vec<Placed>> = vec![Vec::new()];
        for element in self.split(range, ",") {
            let line = matches!(self.tokens.get(element.start), Some(Token::Line { .. }));
            let element = element.start + usize::from(line)..element.end;
            if element.is_empty() || self.spent() {
                continue;
            }
            let star = self.is(element.start, "*");
            let start = element.start + usize::from(star);
            if star {
                self.splice(&(start..element.end));
            }
            let more = match self.expression(start..element.end, depth + 1) {
                Value::Lists(lists) if star => lists,
                Value::Text(text) if !star => vec![vec![text]],
                Value::Lists(_) | Value::Text(_) => {
                    vec![vec![unknown(self.tokens.get(start).map_or(0, Token::at))]]
                }
                Value::Unknown(at) => vec![vec![unknown(at)]],
            };
            lists = joined(&lists, &more, false);
        }
        lists
    }
}

/// Returns a word that is known only when the program runs.
fn unknown(at: usize) -> Placed {
    let mut text = Placed::default();
    text.push(UNKNOWN, at);
    text
}

/// Returns each list joined with every other one. Under a condition, a repeated -cpu means another command line, and so
/// does a device of the host, which keeps the machine there.
fn joined(one: &[Vec<Placed>], other: &[Vec<Placed>], condition: bool) -> Vec<Vec<Placed>> {
    let has = |list: &[Placed]| list.iter().any(|word| word.as_str() == "-cpu");
    let device = |list: &[Placed]| list.iter().any(|word| word.as_str().starts_with("vfio-"));
    let mut out = Vec::new();
    for first in one {
        for second in other {
            let mut list = first.clone();
            let repeats = condition && has(first) && has(second);
            if repeats || condition && device(second) {
                out.push(first.clone());
            }
            if repeats && let Some(at) = list.iter().position(|word| word.as_str() == "-cpu") {
                list.drain(at..(at + 2).min(list.len()));
            }
            list.extend(second.iter().cloned());
            list.truncate(MOST_WORDS);
            out.push(list);
        }
    }
    out.truncate(MOST_VARIANTS);
    out
}
