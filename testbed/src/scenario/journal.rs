//! The reports of a guest's reader, and the events meanwhile, in order.
//!
//! Reports come on the serial line, each as `|reader ` and a JSON object. The guest notes events by
//! lines `|mark NAME`; the testbed notes its own with [`Journal::mark`].

use serde_json::Value;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// A report, or an event.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// The reader's totals since its start.
    Report(Value),
    /// Something happened.
    Mark(String),
}

/// The journal of one scenario; the emulators that its guest lives in share it.
#[derive(Clone, Debug, Default)]
pub struct Journal(Arc<Mutex<Vec<Entry>>>);

impl Journal {
    /// Takes a line of the guest, if it belongs here.
    pub fn take(&self, line: &str) -> bool {
        // A snapshot is loaded in the middle of a line, and the next one begins there.
        if let Some((_, json)) = line.rsplit_once("|reader ") {
            if let Ok(report) = serde_json::from_str(json.trim()) {
                self.entries_mut().push(Entry::Report(report));
            }
            return true;
        }
        let mark = line.trim_end().strip_prefix("|mark ");
        if let Some(name) = mark {
            self.mark(name);
        }
        mark.is_some()
    }

    /// Notes an event.
    pub fn mark(&self, name: &str) {
        self.entries_mut().push(Entry::Mark(name.into()));
    }

    /// All that is in it.
    pub fn entries(&self) -> Vec<Entry> {
        self.entries_mut().clone()
    }

    /// Waits until the reader has read on after the last event. Whether it has is returned.
    pub fn wait_for_progress(&self, patience: Duration) -> bool {
        let end = Instant::now() + patience;
        while !reads_on(&self.entries()) {
            if Instant::now() > end {
                return false;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        true
    }

    fn entries_mut(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Whether two reports after the last event show that the reader reads. The very first report after
/// it may have been sent before the event, or come from a state that was discarded.
pub fn reads_on(entries: &[Entry]) -> bool {
    let after = entries.rsplit(|entry| matches!(entry, Entry::Mark(_))).next().unwrap_or_default();
    let reads: Vec<Option<u64>> = after
        .iter()
        .map(|entry| match entry {
            Entry::Report(report) => report.get("reads")?.as_u64(),
            Entry::Mark(_) => None,
        })
        .collect();
    reads.windows(2).any(|pair| pair[0].is_some() && pair[1] > pair[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn journal(lines: &[&str]) -> Journal {
        let journal = Journal::default();
        lines.iter().for_each(|line| assert!(journal.take(line), "{line}"));
        journal
    }

    #[test]
    fn reports_and_events_are_taken_and_other_lines_left() {
        let journal = journal(&["|reader {\"reads\":1}\r\n", "|mark one\r\n", "|reader {\"rea"]);
        let cut = "|tick raw=|reader {\"reads\":2}";
        assert!(journal.take(cut));
        assert!(!journal.take("|tick raw=1\r\n") && !journal.take("@@DONE"));
        let report = |reads: u64| Entry::Report(serde_json::json!({ "reads": reads }));
        assert_eq!(journal.entries(), [report(1), Entry::Mark("one".into()), report(2)]);
    }

    #[test]
    fn only_reads_after_the_last_event_are_progress() {
        let [one, two, three] = [1, 2, 3].map(|reads| format!("|reader {{\"reads\":{reads}}}"));
        assert!(reads_on(&journal(&[&one, &two]).entries()));
        assert!(!reads_on(&journal(&[&one, &two, "|mark x"]).entries()));
        assert!(!reads_on(&journal(&[&one, "|mark x", &two]).entries()));
        assert!(!reads_on(&journal(&["|mark x", &two, &two]).entries()));
        assert!(reads_on(&journal(&[&one, "|mark x", &three, &one, &two]).entries()));
        assert!(!reads_on(&[]));
    }
}
