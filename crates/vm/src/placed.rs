//! A string with the place in the file of each of its bytes: the text that remains after quotes, escapes, entities and
//! variables are resolved.

use std::ops::Range;

/// The placeholder for text that only a run determines, such as `$1` or `$(nproc)`.
pub(crate) const UNKNOWN: char = '\u{1}';

/// The limit of a string's length; no option reaches it, only variables that double themselves.
const LONGEST: usize = 64 << 10;

/// A string with the place of each byte.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Placed {
    text: String,
    at: Vec<usize>,
    /// The place of the whole string, if its source in the file is longer or shorter, so that its bytes have no
    /// separate places.
    within: Option<Range<usize>>,
}

impl Placed {
    /// Creates a string from a part of the file that is taken literally.
    pub(crate) fn new(text: &str, start: usize) -> Self {
        let mut placed = Self::default();
        placed.push_str(text, start);
        placed
    }

    /// Creates a string that was converted from a range of the file; nothing of it can be changed.
    pub(crate) fn lost(text: &str, within: Range<usize>) -> Self {
        let mut placed = Self::default();
        for c in text.chars() {
            placed.push(c, within.start);
        }
        placed.within = Some(within);
        placed
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Returns whether a part of it is not known.
    pub(crate) fn unknown(&self) -> bool {
        self.text.contains(UNKNOWN)
    }

    /// Appends a character whose place is `at`.
    pub(crate) fn push(&mut self, c: char, at: usize) {
        if self.text.len() < LONGEST {
            self.text.push(c);
            self.at.extend((0..c.len_utf8()).map(|n| at + n));
        }
    }

    /// Appends a piece of the file.
    pub(crate) fn push_str(&mut self, text: &str, start: usize) {
        for (n, c) in text.char_indices() {
            self.push(c, start + n);
        }
    }

    /// Appends another one.
    pub(crate) fn append(&mut self, other: &Self) {
        if self.text.len() + other.text.len() <= LONGEST {
            self.text.push_str(&other.text);
            self.at.extend(&other.at);
            self.within = match (self.within.take(), &other.within) {
                (Some(a), Some(b)) => Some(a.start.min(b.start)..a.end.max(b.end)),
                (one, other) => one.or_else(|| other.clone()),
            };
        }
    }

    /// Moves the places of a part of a text to those in the whole text.
    pub(crate) fn moved(mut self, by: usize) -> Self {
        for at in &mut self.at {
            *at += by;
        }
        self.within = self.within.map(|within| within.start + by..within.end + by);
        self
    }

    /// Returns the same string with its places in `outer` replaced by the places of `outer` in the file.
    pub(crate) fn through(mut self, outer: &Self) -> Self {
        for at in &mut self.at {
            *at = outer.at.get(*at).or(outer.at.last()).copied().unwrap_or(0);
        }
        self.within = self.within.map(|within| outer.slice(within).span());
        self
    }

    /// A part of it.
    pub(crate) fn slice(&self, range: Range<usize>) -> Self {
        let text = self.text.get(range.clone()).unwrap_or_default().to_owned();
        let at = self.at.get(range).unwrap_or_default().to_vec();
        if text.len() == at.len() {
            Self { text, at, within: self.within.clone() }
        } else {
            Self::default()
        }
    }

    /// Returns its place in the file: from its first to its last byte.
    pub(crate) fn span(&self) -> Range<usize> {
        if let Some(within) = &self.within {
            return within.clone();
        }
        match (self.at.first(), self.at.last()) {
            (Some(first), Some(last)) if first <= last => *first..*last + 1,
            (Some(first), _) => *first..*first,
            _ => 0..0,
        }
    }

    /// Marks the bytes of the file that it comes from.
    pub(crate) fn mark(&self, used: &mut [bool]) {
        let within = self.within.clone().unwrap_or_default();
        for at in within.chain(self.at.iter().copied()) {
            if let Some(used) = used.get_mut(at) {
                *used = true;
            }
        }
    }

    /// Returns the place of the first part that only a run determines.
    pub(crate) fn open(&self) -> Option<usize> {
        self.text.find(UNKNOWN).and_then(|n| self.at.get(n)).copied()
    }

    /// Returns its place, if it is one literal part of the file, so that it can be replaced.
    pub(crate) fn exact(&self) -> Option<Range<usize>> {
        let span = self.span();
        let whole = self.at.windows(2).all(|pair| matches!(pair, [a, b] if a + 1 == *b));
        (whole && self.within.is_none() && !self.at.is_empty() && !self.unknown()).then_some(span)
    }

    /// Returns the place after its last byte, if that byte has a place.
    pub(crate) fn end(&self) -> Option<usize> {
        if self.within.is_some() || self.text.ends_with(UNKNOWN) {
            return None;
        }
        self.at.last().map(|last| last + 1)
    }

    /// The parts between separators, and the range of each within the string.
    pub(crate) fn split(&self, separator: char) -> Vec<(Range<usize>, Self)> {
        let mut parts = Vec::new();
        let mut start = 0;
        for part in self.text.split(separator) {
            let range = start..start + part.len();
            start = range.end + separator.len_utf8();
            parts.push((range.clone(), self.slice(range)));
        }
        parts
    }

    /// The words of it.
    pub(crate) fn words(&self) -> Vec<Self> {
        let mut words = Vec::new();
        let mut start = None;
        for (n, c) in self.text.char_indices().chain([(self.text.len(), ' ')]) {
            match (c.is_whitespace(), start) {
                (true, Some(begun)) => {
                    words.push(self.slice(begun..n));
                    start = None;
                }
                (false, None) => start = Some(n),
                _ => {}
            }
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_survive_pieces() {
        let mut text = Placed::new("host,", 10);
        text.append(&Placed::new("+invtsc a", 40));
        assert_eq!(text.as_str(), "host,+invtsc a");
        assert_eq!(text.exact(), None);
        let parts = text.split(',');
        assert_eq!(parts[1].1.exact(), Some(40..49));
        assert_eq!(text.words()[1].span(), 48..49);
        assert_eq!(parts[0].1.span(), 10..14);
        assert_eq!(Placed::default().span(), 0..0);
    }

    #[test]
    fn what_lost_its_places_stands_where_all_of_it_stood() {
        // `&#246;,x` in the file.
        let lost = Placed::lost("\u{f6},x", 20..28);
        for part in [lost.clone(), lost.split(',')[1].1.clone(), lost.split(',')[0].1.clone()] {
            assert_eq!((part.span(), part.exact(), part.end()), (20..28, None, None));
        }
        let mut with = Placed::new("a", 3);
        with.append(&lost.moved(2));
        assert_eq!((with.span(), with.exact()), (22..30, None));
    }
}
