//! Whether a text says without figures that a clock runs at a wrong rate: it drifts, or runs too fast.

use super::relations::sentences;
use super::wall_words::has;

/// What is said of such a clock.
const SAID: [&str; 12] = [
    "runs too fast",
    "runs too slow",
    "running too fast",
    "running too slow",
    "loses time",
    "losing time",
    "gains time",
    "gaining time",
    "drifts",
    "drifted",
    "drifting",
    "drift",
];
/// Words before it with which it is a wish, a possibility or a name.
const NOT_SAID: [&str; 12] = [
    "not", "should", "may", "can", "could", "might", "to", "no", "without", "avoid", "prevent",
    "must",
];
/// Words before it among which is the noun.
const NEAR: usize = 7;
/// Nouns of what does.
const NOUNS: [&str; 5] = ["clock", "time", "date", "rtc", "ntp"];

/// Whether a sentence of a text in small letters says so; the text has a noun of a clock.
pub(super) fn tells(small: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphanumeric();
    let names = NOUNS.iter().any(|noun| has(small, noun, false, is_letter));
    names && sentences(small).any(|text| SAID.iter().any(|said| is_said(text, said)))
}

fn is_said(text: &str, said: &str) -> bool {
    text.match_indices(said).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + said.len()..]);
        let whole = !before.ends_with(|c: char| c.is_alphanumeric() || c == '-')
            && !after.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '-' | '_'));
        let near: Vec<&str> = before.split_whitespace().rev().take(NEAR).collect();
        let last = near.first().copied().unwrap_or("");
        let is_named = |noun: &&str| NOUNS.contains(noun);
        // Programs run too slowly, and files drift apart.
        let of_clock = said.starts_with("drift") || near.iter().any(is_named);
        whole && of_clock && !NOT_SAID.contains(&last) && !(said == "drift" && is_named(&last))
    })
}

#[cfg(test)]
mod tests {
    use super::tells;

    #[test]
    fn clocks_that_drift() {
        for text in ["the system time runs too fast", "my clock was drifting", "the rtc loses time"]
        {
            assert!(tells(text), "{text}");
        }
        for text in
            ["the clock should not drift", "configuration drift", "a drift-file of the clock"]
        {
            assert!(!tells(text), "{text}");
        }
    }
}
