//! An XML text as a tree in which every part has its place: the only reader of XML here. Read leniently, templates and
//! fragments are accepted as they are; read strictly, the text must be one element.

use crate::lint::LintError;
use crate::placed::UNKNOWN;
use crate::template::is_placeholder;
use crate::text::{Text, offset};
use quick_xml::Reader;
use quick_xml::events::{BytesRef, BytesStart, Event};
use std::borrow::Cow;
use std::ops::Range;

mod whole;

pub(crate) use whole::well_formed;

/// The limit of nesting; a configuration is not deeper. VirtualBox accepts 250 nested snapshots, with two elements for
/// each (`SETTINGS_SNAPSHOT_DEPTH_MAX`).
const DEEPEST: usize = 600;

/// An attribute.
#[derive(Clone, Debug)]
pub(crate) struct Attribute {
    /// With its prefix.
    pub(crate) name: String,
    /// Without entities; has [`UNKNOWN`] in place of a template.
    pub(crate) value: String,
    /// The value's bytes, between the quotes.
    pub(crate) value_span: Range<usize>,
    /// From the blank before it to its closing quote.
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
    /// The start of its closing tag.
    pub(crate) inner_end: usize,
    text: String,
}

impl Element {
    /// The name without a prefix.
    pub(crate) fn local(&self) -> &str {
        self.name.rsplit(':').next().unwrap_or(&self.name)
    }

