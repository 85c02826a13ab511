//! The kernel command line.

use serde::ser::{Serialize, SerializeStruct, Serializer};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// A parsed kernel command line: words in order, quotes honoured as the kernel's `next_arg()` does
/// (a double quote toggles; a quoted value may contain blanks).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandLine {
    /// Shared by copies: predictions copy a machine for each of its variations and ask it for many names, and nothing
    /// limits a file's line.
    line: Arc<Line>,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Line {
    words: Vec<Word>,
    /// The indices of the words with a name; `-` in the name is `_`.
    places: HashMap<String, Vec<usize>>,
}

impl Serialize for CommandLine {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut fields = to.serialize_struct("CommandLine", 1)?;
        fields.serialize_field("words", self.words())?;
        fields.end()
    }
}

impl From<Vec<Word>> for CommandLine {
    fn from(words: Vec<Word>) -> Self {
        let mut places: HashMap<String, Vec<usize>> = HashMap::new();
        for (index, word) in words.iter().enumerate() {
            places.entry(folded(&word.name).into_owned()).or_default().push(index);
        }
        Self { line: Arc::new(Line { words, places }) }
    }
}

/// A name as it is compared.
fn folded(name: &str) -> Cow<'_, str> {
    if name.contains('-') { name.replace('-', "_").into() } else { name.into() }
}

/// One parameter.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
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
        // The kernel reads a C string, which ends at a NUL.
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
                            return words.into();
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
        words.into()
    }

    /// All words in order.
    #[must_use]
    pub fn words(&self) -> &[Word] {
        &self.line.words
    }

    /// The words of a name, in order.
    fn named(&self, name: &str) -> impl DoubleEndedIterator<Item = &Word> {
        let places = self.line.places.get(folded(name).as_ref()).map_or(&[][..], Vec::as_slice);
        places.iter().filter_map(|place| self.words().get(*place))
    }

    /// All values given to `name`, in order (a bare word counts as an empty value). `-` and `_` in
    /// names are equal, as in the kernel's `parameqn()`.
    pub fn values<'a>(&'a self, name: &'a str) -> impl DoubleEndedIterator<Item = &'a str> {
        self.named(name).map(|word| word.value.as_deref().unwrap_or(""))
    }

    /// The last value given to `name`.
    #[must_use]
    pub fn last<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        self.values(name).next_back()
    }

    /// Whether the word is present, with or without a value.
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

    /// The clocksource that the command line requests: the last `clocksource=NAME`, or the
    /// deprecated `clock=NAME` (where `pmtmr` means `acpi_pm`), truncated to the 31 characters that
    /// the kernel keeps. Source: `boot_override_clocksource()`, `boot_override_clock()` in
    /// `kernel/time/clocksource.c`, all versions since 2.6.32.
    /// An empty name clears the choice.
    #[must_use]
    pub fn clocksource_override(&self) -> Option<String> {
        self.overrides().map(|(_, name)| name)
    }

    /// The word of the line that asks for it, as it is written: `clocksource=hpet`, `clock=pmtmr`.
    #[must_use]
    pub fn clocksource_word(&self) -> Option<String> {
        self.overrides().map(|(word, _)| word.text())
    }

    /// The last word that names a clocksource, and the name.
    fn overrides(&self) -> Option<(&Word, String)> {
        // Most lines have none: those are not searched.
        if !self.has("clocksource") && !self.has("clock") {
            return None;
        }
        let last = self.words().iter().rev().find_map(|word| {
            let value = word.value.as_deref()?;
            let name = match word.name.as_str() {
                "clock" if value == "pmtmr" => "acpi_pm".to_owned(),
                "clocksource" | "clock" => value.chars().take(31).collect(),
                _ => return None,
            };
            Some((word, name))
        });
        last.filter(|(_, name)| !name.is_empty())
    }

    /// The same line with words appended, as a what-if.
    #[must_use]
    pub fn with(&self, more: &str) -> Self {
        let more = Self::parse(more);
        self.words().iter().chain(more.words()).cloned().collect::<Vec<_>>().into()
    }

    /// The same line without any word of that name (or without exactly that `name=value`).
    #[must_use]
    pub fn without(&self, text: &str) -> Self {
        let drop = word(text);
        let words: Vec<Word> = self
            .words()
            .iter()
            .filter(|w| {
                !(same_name(&w.name, &drop.name) && (drop.value.is_none() || w.value == drop.value))
            })
            .cloned()
            .collect();
        words.into()
    }

    /// The same line without the words of another one, each as [`without`](Self::without) removes it.
    #[must_use]
    pub fn without_all(&self, less: &Self) -> Self {
        let goes = |word: &Word| {
            less.named(&word.name).any(|drop| drop.value.is_none() || drop.value == word.value)
        };
        self.words().iter().filter(|word| !goes(word)).cloned().collect::<Vec<_>>().into()
    }

    /// The line as text.
    #[must_use]
    pub fn text(&self) -> String {
        self.words().iter().map(Word::text).collect::<Vec<_>>().join(" ")
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
        let less = CommandLine::parse("tsc=reliable quiet=x quiet");
        assert_eq!(line.without_all(&less).text(), "tsc=nowatchdog");
        assert_eq!(line.with("notsc").text(), "tsc=reliable tsc=nowatchdog quiet notsc");
    }

    #[test]
    fn clone_shares_the_words_of_a_line_of_any_length() {
        let line = CommandLine::parse(&"a ".repeat(60_000));
        assert!(Arc::ptr_eq(&line.line, &line.clone().line));
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
        fn words_are_taken_out_together_as_one_by_one(
            words in proptest::collection::vec("[ab_-]{1,2}(=[xy])?", 0..8),
            less in proptest::collection::vec("[ab_-]{1,2}(=[xy])?", 0..4),
        ) {
            let line = CommandLine::parse(&words.join(" "));
            let less = CommandLine::parse(&less.join(" "));
            let by_one = less.words().iter().fold(line.clone(), |line, word| line.without(&word.text()));
            prop_assert_eq!(line.without_all(&less).text(), by_one.text());
        }

        #[test]
        fn plain_words_survive(words in proptest::collection::vec("[a-z_.]{1,8}(=[a-z0-9,]{0,8})?", 0..12)) {
            let text = words.join(" ");
            prop_assert_eq!(CommandLine::parse(&text).text(), text);
        }
    }
}
