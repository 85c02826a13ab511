//! An XML text as a tree whose every part knows where it stands. Templates and fragments are taken as
//! they are.

use crate::lint::LintError;
use crate::placed::UNKNOWN;
use crate::text::Text;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use std::ops::Range;

/// Deeper nesting is no configuration.
const DEEPEST: usize = 200;

/// An attribute.
#[derive(Clone, Debug)]
pub(crate) struct Attribute {
    /// With its prefix.
    pub(crate) name: String,
    /// Without entities; holds [`UNKNOWN`] where a template stands.
    pub(crate) value: String,
    /// The value's bytes, between the quotes.
    pub(crate) value_span: Range<usize>,
    /// From the blank in front of it to its closing quote.
    pub(crate) whole: Range<usize>,
}

/// An element.
#[derive(Clone, Debug)]
pub(crate) struct Element {
    /// With its prefix.
    pub(crate) name: String,
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) children: Vec<usize>,
    pub(crate) parent: Option<usize>,
    /// The opening tag.
    pub(crate) open: Range<usize>,
    /// All of it.
    pub(crate) whole: Range<usize>,
    /// Whether it is closed in its opening tag.
    pub(crate) empty: bool,
    /// Where its closing tag begins.
    pub(crate) inner_end: usize,
    /// The text directly in it.
    pub(crate) text: String,
}

impl Element {
    /// The name without a prefix.
    pub(crate) fn local(&self) -> &str {
        self.name.rsplit(':').next().unwrap_or(&self.name)
    }

    /// An attribute.
    pub(crate) fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|attribute| attribute.name == name)
    }

    /// The value of an attribute.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.attribute(name).map(|attribute| attribute.value.as_str())
    }
}

/// The tree.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tree {
    pub(crate) elements: Vec<Element>,
    pub(crate) roots: Vec<usize>,
    /// Whether it holds templates, or lacks parts.
    pub(crate) template: bool,
    /// `'` or `"`, whichever the text uses.
    pub(crate) quote: char,
}

impl Tree {
    pub(crate) fn get(&self, index: usize) -> Option<&Element> {
        self.elements.get(index)
    }

