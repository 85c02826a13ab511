//! Kinds of texts that name faults of clocks and do not report a fault of a person's machine: rules of alerts, plans of tests, lines found
//! in sources, templates of configurations, problem sheets, clocks other than a computer's, good examples next to bad
//! ones.

/// What a text with a good and a bad example is; neither belongs to a particular machine.
pub const EXAMPLES: &str = "a text with good and bad examples";

/// Fields of rules by which a monitor warns.
const OF_ALERTS: [&str; 5] = ["expr:", "annotations:", "for:", "labels:", "summary:"];
/// Beginnings of such a rule.
const ALERT: [&str; 3] = ["- alert:", "alert:", "- record:"];

/// Headings of sheets of tasks.
const SHEETS: [&str; 8] = [
    "problem sheet",
    "exercise sheet",
    "problem set",
    "homework",
    "quiz",
    "written exam",
    "\u{fc}bungsblatt",
    "aufgabenblatt",
];
/// What a task requests, as the beginning of a sentence.
const TASKS: [&str; 12] = [
    "express",
    "justify",
    "prove",
    "derive",
    "compute",
    "calculate",
    "state",
    "discuss",
    "sketch",
    "explain",
    "argue",
    "describe",
];

/// Words of clocks without a computer.
const PHYSICAL: [&str; 12] = [
    "pendulum",
    "tower clock",
    "clock tower",
    "watchmaker",
    "clockmaker",
    "escapement",
    "mainspring",
    "grandfather clock",
    "wristwatch",
    "church clock",
    "cuckoo clock",
    "winding",
];
/// Words of computers.
const COMPUTERS: [&str; 24] = [
    "computer",
    "linux",
    "server",
    "servers",
    "ntp",
    "ntpd",
    "chrony",
    "kernel",
    "vm",
    "guest",
    "laptop",
    "raspberry",
    "rtc",
    "windows",
    "docker",
    "host",
    "router",
    "gps",
    "pc",
    "arduino",
    "esp32",
    "device",
    "firmware",
    "software",
];

/// Headings of good examples and of bad ones.
const GOOD: [&str; 12] = [
    "good",
    "ok",
    "normal",
    "correct",
    "healthy",
    "working",
    "synchronized",
    "synchronised",
    "\u{6b63}\u{5e38}",
    "\u{6b63}\u{5e38}\u{4f8b}",
    "gut",
    "bueno",
];
const BAD: [&str; 14] = [
    "bad",
    "ng",
    "abnormal",
    "incorrect",
    "unhealthy",
    "broken",
    "failing",
    "unsynchronized",
    "unsynchronised",
    "\u{7570}\u{5e38}",
    "\u{7570}\u{5e38}\u{4f8b}",
    "\u{5f02}\u{5e38}",
    "schlecht",
    "malo",
];
/// What such a heading may have next to that word.
const OF_HEADINGS: [&str; 8] =
    ["example", "examples", "output", "case", "state", "result", "sample", "\u{4f8b}"];

/// Which of these kinds a text is, of its lines in small letters.
pub(super) fn of_lines(lines: &[&str]) -> Option<&'static str> {
    if is_alerts(lines) {
        Some("rules of a monitor")
    } else if is_plan(lines) {
        Some("a plan of tests")
    } else if is_search(lines) {
        Some("lines found in sources")
    } else if is_template(lines) {
        Some("a template of a configuration")
    } else if is_sheet(lines) {
        Some("an example of a book or a course")
    } else if is_posting(lines) {
        Some("a job posting")
    } else if is_physical(lines) {
        Some("a text about a clock that is not part of a computer")
    } else if has_examples(lines) {
        Some(EXAMPLES)
    } else {
        None
    }
}

fn is_alerts(lines: &[&str]) -> bool {
    let begins = |words: &[&str]| {
        lines.iter().filter(|line| words.iter().any(|word| line.starts_with(word))).count()
    };
    let fields = begins(&OF_ALERTS);
    begins(&ALERT) > 0 && fields > 1 && (fields + begins(&ALERT)) * 3 >= lines.len()
}

/// What is expected of several steps, or of one under that title.
fn is_plan(lines: &[&str]) -> bool {
    let title = lines.first().is_some_and(|line| {
        ["test plan", "test cases", "testplan", "test case"].iter().any(|word| line.contains(word))
    });
    let expected: usize = lines.iter().map(|line| line.matches("expected:").count()).sum();
    let found = lines.iter().any(|line| line.contains("actual:") || line.contains("actual result"));
    !found && (title && expected > 0 || expected > 2)
}

/// `src/log/stamp.c:17:    clock_gettime(...)`
fn is_search(lines: &[&str]) -> bool {
    let is_found = |line: &&&str| {
        let mut parts = line.splitn(3, ':');
        let (path, number) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
        parts.next().is_some()
            && path.contains('/')
            && path.contains('.')
            && !path.contains([' ', '\t'])
            && !number.is_empty()
            && number.bytes().all(|b| b.is_ascii_digit())
    };
    let found = lines.iter().filter(is_found).count();
    let asked = lines.first().is_some_and(|line| line.contains("grep ") || line.contains("rg "));
    found > 2 && found * 2 >= lines.len() && (asked || found == lines.len())
}

