//! Counts made while documents are read: used ones, bad ones with the first few reasons, and hosts
//! that come twice.

use crate::report::{Input, Reject};
use clocksmith_facts::visible;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

/// So many bad documents, and hosts that come twice, are named.
pub const NAMED: usize = 20;

/// The counts. Some 20 bytes a host, for those that come twice.
#[derive(Debug, Default)]
pub struct Intake {
    seen: HashSet<u64>,
    input: Input,
}

impl Intake {
    /// A document that gave a row. Whether the host is new: of several reports of one host the first one
    /// counts.
    pub fn host(&mut self, host: &str, place: &str) -> bool {
        self.input.documents += 1;
        // 64 bits: among ten million hosts, two names of one hash are as likely as 1 to 370 000.
        let mut hasher = DefaultHasher::new();
        host.hash(&mut hasher);
        if self.seen.insert(hasher.finish()) {
            return true;
        }
        self.input.duplicates += 1;
        if self.input.duplicate_hosts.len() < NAMED {
            self.input.duplicate_hosts.push(format!("{host} ({place})"));
        }
        false
    }

    /// A document that gave none.
    pub fn reject(&mut self, place: &str, why: &str) {
        self.input.documents += 1;
        self.input.rejected += 1;
        if self.input.rejects.len() < NAMED {
            let shown = |text: &str| -> String { visible::line(text).chars().take(300).collect() };
            self.input.rejects.push(Reject { place: shown(place), why: shown(why) });
        }
    }

    /// The counts.
    #[must_use]
    pub fn finish(self) -> Input {
        self.input
    }
}
