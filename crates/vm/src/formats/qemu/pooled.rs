//! Groups words of a script, in which no command was found, by command line. The words of a statement belong together;
//! text and arrays that are added to a variable belong to its previous value (`CMD+=" -cpu max"`, `CMD="$CMD -cpu
//! max"`), and a text belongs to the variables in it; lines that consist of options continue the line before. Two
//! separate variables may be of two machines, even if both include the same variables.

use super::command::strong;
use super::script::{begin, end, tests};
use crate::placed::Placed;
use crate::shell::{Piece, Statement, Word, name_length};
use crate::words::listed;
use std::collections::BTreeMap;
use std::ops::Range;

/// The limit of values that are joined from several statements.
const MOST: usize = 256;
/// The limit of statements in one of them.
const MOST_PARTS: usize = 32;

/// QEMU options that other programs also have: `resize2fs -M`, `mkfs -m`.
const OF_OTHERS: &str = "-m -M -device -kernel -global -rtc -bios -append";

/// Returns whether collected words are QEMU options: one that no other program has, or several different ones.
pub(super) fn enough(words: &[Placed]) -> bool {
    let mut found: Vec<&str> =
        words.iter().map(Placed::as_str).filter(|word| strong(word)).collect();
    let own = found.iter().any(|word| !listed(OF_OTHERS, word));
    found.sort_unstable();
    found.dedup();
    own || found.len() > 1
}

/// Returns the words of a value that begins with a QEMU option: of a variable (`NAME="-cpu host"`), or of a key of an
/// array (`["cpu"]="-cpu host"`).
pub(super) fn value(word: &Placed) -> Option<Vec<Placed>> {
    let text = word.as_str();
    let key = text.strip_prefix('[').and_then(|_| text.find("]=")).map(|at| at + 2);
    let named = text.find("=-").filter(|at| name_length(text) == *at).map(|at| at + 1);
    let words = word.slice(key.or(named).unwrap_or(0)..text.len()).words();
    let several = words.len() > 1 && words.first().is_some_and(|first| strong(first.as_str()));
    several.then_some(words)
}

/// The statements, grouped by command line.
#[derive(Clone, Debug, Default)]
pub(super) struct Pooled {
    /// The place of each statement, in order, and its number; consecutive lines of options share one.
    places: Vec<(Range<usize>, usize)>,
    /// The statements with a `-cpu` in each value of a variable.
    values: Vec<Vec<usize>>,
}

impl Pooled {
    /// Groups the statements of a script by the variables that they set.
    pub(super) fn of(statements: &[Statement]) -> Self {
        let mut pooled = Self::default();
        let mut variables: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        let mut options: Option<usize> = None;
        for (at, statement) in statements.iter().enumerate().filter(|(_, it)| !tests(it)) {
            options = only_options(statement).then(|| options.unwrap_or(at));
            let number = options.unwrap_or(at);
            pooled.places.push((begin(statement)..end(statement), number));
            let Some((name, adds)) = assigned(statement) else { continue };
            let scalar = statement.array.is_none();
            let put_in = used(statement).filter(|it| scalar && *it != name);
            let had = adds.then_some(name).into_iter().chain(put_in);
            let mut parts: Vec<usize> =
                had.filter_map(|it| variables.get(it)).flatten().copied().collect();
            parts.extend(has_cpu(statement).then_some(at));
            parts.sort_unstable();
            parts.dedup();
            parts.truncate(MOST_PARTS);
            if parts.len() > 1 && pooled.values.len() < MOST {
                pooled.values.push(parts.clone());
            }
            variables.insert(name, parts);
        }
        pooled.places.sort_by_key(|(range, _)| range.start);
        pooled
    }

    /// Returns whether the texts at two offsets certainly belong to one command line.
    pub(super) fn of_one(&self, first: usize, last: usize) -> bool {
        let (Some(first), Some(last)) = (self.at(first), self.at(last)) else { return false };
        let both = |value: &Vec<usize>| value.contains(&first) && value.contains(&last);
        first == last || self.values.iter().any(both)
    }

    /// Returns the same where words were collected; all words of another command line belong together.
    pub(super) fn joins(&self, first: usize, last: usize) -> bool {
        self.places.is_empty() || self.of_one(first, last)
    }

    fn at(&self, offset: usize) -> Option<usize> {
        let behind = self.places.partition_point(|(range, _)| range.start <= offset);
        let (range, number) = self.places.get(behind.checked_sub(1)?)?;
        range.contains(&offset).then_some(*number)
    }
}

/// Returns the variable that a statement sets, and whether it adds to the previous value.
fn assigned(statement: &Statement) -> Option<(&str, bool)> {
    let mut words = statement.words.iter().enumerate().take(4);
    let (name, adds) = words.find_map(|(n, word)| given(word, statement.words.get(n + 1)))?;
    Some((name, adds || used(statement).any(|it| it == name)))
}

/// `NAME=` and `NAME+=`, and `NAME =` of make: the name, and whether something is added to it.
fn given<'a>(word: &'a Word, next: Option<&Word>) -> Option<(&'a str, bool)> {
    let Some(Piece::Literal(text)) = word.pieces.first() else { return None };
    let text = text.as_str();
    let name = text.get(..name_length(text)).filter(|name| !name.is_empty())?;
    let operator = match text.get(name.len()..)? {
        "" => next?.literal()?,
        operator => operator,
    };
    let adds = operator.starts_with("+=");
    let gives = adds || operator.starts_with('=') || matches!(operator, ":=" | "?=");
    gives.then_some((name, adds))
}

/// Returns the variables that a statement uses.
fn used(statement: &Statement) -> impl Iterator<Item = &str> {
    let words = statement.words.iter().chain(statement.array.iter().flatten());
    words.flat_map(|word| &word.pieces).filter_map(|piece| match piece {
        Piece::Variable { name, .. } => Some(name.as_str()),
        _ => None,
    })
}

/// Whether a line begins with an option: `-cpu host`, `"-cpu", "host",`.
fn only_options(statement: &Statement) -> bool {
    let first = statement.words.first().and_then(|word| word.pieces.first());
    matches!(first, Some(Piece::Literal(text)) if text.as_str().starts_with('-'))
}

/// Whether a statement has a `-cpu` itself.
fn has_cpu(statement: &Statement) -> bool {
    let words = statement.words.iter().chain(statement.array.iter().flatten());
    let mut pieces = words.flat_map(|word| &word.pieces);
    pieces.any(|piece| matches!(piece, Piece::Literal(text) if text.as_str().contains("-cpu")))
}
