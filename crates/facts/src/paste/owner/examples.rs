//! Outputs that do not come from a machine of the writer: what a text calls an example, says of other times, or asks in
//! an examination.

use super::literal::LITERAL;
use super::{conditions, documents, general, uncertain};
use crate::log::strip_prefix;
use crate::paste::table;
use std::ops::Range;

/// Words of a heading above an output, at most.
const HEADING: usize = 6;

/// Parts of words for an output, in the languages of [`uncertain::EXAMPLE`].
const OUTPUTS: &str = "output salida sortie ausgabe saída saida uscita вывод výstup wyjści uitvoer çıktı utdata kimenet \
    tuloste 输出 出力 출력";

/// Whether a heading in small letters calls an output an example, in any of many languages: `ejemplo de salida`,
/// `beispielausgabe`. "Example" alone, people write of their own machines.
fn is_called_example(heading: &str) -> bool {
    let has = |list: &str| list.split(' ').any(|part| heading.contains(part));
    has(uncertain::EXAMPLE) && has(OUTPUTS)
}

/// Whether a line is the heading of an output that no machine printed: `*Expected output:*`, `Sample output`.
pub(super) fn is_example(line: &str) -> bool {
    // `To see the state, run x. Example output:`
    let line = match line.trim_end().rsplit_once(". ") {
        Some((before, last)) if !is_own(before) && last.ends_with([':', '\u{ff1a}']) => last,
        _ => line,
    };
    let bare = line.trim().trim_matches(['*', '_', '#', ' ', ':', '\u{ff1a}', '`']).to_lowercase();
    // What a reader is to find: `# for a working host must be:`.
    let is_asked = || {
        line.trim_end().ends_with(':')
            && [" must be", " could be", " should be", " would be"]
                .iter()
                .any(|words| bare.ends_with(words))
    };
    bare.split_ascii_whitespace().count() <= HEADING
        && (is_asked()
            || is_called_example(&bare) && !is_own(line)
            || ["expected output", "output should be", "salida esperada"]
                .iter()
                .any(|words| bare.contains(words)))
}

/// The last line of the output below a heading: the fence or the blank line that ends it.
pub(super) fn output_below(lines: &[String], at: usize) -> Option<usize> {
    let mut rest = lines.iter().enumerate().skip(at + 1).take(LITERAL);
    // The heading may be that of the fence itself: ```` ```text title="Expected output" ````.
    let is_fence = |line: &str| line.trim_start().starts_with("```");
    if is_fence(&lines[at]) {
        return rest.find(|(_, line)| is_fence(line)).map(|(end, _)| end);
    }
    let (first, line) = rest.find(|(_, line)| !line.trim().is_empty())?;
    let fenced = line.trim_start().starts_with("```");
    let ends = |line: &str| match fenced {
        true => line.trim_start().starts_with("```"),
        false => line.trim().is_empty(),
    };
    let is_real = |line: &str| line.trim_start().to_lowercase().starts_with("actual ");
    let end = rest.find_map(|(at, line)| match is_real(line) {
        true => Some(at - 1),
        false => ends(line).then_some(at),
    });
    Some(end.unwrap_or(lines.len() - 1).max(first))
}

/// Whether a line is an item of a list that says what messages of a kind look like, and not that the writer saw one: `2. marker of it
/// are messages in dmesg like `tsc: Marking TSC unstable``.
pub(super) fn is_illustration(line: &str) -> bool {
    let line = line.trim_start();
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let is_item = digits > 0 && line[digits..].starts_with(['.', ')'])
        || line.starts_with(['-', '*']) && line[1..].starts_with(' ');
    let likens = [" like `", " such as `", " like \"", " such as \"", "e.g. `", "e.g. \""];
    let logged =
        ["shows up in logs as", "shows up in the log as", "appears in logs as", "is logged as"];
    (is_item && likens.iter().any(|words| line.contains(words))
        || logged.iter().any(|words| line.contains(words)))
        && !is_own(line)
        && !line.contains(" me ")
}

