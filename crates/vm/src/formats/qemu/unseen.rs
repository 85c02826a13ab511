//! Options that may reach a command line in a way that the reader does not follow: elements of
//! arrays, arguments of functions, words made by `read`, `eval` and loops. Scripts are not run
//! here; so the finding is reported, and nothing is guessed.

use super::command::{Command, is_program};
use super::line::unfilled;
use super::property::Properties;
use super::script::{Script, begin, end};
use super::{nix, python};
use crate::certain::{is_python, is_shell};
use crate::comments;
use crate::document::Document;
use crate::finding::Finding;
use crate::placed::{Placed, UNKNOWN};
use crate::shell::{Piece, Statement, Word, is_unit, name_length, statements};
use crate::words::listed;
use std::collections::HashSet;

/// Options and properties that affect a clock.
const MARKS: [&str; 12] = [
    "hpet=on",
    "-no-hpet",
    "-kvmclock",
    "kvmclock=off",
    "kvm=off",
    "-hypervisor",
    "hypervisor=off",
    "+invtsc",
    "invtsc=on",
    "-invtsc",
    "-rdtscp",
    "-tsc-deadline",
];
/// Commands whose arguments are printed, compared or searched for.
const TALKS: &str =
    "echo printf log info warn die usage grep sed awk [ [[ test case if elif while cat";
/// The limit of findings in one file.
const MOST: usize = 8;

/// Reports options that only a run shows.
pub(super) fn check(document: &Document, script: &Script) -> Vec<Finding> {
    let python = is_python(document);
    let unit = is_unit(document.text.as_str());
    if !(python || unit || is_shell(document))
        || script.commands.iter().all(|command| command.program.is_none())
    {
        return Vec::new();
    }
    let mut known = HashSet::new();
    let mut out = values(document, script);
    out.extend(match (python, unit) {
        (true, _) => strings(document, script),
        (_, true) => Vec::new(),
        _ => broken(document, script).into_iter().chain(marks(document, script)).collect(),
    });
    out.retain(|finding| known.insert(finding.span.start));
    out.truncate(MOST);
    out
}

/// Reports a bracket that is not quoted after a word of a command line: no shell reads it, and what follows it is not
/// read here.
fn broken(document: &Document, script: &Script) -> Vec<Finding> {
    let text = document.text.as_str();
    let started = script.commands.iter().filter(|command| command.program.is_some());
    let bracket = |command: &Command| {
        let end = command.words.last()?.exact()?.end;
        let rest = text.get(end..)?;
        let behind = rest.trim_start_matches([' ', '\t', '\\', '\n']);
        let joined =
            rest.len() == behind.len() || !rest.trim_start_matches([' ', '\t']).starts_with('\n');
        let at = end + rest.len() - behind.len();
        (joined && behind.starts_with('(')).then_some(at..at + 1)
    };
    let say = |at: std::ops::Range<usize>| {
        let words = "a shell stops at this bracket, which is not quoted: the rest of the command line is not read here";
        finding(at, words.to_owned())
    };
    started.filter_map(bracket).map(say).collect()
}

fn finding(at: std::ops::Range<usize>, summary: String) -> Finding {
    Finding::new(rule!("q-value-unknown"), at).summary(summary)
}

/// Reports a function that gets QEMU options, a script that gets its name, or a program whose options are in variables.
pub(super) fn helper(document: &Document, at: &std::ops::Range<usize>) -> Finding {
    let name = document.text.slice(at.clone());
    if is_program(name) || name.is_empty() {
        let words = "every option of this QEMU is in a variable that is set elsewhere; only a run \
                     shows what it contains";
        return finding(at.clone(), words.to_owned());
    }
    if nix::is_option(name) {
        let words = "NixOS writes the command line from such options; only a build shows what else \
                     is in it";
        return finding(at.clone(), words.to_owned());
    }
    let what = if name.contains(['/', '.']) { "script" } else { "function" };
    let words =
        format!("the {what} {name} writes the command line; only a run shows what it writes");
    finding(at.clone(), words)
}

