//! Lines that belong together: a line that a mailer or a terminal wrapped is joined, and the further lines
//! of one record, which may contain any text, are not messages.

use super::event::Event;
use super::lines::{is_comment, line_before, next_line, next_message, text};
use super::parse::{self, Groups, begins_like_kernel};
use super::prefix::{Stripped, stamp_and_message, strip};
use super::transcript;

/// Maximum number of lines after a message that may continue it.
pub(super) const LOOKAHEAD: usize = 3;
/// Columns of a terminal that breaks lines inside words.
const TERMINAL: usize = 80;
/// Minimum number of blanks that `dmesg` and `journalctl` print before the further lines of a record.
const INDENT: usize = 8;
/// Maximum number of earlier lines that are examined for one record.
const LOOKBACK: usize = 16;

/// The position of a line in its text.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) window: &'a [u8],
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) complete: usize,
    /// Width at which lines of this text are broken inside words.
    pub(super) wrapped: Option<usize>,
}

/// The message joined with the following lines that have no prefix, and the end of the
/// last one used. `prefixed`: lines of this log have a prefix.
pub(super) fn with_next(
    place: Place<'_>,
    prefixed: bool,
    raw: &str,
    message: &str,
    alone: Option<&Event>,
) -> Option<(Event, usize, String)> {
    // A comma, the soft line break of quoted-printable mail, or a message that always has figures.
    let open = message.ends_with([',', '=']) || matches!(alone, Some(Event::LongReadoutCut));
    let is_wrapped = |columns: usize| columns == TERMINAL || place.wrapped == Some(columns);
    let mut columns = raw.chars().count();
    let cut = is_wrapped(columns);
    // A final blank was removed with the prefix.
    let mut blank = raw.ends_with(' ');
    let whole = alone.is_some_and(|event| !parse::may_continue(event));
    if let Some(alone) = alone.filter(|event| whole && !cut || matches!(event, Event::Switched(_)))
        && let Some(found) = broken_at_the_end(place, prefixed, raw, message, alone)
    {
        return Some(found);
    }
    if whole && !cut && !open {
        return None;
    }
    let mut joined = message.to_owned();
    // Words of these may be figures.
    let is_text = match alone {
        Some(Event::Banner(text)) => text.trim().contains(' '),
        Some(Event::CommandLine(_) | Event::Dmi(_)) => true,
        _ => false,
    };
    let mut from = place.end;
    let mut best = None;
    let mut taken = 0;
    while taken < LOOKAHEAD {
        let (next, next_end) = next_line(place.window, from, place.complete)?;
        taken += 1;
        // Two consoles write each line twice.
        if next == raw {
            from = next_end;
            continue;
        }
        let numbered = behind_number(raw, &next, taken);
        let next = numbered.map_or(next.as_ref(), |rest| rest);
        let Stripped { message: more, kernel, dated, .. } = strip(next);
        // A line of digits may look like a date.
        let figure = !blank && !is_text && figure_goes_on(&joined, next.trim());
        // The count may look like a host, and its key like a program.
        let bare = next.trim_start_matches(['>', ' ']);
        let ends_in_key = joined.trim_end().ends_with(':');
        let is_count = ends_in_key && begins_with_count(bare);
        let kernel = kernel.filter(|_| !is_count);
        let figure_begins = ends_in_key && next.starts_with(|c: char| c.is_ascii_digit());
        let (more, dated) = if is_count {
            (bare.trim(), false)
        } else if kernel.is_none() && figure_begins || figure {
            (next.trim(), false)
        } else {
            (more.trim(), dated)
        };
        // Forums insert empty lines between the parts of a wrapped line.
        if more.is_empty() && taken == 1 && message.starts_with("Time: ") {
            from = next_end;
            continue;
        }
        let stops = kernel.is_some() && !figure
            || dated
            || more.is_empty()
            || is_comment(next)
            || transcript::is_prompt(next)
            || begins_like_kernel(more);
        if stops || (!prefixed && alone.is_some() && !cut && !open) {
            break;
        }
        // A soft line break of quoted-printable mail, and a terminal, break inside words; mailers break at blanks, and
        // no message has two consecutive figures.
        let figure = figure || !blank && !is_text && figure_goes_on(&joined, more);
        if joined.ends_with('=') {
            joined.pop();
        } else if !figure && (!is_wrapped(columns) || blank || is_count) {
            joined.push(' ');
        }
        columns = next.chars().count();
        blank = next.ends_with(' ');
        let seam = joined.len();
        joined.push_str(if joined.ends_with(' ') { more } else { next_message(next, more) });
        from = next_end;
        let mut event = parse::parse(&joined, Groups::of(&joined));
        // The blank may be inside a name.
        if event.is_none() && taken == 1 && joined[..seam].ends_with(' ') {
            let together = format!("{}{}", &joined[..seam - 1], &joined[seam..]);
            event = parse::parse(&together, Groups::of(&together))
                .filter(|event| matches!(event, Event::Registered { name, .. } if crate::names::is_known(name)));
        }
        let Some(event) = event else { continue };
        if better(&event, alone) {
            let done = !parse::may_continue(&event);
            best = Some((event, from, joined.clone()));
            if done {
                break;
            }
        }
    }
    best
}

