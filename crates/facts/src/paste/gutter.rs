//! Text that programs add before each line, or around it: numbers (`cat -n`, `grep -n`, editors), dates and names of
//! containers (`kubectl logs --timestamps`, `docker compose logs`), the `+` of a patch, bullets, marks of code, frames,
//! scroll bars.
//!
//! It is removed if neighbouring lines show that it is not part of them: numbers count up, and other prefixes are equal
//! in each line. Lines keep their positions. The prefixes of the kernel's log are left to its own reader.

use crate::log::strip_prefix;

/// Number of lines that show it; fewer if the whole text has it.
const LINES: usize = 3;
/// Number of passes: a name followed by a date needs two.
const PASSES: usize = 3;

/// The prefix of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Front<'a> {
    /// A line number, and the character after it.
    Number(u64, &'a str),
    /// A date and a time, as in containers' logs.
    Date,
    /// The name of a container.
    Name(&'a str),
    /// A line that a patch adds.
    Added,
    /// Marks of code around the line.
    Code,
    /// The bullet of a list.
    Item,
}

impl Front<'_> {
    /// Number of consecutive lines that must have it, if the text has other lines.
    fn lines(self) -> usize {
        match self {
            Self::Code => 2,
            // A list stays a list, unless the whole text is one.
            Self::Item => usize::MAX,
            _ => LINES,
        }
    }

    /// Whether the next line may have `next` after this prefix.
    fn precedes(self, next: Self) -> bool {
        match (self, next) {
            (Self::Number(before, sign), Self::Number(number, other)) => {
                number == before + 1 && sign == other
            }
            (before, next) => before == next,
        }
    }
}

/// Splits a line into its prefix and the rest.
type Kind = fn(&str) -> Option<(Front<'_>, &str)>;

/// Removes the prefixes from the lines of a text.
pub(super) fn take_off(lines: &mut [String]) {
    for line in lines.iter_mut() {
        if let Some(bare) = unframed(line) {
            *line = bare.to_owned();
        }
    }
    for _ in 0..PASSES {
        let kinds: [Kind; 6] = [number, date, name, added, code, item];
        if !kinds.into_iter().any(|kind| pass(lines, kind)) {
            return;
        }
    }
}

/// Removes one kind of prefix; returns whether there was any.
fn pass(lines: &mut [String], kind: Kind) -> bool {
    let mut bare: Vec<(usize, String)> = Vec::new();
    let filled = lines.iter().filter(|line| !line.trim().is_empty()).count();
    let mut run: Vec<(usize, &str)> = Vec::new();
    let mut last: Option<Front<'_>> = None;
    let mut end = |run: &mut Vec<(usize, &str)>| {
        let whole = run.len() >= 2 && run.len() == filled;
        let counts = |found: Option<(Front<'_>, &str)>| {
            matches!(found, Some((Front::Number(..) | Front::Name(_), _)))
        };
        let of_log =
            |(number, rest): &(usize, &str)| !counts(kind(&lines[*number])) && is_logged(rest);
        let least = run
            .first()
            .and_then(|(number, _)| kind(&lines[*number]))
            .map_or(LINES, |(front, _)| front.lines());
        if (run.len() >= least || whole) && !run.iter().any(of_log) {
            bare.extend(run.iter().map(|(number, rest)| (*number, (*rest).to_owned())));
        }
        run.clear();
    };
    for (number, line) in lines.iter().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let found = kind(line);
        if let Some((front, rest)) = found {
            if !last.is_none_or(|last| last.precedes(front)) {
                end(&mut run);
            }
            run.push((number, rest));
        } else {
            end(&mut run);
        }
        last = found.map(|(front, _)| front);
    }
    end(&mut run);
    let any = !bare.is_empty();
    for (number, rest) in bare {
        if let Some(line) = lines.get_mut(number) {
            *line = rest;
        }
    }
    any
}

