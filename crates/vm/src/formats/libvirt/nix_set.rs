//! Sets, lists and plain values of Nix, as far as a domain of NixVirt is written with them. Expressions are not evaluated:
//! what is not a plain value is [`Value::Open`]. Source: the Nix manual, "Language", "Syntax".
//!
//! The parser `rnix` (0.15) is not used: 100,000 times `[` or `- ` overflow its stack and end the program. This reader
//! limits the depth and the number of values.

use std::ops::Range;

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// A string without expansions, a number or a truth value.
    Text(String),
    Set(Vec<(String, Item)>),
    List(Vec<Item>),
    /// An expression.
    Open,
}

/// A value and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) value: Value,
    pub(super) span: Range<usize>,
}

impl Item {
    /// Returns the value below a path of names.
    pub(super) fn at(&self, path: &[&str]) -> Option<&Self> {
        path.iter().try_fold(self, |item, name| match &item.value {
            Value::Set(entries) => entries.iter().find(|(key, _)| key == name).map(|(_, it)| it),
            _ => None,
        })
    }

    pub(super) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The elements of a list.
    pub(super) fn each(&self) -> &[Self] {
        match &self.value {
            Value::List(items) => items,
            // NixVirt takes a set for a list of one.
            Value::Set(_) => std::slice::from_ref(self),
            _ => &[],
        }
    }

    /// Whether it, or a part of it, is an expression.
    pub(super) fn is_open(&self) -> bool {
        match &self.value {
            Value::Text(_) => false,
            Value::Set(entries) => entries.iter().any(|(_, it)| it.is_open()),
            Value::List(items) => items.iter().any(Self::is_open),
            Value::Open => true,
        }
    }
}

/// The limit of values that are read, and of nested sets and lists.
const MOST: usize = 4096;
const DEEPEST: usize = 32;

/// Reads the set that begins at a place.
pub(super) fn set(text: &str, at: usize) -> Option<Item> {
    let mut reader = Reader { text, at, left: MOST };
    let item = reader.value(0)?;
    matches!(item.value, Value::Set(_)).then_some(item)
}

/// Returns where the innermost set begins that gives a value to a name: `NAME = ...` or `NAME.OTHER = ...`.
pub(super) fn around(text: &str, name: &str) -> Option<usize> {
    let mut reader = Reader { text, at: 0, left: MOST };
    let mut open = Vec::new();
    loop {
        reader.blank();
        let rest = reader.rest();
        let c = rest.chars().next()?;
        match c {
            '"' => drop(reader.string()),
            '\'' if rest.starts_with("''") => reader.indented(),
            '{' => {
                open.push(reader.at);
                reader.at += 1;
            }
            '}' => {
                open.pop();
                reader.at += 1;
            }
            c if starts_name(c) => {
                let found = reader.name();
                let behind = reader.rest().trim_start();
                let gives =
                    behind.starts_with('.') || behind.starts_with('=') && !behind.starts_with("==");
                // One that `let` gives a value to is in no set.
                if let Some(begin) = open.last().filter(|_| found == name && gives) {
                    return Some(*begin);
                }
                // The names of a path after the first one.
                while reader.rest().starts_with('.') {
                    reader.at += 1;
                    reader.name();
                }
            }
            c => reader.at += c.len_utf8(),
        }
    }
}

fn starts_name(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_'
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
    /// How many more values are read.
    left: usize,
}