/// Whether a line has words with which an author writes of an own machine.
fn is_own(line: &str) -> bool {
    let own = [" I ", " my ", " we ", " our ", "I get", "I see", "we see", "we get", "My "];
    own.iter().any(|word| line.contains(word))
}

/// Words of a lead-in, in small letters, that say that no machine of the writer printed what follows.
const LEAD_INS: [&str; 22] = [
    "would print",
    "would be printed",
    "would show",
    "would look like",
    "should look like",
    "might look like",
    "a healthy ",
    "a good system",
    "a bad system",
    "sample from",
    "example from",
    "example of a",
    "would then see",
    "would see",
    "you'd see",
    "the docs of",
    "the documentation of",
    "the manual of",
    "the man page of",
    "override is successful",
    "this message displays",
    "\u{5c06}\u{663e}\u{793a}",
];

/// Whether a line introduces an output that no machine of the writer printed:
/// `The docs of X show this for a bad system:`, `On a broken guest it would print:`.
pub(super) fn is_lead_in(line: &str) -> bool {
    let line = line.trim_end();
    let small = line.to_lowercase();
    let leads =
        line.ends_with([':', '\u{ff1a}']) && LEAD_INS.iter().any(|words| small.contains(words));
    // A sentence that continues with the output needs no colon.
    let goes_on = ["you would then see", "you would see", "you'd see"];
    conditions::leads_in(line)
        || leads_in_a_comparison(&small)
        || (leads || likens(&small) || goes_on.iter().any(|words| small.ends_with(words)))
            && !is_own(line)
}

/// Whether a line in small letters leads in the output of a machine with which the writer's is compared: `On a normal machine with
/// Linux:`, `For comparison, on my laptop:`.
fn leads_in_a_comparison(small: &str) -> bool {
    const COMPARES: [&str; 6] = [
        "for comparison",
        "in comparison",
        "by comparison",
        "as a reference",
        "zum vergleich",
        "en comparaison",
    ];
    const KINDS: [&str; 8] =
        ["normal", "healthy", "typical", "regular", "ordinary", "usual", "working", "unaffected"];
    const PLACES: [&str; 9] =
        ["machine", "system", "host", "server", "box", "computer", "laptop", "kernel", "linux"];
    let small = small.trim_matches(['*', '_', '#', ' ', '>']);
    if !small.ends_with([':', '\u{ff1a}']) || small.len() > 120 {
        return false;
    }
    let of_a_kind = ["on a ", "on an ", "with a ", "from a "].iter().any(|begin| {
        let rest = small.strip_prefix(begin).unwrap_or_default();
        let mut words = rest.split(|c: char| !(c.is_alphanumeric() || c == '-'));
        words.next().is_some_and(|word| KINDS.contains(&word))
            && words.any(|word| PLACES.contains(&word))
    });
    of_a_kind || COMPARES.iter().any(|words| small.starts_with(words))
}

/// Whether a line in small letters says that a reader will see lines of a kind below it: `you will see a line like this in dmesg:`.
fn likens(small: &str) -> bool {
    const READER: [&str; 8] = [
        "you will ",
        "you'll ",
        "you should ",
        "you may ",
        "you might ",
        "you could ",
        "you would ",
        "you can ",
    ];
    const SEE: [&str; 4] = ["see ", "find ", "get ", "notice "];
    const KIND: [&str; 7] = ["line", "message", "entr", "warning", "error", "output", "result"];
    if !small.ends_with([':', '\u{ff1a}']) {
        return false;
    }
    READER.iter().filter_map(|words| small.split_once(words)).any(|(_, rest)| {
        let rest = rest.trim_start_matches("also ").trim_start_matches("then ");
        let seen = SEE.iter().find_map(|verb| rest.strip_prefix(verb));
        let kind = seen
            .and_then(|seen| seen.split_once(" like").or_else(|| seen.split_once(" similar to")));
        kind.is_some_and(|(what, _)| KIND.iter().any(|noun| what.contains(noun)))
    })
}