/// Whether a line is of a log, whose reader knows its prefixes: of the kernel, or of syslog (`web chronyd[12]: `).
fn is_logged(rest: &str) -> bool {
    if strip_prefix(rest).1 {
        return true;
    }
    let mut words = rest.split_ascii_whitespace();
    words.next().is_some()
        && words.next().is_some_and(|word| word.ends_with("]:") || word == "kernel:")
}

/// `    12\ttext`, `12:text`, `12-text`, ` 12 | text`, ` 12 │ text`.
fn number(line: &str) -> Option<(Front<'_>, &str)> {
    let begin = line.trim_start();
    let digits = begin.bytes().take_while(u8::is_ascii_digit).count();
    let number = begin.get(..digits).filter(|_| (1..=7).contains(&digits))?.parse().ok()?;
    let rest = &begin[digits..];
    let signs = [
        ("\t", "\t"),
        (":", ":"),
        ("-", ":"),
        (" | ", "|"),
        (" |", "|"),
        (" \u{2502} ", "|"),
        (" \u{2502}", "|"),
    ];
    let (sign, rest) = signs
        .into_iter()
        .find_map(|(sign, kind)| rest.strip_prefix(sign).map(|rest| (kind, rest)))
        .or_else(|| (rest.trim().is_empty()).then_some(("", rest)))?;
    (!sign.is_empty()).then_some((Front::Number(number, sign), rest))
}

/// `2026-09-14T10:11:12.123456789Z text`.
fn date(line: &str) -> Option<(Front<'_>, &str)> {
    let (stamp, rest) = line.split_once(' ').unwrap_or((line, ""));
    let bytes = stamp.as_bytes();
    let digits = |range: std::ops::Range<usize>| {
        bytes.get(range).is_some_and(|part| part.iter().all(u8::is_ascii_digit))
    };
    let is = |at: usize, sign: u8| bytes.get(at) == Some(&sign);
    let whole = digits(0..4) && is(4, b'-') && digits(5..7) && is(7, b'-') && digits(8..10);
    let time = is(10, b'T')
        && digits(11..13)
        && is(13, b':')
        && digits(14..16)
        && is(16, b':')
        && digits(17..19);
    let zone =
        stamp.ends_with('Z') || stamp.get(19..).is_some_and(|rest| rest.contains(['+', '-']));
    (whole && time && zone).then_some((Front::Date, rest))
}

/// `redis-1  | text`.
fn name(line: &str) -> Option<(Front<'_>, &str)> {
    let (name, rest) = line.split_once('|')?;
    let rest = rest.strip_prefix(' ').or_else(|| rest.is_empty().then_some(rest))?;
    let (bare, blank) = (name.trim_end(), name.ends_with(' '));
    let is_name = bare.starts_with(|c: char| c.is_ascii_lowercase())
        && bare.len() <= 64
        && bare.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
    (blank && is_name).then_some((Front::Name(bare), rest))
}

/// `+text`. A blank follows the `+` of a row that `perf` can expand.
fn added(line: &str) -> Option<(Front<'_>, &str)> {
    let rest = line.strip_prefix('+')?;
    (!rest.starts_with(['+', '-', '='])).then_some((Front::Added, rest))
}

/// `` `text` ``.
fn code(line: &str) -> Option<(Front<'_>, &str)> {
    let inside = line.trim().strip_prefix('`')?.strip_suffix('`')?;
    (!inside.contains('`')).then_some((Front::Code, inside))
}

/// `- text`, `* text`.
fn item(line: &str) -> Option<(Front<'_>, &str)> {
    let rest = ["- ", "* ", "\u{2022} "].into_iter().find_map(|sign| line.strip_prefix(sign))?;
    Some((Front::Item, rest))
}