    /// The text directly in it, without the blanks around it.
    pub(crate) fn text(&self) -> &str {
        self.text.trim()
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
    /// Whether it has templates, or lacks parts.
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

    /// Returns all elements inside an element, at any depth.
    pub(crate) fn within(&self, element: &Element) -> &[Element] {
        // In the order of the text.
        let place = |at: usize| self.elements.partition_point(|e| e.open.start < at);
        let range = place(element.open.end)..place(element.whole.end);
        self.elements.get(range).unwrap_or_default()
    }

    /// Removes the names of elements in any namespace other than `own`, because other programs define what they mean.
    /// Elements keep their names if their prefix is undeclared, if they are in the root's default namespace, or if they
    /// are in `<metadata>`.
    pub(crate) fn forget_foreign(&mut self, own: &str) {
        let foreign = |element: &Element| {
            if self.below(element, "metadata") {
                return false;
            }
            let prefix = element.name.split_once(':').map(|(prefix, _)| prefix);
            let wanted = prefix.map_or("xmlns".to_owned(), |prefix| format!("xmlns:{prefix}"));
            let mut at = Some(element);
            while let Some(one) = at {
                if let Some(space) = one.value(&wanted) {
                    let default_of_root = prefix.is_none() && one.parent.is_none();
                    return !default_of_root && !space.is_empty() && !space.starts_with(own);
                }
                at = one.parent.and_then(|parent| self.get(parent));
            }
            false
        };
        let all: Vec<bool> = self.elements.iter().map(foreign).collect();
        for (element, _) in self.elements.iter_mut().zip(all).filter(|(_, foreign)| *foreign) {
            element.name.clear();
        }
    }

    /// Returns whether an ancestor has this name.
    pub(crate) fn below(&self, element: &Element, name: &str) -> bool {
        let parent = |index: &usize| self.get(*index)?.parent;
        let mut above = std::iter::successors(element.parent, parent);
        above.any(|index| self.get(index).is_some_and(|element| element.local() == name))
    }

    /// Reads a text from `from` on. Text after the last root is ignored.
    pub(crate) fn parse(text: &Text, from: usize) -> Result<Self, LintError> {
        Self::read(text, from, false)
    }

    /// Reads a text that is one element, without templates. Text after it is ignored.
    pub(crate) fn strict(text: &Text) -> Result<Self, LintError> {
        let tree = Self::read(text, 0, true)?;
        if tree.roots.is_empty() {
            return Err(LintError::whole("not valid XML: there is no element"));
        }
        Ok(tree)
    }

    fn read(text: &Text, from: usize, strict: bool) -> Result<Self, LintError> {
        let (masked, holes) =
            if strict { (Cow::Borrowed(text.as_str()), Vec::new()) } else { mask(text.as_str()) };
        let source = masked.get(from..).unwrap_or_default();
        let known = if strict { None } else { Some(holes.as_slice()) };
        let mut reader = Reader::from_str(source);
        reader.config_mut().check_end_names = false;
        reader.config_mut().allow_unmatched_ends = true;
        reader.config_mut().allow_dangling_amp = !strict;
        let mut tree = Self { template: !holes.is_empty(), quote: '\'', ..Self::default() };
        let mut stack: Vec<usize> = Vec::new();
        let mut quotes = (0usize, 0usize);
        let fail = |at: usize, what: String| LintError::within(text, at, what);
        loop {
            let start = from + position(&reader);
            let event = reader.read_event();
            let end = from + position(&reader);
            match event {
                Ok(Event::Start(tag)) => {
                    if stack.len() >= DEEPEST {
                        return Err(fail(start, format!("more than {DEEPEST} nested elements")));
                    }
                    let index =
                        tree.add(&tag, source, from, start..end, false, &stack, known, &mut quotes);
                    stack.push(index);
                }
                Ok(Event::Empty(tag)) => {
                    tree.add(&tag, source, from, start..end, true, &stack, known, &mut quotes);
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
                            if strict && stack.is_empty() {
                                break;
                            }
                        }
                        _ if tree.template => {}
                        // After a fragment.
                        None if stack.is_empty() => break,
                        _ => {
                            let last = stack.last().and_then(|index| tree.get(*index));
                            let open = last.map_or_else(String::new, |e| {
                                let line = text.place(e.open.start).line;
                                format!("; the element of line {line} is still open")
                            });
                            return Err(fail(
                                start,
                                format!("a closing tag that closes nothing here{open}"),
                            ));
                        }
                    }
                }
                Ok(Event::Text(bytes)) => tree.say(&stack, &bytes),
                Ok(Event::CData(bytes)) => tree.say(&stack, &bytes),
                Ok(Event::GeneralRef(name)) => match resolve(&name) {
                    Some(meant) => tree.say(&stack, &meant),
                    None if strict => {
                        let what = "not valid XML: an entity that does not exist";
                        return Err(fail(start, what.to_owned()));
                    }
                    None => {}
                },
                Ok(Event::Eof) => break,
                Ok(_) => {}
                // After the part that was read there may be anything: a script, prose.
                Err(_) if stack.is_empty() && !tree.roots.is_empty() => break,
                Err(_) if tree.template => break,
                Err(error) => return Err(fail(start, format!("not valid XML: {}", kind(&error)))),
            }
        }
        if let Some(index) = stack.last().copied() {
            let first = stack.first().copied().unwrap_or_default();
            let embedded =
                !text.as_str().trim_start_matches('\u{feff}').trim_start().starts_with('<');
            let only_opened = stack.len() == tree.elements.len() - first;
            if embedded && !strict && first > 0 && only_opened {
                // A word in angle brackets, after the XML in another text.
                tree.elements.truncate(first);
                tree.roots.retain(|root| *root < first);
                stack.clear();
            } else if !tree.template {
                let at = tree.get(index).map_or(0, |element| element.open.start);
                let what = "an element that is never closed; the file may be cut off";
                return Err(fail(at, what.to_owned()));
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

    /// Adds a text to the innermost element.
    fn say(&mut self, stack: &[usize], text: &str) {
        if let Some(element) = stack.last().and_then(|index| self.elements.get_mut(*index)) {
            element.text.push_str(text);
        }
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
        holes: Option<&[Range<usize>]>,
        quotes: &mut (usize, usize),
    ) -> usize {
        // The place of the `<`: text before a tag is a separate event.
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
            if let Some(holes) = holes {
                // They are in order, and do not overlap.
                let next = holes.partition_point(|hole| hole.end <= value_span.start);
                let inside = holes.get(next).is_some_and(|hole| hole.start < value_span.end);
                if inside || is_placeholder(&value) {
                    value.push(UNKNOWN);
                    self.template = true;
                }
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

/// The name of the first element of a text that begins as XML, and its place.
pub(crate) fn root(text: &str) -> Option<(usize, &str)> {
    let mut at = 0;
    loop {
        let rest = text.get(at..)?;
        let trimmed = rest.trim_start_matches('\u{feff}').trim_start();
        at += rest.len() - trimmed.len();
        let ends = [("<!--", "-->"), ("<?", "?>"), ("<!", ">")];
        if let Some((_, end)) = ends.iter().find(|(begin, _)| trimmed.starts_with(begin)) {
            at += trimmed.find(end)? + end.len();
            continue;
        }
        let name = trimmed.strip_prefix('<')?;
        let stop = |c: char| !(c.is_alphanumeric() || "_:.-".contains(c));
        let name = name.get(..name.find(stop).unwrap_or(name.len()))?;
        return (!name.is_empty()).then_some((at, name));
    }
}

/// Returns where elements of a name begin in any text; the name begins with `<`.
pub(crate) fn tags<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = usize> + 'a {
    text.match_indices(name).map(|(at, _)| at).filter(move |at| {
        let next = text.as_bytes().get(at + name.len());
        next.is_none_or(|b| b.is_ascii_whitespace() || matches!(b, b'>' | b'/'))
    })
}

/// Describes the error in a text, without any part of the text: the program may have more permissions than the user who
/// named the file, and a message must not disclose its content.
fn kind(error: &quick_xml::Error) -> String {
    use quick_xml::Error;
    use quick_xml::errors::IllFormedError;
    match error {
        Error::IllFormed(
            IllFormedError::MissingEndTag(_)
            | IllFormedError::UnmatchedEndTag(_)
            | IllFormedError::MismatchedEndTag { .. },
        ) => {
            "a closing tag that is missing, or is not that of the element which is open".to_owned()
        }
        Error::IllFormed(IllFormedError::MissingDeclVersion(_)) => {
            "a declaration `<?xml ... ?>` without a version".to_owned()
        }
        Error::Escape(_) => "a reference that stands for nothing".to_owned(),
        Error::InvalidAttr(_) => {
            "an attribute that is not of the form name=\"value\", or occurs twice".to_owned()
        }
        Error::Encoding(_) => "bytes that are not in its encoding".to_owned(),
        Error::Namespace(_) => "a prefix of a namespace that XML does not have".to_owned(),
        // These do not quote the text.
        Error::Io(_) | Error::Syntax(_) | Error::IllFormed(_) => error.to_string(),
    }
}

fn position(reader: &Reader<&[u8]>) -> usize {
    usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX)
}

/// Returns the text of a reference: a character's number, or one of the five names that XML predefines.
fn resolve(name: &BytesRef<'_>) -> Option<String> {
    match name.resolve_char_ref() {
        Ok(Some(c)) => Some(c.to_string()),
        _ => quick_xml::escape::resolve_predefined_entity(name).map(str::to_owned),
    }
}

/// Returns whether a processing instruction was written by a person for readers.
fn is_remark(instruction: &str) -> bool {
    let name = instruction.trim_start_matches("<?").trim_end_matches("?>");
    let (name, words) = name.split_once(char::is_whitespace).unwrap_or((name, ""));
    let other = ["php", "="].iter().any(|it| name.starts_with(it)) || name.starts_with("xml");
    !other && !words.trim().is_empty()
}

/// Finds the comments, and the processing instructions that count as comments, from `from` on: in all of the text, or
/// up to the end of the first element if `from` is not 0. The search ends where the text is no longer XML.
pub(crate) fn comments(text: &str, from: usize) -> Vec<Range<usize>> {
    let (masked, _) = mask(text);
    let mut reader = Reader::from_str(masked.get(from..).unwrap_or_default());
    reader.config_mut().check_end_names = false;
    reader.config_mut().allow_unmatched_ends = true;
    reader.config_mut().allow_dangling_amp = true;
    let mut all = Vec::new();
    let mut depth = 0usize;
    loop {
        let start = from + position(&reader);
        let event = reader.read_event();
        let end = from + position(&reader);
        match event {
            Ok(Event::Comment(_)) => all.push(start..end),
            // A processing instruction for a program that is not started here is also a comment.
            Ok(Event::PI(_)) if is_remark(text.get(start..end).unwrap_or_default()) => {
                all.push(start..end);
            }
            Ok(Event::Start(_)) => depth += 1,
            Ok(Event::End(_)) => {
                depth = depth.saturating_sub(1);
                if depth == 0 && from > 0 {
                    return all;
                }
            }
            Ok(Event::Empty(_)) if depth == 0 && from > 0 => return all,
            Ok(Event::Eof) | Err(_) => return all,
            Ok(_) => {}
        }
    }
}

/// Returns the text with templates blanked out, with the same length in bytes, and the places of the templates: in
/// order, with overlapping ones joined.
fn mask(text: &str) -> (Cow<'_, str>, Vec<Range<usize>>) {
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
    holes.sort_by_key(|hole| hole.start);
    holes.dedup_by(|next, last| {
        let overlaps = next.start < last.end;
        if overlaps {
            last.end = last.end.max(next.end);
        }
        overlaps
    });
    // Only whole characters were blanked out, so it is still a string.
    (String::from_utf8(bytes).map_or(Cow::Borrowed(text), Cow::Owned), holes)
}