/// Words with which a sentence continues after an output that it only describes.
const BEHIND: [&str; 4] = ["is what ", "is how ", "is the message that ", "is the output that "];

/// The first line of an output above a line that says what prints it: `E: ...`, a blank line, `is what apt prints if ...`.
pub(super) fn described_above(lines: &[String], at: usize) -> Option<usize> {
    let small = lines[at].trim_start().to_lowercase();
    if at == 0 || !BEHIND.iter().any(|words| small.starts_with(words)) || is_own(&lines[at]) {
        return None;
    }
    let last = (0..at).rev().take(3).find(|at| !lines[*at].trim().is_empty())?;
    let block = (0..=last).rev().take(LITERAL).take_while(|at| !lines[*at].trim().is_empty());
    block.last()
}

/// Words of a guess, after which a message is quoted.
const GUESSES: [&str; 8] = [
    "most likely prints",
    "most likely shows",
    "probably prints",
    "probably shows",
    "might print",
    "could print",
    "may have printed",
    "presumably prints",
];

/// Whether a line quotes a message of which it only guesses that a machine printed it: `Your kernel most likely prints `x``.
pub(super) fn is_guess(line: &str) -> bool {
    let small = line.to_lowercase();
    line.contains(['`', '"', '\'']) && GUESSES.iter().any(|words| small.contains(words))
        || is_supposed(&small)
}

/// Words in front of a quoted message, in small letters, by which no machine of the writer printed it: a condition, a denial, an
/// advertisement.
const SUPPOSED: [&str; 18] = [
    "would see",
    "you'd see",
    "would print",
    "would log",
    "would show",
    "would say",
    "should see",
    "does not print",
    "doesn't print",
    "did not print",
    "do not see",
    "don't see",
    "not seen",
    "never prints",
    "never see",
    "tired of",
    "fed up with",
    "say goodbye to",
];

/// Whether a line in small letters quotes a message after such words.
fn is_supposed(small: &str) -> bool {
    let quote = small.find(['`', '"', '\u{201c}']);
    quote.is_some_and(|at| SUPPOSED.iter().any(|words| small[..at].contains(words)))
}

/// Words of the head of a table that explains messages, in small letters.
const OF_TABLES: [&str; 8] = [
    "meaning",
    "explanation",
    "description",
    "cause",
    "what it means",
    "mitigation",
    "remedy",
    "solution",
];

/// Whether a line is a row of a table that explains messages, by the head of the table: `| message | meaning |`.
pub(super) fn is_explained_row(lines: &[String], at: usize) -> bool {
    if !lines[at].trim_start().starts_with('|') {
        return false;
    }
    table::head(lines, at).is_some_and(|head| {
        let small = lines[head].to_lowercase();
        small.split('|').any(|cell| OF_TABLES.contains(&cell.trim().trim_matches('*')))
    })
}

/// Whether a line gives a variable of a program a text, and does nothing else: `out = "..."`.
pub(super) fn is_assignment(line: &str) -> bool {
    let Some((name, text)) = line.trim().split_once(" = ") else { return false };
    let text = text.trim_end_matches([';', ',']).trim_start_matches(['r', 'b', 'f', 'u']);
    let name = name.rsplit(' ').next().unwrap_or_default();
    let is_name = !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':'));
    // A setting (`tools.syncTime = "TRUE"`) is one word.
    is_name
        && text.matches(' ').count() >= 2
        && ['"', '\''].into_iter().any(|quote| text.starts_with(quote) && text.ends_with(quote))
}

/// The longest field of `timedatectl`.
const LONGEST_FIELD: &str = "System clock synchronized:";

