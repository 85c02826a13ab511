//! Parts of a text that are source code, and changelogs: a string in a test or a program is not the output of a
//! machine.

use super::examples::{
    described_above, former, is_assignment, is_example, is_explained_row, is_guess, is_history,
    is_illustration, is_lead_in, is_of_a_test, is_question, output_below, shown_below,
};
use super::{documents, general, uncertain};
use crate::log::strip_prefix;
use crate::paste::prompt;

/// Lines of a literal whose end is looked for.
pub(super) const LITERAL: usize = 200;
/// Lines of a call whose end is looked for.
const CALL: usize = 12;

/// Which lines are part of a literal of several lines, of a call that is written over several lines or in one, of an output that
/// the text calls an example, or of a sentence that only says what such messages look like. What a log's writer wrote
/// (`records`, by line) is not the author's word.
pub(in crate::paste) fn find(lines: &[String], records: &[bool]) -> Vec<bool> {
    let mut found = vec![false; lines.len()];
    let mut at = 0;
    while at < lines.len() {
        if records[at] {
            at += 1;
            continue;
        }
        let line = lines[at].trim_end();
        let end = if let Some(sign) = opens(line) {
            let mut rest = lines.iter().enumerate().skip(at + 1).take(LITERAL);
            rest.find(|(_, line)| line.contains(sign)).map(|(end, _)| end)
        } else if calls(line) {
            end_of_call(lines, at)
        } else if is_example(line) {
            output_below(lines, at).filter(|_| !is_printed(lines, at))
        } else if is_lead_in(line) || general::leads_in(lines, at) || uncertain::leads_in(lines, at)
        {
            shown_below(lines, at).filter(|_| !is_printed(lines, at))
        } else if formats(line)
            || is_illustration(line)
            || is_question(line)
            || is_history(line)
            || is_guess(line)
            || is_of_a_test(line)
            || is_assignment(line)
            || is_explained_row(lines, at)
        {
            Some(at)
        } else {
            None
        };
        if let Some(from) = described_above(lines, at) {
            found[from..at].fill(true);
        }
        let Some(end) = end else {
            at += 1;
            continue;
        };
        found[at..=end].fill(true);
        at = end + 1;
    }
    if let Some(former) = former(lines) {
        found[former].fill(true);
    }
    for document in documents::find(lines) {
        found[document].fill(true);
    }
    found
}

/// Whether a command of a session printed a line: without a blank line between them, a prompt above it and a prompt below it
/// name the same host. Such a line is the name of a file or the content of one, and no heading of the writer.
fn is_printed(lines: &[String], at: usize) -> bool {
    let host = |block: &mut dyn Iterator<Item = &String>| {
        let mut block = block.take(LITERAL).take_while(|line| !line.trim().is_empty());
        block.find_map(|line| prompt::own(line).and_then(|prompt| prompt.host).map(str::to_owned))
    };
    let above = host(&mut lines[..at].iter().rev());
    above.is_some() && above == host(&mut lines[at + 1..].iter())
}

/// The sign that ends the literal which a line opens: `X = """text`, `let x = "\`, ``const x = ` ``.
fn opens(line: &str) -> Option<&'static str> {
    let gives = |head: &str| {
        let head = head.trim_end_matches(['r', 'f', 'b', 'u', '#']).trim_end();
        head.ends_with(['=', '(', ',']) || head.ends_with("return")
    };
    for sign in ["\"\"\"", "'''"] {
        if line.matches(sign).count() == 1
            && line.split_once(sign).is_some_and(|(head, _)| gives(head))
        {
            return Some(sign);
        }
    }
    if line.strip_suffix("\"\\").is_some_and(gives) {
        return Some("\"");
    }
    (!line.ends_with("``") && line.strip_suffix('`').is_some_and(gives)).then_some("`")
}

/// Whether a line opens the arguments of a call that follow in the next lines: `x = y.replace(`, `check(`.
fn calls(line: &str) -> bool {
    line.strip_suffix('(').is_some_and(|head| {
        head.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == '!')
            && head.split_ascii_whitespace().count() <= 6
    })
}

/// The line in which the parenthesis is closed that another one opens.
fn end_of_call(lines: &[String], at: usize) -> Option<usize> {
    let mut depth = 0_i32;
    for (number, line) in lines.iter().enumerate().skip(at).take(CALL) {
        for letter in line.chars() {
            depth += i32::from(letter == '(') - i32::from(letter == ')');
        }
        if depth <= 0 {
            return Some(number);
        }
    }
    None
}

