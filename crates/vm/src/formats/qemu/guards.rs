//! Conditions of a script that query the version of QEMU or a feature of the host: an option that newer versions
//! removed may be under one.

use super::script::{begin, end};
use crate::shell::{Piece, Statement, Word, name_length};
use std::collections::HashSet;
use std::ops::Range;

/// The limit of rounds in which names are followed.
const ROUNDS: usize = 3;
/// The limit of assignments that are compared with later ones.
const MOST_SET: usize = 256;
/// Texts that query a version or a feature, in any place.
const MARKS: [&str; 7] =
    ["/proc/cpuinfo", "--version", "-version", "--help", "-help", " help", ",help"];

/// A condition that is open.
struct Open {
    from: usize,
    asks: bool,
    /// Whether something in it ends the script.
    exits: bool,
    /// Whether it tests for an older version.
    below: bool,
}

/// Returns whether a text may have such a condition.
pub(super) fn may_ask(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    ["-help", ",help", "version", "_ver", "major"].iter().any(|mark| lower.contains(mark))
}

/// Returns the ranges that run only after a version or a feature was queried.
pub(super) fn asking(text: &str, statements: &[Statement]) -> Vec<Range<usize>> {
    let mut names = functions(text);
    let mut ranges = Vec::new();
    for _ in 0..ROUNDS {
        let before = names.len();
        ranges = round(text, statements, &mut names);
        if names.len() == before {
            break;
        }
    }
    ranges
}

/// Returns the assignments from which a later statement removes words, or which it empties, in one of the ranges that run
/// only after a version or a feature was queried: `[ "$VERSION" -lt 9 ] || A=("${A[@]:1}")`.
pub(super) fn taken_out(
    text: &str,
    statements: &[Statement],
    asking: &[Range<usize>],
) -> Vec<Range<usize>> {
    let mut out = Vec::new();
    let mut set: Vec<(&str, Range<usize>)> = Vec::new();
    for statement in statements {
        // `then A=...` and `else A=...` are one statement.
        let word = |word: &&Word| {
            !matches!(word.literal(), Some("then" | "else" | "do" | "{" | "export" | "local"))
        };
        let first = statement.words.iter().find(word);
        let (at, end) = (first.map_or(begin(statement), |it| it.span.start), end(statement));
        let source = text.get(at..end).unwrap_or_default();
        let under = asking.iter().any(|range| range.contains(&at));
        let name = source.get(..name_length(source)).unwrap_or_default();
        if name.is_empty() {
            continue;
        }
        let value = source.get(name.len()..).unwrap_or_default();
        let cuts_by = |sign: &str| {
            ["", "[@]", "[*]"].iter().any(|all| value.contains(&format!("${{{name}{all}{sign}")))
        };
        let emptied = || matches!(value.trim_end_matches(';'), "=" | "=\"\"" | "=''" | "=()");
        let cuts = || [":", "/", "#", "%"].iter().any(|sign| cuts_by(sign));
        // A new value, without the old one: `A=("${N[@]}")` after a loop that leaves the option out.
        let replaced = || {
            let own = |mark: &str| value.contains(&format!("{mark}{name}"));
            !value.contains("-no-") && !own("$") && !own("${")
        };
        let cut = cuts() || emptied();
        let takes = value.starts_with('=') && (cut || replaced());
        if under && takes {
            // What lies between a value and the one that replaces it says whether it is about the option.
            let about = |range: &Range<usize>| {
                cut || text.get(range.end..end).is_some_and(|between| between.contains("hpet"))
            };
            let own = set.iter().filter(|(known, range)| *known == name && about(range));
            out.extend(own.map(|(_, range)| range.clone()).take(MOST_SET));
        } else if (value.starts_with('=') || value.starts_with("+=")) && set.len() < MOST_SET {
            set.push((name, at..end));
        }
        if out.len() >= MOST_SET {
            break;
        }
    }
    out
}