/// Comments and directives, and nothing else.
fn is_template(lines: &[&str]) -> bool {
    let comments = lines.iter().filter(|line| line.starts_with('#')).count();
    let is_directive = |line: &&&str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.len() < 5
            && words[0].starts_with(|c: char| c.is_ascii_lowercase())
            && words[0]
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
            && !line.ends_with(['.', '?', ':', '!'])
    };
    let directives =
        lines.iter().filter(|line| !line.starts_with('#')).filter(is_directive).count();
    // A heading has one line, and a comment several.
    let is_heading = lines.iter().any(|line| line.starts_with("##"));
    !is_heading && comments > 2 && directives > 1 && comments + directives == lines.len()
}

fn is_sheet(lines: &[&str]) -> bool {
    let titled = lines.iter().take(2).any(|line| SHEETS.iter().any(|sheet| line.contains(sheet)));
    let is_numbered = |line: &&&str| {
        let first = line.split_whitespace().next().unwrap_or("");
        first.starts_with(|c: char| c.is_ascii_digit())
            && first.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b')'))
    };
    let numbered = lines.iter().filter(is_numbered).count();
    let flat = lines.join(" ");
    let asked = flat
        .split(['.', '?', ')'])
        .filter_map(|sentence| sentence.split_whitespace().next())
        .filter(|word| TASKS.contains(word))
        .count();
    titled && (numbered > 0 || asked > 0) || numbered > 1 && asked > 1
}

/// What an employer looks for.
fn is_posting(lines: &[&str]) -> bool {
    const TITLES: [&str; 6] = [
        "job posting",
        "job description",
        "stellenanzeige",
        "we are hiring",
        "we're hiring",
        "your profile:",
    ];
    const LOOKS: [&str; 3] = ["we are looking for a", "we're looking for a", "wir suchen eine"];
    const OF_WORK: [&str; 6] =
        ["engineer", "developer", "administrator", "experience", "salary", "remote"];
    let any =
        |words: &[&str]| lines.iter().any(|line| words.iter().any(|word| line.contains(word)));
    (any(&TITLES) || any(&LOOKS)) && any(&OF_WORK)
}

fn is_physical(lines: &[&str]) -> bool {
    let flat = lines.join(" ");
    let any = |words: &[&str]| {
        words.iter().any(|word| super::wall_words::has(&flat, word, false, char::is_alphanumeric))
    };
    any(&PHYSICAL) && !any(&COMPUTERS)
}

fn has_examples(lines: &[&str]) -> bool {
    let heads = |words: &[&str]| {
        lines.iter().any(|line| {
            let mut parts = line
                .split(|c: char| !c.is_alphanumeric())
                .filter(|part| !part.is_empty())
                .collect::<Vec<_>>();
            parts.retain(|part| !OF_HEADINGS.contains(part));
            parts.len() == 1 && words.contains(&parts[0])
        })
    };
    heads(&GOOD) && heads(&BAD)
}

#[cfg(test)]
mod tests {
    use super::super::no_claim;

    #[test]
    fn kinds_that_report_no_fault() {
        for (text, what) in [
            (
                "groups:\n- alert: Skew\n  expr: abs(offset) > 0.1\n  for: 5m\n  annotations:\n    summary: the clock of {{ $labels.host }} is off\n",
                "monitor",
            ),
            (
                "Test plan of the queue\n1. Set the clock back. Expected: nothing runs twice.\n2. Suspend the VM. Expected: the clock is behind.\n",
                "plan",
            ),
            (
                "$ grep -rn gettime src\nsrc/a/b.c:12: clock_gettime(x)\nsrc/a/c.c:31: // the clock may go back\nsrc/d.c:4: gettimeofday(y)\n",
                "sources",
            ),
            (
                "# chrony.conf of all hosts\n# pool a.example iburst\n# where the clock of a guest is wrong after a resume:\n# makestep 1 -1\nrtcsync\ndriftfile /var/lib/chrony/drift\n",
                "template",
            ),
            (
                "Problem sheet 2\n1. The clock of a server loses 5 seconds per hour. Express it in ppm. Justify.\n",
                "course",
            ),
            (
                "We are looking for an engineer who knows why the clock of a guest is wrong after a migration. Remote.",
                "posting",
            ),
            (
                "Our tower clock gains two minutes a week. The pendulum is of wood.",
                "not part of a computer",
            ),
            (
                "How to see it\n\nGood example:\n^* a 1 6 377\n\nBad example:\n^? a 0 6 0\n",
                "examples",
            ),
            (
                "\u{c4}nderungen in Version 4.1\n- Behoben: die Uhrzeit war nach dem Aufwachen falsch\n- Neu: ein Men\u{fc}\n- Neu: Farben\n",
                "releases",
            ),
        ] {
            assert!(no_claim(text).is_some_and(|said| said.contains(what)), "{text}");
        }
    }

    #[test]
    fn reports_with_such_words() {
        for text in [
            "The clock of my PC is wrong.\nExpected: the right time.\nActual: an hour behind.\n",
            "The clock of the server that drives our tower clock gains two minutes a week.",
            "# My clock is wrong\nI restored a VM, and its clock is an hour behind.\n# chronyc tracking\nnothing\n",
            "1. boot\n2. see that the clock is wrong\nPlease explain.\n",
            "ok\nthe clock is an hour behind\n",
        ] {
            assert_eq!(no_claim(text), None, "{text}");
        }
    }
}
