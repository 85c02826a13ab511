//! Scripts that a file writes line by line: `tee -a FILE <<< 'line'` of a Dockerfile, `echo 'line' >> FILE`. The
//! resulting text is judged. Nothing is changed in them: a line may belong to several commands.

use crate::certain::is_python;
use crate::document::Document;
use crate::formats::Kind;
use crate::guest::Guest;
use crate::inner::Inner;
use crate::lint::Report;
use crate::shell::{Piece, Statement, Word, name_length, statements};
use std::collections::BTreeMap;
use std::ops::Range;

/// The limit of files in one document that are read.
const MOST: usize = 8;

/// Returns whether a line writes a QEMU command line to a file.
pub(super) fn writes(line: &str) -> bool {
    let Some(at) = line.find("qemu-system-") else { return false };
    let (before, rest) = line.split_at(at);
    let mut words = rest.split_whitespace().skip(1);
    before.contains("echo ")
        && words.next().is_some_and(|option| option.starts_with('-'))
        && words.any(|word| word == ">>")
}

/// A script that is written: its text, and the words of the file that have its lines.
struct Made {
    inner: Inner,
    lines: Vec<Range<usize>>,
}

/// Returns the scripts with a QEMU command line that a file writes.
fn scripts(document: &Document) -> Vec<Made> {
    let text = document.text.as_str();
    if !(text.contains("<<<") || text.contains(">>")) || is_python(document) {
        return Vec::new();
    }
    let mut out = Vec::new();
    let statements = statements(text);
    let mut files: BTreeMap<&str, Vec<&Word>> = BTreeMap::new();
    for statement in &statements {
        if let Some((file, line)) = line(text, statement) {
            files.entry(file).or_default().push(line);
        }
    }
    for lines in files.into_values().filter(|lines| lines.len() > 1).take(MOST) {
        let starts = |line: &&Word| literal(line).is_some_and(|it| it.contains("qemu-system-"));
        let (Some(first), Some(last)) = (lines.first(), lines.last()) else { continue };
        if !lines.iter().any(starts) {
            continue;
        }
        let mut inner = Inner::new(Kind::Qemu, document, first.span.start..last.span.end);
        for span in environment(text) {
            inner.same(document, span);
            inner.own("\n");
        }
        for line in &lines {
            match literal(line) {
                Some(value) => inner.value(document, value, &line.span),
                None => inner.add("${unknown}", &line.span),
            }
            inner.own("\n");
        }
        out.push(Made { inner, lines: lines.into_iter().map(|line| line.span.clone()).collect() });
    }
    out
}

/// Returns the texts of the scripts that a file writes.
pub(crate) fn texts(document: &Document) -> Vec<String> {
    scripts(document).iter().map(|made| made.inner.text().to_owned()).collect()
}

/// Adds the findings for such scripts. Returns whether there is one.
pub(super) fn add(document: &Document, report: &mut Report) -> bool {
    let mut any = false;
    for Made { inner, lines } in scripts(document) {
        let Ok(made) = inner.judge(document, |_| None) else { continue };
        any = true;
        // A line by itself is only a part of a command.
        let within = |at: usize| {
            let after = lines.partition_point(|line| line.start <= at);
            let line = after.checked_sub(1).and_then(|n| lines.get(n));
            line.is_some_and(|line| at < line.end)
        };
        report.findings.retain(|finding| !within(finding.span.start));
        if report.guest == Guest::Unknown {
            (report.guest, report.guessed) = (made.guest, made.guessed);
        }
        for mut finding in made.findings {
            let same = |it: &crate::finding::Finding| {
                it.rule.id == finding.rule.id && it.span.start == finding.span.start
            };
            if !report.findings.iter().any(same) {
                finding.leave_edits("another command writes the script line by line");
                report.findings.push(finding);
            }
        }
    }
    any
}

fn literal(word: &Word) -> Option<&str> {
    match word.pieces.as_slice() {
        [Piece::Literal(text)] => Some(text.as_str()),
        _ => None,
    }
}

/// Returns the file that a statement writes a line to, and the line.
fn line<'s>(text: &str, statement: &'s Statement) -> Option<(&'s str, &'s Word)> {
    let words = statement.words.as_slice();
    let command = |word: &Word| matches!(word.literal(), Some("tee" | "echo"));
    let rest = words.get(words.iter().take(4).position(command)?..)?;
    let between =
        |one: &Word, other: &Word| text.get(one.span.end..other.span.start).map(str::trim);
    let (file, line, mark) = match rest {
        [tee, file, line] if tee.literal() == Some("tee") => (file, line, "<<<"),
        [tee, a, file, line] if tee.literal() == Some("tee") && a.literal() == Some("-a") => {
            (file, line, "<<<")
        }
        [_, line, file] => (file, line, ">>"),
        _ => return None,
    };
    let (first, second) = if mark == "<<<" { (file, line) } else { (line, file) };
    (between(first, second) == Some(mark)).then_some((file.literal()?, line))
}

/// Returns the `NAME=value` of each `ENV` of a Dockerfile: the script has this value unless the container is started
/// with another one.
fn environment(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let at = start;
        start += line.len();
        let Some(rest) = line.strip_prefix("ENV ") else { continue };
        let rest = rest.trim();
        let name = name_length(rest);
        let whole = !rest.ends_with('\\') && found.len() < 256;
        if whole && name > 0 && rest.get(name..).is_some_and(|rest| rest.starts_with('=')) {
            let from = at + crate::text::offset(line, rest);
            found.push(from..from + rest.len());
        }
    }
    found
}
