//! A text of another kind, which a file contains or which a tool generates from it: it is judged by the rules of that
//! kind, and each finding is shown at its source in the file. The options of those tools are not read here.

use crate::document::Document;
use crate::edit::Edit;
use crate::finding::{Finding, Severity};
use crate::formats::Kind;
use crate::guest::Guest;
use crate::guest::Known;
use crate::lint::{LintError, Report, part};
use crate::text::Text;
use crate::words::here_documents;
use crate::yaml::Node;
use std::ops::Range;

/// A part of the text, and its source.
struct Piece {
    inner: Range<usize>,
    outer: Range<usize>,
    /// Whether both are the same bytes.
    exact: bool,
}

/// The most words of one value; a command line has no more.
const MOST_WORDS: usize = 4096;
/// Rules about missing options.
const ABSENT: [&str; 4] =
    ["q-hpet-default-on", "q-hv-time-missing", "q-emulated", "lv-hpet-default-on"];

/// A generated text.
pub(crate) struct Inner {
    kind: Kind,
    text: String,
    pieces: Vec<Piece>,
    /// The source of the whole text.
    whole: Range<usize>,
    /// The guest, where the options declare it.
    pub(crate) declared: Option<Guest>,
    /// Whether omitted settings may be elsewhere.
    pub(crate) partial: bool,
    /// Whether there may be options that are not seen, so that missing options have no findings.
    pub(crate) open: bool,
    /// Whether a visible `-cpu` replaces all others, so that a flag that it lacks is missing.
    pub(crate) last_cpu: bool,
    /// Whether the guest is a Windows that is older than Hyper-V's reference TSC page.
    pub(crate) old: bool,
    /// The object of the file.
    pub(crate) object: Option<String>,
    /// The file name from which systems are inferred, where the document's own name must not be used.
    pub(crate) name: String,
}

impl Inner {
    pub(crate) fn new(kind: Kind, document: &Document, whole: Range<usize>) -> Self {
        Self {
            kind,
            text: String::new(),
            pieces: Vec::new(),
            whole,
            declared: None,
            partial: false,
            open: false,
            last_cpu: false,
            old: false,
            object: None,
            // A command line is judged like that of a shell.
            name: document.name.clone() + if kind == Kind::Qemu { ".sh" } else { "" },
        }
    }

    /// Returns the source of the whole text.
    pub(crate) fn whole(&self) -> Range<usize> {
        self.whole.clone()
    }

