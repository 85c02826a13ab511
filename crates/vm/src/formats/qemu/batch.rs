//! Variables of a batch file, `%NAME%`, and its arguments, `%1` and `%*`: only a run shows their values.

use crate::placed::{Placed, UNKNOWN};

/// Returns a word with an unknown part in place of each variable.
pub(super) fn opened(word: &Placed) -> Placed {
    let text = word.as_str();
    if !text.contains('%') {
        return word.clone();
    }
    if is_argument(text) {
        return unknown(word);
    }
    let (mut out, mut from) = (Placed::default(), 0);
    while let Some((begin, end)) = variable(text, from) {
        out.append(&word.slice(from..begin));
        out.push(UNKNOWN, word.slice(begin..end).span().start);
        from = end;
    }
    out.append(&word.slice(from..text.len()));
    out
}

fn unknown(word: &Placed) -> Placed {
    let mut out = Placed::default();
    out.push(UNKNOWN, word.span().start);
    out
}

/// `%1`, `%~1`, `%*`.
fn is_argument(text: &str) -> bool {
    let rest = text.strip_prefix('%').unwrap_or_default();
    rest == "*" || matches!(rest.trim_start_matches('~').as_bytes(), [b'1'..=b'9'])
}

/// Returns the next `%NAME%`.
fn variable(text: &str, mut from: usize) -> Option<(usize, usize)> {
    while let Some(begin) = text.get(from..)?.find('%').map(|at| from + at) {
        let rest = text.get(begin + 1..)?;
        let length = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(0);
        let named = length > 1 || length == 1 && rest.starts_with(|c: char| c.is_ascii_uppercase());
        if named
            && rest.get(length..)?.starts_with('%')
            && !rest.starts_with(|c: char| c.is_ascii_digit())
        {
            return Some((begin, begin + length + 2));
        }
        from = begin + 1;
    }
    None
}
