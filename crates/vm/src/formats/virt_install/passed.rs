//! `--qemu-commandline`: arguments that libvirt passes to QEMU after its own.
//!
//! Source: virtinst/cli.py, `ParserQemuCLI`: the value is `args=WORDS`, `env=NAME=VALUE` or only the words, which are
//! split as a shell does.

use super::{OPEN, Placed};
use crate::shell::{Piece, statements};
use std::ops::Range;

/// Returns the words that QEMU gets.
pub(super) fn words(value: &str, at: &Range<usize>) -> Vec<Placed> {
    if value.starts_with("env=") || value.starts_with("clearxml=") {
        return Vec::new();
    }
    let value = value.strip_prefix("args=").unwrap_or(value);
    let all = statements(value);
    let words = all.iter().flat_map(|statement| &statement.words);
    let text = |pieces: &[Piece]| -> String {
        pieces
            .iter()
            .map(|piece| match piece {
                Piece::Literal(text) => text.as_str().to_owned(),
                Piece::Variable { .. } | Piece::Opaque { .. } => OPEN.to_owned(),
            })
            .collect()
    };
    words.map(|word| (text(&word.pieces), at.clone())).collect()
}