/// Values of `-cpu` and `-machine` no part of which is known.
fn values(document: &Document, script: &Script) -> Vec<Finding> {
    let of = |command: &Command| {
        let options = command.words.windows(2).filter_map(|two| match two {
            [option, value] => {
                let name = option.as_str().trim_start_matches('-');
                let matters =
                    option.as_str().starts_with('-') && matches!(name, "cpu" | "machine" | "M");
                matters.then(|| value.clone())
            }
            _ => None,
        });
        options
            .map(|value| unfilled(&value))
            .flat_map(|value| open_parts(&value))
            .collect::<Vec<_>>()
    };
    let all = script.commands.iter().filter(|command| command.program.is_some()).flat_map(of);
    let say = |value: Placed| {
        let at = value.open()?;
        let name = expression(document.text.as_str(), at);
        Some(finding(at..at + name.len(), format!("only a run shows what {name} contains")))
    };
    all.filter_map(say).collect()
}

/// Properties that determine a clock.
const PROPERTIES: &str =
    "kvmclock kvm hypervisor invtsc hpet kvmclock-stable-bit hv-time hv-stimer";

/// Returns the unknown parts of a value: all of it, or the values of properties that affect a clock.
fn open_parts(value: &Placed) -> Vec<Placed> {
    if nothing_known(value) {
        return vec![value.clone()];
    }
    let list = Properties::parse(value).list.into_iter();
    let open = list.filter(|property| {
        listed(PROPERTIES, &property.name) && property.value.as_ref().is_some_and(nothing_known)
    });
    open.filter_map(|property| property.value).collect()
}

fn nothing_known(value: &Placed) -> bool {
    let text = value.as_str();
    text.contains(UNKNOWN) && text.chars().all(|c| c == UNKNOWN || c == ',')
}

/// Returns the source of an expansion.
fn expression(text: &str, at: usize) -> &str {
    let rest = text.get(at..).unwrap_or_default();
    let line = rest.lines().next().unwrap_or_default();
    let until = |close: char| line.find(close).map_or(line.len(), |n| n + 1);
    let length = match line.as_bytes() {
        [b'$', b'{', ..] => until('}'),
        [b'$', b'(', ..] => until(')'),
        // A placeholder of another language.
        [b'#' | b'%' | b'{' | b'@' | b'!' | b'<' | b'_', ..] | [b'$', b'$' | b'[', ..] => {
            let ends = |c: char| c.is_whitespace() || ",\"'`;)".contains(c);
            let close = ["}}", "%>"].iter().find_map(|close| Some(line.find(close)? + 2));
            let templated = line.starts_with("{{") || line.starts_with("<%");
            close.filter(|_| templated).unwrap_or_else(|| line.find(ends).unwrap_or(line.len()))
        }
        [b'`', ..] => line.get(1..).and_then(|rest| rest.find('`')).map_or(1, |n| n + 2),
        [first, ..] if *first != b'$' && name_length(line) > 0 => {
            let in_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
            line.find(|c| !in_name(c)).unwrap_or(line.len())
        }
        [b'$', ..] => {
            let name = line.get(1..).map_or(0, name_length);
            let one = line.chars().nth(1).map_or(0, char::len_utf8);
            1 + name.max(one)
        }
        _ => line.chars().next().map_or(0, char::len_utf8),
    };
    line.get(..length).unwrap_or_default()
}

/// Reports Python strings that affect a clock, but are not in any command line that was found.
fn strings(document: &Document, script: &Script) -> Vec<Finding> {
    let text = document.text.as_str();
    let mut used = vec![false; text.len()];
    script.commands.iter().flat_map(|it| &it.words).for_each(|word| word.mark(&mut used));
    let in_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let mut out = Vec::new();
    for string in python::strings(text) {
        let from = string.span().start;
        let found = |mark: &'static str| {
            let at = string.as_str().find(mark)?;
            let (front, rest) = string.as_str().split_at(at);
            let whole = !front.ends_with(in_word)
                && !rest.get(mark.len()..).is_some_and(|rest| rest.starts_with(in_word));
            whole.then_some((at, mark))
        };
        if let Some((at, mark)) = MARKS.into_iter().find_map(found)
            && used.get(from) != Some(&true)
            && out.len() < MOST
        {
            let words = format!("only a run shows which command line {mark} leads to");
            out.push(finding(string.slice(at..at + mark.len()).span(), words));
        }
    }
    out
}

