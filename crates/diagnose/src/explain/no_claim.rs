//! Texts that name faults of clocks, and report none: lists of releases, tests of programs, exercises, and posts that say that
//! the clock is not at fault.

use super::kinds;
use super::wall_words::small;

/// Headings of lists of releases.
const OF_RELEASES: [&str; 18] = [
    "\u{e4}nderungsprotokoll",
    "\u{e4}nderungen in version",
    "versionshinweise",
    "notes de version",
    "journal des modifications",
    "notas de la versi\u{f3}n",
    "registro de cambios",
    "notas de vers\u{e3}o",
    "\u{66f4}\u{65b0}\u{65e5}\u{5fd7}",
    "\u{5909}\u{66f4}\u{5c65}\u{6b74}",
    "\u{30ea}\u{30ea}\u{30fc}\u{30b9}\u{30ce}\u{30fc}\u{30c8}",
    "changelog",
    "change log",
    "release notes",
    "what's new",
    "what's changed",
    "release history",
    "full changelog",
];
/// Headings of their parts.
const PARTS: [&str; 10] = [
    "added",
    "fixed",
    "changed",
    "removed",
    "bug fixes",
    "bugfixes",
    "enhancements",
    "features",
    "improvements",
    "fixes",
];
/// Lines at the beginning in which a heading of the whole is.
const HEAD: usize = 4;
/// Words of a title, at most.
const TITLE: usize = 6;
/// Of all lines at least one in this many is an item.
const ITEMS: usize = 3;

/// Beginnings and parts of lines of tests.
const OF_TESTS: [&str; 20] = [
    "--- pass: ",
    "--- fail: ",
    "=== run ",
    "ok  \t",
    "#[test]",
    "def test_",
    "func test",
    "@test",
    "assert_eq!(",
    "assert!(",
    "assert ",
    "assertequal",
    "assert.",
    "expect(",
    "it('",
    "it(\"",
    "describe(",
    "test_f(",
    "t.fatalf(",
    "require.equal(",
];
/// Lines of tests from which on a text is one.
const ASSERTIONS: usize = 3;
/// A text is a test if at least one of this many lines is of one.
const SHARE: usize = 8;

/// Words of books and exercises.
const OF_EXERCISES: [&str; 9] = [
    "figures will differ",
    "your output will differ",
    "your numbers will differ",
    "output may differ from",
    "exercise:",
    "exercises for",
    "solution to exercise",
    "in this exercise",
    "as an exercise",
];

/// Words by which no clock is at fault.
const DENIALS: [&str; 22] = [
    "was not the clocksource",
    "nothing is wrong with the time",
    "it is not the clock",
    "it's not the clock",
    "it isn't the clock",
    "is not a clock issue",
    "is not a clock problem",
    "not a clock issue",
    "not a clock problem",
    "not a time sync issue",
    "not a time sync problem",
    "isn't a clock problem",
    "so not the clock",
    "the clock is not the cause",
    "the clock is not the problem",
    "clock is not at fault",
    "nothing to do with the clock",
    "nothing to do with clocks",
    "not related to the clock",
    "unrelated to the clock",
    "ruled out the clock",
    "the clock was not the",
];

/// Why nothing in a text is a report, in words for `It is ...`.
pub(super) fn of_text(text: &str) -> Option<&'static str> {
    let small = small(text);
    let flat = small.split_whitespace().collect::<Vec<_>>().join(" ");
    let any = |words: &[&str]| words.iter().any(|word| flat.contains(word));
    let lines: Vec<&str> = small.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    if is_of_releases(&lines) {
        Some("a list of releases")
    } else if is_test(&lines) {
        Some("a test of a program")
    } else if any(&OF_EXERCISES) || is_numbered_exercise(&lines) {
        Some("an example of a book or a course")
    } else if any(&DENIALS) {
        Some("a text that says that the clock is not at fault")
    } else {
        kinds::of_lines(&lines)
    }
}

