//! Texts of programming languages as tokens: strings with the place of each byte, names, and marks. The parts of a
//! string that only a run determines are unknown. The meaning of the tokens is in `python` and `script`.

use crate::placed::{Placed, UNKNOWN};
use crate::shell::name_length;

/// A part of a string.
#[derive(Clone, Debug)]
pub(super) enum Part {
    Text(Placed),
    /// `{name}` of a Python f-string.
    Name(String, usize),
}

/// A token.
#[derive(Clone, Debug)]
pub(super) enum Token {
    Text {
        parts: Vec<Part>,
        at: usize,
    },
    /// A name, with dots: `self.cpu`. Also a number.
    Name {
        text: String,
        at: usize,
    },
    Mark {
        text: &'static str,
        at: usize,
    },
    /// The start of a logical line, and its indentation.
    Line {
        indent: usize,
    },
}

impl Token {
    pub(super) fn is(&self, mark: &str) -> bool {
        matches!(self, Self::Mark { text, .. } if *text == mark)
    }

    pub(super) fn name(&self) -> Option<&str> {
        match self {
            Self::Name { text, .. } => Some(text),
            _ => None,
        }
    }

    /// Returns its place.
    pub(super) fn at(&self) -> usize {
        match self {
            Self::Text { at, .. } | Self::Name { at, .. } | Self::Mark { at, .. } => *at,
            Self::Line { .. } => 0,
        }
    }
}

/// Marks of more than one character first.
const MARKS: [&str; 27] = [
    "==", "!=", "<=", ">=", "+=", "-=", "*=", "/=", ":=", "->", "**", "=", "+", "-", "*", "%", "(",
    ")", "[", "]", "{", "}", ",", ":", ";", "|", "?",
];

/// The most tokens of one file.
const MOST_TOKENS: usize = 100_000;

/// The tokens of Python.
pub(super) fn python(text: &str) -> Vec<Token> {
    let mut lexer = Lexer { text, at: 0, depth: 0, out: Vec::new() };
    lexer.line();
    while lexer.at < text.len() && lexer.out.len() < MOST_TOKENS {
        lexer.one();
    }
    lexer.out
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    out: Vec<Token>,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn line(&mut self) {
        let blanks = self.rest().len() - self.rest().trim_start_matches([' ', '\t']).len();
        self.at += blanks;
        // Empty lines and comments are not logical lines.
        if !self.rest().starts_with(['\n', '\r', '#']) && !self.rest().is_empty() {
            self.out.push(Token::Line { indent: blanks });
        }
    }

    fn one(&mut self) {
        let rest = self.rest();
        let Some(c) = rest.chars().next() else { return };
        let at = self.at;
        if c == '\n' {
            self.at += 1;
            if self.depth == 0 {
                self.line();
            }
            return;
        }
        if rest.starts_with("\\\n") {
            self.at += 2;
            return;
        }
        if c == '#' {
            self.at += rest.find('\n').unwrap_or(rest.len());
            return;
        }
        let prefix = rest.len() - rest.trim_start_matches(|c: char| "rRbBuUfF".contains(c)).len();
        if prefix <= 2 && rest.get(prefix..).is_some_and(|it| it.starts_with(['"', '\''])) {
            let kind = rest.get(..prefix).unwrap_or_default().to_ascii_lowercase();
            self.at += prefix;
            self.string(kind.contains('r'), kind.contains('f'));
            return;
        }
        let in_name = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        if in_name(c) {
            let length = rest.find(|c| !in_name(c)).unwrap_or(rest.len());
            let text = rest.get(..length).unwrap_or_default().to_owned();
            self.at += length;
            self.out.push(Token::Name { text, at });
            return;
        }
        if let Some(text) = MARKS.into_iter().find(|mark| rest.starts_with(mark)) {
            match text {
                "(" | "[" | "{" => self.depth += 1,
                ")" | "]" | "}" => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
            self.at += text.len();
            self.out.push(Token::Mark { text, at });
            return;
        }
        self.at += c.len_utf8();
    }

    fn string(&mut self, raw: bool, fields: bool) {
        let begin = self.at;
        let rest = self.rest();
        let Some(quote) = rest.get(..1) else { return };
        let triple = rest.get(..3).is_some_and(|it| it == quote.repeat(3));
        let close = if triple { quote.repeat(3) } else { quote.to_owned() };
        self.at += close.len();
        let (mut parts, mut text) = (Vec::new(), Placed::default());
        while let Some(c) = self.rest().chars().next() {
            let rest = self.rest();
            let at = self.at;
            if rest.starts_with(&close) {
                self.at += close.len();
                break;
            }
            // A string that is not closed ends with its line.
            if c == '\n' && !triple {
                break;
            }
            self.at += c.len_utf8();
            match c {
                '\\' if !raw => {
                    let next = self.rest().chars().next();
                    self.at += next.map_or(0, char::len_utf8);
                    match next {
                        Some('n' | 't' | 'r') => text.push(' ', at),
                        Some('\n') | None => {}
                        Some(next) => text.push(next, at + 1),
                    }
                }
                '{' | '}' if fields && rest.get(1..).is_some_and(|it| it.starts_with(c)) => {
                    self.at += 1;
                    text.push(c, at);
                }
                '{' if fields => {
                    let length = rest.find('}').unwrap_or(rest.len());
                    let name = rest.get(1..length).unwrap_or_default();
                    self.at = (at + length + 1).min(self.text.len());
                    let plain =
                        name.split('.').all(|it| !it.is_empty() && name_length(it) == it.len());
                    if plain {
                        parts.push(Part::Text(std::mem::take(&mut text)));
                        parts.push(Part::Name(name.to_owned(), at));
                    } else {
                        text.push(UNKNOWN, at);
                    }
                }
                _ => text.push(c, at),
            }
        }
        parts.push(Part::Text(text));
        self.out.push(Token::Text { parts, at: begin });
    }
}
