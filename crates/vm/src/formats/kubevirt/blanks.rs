//! Blanks that look like indentation but are not: text from a page or a chat has them.

/// The message about blanks that look like an indentation.
pub(super) const NO_BREAK: &str = "a no-break space (U+00A0) is no indentation in YAML, so the lines are no part of what is above; \
    replace them by spaces";

/// Returns where a key begins a line whose first character is a no-break space, as text from a page or a chat has.
pub(super) fn no_break_indent(text: &str) -> Option<usize> {
    let mut at = 0;
    text.split_inclusive('\n').find_map(|line| {
        let begin = at;
        at += line.len();
        let inside = line.trim();
        let key = inside.ends_with(':') || inside.contains(": ") || inside.starts_with("- ");
        (line.starts_with('\u{a0}') && key && !inside.starts_with('#')).then_some(begin)
    })
}
