//! Words of the field and messages of the kernel, explained.
//!
//! What lives here: how a query finds its entry (`find`), which text belongs to an event (`messages`) or a parameter
//! with its value (`parameters`), and what the figures of a pasted message say (`figures`). The texts themselves are
//! pages in `knowledge/`, one folder for each kind; a new word is a new page. What must not live here:
//! parsing of messages (`clocksmith_facts::log`), judgement of a whole machine ([`crate::causes`]).

mod clocksources;
mod entry;
mod figures;
mod find;
mod incidents;
mod knowledge;
mod messages;
mod parameters;
mod policies;
mod spelling;
mod text;
mod wall_words;

pub use entry::{Explanation, Kind};

/// Explains a word, a kernel parameter, a command line, or one or more kernel messages. Empty: not
/// known; [`did_you_mean`] then has offers.
#[must_use]
pub fn explain(query: &str) -> Vec<Explanation> {
    find::explain(query)
}

/// Words and messages close to a query, best first.
#[must_use]
pub fn did_you_mean(query: &str) -> Vec<String> {
    find::close(query)
}

/// The words with pages that a text about a wall clock has: `WSL`, `Docker Desktop`. Empty: it is not about a wall clock, or has
/// none of them.
#[must_use]
pub fn of_wall_clock(text: &str) -> Vec<&'static str> {
    wall_words::of_text(text)
}

/// The words with pages that a text about reads of the clock has: `notsc`, `vDSO`. Empty: it has none of them.
#[must_use]
pub fn of_reads(text: &str) -> Vec<&'static str> {
    wall_words::of_reads(text)
}

/// Everything that can be explained by a word, and every known message.
#[must_use]
pub fn all() -> Vec<Explanation> {
    find::all()
}

/// The words that `explain` takes, without the messages: for completion and for documentation.
#[must_use]
pub fn words() -> Vec<String> {
    find::words()
}

#[cfg(test)]
mod tests;
