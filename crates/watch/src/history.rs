//! A bounded memory of events and costs, and the form in which events are kept in a file: JSON Lines.

use crate::event::{Event, Kind};
use std::collections::VecDeque;

/// Events in memory.
pub const EVENTS: usize = 500;
/// Samples of the cost in memory: a day, at one a minute.
pub const COSTS: usize = 1440;
/// Longest line of a history file that is read, in bytes.
pub(crate) const LINE: usize = 16 << 10;

/// One sample of the cost of CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Seconds since 1970.
    pub time: f64,
    /// Nanoseconds a read.
    pub ns: f32,
}

/// The newest events and costs.
#[derive(Clone, Debug, Default)]
pub struct History {
    events: VecDeque<Event>,
    costs: VecDeque<Sample>,
}

impl History {
    /// Adds an event; if there are too many, the oldest one of the most frequent kind is removed, so that a
    /// flood of one kind does not take the others with it.
    pub fn add(&mut self, event: Event) {
        if self.events.len() == EVENTS {
            let count = |kind| self.events.iter().filter(|event| event.kind == kind).count();
            let most = Kind::ALL.into_iter().max_by_key(|kind| count(*kind));
            let oldest = self.events.iter().position(|event| Some(event.kind) == most);
            self.events.remove(oldest.unwrap_or(0));
        }
        self.events.push_back(event);
    }

    /// Adds a sample.
    #[allow(clippy::cast_possible_truncation)]
    pub fn cost(&mut self, time: f64, ns: f64) {
        if self.costs.len() == COSTS {
            self.costs.pop_front();
        }
        self.costs.push_back(Sample { time, ns: ns as f32 });
    }

    /// Events, oldest first.
    pub fn events(&self) -> impl DoubleEndedIterator<Item = &Event> + ExactSizeIterator {
        self.events.iter()
    }

    /// Samples, oldest first.
    pub fn costs(&self) -> impl DoubleEndedIterator<Item = &Sample> + ExactSizeIterator {
        self.costs.iter()
    }

    /// Events from the text of a history file; a line that is not an event (cut off by a crash, or of a later version)
    /// is left out, and counted.
    pub fn load(&mut self, text: &str) -> usize {
        let mut strange = 0;
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            match (line.len() <= LINE).then(|| serde_json::from_str::<Event>(line)) {
                Some(Ok(event)) if event.time.is_finite() => self.add(event),
                _ => strange += 1,
            }
        }
        strange
    }

    /// All events as JSON Lines.
    #[must_use]
    pub fn json_lines(&self) -> String {
        self.events.iter().filter_map(line).collect()
    }
}

/// Returns an event as a line of the file; invisible characters are written as `\uXXXX`.
#[must_use]
pub fn line(event: &Event) -> Option<String> {
    let text = serde_json::to_string(event).ok()?;
    Some(clocksmith_facts::visible::json(&text).into_owned() + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::State;
    use proptest::prelude::*;

    #[test]
    fn memory_is_bounded_and_the_newest_stay() {
        let mut history = History::default();
        for i in 0..10_000 {
            history.add(Event::new(f64::from(i), Kind::Stall, State::Ok, "x"));
            history.cost(f64::from(i), 1.0);
        }
        assert_eq!((history.events().len(), history.costs().len()), (EVENTS, COSTS));
        assert_eq!(history.events().next_back().unwrap().time, 9_999.0);
        let mut again = History::default();
        assert_eq!(again.load(&history.json_lines()), 0);
        assert!(again.events().eq(history.events()));
    }

    #[test]
    fn a_line_that_was_cut_off_is_left_out() {
        let whole = line(&Event::new(1.0, Kind::Warp, State::Critical, "x")).unwrap();
        let mut history = History::default();
        let text = format!("{whole}{}\n\n{whole}", &whole[..whole.len() / 2]);
        assert_eq!(history.load(&text), 1);
        assert_eq!(history.events().len(), 2);
    }

    #[test]
    fn line_writes_what_hides_by_its_number() {
        let event = Event::new(1.0, Kind::Warp, State::Critical, "a\u{202e}b");
        let text = line(&event).unwrap();
        assert!(text.contains("a\\u202eb"), "{text}");
        let mut history = History::default();
        assert_eq!(history.load(&text), 0);
        assert!(history.events().eq([&event]));
    }

    #[test]
    fn add_flood_of_one_kind_leaves_the_others() {
        let mut history = History::default();
        for i in 0..20 {
            history.add(Event::new(f64::from(i), Kind::ClocksourceChange, State::Warning, "x"));
        }
        for i in 0..10_000 {
            history.add(Event::new(f64::from(i), Kind::Stall, State::Warning, "x"));
        }
        let changes = history.events().filter(|event| event.kind == Kind::ClocksourceChange);
        assert_eq!(changes.count(), 20);
        assert_eq!(history.events().len(), EVENTS);
    }

    proptest! {
        #[test]
        fn any_file(text in any::<String>()) {
            History::default().load(&text);
        }
    }
}
