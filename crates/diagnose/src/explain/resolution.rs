//! Whether a text is about the size of the steps in which a clock's values increase. Such a clock shows no wrong time.

use super::clock_faults;
use super::relations::sentences;
use super::wall_words::has;

/// The page of these steps.
pub(super) const PAGE: &str = "clock resolution";

/// Nouns of a clock or of what it returns.
const CLOCKS: [&str; 17] = [
    "clock",
    "clocks",
    "clocksource",
    "time",
    "times",
    "timestamp",
    "timestamps",
    "clock_gettime",
    "clock_realtime",
    "clock_monotonic",
    "gettimeofday",
    "hrtime",
    "nanotime",
    "nanoseconds",
    "timer",
    "took",
    "elapsed",
];
/// What is said of their steps.
const STEPS: [&str; 14] = [
    "granularity",
    "too coarse",
    "coarse-grained",
    "quantized",
    "quantised",
    "always ends with",
    "always end with",
    "always ends in",
    "always end in",
    "multiples of",
    "multiple of",
    "always a multiple",
    "clock resolution",
    "timer resolution",
];
/// Words that mean such steps only next to nanoseconds or a resolution.
const ROUNDED: [&str; 2] = ["rounded", "truncated"];
const FINE: [&str; 6] = ["resolution", "nanoseconds", "ns", "hrtime", "microseconds", "precision"];

/// Whether a sentence of a text in small letters says so.
pub(super) fn tells(small: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    // A clock that shows a wrong time is another matter.
    !clock_faults::states(small)
        && sentences(small).any(|text| {
            let text = &text.split_whitespace().collect::<Vec<_>>().join(" ");
            let any = |words: &[&str]| words.iter().any(|word| has(text, word, false, is_part));
            any(&CLOCKS) && (any(&STEPS) || any(&ROUNDED) && any(&FINE))
        })
}

#[cfg(test)]
mod tests {
    use super::super::{of_reads, of_wall_clock};
    use super::*;

    #[test]
    fn steps_of_a_clock_are_no_wrong_time() {
        for text in [
            "In our Azure guests CLOCK_REALTIME is too coarse for the entropy collector",
            "The nanoseconds of time.Now() always end with 00 in this virtual machine",
            "clock_gettime: are the values multiples of 70 ns with hpet?",
            "the granularity of the system clock in the VM",
        ] {
            assert!(tells(&text.to_lowercase()), "{text}");
            let (wall, reads) = (of_wall_clock(text), of_reads(text));
            let first = wall.first().or(reads.first());
            assert_eq!(first, Some(&PAGE), "{text}: {wall:?} {reads:?}");
            assert!(!wall.contains(&super::super::WALL_CLOCK), "{text}: {wall:?}");
        }
    }

    #[test]
    fn other_steps() {
        for text in [
            "the time zone is wrong by multiples of an hour? no, by one hour",
            "the clock is behind; its display is rounded",
            "the granularity of locks",
            "CLOCK_MONOTONIC_COARSE is faster",
        ] {
            assert!(!of_reads(text).contains(&PAGE), "{text}");
            assert!(!of_wall_clock(text).contains(&PAGE), "{text}");
        }
    }
}
