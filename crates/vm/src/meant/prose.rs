//! The prose of a file: its comments, and the names and descriptions of its machines.

use crate::certain::is_shell;
use crate::comments;
use crate::document::Document;
use crate::formats::Kind;
use crate::words::listed;
use std::ops::Range;

/// The kind of a piece of prose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spoken {
    Comment,
    /// A name or a title of the machine, or a description in a few words.
    Name,
    /// A description of the machine in sentences.
    Description,
}

/// The prose of a file, with its places.
pub(super) struct Prose<'a> {
    text: &'a str,
    pub(super) all: Vec<(Range<usize>, Spoken)>,
}

/// Keys of settings with a name or a description, in lower case.
const KEYS: &str = "name title description comment _comment annotation displayname display_name vm_name vmname notes \
    note summary label labels hostname domain_name domain_title";

/// Elements with a name or a description.
const ELEMENTS: [&str; 5] = ["name", "title", "description", "annotation", "note"];

/// Options with a name or a description, without their dashes.
const OPTIONS: &str = "name title description comment metadata";

impl<'a> Prose<'a> {
    pub(super) fn of(document: &'a Document) -> Self {
        let text = document.text.as_str();
        let mut prose = Self { text, all: Vec::new() };
        let mut last: Option<Range<usize>> = None;
        for span in comments::of(document) {
            // Lines of one comment belong together.
            match &mut last {
                Some(block)
                    if text.get(block.end..span.start).is_some_and(|between| {
                        between.trim().is_empty() && between.matches('\n').count() < 2
                    }) =>
                {
                    block.end = span.end;
                }
                _ => {
                    prose.all.extend(last.take().map(|block| (block, Spoken::Comment)));
                    last = Some(span);
                }
            }
        }
        prose.all.extend(last.map(|block| (block, Spoken::Comment)));
        let begins = text.trim_start_matches('\u{feff}').trim_start();
        if begins.starts_with('<') {
            prose.elements();
        } else {
            prose.lines(document);
            prose.options();
        }
        prose
    }

    fn name(&mut self, span: Range<usize>) {
        self.all.push((span, Spoken::Name));
    }

    /// `<name>...</name>`, and `name="..."` of a VirtualBox machine.
    fn elements(&mut self) {
        let text = self.text;
        let lower = text.to_ascii_lowercase();
        for element in ELEMENTS {
            let (open, close) = (format!("<{element}>"), format!("</{element}>"));
            for (at, _) in lower.match_indices(&open) {
                let start = at + open.len();
                let end = lower.get(start..).and_then(|rest| rest.find(&close));
                let spoken = match element {
                    "name" | "title" => Spoken::Name,
                    _ => Spoken::Description,
                };
                self.all.extend(end.map(|end| (start..start + end, spoken)));
            }
        }
        for (at, _) in text.match_indices("<metadata>") {
            let whole = text.get(at..).and_then(|rest| rest.find("</metadata>"));
            self.metadata(at + "<metadata>".len()..whole.map_or(text.len(), |length| at + length));
        }
        for (at, _) in text.match_indices("<Machine ") {
            let end = text.get(at..).and_then(|rest| rest.find('>')).map_or(text.len(), |n| at + n);
            let name = text.get(at..end).and_then(|open| open.find(" name=\""));
            if let Some(start) = name.map(|n| at + n + " name=\"".len()) {
                let length = text.get(start..end).and_then(|it| it.find('"')).unwrap_or(0);
                self.name(start..start + length);
            }
        }
    }

    /// Adds texts of elements, and of attributes with more than one word: of libvirt's `<metadata>`, where programs and
    /// users write free text.
    fn metadata(&mut self, whole: Range<usize>) {
        let text = self.text.get(whole.clone()).unwrap_or_default();
        let pieces = text.split(['<', '>', '"', '\'']).filter(|piece| {
            let piece = piece.trim().trim_start_matches("![CDATA[");
            piece.contains(char::is_whitespace) && !piece.ends_with('=')
        });
        for piece in pieces {
            let at = whole.start + crate::text::offset(text, piece);
            self.all.push((at..at + piece.len(), Spoken::Description));
        }
    }

    /// Lines `key: value` and `key = value`; of Proxmox VE also the description, which looks like comments.
    fn lines(&mut self, document: &Document) {
        let shell = is_shell(document);
        let mut at = 0;
        for whole in self.text.split_inclusive('\n') {
            let start = at;
            at += whole.len();
            let line = whole.trim_end();
            if document.kind == Kind::Proxmox && line.starts_with('#') {
                self.all.push((start..start + line.len(), Spoken::Description));
                continue;
            }
            let Some(sign) = line.find([':', '=']) else { continue };
            let (key, value) = line.split_at(sign);
            let key =
                key.trim().trim_start_matches(['-', '{', '(', ' ']).trim_start_matches("export ");
            let key = key.trim_matches(['"', '\'']);
            // A command with options is not a key, except for the text before it.
            if key.contains(' ') {
                continue;
            }
            let key = key.rsplit(['.', '_']).next().unwrap_or(key).to_ascii_lowercase();
            let value = value.trim_start_matches(|c: char| c.is_whitespace() || ":=>".contains(c));
            let value = match value.chars().next() {
                Some(quote @ ('"' | '\'')) => value.split(quote).nth(1).unwrap_or_default(),
                _ if shell => value.split_ascii_whitespace().next().unwrap_or_default(),
                _ => value.trim_end_matches([',', ';']),
            };
            let words = value.contains(|c: char| c.is_whitespace() || c == '-' || c == '_');
            if listed(KEYS, &key)
                && words
                && !is_plain(value)
                && !value.starts_with(['[', '{', '<'])
            {
                let from = crate::text::offset(self.text, value);
                self.name(from..from + value.len());
            }
        }
    }

    /// Finds `-name NAME` and similar options, up to the next option.
    fn options(&mut self) {
        let text = self.text;
        for option in OPTIONS.split(' ') {
            for (at, _) in text.match_indices(option) {
                let front = text.get(..at).unwrap_or_default();
                let dashes = front.strip_suffix("--").or_else(|| front.strip_suffix('-'));
                let begins = |c: char| c.is_whitespace() || "\"'(=`,[".contains(c);
                let start = at + option.len();
                let rest = text.get(start..).unwrap_or_default();
                if !dashes.is_some_and(|before| before.is_empty() || before.ends_with(begins))
                    || !rest.starts_with(|c: char| c.is_whitespace() || "\"'=,".contains(c))
                {
                    continue;
                }
                let ends = rest.find('\n').unwrap_or(rest.len());
                let line = rest.get(..ends).unwrap_or_default();
                let end = [" -", "\"-", "'-"].iter().filter_map(|next| line.find(next)).min();
                let value = line.get(..end.unwrap_or(line.len())).unwrap_or_default();
                if !is_plain(value) {
                    self.name(start..start + value.len());
                }
            }
        }
    }
}

/// Returns whether a name is that of a clock or of a feature, and not of a machine.
fn is_plain(value: &str) -> bool {
    let value = value.trim_matches(|c: char| c.is_whitespace() || "\"'=,\\".contains(c));
    listed("kvmclock kvm-clock hpet hypervclock tsc-deadline", value)
}
