//! What a file says in words: its comments, and the names and descriptions of its machines.

use crate::comments;
use crate::document::Document;
use crate::formats::Kind;
use crate::words::listed;
use std::ops::Range;

/// What words are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spoken {
    Comment,
    /// A name, a title or a description of the machine.
    Name,
}

/// The words of a file, and where they are.
pub(super) struct Prose<'a> {
    text: &'a str,
    pub(super) all: Vec<(Range<usize>, Spoken)>,
}

/// Keys of settings with a name or a description, in lower case.
const KEYS: &str = "name title description comment _comment annotation displayname display_name vm_name vmname notes \
    note summary label labels hostname guest domain_name domain_title";

/// Elements with one.
const ELEMENTS: [&str; 5] = ["name", "title", "description", "annotation", "note"];

/// Options with one, without their dashes.
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

    /// `<name>...</name>`, and `name="..."` of a machine of VirtualBox.
    fn elements(&mut self) {
        let text = self.text;
        let lower = text.to_ascii_lowercase();
        for element in ELEMENTS {
            let (open, close) = (format!("<{element}>"), format!("</{element}>"));
            for (at, _) in lower.match_indices(&open) {
                let start = at + open.len();
                let end = lower.get(start..).and_then(|rest| rest.find(&close));
                self.all.extend(end.map(|end| (start..start + end, Spoken::Name)));
            }
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

    /// Lines `key: value` and `key = value`; of Proxmox VE also the description, which looks like comments.
    fn lines(&mut self, document: &Document) {
        let mut at = 0;
        for whole in self.text.split_inclusive('\n') {
            let start = at;
            at += whole.len();
            let line = whole.trim_end();
            if document.kind == Kind::Proxmox && line.starts_with('#') {
                self.name(start..start + line.len());
                continue;
            }
            let Some(sign) = line.find([':', '=']) else { continue };
            let (key, value) = line.split_at(sign);
            let key = key.trim().trim_start_matches(['-', '{', '(', ' ']).trim_matches(['"', '\'']);
            let key = key.rsplit(['.', ' ', '_']).next().unwrap_or(key).to_ascii_lowercase();
            let value = value.trim_matches(|c: char| c.is_whitespace() || ":=\"',;|>".contains(c));
            // The name of a clock or of a feature is none of a machine.
            let words = value.contains(|c: char| c.is_whitespace() || c == '-' || c == '_');
            let plain = listed("kvmclock kvm-clock hpet hypervclock tsc-deadline", value);
            if listed(KEYS, &key) && words && !plain && !value.starts_with(['[', '{', '<']) {
                let from = crate::text::offset(self.text, value);
                self.name(from..from + value.len());
            }
        }
    }

    /// `-name NAME` and its like.
    fn options(&mut self) {
        let ends = |c: char| c.is_ascii_whitespace() || "\"'`()[]{};|&<>\\,".contains(c);
        let mut start = 0;
        let mut named = false;
        for word in self.text.split(ends) {
            let at = start;
            start += word.len() + 1;
            if word.is_empty() {
                continue;
            }
            if named && !word.starts_with('-') {
                let plain = listed("kvmclock kvm-clock hpet hypervclock tsc-deadline", word);
                if !plain {
                    self.name(at..at + word.len());
                }
            }
            let option = word.trim_start_matches('-');
            named = word.starts_with('-') && listed(OPTIONS, option);
        }
    }
}
