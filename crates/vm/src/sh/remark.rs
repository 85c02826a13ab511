//! Comments that are not comments of the grammar: commands and expansions without effect, written for their words.
//! Inside a continued command bash has no other form of comment.

use super::{Command, Script};
use std::ops::Range;

/// Whether an expansion outside of quotes is a comment: `` `# ...` ``, `$(: ...)`, `${IFS# ...}`.
pub(super) fn is_remark(source: &str) -> bool {
    if let Some(inner) = source.strip_prefix('`') {
        return inner.trim_start().starts_with('#') && !inner.contains('\n');
    }
    if let Some(inner) = source.strip_prefix("$(") {
        let words = inner.trim_start().strip_prefix(':');
        return words.is_some_and(|words| words.starts_with(char::is_whitespace));
    }
    ["${IFS#", "${IFS%"].iter().any(|it| source.starts_with(it))
}

/// Returns whether a command has no effect, but has words.
pub(super) fn does_nothing(command: &Command) -> bool {
    let first = command.words.first().and_then(super::Word::literal);
    first == Some(":")
        && command.words.len() > 1
        && command.redirects.is_empty()
        && !command.words.iter().any(|word| word.expands)
}

/// Adds the here-documents that no command reads: `: <<'TEXT'`. Then sorts all comments, and removes those within
/// others.
pub(super) fn finish(text: &str, script: &mut Script) {
    let mut found: Vec<Range<usize>> = Vec::new();
    for command in &script.commands {
        let [first] = command.words.as_slice() else { continue };
        let [(operator, _)] = command.redirects.as_slice() else { continue };
        if !matches!(first.literal(), Some(":" | "true")) || !operator.starts_with("<<") {
            continue;
        }
        let end = command.span.end;
        let Some(document) = script.documents.iter().find(|it| it.start >= end) else { continue };
        let between = text.get(end..document.start).unwrap_or_default();
        let quoted =
            text.get(command.span.clone()).is_some_and(|it| it.contains(['\'', '"', '\\']));
        let inner = text.get(document.clone()).unwrap_or_default();
        if between.trim().is_empty() && (quoted || !inner.contains(['`', '$'])) {
            let whole = command.span.start..document.end;
            let length = text.get(whole.clone()).map_or(0, |it| it.trim_end().len());
            found.push(whole.start..whole.start + length);
        }
    }
    let comments = &mut script.comments;
    comments.extend(found);
    comments.sort_by_key(|it| (it.start, usize::MAX - it.end));
    let mut end = 0;
    comments.retain(|it| {
        let own = it.start >= end;
        end = end.max(it.end);
        own
    });
}

#[cfg(test)]
mod tests {
    use crate::sh::read;

    fn comments(text: &str) -> Vec<&str> {
        read(text).unwrap().comments.into_iter().map(|it| &text[it]).collect()
    }

    #[test]
    fn command_or_expansion_that_does_nothing_is_a_comment() {
        for (text, wanted) in [
            ("a `# b` \\\n -c\n", "`# b`"),
            ("a $(: b c) -d\n", "$(: b c)"),
            ("a ${IFS# b} -d\n", "${IFS# b}"),
            (": b c\na\n", ": b c"),
            (": <<'B'\nc `d`\nB\na\n", ": <<'B'\nc `d`\nB"),
            ("true <<B\nc\nB\na\n", "true <<B\nc\nB"),
        ] {
            assert_eq!(comments(text), [wanted], "{text}");
        }
    }

    #[test]
    fn command_or_expansion_that_does_something_is_no_comment() {
        for text in [
            "a `b` -c\n",
            "a $(b) -c\n",
            "a \"`# b`\"\n",
            "a ${b# c}\n",
            ": ${B:=c}\na\n",
            ": > b\na\n",
            "cat <<B\nc\nB\n",
            ": <<B\n$(c)\nB\na\n",
        ] {
            assert_eq!(comments(text), [""; 0], "{text}");
        }
    }
}
