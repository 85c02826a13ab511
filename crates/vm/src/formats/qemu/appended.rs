//! Functions that write a command line one part at a time: `add() { echo "$1" >> FILE; }` and `add "-cpu host \\"`, or
//! `add() { CMD+=" $*"; }`. The arguments of such a function are joined as the function would write them. Any other
//! function that gets QEMU options is reported, because only a run shows its effect.

use super::command::strong;
use super::script::tests;
use super::variables::{Value, Variables};
use crate::placed::Placed;
use crate::shell::{Piece, Statement, Word, name_length};
use crate::words::listed;
use std::collections::BTreeMap;
use std::ops::Range;

/// The limit of functions that are read.
const MOST: usize = 64;
/// The limit of the joined text, in bytes; a command line has no more.
const MOST_WRITTEN: usize = 60 << 10;
/// Words before a command.
const BEFORE: &str = "{ then else do ! command";

/// The destination of a function's arguments.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Target {
    /// The end of a file, by the words that name it.
    File(String),
    Variable(String),
}

/// A function that writes its arguments to a destination.
struct Helper<'a> {
    target: Target,
    /// The word that it writes there.
    word: &'a Word,
    /// Names of variables that have an argument.
    locals: Vec<&'a str>,
    /// The character that follows it.
    end: Option<char>,
}

/// The functions of a script.
#[derive(Default)]
pub(super) struct Helpers<'a> {
    text: &'a str,
    known: BTreeMap<&'a str, Helper<'a>>,
    /// Functions whose use of their arguments is not known.
    others: Vec<&'a str>,
    bodies: Vec<Range<usize>>,
    /// The text written so far, by destination.
    written: BTreeMap<Target, Placed>,
    /// Whether the limits were exceeded.
    pub(super) cut: bool,
}

/// Returns the words of a command after those that may precede it.
pub(super) fn behind(words: &[Word]) -> &[Word] {
    let before = |word: &&Word| word.literal().is_some_and(|it| listed(BEFORE, it));
    words.get(words.iter().take_while(before).count()..).unwrap_or_default()
}

