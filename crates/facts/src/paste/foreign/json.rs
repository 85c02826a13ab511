//! Free text in JSON: the values of fields such as `"note"` or `"description"`, which contain what a person wrote of a
//! machine, beside the fields that were read from it.

use super::{COVER, tells};

/// Keys of free text, in small letters.
const FREE: [&str; 24] = [
    "annotation",
    "annotations",
    "caption",
    "comment",
    "comments",
    "desc",
    "description",
    "detail",
    "details",
    "doc",
    "documentation",
    "explanation",
    "help",
    "hint",
    "hints",
    "label",
    "note",
    "notes",
    "reason",
    "remark",
    "remarks",
    "summary",
    "title",
    "tooltip",
];
/// Keys of what a program logged: it may be a message of the kernel, but not a reading.
const LOGGED: [&str; 5] = ["message", "msg", "text", "body", "content"];
/// Keys that hold the query of a monitor.
const QUERIES: [&str; 4] = ["expr", "query", "expression", "promql"];

/// The state between lines.
#[derive(Clone, Debug, Default)]
pub(super) struct Free {
    /// The brackets that are open in the value of such a key.
    depth: usize,
}

impl Free {
    /// Whether no value of such a key is open.
    pub(super) fn is_outside(&self) -> bool {
        self.depth == 0
    }

    /// Covers the free text in a line; `bare` is the line without blanks and signs of quotation.
    pub(super) fn cover(&mut self, bare: &str, line: &mut [u8]) {
        let opens = bare.starts_with(['{', '"', '[', ']', '}', ',']);
        if !opens {
            self.depth = 0;
            return;
        }
        let mut at = 0;
        let mut key = String::new();
        let mut free = false;
        while let Some(begin) = next(line, at) {
            match line[begin] {
                b'"' => {
                    let end = end_of_string(line, begin);
                    let text = String::from_utf8_lossy(&line[begin + 1..end]).into_owned();
                    let is_key = line[(end + 1).min(line.len())..]
                        .iter()
                        .find(|byte| !byte.is_ascii_whitespace())
                        == Some(&b':');
                    if is_key {
                        key = last_part(&text);
                        free = is_free(&key);
                    } else if self.depth > 0 || free || is_logged(&key, &text) {
                        cover(&mut line[begin + 1..end], &text);
                    }
                    at = end + 1;
                }
                b'{' | b'[' => {
                    self.depth += usize::from(self.depth > 0 || free);
                    at = begin + 1;
                }
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    free = false;
                    at = begin + 1;
                }
                _ => {
                    free = false;
                    at = begin + 1;
                }
            }
        }
    }
}

/// The place of the next sign of JSON.
fn next(line: &[u8], from: usize) -> Option<usize> {
    let rest = line.get(from..)?;
    rest.iter().position(|byte| b"\"{}[],".contains(byte)).map(|at| from + at)
}

/// The place of the quote that closes a string, or the end of the line.
fn end_of_string(line: &[u8], begin: usize) -> usize {
    let mut at = begin + 1;
    while at < line.len() {
        match line[at] {
            b'\\' => at += 2,
            b'"' => return at,
            _ => at += 1,
        }
    }
    line.len()
}

/// The name of a key behind its domain (`example.org/note`), in small letters.
fn last_part(key: &str) -> String {
    key.rsplit('/').next().unwrap_or(key).to_ascii_lowercase()
}

/// Whether a key, in small letters, is one of free text, in any format.
pub(super) fn is_free_text(key: &str) -> bool {
    FREE.contains(&key)
}

fn is_free(key: &str) -> bool {
    FREE.contains(&key) || QUERIES.contains(&key)
}

/// Whether what a program logged mentions the files of sysfs.
fn is_logged(key: &str, text: &str) -> bool {
    LOGGED.contains(&key) && text.contains("_clocksource") && !crate::log::strip_prefix(text).1
}

fn cover(value: &mut [u8], text: &str) {
    if tells(text) {
        value.iter_mut().filter(|byte| **byte > b' ').for_each(|byte| *byte = COVER);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covered(lines: &[&str]) -> Vec<String> {
        let mut free = Free::default();
        let one = |line: &&str| {
            let mut bytes = line.as_bytes().to_vec();
            free.cover(line.trim(), &mut bytes);
            String::from_utf8_lossy(&bytes).into_owned()
        };
        lines.iter().map(one).collect()
    }

    #[test]
    fn free_text_is_covered_and_fields_stay() {
        assert_eq!(
            covered(&["{\"note\": \"the clocksource is é\", \"current_clocksource\": \"tsc\"}"]),
            ["{\"note\": \"xxx xxxxxxxxxxx xx xx\", \"current_clocksource\": \"tsc\"}"]
        );
        assert_eq!(
            covered(&[
                "\"annotations\": {",
                "\"a.b/c\": \"clocksource\"",
                "},",
                "\"clocksource\": \"tsc\""
            ]),
            ["\"annotations\": {", "\"a.b/c\": \"xxxxxxxxxxx\"", "},", "\"clocksource\": \"tsc\""]
        );
        for line in [
            "{\"message\": \"[    1.900000] clocksource: Switched to clocksource hpet\"}",
            "{\"stdout\": \"clocksource: hpet\"}",
            "{\"note\": \"fine\"}",
            "\"note\"",
            "{\"note\": \"",
            "the \"note\": \"clocksource\"",
        ] {
            assert_eq!(covered(&[line]), [line]);
        }
    }
}
