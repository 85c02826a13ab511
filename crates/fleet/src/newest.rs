//! Of several reports of one host the newest one is used, in any order of arrival.
//!
//! A host is a name and a machine id. Two ids under one name are two hosts. A report without an id, as earlier versions
//! wrote them, belongs to the host that has its name. A report without a date is older than every dated one; of several
//! reports of one moment, the one that was given first is used.
//!
//! Takes about 25 bytes a host, for any number of reports, and one bit for each report.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The number of rows that each list names.
pub const NAMED: usize = 20;

/// When a report was taken: seconds since 1970, 0 without a date.
pub type Moment = u32;

/// 64 bits, aligned as 32: among ten million hosts, two names of one hash are as likely as 1 to 370 000.
type Name = [u32; 2];

/// A host's newest report until now.
#[derive(Clone, Copy, Debug)]
struct Entry {
    taken: Moment,
    row: u32,
    /// A hash of the machine id.
    tag: u32,
}

/// The newest reports of all hosts, and which ones are not used.
#[derive(Debug, Default)]
struct Known {
    names: HashMap<Name, Entry>,
    /// Further machines of a name, which are few.
    more: HashMap<Name, Vec<Entry>>,
    /// Reports without a machine id.
    without: HashMap<Name, Entry>,
    superseded: Bits,
}

impl Known {
    fn entries(&self, name: &Name) -> impl Iterator<Item = &Entry> {
        let others = self.more.get(name).into_iter().flatten();
        self.names.get(name).into_iter().chain(self.without.get(name)).chain(others)
    }
}

/// The reports of one look at inputs. A report is known by its row: how many were added before it.
#[derive(Debug, Default)]
pub struct Newest {
    known: Known,
    rows: u32,
    /// Rows that serve though others are of the same moment, and one of the others.
    tied: HashMap<u32, u32>,
}

impl Newest {
    /// Adds a report; its row. `None` if there are more than 4 billion.
    pub fn add(&mut self, host: &str, machine: Option<&str>, taken: Moment) -> Option<u32> {
        let row = self.rows;
        self.rows = self.rows.checked_add(1)?;
        let new = Entry { taken, row, tag: machine.map_or(0, tag) };
        let map = if machine.is_some() { &mut self.known.names } else { &mut self.known.without };
        let name = name(host);
        let known = map.entry(name).or_insert(new);
        let known = if known.tag == new.tag {
            known
        } else {
            let others = self.known.more.entry(name).or_default();
            if !others.iter().any(|other| other.tag == new.tag) {
                others.push(new);
            }
            others.iter_mut().find(|other| other.tag == new.tag)?
        };
        if known.row != row {
            let old = known.row;
            if new.taken > known.taken {
                *known = new;
                self.known.superseded.set(old);
                self.tied.remove(&old);
            } else {
                if new.taken == known.taken {
                    self.tied.entry(old).or_insert(row);
                }
                self.known.superseded.set(row);
            }
        }
        Some(row)
    }

    /// Decides which of the reports without a machine id count, and counts them.
    #[must_use]
    pub fn finish(mut self) -> Served {
        for (name, without) in &self.known.without {
            let Some(first) = self.known.names.get(name) else { continue };
            let others = self.known.more.get(name).map_or(&[][..], Vec::as_slice);
            let newest = others.iter().map(|other| other.taken).fold(first.taken, Moment::max);
            if without.taken <= newest {
                self.known.superseded.set(without.row);
            } else if others.is_empty() {
                self.known.superseded.set(first.row);
            }
            // Newer than those of several machines: its machine is not known, so it is kept.
        }
        let mut shared: Vec<Vec<u32>> = Vec::new();
        for name in self.known.more.keys() {
            let all = self.known.entries(name);
            let mut rows: Vec<u32> =
                all.map(|entry| entry.row).filter(|row| !self.known.superseded.has(*row)).collect();
            rows.sort_unstable();
            shared.push(rows);
        }
        shared.sort_unstable();
        let shared_names = shared.len() as u64;
        shared.truncate(NAMED);
        self.tied.retain(|served, _| !self.known.superseded.has(*served));
        let ties = self.tied.len() as u64;
        let mut tied: Vec<(u32, u32)> = self.tied.into_iter().collect();
        tied.sort_unstable();
        tied.truncate(NAMED);
        let duplicates = self.known.superseded.count();
        let first =
            (0..self.rows).filter(|row| self.known.superseded.has(*row)).take(NAMED).collect();
        Served {
            known: self.known,
            rows: self.rows,
            duplicates,
            first,
            ties,
            tied,
            shared_names,
            shared,
        }
    }
}

/// Which reports are used, and which are not.
#[derive(Debug, Default)]
pub struct Served {
    known: Known,
    /// Reports in all.
    pub rows: u32,
    /// Reports that are not used.
    pub duplicates: u64,
    /// The first of them.
    pub first: Vec<u32>,
    /// Hosts whose newest moment has several reports.
    pub ties: u64,
    /// The first of them: the row that is used, and another one.
    pub tied: Vec<(u32, u32)>,
    /// Names that several machines have.
    pub shared_names: u64,
    /// The first of them: a row of each machine.
    pub shared: Vec<Vec<u32>>,
}

impl Served {
    /// Whether this report is used.
    #[must_use]
    pub fn serves(&self, row: u32) -> bool {
        !self.known.superseded.has(row)
    }

    /// The row of the report that serves for a host, if that is the one of this moment.
    #[must_use]
    pub fn row(&self, host: &str, machine: Option<&str>, taken: Moment) -> Option<u32> {
        let tag = machine.map_or(0, tag);
        let found = self.known.entries(&name(host)).find(|entry| entry.tag == tag)?;
        (found.taken == taken && self.serves(found.row)).then_some(found.row)
    }

    /// Whether a report of that name serves whose row is in the range.
    #[must_use]
    pub fn any(&self, host: &str, rows: &std::ops::Range<u32>) -> bool {
        self.known
            .entries(&name(host))
            .any(|entry| rows.contains(&entry.row) && self.serves(entry.row))
    }
}

/// One bit for each row.
#[derive(Debug, Default)]
struct Bits(Vec<u64>);

impl Bits {
    fn set(&mut self, row: u32) {
        let (word, bit) = (row as usize / 64, row % 64);
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        if let Some(word) = self.0.get_mut(word) {
            *word |= 1 << bit;
        }
    }

    fn has(&self, row: u32) -> bool {
        self.0.get(row as usize / 64).is_some_and(|word| word >> (row % 64) & 1 == 1)
    }

    fn count(&self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }
}

/// The same number for the same text in every run.
fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

#[allow(clippy::cast_possible_truncation)]
fn name(host: &str) -> Name {
    let hash = hash(host);
    [hash as u32, (hash >> 32) as u32]
}

/// Never 0, which is for a report without an id.
#[allow(clippy::cast_possible_truncation)]
fn tag(machine: &str) -> u32 {
    (hash(machine) as u32).max(1)
}

/// Returns a number for a report: of its host, its machine and its moment. The same in every run, so that a history
/// recognises its reports.
#[must_use]
pub fn key(host: &str, machine: Option<&str>, taken: Moment) -> u64 {
    let mut hasher = DefaultHasher::new();
    (host, machine, taken).hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
#[path = "newest_tests.rs"]
mod tests;
