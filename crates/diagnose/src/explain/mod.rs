//! Explanations of technical terms and kernel messages.
//!
//! This module finds the entry of a query (`find`), the text of an event (`messages`) or of a parameter
//! with its value (`parameters`), and the meaning of the figures of a pasted message (`figures`). The texts themselves
//! are pages in `knowledge/`, one folder for each kind; a new term is a new page. Not in this module: parsing of
//! messages (`clocksmith_facts::log`), judgement of a whole machine ([`crate::causes`]).

mod beside;
mod camel;
mod certificates;
mod clock_faults;
mod clocksources;
mod commands;
mod demoted;
mod denied;
mod drifts;
mod entry;
mod figures;
mod find;
mod incidents;
mod kinds;
mod knowledge;
mod known;
mod listed;
mod messages;
mod no_claim;
mod parameters;
mod placeholders;
mod policies;
mod quoted;
mod ratios;
mod read_words;
mod refused;
mod relations;
mod remarked;
mod resets;
mod resolution;
mod short_sleep;
mod sides;
mod spelling;
mod stale;
mod stated_rate;
mod terms;
mod text;
mod timers;
mod traces;
mod unit;
mod wall_pages;
mod wall_words;

pub use entry::{Explanation, Kind};
pub use kinds::EXAMPLES;
pub use known::Known;
pub use terms::Term;
pub use wall_pages::{OF_STARTS, RATE};
pub use wall_words::GENERAL as WALL_CLOCK;

/// Explains a word, a kernel parameter, a command line, or one or more kernel messages. Empty for an unknown query:
/// [`did_you_mean`] then has suggestions.
#[must_use]
pub fn explain(query: &str) -> Vec<Explanation> {
    find::explain(query)
}

/// Words and messages similar to a query, best first.
#[must_use]
pub fn did_you_mean(query: &str) -> Vec<String> {
    find::close(query)
}

/// The words with pages in a text about a wall clock: `WSL`, `Docker Desktop`. Empty if the text is not about a wall
/// clock, or has no such word.
#[must_use]
pub fn of_wall_clock(text: &str) -> Vec<&'static str> {
    wall_words::of_text(text)
}

/// Whether a text says that a clock shows a wrong time, and does not only name words of that field.
#[must_use]
pub fn says_wrong(text: &str) -> bool {
    wall_words::says_wrong(text)
}

/// The rate at which a clock goes wrong by the figures of a text about a wall clock ([`of_wall_clock`]), as a sentence with
/// what follows from it.
#[must_use]
pub fn stated_rate(text: &str) -> Option<String> {
    let small = wall_words::small(text);
    short_sleep::said(&small).or_else(|| stated_rate::said(&small))
}

/// The words with pages in a text about reads of the clock: `notsc`, `vDSO`. Empty if it has none.
#[must_use]
pub fn of_reads(text: &str) -> Vec<&'static str> {
    read_words::of_reads(text)
}

/// The words with pages that a text in prose names, those that say most of it first, at most three.
#[must_use]
pub fn of_terms(text: &str) -> Vec<Term> {
    terms::of_text(text)
}

/// Why nothing in a text is a report of a fault, although it has words about clocks: it is a list of releases, a test, an
/// exercise, a rule of a monitor, lines found in sources, or it says that no clock is at fault. Words for `It is ...`.
#[must_use]
pub fn no_claim(text: &str) -> Option<&'static str> {
    no_claim::of_text(text)
}

/// The messages with pages that a text quotes, by their titles: at the beginning of a line, behind a stamp or a name, or between
/// quotation marks.
#[must_use]
pub fn quoted(text: &str) -> Vec<&'static str> {
    quoted::messages(text)
}

/// The page that answers a text whose only known lines or figures show no fault of a clock, and the answer in one sentence;
/// `quoted`: the messages that [`quoted()`] finds in the text.
#[must_use]
pub fn harmless(text: &str, quoted: &[&'static str]) -> Option<(&'static str, &'static str)> {
    traces::of_text(text).or_else(|| {
        let title = quoted::harmless(quoted)?;
        Some((title, "The kernel's lines in this text that clocksmith knows are harmless: they show no fault of a clock."))
    })
}

/// Whether a text judges a clocksource by the cost of its reads or by its stability, and says nothing of a wrong time.
#[must_use]
pub fn judges_a_clocksource(text: &str) -> bool {
    read_words::judges_a_clocksource(text)
}

/// Whether a text names a sleep or a suspend, after which a watchdog finds clocks apart.
#[must_use]
pub fn names_a_sleep(text: &str) -> bool {
    read_words::names_a_sleep(text)
}

/// The commands that show whether the clock of a text's machine is synchronised, as a list in words: those of the daemon that it
/// names, and none that failed in it.
#[must_use]
pub fn asked_for(text: &str) -> String {
    commands::of_text(text)
}

/// The core of the pages of these words, at most three.
#[must_use]
pub fn known(words: &[&str]) -> Vec<Known> {
    known::known(words)
}

/// Every explanation that a word finds, and every known message.
#[must_use]
pub fn all() -> Vec<Explanation> {
    find::all()
}

/// The words that `explain` accepts, without the messages: for completion and for documentation.
#[must_use]
pub fn words() -> Vec<String> {
    find::words()
}

#[cfg(test)]
mod tests;
