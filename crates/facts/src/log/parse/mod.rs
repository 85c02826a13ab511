//! From a message (without its prefix) to an [`Event`].
//!
//! The keywords are the words without which no known message exists; a line without any of them is
//! never parsed. Each module lists those of its messages. Each keyword belongs to one group of messages, and a line is
//! tried only against the groups whose keywords it has.

mod arch;
mod body;
#[cfg(test)]
mod cut_lines;
mod platform;
mod process;
mod recent;
mod ticks;
mod tsc;
mod watchdog;
mod width;

use super::event::Event;
use crate::word_list::WordList;
pub(crate) use body::{PREFIXES, begins_like_kernel, body};
pub(super) use platform::VIRTUALIZED;
pub(super) use width::{of_release, uname};

/// A group of messages that share keywords.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    /// Registration, selection, override, watchdog: `kernel/time/clocksource.c`.
    Clocksource,
    /// `arch/x86/kernel/tsc.c`, `tsc_sync.c`, calibration.
    Tsc,
    /// Boot banner, command line, CPUs, firmware tables, hypervisors, idle.
    Platform,
    /// A line of journalctl that separates boots; messages of programs next to a log.
    Separator,
}

/// Words that separate boots, and those of programs next to a log.
const SEPARATORS: &[&str] = &[
    " synchronized: ",
    "Leap status",
    "dmesg",
    "reboot",
    "grub",
    "rpm-ostree kargs",
    "shutdown -r",
    "init 6",
    "-- Reboot --",
    "-- Boot ",
];

/// The keywords of each module, with their group.
const LISTS: [(&[&str], Group); 8] = [
    (watchdog::KEYWORDS, Group::Clocksource),
    (tsc::KEYWORDS, Group::Tsc),
    (platform::KEYWORDS, Group::Platform),
    (ticks::KEYWORDS, Group::Platform),
    (recent::KEYWORDS, Group::Platform),
    (arch::KEYWORDS, Group::Platform),
    (width::KEYWORDS, Group::Platform),
    (SEPARATORS, Group::Separator),
];

const COUNT: usize = {
    let (mut count, mut list) = (0, 0);
    while list < LISTS.len() {
        count += LISTS[list].0.len();
        list += 1;
    }
    count
};

/// Every keyword, with its group. Order does not matter; all that occur in a line count.
pub(crate) static KEYWORDS: [(&str, Group); COUNT] = {
    let mut all = [("", Group::Separator); COUNT];
    let (mut at, mut list) = (0, 0);
    while list < LISTS.len() {
        let (words, group) = LISTS[list];
        let mut word = 0;
        while word < words.len() {
            all[at] = (words[word], group);
            at += 1;
            word += 1;
        }
        list += 1;
    }
    all
};

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
        static WORDS: WordList<Group> = WordList::new(|| KEYWORDS.to_vec());
        let mut groups = Self::default();
        WORDS.each_in(text, |group| groups.add(group));
        groups
    }
}

/// The event that a message states, if it is one that concerns clocks. A message is recognised at
/// its beginning, after the kernel's own prefixes ([`body`]).
pub(crate) fn parse(message: &str, groups: Groups) -> Option<Event> {
    let message = unmarked(message.trim_start());
    if process::begins_with_name(message) {
        return None;
    }
    let body = body(message);
    if groups.clocksource
        && let Some(event) = watchdog::parse(message, body)
    {
        return Some(event);
    }
    if groups.tsc
        && let Some(event) = tsc::parse(message, body)
    {
        return Some(event);
    }
    if groups.platform || groups.tsc {
        return platform::parse(message, body);
    }
    None
}

/// Whether a text is a message that states an event.
pub(crate) fn is_clock_message(text: &str) -> bool {
    parse(text, Groups::of(text)).is_some()
}

/// A message without the emphasis or the code marks of Markdown around the whole of it.
fn unmarked(message: &str) -> &str {
    let inside = |mark: &str| {
        let inside = message.strip_prefix(mark)?.trim_end().strip_suffix(mark)?;
        (!inside.contains(mark)).then_some(inside.trim())
    };
    inside("**").or_else(|| inside("`")).unwrap_or(message)
}

/// Whether more text after the message could change its meaning: a mailer may have wrapped it.
pub(crate) fn may_continue(event: &Event) -> bool {
    matches!(
        event,
        Event::TscUnstable(super::event::UnstableReason::Other(_))
            | Event::CommandLine(_)
            | Event::Banner(_)
            | Event::LongReadoutCut
            | Event::Dmi(_)
            | Event::ReadbackDelay { marks: false, .. }
            | Event::ReadbackDelay { delay_ns: None, .. }
            | Event::WatchdogDetail { mask: 0, .. }
            | Event::WatchdogSkewed { interval_ns: None, .. }
            | Event::Registered { max_idle_ns: 0, .. }
    ) || matches!(event, Event::Switched(name) if !crate::names::is_known(name))
        // Every erratum has a number, after this word.
        || matches!(event, Event::ArchTimerErratum(text) if text.trim_end().ends_with("erratum"))
}

