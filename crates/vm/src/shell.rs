//! A shell script as statements of words, with the place of each byte. Simple on purpose: a construct that it does not
//! understand becomes an unknown part of a word, never a guess.

mod documents;
mod expansion;
mod labels;
mod nix;
mod programs;
mod unit;

use crate::placed::Placed;
use documents::Index;
pub(crate) use expansion::name_length;
use labels::Labels;
use nix::is_nix;
pub(crate) use programs::Programs;
use std::collections::HashMap;
use std::ops::Range;
use unit::remarks_of_unit;
pub(crate) use unit::{is_remark_of_unit, is_unit};

/// A part of a word.
#[derive(Clone, Debug)]
pub(crate) enum Piece {
    /// Text; its quotes no longer matter.
    Literal(Placed),
    /// `$NAME`, `${NAME}`, `${NAME:-default}`, `${NAME[@]}`, `${NAME[*]}` (`joined`), `$(NAME)` of make.
    /// `or_empty`: the default also replaces an empty value (`:-`).
    Variable {
        name: String,
        default: Option<Placed>,
        or_empty: bool,
        quoted: bool,
        joined: bool,
        at: usize,
    },
    /// A command substitution, an arithmetic expression, a template.
    Opaque { at: usize },
}

/// A word.
#[derive(Clone, Debug, Default)]
pub(crate) struct Word {
    pub(crate) pieces: Vec<Piece>,
    pub(crate) span: Range<usize>,
}

impl Word {
    /// Returns its text, if it is only text.
    pub(crate) fn literal(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [Piece::Literal(text)] => Some(text.as_str()),
            _ => None,
        }
    }
}

/// A simple command, or an assignment of an array.
#[derive(Clone, Debug, Default)]
pub(crate) struct Statement {
    pub(crate) words: Vec<Word>,
    /// The words of `NAME=( ... )`; the last word of `words` is then `NAME=`.
    pub(crate) array: Option<Vec<Word>>,
    /// After `&&` or `||`.
    pub(crate) conditional: bool,
}

/// The limit of statements that are read: each takes a few hundred bytes, and no script written by a person has that
/// many.
pub(crate) const MOST_STATEMENTS: usize = 1 << 16;

/// Returns where the first statement begins that is not read.
pub(crate) fn crowded(text: &str) -> Option<usize> {
    // Each takes at least two bytes.
    (text.len() / 2 > MOST_STATEMENTS).then(|| lexed(text).cut).flatten()
}

/// Splits a script.
pub(crate) fn statements(text: &str) -> Vec<Statement> {
    let (mut out, nested) = read(text);
    // From the last one, so that the places of the others do not change.
    for (index, span) in nested.into_iter().rev() {
        let inner = text.get(span.clone()).unwrap_or_default();
        let (inside, _) = read(&format!("{}{inner}", " ".repeat(span.start)));
        let index = index.min(out.len());
        out.splice(index..index, inside);
    }
    out
}

/// Returns the statements, and the substitutions that start a machine, each with the number of statements before it.
fn read(text: &str) -> (Vec<Statement>, Vec<(usize, Range<usize>)>) {
    let lexer = lexed(text);
    (lexer.out, lexer.nested)
}

fn lexed(text: &str) -> Lexer<'_> {
    let mut lexer = Lexer {
        text,
        at: 0,
        out: Vec::new(),
        now: Statement::default(),
        here: Vec::new(),
        document: 0..0,
        index: None,
        next: HashMap::new(),
        unbalanced: 0,
        labels: Labels::default(),
        unit: is_unit(text),
        nix: is_nix(text),
        nested: Vec::new(),
        cut: None,
    };
    lexer.run();
    lexer
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    out: Vec<Statement>,
    now: Statement,
    /// The words that end documents, and whether a shell expands variables in them.
    here: Vec<(&'a str, bool)>,
    /// A document that is read as a script, and whose variables are expanded: `\\\\` is one backslash in it.
    document: Range<usize>,
    index: Option<Index<'a>>,
    /// The next place of each mark, as far as it was searched: no text is searched twice.
    next: HashMap<&'static str, usize>,
    /// The number of brackets whose end was not found.
    unbalanced: usize,
    labels: Labels,
    /// Whether it is a unit.
    unit: bool,
    /// Whether it is an expression of Nix, which contains scripts in strings.
    nix: bool,
    /// Command substitutions that start a machine, and the number of statements before each one.
    nested: Vec<(usize, Range<usize>)>,
    /// The place where reading ended early.
    cut: Option<usize>,
}

