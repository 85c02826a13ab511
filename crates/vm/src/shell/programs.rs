//! Which words of a script name a program: its name, a path that ends with it (`${pkgs.NAME}/bin/NAME` of Nix), and a
//! variable that the script sets to one of these.

use super::{Piece, Statement, Word, name_length};
use std::collections::HashSet;

impl Word {
    /// Returns its text after everything that only a run shows, if this is the last name of a path: `/bin/qemu` of
    /// `$DIR/bin/qemu`.
    pub(crate) fn ending(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [Piece::Literal(text)] => Some(text.as_str()),
            [.., Piece::Literal(text)] => Some(text.as_str()).filter(|text| text.contains('/')),
            _ => None,
        }
    }
}

/// The variables that contain a program.
pub(crate) struct Programs<'a> {
    is: fn(&str) -> bool,
    holders: HashSet<&'a str>,
}

impl<'a> Programs<'a> {
    /// Reads the variables: `ch=${ch:-/opt/cloud-hypervisor}`, `cmd="strace $ch"`.
    pub(crate) fn of(statements: &'a [Statement], is: fn(&str) -> bool) -> Self {
        let mut programs = Self { is, holders: HashSet::new() };
        // `: ${ch:=/opt/cloud-hypervisor}` sets a variable that has no value.
        let empty = |it: &&Statement| it.words.first().and_then(Word::literal) == Some(":");
        for piece in
            statements.iter().filter(empty).flat_map(|it| &it.words).flat_map(|it| &it.pieces)
        {
            if let Piece::Variable { name, .. } = piece
                && programs.given(piece)
            {
                programs.holders.insert(name);
            }
        }
        let words = statements.iter().flat_map(|statement| &statement.words);
        for (word, name, value) in words.filter_map(|word| {
            let (name, value) = assigned(word)?;
            Some((word, name, value))
        }) {
            let holds = |piece: &Piece| match piece {
                Piece::Literal(text) => programs.last(text.as_str()),
                piece => programs.given(piece),
            };
            if programs.last(value) || word.pieces.iter().skip(1).any(holds) {
                programs.holders.insert(name);
            }
        }
        programs
    }

    /// Returns whether a word is the program.
    pub(crate) fn named(&self, word: &Word) -> bool {
        word.ending().is_some_and(self.is)
            || matches!(word.pieces.as_slice(), [piece] if self.given(piece))
    }

    /// Whether a variable contains it, even as the default of its expansion.
    fn given(&self, piece: &Piece) -> bool {
        let Piece::Variable { name, default, .. } = piece else { return false };
        self.holders.contains(name.as_str())
            || default.as_ref().is_some_and(|text| self.last(text.as_str()))
    }

    fn last(&self, text: &str) -> bool {
        text.split_whitespace().last().is_some_and(self.is)
    }
}

/// `NAME=value`: the name, and the text at the beginning of the value.
fn assigned(word: &Word) -> Option<(&str, &str)> {
    let Some(Piece::Literal(first)) = word.pieces.first() else { return None };
    let text = first.as_str();
    let name = text.get(..name_length(text)).filter(|name| !name.is_empty())?;
    Some((name, text.get(name.len()..)?.strip_prefix('=')?))
}
