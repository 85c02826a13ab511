//! What a script has of itself: the names in it, and whether it reads its own text.

use crate::document::Document;
use crate::sh::{Script, Word};
use crate::shell::name_length;
use crate::words::listed;
use std::collections::HashMap;
use std::ops::Range;

/// Commands whose words may have the name of the script itself, because they do not read it.
const NAMES_ONLY: &str = "echo printf dirname basename readlink realpath cd exec sudo [ test pwd";

/// How often each name is in a script, but for its comments.
pub(super) fn names<'a>(text: &'a str, script: &Script) -> HashMap<&'a str, usize> {
    let mut names = HashMap::new();
    let mut at = 0;
    let mut count = |piece: &'a str| {
        let mut from = 0;
        while let Some(rest) = piece.get(from..).filter(|rest| !rest.is_empty()) {
            let length = name_length(rest);
            if length > 0 {
                *names.entry(rest.get(..length).unwrap_or_default()).or_insert(0) += 1;
                from += length;
            } else {
                // Digits and letters of one word belong together.
                let skip =
                    rest.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
                from += skip.max(rest.chars().next().map_or(1, char::len_utf8));
            }
        }
    };
    for comment in &script.comments {
        count(text.get(at..comment.start).unwrap_or_default());
        at = comment.end.max(at);
    }
    count(text.get(at..).unwrap_or_default());
    names
}

/// Whether the script reads its own text.
pub(super) fn own_text(document: &Document, script: &Script) -> Result<(), String> {
    let text = document.text.as_str();
    let marks = |piece: &str| {
        piece.matches("$0").count()
            + piece.matches("${0").count()
            + piece.matches("BASH_SOURCE").count()
    };
    let within = |ranges: &[Range<usize>]| -> usize {
        ranges.iter().map(|it| marks(text.get(it.clone()).unwrap_or_default())).sum()
    };
    let all = marks(text);
    if all == 0 {
        return Ok(());
    }
    let mut known = within(&script.comments) + within(&script.documents);
    for word in &script.others {
        known += marks(text.get(word.span.clone()).unwrap_or_default());
    }
    for command in &script.commands {
        let name = command.words.first().and_then(Word::literal);
        let fine = name.is_some_and(|name| listed(NAMES_ONLY, name) || name == "usage");
        for word in command.words.iter().filter(|_| fine) {
            known += marks(text.get(word.span.clone()).unwrap_or_default());
        }
    }
    if known < all {
        Err("the script names its own file, and may read it".to_owned())
    } else {
        Ok(())
    }
}
