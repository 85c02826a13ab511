//! Counts made while documents are read: used ones, bad ones with the first few reasons, impossible dates, and which
//! report of a host is used.

use crate::newest::{Moment, Newest, Served};
use crate::report::{Input, Reject};
use crate::row::Rows;
use clocksmith_facts::visible;

pub use crate::newest::NAMED;

/// By how much the clock of a host may be ahead of that of the reader.
const AHEAD: Moment = 86_400;

/// The counts.
#[derive(Debug)]
pub struct Intake {
    newest: Newest,
    input: Input,
    now: Moment,
    /// The date of reports without one.
    date: Option<String>,
}

impl Intake {
    /// Reading begins at `now`; `date` is that of reports without one, if the caller defines it.
    #[must_use]
    pub fn new(now: Moment, date: Option<String>) -> Self {
        Self { newest: Newest::default(), input: Input::default(), now, date }
    }

    /// Counts a document that gave rows. A date in the future comes from a wrong clock, so the report gets none.
    /// Returns `None` after more than 4 billion documents.
    pub fn report(&mut self, rows: &mut Rows, place: &str) -> Option<u32> {
        self.input.documents += 1;
        let taken = rows.taken();
        if taken > self.now.saturating_add(AHEAD) {
            self.input.future += 1;
            if self.input.future_hosts.len() < NAMED {
                let date = rows.host.taken_at.as_deref().unwrap_or_default();
                let said = format!("{} ({date}, {place})", rows.host.host);
                self.input.future_hosts.push(said);
            }
            rows.date(None);
        }
        if let (0, Some(date)) = (rows.taken(), &self.date) {
            rows.date(Some(date));
        }
        self.newest.add(&rows.host.host, rows.host.machine_id.as_deref(), rows.taken())
    }

    /// Counts a document that gave no rows.
    pub fn reject(&mut self, place: &str, why: &str) {
        self.input.documents += 1;
        self.input.rejected += 1;
        if self.input.rejects.len() < NAMED {
            let shown = |text: &str| -> String { visible::line(text).chars().take(300).collect() };
            self.input.rejects.push(Reject { place: shown(place), why: shown(why) });
        }
    }

    /// The counts, and which reports are used.
    #[must_use]
    pub fn finish(self) -> (Input, Served) {
        (self.input, self.newest.finish())
    }
}

impl Input {
    /// Adds the results about reports of one host. `said` returns, by row, a host and its place.
    pub fn served(&mut self, served: &Served, said: impl Fn(u32) -> String) {
        fn add(list: &mut Vec<String>, new: impl Iterator<Item = String>) {
            list.extend(new);
            list.truncate(NAMED);
        }
        self.duplicates += served.duplicates;
        add(&mut self.duplicate_hosts, served.first.iter().map(|row| said(*row)));
        self.ties += served.ties;
        add(&mut self.tie_hosts, served.tied.iter().map(|(_, other)| said(*other)));
        self.shared_names += served.shared_names;
        let machines =
            |rows: &Vec<u32>| rows.iter().map(|row| said(*row)).collect::<Vec<_>>().join(", ");
        add(&mut self.shared_hosts, served.shared.iter().map(machines));
    }
}

/// The rows that [`Input::served`] names.
#[must_use]
pub fn named(served: &Served) -> Vec<u32> {
    let tied = served.tied.iter().map(|(_, other)| *other);
    let mut rows: Vec<u32> = served
        .first
        .iter()
        .copied()
        .chain(tied)
        .chain(served.shared.iter().flatten().copied())
        .collect();
    rows.sort_unstable();
    rows.dedup();
    rows
}
