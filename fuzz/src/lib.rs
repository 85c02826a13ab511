//! What the targets share: the whole way from facts to a rendered verdict.

use clocksmith_diagnose::{CauseId, Diagnosis, diagnose};
use clocksmith_facts::Facts;
use clocksmith_kernel::{Expectation, Machine, predict};

/// Predicts, diagnoses and serialises: all that the program does with facts, short of printing.
pub fn judge(facts: &Facts) {
    let machine = Machine::of(facts);
    let expectation = predict(&machine);
    consistent(&expectation);
    let diagnosis = diagnose(facts, &machine, &expectation, Vec::new());
    answered(&diagnosis);
    assert!(serde_json::to_string(facts).is_ok(), "facts cannot be written as JSON");
    for part in [serde_json::to_string(&diagnosis.causes), serde_json::to_string(&diagnosis.remedies)] {
        assert!(part.is_ok(), "a diagnosis cannot be written as JSON");
    }
}

/// What the kernel would use is one of the clocksources that it would list.
pub fn consistent(expectation: &Expectation) {
    if let (Some(current), Some(available)) = (&expectation.current, &expectation.available) {
        assert!(available.contains(current), "{current} is not among {available:?}");
    }
}

/// Nobody is left without an answer, and every cause rests on something.
fn answered(diagnosis: &Diagnosis) {
    assert!(!diagnosis.headline.trim().is_empty(), "no headline");
    for cause in &diagnosis.causes {
        let bare = cause.id == CauseId::InsufficientEvidence;
        assert!(bare || !cause.evidence.is_empty(), "{:?} has no evidence", cause.id);
    }
}

/// Looks at a file of a virtual machine and mends it: that ends, every change can be made, what is
/// mended can be read, and mending twice is mending once.
pub fn vm(data: &[u8], kind: clocksmith_vm::Kind) {
    use clocksmith_vm::{Choices, Document, fix, lint, predict};
    let _ = Document::new("file", data);
    let Ok(document) = Document::of_kind("file", data, kind) else {
        return;
    };
    assert_eq!(document.text.encode(document.text.as_str()), data, "the encoding is not kept");
    let Ok(report) = lint(&document) else {
        return;
    };
    for finding in &report.findings {
        assert!(finding.span.end <= document.text.as_str().len(), "{finding:?}");
        clocksmith_vm::edit::apply(document.text.as_str(), &finding.edits).expect("changes of one finding");
    }
    let _ = predict(&document);
    for choices in [Choices::default(), Choices { invtsc: true, tsc_frequency: Some(2_000_000_000) }] {
        let once = fix(&document, &choices).expect("what was read once");
        let twice = fix(&once.document, &choices).expect("what was mended");
        assert_eq!(once.document.text, twice.document.text, "mended twice");
    }
}

/// Whatever a virtual machine's file says, findings stand inside of it, their changes can be made,
/// and making them again and again comes to an end.
pub fn lint(kind: clocksmith_vm::Kind, name: &str, text: &str) {
    use clocksmith_vm::{Document, Text, edit, lint};
    let mut text = text.to_owned();
    for round in 0..8 {
        let document = Document { name: name.to_owned(), text: Text::new(text.clone()), kind };
        let Ok(report) = lint(&document) else {
            assert!(round == 0, "mending broke the file: {text:?}");
            return;
        };
        for finding in &report.findings {
            assert!(text.get(finding.span.clone()).is_some(), "{finding:?} in {text:?}");
        }
        let edits: Vec<_> = report.findings.iter().flat_map(|f| f.edits.clone()).collect();
        if edits.is_empty() {
            return;
        }
        match edit::apply(&text, &edits) {
            Ok(mended) => text = mended,
            Err(error) => panic!("{error}: {edits:?} in {text:?}"),
        }
    }
    panic!("never done: {text:?}");
}
