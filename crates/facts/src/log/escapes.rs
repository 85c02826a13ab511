//! Escape sequences of terminals (ECMA-48, xterm) inside a line. Those that only change the look of the text are
//! removed. One that moves the cursor or erases leaves a sign that no name has: a terminal shows something other than
//! the words in the order of the bytes, so the words on both sides are not one word. Concealed text is not shown.

/// How the escape sign is shown by `cat -v`, by syslog daemons and in strings.
const SHOWN: [&str; 6] = ["^[", "#033", "\\u001b", "\\x1b", "\\033", "\\e"];

/// The sign for a movement of the cursor.
const MOVED: char = '\u{fffd}';

/// The effect of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    /// The text around it is shown as it is.
    None,
    /// The cursor is no longer after the text before it, or that text is no longer shown.
    Moves,
    /// The cursor is in a line above, so that the text after it hides other text.
    Up,
    /// The text after it is hidden, or is shown again.
    Conceals(bool),
}

/// The length of a colour sequence after the escape character: `[1;33m`. Durations in brackets are not colour
/// sequences: `[459m`, `[45ms]`, `[5m]`, `[1m22.5s > 1s]`.
fn colour(text: &str) -> Option<usize> {
    let text = text.strip_prefix('[')?;
    let figures = text.bytes().take(12).take_while(|b| b.is_ascii_digit() || *b == b';').count();
    let (figures, rest) = text.split_at(figures);
    let rest = rest.strip_prefix('m')?;
    let byte = |figure: &str| figure.is_empty() || figure.parse::<u8>().is_ok();
    let seconds = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let duration = ["]", "s]", "in]"].iter().any(|unit| rest.starts_with(unit))
        || seconds.len() < rest.len() && ["s ", "s]"].iter().any(|unit| seconds.starts_with(unit));
    (figures.split(';').all(byte) && !duration).then_some(figures.len() + 2)
}

/// Whether there are terminal sequences, or the rest of one that sets a colour.
pub(super) fn has_escapes(text: &str) -> bool {
    memchr::memchr2(0x1b, 0x9b, text.as_bytes()).is_some() && text.contains(['\u{1b}', '\u{9b}'])
        || memchr::memchr_iter(b'[', text.as_bytes()).any(|at| colour(&text[at..]).is_some())
}

/// Removes the sequences; those that set a colour also if the escape sign was lost or is shown.
pub(super) fn without_escapes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut concealed = false;
    while let Some(c) = rest.chars().next() {
        if let Some(length) = colour(rest).filter(|length| *length > 2) {
            let shown =
                SHOWN.iter().find(|sign| out.ends_with(**sign)).map_or(0, |sign| sign.len());
            out.truncate(out.len() - shown);
            rest = &rest[length..];
            continue;
        }
        rest = &rest[c.len_utf8()..];
        let (effect, length) = match c {
            '\u{1b}' => sequence(rest),
            '\u{9b}' => control(rest),
            _ => {
                if !concealed {
                    out.push(c);
                }
                continue;
            }
        };
        rest = &rest[length..];
        match effect {
            Effect::None => {}
            // At the beginning of a line there is nothing to join: consoles clear the screen there.
            Effect::Moves if out.is_empty() => {}
            Effect::Moves | Effect::Up => out.push(MOVED),
            Effect::Conceals(hides) => {
                // A blank is shown for each hidden sign.
                if hides && !concealed {
                    out.push(MOVED);
                }
                concealed = hides;
            }
        }
    }
    out
}

/// The effect of the sequence whose escape sign is before a text, and its length.
fn sequence(text: &str) -> (Effect, usize) {
    let Some(first) = text.chars().next() else { return (Effect::None, 0) };
    match first {
        '[' => {
            let (effect, length) = control(&text[1..]);
            (effect, length + 1)
        }
        // Titles, hyperlinks and other strings, up to BEL or to ESC and a backslash.
        ']' | 'P' | 'X' | '^' | '_' => (Effect::None, string(text)),
        // A set of characters: `B` is ASCII; others show letters as other signs.
        '(' | ')' | '*' | '+' | '-' | '.' | '/' | '#' | '%' | ' ' => {
            let last = text[1..].chars().next();
            let effect = if first == '(' && last != Some('B') || first == '#' {
                Effect::Moves
            } else {
                Effect::None
            };
            (effect, 1 + last.map_or(0, char::len_utf8))
        }
        'M' => (Effect::Up, 1),
        '8' | 'D' | 'E' | 'c' => (Effect::Moves, 1),
        other => (Effect::None, other.len_utf8()),
    }
}

/// The length of a string of a terminal. One without an end takes the rest of the line.
fn string(text: &str) -> usize {
    let bell = text.find('\u{7}').map(|at| at + 1);
    let end = text.find("\u{1b}\\").map(|at| at + 2);
    bell.into_iter().chain(end).min().unwrap_or(text.len())
}

