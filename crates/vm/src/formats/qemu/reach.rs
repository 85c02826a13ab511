//! Parts of a script that may not run: loops, groups after `&&` and `||`, functions that nothing certainly calls. What
//! is only in such a part may not be in the command line.

use super::script::{begin, end};
use crate::shell::Statement;
use std::ops::Range;

/// The limit of parts that are read.
const MOST: usize = 1024;
/// The limit of functions that call each other.
const MOST_DEPTH: usize = 8;
/// Words before a command, in the same statement.
const BEFORE: [&str; 10] = ["then", "else", "do", "if", "elif", "while", "until", "!", "{", "time"];

/// A function of the script.
#[derive(Clone, Debug)]
struct Function {
    body: Range<usize>,
    /// The places where it is called.
    calls: Vec<usize>,
}

/// The parts of a script that may not run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reach {
    optional: Vec<Range<usize>>,
    functions: Vec<Function>,
}

/// A part that is open.
enum Open<'a> {
    /// `if`, `case`.
    Condition,
    /// The body of a loop, and whether it certainly runs.
    Loop(bool),
    /// `{`, and whether it is after a condition.
    Group(bool),
    Function(&'a str),
}

impl Reach {
    /// Reads the parts. `conditional` has those that a condition of the script begins.
    pub(crate) fn of(text: &str, all: &[Statement], conditional: &[Range<usize>]) -> Self {
        let mut reach = Self { optional: conditional.to_vec(), ..Self::default() };
        let mut names: Vec<&str> = Vec::new();
        let mut open: Vec<(usize, Open<'_>)> = Vec::new();
        for (number, statement) in all.iter().enumerate() {
            if reach.optional.len() + reach.functions.len() > MOST + conditional.len() {
                break;
            }
            let at = begin(statement);
            let words: Vec<&str> =
                statement.words.iter().map(|word| word.literal().unwrap_or_default()).collect();
            let first = words.first().copied().unwrap_or_default();
            let closes: fn(&Open<'_>) -> bool = match first {
                "fi" | "esac" => |it| matches!(it, Open::Condition),
                "done" => |it| matches!(it, Open::Loop(_)),
                "}" => |it| matches!(it, Open::Group(_) | Open::Function(_)),
                _ => |_| false,
            };
            if let Some(last) = open.iter().rposition(|(_, it)| closes(it)) {
                open.truncate(last + 1);
                match open.pop() {
                    Some((from, Open::Loop(false) | Open::Group(true) | Open::Condition)) => {
                        reach.optional.push(from..end(statement));
                    }
                    Some((from, Open::Function(name))) => {
                        names.push(name);
                        let body = from..end(statement);
                        reach.functions.push(Function { body, calls: Vec::new() });
                    }
                    _ => {}
                }
                continue;
            }
            let before = number.checked_sub(1).and_then(|number| all.get(number));
            let named = function(text, before, statement, &words);
            for (n, word) in words.iter().enumerate() {
                match *word {
                    "if" | "case" => open.push((at, Open::Condition)),
                    "while" | "until" | "select" => open.push((at, Open::Loop(false))),
                    "for" => open.push((at, Open::Loop(runs(words.get(n..).unwrap_or_default())))),
                    "{" if n == 0 && named.is_none() => {
                        open.push((at, Open::Group(statement.conditional)));
                    }
                    _ => {}
                }
                if !BEFORE.contains(word) {
                    break;
                }
            }
            open.extend(named.map(|name| (at, Open::Function(name))));
        }
        for statement in all {
            let Some(name) = called(text, statement) else { continue };
            let of_name = reach.functions.iter_mut().zip(&names).filter(|(_, it)| **it == name);
            of_name.for_each(|(function, _)| function.calls.push(begin(statement)));
        }
        reach
    }

    /// Returns whether the text at an offset may not run although the texts at the other offsets do.
    pub(crate) fn optional(&self, at: usize, beside: &[usize]) -> bool {
        !self.certain(at, beside, 0)
    }

    fn certain(&self, at: usize, beside: &[usize], depth: usize) -> bool {
        let around = |range: &Range<usize>| {
            range.contains(&at) && !beside.iter().any(|other| range.contains(other))
        };
        if self.optional.iter().any(around) {
            return false;
        }
        let mut functions = self.functions.iter().filter(|it| around(&it.body));
        functions.all(|function| {
            let called = |call: &&usize| {
                !function.body.contains(call) && self.certain(**call, beside, depth + 1)
            };
            depth < MOST_DEPTH && function.calls.iter().take(MOST_DEPTH).any(|it| called(&it))
        })
    }
}

/// Returns the name of the command that a statement runs; a definition of a function runs none.
fn called<'a>(text: &str, statement: &'a Statement) -> Option<&'a str> {
    let mut words = statement.words.iter().filter_map(|word| Some((word, word.literal()?)));
    let (word, name) = words.find(|(_, text)| !BEFORE.contains(text))?;
    let behind = text.get(word.span.end..)?.trim_start_matches([' ', '\t']);
    (!behind.starts_with('(')).then_some(name)
}

/// Returns the name of a function whose body begins with a statement: `name() {`, `function name {`.
fn function<'a>(
    text: &str,
    before: Option<&'a Statement>,
    statement: &'a Statement,
    words: &[&str],
) -> Option<&'a str> {
    if words.first() == Some(&"function") && words.get(2) == Some(&"{") {
        return statement.words.get(1)?.literal();
    }
    if words.first() != Some(&"{") {
        return None;
    }
    let name = before?.words.last()?;
    let alone = matches!(before?.words.as_slice(), [_])
        || before?.words.first()?.literal() == Some("function");
    let between = text.get(name.span.end..begin(statement))?;
    let brackets: String = between.chars().filter(|c| !c.is_whitespace()).collect();
    let named = before?.words.first()?.literal() == Some("function");
    (alone && (brackets == "()" || named && brackets.is_empty())).then(|| name.literal())?
}

/// Returns whether the body of `for NAME in WORDS` certainly runs: one of the words is plain.
fn runs(words: &[&str]) -> bool {
    words.get(2) == Some(&"in")
        && words.iter().skip(3).any(|word| !word.is_empty() && !word.contains(['*', '?', '[']))
}