/// Whether a line calls a function with a string that has places for values: `log.Warnf("the clock of %s is off [%v]", a, b)`.
fn formats(line: &str) -> bool {
    let Some((head, rest)) = line.split_once("(\"").or_else(|| line.split_once(", \"")) else {
        return false;
    };
    // A log line has blanks and stamps in front of what it quotes.
    let is_call = head
        .trim_start()
        .trim_start_matches("return ")
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b"_.:!->(&".contains(&b));
    let Some((text, _)) = rest.split_once('"') else { return false };
    let places = ["%s", "%d", "%v", "%q", "%f", "%u", "%ld", "%lld", "%lu", "{}", "{:?}"];
    is_call && places.iter().any(|place| text.contains(place))
}

/// Whether a text is the changelog of a package or of a project: entries that describe the changes of a version, and no
/// line with a time stamp of the kernel.
pub(in crate::paste) fn is_changelog(lines: &[String]) -> bool {
    let of_debian = |line: &str| line.contains("; urgency=") && line.contains(") ");
    // `* Tue Mar 12 2024 A Packager <a@example.org> - 4.18.0-513`; the address may be taken for an element of HTML, and the sign in
    // front for that of a list.
    let of_rpm = |line: &str| {
        let line = line.trim_start_matches(['*', ' ']);
        let words: Vec<&str> = line.split_ascii_whitespace().take(5).collect();
        let dated = matches!(words[..], [weekday, month, day, year, name]
            if weekday.len() == 3
                && month.len() == 3
                && day.parse::<u8>().is_ok()
                && year.len() == 4
                && year.parse::<u16>().is_ok()
                && name.starts_with(char::is_alphabetic)
                && !name.contains(':'));
        let version = line.rsplit_once(" - ").map(|(_, version)| version.trim());
        dated
            && version.is_some_and(|version| {
                version.starts_with(|c: char| c.is_ascii_digit()) && !version.contains(' ')
            })
    };
    let is_heading = |line: &str| {
        let line = line.trim_matches(['#', '*', '=', ' ', ':']).to_lowercase();
        let versioned = ["fixed in ", "changes in ", "new in ", "what's new in ", "bugs fixed in "];
        ["%changelog", "changelog", "release notes", "bug fixes"].contains(&line.as_str())
            || line.starts_with("release notes ")
            || versioned.iter().any(|words| {
                let version = line.strip_prefix(words).and_then(|rest| rest.split(' ').next());
                version.is_some_and(|word| {
                    word.trim_start_matches('v').starts_with(|c: char| c.is_ascii_digit())
                        && word.contains('.')
                })
            })
    };
    let first = lines.iter().find(|line| !line.trim().is_empty());
    let is_one = first.is_some_and(|line| is_heading(line))
        || lines.iter().any(|line| of_debian(line) || of_rpm(line));
    is_one && !lines.iter().any(|line| strip_prefix(line).1)
}

#[cfg(test)]
mod tests {
    use super::super::records;
    use super::*;
    use proptest::prelude::*;

    fn marked(text: &str) -> Vec<usize> {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let found = find(&lines, &records(&lines));
        (0..lines.len()).filter(|at| found[*at]).collect()
    }

    #[test]
    fn literals_of_several_lines_and_calls_are_source_code() {
        for text in [
            "GOOD = \"\"\"Leap status     : Normal\nStratum : 2\n\"\"\"\nnext",
            "const X: &str = \"\\\nLeap status     : Normal\n\";\nnext",
            "const x = `\nLeap status     : Normal\n`;\nnext",
            "BAD = GOOD.replace(\n  \"a (b)\",\n  \"Leap status     : Normal\")\nnext",
        ] {
            assert_eq!(marked(text), [0, 1, 2], "{text}");
        }
    }

    #[test]
    fn outputs_between_fences_and_prose_are_not() {
        for text in [
            "```\nLeap status     : Normal\n```\n",
            "`chronyc tracking` says\nLeap status     : Normal\n",
            "\"\"\"\nLeap status     : Normal\n\"\"\"\n",
            "it prints (\nLeap status     : Normal\n)\n",
            "$ x=\"\"\n",
        ] {
            assert_eq!(marked(text), [0_usize; 0], "{text}");
        }
    }

