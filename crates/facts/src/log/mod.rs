//! The kernel log: which events concern clocks, and on which line each stands.
//!
//! What lives here: the prefixes of every log format (`prefix`), the messages of every kernel era
//! from 2.6.32 to 7.x (`parse`), a streaming scan for logs of any size (`scan`), and the
//! arithmetic that turns the watchdog's figures into seconds ([`incident`]). A new kernel message
//! goes into `parse/`. What must not live here: what a message *means* for the choice of a
//! clocksource (`clocksmith-kernel`), or who is to blame (`clocksmith-diagnose`).

mod again;
mod arch;
mod bounds;
mod columns;
mod complete;
mod continuation;
mod cut;
mod diff;
mod disorder;
mod encoding;
pub mod event;
pub mod extent;
pub mod incident;
mod inline;
mod journal;
mod keywords;
mod last_stamp;
mod lines;
mod mail;
mod markup;
mod moments;
mod newest_first;
mod order;
mod parse;
mod pieces;
pub(crate) mod plain;
mod prefix;
mod previous;
mod quoted;
pub mod rates;
mod records;
mod released;
mod repeated;
mod scan;
mod spans;
mod store;
mod transcript;
mod wall;

pub use bounds::VersionBounds;
pub use complete::complete;
pub(crate) use complete::restarted_for_another;
pub use event::Event;
pub(crate) use parse::is_name;
use serde::Serialize;
use std::io::Read;
pub(crate) use transcript::{broken_write, inxi, is_expected, is_setting};

/// The message of a line, and whether a stamp of the kernel or its name in a header stands in front of it.
pub(crate) fn strip_prefix(line: &str) -> (&str, bool) {
    let line = prefix::strip(line);
    (line.message, line.kernel == Some(true))
}

/// The family of processors whose kernel alone prints a message, as people call it.
pub(crate) fn family_of(message: &str) -> Option<&'static str> {
    arch::family(&parse::parse(message, parse::Groups::of(message))?)
}

/// The host that a line names in front of its message.
pub(crate) use prefix::host::{Host, of as host_of};

/// What stands in front of a message of the kernel that tells when it was written: seconds since boot, and the date.
pub(crate) fn times(line: &str) -> (Option<f64>, Option<f64>) {
    (prefix::strip(line).at, wall::seconds(line))
}

/// One event, with the line it stands on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Entry {
    /// Line number in the input, from 1.
    pub line: u64,
    /// Seconds since boot, where the line has a printk time stamp.
    pub at: Option<f64>,
    /// The line as it stands, cut to 400 characters.
    pub text: String,
    /// What it says.
    pub event: Event,
}

/// A kernel log, reduced to what concerns clocks.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct KernelLog {
    /// Name of the log as evidence cites it (`dmesg`, or a file name).
    pub name: String,
    /// Number of lines in the input.
    pub lines: u64,
    /// Number of boots in the input; the entries are those of the last.
    pub boots: u32,
    /// Refined frequencies of the TSC, in kHz, of earlier boots in the input.
    #[serde(skip)]
    pub refined_before: Vec<u64>,
    /// The input is a diff of two logs; the entries are those of the new one.
    #[serde(skip)]
    pub is_diff: bool,
    /// Whether the log reaches back to the beginning of that boot.
    pub from_boot: bool,
    /// Time stamp of the first and of the last line that was looked at, in seconds since boot.
    pub first_at: Option<f64>,
    /// See `first_at`.
    pub last_at: Option<f64>,
    /// The first and the last line of each block whose newest line comes first. The lines of its entries are counted
    /// from its end; [`KernelLog::source`] names those of the input.
    #[serde(skip)]
    pub turned: Vec<(u64, u64)>,
    /// The newest line comes first in a text that is too long to be put in order: its entries are in no known order.
    #[serde(skip)]
    pub newest_first: bool,
    /// How far the text reaches, and whether it was filtered.
    #[serde(skip)]
    pub extent: extent::Extent,
    /// A reading of `current_clocksource` was left out, because the name in it was cut.
    #[serde(skip)]
    pub reading_cut: bool,
    /// The line of the last message of this boot that tells of another clocksource, and is cut off before it does.
    #[serde(skip)]
    pub change_cut: Option<u64>,
    /// Why the text is of no single machine in a single state, where it cannot be told apart: the end of a sentence.
    #[serde(skip)]
    pub mixed: Option<String>,
    /// Whether anything in it looks like a kernel message.
    pub looks_like_kernel: bool,
    /// The events, in the order of their lines.
    pub entries: Vec<Entry>,
    /// Repetitions that were left out to bound memory.
    pub omitted: u64,
}

/// Why a text cannot be read as a kernel log.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// Reading failed.
    #[error("cannot read {name}: {error}")]
    Read {
        /// What was read.
        name: String,
        /// The system's error.
        error: std::io::Error,
    },
    /// Not text.
    #[error(
        "{name} is no text (too many control characters); give a kernel log as text, or packed \
         with gzip, xz or zstd"
    )]
    Binary {
        /// What was read.
        name: String,
    },
    /// A fault of this program.
    #[error("internal: {0}")]
    Internal(&'static str),
}

