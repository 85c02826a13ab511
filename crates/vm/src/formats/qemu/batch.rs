//! Variables of a batch file, `%NAME%`, and its arguments, `%1` and `%*`. Of the latter, and of variables that are set
//! under a condition or not in the file, only a run shows the values.

use crate::placed::{Placed, UNKNOWN};

/// The limit of variables that are read.
const MOST: usize = 256;

/// The variables that a batch file sets, in the order of their lines.
#[derive(Clone, Debug, Default)]
pub(super) struct Variables {
    /// The name in capitals, the place of the line, and the value.
    set: Vec<(String, usize, Placed)>,
}

impl Variables {
    pub(super) fn of(text: &str) -> Self {
        let mut found = Self::default();
        if !text.contains('%') {
            return found;
        }
        let mut at = 0;
        // The depth of brackets: a block runs under a condition.
        let mut depth = 0_usize;
        for line in text.split_inclusive('\n') {
            let base = at;
            at += line.len();
            let bare = line.trim().trim_start_matches('@').trim_start();
            let lower = bare.to_ascii_lowercase();
            let block = bare.ends_with('(');
            depth = if bare.starts_with(')') { depth.saturating_sub(1) } else { depth };
            if found.set.len() < MOST
                && let Some(place) = lower.find("set ").filter(|place| {
                    *place == 0
                        || lower.get(..*place).is_some_and(|it| it.ends_with([' ', '&', '(']))
                })
            {
                let start = base + line.find(bare).unwrap_or(0) + place + "set ".len();
                let rest = bare.get(place + "set ".len()..).unwrap_or_default();
                found.add(rest, start, place == 0 && depth == 0);
            }
            depth += usize::from(block);
        }
        found
    }

    /// Adds `NAME=value` or `"NAME=value"`.
    fn add(&mut self, rest: &str, start: usize, always: bool) {
        let inside = rest.trim_start();
        let start = start + rest.len() - inside.len();
        let (inside, start) = match inside.strip_prefix('"') {
            Some(quoted) => (quoted.rsplit_once('"').map_or(quoted, |(text, _)| text), start + 1),
            None => (inside, start),
        };
        let Some((name, value)) = inside.split_once('=') else { return };
        // `set /p NAME=` asks for it, `set /a` calculates it.
        let asked = name.trim_start().starts_with('/');
        let name = name.split_whitespace().next_back().unwrap_or_default().to_ascii_uppercase();
        let at = start + inside.len() - value.len();
        let value = value.trim_end();
        let value = match value.strip_prefix('"').and_then(|it| it.strip_suffix('"')) {
            Some(quoted) => Placed::new(quoted, at + 1),
            None => Placed::new(value, at),
        };
        let known = always && !asked;
        let value = if known { self.expanded(&value) } else { unknown(&value) };
        self.set.push((name, start, value));
    }

    /// Returns a text with the values of its variables; one that is not known is an unknown part.
    fn expanded(&self, word: &Placed) -> Placed {
        let text = word.as_str();
        let (mut out, mut from) = (Placed::default(), 0);
        while let Some((begin, end)) = variable(text, from) {
            out.append(&word.slice(from..begin));
            let at = word.slice(begin..end).span().start;
            let name = text.get(begin + 1..end - 1).unwrap_or_default().to_ascii_uppercase();
            match self.last(&name, at) {
                Some(value) => out.append(value),
                None => out.push(UNKNOWN, at),
            }
            from = end;
        }
        out.append(&word.slice(from..text.len()));
        out
    }

    /// The value of a variable at a place.
    fn last(&self, name: &str, at: usize) -> Option<&Placed> {
        let mut before = self.set.iter().filter(|(known, set, _)| known == name && *set < at);
        before.next_back().map(|(_, _, value)| value)
    }

    /// Returns the words of a command with the values of the variables in them: one may have several words.
    pub(super) fn words(&self, words: &[Placed]) -> Vec<Placed> {
        let mut out = Vec::new();
        for word in words {
            let open = variable(word.as_str(), 0).is_some();
            if !open || self.set.is_empty() {
                out.push(word.clone());
                continue;
            }
            let value = self.expanded(word);
            // A path in a value may have blanks, and is one word there.
            match value.as_str().starts_with('-') {
                true => out.extend(value.words()),
                false => out.push(value),
            }
        }
        out
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let variables = Variables::of(text);
        let line = text.lines().last().unwrap_or_default();
        let start = text.len() - line.len() - usize::from(text.ends_with('\n'));
        let words = variables.words(&Placed::new(line, start).words());
        words.iter().map(|word| word.as_str().replace(UNKNOWN, "?")).collect()
    }

    #[test]
    fn variables_have_the_values_that_the_lines_before_set() {
        for (text, expected) in [
            ("set A=-m 2G\nqemu %A% -x\n", &["qemu", "-m", "2G", "-x"][..]),
            ("@SET \"a=-m 2G\"\nqemu %A%\n", &["qemu", "-m", "2G"]),
            ("set Ab=-m 2G\nset AB=%ab% -no-hpet\nqemu %aB%\n", &["qemu", "-m", "2G", "-no-hpet"]),
            ("set D=a.img\nqemu file=%D%,b\n", &["qemu", "file=a.img,b"]),
            ("set Q=\"C:\\qemu.exe\"\n%Q% -x\n", &["C:\\qemu.exe", "-x"]),
            ("if exist a set A=-x\nqemu %A%\n", &["qemu", "?"]),
            ("if exist a (\n  set A=-x\n)\nset B=-y\nqemu %A% %B%\n", &["qemu", "?", "-y"]),
            ("set /p A=Name: \nqemu %A%\n", &["qemu", "?"]),
            ("set B=1\nqemu %A%\n", &["qemu", "?"]),
        ] {
            assert_eq!(words(text), expected, "{text}");
        }
    }
}
