//! Helpers for the text of the judgement.

use crate::cause::{Cause, CauseId, Confidence, Evidence, Severity};
use crate::report::Settle;

pub(super) fn cause(
    id: CauseId,
    severity: Severity,
    confidence: Confidence,
    summary: String,
    evidence: Vec<Evidence>,
) -> Cause {
    Cause { id, severity, confidence, summary, evidence }
}

pub(super) fn settle(fact: &str, how: &str) -> Settle {
    Settle { fact: fact.to_owned(), how: how.to_owned() }
}

pub(super) fn sentence(text: &str) -> String {
    format!("{}.", capital(text))
}

pub(super) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    // Names of programs keep their spelling.
    match letters.next() {
        Some(first)
            if ["the ", "this ", "a ", "in ", "it ", "its ", "according to "]
                .iter()
                .any(|word| text.starts_with(word)) =>
        {
            first.to_uppercase().chain(letters).collect()
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_begin_with_a_capital_unless_a_program_does() {
        assert_eq!(sentence("a program saw a step"), "A program saw a step.");
        assert_eq!(sentence("the clock is wrong"), "The clock is wrong.");
        assert_eq!(sentence("its rate is wrong"), "Its rate is wrong.");
        assert_eq!(sentence("adjtimex found an offset"), "adjtimex found an offset.");
    }
}
