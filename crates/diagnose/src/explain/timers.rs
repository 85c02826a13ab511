//! Whether a text is about the timers of systemd: when they elapse after a suspend or after the clock was set. The clock itself may be
//! right there.

use super::relations::sentences;
use super::wall_words::has;

/// The page of systemd's timers.
pub(super) const PAGE: &str = "systemd timers";

/// What only a text about these timers has.
const NAMES: [&str; 13] = [
    "systemd timer",
    "systemd timers",
    "systemd.timer",
    "oncalendar",
    "onactivesec",
    "onbootsec",
    "onstartupsec",
    "onunitactivesec",
    "onunitinactivesec",
    "wakesystem",
    "list-timers",
    "--on-active",
    "--on-calendar",
];
/// Nouns of such a timer, and what is said of it.
const TIMERS: [&str; 4] = ["timer", "timers", "oncalendar", "wakesystem"];
const ELAPSES: [&str; 22] = [
    "elapse",
    "elapses",
    "elapsed",
    "elapsing",
    "trigger",
    "triggers",
    "triggered",
    "fire",
    "fires",
    "fired",
    "reset",
    "resets",
    "left",
    "late",
    "twice",
    "suspend",
    "suspended",
    "resume",
    "stuck",
    "never",
    "missed",
    "future",
];

/// Whether a text in small letters says so: it names such a timer, and its title or one sentence says when it elapses.
pub(super) fn tells(small: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let any = |text: &str, words: &[&str]| words.iter().any(|word| has(text, word, false, is_part));
    let is_named = any(small, &NAMES) || small.contains(".timer") && any(small, &["systemctl"]);
    is_named && sentences(small).any(|text| any(text, &TIMERS) && any(text, &ELAPSES))
}

#[cfg(test)]
mod tests {
    use super::super::{of_wall_clock, says_wrong};
    use super::*;

    #[test]
    fn a_timer_that_elapses_late_is_no_wrong_clock() {
        for text in [
            "Timers do not fire after the clock was set back.\n\nThe board had booted with an incorrect date. Since the date was corrected, \
             `systemctl list-timers` shows 2061.",
            "My systemd timer is late by the time of each suspend.\n$ timedatectl\nSystem clock synchronized: yes\n",
            "backup.timer was triggered in the wrong time zone; systemctl shows a stale date",
        ] {
            assert!(tells(&text.to_lowercase()), "{text}");
            assert_eq!(of_wall_clock(text).first(), Some(&PAGE), "{text}");
            assert!(!of_wall_clock(text).contains(&super::super::WALL_CLOCK), "{text}");
            assert!(!says_wrong(text), "{text}");
        }
    }

    #[test]
    fn a_clock_that_a_timer_sets() {
        for text in [
            "the clock is an hour behind, although a systemd timer runs ntpdate",
            "the kitchen timer never fires, and the clock of the oven is wrong",
        ] {
            assert_ne!(of_wall_clock(text).first(), Some(&PAGE), "{text}");
        }
    }
}
