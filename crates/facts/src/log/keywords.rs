//! The search for all keywords at once.

use super::LogError;
use super::parse::{Group, KEYWORDS};
use aho_corasick::{AhoCorasick, Input, MatchKind, packed};
use std::ops::Range;

/// Maximum number of keywords in one vectorised search: the library accepts at most 64, and fewer are
/// faster, with equal beginnings together.
const TOGETHER: usize = 48;
/// Maximum length of keywords with a separate search: a short keyword makes a search compare fewer letters of all
/// keywords.
const SHORT: usize = 3;

/// Finds keywords in bytes.
pub(super) enum Finder {
    /// Vector instructions, each search for some of the keywords.
    Packed(Vec<Part>),
    /// For processors without the vector instructions that the packed search supports.
    Automaton(AhoCorasick),
}

/// A search for some of the keywords.
pub(super) struct Part {
    searcher: packed::Searcher,
    /// Their indices in [`KEYWORDS`].
    keywords: Vec<usize>,
}

/// The place of a keyword.
#[derive(Clone, Copy)]
pub(super) struct Hit {
    pub(super) start: usize,
    pub(super) end: usize,
    /// Its index in [`KEYWORDS`].
    keyword: usize,
    /// The keyword's group.
    pub(super) group: Group,
}

impl Hit {
    fn new(start: usize, end: usize, keyword: usize) -> Option<Self> {
        Some(Self { start, end, keyword, group: KEYWORDS.get(keyword)?.1 })
    }
}

impl Finder {
    /// The faster one of those that this processor supports.
    pub(super) fn new() -> Result<Self, LogError> {
        let mut sorted: Vec<usize> = (0..KEYWORDS.len()).collect();
        sorted.sort_by_key(|at| KEYWORDS[*at].0);
        let (short, long): (Vec<usize>, Vec<usize>) =
            sorted.iter().partition(|at| KEYWORDS[**at].0.len() <= SHORT);
        let parts = long.len().div_ceil(TOGETHER).max(1);
        let chunks = short.chunks(TOGETHER).chain(long.chunks(long.len().div_ceil(parts).max(1)));
        let parts = chunks.map(|chunk| {
            let mut keywords = chunk.to_vec();
            // The first one that begins at a place is found.
            keywords.sort_unstable();
            let searcher = packed::Config::new()
                .match_kind(packed::MatchKind::LeftmostFirst)
                .builder()
                .extend(keywords.iter().map(|at| KEYWORDS[*at].0))
                .build()?;
            Some(Part { searcher, keywords })
        });
        match parts.collect() {
            Some(parts) => Ok(Self::Packed(parts)),
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

    /// Starts a search in these bytes.
    pub(super) fn search<'a>(&'a self, bytes: &'a [u8]) -> Search<'a> {
        let parts = match self {
            Self::Packed(parts) => parts.len(),
            Self::Automaton(_) => 0,
        };
        Search { finder: self, bytes, ahead: vec![Ahead::Nothing; parts] }
    }
}

/// A search in a byte string, from one place to the next.
pub(super) struct Search<'a> {
    finder: &'a Finder,
    bytes: &'a [u8],
    /// The next hit of each part of a packed finder: a rare keyword is searched for once, and not again from each place
    /// of a frequent one.
    ahead: Vec<Ahead>,
}

#[derive(Clone, Copy)]
enum Ahead {
    /// The part has not searched.
    Nothing,
    /// The first hit from a place on.
    Hit { from: usize, hit: Hit },
    /// No hit in this part.
    None { from: usize, end: usize },
}

impl Search<'_> {
    /// The first keyword in a part of the bytes.
    pub(super) fn find(&mut self, part: Range<usize>) -> Option<Hit> {
        let parts = match self.finder {
            Finder::Packed(parts) => parts,
            Finder::Automaton(automaton) => {
                let found = automaton.find(Input::new(self.bytes).range(part))?;
                return Hit::new(found.start(), found.end(), found.pattern().as_usize());
            }
        };
        let mut first: Option<Hit> = None;
        for (finder, ahead) in parts.iter().zip(&mut self.ahead) {
            let known = match *ahead {
                Ahead::Hit { from, hit } => from <= part.start && part.start <= hit.start,
                Ahead::None { from, end } => from <= part.start && part.end <= end,
                Ahead::Nothing => false,
            };
            if !known {
                let found = finder.searcher.find_in(self.bytes, part.clone().into());
                let hit = found.and_then(|found| {
                    let keyword = *finder.keywords.get(found.pattern().as_usize())?;
                    Hit::new(found.start(), found.end(), keyword)
                });
                *ahead = match hit {
                    Some(hit) => Ahead::Hit { from: part.start, hit },
                    None => Ahead::None { from: part.start, end: part.end },
                };
            }
            if let Ahead::Hit { hit, .. } = *ahead
                && hit.end <= part.end
                && first.is_none_or(|it| (hit.start, hit.keyword) < (it.start, it.keyword))
            {
                first = Some(hit);
            }
        }
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(finder: &Finder, bytes: &[u8]) -> Vec<(usize, usize, usize)> {
        let mut from = 0;
        let mut hits = Vec::new();
        let mut search = finder.search(bytes);
        while let Some(hit) = search.find(from..bytes.len()) {
            hits.push((hit.start, hit.end, hit.keyword));
            from = hit.end;
            // The rest of its line, as the scanner does, and then an earlier place.
            let end = bytes[from..]
                .iter()
                .position(|byte| *byte == b'\n')
                .map_or(bytes.len(), |n| from + n);
            while let Some(hit) = search.find(from..end) {
                hits.push((hit.start, hit.end, hit.keyword));
                from = hit.end;
            }
            if hits.len() % 3 == 0 {
                let again = search.find(hit.start..bytes.len()).map(|hit| (hit.start, hit.keyword));
                assert_eq!(again, Some((hit.start, hit.keyword)));
            }
        }
        hits
    }

    #[test]
    fn vector_instructions_serve_however_many_keywords_there_are() {
        // On processors that support it, as those of CI do: an automaton is many times slower.
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("ssse3") {
            assert!(matches!(Finder::new().unwrap(), Finder::Packed(_)));
        }
    }

    proptest! {
        #[test]
        fn both_find_the_same(parts in proptest::collection::vec((0..KEYWORDS.len(), "[ a-zA-Z:\n]{0,40}"), 0..20)) {
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