    /// The text so far.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Whether nothing was added.
    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Adds text that the tool generates.
    pub(crate) fn own(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Adds text whose source is at a place of the file.
    pub(crate) fn add(&mut self, text: &str, outer: &Range<usize>) {
        let start = self.text.len();
        self.text.push_str(text);
        self.pieces.push(Piece {
            inner: start..self.text.len(),
            outer: outer.clone(),
            exact: false,
        });
    }

    /// Adds a value, which may be changed where it occurs literally in the file.
    pub(crate) fn value(&mut self, document: &Document, value: &str, outer: &Range<usize>) {
        let exact = exact(&document.text, value, outer);
        self.add(value, exact.as_ref().unwrap_or(outer));
        if let Some(piece) = self.pieces.last_mut() {
            piece.exact = exact.is_some();
        }
    }

    /// Adds a part of the file unchanged.
    pub(crate) fn same(&mut self, document: &Document, span: Range<usize>) {
        let text = document.text.slice(span.clone()).to_owned();
        self.value(document, &text, &span);
    }

    /// Adds a word of a shell's command line; an unknown part becomes a variable.
    pub(crate) fn word(&mut self, document: &Document, value: &str, outer: &Range<usize>) {
        self.own(" ");
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.,=+:/@%".contains(c);
        if !value.is_empty() && value.chars().all(plain) {
            self.value(document, value, outer);
            return;
        }
        let mut quoted = String::from("\"");
        for c in value.chars() {
            match c {
                crate::placed::UNKNOWN => quoted.push_str("${unknown}"),
                '"' | '\\' | '$' | '`' => quoted.extend(['\\', c]),
                c if c.is_control() => quoted.push(' '),
                c => quoted.push(c),
            }
        }
        quoted.push('"');
        self.add(&quoted, outer);
    }

    /// Adds the words of a value, each with its place; a quote is only part of a word.
    pub(crate) fn words(&mut self, document: &Document, value: &str, outer: &Range<usize>) {
        let mut from = outer.start;
        // A value with escapes is not searched repeatedly.
        let mut lost = value.split_whitespace().nth(MOST_WORDS).is_some();
        for word in value.split_whitespace().take(MOST_WORDS) {
            let end = if lost { from } else { outer.end };
            let rest = document.text.slice(from..end);
            let ends = |c: Option<char>| c.is_none_or(|c| c.is_whitespace() || "\"'=".contains(c));
            let found = rest.match_indices(word).map(|(at, _)| at).find(|at| {
                let behind = rest.get(at + word.len()..).and_then(|rest| rest.chars().next());
                let before = rest.get(..*at).and_then(|rest| rest.chars().next_back());
                (ends(before) || before == Some('>')) && (ends(behind) || behind == Some('<'))
            });
            match found {
                Some(at) => {
                    let start = from + at;
                    from = start + word.len();
                    self.word(document, word, &(start..from));
                }
                None => {
                    lost = true;
                    self.word(document, word, outer);
                }
            }
        }
    }

    /// Judges the text. `words` returns the remedy in the tool's terms, by the id of a rule.
    pub(crate) fn judge(
        &self,
        document: &Document,
        words: fn(&str) -> Option<&'static str>,
    ) -> Result<Report, LintError> {
        let inner = Document {
            name: self.name.clone(),
            text: Text::new(self.text.clone()),
            kind: self.kind,
            guest: document.settled(self.declared),
            models: None,
        };
        let mut report = part(&inner).map_err(|LintError::Syntax { what, .. }| {
            LintError::within(&document.text, self.whole.start, what)
        })?;
        report.partial |= self.partial | self.open;
        // Variables in this text are placeholders, not the author's.
        report.findings.retain(|finding| finding.rule.id != rule!("q-value-unknown").id);
        if self.open {
            let cpu = |id: &str| self.last_cpu && id == rule!("q-hv-time-missing").id;
            report.findings.retain(|it| !ABSENT.contains(&it.rule.id) || cpu(it.rule.id));
        }
        if self.old {
            report.findings.retain(|finding| {
                finding.severity == Severity::Error || finding.rule.id != "q-hv-time-missing"
            });
        }
        // Comments are read in the file itself.
        for finding in &mut report.findings {
            self.show(finding);
            finding.object.clone_from(&self.object);
            if let Some(words) = words(finding.rule.id) {
                finding.fix = Some(words.to_owned());
            }
        }
        Ok(report)
    }

    fn show(&self, finding: &mut Finding) {
        let moved: Option<Vec<Edit>> = finding.edits.iter().map(|edit| self.edit(edit)).collect();
        let had = !finding.edits.is_empty();
        finding.edits = moved.unwrap_or_default();
        if had && finding.edits.is_empty() {
            finding.left = Some("another tool makes the text that would be changed".to_owned());
        }
        let span = &finding.span;
        let piece = self.pieces.iter().find(|piece| piece.inner.contains(&span.start));
        let piece =
            piece.or_else(|| self.pieces.iter().find(|piece| piece.inner.end == span.start));
        // A command begins with text that the tool generates: its place is that of its first words in the file.
        let within = |piece: &&Piece| piece.inner.start > span.start && piece.inner.end <= span.end;
        let piece = piece.or_else(|| self.pieces.iter().find(within));
        finding.span = match piece {
            Some(piece)
                if piece.exact
                    && piece.inner.start <= span.start
                    && span.end <= piece.inner.end =>
            {
                let at = |n: usize| piece.outer.start + (n - piece.inner.start);
                at(span.start)..at(span.end)
            }
            Some(piece) => piece.outer.clone(),
            None => self.whole.clone(),
        };
    }

    /// Returns the equivalent change in the file, if it changes a value there.
    fn edit(&self, edit: &Edit) -> Option<Edit> {
        let within = |piece: &&Piece| {
            piece.exact && piece.inner.start <= edit.span.start && edit.span.end <= piece.inner.end
        };
        let piece = self.pieces.iter().find(within)?;
        // The new text must not end the value, or have another meaning in another language. A value is never removed
        // completely.
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.,=+".contains(c);
        let rest = piece.inner.len() - edit.span.len() + edit.with.len();
        if !edit.with.chars().all(plain) || rest == 0 {
            return None;
        }
        let at = |n: usize| piece.outer.start + (n - piece.inner.start);
        Some(Edit { span: at(edit.span.start)..at(edit.span.end), with: edit.with.clone() })
    }
}

/// Returns the place where a value occurs literally, with or without quotes.
fn exact(text: &Text, value: &str, outer: &Range<usize>) -> Option<Range<usize>> {
    let raw = text.slice(outer.clone());
    if raw == value {
        return Some(outer.clone());
    }
    let quoted = ["\"", "'"].iter().any(|quote| {
        raw.strip_prefix(quote).and_then(|raw| raw.strip_suffix(quote)) == Some(value)
    });
    quoted.then(|| outer.start + 1..outer.end - 1)
}

/// Judges the files of a kind that a script writes: here-documents, each separately. Nothing is changed in them.
pub(crate) fn written(
    document: &Document,
    kind: Kind,
    is: impl Fn(&str) -> bool,
) -> Option<Report> {
    let text = document.text.as_str();
    let wanted = |span: &Range<usize>| text.get(span.clone()).is_some_and(&is);
    given(document, kind, here_documents(text).into_iter().filter(wanted))
}

/// Judges the files of a kind that parts of a script are, each separately. Nothing is changed in them.
pub(crate) fn given(
    document: &Document,
    kind: Kind,
    spans: impl Iterator<Item = Range<usize>>,
) -> Option<Report> {
    let judge = |span: Range<usize>| {
        let mut inner = Inner::new(kind, document, span.clone());
        inner.same(document, span);
        inner.partial = true;
        inner.judge(document, |_| None).ok()
    };
    let report = together(spans.take(MOST_WRITTEN).filter_map(judge));
    report.map(|mut report| {
        for finding in report.findings.iter_mut().filter(|it| !it.edits.is_empty()) {
            finding.edits.clear();
            finding.left = Some("a script writes the file".to_owned());
        }
        report
    })
}

/// The most files that one script writes.
const MOST_WRITTEN: usize = 32;

/// The limit of machines in a file that are judged.
pub(crate) const MOST_MACHINES: usize = 1000;

/// Joins the reports of several machines of a file.
pub(crate) fn together(reports: impl IntoIterator<Item = Report>) -> Option<Report> {
    let mut count = 0;
    reports.into_iter().reduce(|mut all, one| {
        count += 1;
        // No more were judged.
        all.partial |= count + 1 >= MOST_MACHINES;
        if all.guest == Guest::Unknown {
            all.guest = one.guest;
        }
        all.guessed |= one.guessed;
        all.partial |= one.partial;
        all.findings.extend(one.findings);
        all
    })
}

/// Joins the reports of several machines of a file, each with a system of its own.
pub(crate) fn machines(reports: Vec<Report>) -> Option<Report> {
    let known = |it: &Report| Known { guest: it.guest, guessed: it.guessed };
    let guest = Known::of_all(&reports.iter().map(known).collect::<Vec<_>>());
    together(reports).map(|all| Report { guest, ..all })
}

/// A report without findings.
pub(crate) fn nothing(guest: Guest) -> Report {
    Report::of(Known::declared(guest), true, Vec::new())
}

/// Returns all nodes below a path, in lists and in duplicate keys.
pub(crate) fn each<'a>(node: &'a Node, path: &[&str]) -> Vec<&'a Node> {
    match (node, path.split_first()) {
        (Node::List { items }, _) => items.iter().flat_map(|item| each(item, path)).collect(),
        (node, None) => vec![node],
        (Node::Map { entries, .. }, Some((name, rest))) => {
            let same = entries.iter().filter(|(key, _)| key.name == *name);
            same.flat_map(|(_, node)| each(node, rest)).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the first scalar below a path that is not empty, and its place.
pub(crate) fn said<'a>(node: &'a Node, path: &[&str]) -> Option<(&'a str, &'a Range<usize>)> {
    each(node, path).into_iter().find_map(Node::scalar).filter(|(value, _)| !value.is_empty())
}