    /// The children of an element that have this name.
    pub(crate) fn children<'a>(
        &'a self,
        of: &'a Element,
        name: &'a str,
    ) -> impl Iterator<Item = &'a Element> {
        of.children
            .iter()
            .filter_map(|child| self.get(*child))
            .filter(move |child| child.local() == name)
    }

    /// All elements of this name.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Element> {
        self.elements.iter().filter(move |element| element.local() == name)
    }

    /// Whether an element of this name stands above.
    pub(crate) fn below(&self, element: &Element, name: &str) -> bool {
        let mut parent = element.parent;
        while let Some(index) = parent {
            let Some(above) = self.get(index) else {
                return false;
            };
            if above.local() == name {
                return true;
            }
            parent = above.parent;
        }
        false
    }

    /// Reads a text from `from` on. What stands behind the last root is not looked at.
    pub(crate) fn parse(text: &Text, from: usize) -> Result<Self, LintError> {
        let (masked, holes) = mask(text.as_str());
        let source = masked.get(from..).unwrap_or_default();
        let mut reader = Reader::from_str(source);
        reader.config_mut().check_end_names = false;
        reader.config_mut().allow_unmatched_ends = true;
        reader.config_mut().allow_dangling_amp = true;
        let mut tree = Self { template: !holes.is_empty(), quote: '\'', ..Self::default() };
        let mut stack: Vec<usize> = Vec::new();
        let mut quotes = (0usize, 0usize);
        let fail = |at: usize, what: String| {
            let place = text.place(at);
            LintError::Syntax { line: place.line, column: place.column, what }
        };
        loop {
            let start = from + position(&reader);
            let event = reader.read_event();
            let end = from + position(&reader);
            match event {
                Ok(Event::Start(tag)) => {
                    if stack.len() >= DEEPEST {
                        return Err(fail(
                            start,
                            format!("more than {DEEPEST} elements within each other"),
                        ));
                    }
                    let index = tree.add(
                        &tag,
                        source,
                        from,
                        start..end,
                        false,
                        &stack,
                        &holes,
                        &mut quotes,
                    );
                    stack.push(index);
                }
                Ok(Event::Empty(tag)) => {
                    tree.add(&tag, source, from, start..end, true, &stack, &holes, &mut quotes);
                }
                Ok(Event::End(tag)) => {
                    let name = tag.name().as_ref().to_owned();
                    let open = stack.iter().rposition(|index| {
                        tree.get(*index).is_some_and(|element| element.name == name)
                    });
                    match open {
                        Some(at) if at + 1 == stack.len() || tree.template => {
                            for index in stack.drain(at..) {
                                if let Some(element) = tree.elements.get_mut(index) {
                                    element.inner_end = start;
                                    element.whole.end = end;
                                }
                            }
                        }
                        _ if tree.template => {}
                        // Behind a fragment.
                        None if stack.is_empty() => break,
                        _ => {
                            let last = stack.last().and_then(|index| tree.get(*index));
                            let open = last.map_or_else(String::new, |e| {
                                format!(
                                    " <{}> of line {} is still open",
                                    e.name,
                                    text.place(e.open.start).line
                                )
                            });
                            return Err(fail(
                                start,
                                format!("</{name}> closes nothing here;{open}"),
                            ));
                        }
                    }
                }
                Ok(Event::Text(bytes)) => {
                    if let Some(element) =
                        stack.last().and_then(|index| tree.elements.get_mut(*index))
                    {
                        element.text.push_str(bytes.trim());
                    }
                }
                Ok(Event::Eof) => break,
                Ok(_) => {}
                // Behind what was read, there may be anything: a script, words.
                Err(_) if stack.is_empty() && !tree.roots.is_empty() => break,
                Err(_) if tree.template => break,
                Err(error) => return Err(fail(start, format!("no valid XML: {error}"))),
            }
        }
        if let Some(index) = stack.last().copied() {
            if !tree.template {
                let (name, at) = tree
                    .get(index)
                    .map_or(("", 0), |element| (element.name.as_str(), element.open.start));
                return Err(fail(at, format!("<{name}> is never closed; the file may be cut off")));
            }
            let end = text.as_str().len();
            for index in stack {
                if let Some(element) = tree.elements.get_mut(index) {
                    element.inner_end = end;
                    element.whole.end = end;
                }
            }
        }
        tree.quote = if quotes.1 > quotes.0 { '"' } else { '\'' };
        Ok(tree)
    }

    #[allow(clippy::too_many_arguments)]
    fn add(
        &mut self,
        tag: &BytesStart<'_>,
        source: &str,
        from: usize,
        open: Range<usize>,
        empty: bool,
        stack: &[usize],
        holes: &[Range<usize>],
        quotes: &mut (usize, usize),
    ) -> usize {
        // Where the `<` is: text in front of a tag is an event of its own.
        let mut attributes = Vec::new();
        for attribute in tag.attributes().with_checks(false).flatten() {
            let raw: &str = &attribute.value;
            let value_start = from + offset(source, raw);
            let key_start = from + offset(source, attribute.key.as_ref());
            let value_span = value_start..value_start + raw.len();
            if !open.contains(&value_start.saturating_sub(1)) || !open.contains(&key_start) {
                continue;
            }
            match source.as_bytes().get(value_span.end - from) {
                Some(b'"') => quotes.1 += 1,
                _ => quotes.0 += 1,
            }
            let mut value = quick_xml::escape::unescape(raw)
                .map_or_else(|_| raw.to_owned(), |v| v.into_owned());
            let inside =
                |hole: &Range<usize>| hole.start < value_span.end && value_span.start < hole.end;
            if holes.iter().any(inside) || placeholder(&value) {
                value.push(UNKNOWN);
                self.template = true;
            }
            let before = source.get(..key_start - from).unwrap_or_default();
            let blank = before.len() - before.trim_end_matches([' ', '\t', '\n', '\r']).len();
            attributes.push(Attribute {
                name: attribute.key.as_ref().to_owned(),
                value,
                whole: key_start - blank..value_span.end + 1,
                value_span,
            });
        }
        let index = self.elements.len();
        let parent = stack.last().copied();
        self.elements.push(Element {
            name: tag.name().as_ref().to_owned(),
            attributes,
            children: Vec::new(),
            parent,
            whole: open.clone(),
            inner_end: open.end,
            open,
            empty,
            text: String::new(),
        });
        match parent.and_then(|parent| self.elements.get_mut(parent)) {
            Some(parent) => parent.children.push(index),
            None => self.roots.push(index),
        }
        index
    }
}

fn position(reader: &Reader<&[u8]>) -> usize {
    usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX)
}

/// Where a borrowed piece stands in the text that it was borrowed from.
fn offset(source: &str, piece: &str) -> usize {
    (piece.as_ptr() as usize).saturating_sub(source.as_ptr() as usize).min(source.len())
}

/// Placeholders that are XML as well: `{{ x }}`, `${X}`, `$X`, `%s`, `@X@`, `%(x)s`.
fn placeholder(value: &str) -> bool {
    let wrapped = |open: &str, close: &str| {
        value.find(open).is_some_and(|at| value.get(at..).is_some_and(|rest| rest.contains(close)))
    };
    wrapped("{{", "}}")
        || wrapped("${", "}")
        || wrapped("%(", ")")
        || matches!(value, "%s" | "%d" | "%u" | "%v")
        || (value.len() > 2 && value.starts_with('@') && value.ends_with('@'))
        || (value.len() > 1 && value.starts_with('$'))
}

/// The text with templates blanked out, byte for byte as long, and where they stood.
fn mask(text: &str) -> (String, Vec<Range<usize>>) {
    let mut bytes = text.as_bytes().to_vec();
    let mut holes = Vec::new();
    for (open, close) in [("<%", "%>"), ("{%", "%}"), ("{{", "}}"), ("{#", "#}"), ("<?=", "?>")] {
        let mut at = 0;
        while let Some(found) = text.get(at..).and_then(|rest| rest.find(open)) {
            let start = at + found;
            let Some(length) = text.get(start + open.len()..).and_then(|rest| rest.find(close))
            else {
                break;
            };
            let end = start + open.len() + length + close.len();
            for byte in bytes.get_mut(start..end).unwrap_or_default() {
                if !matches!(*byte, b'\n' | b'\r') {
                    *byte = b' ';
                }
            }
            holes.push(start..end);
            at = end;
        }
    }
    // Only whole pieces were blanked out, so it is a string still.
    (String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned()), holes)
}
