//! A text with positions: byte offsets to lines and columns.

/// Where something stands, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The line.
    pub line: u32,
    /// The column, in characters.
    pub column: u32,
}

/// A text, and where its lines begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    text: String,
    starts: Vec<usize>,
}

impl Text {
    /// Takes a text.
    #[must_use]
    pub fn new(text: String) -> Self {
        let mut starts = vec![0];
        starts.extend(text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(i, _)| i + 1));
        Self { text, starts }
    }

    /// All of it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Where a byte offset stands. An offset behind the end is the end.
    #[must_use]
    pub fn place(&self, offset: usize) -> Place {
        let offset = offset.min(self.text.len());
        let line = self.starts.partition_point(|start| *start <= offset).max(1);
        let start = self.starts.get(line - 1).copied().unwrap_or(0);
        let before = self.text.as_bytes().get(start..offset).unwrap_or_default();
        // Characters are counted by their first bytes, so an offset inside one is no error.
        let column = before.iter().filter(|byte| **byte & 0xc0 != 0x80).count() + 1;
        let clamp = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Place { line: clamp(line), column: clamp(column) }
    }

    /// The lines with the offset at which each begins; the line ends (`\n`, `\r\n`) are not part of
    /// them.
    pub fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.split_inclusive('\n').scan(0, |next, line| {
            let start = *next;
            *next += line.len();
            let line = line.strip_suffix('\n').unwrap_or(line);
            Some((start, line.strip_suffix('\r').unwrap_or(line)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn places_count_characters_from_one() {
        let text = Text::new("ab\nzürich=1\r\n\nend".to_owned());
        let place = |needle: &str| text.place(text.as_str().find(needle).unwrap());
        assert_eq!(place("ab"), Place { line: 1, column: 1 });
        assert_eq!(place("rich"), Place { line: 2, column: 3 });
        assert_eq!(place("end"), Place { line: 4, column: 1 });
        assert_eq!(text.place(usize::MAX), Place { line: 4, column: 4 });
        let lines: Vec<_> = text.lines().map(|(_, line)| line).collect();
        assert_eq!(lines, ["ab", "zürich=1", "", "end"]);
    }

    proptest! {
        #[test]
        fn lines_stand_where_they_say(text in "(?s).{0,200}") {
            let text = Text::new(text);
            for (index, (start, line)) in text.lines().enumerate() {
                prop_assert!(text.as_str()[start..].starts_with(line));
                prop_assert_eq!(text.place(start), Place { line: index as u32 + 1, column: 1 });
            }
        }
    }
}
