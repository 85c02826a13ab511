//! Words of the field and messages of the kernel, explained.
//!
//! What lives here: the tables (`clocksources`, `causes`, `parameters`, `messages`,
//! `terms`, `policies`), how a query finds its entry (`find`) and what the figures of a pasted
//! message say (`figures`). A new word goes into the table of its kind. What must not live here:
//! parsing of messages (`clocksmith_facts::log`), judgement of a whole machine ([`crate::causes`]).

mod causes;
mod clocksources;
mod entry;
mod figures;
mod find;
mod incidents;
mod messages;
mod parameters;
mod policies;
mod spelling;
mod terms;
mod text;

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