/// Reports words that affect a clock, but are not in any command line that was found.
fn marks(document: &Document, script: &Script) -> Vec<Finding> {
    let text = document.text.as_str();
    if !MARKS.iter().any(|mark| text.contains(mark)) {
        return Vec::new();
    }
    let comments = comments::of(document);
    let statements = statements(text);
    let functions = functions(text);
    // Whether a command substitution captures the output of the function around an offset.
    let captured = |at: usize| {
        let after = functions.partition_point(|(start, _)| *start <= at);
        after.checked_sub(1).and_then(|n| functions.get(n)).is_some_and(|(_, called)| *called)
    };
    let mut used = vec![false; text.len()];
    script.commands.iter().flat_map(|it| &it.words).for_each(|word| word.mark(&mut used));
    let used = |at: usize| used.get(at) == Some(&true);
    let in_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let whole = |at: usize, mark: &str| {
        let before = text.get(..at).and_then(|front| front.chars().next_back());
        let after = text.get(at + mark.len()..).and_then(|rest| rest.chars().next());
        !before.is_some_and(|c| in_word(c) || c == '-') && !after.is_some_and(in_word)
    };
    let mut out = Vec::new();
    for mark in MARKS {
        for (at, _) in text.match_indices(mark).take(64) {
            let seen = !whole(at, mark) || comments.iter().any(|it| it.contains(&at)) || used(at);
            if seen || out.len() >= MOST {
                continue;
            }
            let statement = statements.iter().find(|it| begin(it) <= at && at < end(it));
            let holder = match statement {
                Some(statement) if talks(statement) && !(prints(statement) && captured(at)) => {
                    continue;
                }
                Some(statement) => holder(statement, at),
                // A here-document is the input of a command.
                None if text.contains("read ") || captured(at) => None,
                None => continue,
            };
            let words = match holder {
                Some(name) => format!("only a run shows where ${name} with {mark} leads"),
                None => format!("only a run shows which command line {mark} leads to"),
            };
            out.push(finding(at..at + mark.len(), words));
        }
    }
    out
}

/// Returns whether a statement only prints, compares or searches for its words, or starts QEMU itself.
fn talks(statement: &Statement) -> bool {
    let mut words = statement.words.iter().filter_map(Word::literal);
    let first = words.clone().find(|word| !matches!(*word, "then" | "else" | "do" | "{" | "!"));
    first.is_some_and(|word| listed(TALKS, word)) || words.any(is_program)
}

/// Whether a statement prints its words.
fn prints(statement: &Statement) -> bool {
    let first = statement.words.iter().filter_map(Word::literal);
    let first = first.into_iter().find(|word| !matches!(*word, "then" | "else" | "do" | "{" | "!"));
    matches!(first, Some("echo" | "printf" | "cat"))
}

/// The limit of functions that are read.
const MOST_FUNCTIONS: usize = 256;

/// Returns where the functions of a script begin, and whether a command substitution captures their output.
fn functions(text: &str) -> Vec<(usize, bool)> {
    let mut found = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let at = start;
        start += line.len();
        let line = line.trim_start();
        let line = line.strip_prefix("function ").unwrap_or(line);
        let name = line.get(..name_length(line)).unwrap_or_default();
        let rest = line.get(name.len()..).unwrap_or_default().trim_start();
        if name.is_empty() || !rest.starts_with("()") || found.len() >= MOST_FUNCTIONS {
            continue;
        }
        let called = ["$(", "`"].iter().any(|open| {
            let call = format!("{open}{name}");
            let mut behind =
                text.match_indices(&call).filter_map(|(at, _)| text.get(at + call.len()..));
            behind.any(|rest| rest.starts_with([' ', ')', '`', '\n']))
        });
        found.push((at, called));
    }
    found
}

/// Returns the variable that gets the word at a place.
fn holder(statement: &Statement, at: usize) -> Option<String> {
    let array = statement.array.iter().flatten().any(|word| word.span.contains(&at));
    let word = match array {
        true => statement.words.last(),
        false => statement.words.iter().find(|word| word.span.contains(&at)),
    }?;
    let word = Some(word).filter(|word| array || word.span.start < at)?;
    let Some(Piece::Literal(first)) = word.pieces.first() else { return None };
    let text = first.as_str();
    let name = text.get(..name_length(text)).filter(|name| !name.is_empty())?;
    let rest = text.get(name.len()..)?;
    (rest.starts_with(['=', '[']) || rest.starts_with("+=")).then(|| name.to_owned())
}
