//! The parts of a statement that are only searched for: the pattern of `sed`, the expression of an Ansible search. They
//! are not settings, whatever replaces them.

use crate::words::listed;
use std::ops::Range;

/// Keys of Ansible's modules with an expression, or with a condition.
const KEYS: &str = "regexp regex search pattern insertafter insertbefore after before when failed_when changed_when until \
    search_string that";

/// Returns the ranges of a statement that are only searched for.
pub(super) fn sought(text: &str) -> Vec<Range<usize>> {
    let key = text.trim_start().trim_start_matches("- ").split(':').next().unwrap_or_default();
    if text.contains(':') && listed(KEYS, key.trim()) {
        return std::iter::once(0..text.len()).collect();
    }
    let named = |word: &str| matches!(word.rsplit('/').next(), Some("sed" | "perl"));
    if !text.split_whitespace().any(named) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut at = 0;
    while let Some((start, delimiter)) = pattern(text, at) {
        let end = closed(text, start, delimiter);
        found.push(start..end);
        // The replacement ends with the same delimiter.
        let command = text
            .get(..start)
            .is_some_and(|before| before.trim_end_matches(delimiter).ends_with('s'));
        at = if command { closed(text, end + 1, delimiter) + 1 } else { end + 1 };
    }
    found
}

/// Returns where the next pattern begins: after `s/`, or after a `/` that begins an address.
fn pattern(text: &str, from: usize) -> Option<(usize, char)> {
    let begins = |at: usize| {
        let before = text.get(..at).and_then(|it| it.chars().next_back());
        before.is_none_or(|c| c.is_whitespace() || "'\";{}!,/".contains(c) || c.is_ascii_digit())
    };
    let rest = text.get(from..)?;
    rest.char_indices().map(|(n, c)| (from + n, c)).find_map(|(at, c)| {
        let next = text.get(at + c.len_utf8()..)?.chars().next()?;
        let quoted = at > 0 && text.get(..at).is_some_and(|it| it.ends_with(['\'', '"']));
        match c {
            's' if begins(at) && "/|#@,!~:+%".contains(next) => Some((at + 2, next)),
            '/' if quoted => Some((at + 1, '/')),
            _ => None,
        }
    })
}

/// Returns the place of a delimiter without a backslash before it.
fn closed(text: &str, from: usize, delimiter: char) -> usize {
    let mut escaped = false;
    let rest = text.get(from..).unwrap_or_default();
    let end = rest.find(|c| {
        let ends = c == delimiter && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    });
    end.map_or(text.len(), |n| from + n)
}

#[cfg(test)]
mod tests {
    use super::sought;
    use proptest::prelude::*;

    #[test]
    fn pattern_is_looked_for_and_what_is_put_in_is_not() {
        let of = |text: &str| -> Vec<String> {
            sought(text).into_iter().map(|it| text[it].to_owned()).collect()
        };
        assert_eq!(of("sed -i 's/ clocksource=tsc//' a"), [" clocksource=tsc"]);
        assert_eq!(of("sudo sed -i 's/a=hpet/a=tsc/;s|b|c|' f"), ["a=hpet", "b"]);
        assert_eq!(of("sed '/notsc/d' a"), ["notsc"]);
        assert_eq!(of("sed -i 's/^A=\"/&clocksource=tsc /' /etc/default/grub"), ["^A=\""]);
        assert_eq!(of("    regexp: ' tsc=reliable'"), ["    regexp: ' tsc=reliable'"]);
        assert_eq!(of("    line: 'A=tsc=reliable'"), [""; 0]);
        assert_eq!(of("grubby --args=clocksource=tsc"), [""; 0]);
    }

    proptest! {
        #[test]
        fn any_text_has_places_in_it(text in "[s/|'\" a;d\\\\:]{0,20}ü?", sed in "(sed )?") {
            let text = format!("{sed}{text}");
            for span in sought(&text) {
                prop_assert!(text.get(span).is_some());
            }
        }
    }
}
