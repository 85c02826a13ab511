//! The kernel log: the events that concern clocks, each with its line.
//!
//! Contents: the prefixes of every log format (`prefix`), the messages of every kernel era
//! from 2.6.32 to 7.x (`parse`), a streaming scan for logs of any size (`scan`), and the
//! arithmetic that converts the watchdog's figures to seconds ([`incident`]). A new kernel message
//! goes into `parse/`. Not in this module: the *meaning* of a message for the choice of a
//! clocksource (`clocksmith-kernel`), or the clock at fault (`clocksmith-diagnose`).

mod afterwards;
mod again;
mod arch;
pub(crate) mod banner;
mod behind_switch;
mod bounds;
mod columns;
mod complete;
pub(crate) mod configured;
mod continuation;
mod cut;
mod dated;
mod diff;
mod disorder;
mod encoding;
mod ends;
mod escapes;
pub mod event;
pub mod extent;
mod further;
pub mod incident;
mod inline;
mod intended;
mod journal;
mod keywords;
mod last_stamp;
mod lines;
mod mail;
mod markup;
mod moments;
mod newest_first;
mod once;
mod order;
mod parse;
mod pieces;
pub(crate) mod plain;
mod prefix;
mod previous;
mod quoted;
pub mod rates;
mod records;
mod refused;
mod released;
mod repeated;
mod scan;
mod spans;
mod store;
mod transcript;
mod unstamped;
mod wall;

pub use afterwards::{By, Later};
pub use bounds::VersionBounds;
pub use complete::complete;
pub(crate) use complete::restarted_for_another;
pub use event::Event;
pub(crate) use further::{Of, is_marked, of_records};
pub(crate) use parse::{is_clock_message, is_name};
pub(crate) use previous::PACKED;
pub(crate) use quoted::depth as quotation_depth;
use serde::Serialize;
use std::io::Read;
pub(crate) use transcript::{broken_write, inxi, is_expected, is_of_talos, is_setting};

/// The message of a line, and whether a time stamp of the kernel or its name in a header precedes it.
pub(crate) fn strip_prefix(line: &str) -> (&str, bool) {
    let line = prefix::strip(line);
    (line.message, line.kernel == Some(true))
}

/// A line as text, without the additions of terminals and mailers.
pub(crate) fn line_text(line: &[u8]) -> std::borrow::Cow<'_, str> {
    lines::text(line, 0, line.len())
}

/// Whether a text begins with a time stamp of the kernel.
pub(crate) fn is_stamped(text: &str) -> bool {
    prefix::printk_stamp(text).is_some()
}

/// Whether a line has a word without which the scan would not look at it.
pub(crate) fn has_keyword(line: &str) -> bool {
    parse::KEYWORDS.iter().any(|(word, _)| line.contains(word))
}

/// Whether a text is a word, or words, of the messages about clocks, in small letters.
pub(crate) fn is_word_of_messages(text: &str) -> bool {
    let ends = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
    let has = |message: &str| {
        let small = message.to_ascii_lowercase();
        small.match_indices(text).any(|(at, _)| {
            ends(small[..at].chars().next_back()) && ends(small[at + text.len()..].chars().next())
        })
    };
    parse::KEYWORDS.iter().any(|(message, _)| has(message))
        || parse::PREFIXES.iter().any(|it| has(it))
}

/// Whether a text is a message of the kernel that changes the clocksource in use.
pub(crate) fn changes_clocksource(text: &str) -> bool {
    let message = prefix::strip(text).message;
    parse::parse(message, parse::Groups::of(message)).is_some_and(|it| it.changes_clocksource())
}

/// The words of a message that changes the clocksource in use, of which a serial line lost the end of the time stamp and the
/// beginning: `[  524.30source: Switched to clocksource hpet`.
pub(crate) fn damaged_change(text: &str) -> Option<&str> {
    const CHANGES: [&str; 3] =
        ["Switched to clocksource ", "Marking clocksource ", "Marking TSC unstable due to "];
    let message = prefix::behind_damaged(text.trim_start())?;
    CHANGES.iter().find_map(|words| message.find(words)).map(|at| &message[at..])
}

/// The program that wrote a line: the one that the header of a system log names, or that the line itself names with its
/// number (`chronyd[7]: ...`); empty for a field of the journal, which names its program elsewhere.
pub(crate) fn writer(line: &str) -> Option<&str> {
    let stripped = prefix::strip(line);
    let of_journal = || line.trim_start().starts_with("MESSAGE=").then_some("");
    let numbered = || {
        let (name, number) = stripped.message.split_once("]: ")?.0.split_once('[')?;
        let is_number = number.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        let is_name = !name.is_empty() && !name.contains([' ', ':', '=', '(', '"']);
        (is_number && !number.is_empty() && is_name).then_some(name)
    };
    stripped.writer.or_else(of_journal).or_else(numbered)
}

