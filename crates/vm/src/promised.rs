//! Remedies that name an option of `vm fix`: "`vm fix --tsc-frequency HERTZ` does it". The option may change nothing in this
//! file, and then the remedy must not promise it.

use crate::choice::{self, Choices};
use crate::document::Document;
use crate::finding::Finding;
use crate::unchosen;

/// The words that promise, with the choices that they name.
const PROMISES: [(&str, bool); 3] = [
    ("; `vm fix --tsc-frequency HERTZ` does it", true),
    (" (`vm fix --tsc-frequency HERTZ`)", true),
    (" (`vm fix --invtsc`)", false),
];
/// A frequency that every file may have.
const HERTZ: u64 = 2_500_000_000;

/// Removes promises that `vm fix` does not keep for a file, and adds the reason.
pub(crate) fn keep(document: &Document, findings: &mut [Finding]) {
    for (words, frequency) in PROMISES {
        let promises =
            |finding: &Finding| finding.fix.as_ref().is_some_and(|it| it.contains(words));
        if !findings.iter().any(promises) {
            continue;
        }
        let choices = match frequency {
            true => Choices { tsc_frequency: Some(HERTZ), ..Choices::default() },
            false => Choices { invtsc: true, ..Choices::default() },
        };
        if !choice::edits(document, &choices).is_empty() {
            continue;
        }
        let said = choice::left(document, &choices).into_iter().next();
        let why = said.or_else(|| unchosen::why(document, &choices));
        // The remedy itself says what to write.
        let why = why.map(|why| why.split("; write ").next().unwrap_or_default().to_owned());
        for finding in findings.iter_mut().filter(|finding| promises(finding)) {
            finding.fix = finding.fix.take().map(|fix| fix.replace(words, ""));
            if finding.left.is_none() && finding.edits.is_empty() {
                finding.left.clone_from(&why);
            }
        }
    }
}
