//! Lines that belong together: what a mailer or a terminal wrapped is joined, and the further lines
//! of one record, which may be anything, are no messages of their own.

use super::event::Event;
use super::lines::{is_comment, line_before, next_line, next_message, text};
use super::parse::{self, Groups, begins_like_kernel};
use super::prefix::{Stripped, stamp_and_message, strip};
use super::transcript;

/// Lines behind a message that may be its wrapped continuation.
pub(super) const LOOKAHEAD: usize = 3;
/// Columns of a terminal that cuts lines inside words.
const TERMINAL: usize = 80;
/// Blanks that `dmesg` and `journalctl` put in front of the further lines of a record, at least.
const INDENT: usize = 8;
/// Lines of one record that are looked back at.
const LOOKBACK: usize = 16;

/// Where a line stands.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) window: &'a [u8],
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) complete: usize,
}

/// The message joined with the lines behind it that have no prefix of their own, and the end of the
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
    let mut columns = raw.chars().count();
    let cut = columns == TERMINAL;
    // A blank at the very end was taken off with the prefix.
    let mut blank = raw.ends_with(' ');
    if alone.is_some_and(|event| !parse::may_continue(event)) && !cut && !open {
        return None;
    }
    let mut joined = message.to_owned();
    let mut from = place.end;
    let mut best = None;
    let mut taken = 0;
    while taken < LOOKAHEAD {
        let (next, next_end) = next_line(place.window, from, place.complete)?;
        // Two consoles write each line twice.
        if next == raw {
            from = next_end;
            taken += 1;
            continue;
        }
        let Stripped { message: more, kernel, dated, .. } = strip(&next);
        let more = more.trim();
        // Forums put empty lines between the parts of a wrapped line.
        if more.is_empty() && taken == 0 && message.starts_with("Time: ") {
            from = next_end;
            taken += 1;
            continue;
        }
        let stops = kernel.is_some()
            || dated
            || more.is_empty()
            || is_comment(&next)
            || transcript::is_prompt(&next)
            || begins_like_kernel(more);
        if stops || (!prefixed && alone.is_some() && !cut && !open) {
            break;
        }
        // A soft line break of quoted-printable mail, and a terminal of 80 columns, cut inside
        // words; mailers cut at blanks.
        if joined.ends_with('=') {
            joined.pop();
        } else if columns != TERMINAL || blank {
            joined.push(' ');
        }
        columns = next.chars().count();
        blank = next.ends_with(' ');
        joined.push_str(if joined.ends_with(' ') { more } else { next_message(&next, more) });
        from = next_end;
        taken += 1;
        let Some(event) = parse::parse(&joined, Groups::of(&joined)) else { continue };
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

/// Whether the joined text says more than its first line.
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

/// The line in front, if it has a prefix and this one does not: a mailer wrapped before the keyword.
pub(super) fn with_previous(place: Place<'_>, message: &str, groups: Groups) -> Option<Event> {
    let (previous, _) = previous(place.window, place.start)?;
    let stripped = strip(&previous);
    if stripped.kernel != Some(true) || is_comment(&previous) {
        return None;
    }
    // What that line says alone was heard already.
    if parse::parse(stripped.message, Groups::of(stripped.message)).is_some() {
        return None;
    }
    parse::parse(&format!("{} {}", stripped.message, message.trim()), groups)
}

/// Whether the line in front is a prefix alone, so that a mailer has wrapped the message behind it.
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

/// Whether a line is one of the further lines of a record, which begin with nothing of their own
/// (indented by `dmesg` and `journalctl`), or with the stamp of the first (by `syslog(2)` and older
/// `dmesg`). Users can put line breaks into what the kernel quotes: the option of a mount that
/// fails, the name of a program, what a USB device calls itself.
///
/// With stamps this can only be told where the line in front, of the same microsecond, quotes such
/// text; the kernel's own messages about clocks do so, too, and are told by their beginning.
pub(super) fn of_a_record(place: Place<'_>, raw: &str, line: &Stripped<'_>) -> bool {
    // Nobody else is there before the first second.
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

/// Whether the line that ends in front of `start` plainly begins with another stamp: most do, and to take their prefixes
/// off costs as much as all else that is done with a line.
fn has_other_stamp(window: &[u8], start: usize, at: Option<f64>) -> bool {
    let Some(line) = line_before(window, start) else { return false };
    // A second stamp counts in place of the first.
    stamp_and_message(&window[line])
        .is_some_and(|(stamp, message)| Some(stamp) != at && !message.starts_with(b"["))
}

/// Whether a message quotes text from outside.
pub(super) fn quotes(message: &str) -> bool {
    let opens = |sign: char| {
        message
            .match_indices(sign)
            .any(|(at, _)| at == 0 || message[..at].ends_with([' ', '(', '=', ':']))
    };
    opens('\'') || opens('"') || names_itself(message)
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

/// `usb 1-1: Product: ...`: the rest is what the device says.
fn names_itself(message: &str) -> bool {
    message.starts_with("usb ")
        && ["Product: ", "Manufacturer: ", "SerialNumber: "]
            .iter()
            .any(|key| parse::find(message, key).is_some())
}
