//! Warnings of servers that judge by the name of the clocksource: ClickHouse (`programs/server/Server.cpp`), Elastic's
//! agent for Java.

use super::{Rule, Seen, Warning};
use crate::paste::{Page, Reader};

pub(super) const READER: Reader = Reader {
    name: "warning of a server",
    words: &[
        // The sentence may continue in the next line.
        "not using",
        "using a fast",
        "fast TSC clock source",
        "fast clock source",
        "slow clock source",
        "slow clocksource",
        "clocksource is slow",
    ],
    read,
};

/// Lines over which a mailer may have wrapped the sentence.
const WRAPPED: usize = 3;

fn read(page: &mut Page<'_>, at: usize) -> usize {
    let line = page.joined(at, WRAPPED);
    let first = page.line(at);
    // The sentence begins on this line.
    let named = |text: &str| READER.words[2..].iter().any(|word| text.contains(word));
    let broken = first.contains("not using") || first.trim_start().starts_with("using a fast");
    if !named(&line) || !(named(first) || broken) || super::code::is_source(first) {
        return 0;
    }
    let product = if line.contains("using a fast") {
        "ClickHouse"
    } else if line.contains("assandra") {
        "Cassandra"
    } else {
        "A server"
    };
    let warns = product == "ClickHouse" || line.contains("WARN") || line.contains("warning");
    if !warns {
        return 0;
    }
    let rule = if line.contains("using a fast clock source") { Rule::NotFast } else { Rule::Name };
    page.symptom(at, READER.name, Seen::Warning(Warning { product, rule, ..Warning::default() }));
    1
}

#[cfg(test)]
mod tests {
    use crate::paste::Pasted;

    #[test]
    fn sentence_in_source_code_is_not_a_warning() {
        let sentence = "Linux is not using a fast clock source. Performance can be degraded.";
        for (text, warnings) in [
            (format!("<Warning> Application: {sentence}"), 1),
            (format!("programs/server/Server.cpp:1123:        \"{sentence} Check \" + path);"), 0),
            (format!("tests/a.sh:12:# {sentence}"), 0),
        ] {
            assert_eq!(
                Pasted::read(std::slice::from_ref(&text), "text").symptoms.len(),
                warnings,
                "{text}"
            );
        }
    }
}
