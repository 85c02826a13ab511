//! What the pages say of the subject of a text in prose, as a paragraph.

use super::{Style, wrap};
use clocksmith_diagnose::explain::Known;

/// Appends the core of each page, and the command that shows all of it.
pub(crate) fn paragraph(out: &mut String, known: &[Known], style: Style) {
    if known.is_empty() {
        return;
    }
    out.push_str(&format!("\n{}\n", style.bold("What is known about such problems")));
    for one in known {
        out.push_str(&wrap(&one.text, &format!("  {}: ", one.word), "    "));
        // Commands are for copying: never wrapped.
        out.push_str(&format!("    more: clocksmith explain '{}'\n", one.word));
    }
}