impl<'t> Reader<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Skips blanks and comments.
    fn blank(&mut self) {
        loop {
            let rest = self.rest();
            let bare = rest.trim_start();
            self.at += rest.len() - bare.len();
            let length = match bare {
                _ if bare.starts_with('#') => bare.find('\n').unwrap_or(bare.len()),
                _ if bare.starts_with("/*") => bare.find("*/").map_or(bare.len(), |end| end + 2),
                _ => return,
            };
            self.at += length;
        }
    }

    /// A name: letters, digits, `_`, `-` and `'`.
    fn name(&mut self) -> &'t str {
        let rest = self.rest();
        let letter = |c: char| c.is_ascii_alphanumeric() || "_-'".contains(c);
        let length = rest.find(|c| !letter(c)).unwrap_or(rest.len());
        self.at += length;
        rest.get(..length).unwrap_or_default()
    }

    /// A string in quotes; `None` if it has an expansion or an escape.
    fn string(&mut self) -> Option<&'t str> {
        let start = self.at + 1;
        let mut plain = true;
        let mut depth = 0_usize;
        let mut letters = self.text.get(start..)?.char_indices().peekable();
        while let Some((at, c)) = letters.next() {
            match c {
                '\\' => {
                    plain = false;
                    letters.next();
                }
                '$' if letters.peek().is_some_and(|(_, next)| *next == '{') => {
                    plain = false;
                    depth += 1;
                    letters.next();
                }
                '{' if depth > 0 => depth += 1,
                '}' if depth > 0 => depth -= 1,
                '"' if depth == 0 => {
                    self.at = start + at + 1;
                    return plain.then(|| self.text.get(start..start + at)).flatten();
                }
                _ => {}
            }
        }
        self.at = self.text.len();
        None
    }

    /// Skips a string between two pairs of single quotes.
    fn indented(&mut self) {
        self.at += 2;
        while let Some(at) = self.rest().find("''") {
            self.at += at + 2;
            // `'''`, `''$` and `''\` are letters of the string.
            if !self.rest().starts_with(['\'', '$', '\\']) {
                return;
            }
            self.at += 1;
        }
        self.at = self.text.len();
    }

    /// Skips an expression, up to its semicolon or the bracket that closes what it is in.
    fn expression(&mut self) {
        let mut depth = 0_usize;
        // Semicolons of `with a;`, and of the bindings between `let` and `in`.
        let (mut with, mut bindings) = (0_usize, 0_usize);
        loop {
            self.blank();
            let rest = self.rest();
            let Some(c) = rest.chars().next() else { return };
            match c {
                '"' => drop(self.string()),
                '\'' if rest.starts_with("''") => self.indented(),
                c if starts_name(c) => match self.name() {
                    "with" | "assert" if depth == 0 => with += 1,
                    "let" if depth == 0 => bindings += 1,
                    "in" if depth == 0 => bindings = bindings.saturating_sub(1),
                    _ => {}
                },
                ';' if depth == 0 && bindings > 0 => self.at += 1,
                ';' if depth == 0 && with > 0 => {
                    with -= 1;
                    self.at += 1;
                }
                ';' if depth == 0 => return,
                '}' | ']' | ')' if depth == 0 => return,
                _ => {
                    match c {
                        '{' | '[' | '(' => depth += 1,
                        '}' | ']' | ')' => depth -= 1,
                        _ => {}
                    }
                    self.at += c.len_utf8();
                }
            }
        }
    }

    fn value(&mut self, depth: usize) -> Option<Item> {
        self.left = self.left.checked_sub(1)?;
        self.blank();
        let start = self.at;
        let c = self.rest().chars().next()?;
        let value = match c {
            _ if depth > DEEPEST => None,
            '"' => self.string().map(|text| Value::Text(text.to_owned())),
            '{' => self.entries(depth),
            '[' => self.list(depth),
            c if c.is_ascii_digit() || starts_name(c) => {
                let name = self.name();
                let plain =
                    matches!(name, "true" | "false") || name.bytes().all(|b| b.is_ascii_digit());
                plain.then(|| Value::Text(name.to_owned()))
            }
            _ => None,
        };
        Some(Item { value: value.unwrap_or(Value::Open), span: start..self.at })
    }

    fn list(&mut self, depth: usize) -> Option<Value> {
        self.at += 1;
        let mut items = Vec::new();
        loop {
            self.blank();
            let c = self.rest().chars().next()?;
            if c == ']' {
                self.at += 1;
                return Some(Value::List(items));
            }
            let start = self.at;
            let mut item = self.value(depth + 1)?;
            // `lib.a`, `(f x)`
            if self.at == start || item.value == Value::Open {
                item.value = Value::Open;
                match c {
                    '(' => {
                        self.at = start + 1;
                        self.expression();
                        while self.rest().starts_with(';') {
                            self.at += 1;
                            self.expression();
                        }
                        self.at = (self.at + 1).min(self.text.len());
                    }
                    _ => {
                        let rest = self.rest();
                        let end = rest.find(|c: char| c.is_whitespace() || "[](){};\"".contains(c));
                        self.at += end.unwrap_or(rest.len());
                        if self.at == start {
                            self.at += c.len_utf8();
                        }
                    }
                }
                item.span = start..self.at;
            }
            items.push(item);
        }
    }

    /// The entries of a set; `None` if it is none, such as the arguments of a function.
    fn entries(&mut self, depth: usize) -> Option<Value> {
        self.at += 1;
        let mut entries = Vec::new();
        loop {
            self.blank();
            let c = self.rest().chars().next()?;
            if c == '}' {
                self.at += 1;
                return Some(Value::Set(entries));
            }
            let mut path = Vec::new();
            loop {
                let name = match self.rest().chars().next()? {
                    '"' => self.string()?,
                    _ => self.name(),
                };
                path.push(name);
                if name.is_empty() || !self.rest().starts_with('.') {
                    break;
                }
                self.at += 1;
            }
            self.blank();
            if path == ["inherit"] {
                let start = self.at;
                self.expression();
                // What is inherited has a value that is not in this text.
                let names = self.text.get(start..self.at).unwrap_or_default();
                let names = names.rsplit(')').next().unwrap_or_default();
                for name in names.split_whitespace() {
                    let open = Item { value: Value::Open, span: start..self.at };
                    insert(&mut entries, &[name], open);
                }
            } else {
                self.rest().strip_prefix('=').filter(|rest| !rest.starts_with('='))?;
                self.at += 1;
                let mut item = self.value(depth + 1)?;
                self.blank();
                if item.value == Value::Open || !self.rest().starts_with(';') {
                    self.at = item.span.start;
                    self.expression();
                    item = Item { value: Value::Open, span: item.span.start..self.at };
                }
                insert(&mut entries, &path, item);
            }
            self.rest().strip_prefix(';')?;
            self.at += 1;
        }
    }
}