fn is_of_releases(lines: &[&str]) -> bool {
    let heading = |line: &str| {
        line.trim_start_matches(['#', '=', ' ', '*', '[']).trim_end_matches([':', '*']).to_owned()
    };
    let bullets = lines.iter().filter(|line| line.starts_with(['-', '*', '\u{2022}'])).count();
    // `2.1.0: fixed ...`
    let numbered = |line: &&&str| {
        line.split_once(": ").is_some_and(|(first, _)| !first.contains(' ') && is_version(first))
    };
    let numbered = lines.iter().filter(numbered).count();
    let is_titled = || OF_RELEASES.iter().any(|title| lines[0].contains(title));
    if numbered > 1 && numbered * 2 >= lines.len() && is_titled() {
        return true;
    }
    let items = bullets;
    if items < 2 || items * ITEMS < lines.len() {
        return false;
    }
    // In any language: a title with a version, and nothing but items.
    let short = lines[0].split_whitespace().count() <= TITLE && !lines[0].ends_with('?');
    let of_version = lines[0].split_whitespace().any(is_version);
    if short && of_version && items > 2 && items + 1 == lines.len() {
        return true;
    }
    let titled = lines.iter().take(HEAD).any(|line| {
        OF_RELEASES.iter().any(|title| heading(line).contains(title)) || is_version(&heading(line))
    });
    let parted = lines.iter().any(|line| PARTS.contains(&heading(line).trim()));
    let versions = lines
        .iter()
        .filter(|line| line.starts_with(['#', '=', '[']) && is_version(&heading(line)))
        .count();
    titled && (parted || versions > 0 || OF_RELEASES.iter().any(|title| lines[0].contains(title)))
        || versions > 1
}

/// `v1.4.2`, `2.0.0 (2024-03-01)`, `version 1.2`, `nats 2.1.0 released`
fn is_version(heading: &str) -> bool {
    heading.split([' ', '[', ']', '(']).take(3).any(|word| {
        let numbers = word.trim_start_matches('v').trim_end_matches([':', ',']);
        let parts: Vec<&str> = numbers.split('.').collect();
        (2..=4).contains(&parts.len())
            && parts
                .iter()
                .all(|part| !part.is_empty() && part.chars().take(2).all(|c| c.is_ascii_digit()))
            && parts[0].len() < 3
    })
}

fn is_test(lines: &[&str]) -> bool {
    let found = lines.iter().filter(|line| {
        OF_TESTS.iter().any(|word| line.starts_with(word) || line.contains(&format!(" {word}")))
    });
    let found = found.count();
    found >= ASSERTIONS && found * SHARE >= lines.len()
}

/// `Exercise 3`, `Example 14-3 shows`
fn is_numbered_exercise(lines: &[&str]) -> bool {
    lines.iter().any(|line| {
        let words: Vec<&str> =
            line.trim_start_matches(['#', '*', ' ']).split_whitespace().collect();
        let is_number = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
        let numbered =
            |name: &str| words.windows(2).position(|pair| pair[0] == name && is_number(pair[1]));
        numbered("exercise") == Some(0)
            || numbered("example").is_some_and(|at| {
                words.get(at + 2).is_some_and(|next| ["shows", "illustrates"].contains(next))
            })
    })
}

#[cfg(test)]
mod tests {
    use super::of_text;

    #[test]
    fn texts_that_report_no_fault() {
        for text in [
            "# Changelog\n\n## 2.4.0\n\n### Fixed\n- the clock was behind after a resume\n- a crash\n",
            "Release notes 7.1\n* time sync: the guest's clock is set after a restore\n* the wrong time zone is gone\n",
            "Versionshinweise\n2.1.0: Behoben: die Uhr ging nach.\n2.0.9: Neu: Farben.\n",
            "func TestLate(t *testing.T) {\n c := late()\n if c.ok() {\n t.Fatalf(\"clock skew\")\n }\n}\n--- PASS: TestLate (0.00s)\n",
            "#[test]\nfn clock_is_behind() {\n let a = skewed();\n assert!(a.behind());\n assert_eq!(a.by(), 5);\n}\n",
            "Exercise 3\nThe clock of a guest is ten minutes behind. Why?",
            "Example 4-2 shows a machine whose clock drifts.",
            "NTP says 2 ms, so it is not the\nclock; the token was wrong.",
        ] {
            assert!(of_text(text).is_some(), "{text}");
        }
    }

    #[test]
    fn reports() {
        for text in [
            "The clock is behind after a resume.\n\n- guest: Debian 12.4\n- host: 6.1\n",
            "Version 7.1.2 of our agent\nThe clock is ten minutes behind; what I tried:\n- chronyc makestep\n- a reboot\n",
            "our test asserts that the clock is right, and it is not",
            "for example 3 hosts have a wrong clock",
            "",
        ] {
            assert_eq!(of_text(text), None, "{text}");
        }
    }
}
