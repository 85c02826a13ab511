//! Redis and Valkey: the warning at their start, and `--check-system` (`src/syscheck.c`, Redis 7.0 and later).

use super::{Rule, Seen, Warning};
use crate::names;
use crate::paste::{Page, Reader};

pub(super) const READER: Reader = Reader {
    name: "Redis warning",
    // A mailer may have wrapped the sentences after these words.
    words: &["low system", BROKEN, "-clocksource]", "configured"],
    read,
};

/// The beginning of the other one.
const SLOW: &str = "low system clocksource detected";
/// The same after its first word.
const BROKEN: &str = "system clocksource detected";
/// Lines over which the beginning of a sentence may be wrapped.
const WRAPPED: usize = 4;

/// The beginning of the warning, in the server's log and in the answer of the check.
const XEN: &str = "configured to use the 'xen' clocksource";

fn read(page: &mut Page<'_>, at: usize) -> usize {
    // Behind the part of the line that is of the sentence before, wrapped where the mailer did.
    let begins = |sentence: &str, word: &str| {
        page.line(at).contains(sentence)
            || page.line(at).rfind(word).is_some_and(|from| {
                // Its beginning is the end of this line.
                let rest = page.line(at)[from..].trim_end();
                let begin = sentence.find(word).map_or("", |from| &sentence[from..]);
                begin.starts_with(rest) && page.joined(at, WRAPPED).contains(sentence)
            })
    };
    if super::code::is_source(page.line(at)) {
        return 0;
    }
    let is_broken = page.line(at).trim_start().starts_with(BROKEN)
        && at > 0
        && page.line(at - 1).trim_end().ends_with("low");
    let (warns_of_xen, is_slow) =
        (begins(XEN, "configured"), begins(SLOW, "low system") || is_broken);
    let line = page.line(at);
    let product = if line.to_ascii_lowercase().contains("valkey") { "Valkey" } else { "Redis" };
    // The whole message of the server's log names the other check after it.
    if warns_of_xen {
        // The server reads current_clocksource for it (checkXenClocksource()).
        page.quotes_sysfs(at, "xen", &[]);
        let warning = Warning {
            product,
            rule: Rule::Xen,
            current: Some("xen".to_owned()),
            ..Warning::default()
        };
        page.symptom(at, READER.name, Seen::Warning(warning));
        return 1;
    }
    if line.contains("-clocksource]") {
        if line.trim_end().ends_with("OK") && line.contains("[slow-clocksource]") {
            // The line is the same in both.
            let product = "Redis or Valkey";
            let warning = Warning { product, rule: Rule::Passed, ..Warning::default() };
            page.symptom(at, READER.name, Seen::Warning(warning));
        }
        return 1;
    }
    if !is_slow {
        return 0;
    }
    // A mailer may have wrapped the sentence.
    let mut text = line.to_owned();
    let mut end = at + 1;
    while end < page.len().min(at + 8) && !text.contains("kernel command line parameter") {
        let next = page.line(end).trim();
        if next.is_empty() || page.is_prompt(end) {
            break;
        }
        text.push(' ');
        text.push_str(next);
        end += 1;
    }
    let value = |name: &str| {
        let (_, rest) = text.split_once(name)?;
        Some(rest.split_once(". ").map_or(rest, |(value, _)| value).trim().trim_end_matches('.'))
    };
    let current = value("Current clocksource:").filter(|name| names::is_known(name));
    let available: Vec<String> = value("Available clocksources:")
        .into_iter()
        .flat_map(str::split_ascii_whitespace)
        .filter(|name| names::is_known(name))
        .map(str::to_owned)
        .collect();
    // The server quotes sysfs.
    if let Some(name) = current {
        page.quotes_sysfs(at, name, &available);
    }
    let complete = text.contains("Current clocksource:");
    let warning =
        Warning { product, rule: Rule::KernelTime, current: current.map(str::to_owned), available };
    page.symptom(at, READER.name, Seen::Warning(warning));
    if complete { end - at } else { 1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paste::Pasted;

    fn rules(text: &str) -> Vec<Rule> {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let symptoms = Pasted::read(&lines, "text").symptoms;
        let warnings = symptoms.into_iter().filter_map(|symptom| match symptom.seen {
            Seen::Warning(warning) => Some(warning.rule),
            _ => None,
        });
        warnings.collect()
    }

    /// The text, with a line's end in place of each of its blanks in turn.
    fn wrapped(text: &str) -> Vec<String> {
        let blanks = text.match_indices(' ').map(|(at, _)| at);
        blanks.map(|at| format!("{}\n{}", &text[..at], &text[at + 1..])).collect()
    }

    #[test]
    fn warnings_are_read_wherever_they_are_wrapped() {
        let xen = "1:M 10 Dec 2025 # WARNING Your system is configured to use the 'xen' clocksource which might be slow.";
        let slow = "# Slow system clocksource detected. Current clocksource: hpet. Available clocksources: tsc hpet.";
        let clickhouse = "Linux is not using a fast clock source. Performance can be degraded.";
        let old = "Linux is not using a fast TSC clock source. Performance can be degraded.";
        for (text, rule) in [
            (xen, Rule::Xen),
            (slow, Rule::KernelTime),
            (clickhouse, Rule::NotFast),
            (old, Rule::Name),
        ] {
            assert_eq!(rules(text), [rule], "{text}");
            for text in wrapped(text) {
                assert_eq!(rules(&text), [rule], "{text}");
            }
        }
        assert_eq!(
            rules("The server is configured to use the clocksource tsc.\nIt is a slow system.\n"),
            []
        );
    }
}
