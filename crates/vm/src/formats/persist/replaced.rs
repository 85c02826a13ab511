//! The text by which `sed` replaces a line of GRUB's defaults, and the variables in it.

use super::lines::Line;
use crate::parameters;
use crate::shell::name_length;

/// The limit of statements above in which a variable is searched.
const MOST_LINES: usize = 200;
/// The most variables of one replacement.
const MOST_NAMES: usize = 4;

/// Returns the replacement of `GRUB_CMDLINE_LINUX=.*`, if that pattern matches the whole line: the text up to the
/// delimiter.
pub(super) fn replacement(text: &str) -> Option<&str> {
    let at = text.find("GRUB_CMDLINE_LINUX")?;
    let rest = text.get(at..)?;
    let name = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
    let pattern = rest.get(name..)?;
    let all = ["=.*", "=\".*\"", "=\\\".*\\\"", "=[^\\n]*", ".*"];
    all.iter().find_map(|all| {
        let rest = pattern.strip_prefix(all)?.trim_start_matches('$');
        let delimiter = rest.chars().next().filter(|c| "/|#@,!~".contains(*c))?;
        let rest = rest.get(1..)?;
        let mut escaped = false;
        let end = rest.find(|c| {
            let ends = c == delimiter && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        });
        rest.get(..end.unwrap_or(rest.len()))
    })
}

/// Returns whether a replacement includes a part of the previous text: `\1`, `&`.
pub(super) fn keeps(replacement: &str) -> bool {
    replacement.contains("\\1") || replacement.replace("\\&", "").contains('&')
}

/// Returns whether variables put parameters of a clock into the replacement, and nothing of the
/// previous text.
pub(super) fn by_variables(replacement: &str, above: &[Line<'_>]) -> bool {
    let names = names(replacement);
    if names.len() == MOST_NAMES {
        return false;
    }
    let mut sets = false;
    for name in &names {
        let Some(value) = value(name, above) else { return false };
        if keeps(value) || value.contains("$(") || value.contains('`') || stands_alone(value) {
            return false;
        }
        sets |= !parameters::find(value, 0).is_empty();
    }
    sets && !replacement.contains("$(") && !replacement.contains('`')
}

/// The variables in a text.
fn names(text: &str) -> Vec<&str> {
    let of = |(at, _): (usize, &str)| {
        let rest = text.get(at + 1..)?;
        let rest = rest.strip_prefix('{').unwrap_or(rest);
        rest.get(..name_length(rest)).filter(|name| !name.is_empty())
    };
    text.match_indices('$').filter_map(of).take(MOST_NAMES).collect()
}

/// Returns whether a variable is more than the value of a parameter (`isolcpus=$CPUS`): then it may contain the old
/// line.
fn stands_alone(value: &str) -> bool {
    value.match_indices('$').any(|(at, _)| {
        let before = value.get(..at).and_then(|before| before.chars().next_back());
        before.is_none_or(|c| c.is_whitespace() || "\"'\\".contains(c))
    })
}

/// The value of a variable that is assigned once.
fn value<'a>(name: &str, above: &[Line<'a>]) -> Option<&'a str> {
    let mut found = None;
    for line in above.iter().rev().take(MOST_LINES).filter(|line| !line.is_comment()) {
        for (at, _) in line.text.match_indices(name) {
            let before = line.text.get(..at).and_then(|before| before.chars().next_back());
            let rest = line.text.get(at + name.len()..).unwrap_or_default();
            let begins = before.is_none_or(|c| c.is_whitespace() || ";({&|".contains(c));
            // `read NAME` and `for NAME in` also set it.
            let words = line.text.get(..at).unwrap_or_default();
            let sets = ["read", "for", "printf -v", "mapfile", "getline"];
            let other = sets.iter().any(|word| words.split([' ', ';', '\t']).any(|it| it == *word));
            if begins && (rest.starts_with("+=") || other && !rest.starts_with('=')) {
                return None;
            }
            if begins && let Some(value) = rest.strip_prefix('=') {
                if found.is_some() {
                    return None;
                }
                found = Some(quoted(value));
            }
        }
    }
    found
}

/// Returns a value up to the end of its quotes, or of the word.
fn quoted(value: &str) -> &str {
    let Some(quote) = value.chars().next().filter(|c| matches!(c, '"' | '\'')) else {
        return value.split([' ', '\t', ';', '&', '|']).next().unwrap_or_default();
    };
    let rest = value.get(1..).unwrap_or_default();
    let mut escaped = false;
    let end = rest.find(|c| {
        let ends = c == quote && !escaped;
        escaped = quote == '"' && c == '\\' && !escaped;
        ends
    });
    rest.get(..end.unwrap_or(rest.len())).unwrap_or_default()
}