/// Where `needle` begins. A log may have millions of lines with a keyword, and `str::find` prepares
/// each of its searches at a cost that is greater than the search of one line.
pub(crate) fn find(text: &str, needle: &str) -> Option<usize> {
    // Checking whether it occurs is cheaper than preparing a search, and it seldom does.
    if text.contains(needle) {
        memchr::memmem::find(text.as_bytes(), needle.as_bytes())
    } else {
        None
    }
}

/// The text after the first occurrence of `needle`.
pub(crate) fn after<'a>(text: &'a str, needle: &str) -> Option<&'a str> {
    find(text, needle).map(|at| &text[at + needle.len()..])
}

/// The leading decimal number (a minus sign is allowed), after skipped blanks.
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

/// The text after the leading digits of a figure, if it shows that the figure is whole: something
/// follows that is neither a digit nor a mark with which a pager cuts a line.
pub(crate) fn behind_figure(text: &str, digit: fn(u8) -> bool) -> Option<&str> {
    let text = text.trim_start();
    let text = text.strip_prefix("0x").or_else(|| text.strip_prefix('-')).unwrap_or(text);
    let rest = &text[text.bytes().take_while(|byte| digit(*byte)).count()..];
    let shown = !rest.is_empty() && !rest.starts_with(['>', '$', '\u{2026}', '=', '.']);
    shown.then_some(rest)
}

/// A decimal number whose end the text shows.
pub(crate) fn whole_number(text: &str) -> Option<i64> {
    behind_figure(text, |byte| byte.is_ascii_digit()).and_then(|_| number(text))
}

/// A hexadecimal number whose end the text shows.
pub(crate) fn whole_hex(text: &str) -> Option<u64> {
    behind_figure(text, |byte| byte.is_ascii_hexdigit()).and_then(|_| hex(text))
}

/// The hexadecimal figure after `key`, if the required `next` follows it, up to the end of the text. Any other text
/// shows that a line break, or the rest of one, is inside the figure.
pub(crate) fn hex_before(text: &str, key: &str, next: &str) -> Option<u64> {
    let rest = after(text, key)?;
    goes_on(behind_figure(rest, |byte| byte.is_ascii_hexdigit())?, next).then(|| hex(rest))?
}

/// The same of a decimal figure.
pub(crate) fn number_before(text: &str, key: &str, next: &str) -> Option<i64> {
    let rest = after(text, key)?;
    goes_on(behind_figure(rest, |byte| byte.is_ascii_digit())?, next).then(|| number(rest))?
}

/// Whether a text begins with a word, or is the beginning of it.
pub(crate) fn goes_on(text: &str, word: &str) -> bool {
    let text = text.trim();
    text.starts_with(word)
        || word.starts_with(text.trim_end_matches(['>', '$', '\u{2026}', '.', '=']))
}

/// Whether a text begins with `2893.298 MHz`, or a part of it that shows the end of the figure.
pub(crate) fn is_megahertz(text: &str) -> bool {
    let figure = |c: char| c.is_ascii_digit() || c == '.';
    let tail = text.trim_start().trim_start_matches(figure);
    tail.starts_with([' ', 'M']) && tail.trim_start().bytes().zip(*b"MHz").all(|(a, b)| a == b)
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
        .find(|c: char| c.is_whitespace() || QUOTES.contains(&c) || ",;()<>".contains(c))
        .unwrap_or(text.len());
    let word = text[..end].trim_end_matches(['.', ':', '=']);
    (!word.is_empty() && word.len() <= 64).then_some(word)
}

/// Whether nothing but the closing signs of a quotation is left.
pub(crate) fn only_quotes(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || QUOTES.contains(&c) || ",;.)".contains(c))
}

/// Whether a word can be the name of a clocksource. The kernel's own names have few signs; those of
/// boards also come from device trees: `sh-tmu.0`, `timer@f0001000`, `e6130000.timer`.
pub(crate) fn is_name(word: &str) -> bool {
    word.len() < 48
        && word.starts_with(|c: char| c.is_ascii_alphanumeric())
        && word.ends_with(|c: char| c.is_ascii_alphanumeric())
        && word.bytes().all(|b| {
            b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b' ' | b'.' | b'@' | b':')
        })
}
