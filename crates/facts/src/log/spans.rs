//! Whole messages of the kernel inside prose: code marks of Markdown around them, one or several in a line.

use super::event::Event;
use super::parse::{self, Groups, begins_like_kernel};
use super::prefix::strip;
use std::borrow::Cow;

/// The messages in the code marks of a line, each with its text and its stamp, and where the text ends that was used: marks
/// that open in this line may close in the next one. A part of a message, or a word, is not a message.
pub(super) fn of<'a>(
    line: &str,
    next: impl FnOnce() -> Option<(Cow<'a, str>, usize)>,
) -> (Vec<(String, Option<f64>, Event)>, usize) {
    let marks = line.matches('`').count();
    if marks == 0 || line.contains("``") {
        return (Vec::new(), 0);
    }
    let mut text = line.trim().to_owned();
    let mut used = 0;
    if marks % 2 == 1
        && let Some((more, end)) = next()
        && more.contains('`')
    {
        text.push(' ');
        text.push_str(more.trim().trim_start_matches(['>', '*', ' ']));
        used = end;
    }
    if is_general(&text) {
        return (Vec::new(), used);
    }
    let found = text.split('`').skip(1).step_by(2).filter_map(message).collect();
    (found, used)
}

/// First words of a sentence about what kernels do under a condition.
const CONDITIONS: [&str; 14] = [
    "if",
    "when",
    "whenever",
    "where",
    "once",
    "wenn",
    "falls",
    "sobald",
    "si",
    "quand",
    "lorsque",
    "cuando",
    "\u{435}\u{441}\u{43b}\u{438}",
    "\u{43a}\u{43e}\u{433}\u{434}\u{430}",
];

/// Words of a sentence about a machine of its writer, or about what happened.
const HAPPENED: [&str; 41] = [
    "i",
    "my",
    "we",
    "our",
    "me",
    "us",
    "today",
    "yesterday",
    "said",
    "was",
    "were",
    "did",
    "had",
    "got",
    "saw",
    "came",
    "went",
    "wrote",
    "gave",
    "ran",
    "began",
    "told",
    "found",
    "ich",
    "mein",
    "meine",
    "meinem",
    "wir",
    "unser",
    "schrieb",
    "kam",
    "war",
    "zeigte",
    "meldete",
    "je",
    "mon",
    "nous",
    "mi",
    "mis",
    "\u{44f}",
    "\u{443}",
];

/// Whether the sentence that ends in the first code marks says what kernels print under a condition, and not what one
/// printed: `If the guest cannot trust its TSC, the kernel prints ...`.
fn is_general(text: &str) -> bool {
    let before = text.split('`').next().unwrap_or_default();
    let sentence = before.rsplit(['.', '!', '?', ':']).find(|part| !part.trim().is_empty());
    let sentence = sentence.unwrap_or_default().to_lowercase();
    let mut words = sentence.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.next().is_some_and(|first| CONDITIONS.contains(&first))
        && !words.any(|word| HAPPENED.contains(&word) || word.len() > 4 && word.ends_with("ed"))
}

/// The message that a text is.
fn message(text: &str) -> Option<(String, Option<f64>, Event)> {
    let text = text.trim();
    let stripped = strip(text);
    let kernel = stripped.kernel == Some(true)
        || stripped.kernel.is_none() && begins_like_kernel(stripped.message);
    let event = parse::parse(stripped.message, Groups::of(stripped.message)).filter(|_| kernel)?;
    // A sentence quotes the beginning of a message; a message that may continue is not complete.
    (!parse::may_continue(&event)).then(|| (text.to_owned(), stripped.at, event))
}

#[cfg(test)]
mod tests {
    use crate::log::KernelLog;
    use crate::log::event::Event;

    fn events(text: &str) -> Vec<Event> {
        let log = KernelLog::scan(text.as_bytes(), "text").unwrap_or_default();
        log.entries.into_iter().map(|entry| entry.event).collect()
    }

    #[test]
    fn messages_in_code_marks_of_prose_are_read() {
        let text = "- At 3.7 s: `clocksource: timekeeping watchdog on CPU6: Marking clocksource 'tsc' as unstable because the \
                    skew is too large` (by 3 ms), then `Switched to clocksource hpet`.\n";
        let found = events(text);
        assert!(matches!(found[0], Event::WatchdogMarked { .. }), "{found:?}");
        assert_eq!(found[1], Event::Switched("hpet".to_owned()));
    }

    #[test]
    fn message_that_kernels_print_under_a_condition_is_of_no_machine() {
        let said = "`tsc: Marking TSC unstable due to clocksource watchdog` and `clocksource: Switched to clocksource hpet`.\n";
        for sentence in [
            "If a guest has no stable TSC, its kernel prints",
            "Both are slow. When the watchdog finds a skew, the log has",
            "Wenn der Host keine stabile TSC hat, schreibt der Kern",
            "> Whenever two CPUs differ, Linux says",
        ] {
            assert_eq!(events(&format!("{sentence} {said}")), [], "{sentence}");
        }
        for sentence in [
            "When I started the guest, its kernel printed",
            "When the host woke up, the kernel logged",
            "After a resume the kernel says",
            "If that matters: the log has",
            "When my laptop resumes, dmesg shows",
        ] {
            assert_eq!(events(&format!("{sentence} {said}")).len(), 2, "{sentence}");
        }
    }

    #[test]
    fn message_in_code_marks_over_two_lines_is_read() {
        let text =
            "It then said `clocksource: Watchdog remote CPU 1\nread timed out`, and stopped.\n";
        assert_eq!(events(text), [Event::RemoteTimeout]);
    }

    #[test]
    fn words_and_parts_in_code_marks_are_no_messages() {
        for text in [
            "The `clocksource: ` prefix and `tsc`, `hpet` and `Switched to clocksource NAME...` are words.\n",
            "Use `clocksource=hpet` or `tsc=unstable`.\n",
        ] {
            assert_eq!(events(text), [], "{text}");
        }
    }

    #[test]
    fn code_of_a_page_in_a_sentence_is_read() {
        let text = "<p>The host said <code>clocksource: Switched to clocksource hpet</code> an hour later.</p>\n";
        assert_eq!(events(text), [Event::Switched("hpet".to_owned())]);
        let block = "<pre><code>[    0.100000] clocksource: Switched to clocksource hpet\n[    0.2] x</code></pre>\n";
        assert_eq!(events(block), [Event::Switched("hpet".to_owned())]);
        let broken = "<code>[    0.100000] clocksource: Switched to clocksource hpet<br>[    1.200000] clocksource: Switched \
                      to clocksource tsc</code>\n";
        assert_eq!(events(broken).len(), 2);
    }
}
