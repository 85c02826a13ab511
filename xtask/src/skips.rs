//! Tests that skip themselves: they print `skipped: REASON` and pass, and libtest hides what a test that passes prints.

use std::collections::BTreeMap;
use std::ffi::OsString;

/// How a line about a test that has skipped itself begins, unless libtest has begun it with the name of the test.
const WORD: &str = "skipped: ";

/// Characters of a reason: some print what a program said.
const LONGEST: usize = 160;

/// How often tests of a step have skipped themselves, by the step and the reason.
#[derive(Debug, Default)]
pub(crate) struct Skips(BTreeMap<(&'static str, String), usize>);

impl Skips {
    /// Adds the lines in which tests of a step say that they skip themselves.
    pub(crate) fn count(&mut self, step: &'static str, text: &str) {
        for reason in reasons(text) {
            let reason = reason.trim().chars().take(LONGEST).collect();
            *self.0.entry((step, reason)).or_default() += 1;
        }
    }

    /// Whether a test of a program skipped itself.
    pub(crate) fn is_any(text: &str) -> bool {
        reasons(text).next().is_some()
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

/// Why a test skipped itself, by a line that it printed. Where libtest runs one test at a time (`--nocapture` on one processor),
/// it has begun the line: `test NAME ... skipped: REASON`.
fn reason(line: &str) -> Option<&str> {
    let named = || line.strip_prefix("test ")?.split_once(" ... ").map(|(_, rest)| rest);
    line.strip_prefix(WORD).or_else(|| named()?.strip_prefix(WORD))
}

/// Why tests skipped themselves, one for each line that says so.
pub(crate) fn reasons(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(reason)
}

/// Whether a command runs tests of cargo whose output is hidden: libtest hides what a test that passes prints, also that it has
/// skipped itself. The examples of documentation do not skip themselves.
pub(crate) fn are_hidden(words: &[OsString]) -> bool {
    let has = |names: &[&str]| words.iter().any(|word| names.iter().any(|name| word == name));
    words.first().is_some_and(|word| word == "cargo")
        && words.iter().skip(1).take(3).any(|word| word == "test")
        && !has(&["--no-run", "--doc", "--nocapture", SHOW])
}

/// The option that shows what a test that passes prints.
pub(crate) const SHOW: &str = "--show-output";

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
    let skipped = output.iter().filter(|line| reason(line).is_some());
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
    fn skip_in_a_line_that_libtest_began_is_counted() {
        let text = "test a::b ... skipped: no strace\nok\ntest c - should panic ... skipped: no cc\nskipped: no cc\n\
            test d ... ok\nthe test e ... skipped: x\nwas skipped: x\n";
        let mut skips = Skips::default();
        skips.count("crash", text);
        assert_eq!(skips.lines(), ["crash: no cc (2 tests)", "crash: no strace (1 test)"]);
        assert!(Skips::is_any("test a ... skipped: x\n") && !Skips::is_any("test a ... ok\n"));
    }

    #[test]
    fn tests_whose_output_is_hidden_are_those_of_cargo_without_an_option() {
        let is = |line: &str| are_hidden(&line.split(' ').map(OsString::from).collect::<Vec<_>>());
        for line in ["cargo test", "cargo +nightly miri test --lib", "cargo test -p x -- --ignored"]
        {
            assert!(is(line), "{line}");
        }
        for line in [
            "cargo test --no-run",
            "cargo test --doc",
            "cargo test -- --nocapture",
            "cargo test -- --show-output",
            "cargo check -p x --target test",
            "packaging/x.sh test",
        ] {
            assert!(!is(line), "{line}");
        }
    }

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
