//! Messages that a text quotes: each at the beginning of a line, behind a stamp or the name of a program, or between quotation
//! marks. Not in this module: messages that are evidence (`clocksmith_facts::log`), words of prose ([`super::terms`]).

use super::find::squeeze;
use super::knowledge::MESSAGES;
use super::placeholders;
use super::wall_words::{occurs, small};

/// Fewest words of a message that is looked for: shorter ones occur in sentences.
const WORDS: usize = 3;
/// Maximum number of messages that are named.
const MOST: usize = 3;
/// Characters before a message that is quoted.
const MARKS: [char; 12] =
    [']', ':', '"', '\'', '`', '*', '>', '|', '(', '\u{201c}', '\u{2018}', '\u{ab}'];
/// Messages of machines without a fault.
const HARMLESS: [&str; 1] = ["perf-interrupt"];

/// The titles of the messages that a text quotes, in its order.
pub(super) fn messages(text: &str) -> Vec<&'static str> {
    let mut found: Vec<(usize, &'static str)> = found(text);
    found.truncate(MOST);
    found.into_iter().map(|(_, title)| title).collect()
}

/// The title of the first message of a text that is known to be harmless, if the text quotes no other.
pub(super) fn harmless(found: &[&'static str]) -> Option<&'static str> {
    let is_harmless = |title: &str| {
        MESSAGES.iter().any(|entry| HARMLESS.contains(&entry.id) && entry.title() == title)
    };
    found.first().copied().filter(|_| found.iter().all(|title| is_harmless(title)))
}

fn found(text: &str) -> Vec<(usize, &'static str)> {
    let small = super::certificates::one_end(&small(text));
    let lines: Vec<String> = small.lines().map(squeeze).collect();
    let all = lines.join("\n");
    // A line with the figures themselves may be evidence.
    let figured: Vec<String> = lines.iter().map(|line| placeholders::of_example(line)).collect();
    let mut found = Vec::new();
    for entry in MESSAGES {
        let words = entry.words.iter().map(|words| squeeze(words));
        let words = words.filter(|words| words.split(' ').count() >= WORDS);
        let is_harmless = HARMLESS.contains(&entry.id);
        let quotes = |lines: &[String], words: &str| {
            lines.iter().position(|line| is_in(line, words) && (is_harmless || !is_stamped(line)))
        };
        // Letters may stand for the figures.
        let forms = entry.words.iter().filter_map(|words| placeholders::of_message(words));
        let places = words
            .filter(|words| occurs(&all, words))
            .filter_map(|words| Some((quotes(&lines, &words)?, words)))
            .chain(forms.filter_map(|form| Some((quotes(&figured, &form)?, form))));
        // The longest form that is in the first line.
        let best = places.min_by_key(|(place, words)| (*place, std::cmp::Reverse(words.len())));
        found.extend(best.map(|(place, words)| (place, words, entry.title())));
    }
    // The page of a message says more than that of all messages which begin like it.
    let general = |(place, words, title): &(usize, String, &str)| {
        found.iter().any(|(other, longer, of)| {
            other == place && of != title && longer.len() > words.len() && longer.contains(words)
        })
    };
    let mut special: Vec<(usize, &'static str)> = found
        .iter()
        .filter(|one| !general(one))
        .map(|(place, _, title)| (*place, *title))
        .collect();
    special.sort_unstable();
    special
}

/// Whether a line is one of a log with the kernel's stamp: its messages are evidence, and not quoted.
fn is_stamped(line: &str) -> bool {
    let stamp = line.trim_start().strip_prefix('[').and_then(|line| line.split_once(']'));
    stamp.is_some_and(|(stamp, _)| stamp.trim().parse::<f64>().is_ok())
}

/// Whether a line quotes a message, both in small letters.
fn is_in(line: &str, message: &str) -> bool {
    line.match_indices(message).any(|(at, _)| {
        let (before, after) = (line[..at].trim_end(), &line[at + message.len()..]);
        let opens = before.is_empty() || before.ends_with(MARKS) || line[..at].ends_with("- ");
        opens && !after.starts_with(|c: char| c.is_alphanumeric())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_that_a_text_quotes() {
        for (text, title) in [
            (
                "look for `tsc: Marking TSC unstable due to clocksource watchdog` in dmesg",
                "Marking TSC unstable due to clocksource watchdog",
            ),
            ("it says \"506 Cannot talk to daemon\" now", "506 Cannot talk to daemon"),
            ("the log:\n  506  CANNOT talk to daemon\n", "506 Cannot talk to daemon"),
            (
                "was giving `Failed to set ntp: NTP not supported.`",
                "Failed to set ntp: NTP not supported",
            ),
        ] {
            assert_eq!(messages(text), [title], "{text}");
        }
    }

    #[test]
    fn figures_and_what_stands_for_them_are_alike() {
        for text in [
            "At each boot I see\n\nclocksource tsc unstable (delta = XXXXXX ns)\n\nIs that bad?",
            "clocksource tsc unstable (delta = nnn ns)",
        ] {
            assert_eq!(messages(text), ["Clocksource tsc unstable (delta = N ns)"], "{text}");
        }
        assert_eq!(messages("ntpd[7]: time reset -4.25 s"), [""; 0]);
    }

    #[test]
    fn sentences_quote_none() {
        for text in [
            "a program cannot talk to daemons",
            "we saw that it cannot talk to daemon and gave up",
            "the announce timeout is 3 s",
            "[    0.100000] hpet0: at MMIO 0xfed00000, IRQs 2, 8, 0",
            "",
        ] {
            assert_eq!(messages(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn a_message_is_harmless_alone() {
        let line = "[ 1003.011834] perf interrupt took too long (2555 > 2500), lowering x";
        assert!(harmless(&messages(line)).is_some_and(|title| title.starts_with("perf: ")));
        assert_eq!(harmless(&messages(&format!("{line}\n506 Cannot talk to daemon"))), None);
        assert_eq!(harmless(&messages("506 Cannot talk to daemon")), None);
    }
}
