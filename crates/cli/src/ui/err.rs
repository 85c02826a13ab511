//! Standard error. Where it is gone there is no place left to say so: what cannot be written is dropped, and no run ends
//! in the middle of a change because of it.
// The one place that may name it: see `super`.
#![allow(clippy::disallowed_methods)]

use clocksmith_facts::visible::{self, Ink};
use std::io::{IsTerminal, stderr};

/// Whether it is a terminal.
pub(crate) fn is_terminal() -> bool {
    stderr().is_terminal()
}

/// Prints text, made visible.
pub(crate) fn text(text: &str) {
    let _ = super::put(stderr().lock(), visible::terminal(text, Some(Ink::of_run())).as_bytes());
}

/// Prints a line, made visible; a line break in it is one of a name.
pub(crate) fn line(line: &str) {
    text(&format!("{}\n", visible::line(line)));
}

/// Columns of a line of progress.
const PROGRESS: usize = 70;

/// Shows where a long run is, in place of what was shown before.
pub(crate) fn progress(words: &str) {
    let words: String = visible::line(words).chars().take(PROGRESS).collect();
    let _ = super::put(stderr().lock(), format!("\r{words:<PROGRESS$}").as_bytes());
}

/// Clears the line of progress.
pub(crate) fn progress_done() {
    let _ = super::put(stderr().lock(), format!("\r{:<PROGRESS$}\r", "").as_bytes());
}
