//! Words of a kernel command line inside a line of text: added at the end, removed where they are, everything else left
//! byte for byte.
//!
//! Blanks separate words, and a double quote toggles whether they do, as in `next_arg()` of
//! `lib/cmdline.c`; the words after a lone `--` belong to init, so new words go before it
//! (`parse_args()` of `kernel/params.c`).

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The longest word that is written, in bytes. The whole command line has 2048 on x86.
const LONGEST: usize = 256;

/// A change of the kernel command line.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Change {
    /// Words to add.
    pub add: Vec<String>,
    /// Words to remove, in full: `clocksource=hpet`.
    pub remove: Vec<String>,
}

/// The reason why a word is not written into a boot configuration.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BadWord {
    /// It would be more than one word, or something else to a shell or boot loader.
    #[error(
        "{0:?} cannot be written into a boot configuration: a parameter is NAME or NAME=VALUE of \
         letters, digits and . _ , : = + / @ % -"
    )]
    Characters(String),
    /// Too long.
    #[error("a parameter of {0} bytes is too long: {LONGEST} at most")]
    Long(usize),
    /// It cannot be the user's intention.
    #[error("{0}: added and removed at once")]
    Both(String),
}

impl Change {
    /// Whether there is nothing to do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.add.is_empty() && self.remove.is_empty()
    }

    /// The opposite change: it removes the added words, and adds the removed ones.
    #[must_use]
    pub fn reversed(&self) -> Self {
        Self { add: self.remove.clone(), remove: self.add.clone() }
    }

    /// The part of the change that a command line lacks: missing words, and words that it still
    /// has.
    #[must_use]
    pub fn open(&self, line: &str) -> Self {
        let there = |word: &&String| has(line, word);
        Self {
            add: self.add.iter().filter(|word| !is_in_force(line, word)).cloned().collect(),
            remove: self.remove.iter().filter(there).cloned().collect(),
        }
    }

    /// Whether every word may be written.
    ///
    /// # Errors
    /// Returns the first word that may not be written.
    pub fn check(&self) -> Result<(), BadWord> {
        for word in self.add.iter().chain(&self.remove) {
            check(word)?;
        }
        match self.add.iter().find(|word| self.remove.contains(word)) {
            Some(word) => Err(BadWord::Both(word.clone())),
            None => Ok(()),
        }
    }

    /// The text with the words added and removed.
    #[must_use]
    pub fn of(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for word in &self.remove {
            text = remove(&text, word);
        }
        for word in &self.add {
            text = add(&text, word);
        }
        text
    }

    /// Whether a command line has all added words and no removed word.
    #[must_use]
    pub fn holds(&self, text: &str) -> bool {
        self.open(text).is_empty()
    }
}

/// Whether a word may be written: no quote, no blank, no character with a special meaning for a
/// shell, GRUB's own shell or a loader's configuration.
///
/// # Errors
/// Returns the reason if it may not be written.
pub fn check(word: &str) -> Result<(), BadWord> {
    if word.len() > LONGEST {
        return Err(BadWord::Long(word.len()));
    }
    let first = word.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric() || b == b'_');
    let all = word.bytes().all(|b| b.is_ascii_alphanumeric() || b"._,:=+/@%-".contains(&b));
    if first && all { Ok(()) } else { Err(BadWord::Characters(word.to_owned())) }
}

/// Byte ranges of the words.
fn spans(text: &str) -> Vec<(usize, usize)> {
    let (mut out, mut start, mut quoted) = (Vec::new(), None, false);
    for (at, byte) in text.bytes().enumerate() {
        if byte == b'"' {
            quoted = !quoted;
        }
        if byte.is_ascii_whitespace() && !quoted {
            if let Some(start) = start.take() {
                out.push((start, at));
            }
        } else if start.is_none() {
            start = Some(at);
        }
    }
    out.extend(start.map(|start| (start, text.len())));
    out
}

/// Returns all words, also those after a lone `--`.
#[must_use]
pub fn all(text: &str) -> Vec<&str> {
    spans(text).into_iter().filter_map(|(start, end)| text.get(start..end)).collect()
}

/// The words, up to a lone `--`.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    all(text).into_iter().take_while(|word| *word != "--")
}

/// Returns whether the word is present, before a lone `--`.
#[must_use]
pub fn has(text: &str, word: &str) -> bool {
    words(text).any(|other| other == word)
}

/// Returns whether the word is present, and no later one replaces it: of `clocksource=` the last one applies
/// (`boot_override_clocksource()` of `kernel/time/clocksource.c`). Other parameters may occur more than once.
pub(crate) fn is_in_force(text: &str, word: &str) -> bool {
    const SINGLE: &str = "clocksource=";
    if !word.starts_with(SINGLE) {
        return has(text, word);
    }
    words(text).filter(|other| other.starts_with(SINGLE)).last() == Some(word)
}

