//! JSON that a template generates: placeholders outside of strings (`"vcpu_count": {{N}}`) are empty lists, which no
//! setting is, and marks of conditions and loops are blanks. Every other byte is in its place.

/// The pairs of marks, and whether the text between them may be a value.
const MARKS: [(&str, &str, bool); 6] = [
    ("{{", "}}", true),
    ("{%", "%}", false),
    ("{#", "#}", false),
    ("<%", "%>", true),
    ("${", "}", true),
    ("<", ">", true),
];

/// Returns a text of the same length without placeholders; `None` if it has none.
pub(super) fn filled(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut string = false;
    let mut changed = false;
    while let Some(c) = rest.chars().next() {
        let mark = if string { quoted(rest) } else { plain(rest) };
        let length = match mark {
            Some((length, value)) => {
                changed = true;
                fill(&mut out, length, value && !string, string);
                length
            }
            None => {
                // An escaped character of a string.
                let pair = string && c == '\\';
                let length = rest.chars().take(1 + usize::from(pair)).map(char::len_utf8).sum();
                string ^= c == '"';
                out.push_str(rest.get(..length)?);
                length
            }
        };
        rest = rest.get(length..)?;
    }
    changed.then_some(out)
}

/// Adds as many bytes as the placeholder has.
fn fill(out: &mut String, length: usize, value: bool, string: bool) {
    let (first, other) = match (value, string) {
        (true, _) => ("[]", " "),
        (false, true) => ("", "x"),
        (false, false) => ("", " "),
    };
    out.push_str(first);
    out.push_str(&other.repeat(length - first.len()));
}

/// The longest placeholder, in bytes.
const LONGEST: usize = 256;

/// Returns the beginning of a text, in which a placeholder ends.
fn near(text: &str) -> &str {
    let mut end = text.len().min(LONGEST);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

/// Returns the length of a placeholder outside of strings, and whether it is a value.
fn plain(rest: &str) -> Option<(usize, bool)> {
    for (open, close, value) in MARKS {
        let Some(inside) = rest.strip_prefix(open) else { continue };
        let end = near(inside).find(close)?;
        let inside = inside.get(..end)?;
        // The brace of an object before a condition.
        if rest.starts_with("{{{") && !is_value(inside.trim_start_matches('{')) {
            return None;
        }
        if open.len() == 1 && inside.contains(|c: char| !c.is_alphanumeric() && c != '_') {
            continue;
        }
        return Some((open.len() + end + close.len(), value && is_value(inside)));
    }
    let name = |text: &str| {
        let ends = |c: char| !c.is_ascii_alphanumeric() && c != '_';
        let text = near(text);
        text.find(ends).unwrap_or(text.len())
    };
    if let Some(inside) = rest.strip_prefix('$') {
        return Some((1 + name(inside), true)).filter(|(length, _)| *length > 1);
    }
    if let Some(inside) = rest.strip_prefix('@') {
        let length = name(inside);
        let closed = length > 0 && inside.get(length..)?.starts_with('@');
        return closed.then_some((length + 2, true));
    }
    let verbs = ["%s", "%d", "%u", "%v"];
    if let Some(verb) = verbs.into_iter().find(|verb| rest.starts_with(verb)) {
        return Some((verb.len(), true));
    }
    if !rest.starts_with("__") {
        return None;
    }
    let length = name(rest);
    let word = rest.get(..length)?;
    (length > 4 && word.starts_with("__") && word.ends_with("__")).then_some((length, true))
}

/// Returns the length of a placeholder with quotes of its own in a string: `"{{ x | default("y") }}"`.
fn quoted(rest: &str) -> Option<(usize, bool)> {
    let inside = rest.strip_prefix("{{")?;
    let end = near(inside).find("}}")?;
    let inside = inside.get(..end)?;
    (inside.contains('"') && !inside.contains('\n')).then_some((end + 4, false))
}

/// Whether a mark stands for a value, and not for a condition, a loop or their end.
fn is_value(inside: &str) -> bool {
    const WORDS: &str = "if else end range with define block template unless for endif endfor each";
    let inside = inside.trim_matches(['-', '~', ' ', '\t', '=']);
    let word = inside.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
    !inside.starts_with(['#', '/', '^', '!']) && !crate::words::listed(WORDS, word)
}

#[cfg(test)]
mod tests {
    use super::filled;
    use proptest::prelude::*;

    #[test]
    fn placeholder_of_a_number_is_a_value() {
        for text in [
            "{\"a\": {{N}}, \"b\": \"{{ x }}\"}",
            "{\"a\": ${N}}",
            "{\"a\": $N,\n\"b\": @M@}",
            "{\"a\": %d}",
            "{\"a\": __CPUS__}",
            "{\"a\": <%= n %>}",
            "{\"a\": <n>}",
            "{{% if a %}\"a\": 1{% endif %}}",
            "{{{- if .A }}\"a\": {{ .A }}{{ end }}}",
            "{\"a\": \"{{ x | default(\"y\") }}\", \"b\": {{ n }}}",
        ] {
            let json = filled(text).unwrap();
            assert_eq!(json.len(), text.len());
            assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok(), "{json}");
        }
        assert_eq!(filled("{\"a\": 1, \"b\": \"{{ x }} $A %s\"}"), None);
    }

    proptest! {
        #[test]
        fn every_byte_has_its_place(text in "[{}\"%<>@$_ax#ü\\\\\n ]{0,40}") {
            if let Some(json) = filled(&text) {
                prop_assert_eq!(json.len(), text.len());
            }
        }
    }
}