/// Whether a line begins with the count of a clocksource in a detail line of the watchdog: `fffb7210 wd_last: ...`.
fn begins_with_count(line: &str) -> bool {
    const KEYS: [&str; 5] = ["wd_last:", "cs_last:", "wd_now:", "cs_now:", "mask:"];
    let mut words = line.split_ascii_whitespace();
    words.next().is_some_and(|word| word.chars().all(is_digit))
        && words.next().is_some_and(|word| KEYS.contains(&word))
}

/// Whether a complete message ends in a figure or a name whose rest is the only content of the next
/// line.
fn broken_at_the_end(
    place: Place<'_>,
    prefixed: bool,
    raw: &str,
    message: &str,
    alone: &Event,
) -> Option<(Event, usize, String)> {
    let is_switch = matches!(alone, Event::Switched(_));
    if !prefixed || raw.ends_with(' ') || !is_switch && !message.ends_with(is_digit) {
        return None;
    }
    let (next, end) = next_line(place.window, place.end, place.complete)?;
    let rest = behind_number(raw, &next, 1).unwrap_or(&next).trim();
    let is_rest = if is_switch {
        let sign = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        !rest.is_empty() && rest.len() < 48 && rest.chars().all(sign)
    } else {
        rest.chars().all(is_digit) && figure_goes_on(message, rest)
    };
    if !is_rest {
        return None;
    }
    let joined = format!("{message}{rest}");
    let event = parse::parse(&joined, Groups::of(&joined))?;
    better(&event, Some(alone)).then_some((event, end, joined))
}

fn is_digit(c: char) -> bool {
    c.is_ascii_hexdigit()
}

/// Whether a figure at the end of a text continues in another text: the first text ends and the second one begins with
/// digits, and the text after them does not make them a word.
fn figure_goes_on(before: &str, more: &str) -> bool {
    if !before.ends_with(|c: char| is_digit(c) || c == '.' || c == 'x') {
        return false;
    }
    let begin = before
        .rfind(|c: char| !c.is_ascii_alphanumeric() && c != '.')
        .map_or(0, |at| at + before[at..].chars().next().map_or(0, char::len_utf8));
    let figure = &before[begin..];
    let digits = figure.strip_prefix("0x").unwrap_or(figure);
    let is_figure = digits.len() < figure.len() || digits.starts_with(is_digit);
    if !is_figure || !digits.chars().all(|c| is_digit(c) || c == '.') {
        return false;
    }
    let rest = more.trim_start_matches(|c: char| is_digit(c) || c == '.');
    let head = &more[..more.len() - rest.len()];
    // `2680ns`, `98ms`, `2893.298MHz`.
    let unit = head.chars().all(|c| !c.is_ascii_alphabetic()) && rest.starts_with(['n', 'm', 'M']);
    let ends = !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    !head.is_empty() && (ends || unit)
}

/// The text after the number that `cat -n` or `grep -n` prints before a line, if the line `behind` lines later has the
/// number that it must have: `dmesg.txt:12:`.
fn behind_number<'a>(raw: &str, next: &'a str, behind: usize) -> Option<&'a str> {
    fn number(line: &str) -> Option<(&str, usize, &str)> {
        let line = line.trim_start();
        let (name, line) = match line.starts_with(|c: char| c.is_ascii_digit()) {
            true => ("", line),
            false => line.split_once(':').filter(|(name, _)| !name.contains(['[', ' ']))?,
        };
        let digits = line.bytes().take_while(u8::is_ascii_digit).count();
        Some((name, line[..digits].parse().ok()?, &line[digits..]))
    }
    let (name, first, sign) = number(raw)?;
    let (other, second, rest) = number(next)?;
    let sign = sign.chars().next().filter(|sign| matches!(sign, ':' | '\t' | ' '))?;
    (name == other && first.checked_add(behind)? == second).then(|| rest.strip_prefix(sign))?
}

