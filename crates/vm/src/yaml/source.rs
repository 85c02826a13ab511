//! A text of YAML that other readers accept, but this one does not: a quoted value that continues in the column of its
//! key, or left of it. YAML 1.2.2 (6.1, 7.3) requires more indentation; libyaml and go-yaml, which kubectl reads with,
//! ignore the column. The parsed text gets blanks before such a line, which are not a part of the value (6.5, line
//! folding), and places are those of the text without them.

use granit_parser::Parser;
use std::borrow::Cow;
use std::ops::Range;

/// The parser's error about such a line.
const COMPLAINT: &str = "invalid indentation in multiline quoted scalar";
/// The limit of such lines.
const MOST: usize = 64;
/// The limit of bytes that are read for them: each line requires another pass from the beginning of the text.
const MOST_READ: usize = 32 << 20;
/// More than the indentation of any key.
const BLANKS: &str = "                                                                ";

/// The text that is parsed.
pub(super) struct Source<'a> {
    pub(super) text: Cow<'a, str>,
    /// The places of inserted blanks, in the text with them.
    added: Vec<usize>,
}

/// Returns whether an error is about such a line.
pub(super) fn complains(what: &str) -> bool {
    what.contains(COMPLAINT)
}

impl<'a> Source<'a> {
    /// The text as it is.
    pub(super) fn strict(text: &'a str) -> Self {
        Self { text: Cow::Borrowed(text), added: Vec::new() }
    }

    /// Returns the text, with blanks if it can be read only with them.
    pub(super) fn of(text: &'a str) -> Self {
        Self::padded(text).unwrap_or_else(|| Self::strict(text))
    }

    /// The text with blanks; `None` if it cannot be read with them either.
    pub(super) fn padded(text: &'a str) -> Option<Self> {
        let mut source = Self::strict(text);
        for round in 0..=MOST {
            if round * text.len() > MOST_READ {
                return None;
            }
            let mut parser = Parser::new_from_str(&source.text);
            let error = loop {
                match parser.next_event() {
                    None => return Some(source),
                    Some(Ok(_)) => {}
                    Some(Err(error)) => break error,
                }
            };
            if !complains(&error.info().to_string()) {
                return None;
            }
            let line = error.marker().line().checked_sub(1)?;
            let start = source.text.split_inclusive('\n').take(line).map(str::len).sum();
            let rest = source.text.get(start..)?;
            // A document end mark counts even inside quotes.
            let known = source.added.last().is_some_and(|last| *last >= start);
            if known || rest.starts_with("---") || rest.starts_with("...") {
                return None;
            }
            source.text.to_mut().insert_str(start, BLANKS);
            source.added.push(start);
        }
        None
    }

    /// The same place in the text without blanks.
    fn place(&self, at: usize) -> usize {
        let before = self.added.partition_point(|start| *start < at);
        let added = self.added.get(..before).unwrap_or_default().iter();
        at - added.map(|start| (at - start).min(BLANKS.len())).sum::<usize>()
    }

    /// The same range in the text without blanks.
    pub(super) fn range(&self, range: Option<Range<usize>>) -> Range<usize> {
        let range = range.unwrap_or(0..0);
        match self.added.is_empty() {
            true => range,
            false => self.place(range.start)..self.place(range.end),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Node, parse, scalars, shared};

    const TEXT: &str =
        "a:\n  b: '[{\"x\": 1},\n  {\"y\": 2,\n\"z\": 3}]'\n  c: \"one\n  two\"\nd: &e [f]\n";

    #[test]
    fn quoted_value_goes_on_in_the_column_of_its_key() {
        let root = parse(TEXT).unwrap().remove(0);
        let of = |path: &[&str]| root.at(path).and_then(Node::scalar).unwrap();
        let (value, span) = of(&["a", "b"]);
        assert_eq!(value, "[{\"x\": 1}, {\"y\": 2, \"z\": 3}]");
        assert!(TEXT[span.clone()].starts_with("'[{") && TEXT[span.clone()].ends_with("}]'"));
        let (value, span) = of(&["a", "c"]);
        assert_eq!((value, &TEXT[span.clone()]), ("one two", "\"one\n  two\""));
        let Node::Scalar { span, .. } = &root.at(&["d"]).unwrap().items()[0] else { panic!() };
        assert_eq!(&TEXT[span.clone()], "f");
        let (found, end) = scalars(TEXT);
        assert_eq!((&TEXT[found[found.len() - 1].clone()], end), ("f", TEXT.len()));
        assert!(TEXT[shared(TEXT)[0].span.clone()].starts_with("[f"));
    }

    #[test]
    fn other_errors_stay_where_they_are() {
        for text in [
            "a: 'x\nb: y\n",
            "a: 'x\n---\nb: y'\n",
            "a: 'x\nb: y'\nc: [\n",
            "a:\n  b: 'x\n  y'\n c: 1\n",
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains("not valid YAML"), "{text}: {error}");
        }
        // As many lines as are read, and more.
        let many = |n: usize| format!("a: 'x\n{}y'\n", "y\n".repeat(n));
        assert!(parse(&many(40)).is_ok() && parse(&many(400)).is_err());
    }
}
