//! The statements of a file of any language, with their places.

use crate::words::statements;
use std::ops::Range;

/// One statement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'a> {
    /// Where it begins.
    pub(super) base: usize,
    pub(super) text: &'a str,
    /// The statement after it.
    pub(super) next: &'a str,
}

impl Line<'_> {
    /// The statement without the blanks around it.
    pub(super) fn trimmed(&self) -> Range<usize> {
        let start = self.base + self.text.len() - self.text.trim_start().len();
        start..start.max(self.base + self.text.trim_end().len())
    }

    pub(super) fn is_comment(&self) -> bool {
        // An item of a list in YAML may contain only a comment.
        let text = self.text.trim_start().trim_start_matches("- ");
        text.starts_with('#')
            || text.starts_with("//")
            || (text.starts_with(';') && !text.starts_with(";;"))
    }
}

/// All statements.
pub(super) fn lines(text: &str) -> Vec<Line<'_>> {
    let all = statements(text);
    let next = all.iter().skip(1).map(|(_, line)| *line).chain(std::iter::once(""));
    all.iter().zip(next).map(|((base, text), next)| Line { base: *base, text, next }).collect()
}