/// A function: its name, and the statements in it.
pub(super) fn function<'a>(
    text: &'a str,
    all: &'a [Statement],
    at: usize,
) -> Option<(&'a str, usize)> {
    let words = all.get(at)?.words.as_slice();
    let (name, behind, named) = match words {
        [word] => (word.literal()?, word.span.end, false),
        [function, word, ..] if function.literal() == Some("function") => {
            (word.literal()?, word.span.end, true)
        }
        _ => return None,
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    let rest = text.get(behind..)?.trim_start();
    let brackets = rest.strip_prefix('(').is_some_and(|rest| rest.trim_start().starts_with(')'));
    (name.chars().all(plain) && !name.starts_with('-') && (brackets || named))
        .then_some((name, if named && !brackets { at } else { at + 1 }))
}

impl<'a> Helpers<'a> {
    /// The functions of a script.
    pub(super) fn of(text: &'a str, all: &'a [Statement]) -> Self {
        let mut found = Self { text, ..Self::default() };
        if !text.contains("()") && !text.contains("function ") {
            return found;
        }
        let mut at = 0;
        while at < all.len() && found.bodies.len() + found.others.len() < MOST {
            let Some((name, first)) = function(text, all, at) else {
                at += 1;
                continue;
            };
            let word =
                |n: usize| all.get(n).and_then(|it| it.words.first()).and_then(Word::literal);
            let end = (first..all.len()).find(|n| word(*n) == Some("}")).unwrap_or(all.len());
            let body = all.get(first..end).unwrap_or_default();
            match found.helper(body) {
                Some(helper) => {
                    found.known.insert(name, helper);
                    found.bodies.push(first..end);
                }
                None => found.others.push(name),
            }
            at = first.max(at + 1);
        }
        found
    }

    /// Returns the write of a function that does nothing else.
    fn helper(&self, body: &'a [Statement]) -> Option<Helper<'a>> {
        let mut locals = Vec::new();
        let mut helper = None;
        for statement in body {
            let words = match statement.words.as_slice() {
                [function, _, rest @ ..] if function.literal() == Some("function") => rest,
                words => words,
            };
            match behind(words) {
                [] => {}
                [local, word]
                    if local.literal() == Some("local") && self.argument(word).is_some() =>
                {
                    locals.extend(self.argument(word));
                }
                _ if helper.is_some() => return None,
                words => helper = Some(self.puts(words, statement.array.as_deref())?),
            }
        }
        let (target, word, end) = helper?;
        Some(Helper { target, word, locals, end })
    }

    /// Returns the name in `NAME="$1"`.
    fn argument(&self, word: &'a Word) -> Option<&'a str> {
        let [Piece::Literal(name), Piece::Opaque { at }] = word.pieces.as_slice() else {
            return None;
        };
        let name = name.as_str().strip_suffix('=')?;
        (name_length(name) == name.len() && self.positional(*at)).then_some(name)
    }

    /// Whether an expansion is of the arguments of a function.
    fn positional(&self, at: usize) -> bool {
        let rest = self.text.get(at..).unwrap_or_default();
        ["$1", "$*", "$@", "${1}", "${*}", "${@}"].iter().any(|it| rest.starts_with(it))
    }

    /// Returns the write of a command: the destination, the word, and the character after it.
    fn puts(
        &self,
        words: &'a [Word],
        array: Option<&'a [Word]>,
    ) -> Option<(Target, &'a Word, Option<char>)> {
        if let ([word], array) = (words, array) {
            return self.appends(word, array);
        }
        let (tool, rest) = words.split_first()?;
        let option = |word: &&Word| word.literal().is_some_and(|it| it.starts_with('-'));
        let options: String = rest.iter().take_while(option).filter_map(Word::literal).collect();
        let rest = rest.get(rest.iter().take_while(option).count()..)?;
        let (word, file, end) = match (tool.literal()?, rest) {
            ("echo", [word, file]) => (word, file, (!options.contains('n')).then_some('\n')),
            ("printf", [format, word, file]) => {
                let format = format.literal()?;
                let end = match format {
                    "%s" => None,
                    "%s " | " %s" => Some(' '),
                    "%s\\n" | "%s \\n" => Some('\n'),
                    _ => return None,
                };
                (word, file, end)
            }
            _ => return None,
        };
        let between = self.text.get(word.span.end..file.span.start)?.trim();
        (between == ">>").then(|| (Target::File(self.named(file)), word, end))
    }

    /// `NAME+=" $*"`, `NAME="$NAME $*"`, `NAME+=("$@")`.
    fn appends(
        &self,
        word: &'a Word,
        array: Option<&'a [Word]>,
    ) -> Option<(Target, &'a Word, Option<char>)> {
        let Some(Piece::Literal(first)) = word.pieces.first() else { return None };
        let name = first.as_str().get(..name_length(first.as_str()))?;
        let rest = first.as_str().get(name.len()..)?;
        let target = Target::Variable(name.to_owned());
        match array {
            Some([one]) if rest == "+=" => Some((target, one, None)),
            None if rest.starts_with("+=") => Some((target, word, None)),
            None if rest == "=" => {
                let itself =
                    |piece: &Piece| matches!(piece, Piece::Variable { name: it, .. } if it == name);
                word.pieces.get(1).is_some_and(itself).then_some((target, word, None))
            }
            _ => None,
        }
    }

    /// Returns the words that name a file, in their spelling.
    fn named(&self, file: &Word) -> String {
        let source = self.text.get(file.span.clone()).unwrap_or_default();
        source.replace(['"', '\'', '{', '}'], "")
    }

    /// Whether a statement is in a function that is understood.
    pub(super) fn inside(&self, statement: usize) -> bool {
        self.bodies.iter().any(|body| body.contains(&statement))
    }

    /// Whether any function is understood.
    pub(super) fn any(&self) -> bool {
        !self.known.is_empty()
    }

    /// Reads a statement that calls such a function, or writes to the same file; returns whether it does.
    pub(super) fn take(&mut self, variables: &mut Variables, words: &'a [Word]) -> bool {
        let words = behind(words);
        let Some((first, arguments)) = words.split_first() else { return false };
        let Some(helper) = first.literal().and_then(|name| self.known.get(name)) else {
            return self.direct(variables, words);
        };
        let arguments = variables.expand(arguments, None);
        if let (Target::Variable(name), [Piece::Opaque { at }]) =
            (&helper.target, helper.word.pieces.as_slice())
            && self.positional(*at)
        {
            let quoted = self.text.get(helper.word.span.clone()).is_some_and(|it| it.contains('"'));
            let words = match quoted {
                true => arguments,
                false => arguments.iter().flat_map(Placed::words).collect(),
            };
            variables.more(name, Value::Array(words));
            return true;
        }
        let mut text = Placed::default();
        let mut given = Placed::default();
        for (n, argument) in arguments.iter().enumerate() {
            if n > 0 {
                given.push(' ', argument.span().start);
            }
            given.append(argument);
        }
        let skip = matches!(helper.target, Target::Variable(_)) && helper.word.span.start > 0;
        for (n, piece) in helper.word.pieces.iter().enumerate() {
            match piece {
                Piece::Opaque { at } if self.positional(*at) => text.append(&given),
                Piece::Variable { name, .. } if helper.locals.contains(&name.as_str()) => {
                    text.append(&given);
                }
                // `NAME+=` and `NAME=$NAME` before the appended text.
                Piece::Literal(literal) if skip && n == 0 => {
                    let sign = literal.as_str().find('=').map_or(0, |n| n + 1);
                    text.append(&literal.slice(sign..literal.as_str().len()));
                }
                Piece::Variable { name, .. } if helper.target == Target::Variable(name.clone()) => {
                }
                piece => variables.piece(piece, None, &mut text),
            }
        }
        let end = words.last().map_or(0, |word| word.span.end);
        match helper.target.clone() {
            Target::Variable(name) => variables.more(&name, Value::Scalar(text)),
            target => {
                let last = helper.end;
                self.add(target, &text, last, end);
            }
        }
        true
    }

    /// Reads `echo "qemu-system-x86_64 \\" > FILE` next to a function that writes to the same file.
    fn direct(&mut self, variables: &Variables, words: &'a [Word]) -> bool {
        let [tool, rest @ .., file] = words else { return false };
        if tool.literal() != Some("echo") || self.known.is_empty() {
            return false;
        }
        let target = Target::File(self.named(file));
        let (open, word) = match rest {
            [n, word] if n.literal() == Some("-n") => (true, word),
            [word] => (false, word),
            _ => return false,
        };
        let between = self.text.get(word.span.end..file.span.start).map(str::trim);
        if !matches!(between, Some(">" | ">>"))
            || !self.known.values().any(|it| it.target == target)
        {
            return false;
        }
        let mut text = Placed::default();
        word.pieces.iter().for_each(|piece| variables.piece(piece, None, &mut text));
        self.add(target, &text, (!open).then_some('\n'), file.span.end);
        true
    }

    fn add(&mut self, target: Target, text: &Placed, last: Option<char>, end: usize) {
        let all = self.written.entry(target).or_default();
        if all.as_str().len() + text.as_str().len() > MOST_WRITTEN {
            self.cut = true;
            return;
        }
        all.append(text);
        if let Some(last) = last {
            all.push(last, end);
        }
    }

    /// Returns the texts that were written to files.
    pub(super) fn written(&self) -> impl Iterator<Item = &Placed> {
        self.written.values()
    }

    /// Returns the place of a call with QEMU options to a function whose use of them is not known.
    pub(super) fn unknown(&self, all: &'a [Statement]) -> Option<Range<usize>> {
        let options = |word: &Word| {
            let text = word.pieces.iter().find_map(|piece| match piece {
                Piece::Literal(text) => Some(text.as_str()),
                _ => None,
            });
            text.is_some_and(|text| text.split_whitespace().any(strong))
        };
        let calls = |statement: &&Statement| {
            let words = behind(&statement.words);
            let (Some(first), Some(rest)) = (words.first(), words.get(1..)) else { return false };
            first.literal().is_some_and(|name| self.others.contains(&name))
                && !tests(statement)
                && rest.iter().any(options)
        };
        let call = all.iter().find(calls)?;
        call.words
            .iter()
            .find(|word| word.literal().is_some_and(|it| self.others.contains(&it)))
            .map(|word| word.span.clone())
    }
}