/// The last line of what follows a lead-in: fenced or indented blocks, which blank lines may
/// divide; otherwise the lines to the next blank one.
pub(super) fn shown_below(lines: &[String], at: usize) -> Option<usize> {
    let first = (at + 1..lines.len()).take(LITERAL).find(|at| !lines[*at].trim().is_empty())?;
    let is_indented = |line: &str| line.starts_with("  ") || line.starts_with('\t');
    if !is_indented(&lines[first]) {
        return output_below(lines, at);
    }
    let block = (first..lines.len().min(first + LITERAL))
        .take_while(|at| lines[*at].trim().is_empty() || is_indented(&lines[*at]));
    let last = block.filter(|at| !lines[*at].trim().is_empty()).last()?;
    // `timedatectl` aligns its colons: its longest field begins a line.
    let goes_on = lines.get(last + 1).is_some_and(|line| line.starts_with(LONGEST_FIELD));
    let rest = (last + 1..lines.len()).take_while(|at| {
        goes_on && (is_indented(&lines[*at]) || lines[*at].starts_with(LONGEST_FIELD))
    });
    Some(rest.last().unwrap_or(last))
}

/// Words of a heading `Before the update:`, at most.
const BEFORE: usize = 8;
/// Words of lines about the clocksource in use: parts with them are separate states of a machine.
const OF_CHOICE: [&str; 3] = ["clocksource0", "to clocksource ", "Marking "];

/// The lines of an earlier state: below a heading with `Before`, up to one with `After`. Lines with
/// the kernel's time stamps and those about a choice are not judged here.
pub(super) fn former(lines: &[String]) -> Option<Range<usize>> {
    let range = before_change(lines)?;
    let judged =
        |line: &String| strip_prefix(line).1 || OF_CHOICE.iter().any(|words| line.contains(words));
    (!lines[range.clone()].iter().any(judged)).then_some(range)
}

/// The lines below a heading with `Before`, up to one with `After`.
pub(in crate::paste) fn before_change(lines: &[String]) -> Option<Range<usize>> {
    let heads = |line: &str, word: &str| {
        let bare = line.trim().trim_matches(['*', '_', '#', ' ', ':', '`']).to_lowercase();
        let is_heading = line.trim_end().trim_end_matches(['*', '_']).ends_with(':')
            || line.trim_start().starts_with(['#', '*']);
        is_heading
            && bare.split_ascii_whitespace().count() <= BEFORE
            && bare.strip_prefix(word).is_some_and(|rest| !rest.starts_with(char::is_alphabetic))
    };
    let from = lines.iter().position(|line| heads(line, "before"))?;
    let to = from + lines[from..].iter().position(|line| heads(line, "after"))?;
    Some(from..to)
}

/// The lines of outputs that a lead-in says no machine printed. A record of a log is none.
pub(in crate::paste) fn imagined(lines: &[String], records: &[bool]) -> Vec<Range<usize>> {
    let of = |at: usize| {
        let leads = !records[at]
            && (is_lead_in(&lines[at])
                || general::leads_in(lines, at)
                || uncertain::leads_in(lines, at));
        let end = leads.then(|| shown_below(lines, at)).flatten()?;
        Some(at..end + 1)
    };
    (0..lines.len()).filter_map(of).chain(documents::find(lines)).collect()
}

/// Whether a line is about another time: `Last year we had: ...`.
pub(super) fn is_history(line: &str) -> bool {
    let small = line.trim_start().to_lowercase();
    const TIMES: [&str; 10] = [
        "last year",
        "last month",
        "last winter",
        "last spring",
        "last summer",
        "last autumn",
        "last fall",
        "years ago",
        "some years ago",
        "in the past",
    ];
    TIMES.iter().any(|words| small.starts_with(words))
}

/// Whether a line is a comment of a program about what a test expects: `// tests expect: "..."`.
pub(super) fn is_of_a_test(line: &str) -> bool {
    let line = line.trim_start();
    let comment = ["//", "/*", "# ", "--"].into_iter().find_map(|sign| line.strip_prefix(sign));
    comment.is_some_and(|text| text.contains("expect") && text.contains(['"', '\'', '`']))
}

