//! A shell script as statements of words, with the place of each byte. Simple on purpose: what it does
//! not understand becomes an unknown part of a word, never a guess.

use crate::placed::Placed;
use crate::words::here_document;
use std::collections::HashMap;
use std::ops::Range;

/// Brackets that are looked for in vain; behind that many, no other one is looked for.
const MOST_UNBALANCED: usize = 256;

/// A part of a word.
#[derive(Clone, Debug)]
pub(crate) enum Piece {
    /// Text; whether it stood in quotes does not matter any more.
    Literal(Placed),
    /// `$NAME`, `${NAME}`, `${NAME:-default}`, `${NAME[@]}`, `${NAME[*]}` (`joined`), `$(NAME)` of make.
    /// `or_empty`: the default is for an empty value, too (`:-`).
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
    /// Its text, where it is nothing but text.
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
    /// Behind `&&` or `||`.
    pub(crate) conditional: bool,
}

/// Whether a text is a unit of systemd, in which a continued line is a blank.
pub(crate) fn is_unit(text: &str) -> bool {
    text.lines().any(|line| matches!(line.trim_end(), "[Service]" | "[Unit]"))
}

/// Whether a line of a unit is a comment. Within a continued line it is left out, and the line goes on behind it:
/// systemd.syntax(7).
pub(crate) fn is_remark_of_unit(line: &str) -> bool {
    line.trim_start().starts_with(['#', ';'])
}

/// The length of the comment lines at the beginning of a text.
fn remarks_of_unit(text: &str) -> usize {
    text.split_inclusive('\n').take_while(|line| is_remark_of_unit(line)).map(str::len).sum()
}

/// Splits a script.
pub(crate) fn statements(text: &str) -> Vec<Statement> {
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
        unit: is_unit(text),
    };
    lexer.run();
    lexer.out
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    out: Vec<Statement>,
    now: Statement,
    /// The words that end documents, and whether a shell puts variables into them.
    here: Vec<(&'a str, bool)>,
    /// A document that is read as a script, into which variables are put: `\\\\` is one backslash in it.
    document: Range<usize>,
    index: Option<Index<'a>>,
    /// Where a mark stands next, as far as it was looked for: nothing is searched twice.
    next: HashMap<&'static str, usize>,
    /// How many brackets were looked for in vain.
    unbalanced: usize,
    /// Whether it is a unit.
    unit: bool,
}

/// What here-documents are looked for by.
struct Index<'a> {
    /// Where the lines of a text, without blanks around it, begin.
    lines: HashMap<&'a str, Vec<usize>>,
    /// Where QEMU or Cloud Hypervisor is named.
    programs: Vec<usize>,
}

impl<'a> Index<'a> {
    fn of(text: &'a str) -> Self {
        let mut lines: HashMap<&str, Vec<usize>> = HashMap::new();
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            lines.entry(line.trim()).or_default().push(at);
            at += line.len();
        }
        let named = |name| text.match_indices(name).map(|(at, _)| at);
        let mut programs: Vec<usize> = named("qemu-").chain(named("cloud-hypervisor")).collect();
        programs.sort_unstable();
        Self { lines, programs }
    }

    /// Where the line that ends a document begins, and whether QEMU is named before.
    fn document(&self, name: &str, from: usize, end: usize) -> (usize, bool) {
        let after = |places: &[usize]| places.get(places.partition_point(|at| *at < from)).copied();
        let end = self.lines.get(name).and_then(|lines| after(lines)).unwrap_or(end);
        (end, after(&self.programs).is_some_and(|at| at < end))
    }
}

impl<'a> Lexer<'a> {
    /// Where a mark stands next; the end if nowhere.
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

