//! From a message (without its prefix) to an [`Event`].
//!
//! The keywords are the words without which no known message exists; a line that has none of them is
//! never looked at. Each keyword belongs to one group of messages, and a line is tried only against
//! the groups whose keywords it has.

mod platform;
mod tsc;
mod watchdog;

use super::event::Event;

/// A group of messages that share keywords.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    /// Registration, selection, override, watchdog: `kernel/time/clocksource.c`.
    Clocksource,
    /// `arch/x86/kernel/tsc.c`, `tsc_sync.c`, calibration.
    Tsc,
    /// Boot banner, command line, CPUs, firmware tables, hypervisors, idle.
    Platform,
    /// A line that separates boots, written by journalctl.
    Separator,
}

/// Every keyword, with its group. Order does not matter; all that occur in a line count.
pub(crate) const KEYWORDS: &[(&str, Group)] = &[
    ("locksource", Group::Clocksource),
    ("watchdog on CPU", Group::Clocksource),
    ("wd_now", Group::Clocksource),
    ("cs_now", Group::Clocksource),
    ("Long readout", Group::Clocksource),
    ("Watchdog remote", Group::Clocksource),
    ("read-back delay", Group::Clocksource),
    ("TSC", Group::Tsc),
    ("tsc", Group::Tsc),
    ("MHz processor", Group::Tsc),
    ("PIT calibration", Group::Tsc),
    ("calibrate against PIT", Group::Tsc),
    ("PMTIMER", Group::Tsc),
    ("ched_clock: Marking", Group::Tsc),
    ("hpet", Group::Platform),
    ("HPET", Group::Platform),
    ("PM-Timer", Group::Platform),
    ("PMTMR", Group::Platform),
    ("Linux version", Group::Platform),
    ("ommand line:", Group::Platform),
    ("Hypervisor detected", Group::Platform),
    ("Hyper-V: ", Group::Platform),
    ("HyperV: ", Group::Platform),
    ("kvm-clock", Group::Platform),
    ("paravirtualized kernel", Group::Platform),
    ("DMI: ", Group::Platform),
    ("arch_timer: ", Group::Platform),
    ("Architected ", Group::Platform),
    (" CPUs, ", Group::Platform),
    ("CPU topo: ", Group::Platform),
    ("setup_percpu: ", Group::Platform),
    ("logical packages", Group::Platform),
    ("family: 0x", Group::Platform),
    ("resolution mode", Group::Platform),
    ("NOHz mode", Group::Platform),
    ("PM: suspend e", Group::Platform),
    ("system sleep state", Group::Platform),
    ("PM: hibernation", Group::Platform),
    ("Restarting tasks", Group::Platform),
    ("gVisor", Group::Platform),
    ("pvclock", Group::Platform),
    ("PVCLOCK", Group::Platform),
    ("drift greater", Group::Platform),
    ("clocksource has been installed", Group::Clocksource),
    ("Calibrating delay", Group::Platform),
    ("Time went backwards", Group::Platform),
    ("dmesg", Group::Separator),
    ("-- Reboot --", Group::Separator),
    ("-- Boot ", Group::Separator),
];

/// The groups whose keywords a message has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Groups {
    pub(crate) clocksource: bool,
    pub(crate) tsc: bool,
    pub(crate) platform: bool,
    pub(crate) separator: bool,
}

impl Groups {
    /// Adds the group of a keyword.
    pub(crate) fn add(&mut self, group: Group) {
        match group {
            Group::Clocksource => self.clocksource = true,
            Group::Tsc => self.tsc = true,
            Group::Platform => self.platform = true,
            Group::Separator => self.separator = true,
        }
    }

    /// The groups of a text, by looking for every keyword.
    pub(crate) fn of(text: &str) -> Self {
        let mut groups = Self::default();
        for (keyword, group) in KEYWORDS {
            if text.contains(keyword) {
                groups.add(*group);
            }
        }
        groups
    }
}

/// The event that a message states, if it is one that concerns clocks.
pub(crate) fn parse(message: &str, groups: Groups) -> Option<Event> {
    if groups.clocksource
        && let Some(event) = watchdog::parse(message)
    {
        return Some(event);
    }
    if groups.tsc
        && let Some(event) = tsc::parse(message)
    {
        return Some(event);
    }
    if groups.platform || groups.tsc {
        return platform::parse(message);
    }
    None
}

/// Whether more text behind the message could change what it says: a mailer may have wrapped it.
pub(crate) fn may_continue(event: &Event) -> bool {
    matches!(
        event,
        Event::TscUnstable(super::event::UnstableReason::Other(_))
            | Event::CommandLine(_)
            | Event::Banner(_)
            | Event::ReadbackDelay { delay_ns: None, .. }
    )
}

/// Where `needle` begins. A log may have millions of lines with a keyword, and `str::find` prepares
/// each of its searches at a cost that is greater than the search of one line.
pub(crate) fn find(text: &str, needle: &str) -> Option<usize> {
    memchr::memmem::find(text.as_bytes(), needle.as_bytes())
}

/// The text behind the first occurrence of `needle`.
pub(crate) fn after<'a>(text: &'a str, needle: &str) -> Option<&'a str> {
    find(text, needle).map(|at| &text[at + needle.len()..])
}

/// The text between two markers.
pub(crate) fn between<'a>(text: &'a str, open: &str, close: &str) -> Option<&'a str> {
    let rest = after(text, open)?;
    find(rest, close).map(|at| &rest[..at])
}

/// The leading decimal number (a minus sign is allowed), blanks in front skipped.
pub(crate) fn number(text: &str) -> Option<i64> {
    let text = text.trim_start();
    let sign = usize::from(text.starts_with('-'));
    let digits = text[sign..].bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 { None } else { text[..sign + digits].parse().ok() }
}

/// The leading hexadecimal number, with or without `0x`.
pub(crate) fn hex(text: &str) -> Option<u64> {
    let text = text.trim_start();
    let text = text.strip_prefix("0x").unwrap_or(text);
    let digits = text.bytes().take_while(u8::is_ascii_hexdigit).count();
    if digits == 0 { None } else { u64::from_str_radix(&text[..digits], 16).ok() }
}

/// The leading `N.NNN` in units of 1/1000 (MHz to kHz), rounded; at most 10^12.
pub(crate) fn thousandths(text: &str) -> Option<u64> {
    let text = text.trim_start();
    let end = text.bytes().take_while(|b| b.is_ascii_digit() || *b == b'.').count();
    let value: f64 = text[..end].trim_end_matches('.').parse().ok()?;
    let value = (value * 1000.0).round();
    if (0.0..=1e12).contains(&value) {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        Some(value as u64)
    } else {
        None
    }
}

/// Signs that quote a word, in logs and in the forums where logs are pasted.
const QUOTES: [char; 4] = ['\'', '"', '*', '`'];

/// A word: up to a blank or one of the closing signs, without quotes.
pub(crate) fn word(text: &str) -> Option<&str> {
    let text = text.trim_start().trim_start_matches(QUOTES);
    let end = text
        .find(|c: char| c.is_whitespace() || QUOTES.contains(&c) || ",;()".contains(c))
        .unwrap_or(text.len());
    let word = text[..end].trim_end_matches(['.', ':', '=']);
    (!word.is_empty() && word.len() <= 64).then_some(word)
}

/// Whether a word can be the name of a clocksource: the kernel's names have at most 31 characters
/// of a small set.
pub(crate) fn is_name(word: &str) -> bool {
    !word.is_empty()
        && word.len() < 32
        && word.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b' '))
}
