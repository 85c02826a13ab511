//! Prefixes that users, editors, search tools, trackers and log stores add to a line: numbers, file names, bullets,
//! quotes, marks of code, names in chats, columns. They do not show that a line is the kernel's, so they are removed
//! only if a message of the kernel follows.

use super::date;
use crate::log::parse::begins_like_kernel;

/// Removes one such prefix, or returns `None`.
pub(super) fn step<'a>(rest: &'a str, at: &mut Option<f64>) -> Option<&'a str> {
    let first = rest.chars().next()?;
    match first {
        '/' if rest.starts_with("//") || rest.starts_with("/*") => comment(rest, first),
        ';' | '%' | '!' => comment(rest, first),
        '-' if rest.starts_with("--") => comment(rest, first),
        // What is in a comment of HTML is not shown.
        '<' if rest.starts_with("<!--") => None,
        '-' | '*' | '+' | '\u{2022}' | '\u{b7}' | '\u{2013}' => {
            let after = &rest[first.len_utf8()..];
            // The sign of a patch has no blank after it.
            after.strip_prefix(' ').or_else(|| (first == '+').then_some(after))
        }
        '"' | '\'' | '`' => quoted(rest, first),
        '{' => braces(rest),
        '[' => bracket(rest),
        '(' => {
            let (inside, after) = rest[1..].split_once(')')?;
            let stamp = super::seconds(inside.trim());
            *at = stamp.or(*at);
            (stamp.is_some() || date::take(inside).is_some_and(|date| date.after.is_empty()))
                .then_some(after)
        }
        // `<alice> `, `< alice> `, `<@alice> `.
        '<' => {
            let (name, after) = rest[1..].split_once('>')?;
            (name.len() <= 32 && !name.trim().contains(' ') && after.starts_with(' '))
                .then_some(after)
        }
        ':' => Some(&rest[1..]),
        '0'..='9' => number(rest, at),
        _ => word(rest),
    }
}

/// The characters that begin a comment of source code, and the following blank: `// `, `/// `, `//! `, `/* `, `/** `,
/// `; `, `;; `, `-- `, `% `.
fn comment(rest: &str, sign: char) -> Option<&str> {
    let after = rest.trim_start_matches(sign);
    let after = if sign == '/' { after.trim_start_matches(['!', '*']) } else { after };
    (rest.len() - after.len() <= 8)
        .then(|| after.strip_prefix([' ', '\t']))?
        .map(|text| text.trim_end().trim_end_matches("*/"))
}

/// Quotes around a whole line, or around a field of a list, but not around a part of a sentence.
fn quoted(rest: &str, quote: char) -> Option<&str> {
    let inside = rest[1..].trim_end_matches([',', '.', ';', ']', ')']).strip_suffix(quote)?;
    // `"...\n"` is a string in a program that prints the line.
    (!inside.contains(quote) && !inside.ends_with("\\n")).then_some(inside)
}

/// `{noformat}`, `{code:java}`, `{{`, and the labels of a log store: `{host="web"} `.
fn braces(rest: &str) -> Option<&str> {
    if let Some(after) = rest.strip_prefix("{{") {
        return Some(after);
    }
    let (inside, after) = rest[1..].split_once('}')?;
    let labels = inside.contains("=\"") && after.starts_with([' ', '\t']);
    let mark =
        inside.starts_with(|c: char| c.is_ascii_alphabetic()) && !inside.contains([' ', '"', '{']);
    (labels || mark && inside.len() <= 80).then_some(after)
}

/// `[code]`, `[debug]`, `[1699]`, `[07:25:40]`, `[2024-03-05T07:25:40Z]`.
fn bracket(rest: &str) -> Option<&str> {
    let (inside, after) = rest[1..].split_once(']').filter(|(inside, _)| inside.len() < 48)?;
    let word = !inside.trim().is_empty()
        && inside
            .trim()
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_./=\"".contains(&byte));
    let dated = date::take(inside).is_some_and(|date| date.after.is_empty());
    (word || dated).then_some(after)
}

