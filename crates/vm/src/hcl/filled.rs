//! HCL that a template language writes: its placeholders are replaced, so that the rest can be read. Each replacement has
//! the length of what it replaces, so that places stay right.

/// The marks of statements and of comments.
const BLOCKS: [(&str, &str); 2] = [("{%", "%}"), ("{#", "#}")];

/// Returns a text without the marks of a template: `{{ name }}` outside of a string becomes a name that nothing defines,
/// whose value is not known, and a line with nothing else becomes blank, as do `{% if x %}` and `{# remark #}`. In a
/// string the marks stay, with other quotes in them. `None` if the text has no such mark, or one that is not closed.
pub(super) fn filled(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let (mut string, mut found) = (false, false);
    // Whether nothing is on the line so far.
    let mut empty = true;
    while let Some(c) = rest.chars().next() {
        let block = BLOCKS.iter().find(|(open, _)| rest.starts_with(open)).map(|(_, close)| *close);
        let value = rest.starts_with("{{").then_some("}}");
        if let Some(close) = block.or(value) {
            let (inside, after) = closed(rest, close)?;
            let behind = after.trim_start_matches([' ', '\t', '\r']);
            let alone = empty && (behind.is_empty() || behind.starts_with('\n'));
            match (string, block.is_some() || alone) {
                (true, _) => out.push_str(&inside.replace('"', "'")),
                (false, true) => out.push_str(&blank(inside, ' ')),
                (false, false) => {
                    out.push_str(&blank(inside, 'x'));
                    empty = false;
                }
            }
            (rest, found) = (after, true);
            continue;
        }
        let escaped = string && c == '\\';
        match c {
            '"' => (string, empty) = (!string, false),
            '\n' => (string, empty) = (false, true),
            _ => empty &= c.is_whitespace(),
        }
        let behind = rest.get(c.len_utf8()..).and_then(|rest| rest.chars().next());
        let length = c.len_utf8() + behind.filter(|_| escaped).map_or(0, char::len_utf8);
        let (text, after) = rest.split_at_checked(length)?;
        out.push_str(text);
        rest = after;
    }
    found.then_some(out)
}

/// Splits a text behind its first closing mark.
fn closed<'a>(text: &'a str, close: &str) -> Option<(&'a str, &'a str)> {
    text.split_at_checked(text.find(close)? + close.len())
}

/// Returns as many bytes of one character; line ends stay.
fn blank(text: &str, with: char) -> String {
    text.bytes().map(|byte| if byte == b'\n' { '\n' } else { with }).collect()
}

#[cfg(test)]
mod tests {
    use super::filled;
    use proptest::prelude::*;

    #[test]
    fn filled_keeps_the_places() {
        for (text, expected) in [
            ("a = {{ n }}\n", "a = xxxxxxx\n"),
            ("a = [b.c_{{n}}]\n", "a = [b.c_xxxxx]\n"),
            ("a = \"{{ f(\"x\") }}\"\n", "a = \"{{ f('x') }}\"\n"),
            ("a = \"\\\"{{ n }}\" \n", "a = \"\\\"{{ n }}\" \n"),
            ("{% if a %}\nb = 1\n{% endif %}\n", "          \nb = 1\n           \n"),
            ("  {{ more }}\n", "            \n"),
            ("{# \u{e9} #}\na = 1\n", "        \na = 1\n"),
        ] {
            assert_eq!(filled(text).as_deref(), Some(expected), "{text}");
            assert_eq!(text.len(), expected.len());
        }
        for text in ["a = 1\n", "a = {{ n\n", "a = { b = { c = 1 }}\n", ""] {
            assert_eq!(filled(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn filled_never_changes_the_length(text in "[a{}%#\"\\\\ \n\u{e9}]{0,40}") {
            prop_assert!(filled(&text).is_none_or(|it| it.len() == text.len()));
        }
    }
}