/// Whether a log's writer wrote a line: the kernel, or a program that a header or the line itself names. Any user can
/// have chosen its text.
pub(crate) fn is_record(line: &str) -> bool {
    // A stamp with fewer digits than the kernel's, which a tool shortened.
    let is_stamped = || {
        let line = line.trim_start_matches(['>', ' ']);
        let stamp = line.strip_prefix('[').and_then(|line| line.split_once(']'));
        stamp.is_some_and(|(stamp, _)| stamp.trim().parse::<f64>().is_ok())
    };
    prefix::strip(line).kernel.is_some() || writer(line).is_some() || is_stamped()
}

/// The only processor family whose kernels print a message, by its common name.
pub(crate) fn family_of(message: &str) -> Option<&'static str> {
    arch::family(&parse::parse(message, parse::Groups::of(message))?)
}

/// The host name before the message of a line.
pub(crate) use prefix::host::{Host, name as host_name, of as host_of};

/// The times before a message of the kernel: seconds since boot, and the date.
pub(crate) fn times(line: &str) -> (Option<f64>, Option<f64>) {
    (prefix::strip(line).at, wall::seconds(line))
}

/// The first date with a time of day in a text, as seconds that only differences of are meaningful.
pub(crate) fn date_in(text: &str) -> Option<f64> {
    wall::of_date(text)
}

/// One event and its line.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Entry {
    /// Line number in the input, from 1.
    pub line: u64,
    /// Seconds since boot, if the line has a printk time stamp.
    pub at: Option<f64>,
    /// The text of the line, truncated to 400 characters.
    pub text: String,
    /// The event.
    pub event: Event,
}

/// A kernel log, reduced to events about clocks.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct KernelLog {
    /// Name of the log in citations (`dmesg`, or a file name).
    pub name: String,
    /// Number of lines in the input.
    pub lines: u64,
    /// Number of boots in the input; the entries are those of the last.
    pub boots: u32,
    /// Refined frequencies of the TSC, in kHz, of earlier boots in the input.
    #[serde(skip)]
    pub refined_before: Vec<u64>,
    /// Whether the input is a diff of two logs; the entries are those of the new one.
    #[serde(skip)]
    pub is_diff: bool,
    /// Whether the log reaches back to the beginning of that boot.
    pub from_boot: bool,
    /// Time stamp of the first and of the last line that was examined, in seconds since boot.
    pub first_at: Option<f64>,
    /// See `first_at`.
    pub last_at: Option<f64>,
    /// The first and the last line of each block whose newest line comes first. The lines of its entries are counted
    /// from its end; [`KernelLog::source`] returns those of the input.
    #[serde(skip)]
    pub turned: Vec<(u64, u64)>,
    /// Whether the newest line comes first in a text that is too long to be sorted: the order of its entries is
    /// unknown.
    #[serde(skip)]
    pub newest_first: bool,
    /// The extent of the text, and whether it was filtered.
    #[serde(skip)]
    pub extent: extent::Extent,
    /// Whether a reading of `current_clocksource` was discarded, because its name was truncated.
    #[serde(skip)]
    pub reading_cut: bool,
    /// The line of the last message of this boot about another clocksource, which is truncated before the name, or
    /// which a person may have typed.
    #[serde(skip)]
    pub change_cut: Option<u64>,
    /// Whether a message of any boot reports a fault of a TSC. A user who invents a boot hides the messages before it,
    /// and not this.
    #[serde(skip)]
    pub had_tsc_fault: bool,
    /// The lines below the last record of the kernel after which another clocksource may be in use.
    #[serde(skip)]
    pub later: Vec<Later>,
    /// The reason why the text mixes machines or states that cannot be separated: the end of a sentence.
    #[serde(skip)]
    pub mixed: Option<String>,
    /// Whether any line looks like a kernel message.
    pub looks_like_kernel: bool,
    /// The events, in the order of their lines.
    pub entries: Vec<Entry>,
    /// Number of repetitions that were discarded to bound memory.
    pub omitted: u64,
}

/// The reason why a text cannot be read as a kernel log.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// Reading failed.
    #[error("cannot read {name}: {error}")]
    Read {
        /// The input.
        name: String,
        /// The system's error.
        error: std::io::Error,
    },
    /// Not text.
    #[error(
        "{name} is not text (too many control characters); give a kernel log as text, or packed \
         with gzip, xz or zstd"
    )]
    Binary {
        /// The input.
        name: String,
    },
    /// A fault of this program.
    #[error("internal: {0}")]
    Internal(&'static str),
}