fn number<'a>(rest: &'a str, at: &mut Option<f64>) -> Option<&'a str> {
    // `9.100000 tsc: ...`, `9.100000: tsc: ...`, of a table `9.100000 | tsc: ...`.
    let end = rest.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
    if let Some(stamp) = super::seconds(&rest[..end]).filter(|_| rest[..end].len() > 7) {
        let after = rest[end..].strip_prefix([':', ']']).unwrap_or(&rest[end..]);
        if after.starts_with([' ', '\t']) {
            *at = Some(stamp);
            return Some(after);
        }
    }
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let after = &rest[digits..];
    if digits > 9 {
        return None;
    }
    after
        .strip_prefix([':', '\t', '-'])
        .or_else(|| after.strip_prefix(". "))
        .or_else(|| after.strip_prefix(") "))
        .or_else(|| after.starts_with(' ').then_some(after))
}

fn word(rest: &str) -> Option<&str> {
    for file in ["dmesg:", "messages:", "syslog:"] {
        if let Some(after) = rest.strip_prefix(file) {
            return Some(after);
        }
    }
    // The name of a console, as emulators and test frameworks put it before each line.
    for console in ["console: ", "guest: ", "ttyS0| ", "ttyS0: ", "serial0| ", "serial: "] {
        if let Some(after) = rest.strip_prefix(console) {
            return begins_like_kernel(after).then_some(after);
        }
    }
    // `level=info msg="..."`.
    if let Some(at) = rest.find("msg=\"").or_else(|| rest.find("message=\"")).filter(|at| *at < 160)
    {
        let open = at + rest[at..].find('"')?;
        return rest[open + 1..].trim_end().strip_suffix('"');
    }
    if let Some(after) = quoted_by_name(rest) {
        return Some(after);
    }
    // Columns with tabs between.
    if let Some((_, after)) = rest.split_once('\t').filter(|(column, _)| column.len() <= 64)
        && (after.contains('\t') || date::take(after).is_some() || begins_like_kernel(after))
    {
        return Some(after);
    }
    file(rest).or_else(|| {
        // The name of a stream, or of a host, before a date.
        let end = rest.find(' ').filter(|end| *end <= 64)?;
        let plain = rest[..end]
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_./:".contains(&byte));
        let after = rest[end..].trim_start();
        (plain && date::take(after).is_some_and(|date| date.month)).then_some(after)
    })
}

/// `JD> ` and `JD>> `, of a mail.
fn quoted_by_name(rest: &str) -> Option<&str> {
    let letters = rest.bytes().take_while(u8::is_ascii_uppercase).count();
    let after = rest[letters..].strip_prefix('>').filter(|_| (1..=4).contains(&letters))?;
    Some(after.trim_start_matches('>'))
}

/// A file name: `kern.log:`, `./boot/dmesg-`, `kern.log-12-`, as grep writes it.
fn file(rest: &str) -> Option<&str> {
    let end = rest.find([':', ' ', '\t']).unwrap_or(rest.len());
    if end > 200 {
        return None;
    }
    let is_file = |file: &str| {
        file.contains(['.', '/'])
            && !file.contains(['\'', '"', '(', '[', '='])
            && !file.ends_with('.')
    };
    let dashed = rest[..end].match_indices('-').take(8).find_map(|(at, _)| {
        let after = &rest[at + 1..];
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        let numbered = digits > 0 && after[digits..].starts_with('-');
        let begins = numbered
            || begins_like_kernel(after)
            || date::take(after).is_some_and(|date| date.month);
        (is_file(&rest[..at]) && begins).then_some(after)
    });
    let whole =
        || (rest[end..].starts_with(':') && is_file(&rest[..end])).then(|| &rest[end + 1..]);
    dashed.or_else(whole)
}

