//! The messages in a line: none if its sender wrote it, several if consoles mix them.

use super::{STAMPED, Scanner, Stripped};
use crate::log::afterwards::{self, By, Later};
use crate::log::banner;
use crate::log::continuation::{self, Place};
use crate::log::event::Event;
use crate::log::inline;
use crate::log::lines::{line_before, next_line, text};
use crate::log::parse::{self, Groups};
use crate::log::prefix::strip;
use crate::version::Version;

/// The first kernel whose levels are not text (`KERN_SOH`).
const LEVELS_UNTIL: Version = Version::new(3, 6, 0);

impl Scanner {
    /// Whether a line without a prefix does not belong to this log, whose lines have time stamps: text of its sender
    /// about the log, or from another source. The banner of another kernel begins another log.
    pub(super) fn is_comment(&self, place: Place<'_>, raw: &str, line: &Stripped<'_>) -> bool {
        if line.kernel.is_some() || self.stamped < STAMPED || self.bare > 0 || self.prompted {
            return false;
        }
        // After a mail that quotes lines with time stamps, a block of other lines is a different log.
        if self.quotes_alone && is_in_block(place) {
            return false;
        }
        // A time stamp that was shortened by hand also counts.
        if continuation::behind_a_prefix(place) || raw.trim_start().starts_with('[') {
            return false;
        }
        let banner = banner::behind(line.message);
        let other = banner.filter(|banner| banner.contains(" (") && banner.contains('#'));
        // A repetition of the same banner is `/proc/version`.
        other.is_none_or(|other| {
            self.banner.as_deref().is_some_and(|own| own.trim() == other.trim())
        })
    }

    /// Keeps that such a line has the words of a change of the clocksource: a program that prints the kernel's messages without
    /// their time stamps, a command's output, or words of the sender.
    pub(super) fn note_doubt(&mut self, line: &Stripped<'_>, groups: Groups) {
        let Some(event) = parse::parse(line.message, groups).filter(Event::changes_clocksource)
        else {
            return;
        };
        let wanted = match event {
            Event::Switched(name) => Some(name),
            _ => None,
        };
        let later = Later { line: self.line, by: By::Output, wanted, below: None };
        afterwards::keep(&mut self.unsure, later);
    }

    /// Truncates the message of a line where another one begins, and returns the others.
    pub(super) fn others<'a>(&mut self, line: &mut Stripped<'a>) -> Vec<&'a str> {
        if inline::is_of_records(&self.log.name) {
            return Vec::new();
        }
        let levels = self.levels();
        let left = inline::late(line.message, line.at)
            .or_else(|| inline::unsplit(line.message, line.at, levels));
        if let Some(left) = left {
            let message = strip(left).message;
            if parse::parse(message, Groups::of(message))
                .as_ref()
                .is_some_and(Event::changes_clocksource)
            {
                self.log.change_cut = Some(self.line);
            }
        }
        let Some((head, others)) = inline::split(line.message, line.at, levels) else {
            return Vec::new();
        };
        line.message = head;
        others
    }

    /// Whether this kernel may print levels inside lines: an unknown kernel may.
    fn levels(&self) -> bool {
        let Some(banner) = self.banner.as_deref() else { return true };
        // The version is at its beginning; parsing the whole banner would also read the vendor.
        let version = banner.split_whitespace().next().and_then(Version::parse);
        version.is_none_or(|version| version < LEVELS_UNTIL)
    }

    /// Keeps the events of the other messages of a line.
    pub(super) fn keep_others(&mut self, others: &[&str], at: Option<f64>) {
        for other in others {
            let line = strip(other);
            let Some(event) = parse::parse(line.message, Groups::of(line.message)) else {
                continue;
            };
            if line.kernel == Some(false) {
                continue;
            }
            self.stamp(line.at);
            self.keep(event, other, line.at.or(at));
        }
    }
}

/// Whether the neighbours of a line are not quoted.
fn is_in_block(place: Place<'_>) -> bool {
    let is_plain = |line: &str| !line.trim().is_empty() && !line.starts_with('>');
    let before = line_before(place.window, place.start)
        .map(|range| text(place.window, range.start, range.end));
    let behind = next_line(place.window, place.end, place.complete).map(|(line, _)| line);
    let own = text(place.window, place.start, place.end);
    [Some(own), before, behind].iter().all(|line| line.as_deref().is_some_and(is_plain))
}

/// A line up to the end of a message inside it.
pub(super) fn up_to<'a>(raw: &'a str, message: &str) -> &'a str {
    raw.find(message).map_or(raw, |at| &raw[..at + message.len()])
}