/// Whether the joined text contains more than its first line.
fn better(joined: &Event, alone: Option<&Event>) -> bool {
    match (alone, joined) {
        (None, _) => true,
        (Some(Event::TscUnstable(_)), _) => {
            matches!(joined, Event::TscUnstable(_)) && !parse::may_continue(joined)
        }
        (Some(Event::Switched(_)), Event::Switched(name)) => crate::names::is_known(name),
        // `read-back delay of N ns,` and then `clock-skew test skipped!`.
        (Some(Event::ReadbackDelay { .. }), Event::SkewTestSkipped) => true,
        (Some(Event::LongReadoutCut), Event::LongReadout { .. }) => true,
        (Some(alone), joined) => alone.kind() == joined.kind() && alone != joined,
    }
}

/// Joins the previous line, if it has a prefix and this one does not: a mailer wrapped before the keyword.
pub(super) fn with_previous(place: Place<'_>, message: &str, groups: Groups) -> Option<Event> {
    let (previous, _) = previous(place.window, place.start)?;
    let stripped = strip(&previous);
    if stripped.kernel != Some(true) || is_comment(&previous) {
        return None;
    }
    // The previous line was already parsed as a message.
    if parse::parse(stripped.message, Groups::of(stripped.message)).is_some() {
        return None;
    }
    let cut = place.wrapped == Some(previous.chars().count()) && !previous.ends_with(' ');
    let blank = if cut { "" } else { " " };
    parse::parse(&format!("{}{blank}{}", stripped.message, message.trim()), groups)
}

/// Whether the previous line is only a prefix, so that a mailer has wrapped the message after it.
pub(super) fn behind_a_prefix(place: Place<'_>) -> bool {
    previous(place.window, place.start).is_some_and(|(before, _)| {
        let before = strip(&before);
        before.kernel == Some(true) && before.message.is_empty()
    })
}

fn previous(window: &[u8], start: usize) -> Option<(std::borrow::Cow<'_, str>, usize)> {
    let line = line_before(window, start)?;
    Some((text(window, line.start, line.end), line.start))
}

/// Whether a line continues a record. Such lines have no prefix (`dmesg` and `journalctl` indent them), or repeat the
/// time stamp of the record's first line (`syslog(2)` and older `dmesg`). Users can put line breaks into text that the
/// kernel quotes: an option of a mount that fails, the name of a program, the name that a USB device reports.
///
/// With time stamps this is certain only if the previous line, of the same microsecond, quotes such text. The kernel's
/// messages about clocks also share time stamps, and are recognised by how they begin.
pub(super) fn of_a_record(place: Place<'_>, raw: &str, line: &Stripped<'_>) -> bool {
    // Before the first second only the kernel runs.
    if line.kernel.is_some() && line.at.is_none_or(|at| at < 1.0) {
        return false;
    }
    let mut start = place.start;
    for back in 0..LOOKBACK {
        if line.kernel.is_some() && has_other_stamp(place.window, start, line.at) {
            return false;
        }
        let Some((text, begin)) = previous(place.window, start) else { return false };
        let before = strip(&text);
        if line.kernel.is_none() {
            if before.kernel == Some(true) {
                let blanks = raw.bytes().take_while(|byte| *byte == b' ').count();
                return blanks >= INDENT && back == 0 || open_end(before.message);
            }
        } else {
            if before.at != line.at {
                return false;
            }
            if !begins_like_kernel(before.message) && quotes(before.message) {
                return true;
            }
        }
        start = begin;
    }
    false
}

/// Whether the line that ends before `start` clearly begins with another time stamp: most do, and removing their
/// prefixes costs as much as all other work on a line.
fn has_other_stamp(window: &[u8], start: usize, at: Option<f64>) -> bool {
    let Some(line) = line_before(window, start) else { return false };
    // A second time stamp replaces the first.
    stamp_and_message(&window[line])
        .is_some_and(|(stamp, message)| Some(stamp) != at && !message.starts_with(b"["))
}

/// Whether a message quotes external text.
pub(super) fn quotes(message: &str) -> bool {
    let opens = |sign: char| {
        message
            .match_indices(sign)
            .any(|(at, _)| at == 0 || message[..at].ends_with([' ', '(', '=', ':']))
    };
    opens('\'') || opens('"') || opens('`') || names_itself(message)
}

/// Whether a quotation is not closed at the end of the line.
fn open_end(message: &str) -> bool {
    let open = |sign: char| {
        message.match_indices(sign).any(|(at, _)| {
            (at == 0 || message[..at].ends_with([' ', '(', '=', ':']))
                && !message[at + 1..].contains(sign)
        })
    };
    open('\'') || open('"') || names_itself(message)
}

/// `usb 1-1: Product: ...`: the rest is text from the device.
fn names_itself(message: &str) -> bool {
    message.starts_with("usb ")
        && ["Product: ", "Manufacturer: ", "SerialNumber: "]
            .iter()
            .any(|key| parse::find(message, key).is_some())
}