/// The effect of a control sequence (`4D` in `ESC [ 4 D`), and its length.
fn control(text: &str) -> (Effect, usize) {
    let between = |bytes: &[u8], low: u8, high: u8| {
        bytes.iter().take_while(|byte| (low..=high).contains(*byte)).count()
    };
    let bytes = text.as_bytes();
    let figures = between(bytes, b'0', b'?');
    let end = figures + between(&bytes[figures..], b' ', b'/');
    // One that is cut, or broken by another sign.
    let Some(last) = bytes.get(end).filter(|byte| (b'@'..=b'~').contains(*byte)) else {
        return (Effect::Moves, end);
    };
    let values = &text[..figures];
    let effect = match last {
        b'm' if values.starts_with(['<', '=', '>', '?']) => Effect::None,
        b'm' => conceals(values).map_or(Effect::None, Effect::Conceals),
        // After the text: `grep --color` writes it after each colour.
        b'K' | b'J' if matches!(values, "" | "0") => Effect::None,
        b'A' | b'F' => Effect::Up,
        // The alternate screen hides what was shown before.
        b'h' | b'l'
            if values.split([';', '?']).any(|mode| matches!(mode, "47" | "1047" | "1049")) =>
        {
            Effect::Moves
        }
        // With another sign before the last one: the cursor's form, a reset, a question.
        b'q' | b'p' if end > figures => Effect::None,
        _ if end > figures => Effect::Moves,
        // Modes, questions to the terminal, the window.
        b'h' | b'l' | b'n' | b'c' | b'q' | b't' | b'p' | b's' | b'i' | b'g' => Effect::None,
        _ => Effect::Moves,
    };
    (effect, end + 1)
}

/// Whether the values of a colour sequence begin or end concealed text. The values after 38, 48 and 58 are a colour.
fn conceals(values: &str) -> Option<bool> {
    let mut conceals = None;
    let mut values = values.split(';');
    while let Some(value) = values.next() {
        match value.trim_start_matches('0') {
            "8" => conceals = Some(true),
            "" | "28" => conceals = Some(false),
            "38" | "48" | "58" => {
                let skipped = match values.next() {
                    Some("5") => 1,
                    Some("2") => 3,
                    _ => 0,
                };
                for _ in 0..skipped {
                    values.next();
                }
            }
            _ => {}
        }
    }
    conceals
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> String {
        if has_escapes(line) { without_escapes(line) } else { line.to_owned() }
    }

    #[test]
    fn colours_are_taken_out_with_and_without_their_escape() {
        let plain = "[    9.100000] tsc: x";
        for (before, after) in [
            ("\u{1b}[32m", "\u{1b}[0m"),
            ("\u{1b}[1;33m", "\u{1b}[m"),
            ("[32m", "[0m"),
            ("^[[32m", "^[[0m"),
            ("#033[32m", "#033[0m"),
            ("\\x1b[32m", "\\x1b[0m"),
            ("\u{1b}]0;title\u{7}", ""),
        ] {
            assert_eq!(read(&format!("{before}[    9.100000]{after} tsc: x")), plain, "{before:?}");
        }
        for plain in [
            "a[0] b[12] [m",
            "up [459m 3s",
            "took [45ms]",
            "for [5m] and [12min]",
            "[1m22.5s > 1s]",
        ] {
            assert_eq!(read(plain), plain);
        }
    }

    #[test]
    fn words_on_both_sides_of_a_movement_are_not_one_word() {
        for sequence in [
            "[4D", "[C", "[1G", "[1;1H", "[1A", "[2B", "[1P", "[4X", "[3@", "[1K", "[2K", "[2J",
            "[1J", "[?1049h", "[?47l", "[r", "[u", "[3`", "8", "M", "c", "(0", "[8m", "[0;8m",
            "[4",
        ] {
            let joined = read(&format!("hpet\u{1b}{sequence} tsc"));
            assert!(joined.starts_with("hpet\u{fffd}"), "{sequence}: {joined}");
        }
        assert_eq!(read("hpet\u{9b}4Dtsc"), "hpet\u{fffd}tsc");
        // No letter of the word after it belongs to the sequence.
        assert_eq!(read("\u{1b}[3@tsc"), "tsc");
        assert_eq!(read("\u{1b}[2Atsc"), "\u{fffd}tsc");
    }

    #[test]
    fn changes_of_the_look_are_transparent() {
        for (line, plain) in [
            ("\u{1b}[01;31m\u{1b}[Ktsc\u{1b}[m\u{1b}[K is", "tsc is"),
            ("\u{1b}(B\u{1b}[mtsc", "tsc"),
            ("\u{1b}[?2004l\u{1b}[?25htsc\u{1b}[6n", "tsc"),
            ("\u{1b}]8;;file:///a\u{1b}\\tsc\u{1b}]8;;\u{1b}\\ is", "tsc is"),
            ("\u{1b}[38;5;8mtsc\u{1b}[0m", "tsc"),
            ("\u{1b}[38;2;8;8;8mtsc\u{1b}[48;5;8m", "tsc"),
            // A console clears the screen before the first message.
            ("\u{1b}c\u{1b}[2J\u{1b}[01;01H[    0.000000] x", "[    0.000000] x"),
        ] {
            assert_eq!(read(line), plain, "{line:?}");
        }
    }

    #[test]
    fn concealed_text_is_not_read() {
        assert_eq!(read("tsc \u{1b}[8mhpet\u{1b}[28m ok"), "tsc \u{fffd} ok");
        assert_eq!(read("tsc \u{1b}[1;8mhpet\u{1b}[m"), "tsc \u{fffd}");
        assert_eq!(read("\u{1b}[8mhpet"), "\u{fffd}");
    }
}
