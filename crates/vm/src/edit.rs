//! Changes to a text by byte ranges: everything else stays as it is.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use thiserror::Error;

/// One change: these bytes become that text. An empty range inserts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Edit {
    /// Byte offsets, on character boundaries.
    pub span: Range<usize>,
    /// The replacement text.
    pub with: String,
}

/// Changes that cannot be made together.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EditError {
    /// Two changes of the same place.
    #[error("two changes overlap at byte {0}; fix one of the findings by hand and try again")]
    Overlap(usize),
    /// A place that is not in this text.
    #[error("a change lies outside of the text, or inside a character, at byte {0}")]
    Outside(usize),
}

/// Makes the changes. Equal ones count once; several insertions at one place keep their order.
///
/// # Errors
/// Returns an error if two of them overlap, or if one does not fit the text.
pub fn apply(text: &str, edits: &[Edit]) -> Result<String, EditError> {
    let mut known = HashSet::with_capacity(edits.len());
    let mut sorted: Vec<&Edit> = edits.iter().filter(|edit| known.insert(*edit)).collect();
    sorted.sort_by_key(|edit| (edit.span.start, edit.span.end));
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for edit in sorted {
        if edit.span.start < done {
            return Err(EditError::Overlap(edit.span.start));
        }
        let (Some(kept), Some(_)) =
            (text.get(done..edit.span.start), text.get(edit.span.start..edit.span.end))
        else {
            return Err(EditError::Outside(edit.span.start));
        };
        out.push_str(kept);
        out.push_str(&edit.with);
        done = edit.span.end;
    }
    out.push_str(text.get(done..).unwrap_or_default());
    Ok(out)
}

/// Changes that are collected in sequence, as far as they can be made together.
#[derive(Debug)]
pub(crate) struct Together<'a> {
    text: &'a str,
    edits: Vec<Edit>,
    /// The replaced ranges, each with its first replacement. They do not overlap, so their ends are in the order of
    /// their starts.
    places: BTreeMap<(usize, usize), String>,
}

impl<'a> Together<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, edits: Vec::new(), places: BTreeMap::new() }
    }

    /// Adds changes, all or none, and returns whether it did.
    pub(crate) fn add(&mut self, more: &[Edit]) -> bool {
        let mut new = Vec::new();
        for edit in more {
            let place = (edit.span.start, edit.span.end);
            let before = self.places.range(..(edit.span.end, 0)).next_back();
            let free = before.is_none_or(|(old, with)| {
                old.1 <= place.0 || (*old == place && *with == edit.with)
            });
            if !free || self.text.get(edit.span.clone()).is_none() {
                for place in new {
                    self.places.remove(&place);
                }
                return false;
            }
            if let std::collections::btree_map::Entry::Vacant(entry) = self.places.entry(place) {
                entry.insert(edit.with.clone());
                new.push(place);
            }
        }
        self.edits.extend_from_slice(more);
        !more.is_empty()
    }

    pub(crate) fn done(self) -> Vec<Edit> {
        self.edits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn edit(span: Range<usize>, with: &str) -> Edit {
        Edit { span, with: with.to_owned() }
    }

    #[test]
    fn the_rest_stays() {
        let text = "one two three";
        let edits = [edit(8..13, "3"), edit(0..3, "1"), edit(0..3, "1"), edit(4..4, "and ")];
        assert_eq!(apply(text, &edits).unwrap(), "1 and two 3");
        assert_eq!(apply(text, &[edit(0..5, ""), edit(4..6, "")]), Err(EditError::Overlap(4)));
        assert_eq!(apply("ü", &[edit(1..1, "x")]), Err(EditError::Outside(1)));
        assert_eq!(apply("a", &[edit(1..9, "x")]), Err(EditError::Outside(1)));
    }

    proptest! {
        #[test]
        fn never_panics(text in "\\PC{0,20}", spans in proptest::collection::vec((0usize..30, 0usize..30), 0..5)) {
            let edits: Vec<_> = spans.iter().map(|(a, b)| edit(*a..*b, "x")).collect();
            let _ = apply(&text, &edits);
        }

        #[test]
        fn what_is_added_can_be_made(
            changes in proptest::collection::vec(
                proptest::collection::vec((0usize..12, 0usize..4, "[xy]?"), 0..3), 0..8),
        ) {
            let text = "zehn Zeichen";
            let mut together = Together::new(text);
            let mut all: Vec<Edit> = Vec::new();
            for more in changes {
                let more: Vec<Edit> = more.iter().map(|(at, n, with)| edit(*at..at + n, with)).collect();
                let with = [all.clone(), more.clone()].concat();
                let fits = !more.is_empty() && apply(text, &with).is_ok();
                prop_assert_eq!(together.add(&more), fits, "{:?} to {:?}", more, all);
                if fits {
                    all = with;
                }
            }
            prop_assert_eq!(together.done(), all);
        }
    }
}