/// The text with the word at its end, or unchanged if the word is in force.
#[must_use]
pub fn add(text: &str, word: &str) -> String {
    if is_in_force(text, word) {
        return text.to_owned();
    }
    let init = spans(text).into_iter().find(|(s, e)| text.get(*s..*e) == Some("--"));
    let Some((at, _)) = init else {
        return if text.is_empty() { word.to_owned() } else { format!("{text} {word}") };
    };
    // After the word before, so that its removal also removes its blank.
    let (before, after) = (text.get(..at).unwrap_or_default(), text.get(at..).unwrap_or_default());
    match before.trim().is_empty() {
        true => format!("{before}{word} {after}"),
        false => {
            let split = at.saturating_sub(1);
            let (before, after) = (text.get(..split), text.get(split..));
            format!("{} {word}{}", before.unwrap_or_default(), after.unwrap_or_default())
        }
    }
}

/// The text without the word at any place before a lone `--`, and without one blank next to each.
#[must_use]
pub fn remove(text: &str, word: &str) -> String {
    let mut out = text.to_owned();
    loop {
        let init = spans(&out).into_iter().find(|(s, e)| out.get(*s..*e) == Some("--"));
        let end = init.map_or(out.len(), |(at, _)| at);
        let found =
            spans(&out).into_iter().rev().find(|(s, e)| *e <= end && out.get(*s..*e) == Some(word));
        let Some((mut start, mut stop)) = found else { return out };
        if start > 0 {
            start -= 1;
        } else if stop < out.len() {
            stop += 1;
        }
        out.replace_range(start..stop, "");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_go_to_the_end_and_before_those_of_init() {
        assert_eq!(add("ro quiet", "clocksource=tsc"), "ro quiet clocksource=tsc");
        assert_eq!(add("", "x"), "x");
        assert_eq!(add("ro -- single", "x"), "ro x -- single");
        assert_eq!(add("-- single", "x"), "x -- single");
        assert_eq!(add("ro -- x", "x"), "ro x -- x");
        let twice = "clocksource=tsc clocksource=hpet";
        assert_eq!(add(twice, "clocksource=tsc"), format!("{twice} clocksource=tsc"));
        assert_eq!(add("clocksource=tsc x", "clocksource=tsc"), "clocksource=tsc x");
        assert_eq!(
            add("tsc=reliable tsc=nowatchdog", "tsc=reliable"),
            "tsc=reliable tsc=nowatchdog"
        );
        assert_eq!(remove("x ro x", "x"), "ro");
        assert_eq!(remove("ro -- x", "x"), "ro -- x");
        // Inside quotes it is part of another word.
        assert_eq!(remove("a=\"b x c\" x", "x"), "a=\"b x c\"");
        assert_eq!(remove("xx x=1 ax", "x"), "xx x=1 ax");
    }

    #[test]
    fn only_plain_words_are_written() {
        for good in
            ["tsc=reliable", "clocksource=tsc", "notsc", "intel_idle.max_cstate=1", "a=1,2@3"]
        {
            check(good).unwrap();
        }
        for bad in [
            "", "a b", "a\"", "a'", "a$b", "a`b", "a\nb", "a;b", "a\\b", "a#b", "=x", "-x", "a\0",
            "a&", "\u{e4}",
        ] {
            assert!(check(bad).is_err(), "{bad:?}");
        }
        assert_eq!(check(&"a".repeat(257)), Err(BadWord::Long(257)));
        let both = Change { add: vec!["x".into()], remove: vec!["x".into()] };
        assert_eq!(both.check(), Err(BadWord::Both("x".into())));
    }

    proptest! {
        #[test]
        fn added_and_removed_is_as_before(text in "[a-c =\"-]{0,30}", word in "[a-d]{1,3}(=[a-c]{1,2})?") {
            // Added words are part of an open quote: the kernel would read them in the same way.
            let open = text.matches('"').count() % 2 == 1;
            let text = if open { text + "\"" } else { text };
            prop_assume!(!has(&text, &word));
            let added = add(&text, &word);
            prop_assert!(has(&added, &word), "{added}");
            prop_assert_eq!(&add(&added, &word), &added);
            prop_assert_eq!(remove(&added, &word), text);
        }

        #[test]
        fn any_text_is_survived(text in "\\PC{0,60}", word in "[a-z]{1,4}") {
            let _ = remove(&add(&text, &word), &word);
        }
    }
}
