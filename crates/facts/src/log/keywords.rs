//! The search for all keywords at once.

use super::LogError;
use super::parse::{Group, KEYWORDS};
use aho_corasick::{AhoCorasick, Input, MatchKind, packed};
use std::ops::Range;

/// Finds keywords in bytes.
pub(super) enum Finder {
    /// Vector instructions.
    Packed(packed::Searcher),
    /// For processors without vector instructions that the other one knows.
    Automaton(AhoCorasick),
}

/// Where a keyword stands.
pub(super) struct Hit {
    pub(super) start: usize,
    pub(super) end: usize,
    /// The keyword's group.
    pub(super) group: Group,
}

impl Finder {
    /// The faster one of those that work here.
    pub(super) fn new() -> Result<Self, LogError> {
        let packed = packed::Config::new()
            .match_kind(packed::MatchKind::LeftmostFirst)
            .builder()
            .extend(KEYWORDS.iter().map(|(keyword, _)| keyword))
            .build();
        match packed {
            Some(searcher) => Ok(Self::Packed(searcher)),
            None => Self::automaton(),
        }
    }

    fn automaton() -> Result<Self, LogError> {
        AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostFirst)
            .build(KEYWORDS.iter().map(|(keyword, _)| keyword))
            .map(Self::Automaton)
            .map_err(|_| LogError::Internal("the keyword searcher cannot be built"))
    }

    /// The first keyword in a part of the bytes.
    pub(super) fn find(&self, bytes: &[u8], part: Range<usize>) -> Option<Hit> {
        let (start, end, keyword) = match self {
            Self::Packed(searcher) => {
                let found = searcher.find_in(bytes, part.into())?;
                (found.start(), found.end(), found.pattern().as_usize())
            }
            Self::Automaton(automaton) => {
                let found = automaton.find(Input::new(bytes).range(part))?;
                (found.start(), found.end(), found.pattern().as_usize())
            }
        };
        Some(Hit { start, end, group: KEYWORDS.get(keyword)?.1 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(finder: &Finder, bytes: &[u8]) -> Vec<(usize, usize)> {
        let mut from = 0;
        let mut hits = Vec::new();
        while let Some(hit) = finder.find(bytes, from..bytes.len()) {
            hits.push((hit.start, hit.end));
            from = hit.end;
        }
        hits
    }

    proptest! {
        #[test]
        fn both_find_the_same(parts in proptest::collection::vec((0..KEYWORDS.len(), "[ a-zA-Z:]{0,40}"), 0..20)) {
            let text: String =
                parts.iter().map(|(keyword, filler)| format!("{filler}{}", KEYWORDS[*keyword].0)).collect();
            let automaton = Finder::automaton().unwrap();
            prop_assert_eq!(
                all(&Finder::new().unwrap(), text.as_bytes()),
                all(&automaton, text.as_bytes())
            );
        }
    }
}
