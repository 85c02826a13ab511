//! Documents under review: patches of documentation, as `git diff` or the page of a review shows them, and the texts that
//! reviewers suggest. No machine of the writer printed what such lines show.

use super::examples::output_below;
use super::literal::LITERAL;
use crate::log::strip_prefix;
use crate::paste::prompt;
use std::ops::Range;

/// Ends of the names of documents.
const DOCUMENTS: [&str; 13] = [
    ".md",
    ".mdx",
    ".markdown",
    ".rst",
    ".adoc",
    ".asciidoc",
    ".html",
    ".htm",
    ".txt",
    ".pod",
    ".texi",
    ".tex",
    ".dita",
];
/// Words of a line with the name of a file, at most: a page of a review also shows its state.
const WORDS: usize = 4;
/// Lines of a page between the name and the patch, at most: who commented, and where.
const BETWEEN: usize = 3;
/// Words of such a line, at most.
const COMMENT: usize = 8;
/// Lines of context that a patch has after its last change.
const CONTEXT: usize = 3;
/// First words of the lines in the head of a patch.
const HEAD: [&str; 10] = [
    "index ",
    "new file mode ",
    "deleted file mode ",
    "old mode ",
    "new mode ",
    "similarity index ",
    "rename from ",
    "rename to ",
    "--- ",
    "+++ ",
];

/// The blocks of such lines.
pub(in crate::paste) fn find(lines: &[String]) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let end =
            patched(lines, at).or_else(|| reviewed(lines, at)).or_else(|| suggested(lines, at));
        match end {
            Some(end) => {
                found.push(at..end + 1);
                at = end + 1;
            }
            None => at += 1,
        }
    }
    found
}

/// Whether a path is that of a document.
fn is_document(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    DOCUMENTS.iter().any(|end| name.len() > end.len() && name.to_ascii_lowercase().ends_with(end))
}

/// Whether the name of a document is also one of a file with a log or another output.
fn may_be_an_output(path: &str) -> bool {
    path.to_ascii_lowercase().ends_with(".txt")
}

/// The last line of the patch of a document that begins in a line.
fn patched(lines: &[String], at: usize) -> Option<usize> {
    let line = lines[at].trim();
    let path = match line.strip_prefix("diff --git ") {
        Some(paths) => paths.rsplit(' ').next(),
        // Without the head of git.
        None => {
            let old = line.strip_prefix("--- ")?;
            let new = lines.get(at + 1)?.trim().strip_prefix("+++ ")?;
            [new, old]
                .into_iter()
                .map(|path| path.split('\t').next().unwrap_or(path))
                .find(|path| *path != "/dev/null")
        }
    }?;
    changes(lines, path.trim_matches('"'), at + 1)
}

/// The last line of the part of a document that the page of a review shows below the name of the file.
fn reviewed(lines: &[String], at: usize) -> Option<usize> {
    let line = lines[at].trim_matches([' ', '\t', '*', '`', '#']);
    let path = line.split_ascii_whitespace().next()?;
    if line.split_ascii_whitespace().count() > WORDS || !is_document(path) {
        return None;
    }
    let rest = lines.iter().enumerate().skip(at + 1).filter(|(_, line)| !line.trim().is_empty());
    let (first, _) = rest.take(BETWEEN + 1).find(|(_, line)| is_change(line) || is_hunk(line))?;
    // Who commented, and when; no heading of a table.
    let is_said = |line: &String| {
        let line = line.trim();
        line.split_ascii_whitespace().count() <= COMMENT
            && !line.contains("  ")
            && !line.starts_with(['=', '*', '|'])
            && prompt::read(line).is_none()
    };
    if !lines[at + 1..first].iter().all(is_said) {
        return None;
    }
    // A table in a file with an output may have signs at the beginning of lines.
    if may_be_an_output(path) && !is_hunk(&lines[first]) {
        return None;
    }
    changes(lines, path, first)
}