fn round(text: &str, statements: &[Statement], names: &mut HashSet<String>) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut open: Vec<Open> = Vec::new();
    // The number of open conditions with such a query.
    let mut asking = 0;
    let mut head = false;
    let mut chain = false;
    let mut last = 0;
    for statement in statements {
        let at = begin(statement);
        // A filter of the answer: `qemu -M q35,help | grep -q hpet && A=`.
        let piped = text.get(last..at).is_some_and(|between| between.trim() == "|");
        last = end(statement);
        let source = text.get(at..end(statement)).unwrap_or_default();
        let first = statement.words.first().and_then(Word::literal).unwrap_or_default();
        let asks = mentions(source, names);
        match first {
            "if" | "case" | "ifeq" | "ifneq" | "ifdef" | "ifndef" => {
                open.push(Open { from: at, asks: false, exits: false, below: false });
                head = true;
            }
            "elif" => head = true,
            "then" | "else" | "do" => head = false,
            _ => {}
        }
        if head
            && asks
            && let Some(open) = open.last_mut()
        {
            asking += usize::from(!open.asks);
            open.asks = true;
            open.below |= ["-lt", "-le", "<"].iter().any(|less| source.contains(less));
        }
        // In a `case` only the first statement is the condition.
        head &= !matches!(first, "case" | "ifeq" | "ifneq" | "ifdef" | "ifndef");
        chain = asks || (statement.conditional || piped) && chain;
        if statement.conditional && chain {
            ranges.push(at..end(statement));
        }
        if asks || asking > 0 || statement.conditional && chain {
            assigned(statement, names);
        }
        let word = |word: &Word| {
            word.literal().is_some_and(|word| matches!(word, "exit" | "die" | "fatal" | "return"))
        };
        if statement.words.iter().take(2).any(word) {
            open.last_mut().into_iter().for_each(|open| open.exits = true);
        }
        if matches!(first, "fi" | "esac" | "endif") {
            head = false;
            if let Some(closed) = open.pop()
                && closed.asks
            {
                asking -= 1;
                // A script that ends with a newer QEMU continues with an older one.
                let ends = closed.exits && !closed.below && open.is_empty();
                let end = if ends { text.len() } else { at };
                ranges.push(closed.from..end);
            }
        }
    }
    ranges
}

/// Returns whether a part of a script queries a version or a feature, or has a name that contains one.
fn mentions(source: &str, names: &HashSet<String>) -> bool {
    let version = |word: &str| {
        let lower = word.to_ascii_lowercase();
        lower.contains("version")
            || lower.split('_').any(|part| matches!(part, "ver" | "vers" | "major"))
    };
    MARKS.iter().any(|mark| source.contains(mark))
        || source
            .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .any(|word| names.contains(word) || version(word))
}

/// Adds the names that a statement sets.
fn assigned(statement: &Statement, names: &mut HashSet<String>) {
    let reads = statement.words.iter().any(|word| word.literal() == Some("read"));
    for word in &statement.words {
        let Some(Piece::Literal(text)) = word.pieces.first() else { continue };
        let text = text.as_str();
        let length = name_length(text);
        let rest = text.get(length..).unwrap_or_default();
        let set = rest.starts_with('=') || rest.starts_with("+=") || reads && rest.is_empty();
        if let Some(name) = text.get(..length).filter(|name| set && !name.is_empty()) {
            names.insert(name.to_owned());
        }
    }
}

/// Returns the functions that query themselves.
fn functions(text: &str) -> HashSet<String> {
    let mut names = HashSet::new();
    let mut now: Option<&str> = None;
    let none = HashSet::new();
    for line in text.lines() {
        let start = line.strip_prefix("function ").unwrap_or(line);
        let name = start.get(..name_length(start)).unwrap_or_default();
        let rest = start.get(name.len()..).unwrap_or_default().trim_start();
        if !name.is_empty() && (rest.starts_with("()") || start.len() < line.len()) {
            now = Some(name);
        }
        if let Some(name) = now.filter(|_| mentions(line, &none)) {
            names.insert(name.to_owned());
        }
        if line.starts_with('}') {
            now = None;
        }
    }
    names
}
