//! Text for terminals of 80 columns. It is in this crate because two programs use it: `clocksmith`, and the engine,
//! whose report is made in this crate.

use clocksmith_facts::visible::{self, width};

/// Columns of the printed text.
pub const WIDTH: usize = 80;

/// Wraps a paragraph: the first line begins with `first`, the others with `rest`. Words longer than
/// the line are left whole; colours take no column.
#[must_use]
pub fn wrap(text: &str, first: &str, rest: &str) -> String {
    let mut out = String::from(first);
    let mut column = width(first);
    let mut empty = true;
    for word in text.split_whitespace() {
        let len = width(word);
        if !empty && column + 1 + len > WIDTH {
            out.push('\n');
            out.push_str(rest);
            column = width(rest);
            empty = true;
        }
        if !empty {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += len;
        empty = false;
    }
    out.push('\n');
    out
}

/// `1 host`, `2 hosts`.
#[must_use]
pub fn counted(count: u64, one: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") }
}

/// Cuts a text of one line to `width` columns; the last one marks a cut. Hidden characters are shown by name first, so
/// that the columns are the visible ones.
#[must_use]
pub fn clip(text: &str, width: usize) -> String {
    let text = visible::line(text);
    if text.chars().count() <= width {
        return text.into_owned();
    }
    let Some(most) = width.checked_sub(1) else { return String::new() };
    let kept: String = text.chars().take(most).collect();
    format!("{kept}~")
}
