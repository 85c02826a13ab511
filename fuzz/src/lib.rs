//! Functions that the targets share: from facts to a rendered verdict.

use clocksmith_diagnose::{CauseId, Measured, Report, assess};
use clocksmith_facts::Facts;
use clocksmith_kernel::Expectation;

/// Predicts, diagnoses and serialises: all that the program does with facts, short of printing.
pub fn judge(facts: &Facts) {
    let assessed = assess(facts.clone(), Measured::default());
    consistent(&assessed.expectation);
    answered(&assessed.report);
    assert!(serde_json::to_string(facts).is_ok(), "facts cannot be written as JSON");
    assert!(serde_json::to_string(&assessed.report).is_ok(), "a report cannot be written as JSON");
}

/// The clocksource that the kernel would use is one of those that it would list.
pub fn consistent(expectation: &Expectation) {
    if let (Some(current), Some(available)) = (&expectation.current, &expectation.available) {
        assert!(available.contains(current), "{current} is not among {available:?}");
    }
}

/// Every diagnosis has a headline, and every cause has evidence.
fn answered(diagnosis: &Report) {
    assert!(!diagnosis.headline.trim().is_empty(), "no headline");
    for cause in &diagnosis.causes {
        let bare = cause.id == CauseId::InsufficientEvidence;
        assert!(bare || !cause.evidence.is_empty(), "{:?} has no evidence", cause.id);
    }
}

/// Lints a file of a virtual machine and fixes it: findings are inside the file, every change can be
/// made, the fixed file can be read, and a second fix changes nothing.
pub fn vm(kind: clocksmith_vm::Kind, name: &str, data: &[u8]) {
    use clocksmith_vm::{Choices, Document, edit, fix, lint, predict};
    let _ = Document::new(name, data);
    let Ok(document) = Document::of_kind(name, data, kind) else {
        return;
    };
    let text = document.text.as_str();
    let archive = clocksmith_vm::document::is_archive(data);
    assert!(archive || document.text.encode(text) == data, "the encoding is not kept");
    let Ok(report) = lint(&document) else {
        return;
    };
    for finding in &report.findings {
        assert!(text.get(finding.span.clone()).is_some(), "{finding:?} in {text:?}");
        edit::apply(text, &finding.edits).expect("changes of one finding");
    }
    let _ = predict(&document);
    for choices in
        [Choices::default(), Choices { invtsc: true, tsc_frequency: Some(2_000_000_000) }]
    {
        let once = match fix(&document, &choices) {
            Ok(once) => once,
            // A document with bytes that are not text can be read, but is not edited.
            Err(_) if std::str::from_utf8(data).is_err() => continue,
            // Nor one whose XML is broken after the part that is read.
            Err(_) if kind == clocksmith_vm::Kind::Virtualbox && is_xml(text) => continue,
            Err(error) => panic!("what was read once: {error}"),
        };
        let twice = fix(&once.document, &choices).expect("a fixed file");
        assert_eq!(once.document.text, twice.document.text, "the second fix changed it");
    }
}

fn is_xml(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim_start().starts_with('<')
}