    #[test]
    fn strings_with_places_examples_and_questions_are_of_no_machine() {
        for text in [
            "\tplog.Warningf(\"the clock difference against peer %s is too high [%v > %v]\", a, b, c)\nnext",
            "  return fmt.Errorf(\"this node is more than %s away\", max)\nnext",
            "1. As a marker there is messages in dmesg like `tsc: Marking TSC unstable due to clocksource watchdog`.\nnext",
            "**Question 3.1:** The daemon logs `frequency error 500 PPM exceeds tolerance limit`. Why?\nnext",
            "Q17. `timedatectl` prints System clock synchronized: no\nnext",
        ] {
            assert_eq!(marked(text), [0], "{text}");
        }
        assert_eq!(
            marked("*Expected Output:*\n```text\nLeap status     : Normal\n```\nnext"),
            [0, 1, 2, 3]
        );
        assert_eq!(marked("Sample output\nLeap status     : Normal\n\nnext"), [0, 1, 2]);
        for text in [
            "1. I see messages like `tsc: Marking TSC unstable due to clocksource watchdog`\n",
            "we get `kernel reports TIME_ERROR: 0x41: Clock Unsynchronized`\n",
            "2024-01-01 W | the clock difference against peer a is too high [10.4s > 1s] (prober \"X %s\")\n",
            "Question: why does it say `time reset +3.1 s`?\n",
            "QEMU 4.2 prints this\n",
        ] {
            assert_eq!(marked(text), [0_usize; 0], "{text}");
        }
    }

    #[test]
    fn heading_that_a_command_of_a_session_printed_covers_nothing() {
        let session = "root@db1:~# ls /tmp\nHEADING\nroot@db1:~# cat current_clocksource\nhpet\n";
        for heading in ["Expected output:", "On a broken guest it would print:", "Beispielausgabe:"]
        {
            assert_eq!(marked(&session.replace("HEADING", heading)), [0_usize; 0], "{heading}");
            // The writer's own heading is apart from the session above it, or below that of another host.
            let apart = session.replace("HEADING", &format!("\n{heading}"));
            assert_eq!(marked(&apart), [2, 3, 4], "{heading}");
            let other = session.replacen("db1", "web7", 1).replace("HEADING", heading);
            assert_eq!(marked(&other), [1, 2, 3], "{heading}");
        }
    }

    #[test]
    fn outputs_called_examples_in_other_languages_are_of_no_machine() {
        for heading in [
            "Ejemplo de salida:",
            "示例输出：",
            "Exemple de sortie",
            "**Beispielausgabe:**",
            "Пример вывода:",
        ] {
            let text = format!("{heading}\n```\n$ cat current_clocksource\nhpet\n```\nnext");
            assert_eq!(marked(&text), [0, 1, 2, 3, 4], "{heading}");
        }
        for heading in ["Ejemplo:", "Beispiel:", "Ausgabe:", "Вывод:"] {
            let text = format!("{heading}\n```\n$ cat current_clocksource\nhpet\n```\nnext");
            assert_eq!(marked(&text), [0_usize; 0], "{heading}");
        }
    }

    #[test]
    fn what_tests_and_changelogs_quote_is_of_no_machine() {
        let empty = |text: &str| {
            let lines: Vec<String> = text.lines().map(str::to_owned).collect();
            crate::paste::Pasted::read(&lines, "text").is_empty()
        };
        let tracking = "Reference ID    : 00000000 ()\nLeap status     : Not synchronised\n";
        assert!(!empty(tracking));
        assert!(empty(&format!("BAD = \"\"\"{tracking}\"\"\"\n")));
        assert!(empty(&format!("    const BAD: &str = \"\\\n{tracking}\";\n")));
        let entry = "  * Fix \"Could not step system clock\" in containers.\n";
        assert!(!empty(entry));
        assert!(empty(&format!("chrony (4.5-1) unstable; urgency=medium\n\n{entry}")));
        assert!(empty(&format!("# Changelog\n\n## 1.2\n{entry}")));
        assert!(empty(&format!("## Fixed in 3.2\n{entry}")));
        assert!(!empty(&format!("## Fixed in my house\n{entry}")));
        assert!(empty(&format!(
            "* Tue Mar 12 2024 A Packager <a@example.org> - 4.18.0-513\n{entry}"
        )));
        let kernel = "[    1.000000] clocksource: Switched to clocksource tsc";
        assert!(!empty(&format!("chrony (4.5-1) unstable; urgency=medium\n{kernel}\n{entry}")));
    }

    proptest! {
        #[test]
        fn any_text(lines in prop::collection::vec("[a-z\"'`=(,) \\\\]{0,20}", 0..40)) {
            prop_assert_eq!(find(&lines, &records(&lines)).len(), lines.len());
            let _ = is_changelog(&lines);
        }
    }
}
