//! A bounded store of events: the first and the last of each kind, and how many were left out.

use super::Entry;
use super::event::Event;
use std::collections::{HashMap, VecDeque};

/// Events of one kind that are kept from the beginning, and from the end.
pub(super) const KEPT: usize = 64;
/// Events of lines with several whose order is kept.
const BESIDE: usize = 256;
/// Characters of a line that are kept as evidence.
const TEXT_LIMIT: usize = 400;

#[derive(Default)]
struct Kind {
    first: Vec<Entry>,
    last: VecDeque<Entry>,
    omitted: u64,
}

/// A line as it is kept.
pub(super) fn evidence(raw: &str) -> String {
    let raw = raw.trim();
    if raw.len() <= TEXT_LIMIT {
        return raw.to_owned();
    }
    match raw.char_indices().nth(TEXT_LIMIT) {
        Some((end, _)) => raw[..end].to_owned(),
        None => raw.to_owned(),
    }
}

/// The kept events of one boot.
#[derive(Default)]
pub(super) struct Store {
    kinds: HashMap<std::mem::Discriminant<Event>, Kind>,
    switched: bool,
    decided: bool,
    /// The events of lines that have several, in their order.
    beside: Vec<(u64, std::mem::Discriminant<Event>)>,
}

impl Store {
    pub(super) fn add(&mut self, line: u64, at: Option<f64>, raw: &str, event: Event) {
        self.switched |= matches!(event, Event::Switched(_));
        // The choice in the words of kernels before the clocksources.
        self.decided |= event.changes_clocksource() || event.time_source().is_some();
        // One such event suffices to show the architecture, the age of the processor, or the beginning of user space.
        if matches!(event, Event::Arch(_) | Event::UserSpace | Event::RecentProcessor)
            && self.kinds.contains_key(&event.kind())
        {
            return;
        }
        let kind = self.kinds.entry(event.kind()).or_default();
        let entry = Entry { line, at, text: evidence(raw), event };
        if kind.first.len() < KEPT {
            kind.first.push(entry);
            return;
        }
        kind.last.push_back(entry);
        if kind.last.len() > KEPT {
            kind.last.pop_front();
            kind.omitted += 1;
        }
    }

    /// Takes note of the order of the events of one line.
    pub(super) fn note(&mut self, line: u64, event: &Event) {
        if self.beside.len() < BESIDE {
            self.beside.push((line, event.kind()));
        }
    }

    /// Adds events of one kind that were not added when their lines came; `omitted` more of them are left out.
    pub(super) fn add_last(
        &mut self,
        kind: std::mem::Discriminant<Event>,
        entries: Vec<Entry>,
        omitted: u64,
    ) {
        let kind = self.kinds.entry(kind).or_default();
        kind.omitted += omitted;
        kind.last.extend(entries);
        kind.last.make_contiguous().sort_by_key(|entry| entry.line);
        while kind.last.len() > KEPT {
            kind.last.pop_front();
            kind.omitted += 1;
        }
    }

    /// The refined frequency of the TSC, in kHz.
    pub(super) fn refined(&self) -> Option<u64> {
        let entries = self.kinds.values().flat_map(|kind| kind.first.iter().chain(&kind.last));
        entries
            .filter_map(|entry| match entry.event {
                Event::Refined { khz } => Some(khz),
                _ => None,
            })
            .last()
    }

    pub(super) fn clear(&mut self) {
        self.kinds.clear();
        self.switched = false;
        self.decided = false;
        self.beside.clear();
    }

    /// Assumes that this boot has switched to a clocksource.
    pub(super) fn assume_switched(&mut self) {
        self.switched = true;
        self.decided = true;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    pub(super) fn has_switched(&self) -> bool {
        self.switched
    }

    /// Whether there is a line that no boot has before its banner: a choice, or a demotion.
    pub(super) fn has_decided(&self) -> bool {
        self.decided
    }

    /// Whether a message with this stamp is kept.
    pub(super) fn has_line(&self, at: f64, message: &str) -> bool {
        self.kinds.values().any(|kind| {
            kind.first
                .iter()
                .chain(&kind.last)
                .any(|entry| entry.at == Some(at) && entry.text.ends_with(message.trim()))
        })
    }

    /// All kept events in the order of their lines, and the number left out.
    pub(super) fn into_entries(self) -> (Vec<Entry>, u64) {
        let mut omitted = 0;
        let mut entries = Vec::new();
        for kind in self.kinds.into_values() {
            omitted += kind.omitted;
            entries.extend(kind.first);
            entries.extend(kind.last);
        }
        let place = |entry: &Entry| {
            let kind = (entry.line, entry.event.kind());
            self.beside.iter().position(|beside| *beside == kind)
        };
        entries.sort_by_key(|entry| (entry.line, place(entry)));
        (entries, omitted)
    }
}