/// Whether a line is a question of an examination: `**Question 3.1:** The daemon logs ...`, `Q17. ...`.
pub(super) fn is_question(line: &str) -> bool {
    let line = line.trim_start().trim_start_matches(['*', '_', '#', ' ']);
    const EXAMS: [&str; 4] =
        ["Exam question ", "Exam Question ", "Quiz question ", "Quiz Question "];
    if EXAMS.iter().any(|words| line.starts_with(words)) {
        return true;
    }
    let rest = line
        .strip_prefix("Question ")
        .or_else(|| line.strip_prefix("Pregunta "))
        .or_else(|| line.strip_prefix('Q'));
    rest.is_some_and(|rest| {
        let digits = rest.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
        digits > 0
            && rest.as_bytes()[0].is_ascii_digit()
            && rest[digits..].trim_start_matches(['*', ')']).starts_with([':', ' '])
            && (line.starts_with("Question")
                || line.starts_with("Pregunta")
                || rest[..digits].ends_with('.'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heading_of_a_machine_of_comparison_is_not_of_the_writers() {
        for line in [
            "On a normal bare metal Linux system:",
            "For comparison, on my laptop:",
            "**On a healthy host**:",
        ] {
            assert!(is_lead_in(line), "{line}");
        }
        for line in [
            "On a bare metal server:",
            "On my normal machine:",
            "On the host:",
            "In a normal boot I see:",
            "Normal:",
        ] {
            assert!(!is_lead_in(line), "{line}");
        }
        for line in [
            "you will see a line like this in dmesg:",
            "you should find messages similar to these:",
        ] {
            assert!(is_lead_in(line), "{line}");
        }
        assert!(!is_lead_in("as you will see, it is slow here:"));
    }

    #[test]
    fn heading_of_what_a_reader_is_to_find_is_of_no_machine() {
        for line in
            ["# for a working host must be:", "Output should be:", "# a broken one could be:"]
        {
            assert!(is_example(line), "{line}");
        }
        for line in ["hpet must be:off", "# the clocksource must be", "on the host:"] {
            assert!(!is_example(line), "{line}");
        }
    }

    #[test]
    fn lead_ins_say_that_the_output_is_not_the_writers() {
        for line in [
            "The docs of pgbench show this for a slow host:",
            "On a broken guest it would print:",
            "\u{5982}\u{679c}\u{6210}\u{529f},\u{5c06}\u{663e}\u{793a}\u{6b64}\u{6d88}\u{606f}:",
            "A healthy machine says, for example:",
            "Here is what a chatbot told me would be printed on a broken VM:",
            "Compare it with this sample from the book:",
            "Let a kernel demote its clock. You would then see",
            "When the watchdog finds a skew, you will find lines like these in dmesg:",
        ] {
            assert!(is_lead_in(line), "{line}");
        }
        for line in [
            "My machine prints:",
            "In dmesg we find lines like these:",
            "the output:",
            "On our hosts the docs of the vendor would print:",
            "It would print something",
        ] {
            assert!(!is_lead_in(line), "{line}");
        }
    }

    #[test]
    fn what_follows_a_lead_in_is_its_block() {
        let lines: Vec<String> =
            "it would print:\n\n  a\n\n  b\n\nOurs is:\n  c".lines().map(str::to_owned).collect();
        assert_eq!(shown_below(&lines, 0), Some(4));
        let lines: Vec<String> =
            "it would print:\na\nb\n\nOurs is:".lines().map(str::to_owned).collect();
        assert_eq!(shown_below(&lines, 0), Some(3));
        assert_eq!(shown_below(&lines, 4), None);
        let lines: Vec<String> =
            "it prints:\n   Time zone: x\nSystem clock synchronized: no\n   y: z\n\nOurs:\n"
                .lines()
                .map(str::to_owned)
                .collect();
        assert_eq!(shown_below(&lines, 0), Some(3));
        let lines: Vec<String> =
            "Expected output:\n  a\nActual output:\n  b".lines().map(str::to_owned).collect();
        assert_eq!(output_below(&lines, 0), Some(1));
        let lines: Vec<String> = "```text title=\"Expected output\"\n  a\n\n  b\n```\nnext"
            .lines()
            .map(str::to_owned)
            .collect();
        assert!(is_example(&lines[0]));
        assert_eq!(output_below(&lines, 0), Some(4));
        assert!(is_example("To see the state, run `ntpq -pn`. Example output:"));
        assert!(!is_example("On my machine I ran it. Example output:"));
    }

    #[test]
    fn what_was_before_a_change_is_a_former_state() {
        let of = |text: &str| former(&text.lines().map(str::to_owned).collect::<Vec<String>>());
        assert_eq!(of("x\nBefore (5.4):\n 31 % a\n**After the update:**\n 2 % b"), Some(1..3));
        for other in [
            "Before:\n 31 % a",
            "After:\n 2 % b\nBefore:\n 31 % a",
            "Before that I had a look\nAfter that:\n",
            "Beforehand:\n x\nAfter:\n y",
            "Before:\n[    0.100000] clocksource: x\nAfter:\n y",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
    }

    #[test]
    fn what_is_only_described_or_guessed_is_of_no_machine() {
        let lines: Vec<String> =
            "It is new.\n\na\nb\n\nis what apt prints there.".lines().map(str::to_owned).collect();
        assert_eq!(described_above(&lines, 5), Some(2));
        assert_eq!(described_above(&lines, 3), None);
        let lines: Vec<String> = "a\nis what I get here".lines().map(str::to_owned).collect();
        assert_eq!(described_above(&lines, 1), None);
        assert!(is_guess("the kernel most likely prints `tsc: Marking TSC unstable` there"));
        assert!(!is_guess("it prints `tsc: Marking TSC unstable`"));
    }

    #[test]
    fn conditions_denials_and_texts_in_programs_are_of_no_machine() {
        for line in [
            "If the guest had been paused, you would see chronyd print \"Forward time jump detected!\".",
            "make does not print \"Clock skew detected\" here",
            "Tired of \"clock skew detected on mon.b\"?",
        ] {
            assert!(is_guess(line), "{line}");
        }
        for line in [
            "I see \"Forward time jump detected!\" where you would see nothing",
            "why do I get \"Clock skew detected\"?",
            "we never see it",
        ] {
            assert!(!is_guess(line), "{line}");
        }
        assert!(is_assignment("    out = \"Clock skew detected. Wait\""));
        assert!(is_assignment("let text = 'x y z';"));
        for line in ["msg=\"time reset\" x = \"y", "a = b \"c\"", "the text = \"a\" + \"b", "x = 1"]
        {
            assert!(!is_assignment(line), "{line}");
        }
        assert!(is_question("Exam question 4: The daemon logs `x`. Why?"));
        let table: Vec<String> =
            "| message | Meaning |\n|---|---|\n| `x` | y |\n\n| host | offset |\n| a | 1 |"
                .lines()
                .map(str::to_owned)
                .collect();
        assert!(is_explained_row(&table, 2) && !is_explained_row(&table, 5));
    }

    #[test]
    fn other_times_and_tests_are_of_no_machine() {
        assert!(is_history("Last year (2021-02-03) we had `x`"));
        assert!(is_history("Last autumn we had `x`"));
        assert!(!is_history("It is like last year: x"));
        assert!(is_of_a_test("// the test expects \"x\""));
        assert!(!is_of_a_test("// x"));
        assert!(is_illustration("  * This shows up in logs as: ntpd[7]: time reset -2.5 s"));
        assert!(!is_illustration("it shows up in logs as x on my box: I see y"));
    }
}
