//! The kernel command line.

use serde::{Serialize, Serializer};
use std::sync::Arc;

/// A parsed kernel command line: words in order, quotes honoured as the kernel's `next_arg()` does
/// (a double quote toggles; a quoted value may contain blanks).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CommandLine {
    /// Shared by copies: predictions copy a machine for each of its variations, and nothing limits a file's line.
    #[serde(serialize_with = "shared")]
    words: Arc<Vec<Word>>,
}

fn shared<S: Serializer>(words: &Arc<Vec<Word>>, to: S) -> Result<S::Ok, S::Error> {
    words.as_slice().serialize(to)
}

/// One parameter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Word {
    /// The name, as written (`-` and `_` are not unified here).
    pub name: String,
    /// The value after the first `=`, without quotes; `None` for a bare word.
    pub value: Option<String>,
}

impl Word {
    /// The word as it would be written on a command line.
    #[must_use]
    pub fn text(&self) -> String {
        match &self.value {
            Some(value) if value.contains(' ') => format!("{}=\"{value}\"", self.name),
            Some(value) => format!("{}={value}", self.name),
            None => self.name.clone(),
        }
    }
}

impl CommandLine {
    /// Parses a command line. Words after a lone `--` belong to init and are left out.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut words = Vec::new();
        let mut current = String::new();
        let mut quoted = false;
        let mut any = false;
        // It is a C string to the kernel: nothing stands behind a NUL.
        let text = text.split('\0').next().unwrap_or_default();
        for c in text.trim_end_matches('\n').chars().chain(std::iter::once(' ')) {
            match c {
                '"' => {
                    quoted = !quoted;
                    any = true;
                }
                c if c.is_ascii_whitespace() && !quoted => {
                    if any {
                        if current == "--" {
                            return Self { words: Arc::new(words) };
                        }
                        words.push(word(&current));
                        current.clear();
                        any = false;
                    }
                }
                c => {
                    current.push(c);
                    any = true;
                }
            }
        }
        if !current.is_empty() {
            // An unterminated quote: the kernel takes the rest of the line as the value.
            words.push(word(current.trim_end()));
        }
        Self { words: Arc::new(words) }
    }

    /// All words in order.
    #[must_use]
    pub fn words(&self) -> &[Word] {
        &self.words
    }

    /// All values given to `name`, in order (a bare word counts as an empty value). `-` and `_` in
    /// names are equal, as in the kernel's `parameqn()`.
    pub fn values<'a>(&'a self, name: &'a str) -> impl DoubleEndedIterator<Item = &'a str> {
        self.words
            .iter()
            .filter(move |word| same_name(&word.name, name))
            .map(|word| word.value.as_deref().unwrap_or(""))
    }

    /// The last value given to `name`.
    #[must_use]
    pub fn last<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        self.values(name).next_back()
    }

    /// Whether the word is there, with or without a value.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.values(name).next().is_some()
    }

    /// Whether `name=value` is there (any occurrence).
    #[must_use]
    pub fn has_value(&self, name: &str, value: &str) -> bool {
        self.values(name).any(|v| v == value)
    }

    /// The number that the last `name=N` gives, if it is one.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<u64> {
        let text = self.last(name)?;
        match text.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).ok(),
            None => text.parse().ok(),
        }
    }

    /// The clocksource that the command line asks for: the last `clocksource=NAME`, or the
    /// deprecated `clock=NAME` (where `pmtmr` means `acpi_pm`), truncated to the 31 characters that
    /// the kernel keeps. Source: `boot_override_clocksource()`, `boot_override_clock()` in
    /// `kernel/time/clocksource.c`, all versions since 2.6.32.
    /// An empty name clears the choice.
    #[must_use]
    pub fn clocksource_override(&self) -> Option<String> {
        let last: Option<String> = self.words.iter().rev().find_map(|word| {
            let value = word.value.as_deref()?;
            match word.name.as_str() {
                "clocksource" => Some(value.chars().take(31).collect()),
                "clock" if value == "pmtmr" => Some("acpi_pm".to_owned()),
                "clock" => Some(value.chars().take(31).collect()),
                _ => None,
            }
        });
        last.filter(|name| !name.is_empty())
    }

    /// The same line with words appended, as a what-if.
    #[must_use]
    pub fn with(&self, more: &str) -> Self {
        let more = Self::parse(more);
        Self { words: Arc::new(self.words.iter().chain(more.words.iter()).cloned().collect()) }
    }

    /// The same line without any word of that name (or without exactly that `name=value`).
    #[must_use]
    pub fn without(&self, text: &str) -> Self {
        let drop = word(text);
        let words = self
            .words
            .iter()
            .filter(|w| {
                !(same_name(&w.name, &drop.name) && (drop.value.is_none() || w.value == drop.value))
            })
            .cloned()
            .collect();
        Self { words: Arc::new(words) }
    }

    /// The line as text.
    #[must_use]
    pub fn text(&self) -> String {
        self.words.iter().map(Word::text).collect::<Vec<_>>().join(" ")
    }
}

