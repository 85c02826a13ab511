//! Command lines in a string that a script runs: `CMD="virt-install --name a"`, and later `eval $CMD`.

use super::{Placed, is_program, text};
use crate::shell::{Statement, Word, name_length, statements};
use crate::words::listed;
use std::collections::HashSet;
use std::ops::Range;

/// Returns the words of the command lines in strings, each word with its place in the file.
pub(super) fn commands(source: &str, all: &[Statement]) -> Vec<Vec<Placed>> {
    let found = all.iter().flat_map(|statement| &statement.words);
    let found = found.filter_map(|word| command(source, word)).collect::<Vec<_>>();
    if found.is_empty() {
        return Vec::new();
    }
    let run = run(source, all);
    let mut out = Vec::new();
    for (_, inside) in found.into_iter().filter(|(name, _)| run.contains(name)) {
        let string = source.get(inside.clone()).unwrap_or_default();
        let shifted = |word: &Word| {
            let span = word.span.start + inside.start..word.span.end + inside.start;
            (text(string, word), span)
        };
        out.extend(statements(string).iter().map(|it| it.words.iter().map(shifted).collect()));
    }
    out
}

/// Returns the name of the variable that gets a command line, and the place of the text in its quotes.
fn command<'a>(source: &'a str, word: &Word) -> Option<(&'a str, Range<usize>)> {
    let (name, value) = source.get(word.span.clone())?.split_once('=')?;
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let inside = value.strip_prefix(quote)?.strip_suffix(quote)?;
    let program = inside.split_whitespace().find(|word| *word != "sudo")?;
    let start = word.span.start + name.len() + 2;
    let named = !name.is_empty() && name_length(name) == name.len();
    (named && is_program(program)).then(|| (name, start..start + inside.len()))
}

/// Returns the names of the variables whose values statements run.
fn run<'a>(source: &'a str, all: &[Statement]) -> HashSet<&'a str> {
    const BEFORE: &str = "eval exec sudo command time if then else ! do {";
    let variable = |statement: &Statement| {
        let words = statement.words.iter();
        let mut words = words.map(|word| source.get(word.span.clone()).unwrap_or_default());
        let program = words.find(|word| !listed(BEFORE, word))?;
        let name = program.trim_matches('"').strip_prefix('$')?;
        let braced = name.strip_prefix('{').and_then(|name| name.strip_suffix('}'));
        Some(braced.unwrap_or(name))
    };
    all.iter().filter_map(variable).collect()
}
