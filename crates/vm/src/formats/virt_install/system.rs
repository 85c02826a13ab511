//! The guest's system if a variable of the script names it: `--os-variant $OS_VARIANT`.

use crate::guest::Guest;
use crate::shell::{Piece, Statement, Word, name_length};

/// Options that name the system.
pub(super) const OPTIONS: [&str; 3] = ["--os-variant", "--osinfo", "--os-type"];

/// The system that a variable names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum System {
    /// The script sets the variable to this, and to nothing else.
    Set(String),
    /// The script has this value for it, or several of one system; a run may have another one.
    Likely(String),
    Unknown,
}

/// Returns the system of a command line whose option has a variable; `None` if it has none.
pub(super) fn of(source: &str, command: &Statement, all: &[Statement]) -> Option<System> {
    let words = &command.words;
    let value = words.iter().enumerate().find_map(|(at, word)| {
        let Some(Piece::Literal(first)) = word.pieces.first() else { return None };
        let text = first.as_str();
        match word.literal() {
            Some(option) if OPTIONS.contains(&option) => words.get(at + 1),
            _ => OPTIONS
                .iter()
                .any(|it| text.strip_prefix(it).is_some_and(|it| it.starts_with('=')))
                .then_some(word),
        }
    })?;
    let mut variables = value.pieces.iter().filter(|it| !matches!(it, Piece::Literal(_)));
    match (variables.next()?, variables.next()) {
        (Piece::Variable { name, .. }, None) => Some(named(source, name, all)),
        (Piece::Opaque { at }, None) => Some(match argument(source, *at) {
            Some(value) if Guest::of_words(value).is_some() => System::Likely(value.to_owned()),
            _ => System::Unknown,
        }),
        _ => Some(System::Unknown),
    }
}

/// The system that the values of a variable name.
fn named(source: &str, name: &str, all: &[Statement]) -> System {
    let mut values: Vec<&str> = Vec::new();
    let mut open = false;
    for statement in all {
        let literals = || statement.words.iter().map(|word| word.literal().unwrap_or_default());
        // Each run of a loop, and each answer, is another value.
        let first = literals().next();
        open |= matches!(first, Some("for" | "read" | "select"))
            && literals().skip(1).any(|word| word == name);
        for word in statement.words.iter().chain(statement.array.iter().flatten()) {
            open |= defaults(word, name, &mut values);
            open |= given(word, name).is_some_and(|value| match value {
                Some("") => false,
                Some(value) => {
                    values.push(value);
                    false
                }
                None => {
                    let default = word.pieces.iter().find_map(|piece| match piece {
                        Piece::Opaque { at } => argument(source, *at),
                        _ => None,
                    });
                    values.extend(default);
                    true
                }
            });
        }
    }
    let guests: Vec<Option<Guest>> = values.iter().map(|value| Guest::of_words(value)).collect();
    let one = guests.first().copied().flatten();
    match values.first().filter(|_| one.is_some() && guests.iter().all(|guest| *guest == one)) {
        Some(value) if !open && values.len() == 1 => System::Set((*value).to_owned()),
        Some(value) => System::Likely((*value).to_owned()),
        None => System::Unknown,
    }
}

/// The default of an argument: `${1:-win10}`.
fn argument(source: &str, at: usize) -> Option<&str> {
    let inside = source.get(at..)?.strip_prefix("${")?;
    let rest = inside.trim_start_matches(|c: char| c.is_ascii_digit());
    let value = rest.strip_prefix(":-").or_else(|| rest.strip_prefix('-'))?;
    let value = value.get(..value.find('}')?)?;
    (rest.len() < inside.len() && !value.contains('$')).then_some(value)
}

/// `NAME=value`: the value, if it is only text.
fn given<'a>(word: &'a Word, name: &str) -> Option<Option<&'a str>> {
    let Some(Piece::Literal(first)) = word.pieces.first() else { return None };
    let text = first.as_str();
    let length = name_length(text);
    let value = text.get(length..)?.strip_prefix('=')?;
    (text.get(..length) == Some(name)).then(|| word.literal().map(|_| value))
}

/// Adds the defaults in expansions of the variable; returns whether there is one.
fn defaults<'a>(word: &'a Word, of: &str, values: &mut Vec<&'a str>) -> bool {
    let mut any = false;
    for piece in &word.pieces {
        if let Piece::Variable { name, default: Some(default), .. } = piece
            && name == of
        {
            values.push(default.as_str());
            any = true;
        }
    }
    any
}
