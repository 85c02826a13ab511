//! Steps that the tests of every kind of file share: check a file, and verify that a fix works and changes nothing
//! else.

use crate::document::Document;
use crate::edit::{Edit, apply};
use crate::finding::Severity;
use crate::formats::Kind;
use crate::lint::{LintError, Report, lint};
use crate::text::Text;

pub(crate) fn document(kind: Kind, name: &str, text: &str) -> Document {
    Document {
        name: name.to_owned(),
        text: Text::new(text.to_owned()),
        kind,
        guest: None,
        models: None,
    }
}

pub(crate) fn broken(kind: Kind, text: &str) -> LintError {
    lint(&document(kind, "m.vbox", text)).unwrap_err()
}

/// Checks a file, asserts the invariants of every file, and returns the report.
pub(crate) fn report(kind: Kind, name: &str, text: &str) -> Report {
    let doc = document(kind, name, text);
    let report = lint(&doc).unwrap();
    for finding in &report.findings {
        assert!(text.get(finding.span.clone()).is_some(), "{finding:?}");
        if finding.severity > Severity::Info {
            assert!(finding.fix.is_some(), "nothing to do: {finding:?}");
        }
    }
    let edits: Vec<Edit> = report.findings.iter().flat_map(|f| f.edits.clone()).collect();
    let mended = apply(text, &edits).unwrap();
    let again = lint(&document(kind, name, &mended)).unwrap();
    for finding in report.findings.iter().filter(|finding| !finding.edits.is_empty()) {
        let id = finding.rule.id;
        assert!(
            !again.findings.iter().any(|f| f.rule.id == id && !f.edits.is_empty()),
            "{id} is still there:\n{mended}"
        );
    }
    settles(kind, name, mended.clone());
    if !text.replace("\r\n", "").contains('\n') {
        assert!(!mended.replace("\r\n", "").contains('\n'), "line ends:\n{mended:?}");
    }
    report
}

/// The ids with their severities, in the order of the text.
pub(crate) fn ids(kind: Kind, name: &str, text: &str) -> Vec<(&'static str, Severity)> {
    report(kind, name, text).findings.iter().map(|f| (f.rule.id, f.severity)).collect()
}

/// Returns the ids of the findings that are at least a warning.
pub(crate) fn bad(kind: Kind, name: &str, text: &str) -> Vec<&'static str> {
    let all = ids(kind, name, text).into_iter();
    all.filter(|(_, severity)| *severity > Severity::Info).map(|(id, _)| id).collect()
}

/// Returns the text after all fixes.
pub(crate) fn mended(kind: Kind, name: &str, text: &str) -> String {
    let edits: Vec<Edit> =
        report(kind, name, text).findings.into_iter().flat_map(|f| f.edits).collect();
    apply(text, &edits).unwrap()
}

/// Asserts that repeated fixes come to an end: a problem after a key that prevents the machine's start is found only
/// when that key is removed.
fn settles(kind: Kind, name: &str, mut text: String) {
    for _ in 0..4 {
        let report = lint(&document(kind, name, &text)).unwrap();
        let edits: Vec<Edit> = report.findings.into_iter().flat_map(|f| f.edits).collect();
        if edits.is_empty() {
            return;
        }
        text = apply(&text, &edits).unwrap();
    }
    panic!("never done:\n{text}");
}
