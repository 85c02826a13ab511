//! Line continuations in places where this reader does not join the lines.

/// Returns where a line continuation (`\` at the end) may divide an operator or an expansion: a shell joins lines
/// before it recognises them (POSIX, Shell Command Language, 2.2.1), this reader does not.
pub(super) fn torn(text: &str) -> Option<usize> {
    let operator = |c: char| "&|;<>()".contains(c);
    let in_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut at = 0;
    while let Some(found) = text.get(at..).and_then(|rest| rest.find("\\\n")) {
        let start = at + found;
        at = start;
        while text.get(at..).is_some_and(|rest| rest.starts_with("\\\n")) {
            at += 2;
        }
        let before = text.get(..start).unwrap_or_default();
        let next = text.get(at..).and_then(|rest| rest.chars().next());
        let stem = before.trim_end_matches(in_name);
        let named = next.is_some_and(in_name);
        let within = stem.ends_with("${") || stem.ends_with("${#") || stem.ends_with("${!");
        let expansion = before.ends_with('$') || within || (stem.ends_with('$') && named);
        let signs = before.ends_with(operator) && next.is_some_and(operator);
        let descriptor =
            before.ends_with(|c: char| c.is_ascii_digit()) && matches!(next, Some('<' | '>'));
        let bracket = next == Some('(') && before.ends_with(|c: char| !c.is_whitespace());
        if expansion || signs || descriptor || bracket {
            return Some(start);
        }
    }
    None
}