    /// The length of a bracketed piece at the beginning of a text.
    fn balanced(&mut self, text: &str, open: char, close: char) -> Option<usize> {
        if self.unbalanced > MOST_UNBALANCED {
            return None;
        }
        let length = balanced(text, open, close);
        self.unbalanced += usize::from(length.is_none());
        length
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

    /// Whether the statement is a line of a unit that runs something, in a script that writes one, too.
    fn of_unit(&self) -> bool {
        let first = self.now.words.first().and_then(|word| word.pieces.first());
        let runs = |text: &str| text.starts_with("Exec") || text.starts_with("Environment");
        self.unit
            && matches!(first, Some(Piece::Literal(text)) if text.as_str().contains('=') && runs(text.as_str()))
    }

    /// Ends a statement.
    fn end(&mut self, conditional: bool) {
        if !self.now.words.is_empty() {
            self.out.push(std::mem::take(&mut self.now));
        }
        self.now = Statement { conditional, ..Statement::default() };
    }

    fn run(&mut self) {
        while let Some(c) = self.peek() {
            let continued = self.continuation();
            if continued > 0 {
                self.at += continued;
                // Blanks and an empty comment line do not matter here.
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

    /// `<<EOF`: remembers the delimiter.
    fn here_document(&mut self) {
        match here_document(self.rest()) {
            Some((name, end)) => {
                let begin = self.rest().get(..end).unwrap_or_default();
                self.here.push((name, !begin.contains(['\'', '"', '\\'])));
                self.at += end;
            }
            None => self.at += 2,
        }
    }

    /// Behind the line: the documents. One that has a command line of QEMU in it is a script too.
    fn here_documents(&mut self) {
        for (name, plain) in std::mem::take(&mut self.here) {
            let (text, from) = (self.text, self.at);
            let index = self.index.get_or_insert_with(|| Index::of(text));
            let (end, script) = index.document(name, from, text.len());
            if !script {
                self.at = end;
            } else if plain {
                self.document = from..end;
            }
        }
    }

    /// One word. The next character is none of those that end one.
    fn word(&mut self) -> Option<Word> {
        let start = self.at;
        let mut pieces = Vec::new();
        let mut text = Placed::default();
        let mut any = false;
        let mut end = start;
        while let Some(c) = self.peek() {
            // A shell takes it away, and the word goes on.
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
            // Whatever stopped it at once must not stop it for ever.
            if let Some(c) = self.peek() {
                self.skip(c);
            }
            return None;
        }
        flush(&mut text, &mut pieces);
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

    fn template(&mut self, text: &mut Placed, pieces: &mut Vec<Piece>) {
        let at = self.at;
        let close = self.find("}}");
        if close < self.text.len() && close < self.find("\n") {
            self.at = close + 2;
            flush(text, pieces);
            pieces.push(Piece::Opaque { at });
        } else {
            text.push('{', at);
            self.at += 1;
        }
    }

    fn substitution(&mut self, quoted: bool, text: &mut Placed, pieces: &mut Vec<Piece>) {
        let at = self.at;
        let rest = self.rest();
        let mut piece = |length: usize, piece: Piece, lexer: &mut Self| {
            flush(text, pieces);
            pieces.push(piece);
            lexer.at += length;
        };
        if let Some(inner) = rest.strip_prefix('`') {
            let length = inner.find('`').map_or(1, |n| n + 2);
            return piece(length, Piece::Opaque { at }, self);
        }
        let next = rest.get(1..).unwrap_or_default();
        if next.starts_with('(') {
            let length = self.balanced(next, '(', ')').map_or(1, |n| n + 1);
            let inner = rest.get(2..length.saturating_sub(1)).unwrap_or_default();
            let whole = if name_length(inner) == inner.len() && !inner.is_empty() {
                Piece::Variable {
                    name: inner.to_owned(),
                    default: None,
                    or_empty: false,
                    quoted,
                    joined: false,
                    at,
                }
            } else {
                Piece::Opaque { at }
            };
            return piece(length, whole, self);
        }
        if next.starts_with('{') {
            let Some(n) = self.balanced(next, '{', '}') else {
                return piece(1, Piece::Opaque { at }, self);
            };
            let inner = next.get(1..n - 1).unwrap_or_default();
            let name = inner.get(..name_length(inner)).unwrap_or_default();
            let tail = inner.get(name.len()..).unwrap_or_default();
            let default = tail.strip_prefix(":-").or_else(|| tail.strip_prefix('-'));
            // `${NAME:=value}` assigns it, too, so that nothing of it can be changed.
            let given = tail.strip_prefix(":=").or_else(|| tail.strip_prefix('='));
            let assigns = default.is_none() && given.is_some();
            let default = default.or(given);
            let plain = matches!(tail, "" | "[@]" | "[*]") || default.is_some();
            let whole = if plain && !name.is_empty() {
                let start = at + 1 + n - default.map_or(0, str::len);
                let placed = |d: &str| match assigns {
                    true => Placed::lost(d, start..start + d.len()),
                    false => Placed::new(d, start),
                };
                let default = default.filter(|d| !d.contains('$')).map(placed);
                Piece::Variable {
                    name: name.to_owned(),
                    default,
                    or_empty: tail.starts_with(":-") || tail.starts_with(":="),
                    quoted,
                    joined: tail == "[*]",
                    at,
                }
            } else {
                Piece::Opaque { at }
            };
            return piece(n + 1, whole, self);
        }
        let length = name_length(next);
        if length > 0 {
            let name = next.get(..length).unwrap_or_default().to_owned();
            return piece(
                1 + length,
                Piece::Variable { name, default: None, or_empty: false, quoted, joined: false, at },
                self,
            );
        }
        match next.chars().next() {
            Some(c) if c.is_ascii_digit() || "@*#?!-$".contains(c) => {
                piece(1 + c.len_utf8(), Piece::Opaque { at }, self);
            }
            _ => {
                text.push('$', at);
                self.at += 1;
            }
        }
    }
}

fn flush(text: &mut Placed, pieces: &mut Vec<Piece>) {
    if !text.is_empty() {
        pieces.push(Piece::Literal(std::mem::take(text)));
    }
}

/// Where the closing quote is.
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

/// The length of a bracketed piece at the beginning of the text.
fn balanced(text: &str, open: char, close: char) -> Option<usize> {
    let mut depth = 0usize;
    for (n, c) in text.char_indices().take(4096) {
        if c == open {
            depth += 1;
        } else if c == close {
            depth = depth.saturating_sub(1);
            if depth == 0 {
                return Some(n + c.len_utf8());
            }
        }
    }
    None
}

/// The length of a variable's name at the beginning of the text.
pub(crate) fn name_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    if bytes.first().is_none_or(u8::is_ascii_digit) {
        return 0;
    }
    bytes.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count()
}
