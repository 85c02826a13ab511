//! Lines of a console that have what a user wrote before a time stamp that looks like the kernel's: the description of
//! a unit, a name at a login, a message to those who are logged in. The kernel prints there too, at the same place: what
//! such a line says of the clocksource is not known.

use crate::log::is_stamped;

/// What systemd prints before the description of a unit.
const STATES: [&str; 8] = [
    "[  OK  ] ",
    "[FAILED] ",
    "[DEPEND] ",
    "[ TIME ] ",
    "[ INFO ] ",
    "[ WARN ] ",
    "[ SKIP ] ",
    "         ",
];
/// What programs print before words of a user, at the beginning of a line.
const FIELDS: [&str; 5] = ["Last login: ", "Last failed login: ", "Subject: ", "talk: ", "From: "];

/// Whether a line has such words, and a time stamp behind them. `is_typed`: names at a login are a person's.
pub(super) fn has_words(line: &str, is_typed: bool) -> bool {
    let Some(at) = stamp(line).filter(|at| *at > 0) else { return false };
    let front = &line[..at];
    let of_a_unit =
        STATES.iter().any(|state| front.starts_with(state) && front.len() > state.len());
    // The kernel interrupts a line of systemd, which then does not end with its full stop.
    if of_a_unit {
        return front.ends_with(' ') || line.trim_end().ends_with('.');
    }
    is_typed && front.ends_with(" login: ")
        || FIELDS.iter().any(|field| front.starts_with(field))
        || is_of_a_program(front)
}

/// Whether the bytes of a line may be such a line. Most lines are not, and begin with their time stamp.
pub(super) fn may_have_words(line: &[u8]) -> bool {
    const SAYING: [&[u8]; 3] = [b"locksource", b"TSC", b"tsc"];
    let begins = match line {
        [b'[', second, ..] => {
            second.is_ascii_uppercase() || matches!(line.get(2), Some(b' ' | b'A'..=b'Z'))
        }
        [first, ..] => first.is_ascii_alphabetic() || *first == b' ',
        [] => false,
    };
    begins
        && SAYING.iter().any(|word| memchr::memmem::find(line, word).is_some())
        && memchr::memchr(b'[', line.get(1..).unwrap_or_default()).is_some()
}

/// The message of such a line, with its time stamp.
pub(super) fn message(line: &str) -> &str {
    stamp(line).map_or(line, |at| &line[at..])
}

/// The place of the first time stamp of a line.
fn stamp(line: &str) -> Option<usize> {
    line.match_indices('[').map(|(at, _)| at).take(8).find(|at| is_stamped(&line[*at..]))
}

/// `app[42]: `: a program's own line.
fn is_of_a_program(front: &str) -> bool {
    let Some((name, number)) = front.strip_suffix("]: ").and_then(|front| front.split_once('['))
    else {
        return false;
    };
    let is_part = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    !name.is_empty()
        && name.bytes().all(is_part)
        && !number.is_empty()
        && number.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_before_a_stamp_on_a_console_are_found() {
        let message = "[90000.250000] clocksource: Switched to clocksource hpet";
        for front in [
            "[  OK  ] Started app.service - ",
            "[FAILED] Failed to start app - ",
            "         Starting ",
            "db1 login: ",
            "Last login: Mon Nov 30 09:00:00 2026 from ",
            "app[42]: ",
        ] {
            assert!(has_words(&format!("{front}{message}"), true), "{front}");
        }
        assert!(has_words(&format!("[  OK  ] Started x.{message}."), true));
        // The kernel interrupts systemd, and prints while a login waits.
        assert!(!has_words(&format!("db1 login: {message}"), false));
        assert!(!has_words(&format!("         Starting x...{message}"), true));
        for line in ["[    1.900000] app[42]: x", "app[42]: x", "[  OK  ] Started x.", ""] {
            assert!(!has_words(line, true), "{line}");
        }
        assert!(!has_words(message, true));
    }
}
