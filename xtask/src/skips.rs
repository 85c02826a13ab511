//! Tests that skip themselves: they print `skipped: REASON` and pass, and libtest hides what a test that passes prints.

use std::collections::BTreeMap;

/// How a line about a test that has skipped itself begins.
const WORD: &str = "skipped: ";

/// Characters of a reason: some print what a program said.
const LONGEST: usize = 160;

/// How often tests of a step have skipped themselves, by the step and the reason.
#[derive(Debug, Default)]
pub(crate) struct Skips(BTreeMap<(&'static str, String), usize>);

impl Skips {
    /// Adds the lines in which tests of a step say that they skip themselves.
    pub(crate) fn count(&mut self, step: &'static str, text: &str) {
        for reason in text.lines().filter_map(|line| line.strip_prefix(WORD)) {
            let reason = reason.trim().chars().take(LONGEST).collect();
            *self.0.entry((step, reason)).or_default() += 1;
        }
    }

    /// Whether a test of a program skipped itself.
    pub(crate) fn is_any(text: &str) -> bool {
        text.lines().any(|line| line.starts_with(WORD))
    }

    pub(crate) fn sum(&self) -> usize {
        self.0.values().sum()
    }

    /// A line for each step and reason.
    pub(crate) fn lines(&self) -> Vec<String> {
        let line = |((step, reason), times): (&(&str, String), &usize)| {
            format!("{step}: {reason} ({times} {})", if *times == 1 { "test" } else { "tests" })
        };
        self.0.iter().map(line).collect()
    }
}

/// What a test program printed, without what its tests printed that passed (`--show-output`), of which only the lines about
/// skipping are left.
pub(crate) fn without_output(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let is_title = |line: &&str| *line == "successes:";
    // One before what they printed, and one before their names; a test may also have printed the word.
    let (Some(begin), Some(names)) =
        (lines.iter().position(&is_title), lines.iter().rposition(is_title))
    else {
        return text.to_owned();
    };
    let after = lines.iter().skip(names + 1).take_while(|line| line.starts_with("    ")).count();
    let (before, rest) = lines.split_at(begin);
    let (output, rest) = rest.split_at((names + 1 + after - begin).min(rest.len()));
    let skipped = output.iter().filter(|line| line.starts_with(WORD));
    let kept: Vec<&str> = before.iter().chain(skipped).chain(rest).copied().collect();
    kept.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "
running 4 tests
test a ... ok
test b ... ok
test c ... FAILED
test d ... ok

successes:

---- a stdout ----
skipped: only root may mount
---- b stdout ----
test x ... FAILED
test result: ok. 7 passed; 0 failed
failures:
successes:
    x
---- d stdout ----
skipped: only root may mount
skipped: no strace here

successes:
    a
    b
    d

failures:

---- c stdout ----
skipped: not really

failures:
    c

test result: FAILED. 3 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
";

    #[test]
    fn output_of_tests_that_pass_is_their_skips_alone() {
        let text = without_output(TEXT);
        assert!(!text.contains("test x") && !text.contains("7 passed"), "{text}");
        assert!(text.contains("---- c stdout") && text.contains("3 passed"), "{text}");
        assert!(text.contains("test d ... ok"), "{text}");
        let mut skips = Skips::default();
        skips.count("test", &text);
        skips.count("crash", "skipped: only root may mount\n");
        assert_eq!(skips.sum(), 5);
        assert_eq!(
            skips.lines(),
            [
                "crash: only root may mount (1 test)",
                "test: no strace here (1 test)",
                "test: not really (1 test)",
                "test: only root may mount (2 tests)"
            ]
        );
        assert_eq!(without_output("running 0 tests\n"), "running 0 tests\n");
    }
}