impl LogError {
    /// The same error about the same input under another name: a whole path, for people, where
    /// evidence cites the file's name alone.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        let name = name.to_owned();
        match self {
            Self::Read { error, .. } => Self::Read { name, error },
            Self::Binary { .. } => Self::Binary { name },
            Self::Internal(what) => Self::Internal(what),
        }
    }
}

impl KernelLog {
    /// Whether the text ends without the end of its last line, so that a part of it may be missing.
    #[must_use]
    pub fn last_line_may_be_cut(&self) -> bool {
        self.extent.is_unfinished
    }

    /// Scans a log of any size in bounded memory. `name` is how evidence cites it.
    pub fn scan(reader: impl Read, name: &str) -> Result<Self, LogError> {
        scan::scan(reader, name)
    }

    /// Which kernel versions the wording of the messages allows.
    #[must_use]
    pub fn version_bounds(&self) -> VersionBounds {
        bounds::of(self)
    }

    /// Whether the log has the beginning of the boot, and goes on behind the lines in which the kernel tells what it found
    /// in ACPI's tables.
    #[must_use]
    pub fn reaches_past_acpi(&self) -> bool {
        // A log that lost its head begins at 0 s, too.
        let begins = |event: &Event| matches!(event, Event::Banner(_) | Event::AcpiTables);
        self.from_boot
            && self.any(begins)
            && self.any(|event| matches!(event, Event::PossibleCpus(_)))
    }

    /// Whether lines show that the kernel read ACPI's tables. Without them it may have had none, or no code for them, or
    /// the lines were taken out: what firmware describes is not told.
    #[must_use]
    pub fn lists_acpi_tables(&self) -> bool {
        self.any(|event| {
            matches!(event, Event::AcpiTables | Event::PmTimer(_) | Event::HpetTable { .. })
        })
    }

    /// Two states of different age in one text: what is in use by the part that is quoted least, and what a part names that
    /// is quoted deeper, and so is older.
    #[must_use]
    pub fn quoted_states(&self) -> Option<[String; 2]> {
        quoted::states(&self.entries)
    }

    /// What a command behind this line writes to current_clocksource, and where; the last one.
    #[must_use]
    pub fn written_behind(&self, line: u64) -> Option<(&Entry, &str)> {
        self.entries.iter().rev().find_map(|entry| match &entry.event {
            Event::WroteCurrent(name)
                if entry.line > line && transcript::is_command(&entry.text) =>
            {
                Some((entry, name.as_str()))
            }
            _ => None,
        })
    }

    /// The source of an entry, as evidence cites it: `dmesg:112`.
    #[must_use]
    pub fn source(&self, entry: &Entry) -> crate::Source {
        let block = self.turned.iter().find(|(first, last)| (*first..=*last).contains(&entry.line));
        let line = block.map_or(entry.line, |(first, last)| first + last - entry.line);
        crate::Source(format!("{}:{line}", self.name))
    }

    /// Seconds from one entry to another by the dates in front of both.
    #[must_use]
    pub fn seconds_between(&self, first: &Entry, second: &Entry) -> Option<f64> {
        Some(wall::seconds(&second.text)? - wall::seconds(&first.text)?)
    }

    /// Seconds by which the end of the text is behind an entry, by the dates in front of both. Days count as 31 to a
    /// month.
    #[must_use]
    pub fn seconds_behind(&self, entry: &Entry) -> Option<f64> {
        let behind = self.extent.last_date? - wall::seconds(&entry.text)?;
        (behind >= 0.0).then_some(behind)
    }

    /// The first entry for which `f` returns something.
    pub fn first<T>(&self, mut f: impl FnMut(&Event) -> Option<T>) -> Option<(&Entry, T)> {
        self.entries.iter().find_map(|entry| f(&entry.event).map(|value| (entry, value)))
    }

    /// The last entry for which `f` returns something.
    pub fn last<T>(&self, mut f: impl FnMut(&Event) -> Option<T>) -> Option<(&Entry, T)> {
        self.entries.iter().rev().find_map(|entry| f(&entry.event).map(|value| (entry, value)))
    }

    /// All entries for which `f` holds.
    pub fn all<'a>(&'a self, f: impl Fn(&Event) -> bool + 'a) -> impl Iterator<Item = &'a Entry> {
        self.entries.iter().filter(move |entry| f(&entry.event))
    }

    /// Whether any entry matches.
    pub fn any(&self, f: impl Fn(&Event) -> bool) -> bool {
        self.entries.iter().any(|entry| f(&entry.event))
    }

    /// The event that one message states (a pasted line, with or without its prefix).
    #[must_use]
    pub fn message(line: &str) -> Option<Event> {
        let line = prefix::strip(line);
        let said = parse::parse(line.message, parse::Groups::of(line.message));
        // What a shell printed has no stamp of the kernel.
        said.or_else(|| if line.kernel.is_none() { transcript::told(line.message) } else { None })
    }
}