/// The fields of a line of comma-separated values, if it is one.
pub(super) fn fields(line: &str) -> impl Iterator<Item = &str> {
    let is_csv = line.contains("\",") || line.contains(",\"");
    let mut rest = line.trim();
    std::iter::from_fn(move || {
        if !is_csv || rest.is_empty() {
            return None;
        }
        let (field, after) = match rest.strip_prefix('"') {
            Some(quoted) => {
                // Inside quotes, two quotes mean one.
                let mut end = 0;
                loop {
                    end += quoted[end..].find('"').unwrap_or(quoted.len() - end);
                    if !quoted[end..].starts_with("\"\"") {
                        break;
                    }
                    end += 2;
                }
                (&quoted[..end], quoted[end..].trim_start_matches('"'))
            }
            None => rest.split_at(rest.find(',').unwrap_or(rest.len())),
        };
        rest = after.strip_prefix(',').unwrap_or(after);
        Some(field)
    })
    .take(32)
}

/// A line without closing marks of code at its end, and without the quotes of a list of strings around it.
pub(super) fn without_marks(line: &str) -> &str {
    let mut line = line.trim_end();
    if line.ends_with(['}', ']', '`']) {
        for mark in ["{noformat}", "{code}", "[/code]", "[/CODE]", "[/quote]", "[/pre]", "```"] {
            line = line.strip_suffix(mark).unwrap_or(line).trim_end();
        }
    }
    let begin = line.trim_start();
    if begin.starts_with("{{") {
        line = line.strip_suffix("}}").unwrap_or(line);
    }
    if begin.starts_with("| ") {
        line = line.strip_suffix(" |").unwrap_or(line).trim_end();
    }
    let begin = line.trim_start();
    let item = begin.strip_prefix("- ").unwrap_or(begin).trim_start_matches('[');
    let item = item.strip_prefix('b').filter(|rest| rest.starts_with(['"', '\''])).unwrap_or(item);
    let inside = item
        .chars()
        .next()
        .filter(|quote| matches!(quote, '"' | '\''))
        .and_then(|quote| item[1..].trim_end_matches([',', ']']).strip_suffix(quote));
    // If a time stamp follows, the rest is one line of the kernel.
    match inside {
        // Another field of the same line is not included.
        Some(inside) if inside.starts_with(['[', '<']) && !inside.contains("\",") => {
            inside.trim_end_matches("\\n").trim_end_matches("\\r")
        }
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fields_are_split_at_commas_outside_of_quotes() {
        let of = |line: &'static str| fields(line).collect::<Vec<_>>();
        assert_eq!(of("\"a, \"\"b\"\"\",c,\"d\""), ["a, \"\"b\"\"", "c", "d"]);
        assert_eq!(of("1,\"a\""), ["1", "a"]);
        assert_eq!(of("a, b, c"), [""; 0]);
    }

    #[test]
    fn name_of_a_console_is_taken_off_a_message_only() {
        let of = |line: &'static str| step(line, &mut None);
        let message = "clocksource: Switched to clocksource acpi_pm";
        assert_eq!(of("console: clocksource: Switched to clocksource acpi_pm"), Some(message));
        assert_eq!(of("ttyS0| clocksource: Switched to clocksource acpi_pm"), Some(message));
        assert_eq!(of("serial: the port is open"), None);
    }

    #[test]
    fn marks_are_taken_off_both_ends() {
        for (line, inside) in [
            ("b\"[ 0.1] x\\r\\n\"", "[ 0.1] x"),
            ("  - '[ 0.1] 'tsc' x',", "[ 0.1] 'tsc' x"),
            ("x{noformat}", "x"),
            ("| 1 | x |", "| 1 | x"),
            ("\"Marking '%s'\\n\"", "\"Marking '%s'\\n\""),
        ] {
            assert_eq!(without_marks(line), inside);
        }
    }

    proptest! {
        #[test]
        fn any_text_is_split(line in "(\\PC|[\",'{}<>:\\t-]){0,60}") {
            let _ = fields(&line).count();
            let _ = without_marks(&line);
            let _ = step(&line, &mut None);
        }
    }
}