impl LogError {
    /// The same error for the same input under another name: a whole path for the user, where
    /// a citation has only the file's name.
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
    /// Whether the text ends without a line end, so that a part of its last line may be missing.
    #[must_use]
    pub fn last_line_may_be_cut(&self) -> bool {
        self.extent.is_unfinished
    }

    /// Scans a log of any size in bounded memory. `name` is the name in citations.
    pub fn scan(reader: impl Read, name: &str) -> Result<Self, LogError> {
        scan::scan(reader, name)
    }

    /// The kernel versions that the wording of the messages allows.
    #[must_use]
    pub fn version_bounds(&self) -> VersionBounds {
        bounds::of(self)
    }

    /// Whether the log has the beginning of the boot, and continues after the lines in which the kernel lists
    /// ACPI's tables.
    #[must_use]
    pub fn reaches_past_acpi(&self) -> bool {
        // A log without its head also begins at 0 s.
        let begins = |event: &Event| matches!(event, Event::Banner(_) | Event::AcpiTables);
        self.from_boot
            && self.any(begins)
            && self.any(|event| matches!(event, Event::PossibleCpus(_)))
    }

    /// Whether lines show that the kernel read ACPI's tables. Without them it may have had no tables, or no code for
    /// them, or the lines were removed: the log does not show what firmware describes.
    #[must_use]
    pub fn lists_acpi_tables(&self) -> bool {
        self.any(|event| {
            matches!(event, Event::AcpiTables | Event::PmTimer(_) | Event::HpetTable { .. })
        })
    }

    /// Two states of different age in one text: the clocksource in use in the least quoted part, and the one in a more
    /// deeply quoted part, which is older.
    #[must_use]
    pub fn quoted_states(&self) -> Option<[String; 2]> {
        quoted::states(&self.entries)
    }

    /// The last name that a command after this line writes to current_clocksource, with its entry.
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

    /// The first line below the last record of the kernel, and after this line, after which a clocksource other than
    /// `was` may be in use.
    #[must_use]
    pub fn changed_behind(&self, line: u64, was: &str) -> Option<&Later> {
        afterwards::of(&self.later, line, was, false)
    }

    /// The same, also after a line that only looks like one of the kernel. The content of the file outranks those.
    #[must_use]
    pub fn doubted_behind(&self, line: u64, was: &str) -> Option<&Later> {
        afterwards::of(&self.later, line, was, true)
    }

    /// The source of an entry for a citation: `dmesg:112`.
    #[must_use]
    pub fn source(&self, entry: &Entry) -> crate::Source {
        let block = self.turned.iter().find(|(first, last)| (*first..=*last).contains(&entry.line));
        let line = block.map_or(entry.line, |(first, last)| first + last - entry.line);
        crate::Source(format!("{}:{line}", self.name))
    }

    /// Seconds from one entry to another by the dates before both.
    #[must_use]
    pub fn seconds_between(&self, first: &Entry, second: &Entry) -> Option<f64> {
        Some(wall::seconds(&second.text)? - wall::seconds(&first.text)?)
    }

    /// Seconds from an entry to the end of its log, by the dates before the lines. A month counts as 31 days.
    #[must_use]
    pub fn seconds_behind(&self, entry: &Entry) -> Option<f64> {
        self.extent.ends.seconds_behind(entry, self.lines)
    }

    /// Whether an entry has a date and no time stamp.
    #[must_use]
    pub fn is_dated(&self, entry: &Entry) -> bool {
        entry.at.is_none() && wall::seconds(&entry.text).is_some()
    }

    /// The last time stamp of the log with this entry, in seconds since boot; of the whole text, if the entry has none.
    #[must_use]
    pub fn ends_at(&self, entry: &Entry) -> Option<f64> {
        let of_text = self.extent.last_at.or(self.last_at);
        if self.extent.is_left {
            of_text
        } else {
            self.extent.ends.last_at(entry, self.lines).or(of_text)
        }
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

    /// The event of one message (a pasted line, with or without its prefix).
    #[must_use]
    pub fn message(line: &str) -> Option<Event> {
        let line = prefix::strip(line);
        let said = parse::parse(line.message, parse::Groups::of(line.message));
        // The output of a shell has no time stamp of the kernel.
        said.or_else(|| if line.kernel.is_none() { transcript::told(line.message) } else { None })
    }
}
