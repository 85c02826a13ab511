//! Variables with a command line that only begins the value of another variable: `Q="qemu-system-x86_64 -m 1G"`,
//! `RUN="$Q -cpu host"`, `$RUN`. Their own value starts no machine.

use crate::shell::{Piece, Statement, Word, name_length};
use std::collections::BTreeSet;

/// Returns the variables that are used, and only at the beginning of a value of another one.
pub(super) fn of(statements: &[Statement]) -> BTreeSet<&str> {
    let (mut begin, mut other) = (BTreeSet::new(), BTreeSet::new());
    for statement in statements {
        for word in statement.words.iter().chain(statement.array.iter().flatten()) {
            let begun = begun(word);
            begin.extend(begun);
            let used = word.pieces.iter().filter_map(|piece| match piece {
                Piece::Variable { name, .. } => Some(name.as_str()),
                _ => None,
            });
            other.extend(used.skip(usize::from(begun.is_some())));
        }
    }
    begin.retain(|name| !other.contains(name));
    begin
}

/// Returns the variable that a statement sets.
pub(super) fn sets(statement: &Statement) -> Option<&str> {
    statement.words.iter().find_map(|word| assigned(word))
}

/// Returns the variable whose value begins the one that a word assigns to another.
fn begun(word: &Word) -> Option<&str> {
    let set = assigned(word)?;
    match word.pieces.as_slice() {
        [Piece::Literal(text), Piece::Variable { name, .. }, ..] => {
            let only = text.as_str().trim_end_matches(['=', '+']).len() == set.len();
            (only && name != set).then_some(name)
        }
        _ => None,
    }
}

fn assigned(word: &Word) -> Option<&str> {
    let Some(Piece::Literal(text)) = word.pieces.first() else { return None };
    let text = text.as_str();
    let name = text.get(..name_length(text)).filter(|name| !name.is_empty())?;
    text.get(name.len()..)?.trim_start_matches('+').starts_with('=').then_some(name)
}