/// A line without the frame around it and without the scroll bar at its end.
fn unframed(line: &str) -> Option<&str> {
    if line.is_ascii() {
        return None;
    }
    let is_bar = |c: char| matches!(c, '\u{2502}' | '\u{2503}' | '\u{2551}');
    let is_scroll = |c: char| {
        is_bar(c) || matches!(c, '\u{2580}'..='\u{259f}' | '\u{25c6}' | '\u{25b2}' | '\u{25bc}')
    };
    let begin = line.trim_start();
    let framed = begin.strip_prefix(is_bar).map(|rest| rest.strip_prefix(' ').unwrap_or(rest));
    let inside = framed.unwrap_or(line).trim_end();
    let bare = inside.trim_end_matches(is_scroll);
    // A bar of a diagram follows its number without a blank.
    let bare =
        if bare.is_empty() || bare.ends_with([' ', '\t']) { bare.trim_end() } else { inside };
    (bare.len() < line.trim_end().len()).then_some(bare)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bare(text: &str) -> String {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        take_off(&mut lines);
        lines.join("\n")
    }

    #[test]
    fn numbers_in_front_of_lines_of_the_kernel_are_taken_off() {
        let log = "1\t[    0.1] tsc: a\n2\t[    0.2] tsc: b\n3\t$ uname -r\n";
        assert_eq!(bare(log), "[    0.1] tsc: a\n[    0.2] tsc: b\n$ uname -r");
    }

    const PLAIN: &str = "web:~ # cat current_clocksource\nhpet\nweb:~ # cat available_clocksource\ntsc hpet acpi_pm\n 1.0  2.0\n";

    fn with(front: impl Fn(usize, &str) -> String) -> String {
        PLAIN.lines().enumerate().map(|(n, line)| front(n + 1, line) + "\n").collect()
    }

    #[test]
    fn front_of_each_line_is_taken_off() {
        for text in [
            with(|n, line| format!("{n:6}\t{line}")),
            with(|n, line| format!("{n}:{line}")),
            with(|n, line| format!("{:3} | {line}", n + 97)),
            with(|n, line| format!("{n:4} \u{2502} {line}")),
            with(|n, line| format!("2026-09-14T10:11:{n:02}.123456789Z {line}")),
            with(|_, line| format!("redis-1  | {line}")),
            with(|n, line| format!("web-1  | 2026-09-14T10:11:{n:02}Z {line}")),
            with(|_, line| format!("+{line}")),
            with(|_, line| format!("`{line}`")),
            with(|_, line| format!("- {line}")),
            with(|_, line| format!("\u{2502} {line:60} \u{2502}")),
            with(|_, line| format!("{line:60} \u{2592}")),
        ] {
            assert_eq!(bare(&text), PLAIN.trim_end(), "{text}");
        }
    }

    #[test]
    fn front_of_a_block_in_a_text_is_taken_off() {
        let block = "words\n```\n  1\t$ cat x\n  2\ta\n  3\tb\n```\n4 words\n";
        assert_eq!(bare(block), "words\n```\n$ cat x\na\nb\n```\n4 words");
    }

    #[test]
    fn what_belongs_to_the_lines_stays() {
        for text in [
            // Numbers that do not count lines.
            "1\t73.5\n2\t26.1\n4\t0.2\n",
            "10:11:01 a\n10:11:02 b\n10:11:03 c\n",
            "  1    42.1\n  2    50.0\n  3     7.9\n",
            "12 | a\n9 | b\n10 | c\n",
            // A table.
            "clock | cost\ntsc | 20\nhpet | 500\n",
            // A list in a text, and names in a sentence.
            "clocks:\n- tsc\n- hpet\n- acpi_pm\n",
            "`tsc` and `hpet`\n`hpet` or `tsc`\n",
            // Two lines of many.
            "+a\n+b\nc\n",
            "2: a\n3: b\nc\n",
            // Logs, whose dates are needed.
            "2026-09-14T10:11:01+00:00 web kernel: tsc: x\n2026-09-14T10:11:02+00:00 web kernel: tsc: y\n",
            "2026-09-14T10:11:01+00:00 web chronyd[12]: x\n2026-09-14T10:11:02+00:00 web chronyd[12]: y\n",
            // A bar of a diagram.
            "3 \u{2588}\u{2588}2\nload\u{2588}\u{2588}\n",
        ] {
            assert_eq!(bare(text), text.trim_end(), "{text}");
        }
    }
}
