//! Text that a shell or a template replaces: variables, command substitutions, placeholders of templates.

use super::{Lexer, Piece, flush};
use crate::placed::Placed;
use std::ops::Range;

/// The limit of brackets whose end was not found; after that, no other one is searched.
const MOST_UNBALANCED: usize = 256;

impl Lexer<'_> {
    /// The length of a bracketed piece at the beginning of a text.
    fn balanced(&mut self, text: &str, open: char, close: char) -> Option<usize> {
        if self.unbalanced > MOST_UNBALANCED {
            return None;
        }
        let length = balanced(text, open, close);
        self.unbalanced += usize::from(length.is_none());
        length
    }

    pub(super) fn template(&mut self, text: &mut Placed, pieces: &mut Vec<Piece>) {
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

    /// Records a command substitution that starts a machine: it is read like any other.
    fn started(&mut self, span: Range<usize>) {
        const MOST: usize = 16;
        let inner = self.text.get(span.clone()).unwrap_or_default();
        let program = inner.contains("qemu-system-") || inner.contains("qemu-kvm");
        let options = ["-cpu ", "-machine ", "-M ", "-enable-kvm", "-accel ", "-no-hpet"];
        let asks = [" help", "=help", " '?'", " \\?"].iter().any(|it| inner.contains(it));
        if program
            && options.iter().any(|it| inner.contains(it))
            && !asks
            && self.nested.len() < MOST
        {
            self.nested.push((self.out.len(), span));
        }
    }

    pub(super) fn substitution(
        &mut self,
        quoted: bool,
        text: &mut Placed,
        pieces: &mut Vec<Piece>,
    ) {
        let at = self.at;
        let rest = self.rest();
        if let Some(inner) = rest.strip_prefix('`')
            && quoted
            && escaped_blank(inner)
        {
            text.push(' ', at);
            self.at += 2;
            return;
        }
        let mut piece = |length: usize, piece: Piece, lexer: &mut Self| {
            flush(text, pieces);
            pieces.push(piece);
            lexer.at += length;
        };
        if let Some(inner) = rest.strip_prefix('`') {
            let length = inner.find('`').map_or(1, |n| n + 2);
            self.started(at + 1..(at + length).saturating_sub(1));
            let inner = inner.get(..length.saturating_sub(2)).unwrap_or_default();
            return piece(length, looked_up(inner, at..at + length), self);
        }
        let next = rest.get(1..).unwrap_or_default();
        if next.starts_with('(') {
            let length = self.balanced(next, '(', ')').map(|end| quoted_end(next, end));
            let length = length.map_or(1, |n| n + 1);
            let inner = rest.get(2..length.saturating_sub(1)).unwrap_or_default();
            self.started(at + 2..(at + length).saturating_sub(1));
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
                looked_up(inner, at..at + length)
            };
            return piece(length, whole, self);
        }
        if next.starts_with('{') {
            let Some(n) = self.balanced(next, '{', '}') else {
                return piece(1, Piece::Opaque { at }, self);
            };
            let inner = next.get(1..n - 1).unwrap_or_default();
            if let Some(program) = program_of_nix(inner) {
                let name = Placed::lost(program, at..at + n + 1);
                return piece(n + 1, Piece::Literal(name), self);
            }
            let name = inner.get(..name_length(inner)).unwrap_or_default();
            let tail = inner.get(name.len()..).unwrap_or_default();
            let default = tail.strip_prefix(":-").or_else(|| tail.strip_prefix('-'));
            // `${NAME:=value}` also assigns it, so that nothing of it can be changed.
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
            // `set -- "$@" -snapshot` assigns words to it.
            Some('@') if self.text.contains("set -- ") => {
                let name = "@".to_owned();
                let all = Piece::Variable {
                    name,
                    default: None,
                    or_empty: false,
                    quoted,
                    joined: false,
                    at,
                };
                piece(2, all, self);
            }
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

/// Returns the path of a program that a command looks up, `$(command -v NAME)`, by its name.
fn looked_up(inner: &str, whole: Range<usize>) -> Piece {
    let opaque = Piece::Opaque { at: whole.start };
    let tools = ["command -v ", "which ", "type -p ", "type -P "];
    let Some(rest) = tools.iter().find_map(|it| inner.trim_start().strip_prefix(it)) else {
        return opaque;
    };
    let name = rest.split_whitespace().next().unwrap_or_default();
    let behind = rest.trim_start().get(name.len()..).unwrap_or_default().trim_start();
    // Errors that are not shown, and what is run if it is not found.
    let alone = behind.is_empty() || behind.starts_with("2>") || behind.starts_with("||");
    let name = name.trim_matches('"');
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    match alone && !name.is_empty() && name.chars().all(plain) {
        true => Piece::Literal(Placed::lost(name, whole)),
        false => opaque,
    }
}

/// Returns where a substitution ends whose first bracket at `end` may be in quotes: `$(cut -d')' -f1)`.
fn quoted_end(text: &str, end: usize) -> usize {
    let quotes = text.get(..end).unwrap_or_default().matches('\'').count();
    let longer = if quotes % 2 == 1 { quoted_brackets(text) } else { None };
    let plain = |longer: &usize| text.get(end..*longer).is_some_and(|it| !it.contains('\n'));
    longer.filter(plain).unwrap_or(end)
}

/// The length of a substitution in brackets at the beginning of a text: brackets in quotes are not counted. `None` if
/// quotes are not in pairs.
fn quoted_brackets(text: &str) -> Option<usize> {
    let mut depth = 0usize;
    let mut quote: Option<char> = None;
    let mut escaped = false;
    for (n, c) in text.char_indices().take(4096) {
        match (quote, c) {
            _ if escaped => escaped = false,
            (None | Some('"'), '\\') => escaped = true,
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '(') => depth += 1,
            (None, ')') => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(n + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// Whether a letter after a backquote is a blank of PowerShell, as in "`n": a name of a command is longer.
fn escaped_blank(inner: &str) -> bool {
    let mut chars = inner.chars();
    let blank = matches!(chars.next(), Some('n' | 'r' | 't'));
    blank
        && !chars
            .next()
            .is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | ' ' | '.' | '/'))
}

/// Returns the program that an expression of Nix names: `lib.getExe pkgs.NAME`, `lib.getExe' pkgs.PACKAGE "NAME"`.
fn program_of_nix(inner: &str) -> Option<&str> {
    let call = inner.trim_start().strip_prefix("lib.").unwrap_or(inner.trim_start());
    let rest = call.strip_prefix("getExe")?;
    let name = match rest.strip_prefix('\'') {
        Some(rest) => rest.split('"').nth(1)?,
        None => rest.strip_prefix(' ')?.trim().rsplit('.').next()?,
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    let name = if name == "qemu_kvm" { "qemu-kvm" } else { name };
    (!name.is_empty() && name.chars().all(plain)).then_some(name)
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