impl<'a> Lexer<'a> {
    /// Returns the next place of a mark, or the end of the text.
    fn find(&mut self, mark: &'static str) -> usize {
        match self.next.get(mark) {
            Some(at) if *at >= self.at => *at,
            _ => {
                let at = self.rest().find(mark).map_or(self.text.len(), |n| self.at + n);
                self.next.insert(mark, at);
                at
            }
        }
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn skip(&mut self, c: char) {
        self.at += c.len_utf8();
    }

    /// The length of a continued line's end: `\` of shells, `^` of Windows, a backquote of PowerShell.
    fn continuation(&self) -> usize {
        let rest = self.rest();
        for end in ["\\\n", "\\\r\n", "^\n", "^\r\n", "`\n", "`\r\n"] {
            if let Some(rest) = rest.strip_prefix(end) {
                let remarks = if self.of_unit() { remarks_of_unit(rest) } else { 0 };
                return end.len() + remarks;
            }
        }
        match self.document.contains(&self.at) && rest.starts_with("\\\\\n") {
            true => 3,
            false => 0,
        }
    }

    /// Returns whether the statement is a line of a unit that runs a command, even in a script that writes a unit.
    fn of_unit(&self) -> bool {
        let first = self.now.words.first().and_then(|word| word.pieces.first());
        let runs = |text: &str| text.starts_with("Exec") || text.starts_with("Environment");
        self.unit
            && matches!(first, Some(Piece::Literal(text)) if text.as_str().contains('=') && runs(text.as_str()))
    }

    /// Ends a statement.
    fn end(&mut self, conditional: bool) {
        if !self.now.words.is_empty() {
            // Most have few words.
            self.now.words.shrink_to_fit();
            self.out.push(std::mem::take(&mut self.now));
        }
        self.now = Statement { conditional, ..Statement::default() };
    }

    fn run(&mut self) {
        while let Some(c) = self.peek() {
            if self.out.len() >= MOST_STATEMENTS {
                self.cut = Some(self.at);
                return;
            }
            let continued = self.continuation();
            if continued > 0 {
                self.at += continued;
                // Blanks and an empty comment line are ignored.
                continue;
            }
            if self.label(c) {
                continue;
            }
            match c {
                '\n' => {
                    self.skip(c);
                    self.end(false);
                    self.here_documents();
                }
                '#' => self.comment(),
                '&' | '|' => {
                    let double = self.rest().starts_with("&&") || self.rest().starts_with("||");
                    self.at += if double { 2 } else { 1 };
                    self.end(double);
                }
                ';' | ')' => {
                    self.skip(c);
                    self.end(false);
                }
                '(' => {
                    self.skip(c);
                    let opens = self.now.words.last().is_some_and(|word| {
                        word.span.end + 1 == self.at
                            && word.literal().is_some_and(|t| t.ends_with('='))
                    });
                    if opens {
                        self.now.array = Some(self.array());
                    }
                    self.end(false);
                }
                // A here-string: the next word is its text.
                '<' if self.rest().starts_with("<<<") => self.at += 3,
                '<' if self.rest().starts_with("<<") => {
                    self.here_document();
                }
                '<' | '>' => self.skip(c),
                _ if c.is_whitespace() => self.skip(c),
                _ => {
                    if let Some(word) = self.word() {
                        self.now.words.push(word);
                        self.labels_behind_word();
                    }
                }
            }
        }
        self.end(false);
    }

    fn comment(&mut self) {
        self.at += self.rest().find('\n').unwrap_or(self.rest().len());
    }

    fn array(&mut self) -> Vec<Word> {
        let mut words = Vec::new();
        while let Some(c) = self.peek() {
            let continued = self.continuation();
            match c {
                _ if continued > 0 => self.at += continued,
                ')' => {
                    self.skip(c);
                    break;
                }
                '#' => self.comment(),
                _ if c.is_whitespace() || "();|&<>".contains(c) => self.skip(c),
                _ => words.extend(self.word()),
            }
        }
        words
    }

    /// Reads one word. The next character is not one of those that end a word.
    fn word(&mut self) -> Option<Word> {
        let start = self.at;
        let mut pieces = Vec::new();
        let mut text = Placed::default();
        let mut any = false;
        let mut end = start;
        while let Some(c) = self.peek() {
            // A shell removes it, and the word continues.
            if self.rest().starts_with("\\\n") && !self.unit {
                self.at += 2;
                continue;
            }
            if self.continuation() > 0 || c.is_whitespace() || ";|&()<>".contains(c) {
                break;
            }
            any = true;
            match c {
                '\\' => {
                    self.skip(c);
                    if let Some(next) = self.peek() {
                        text.push(next, self.at);
                        self.skip(next);
                    }
                }
                '\'' if self.nix && self.nix_quote() > 0 => self.at += self.nix_quote(),
                '\'' => self.single(&mut text),
                '"' => self.double(&mut text, &mut pieces),
                '$' | '`' => self.substitution(false, &mut text, &mut pieces),
                '{' if self.rest().starts_with("{{") => self.template(&mut text, &mut pieces),
                _ => {
                    text.push(c, self.at);
                    self.skip(c);
                }
            }
            end = self.at;
        }
        if !any {
            // The character that ended the word at once must not end it again and again.
            if let Some(c) = self.peek() {
                self.skip(c);
            }
            return None;
        }
        flush(&mut text, &mut pieces);
        pieces.shrink_to_fit();
        Some(Word { pieces, span: start..end })
    }

    fn single(&mut self, text: &mut Placed) {
        let inner = self.at + 1;
        let closed = self.text.get(inner..).and_then(|rest| rest.find('\''));
        match closed {
            Some(length) => {
                text.push_str(self.text.get(inner..inner + length).unwrap_or_default(), inner);
                self.at = inner + length + 1;
            }
            // An apostrophe in words.
            None => self.at = inner,
        }
    }

    fn double(&mut self, text: &mut Placed, pieces: &mut Vec<Piece>) {
        self.at += 1;
        if closing(self.rest()).is_none() {
            return;
        }
        while let Some(c) = self.peek() {
            let continued = self.continuation();
            match c {
                '"' => {
                    self.skip(c);
                    return;
                }
                _ if continued > 0 => {
                    self.at += continued;
                }
                '\\' => {
                    self.skip(c);
                    match self.peek() {
                        Some(next @ ('"' | '\\' | '$' | '`')) => {
                            text.push(next, self.at);
                            self.skip(next);
                        }
                        _ => text.push('\\', self.at - 1),
                    }
                }
                '$' | '`' => self.substitution(true, text, pieces),
                '{' if self.rest().starts_with("{{") => self.template(text, pieces),
                _ => {
                    text.push(c, self.at);
                    self.skip(c);
                }
            }
        }
    }
}

fn flush(text: &mut Placed, pieces: &mut Vec<Piece>) {
    if !text.is_empty() {
        pieces.push(Piece::Literal(std::mem::take(text)));
    }
}

/// Returns the place of the closing quote.
fn closing(text: &str) -> Option<usize> {
    let mut escaped = false;
    for (n, c) in text.char_indices() {
        match c {
            '"' if !escaped => return Some(n),
            _ => escaped = c == '\\' && !escaped,
        }
    }
    None
}