/// The last line of the changes of a document from a line on.
fn changes(lines: &[String], path: &str, from: usize) -> Option<usize> {
    if !is_document(path) {
        return None;
    }
    let in_patch = |line: &str| {
        let bare = line.trim_start();
        line.trim().is_empty()
            || line.starts_with([' ', '\t', '\\'])
            || is_change(line)
            || is_hunk(line)
            || HEAD.iter().any(|words| bare.starts_with(words))
    };
    let block = || (from..lines.len()).take(LITERAL).take_while(|at| in_patch(&lines[*at]));
    let last = block().filter(|at| is_change(&lines[*at]) || is_hunk(&lines[*at])).last()?;
    // A list below the name of a file has only one of the signs.
    if !block().any(|at| lines[at].trim_start().starts_with(['+', '@'])) {
        return None;
    }
    let unsigned = |line: &str| strip_prefix(line.trim_start().trim_start_matches(['+', '-'])).1;
    if may_be_an_output(path) && (from..=last).any(|at| unsigned(&lines[at])) {
        return None;
    }
    let context = (last + 1..lines.len())
        .take(CONTEXT)
        .take_while(|at| lines[*at].starts_with(' ') && !lines[*at].trim().is_empty());
    Some(context.last().unwrap_or(last))
}

/// `+text`, `-text`; no edge of a table, and no head of a patch.
fn is_change(line: &str) -> bool {
    let line = line.trim_start();
    let rest = line.strip_prefix('+').or_else(|| line.strip_prefix('-'));
    rest.is_some_and(|rest| !rest.starts_with(['+', '-', '=']))
}

fn is_hunk(line: &str) -> bool {
    line.trim_start().starts_with("@@ ")
}

/// The last line of the text that a reviewer suggests.
fn suggested(lines: &[String], at: usize) -> Option<usize> {
    let line = lines[at].trim();
    let fenced = line == "```suggestion";
    if !fenced && line.trim_end_matches(':') != "Suggested change" {
        return None;
    }
    if fenced {
        let mut rest = lines.iter().enumerate().skip(at + 1).take(LITERAL);
        return rest.find(|(_, line)| line.trim() == "```").map(|(end, _)| end);
    }
    output_below(lines, at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<usize> {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        find(&lines).into_iter().flatten().collect()
    }

    const STATE: &str = "+    Leap status     : Normal\n+    Stratum         : 2\n";

    #[test]
    fn patches_of_documents_are_found() {
        let head = "diff --git a/doc/ntp.md b/doc/ntp.md\nindex 1..2 100644\n--- a/doc/ntp.md\n+++ b/doc/ntp.md\n@@ -1,2 +1,4 @@\n";
        assert_eq!(
            found(&format!("{head}{STATE} text\n\nI see it here, too.\n")),
            (0..8).collect::<Vec<_>>()
        );
        assert_eq!(found(&format!("--- a/x.rst\n+++ b/x.rst\n{STATE}end\n")), [0, 1, 2, 3]);
        for name in ["check.md", "`docs/check.adoc`", "book/ntp.html Outdated"] {
            assert_eq!(
                found(&format!("{name}\n@@ -1 +1,3 @@\n{STATE}reader on May 3\n")),
                [0, 1, 2, 3],
                "{name}"
            );
        }
        assert_eq!(found(&format!("ntp.md\nreader reviewed\n{STATE}")), [0, 1, 2, 3]);
    }

    #[test]
    fn patches_of_programs_and_lists_are_not() {
        for text in [
            format!("diff --git a/ntp.c b/ntp.c\n{STATE}"),
            format!("state.log\n{STATE}"),
            "README.md\n- Leap status     : Normal\n- Stratum : 2\n".to_owned(),
            "see check.md for the command, which gives\n+    Leap status     : Normal\n".to_owned(),
            "boot.txt\n+[    1.000000] clocksource: Switched to clocksource tsc\n".to_owned(),
            "ntp.md\n$ chronyc tracking\n+ set -x\n".to_owned(),
            "rows.md\n+------+\n| hpet |\n+------+\n".to_owned(),
            "ntp.md\n     remote  refid\n+192.0.2.1  .GPS.  1 u 3 64 377 1.0 2.0 0.1\n".to_owned(),
            format!("state.txt\n{STATE}"),
        ] {
            assert_eq!(found(&text), [0_usize; 0], "{text}");
        }
    }

    #[test]
    fn suggestions_of_reviewers_are_found() {
        assert_eq!(found("Suggested change\nLeap status     : Normal\n\nnext\n"), [0, 1, 2]);
        assert_eq!(found("```suggestion\nLeap status     : Normal\n\n```\nnext\n"), [0, 1, 2, 3]);
        assert_eq!(
            found("Suggested change of the clock:\nLeap status     : Normal\n"),
            [0_usize; 0]
        );
    }
}