/// Adds a value below a path of names.
fn insert(entries: &mut Vec<(String, Item)>, path: &[&str], item: Item) {
    let Some((name, rest)) = path.split_first() else { return };
    let known = entries.iter().position(|(key, _)| key == name);
    let span = item.span.clone();
    if rest.is_empty() {
        entries.push(((*name).to_owned(), item));
        return;
    }
    let at = known.unwrap_or_else(|| {
        entries.push(((*name).to_owned(), Item { value: Value::Set(Vec::new()), span }));
        entries.len() - 1
    });
    if let Some((_, Item { value: Value::Set(inner), .. })) = entries.get_mut(at) {
        insert(inner, rest, item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn plain_values_are_read_and_expressions_are_open() {
        let text = "x: {\n  a = \"b\"; # }\n  c.d = true; c.e = 12;\n  f = [ \"g\" { h = \"i\"; } (j k) l.m ];\n  \
                    n = if o then { } else { a = 1; };\n  \"p:q\" = ''r ''${s} '';\n  inherit (t) u;\n  q = with r; [ (s { t = 1; }) ];\n  l = let m = 1; in { n = m; };\n  /* v */ w = { };\n  y = \"a${z { } }\"; }";
        let at = text.find('{').unwrap();
        let item = set(text, at).unwrap();
        let text_at = |path: &[&str]| item.at(path).and_then(Item::text).map(str::to_owned);
        assert_eq!(text_at(&["a"]).as_deref(), Some("b"));
        assert_eq!(text_at(&["c", "d"]).as_deref(), Some("true"));
        assert_eq!(text_at(&["c", "e"]).as_deref(), Some("12"));
        let list = item.at(&["f"]).unwrap().each();
        assert_eq!(list.len(), 4);
        assert_eq!(list[1].at(&["h"]).and_then(Item::text), Some("i"));
        assert!(list[2].is_open() && list[3].is_open());
        for open in ["n", "p:q", "y", "q", "l"] {
            assert_eq!(item.at(&[open]).unwrap().value, Value::Open, "{open}");
        }
        assert_eq!(item.at(&["w"]).unwrap().value, Value::Set(Vec::new()));
        assert!(item.at(&["u"]).unwrap().is_open());
        assert_eq!(item.span, at..text.len());
        assert_eq!(set("{ a, b }: c", 0), None);
    }

    #[test]
    fn set_around_a_name() {
        let text = "{ a = \"clock = {\"; b = { c.clock = 1; clock.timer = [ ]; }; }";
        assert_eq!(around(text, "clock"), text.find("{ c"));
        assert_eq!(around("{ a = clock; clocks = 1; }", "clock"), None);
        assert_eq!(around("clock = 1", "clock"), None);
    }

    proptest! {
        #[test]
        fn any_text_ends(text in "[{}\\[\\]()=;.\"'#/*$a b\\n\\\\ü]{0,120}") {
            _ = set(&text, 0);
            _ = around(&text, "a");
        }
    }
}