fn word(text: &str) -> Word {
    match text.split_once('=') {
        Some((name, value)) => Word { name: name.to_owned(), value: Some(value.to_owned()) },
        None => Word { name: text.to_owned(), value: None },
    }
}

fn same_name(a: &str, b: &str) -> bool {
    a.len() == b.len()
        && a.bytes().zip(b.bytes()).all(|(x, y)| {
            let fold = |c: u8| if c == b'-' { b'_' } else { c };
            fold(x) == fold(y)
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn last_one_wins_and_clock_is_an_alias() {
        let line = CommandLine::parse("quiet clocksource=hpet root=/dev/sda1 clocksource=tsc\n");
        assert_eq!(line.clocksource_override().as_deref(), Some("tsc"));
        let line = CommandLine::parse("clock=pmtmr");
        assert_eq!(line.clocksource_override().as_deref(), Some("acpi_pm"));
        let line = CommandLine::parse("clocksource=pmtmr");
        assert_eq!(line.clocksource_override().as_deref(), Some("pmtmr"));
        let long = format!("clocksource={}", "a".repeat(60));
        assert_eq!(CommandLine::parse(&long).clocksource_override().unwrap().len(), 31);
    }

    #[test]
    fn quotes_and_init_words() {
        let line = CommandLine::parse("a=\"b c\" d -- clocksource=hpet");
        assert_eq!(line.words().len(), 2);
        assert_eq!(line.last("a"), Some("b c"));
        assert_eq!(line.clocksource_override(), None);
        assert!(CommandLine::parse("no-kvmclock").has("no_kvmclock"));
        assert_eq!(CommandLine::parse("quiet a=b\0 notsc\0").text(), "quiet a=b");
    }

    #[test]
    fn what_if_edits() {
        let line = CommandLine::parse("tsc=reliable tsc=nowatchdog quiet");
        assert_eq!(line.without("tsc=reliable").text(), "tsc=nowatchdog quiet");
        assert_eq!(line.without("tsc").text(), "quiet");
        assert_eq!(line.with("notsc").text(), "tsc=reliable tsc=nowatchdog quiet notsc");
    }

    #[test]
    fn clone_shares_the_words_of_a_line_of_any_length() {
        let line = CommandLine::parse(&"a ".repeat(60_000));
        assert!(Arc::ptr_eq(&line.words, &line.clone().words));
        assert_eq!(
            serde_json::to_value(CommandLine::parse("a b=c")).unwrap()["words"][1]["value"],
            "c"
        );
    }

    proptest! {
        #[test]
        fn any_text_parses_and_prints_back_to_the_same_words(text in "\\PC{0,200}") {
            let line = CommandLine::parse(&text);
            prop_assert!(line.words().len() <= text.len() + 1);
        }

        #[test]
        fn plain_words_survive(words in proptest::collection::vec("[a-z_.]{1,8}(=[a-z0-9,]{0,8})?", 0..12)) {
            let text = words.join(" ");
            prop_assert_eq!(CommandLine::parse(&text).text(), text);
        }
    }
}
