//! Standard error. If it is closed, its loss cannot be reported: unwritable text is dropped, and no run ends in the
//! middle of a change because of it.
// This module is the only one that may name it: see `super`.
#![allow(clippy::disallowed_methods)]

use clocksmith_facts::visible::{self, Ink};
use std::io::{IsTerminal, stderr};

/// Whether it is a terminal.
pub(crate) fn is_terminal() -> bool {
    stderr().is_terminal()
}

/// Prints text, made visible, without the middle of words that are longer than any path.
pub(crate) fn text(text: &str) {
    let text = super::long::shortened(text);
    let _ = super::put(stderr().lock(), visible::terminal(&text, Some(Ink::of_run())).as_bytes());
}

/// Prints a line, made visible; a line break in it is one of a name.
pub(crate) fn line(line: &str) {
    text(&format!("{}\n", visible::line(line)));
}

/// Columns of a line of progress.
const PROGRESS: usize = 70;

/// Shows the progress of a long run, in place of the previous text.
pub(crate) fn progress(words: &str) {
    let words: String = visible::line(words).chars().take(PROGRESS).collect();
    let _ = super::put(stderr().lock(), format!("\r{words:<PROGRESS$}").as_bytes());
}

/// Clears the line of progress.
pub(crate) fn progress_done() {
    let _ = super::put(stderr().lock(), format!("\r{:<PROGRESS$}\r", "").as_bytes());
}
