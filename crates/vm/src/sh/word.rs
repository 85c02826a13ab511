//! Words: quotes and expansions.

use super::grammar::Reader;
use super::remark::is_remark;
use super::{Form, Obstacle, Use, Word};
use crate::shell::name_length;

/// Marks the source of an expansion in the text of a word.
pub(super) const MARK: char = '\u{1}';

/// A word that is being read.
struct Open {
    word: Word,
    /// The start of the present part of plain text.
    run: Option<usize>,
}

impl Open {
    fn push(&mut self, c: char, at: usize) {
        self.word.text.push(c);
        self.run.get_or_insert(at);
    }

    /// Ends the part of plain text.
    fn cut(&mut self, at: usize) {
        if let Some(start) = self.run.take() {
            self.word.runs.push(start..at);
        }
    }

    fn expansion(&mut self, source: &str, quoted: bool) {
        self.word.text.push(MARK);
        self.word.text.push_str(source);
        self.word.text.push(MARK);
        self.word.expands = true;
        self.word.splits |= !quoted;
    }
}

/// Returns whether a character ends a word outside of quotes.
pub(super) fn ends(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')')
}

impl Reader<'_> {
    /// Reads a word; `regex`: it follows `=~`, and brackets and bars in it are letters.
    pub(super) fn word(&mut self, regex: bool) -> Result<Word, Obstacle> {
        let start = self.at;
        let mut open = Open { word: Word::default(), run: None };
        let mut patterns = false;
        // A process substitution is a separate word.
        if self.rest().starts_with("<(") || self.rest().starts_with(">(") {
            self.at += 1;
            self.substitution()?;
            open.expansion(self.slice(start), true);
        }
        while let Some(c) = self.peek() {
            let at = self.at;
            match c {
                '(' if regex || self.extended(start) => {
                    open.cut(at);
                    self.brackets()?;
                    open.word.splits = true;
                    open.word.text.push_str(self.slice(at));
                }
                '|' | '<' | '>' | ')' if regex => {
                    open.push(c, at);
                    self.at += 1;
                }
                _ if ends(c) => break,
                '\\' => {
                    open.cut(at);
                    self.at += 1;
                    match self.take() {
                        Some('\n') => {}
                        Some(next) => open.word.text.push(next),
                        None => return Err(self.obstacle("a backslash at its end")),
                    }
                }
                '\'' => {
                    open.cut(at);
                    self.at += 1;
                    let length = self.rest().find('\'');
                    let length =
                        length.ok_or_else(|| self.obstacle("a quote that is not closed"))?;
                    let text = self.rest().get(..length).unwrap_or_default();
                    open.word.text.push_str(text);
                    open.word.lines |= text.contains('\n');
                    open.word.runs.push(self.at..self.at + length);
                    self.at += length + 1;
                }
                '"' => {
                    open.cut(at);
                    self.at += 1;
                    self.quoted(&mut open)?;
                }
                '$' | '`' => {
                    self.dollar(&mut open, false)?;
                    if is_remark(self.slice(at)) {
                        self.script.comments.push(at..self.at);
                    }
                }
                _ => {
                    patterns |= matches!(c, '*' | '?' | '[' | '{' | '}' | '~');
                    open.push(c, at);
                    self.at += c.len_utf8();
                }
            }
        }
        open.cut(self.at);
        // A bracket or a brace by itself is a letter.
        let alone = matches!(open.word.text.as_str(), "[" | "{" | "}" | "{}");
        open.word.splits |= patterns && !alone;
        // A line continuation after the last letter is not a part of the word.
        let whole = self.slice(start);
        open.word.span = start..start + whole.trim_end_matches("\\\n").len();
        Ok(open.word)
    }

    /// Whether a bracket here belongs to a pattern such as `@(a|b)`.
    fn extended(&self, start: usize) -> bool {
        let before = self.text.get(start..self.at).unwrap_or_default();
        before.ends_with(['?', '*', '+', '@', '!']) && self.peek() == Some('(')
    }

    /// Skips a text in brackets.
    fn brackets(&mut self) -> Result<(), Obstacle> {
        let mut depth = 0usize;
        while let Some(c) = self.take() {
            match c {
                '(' => depth += 1,
                ')' => {
                    depth -= 1;
                    if depth == 0 {
                        return Ok(());
                    }
                }
                '\'' | '"' | '`' | '\n' => break,
                '\\' => drop(self.take()),
                _ => {}
            }
        }
        Err(self.obstacle("a pattern in brackets"))
    }

    /// Reads up to and including the closing quote.
    fn quoted(&mut self, open: &mut Open) -> Result<(), Obstacle> {
        while let Some(c) = self.peek() {
            let at = self.at;
            match c {
                '"' => {
                    if open.run.is_none() {
                        // Text may be inserted here.
                        open.word.runs.push(at..at);
                    }
                    open.cut(at);
                    self.at += 1;
                    return Ok(());
                }
                '\\' => {
                    open.cut(at);
                    self.at += 1;
                    match self.take() {
                        Some('\n') => {}
                        Some(next @ ('"' | '\\' | '$' | '`')) => open.word.text.push(next),
                        Some(next) => {
                            open.word.text.push('\\');
                            open.word.text.push(next);
                        }
                        None => break,
                    }
                }
                '$' | '`' => self.dollar(open, true)?,
                _ => {
                    open.word.lines |= c == '\n';
                    open.push(c, at);
                    self.at += c.len_utf8();
                }
            }
        }
        Err(self.obstacle("a quote that is not closed"))
    }

    /// Reads an expansion that begins with `$` or a backquote.
    fn dollar(&mut self, open: &mut Open, quoted: bool) -> Result<(), Obstacle> {
        let start = self.at;
        let rest = self.rest();
        if rest.starts_with('`') {
            open.cut(start);
            self.at += 1;
            loop {
                match self.take() {
                    Some('`') => break,
                    Some('\\') => drop(self.take()),
                    Some(_) => {}
                    None => return Err(self.obstacle("a backquote that is not closed")),
                }
            }
            open.expansion(self.slice(start), quoted);
            return Ok(());
        }
        let next = rest.get(1..).unwrap_or_default();
        if next.starts_with("((") {
            open.cut(start);
            self.at += 3;
            self.arithmetic()?;
            open.expansion(self.slice(start), quoted);
        } else if next.starts_with('(') {
            open.cut(start);
            self.at += 1;
            self.substitution()?;
            open.expansion(self.slice(start), quoted);
        } else if next.starts_with('{') {
            open.cut(start);
            self.at += 2;
            let of = self.braces(quoted)?;
            open.word.uses.extend(of);
            open.expansion(self.slice(start), quoted);
        } else if next.starts_with('\'') && !quoted {
            open.cut(start);
            self.at += 2;
            let length = self.rest().find('\'');
            let length = length.ok_or_else(|| self.obstacle("a quote that is not closed"))?;
            if self.rest().get(..length).is_some_and(|text| text.contains('\\')) {
                return Err(self.obstacle("$'...' with a backslash"));
            }
            self.at += length + 1;
            open.expansion(self.slice(start), true);
        } else if next.starts_with('"') && !quoted {
            return Err(self.obstacle("$\"...\""));
        } else if next.starts_with('[') {
            return Err(self.obstacle("$[...]"));
        } else {
            let length = name_length(next);
            let special =
                next.chars().next().filter(|c| "@*#?-$!".contains(*c) || c.is_ascii_digit());
            if length > 0 {
                open.cut(start);
                let name = next.get(..length).unwrap_or_default().to_owned();
                open.word.uses.push(Use { name, form: Form::Plain, quoted });
                self.at += 1 + length;
                open.expansion(self.slice(start), quoted);
            } else if let Some(special) = special {
                open.cut(start);
                self.at += 1 + special.len_utf8();
                open.expansion(self.slice(start), quoted);
            } else {
                open.push('$', start);
                self.at += 1;
            }
        }
        Ok(())
    }

    /// Reads after `${`, up to its end.
    fn braces(&mut self, quoted: bool) -> Result<Option<Use>, Obstacle> {
        self.deeper()?;
        let start = self.at;
        loop {
            match self.peek() {
                None => return Err(self.obstacle("${ that is not closed")),
                Some('}') => break,
                Some('\\') => {
                    self.at += 1;
                    self.take();
                }
                Some('\'') if quoted => {
                    return Err(self.obstacle("an apostrophe in ${...} in quotes"));
                }
                Some('\'') => {
                    self.at += 1;
                    let length = self.rest().find('\'');
                    self.at +=
                        length.ok_or_else(|| self.obstacle("a quote that is not closed"))? + 1;
                }
                Some('"') => {
                    self.at += 1;
                    let mut inner = Open { word: Word::default(), run: None };
                    self.quoted(&mut inner)?;
                }
                Some('$' | '`') => {
                    let mut inner = Open { word: Word::default(), run: None };
                    self.dollar(&mut inner, quoted)?;
                }
                Some(c) => self.at += c.len_utf8(),
            }
        }
        let inner = self.slice(start);
        let length = name_length(inner);
        let (name, tail) = inner.split_at_checked(length).unwrap_or_default();
        let form = match tail {
            "" => Form::Plain,
            "[@]" => Form::All,
            _ => Form::Other,
        };
        let name = if name.is_empty() {
            let from = inner.trim_start_matches(['#', '!']);
            from.get(..name_length(from)).unwrap_or_default()
        } else {
            name
        };
        let of = (!name.is_empty()).then(|| Use { name: name.to_owned(), form, quoted });
        self.at += 1;
        self.shallower();
        Ok(of)
    }

    /// Skips an arithmetic expression, after `((`, up to and including `))`.
    pub(super) fn arithmetic(&mut self) -> Result<(), Obstacle> {
        let mut depth = 2usize;
        while let Some(c) = self.peek() {
            match c {
                '(' => depth += 1,
                ')' => {
                    depth -= 1;
                    if depth == 1 && !self.rest().starts_with("))") {
                        break;
                    }
                    if depth == 0 {
                        self.at += 1;
                        return Ok(());
                    }
                }
                '\'' | '"' | '`' | '\\' | '\n' => break,
                _ => {}
            }
            self.at += c.len_utf8();
        }
        Err(self.obstacle("((...)) that is not plain arithmetic"))
    }
}
