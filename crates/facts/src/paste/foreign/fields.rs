//! Free text and comments of formats other than JSON: block scalars and fields of YAML, keys of ini files, elements of XML,
//! the comments of HTML, Markdown, ini and of exporters. Columns of tables are in `labels`.

use super::json;
use super::labels;
use crate::paste::prompt;

/// Lines of a comment or an element that does not end, at most: what follows is other text.
const LINES: usize = 200;

/// What is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Open {
    #[default]
    Nothing,
    /// A block scalar, whose lines are deeper than this.
    Scalar(usize),
    /// An element of XML, by its name in `ELEMENTS`.
    Element(usize),
    Comment,
    /// A manifest with the content of files that a cluster hands out.
    Settings,
}

/// Elements of XML that hold free text.
const ELEMENTS: [&str; 6] = ["description", "desc", "note", "notes", "summary", "title"];

/// The state between lines.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fields {
    open: Open,
    /// Lines since it opened.
    lines: usize,
}

/// What a line has of free text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Free {
    /// Nothing.
    None,
    /// The whole line.
    Whole,
    /// A comment of a page, in which persons also paste whole outputs: labelled readings are none.
    Labels,
}

impl Fields {
    /// Whether nothing is open.
    pub(super) fn is_outside(self) -> bool {
        self.open == Open::Nothing
    }

    /// Examines the next line.
    pub(super) fn line(&mut self, line: &str) -> Free {
        if self.open != Open::Nothing {
            self.lines += 1;
            if let Some(free) = self.inside(line) {
                return free;
            }
        }
        self.begins(line)
    }

    /// The kind of a line, if an open element continues in it.
    fn inside(&mut self, line: &str) -> Option<Free> {
        let ends = match self.open {
            Open::Nothing => return None,
            Open::Scalar(depth) => {
                if !unquoted(line).trim().is_empty() && indentation(line) <= depth {
                    self.open = Open::Nothing;
                    return None;
                }
                false
            }
            Open::Element(which) => closes(line, ELEMENTS[which]),
            Open::Comment => line.contains("-->"),
            Open::Settings => {
                let bare = unquoted(line).trim();
                if bare == "---" || bare.starts_with("```") || prompt::read(bare).is_some() {
                    self.open = Open::Nothing;
                    return None;
                }
                false
            }
        };
        let of_labels = matches!(self.open, Open::Comment | Open::Settings);
        let free = if of_labels { Free::Labels } else { Free::Whole };
        if ends || self.lines > LINES {
            self.open = Open::Nothing;
        }
        Some(free)
    }

    fn begins(&mut self, line: &str) -> Free {
        let bare = unquoted(line);
        let mut open = |what: Open| (self.open, self.lines) = (what, 0);
        if ["kind: ConfigMap", "kind: Secret"].contains(&bare.trim()) {
            open(Open::Settings);
            return Free::None;
        }
        if let Some(value) = free_value(bare) {
            let value = value.trim();
            // `|`, `>-`, `|2+`: the lines below are the value.
            let is_scalar = value.starts_with(['|', '>'])
                && value[1..].bytes().all(|b| b"+-".contains(&b) || b.is_ascii_digit());
            if is_scalar {
                open(Open::Scalar(indentation(line)));
                return Free::None;
            }
            return Free::Labels;
        }
        if let Some(which) = element(bare) {
            if !closes(bare, ELEMENTS[which]) {
                open(Open::Element(which));
            }
            return Free::Whole;
        }
        if let Some((_, rest)) = bare.split_once("<!--") {
            if !rest.contains("-->") {
                open(Open::Comment);
            }
            return Free::Labels;
        }
        if bare.starts_with("# HELP ") || bare.starts_with("# TYPE ") {
            return Free::Whole;
        }
        // A comment of Markdown, and one of an ini file that sets the file.
        let of_markdown = bare.starts_with("[//]: # ") || bare.starts_with("[comment]: # ");
        let of_ini = bare
            .strip_prefix([';', '#'])
            .is_some_and(|text| labels::of_file(text).is_some() && text.contains('='));
        if of_markdown || of_ini { Free::Labels } else { Free::None }
    }
}

/// A line without its indentation and the signs of a quotation.
fn unquoted(line: &str) -> &str {
    line.trim_start_matches([' ', '\t', '>'])
}

fn indentation(line: &str) -> usize {
    line.len() - unquoted(line).len()
}

/// The value of a key for free text: `description: |`, `comment = x`, `- note: x`.
fn free_value(bare: &str) -> Option<&str> {
    let bare = bare.strip_prefix("- ").unwrap_or(bare);
    let at = bare.find([':', '='])?;
    let key = bare[..at].trim_end().trim_matches(['"', '\'']);
    let is_key = key.bytes().all(|b| b.is_ascii_alphabetic());
    (is_key && json::is_free_text(&key.to_ascii_lowercase())).then(|| &bare[at + 1..])
}

/// The element of free text that opens in a line.
fn element(bare: &str) -> Option<usize> {
    if !bare.starts_with('<') {
        return None;
    }
    ELEMENTS.iter().position(|name| {
        bare.match_indices('<').any(|(at, _)| {
            bare[at + 1..]
                .strip_prefix(name)
                .is_some_and(|rest| rest.starts_with(['>', ' ']) && !rest.contains("/>"))
        })
    })
}

fn closes(line: &str, name: &str) -> bool {
    line.match_indices("</").any(|(at, _)| line[at + 2..].starts_with(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn free(text: &str) -> Vec<Free> {
        let mut fields = Fields::default();
        text.lines().map(|line| fields.line(line)).collect()
    }

    #[test]
    fn free_text_of_each_format_ends_where_the_format_says() {
        use Free::{Labels, None, Whole};
        for (text, want) in [
            ("note: |\n  a\n\n  b\nkernel: 6.1\n", vec![None, Whole, Whole, Whole, None]),
            ("  - note: >-\n      a\n  - x: 1\n", vec![None, Whole, None]),
            ("> note: |\n>   a\n> \n>   b\n> x: 1\n", vec![None, Whole, Whole, Whole, None]),
            ("description: a\nx: a\n", vec![Labels, None]),
            ("comment = a\n", vec![Labels]),
            ("<d><description>a\nb\n</description></d>\nx\n", vec![Whole, Whole, Whole, None]),
            ("<title>a</title>\nx\n", vec![Whole, None]),
            ("<!-- a -->\nx\n<!--\ny\n-->\nz\n", vec![Labels, None, Labels, Labels, Labels, None]),
            ("# HELP x y\n# TYPE x gauge\nx 1\n", vec![Whole, Whole, None]),
            ("[//]: # (a)\n", vec![Labels]),
            ("; current_clocksource=hpet\n# current_clocksource=hpet\n", vec![Labels, Labels]),
            ("# cat current_clocksource\n# a\n; b\n", vec![None, None, None]),
            ("the note: a\nlabels = a\n", vec![None, None]),
        ] {
            assert_eq!(free(text), want, "{text}");
        }
    }
}
