//! Command lines in YAML: values that YAML folds into one line (Compose, CI), and lists with one argument in each item.
//! Nothing is edited there. The meaning of the command lines is in `line` and `script`.

use super::command::{Command, command, is_program, strong};
use crate::placed::{Placed, UNKNOWN};
use crate::yaml::{Node, parse, scalars};
use std::ops::Range;

/// The most lists of one file, and the most items of a list.
const MOST: usize = 256;

/// Returns the text with blanks where YAML joins lines, so that places do not change. YAML 1.2.2: 8.1.3 for `>`, 7.3
/// for plain and quoted values.
pub(crate) fn joined(text: &str) -> String {
    let mut breaks = Vec::new();
    let blocks = blocks(text, &mut breaks);
    let inside = |at: usize| {
        let after = blocks.partition_point(|block| block.start <= at);
        after.checked_sub(1).and_then(|n| blocks.get(n)).is_some_and(|block| at < block.end)
    };
    for span in scalars(text).0 {
        let value = text.get(span.clone()).unwrap_or_default();
        // A value that is not a block is folded whatever its indentation is.
        if !value.contains('\n') || value.starts_with(['|', '>']) || inside(span.start) {
            continue;
        }
        for (at, _) in value.trim_end().match_indices('\n') {
            breaks.push(span.start + at);
        }
    }
    let mut bytes = text.as_bytes().to_vec();
    for at in breaks {
        // An empty line is a break in the value.
        let around = |rest: Option<&str>| rest.is_some_and(|rest| rest.trim().is_empty());
        let before = text.get(..at).and_then(|before| before.rsplit('\n').next());
        let behind = text.get(at + 1..).and_then(|behind| behind.split('\n').next());
        if around(before) || around(behind) {
            continue;
        }
        for at in [at, at.saturating_sub(1)] {
            if let Some(byte) = bytes.get_mut(at).filter(|byte| matches!(byte, b'\n' | b'\r')) {
                *byte = b' ';
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

/// Returns the values of `|` and `>`; adds the breaks that `>` folds.
fn blocks(text: &str, breaks: &mut Vec<usize>) -> Vec<Range<usize>> {
    let indent = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let mut lines = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        lines.push((at, line));
        at += line.len();
    }
    let mut found = Vec::new();
    let mut number = 0;
    while let Some((_, line)) = lines.get(number) {
        number += 1;
        let Some((folded, said)) = header(line) else { continue };
        let parent = parent(line);
        let first = lines.get(number..).unwrap_or_default();
        let first = first.iter().find(|(_, line)| !line.trim().is_empty());
        let own = said.map_or_else(|| first.map_or(0, |(_, line)| indent(line)), |n| parent + n);
        // At the top of a document a value needs no indentation.
        if own == 0 || said.is_none() && own <= parent && parent > 0 {
            continue;
        }
        let start = number;
        while let Some((_, line)) = lines.get(number) {
            if !line.trim().is_empty() && indent(line) < own {
                break;
            }
            number += 1;
        }
        let block = lines.get(start..number).unwrap_or_default();
        let (Some((from, _)), Some((to, last))) = (block.first(), block.last()) else { continue };
        found.push(*from..to + last.len());
        for pair in block.windows(2).filter(|_| folded) {
            let [(at, one), (_, other)] = pair else { continue };
            // Lines with more indentation keep their breaks.
            let more = |line: &str| line.get(own..).is_some_and(|it| it.starts_with([' ', '\t']));
            if !more(one) && !more(other) && one.ends_with('\n') {
                breaks.push(at + one.len() - 1);
            }
        }
    }
    found
}

/// Returns whether a line ends with `|` or `>` as the head of a value: whether it is `>`, and the indentation
/// indicator.
fn header(line: &str) -> Option<(bool, Option<usize>)> {
    let line = line.split(" #").next().unwrap_or(line).trim_end();
    let line_start = line.trim_start();
    if line_start.starts_with('#') {
        return None;
    }
    let (before, word) = line.rsplit_once([' ', '\t']).unwrap_or(("", line));
    let signs = word.strip_prefix('>').or_else(|| word.strip_prefix('|'))?;
    if signs.len() > 2 || !signs.chars().all(|c| matches!(c, '+' | '-' | '1'..='9')) {
        return None;
    }
    // A tag or an anchor may precede it.
    let mut words = before.split_whitespace().rev();
    let last = words.find(|word| !word.starts_with(['!', '&'])).unwrap_or_default();
    let opens = last.ends_with(':') || matches!(last, "-" | "---" | "?");
    let digit = signs.chars().find_map(|c| c.to_digit(10)).and_then(|n| usize::try_from(n).ok());
    opens.then(|| (word.starts_with('>'), digit))
}

/// Returns the column of the node that a value belongs to: after `- ` of an item with a key, that of the key.
fn parent(line: &str) -> usize {
    let mut column = line.len() - line.trim_start_matches(' ').len();
    let mut rest = line.trim_start_matches(' ');
    while let Some(behind) = rest.strip_prefix("- ") {
        let inner = behind.trim_start_matches(' ');
        if inner.starts_with(['|', '>', '!', '&']) {
            break;
        }
        column += rest.len() - inner.len();
        rest = inner;
    }
    column
}

/// Returns lists of arguments, one in each item; those of `command` or `entrypoint` and of `args` or `command` beside
/// it are one.
pub(super) fn commands(text: &str) -> Vec<Command> {
    let mut found = Vec::new();
    for root in parse(text).unwrap_or_default() {
        walk(text, &root, &mut found);
    }
    found
}

fn walk(text: &str, node: &Node, found: &mut Vec<Command>) {
    if found.len() >= MOST {
        return;
    }
    match node {
        Node::Map { entries, .. } => {
            let mut taken: Option<&str> = None;
            for (first, second) in [("command", "args"), ("entrypoint", "command")] {
                let (Some((_, one)), Some((_, other))) = (node.entry(first), node.entry(second))
                else {
                    continue;
                };
                let words: Vec<_> =
                    [one, other].into_iter().flat_map(|it| items(text, it)).collect();
                if taken.is_none() && take(&words, found) {
                    taken = Some(first);
                }
            }
            for (key, value) in entries {
                let second = match taken {
                    Some("command") => ["command", "args"],
                    Some(_) => ["entrypoint", "command"],
                    None => ["", ""],
                };
                if taken.is_none() || !second.contains(&key.name.as_str()) {
                    walk(text, value, found);
                }
            }
        }
        Node::List { items: all } => {
            if !take(&items(text, node), found) {
                all.iter().for_each(|item| walk(text, item, found));
            }
        }
        Node::Scalar { .. } | Node::Alias => {}
    }
}

/// Reads a list if it starts QEMU, or if it consists of options.
fn take(words: &[Placed], found: &mut Vec<Command>) -> bool {
    let program = words.iter().take(8).position(|word| is_program(word.as_str()));
    let begins = words.first().is_some_and(|word| word.as_str().starts_with('-'));
    let options = begins && words.iter().filter(|word| strong(word.as_str())).count() >= 3;
    // Items of a script are commands.
    let before = words.get(..program.unwrap_or(0)).unwrap_or_default();
    let plain = before.iter().all(|word| !word.as_str().contains(char::is_whitespace));
    let made = (program.is_some() && plain || options).then(|| command(words)).flatten();
    let any = made.is_some();
    found.extend(made);
    any
}

/// The items of a list, or one value, as arguments.
fn items(text: &str, node: &Node) -> Vec<Placed> {
    match node {
        Node::List { items } => {
            items.iter().take(4 * MOST).map(|item| argument(text, item)).collect()
        }
        other => vec![argument(text, other)],
    }
}

fn argument(text: &str, node: &Node) -> Placed {
    let Some((value, span)) = node.scalar() else {
        return unknown(0);
    };
    let mut span = span.clone();
    let source = text.get(span.clone()).unwrap_or_default();
    if source.starts_with(['"', '\'']) && source.len() > 1 {
        span = span.start + 1..span.end - 1;
    }
    if value.contains("$(") || value.contains("${") || value.contains("{{") {
        return unknown(span.start);
    }
    match text.get(span.clone()) == Some(value) {
        true => Placed::new(value, span.start),
        false => Placed::lost(value, span),
    }
}

fn unknown(at: usize) -> Placed {
    let mut unknown = Placed::default();
    unknown.push(UNKNOWN, at);
    unknown
}
