//! Several excerpts of a domain in one text: "I changed this `<clock>` to that one". Each is read separately; the text
//! does not show which one a machine has.

use crate::document::Document;
use crate::xml::Tree;
use std::collections::HashSet;
use std::ops::Range;

/// Parts that a domain has only once.
const ONCE: [&str; 4] = ["clock", "cpu", "features", "os"];
/// The maximal number of excerpts; a text that a person wrote does not have more.
const MOST: usize = 64;

/// The reason why nothing of such a text is changed.
pub(super) const WHY: &str =
    "the text has several parts of one kind, and does not say which one a machine has";

/// Returns a copy of the document for each excerpt. Blanks replace the other excerpts, so that the positions stay the
/// same. Empty if there is only one.
pub(super) fn all(document: &Document, tree: &Tree) -> Vec<Document> {
    if tree.roots.len() < 2 || tree.all("domain").next().is_some() {
        return Vec::new();
    }
    let text = document.text.as_str();
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut known: HashSet<&str> = HashSet::new();
    for root in tree.roots.iter().filter_map(|root| tree.get(*root)) {
        let name = root.local();
        let next = ONCE.contains(&name) && !known.insert(name);
        match found.last_mut() {
            Some(last) if !next => last.end = root.whole.end,
            _ => {
                found.push(root.whole.clone());
                known = HashSet::from([name]);
            }
        }
    }
    if found.len() < 2 {
        return Vec::new();
    }
    let alone = |span: Range<usize>| {
        let blank = |part: &str| -> String {
            let bytes =
                part.bytes().map(|b| if matches!(b, b'\n' | b'\r') { b.into() } else { ' ' });
            bytes.collect()
        };
        let before = blank(text.get(..span.start).unwrap_or_default());
        let own = text.get(span.clone()).unwrap_or_default();
        let behind = blank(text.get(span.end..).unwrap_or_default());
        document.with_text(format!("{before}{own}{behind}"))
    };
    found.into_iter().take(MOST).map(alone).collect()
}
