//! Messages of which a part is missing: the first line of an excerpt, a line that a console tore, the end
//! of a text that was cut off. What is left must not say more than the kernel did.

use super::Entry;
use super::event::Event;
use super::parse::PREFIXES;
use crate::names::NAMES;

/// The first line of an excerpt may begin inside a stamp or inside the kernel's own prefix: the message
/// behind what is left of it (`rce: Clocksource 'tsc' skewed ...`, `3456] clocksource: ...`).
pub(super) fn without_cut_prefix(line: &str) -> Option<&str> {
    if let Some((stamp, rest)) = line.split_once(']')
        && (1..=14).contains(&stamp.len())
        && stamp.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
    {
        return Some(rest.trim_start());
    }
    let end = line.find(':').filter(|end| (1..24).contains(end))?;
    let (left, rest) = (&line[..=end], &line[end + 1..]);
    let is_part = |prefix: &&str| prefix.len() > left.len() && prefix.ends_with(left);
    let whole = PREFIXES.contains(&left);
    (!whole && rest.starts_with([' ', '\t']) && PREFIXES.iter().any(is_part))
        .then(|| rest.trim_start())
}

/// Whether nothing stands in front of a line but empty lines and headers.
pub(super) fn is_first(before: &[u8]) -> bool {
    before.len() < 4096
        && before.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).all(|line| {
            line.is_empty() || [&b"#"[..], b"```", b"---"].iter().any(|sign| line.starts_with(sign))
        })
}

/// Whether a message at the very end of a text, without the end of its line, may lack a part that
/// would change what it says.
pub(super) fn may_be_cut(event: &Event) -> bool {
    match event {
        // `Linux version 5.1` may have been 5.15.
        Event::Banner(text) => !text.trim_start().contains(char::is_whitespace),
        Event::Packages(_) => true,
        _ => false,
    }
}

/// Whether the last figure of `Long readout interval, ... cs_nsec: N wd_nsec: M`, behind which nothing
/// follows, may lack digits: as far as it goes, it agrees with the other one.
pub(super) fn may_lack_digits(whole: i64, part: i64) -> bool {
    let (whole, part) = (whole.unsigned_abs().to_string(), part.unsigned_abs().to_string());
    let Some(missing) = whole.len().checked_sub(part.len()).filter(|missing| *missing > 0) else {
        return false;
    };
    let (Ok(whole), Ok(part)) = (whole.parse::<f64>(), part.parse::<f64>()) else { return false };
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap
    )]
    let scale = 10f64.powi(missing as i32);
    // What the missing digits can add, and a thousandth by which clocks that agree may differ.
    let (least, most) = (part * scale, (part + 1.0) * scale);
    (least * 0.999..most * 1.001).contains(&whole)
}

/// Takes switches out whose name was cut: a part of a name that the kernel has, where nothing says that
/// there is a clocksource of the shorter name. `tsc` registers before it is chosen (4.2 and later print
/// that), so that in a log with `tsc-early` and without `tsc` it is what was left of the former.
pub(super) fn take_out_cut_names(entries: &mut Vec<Entry>) {
    let registered: Vec<String> = entries
        .iter()
        .filter_map(|entry| match &entry.event {
            Event::Registered { name, .. } => Some(name.clone()),
            _ => None,
        })
        .collect();
    let is_part = |name: &str, of: &str| of.len() > name.len() && of.starts_with(name);
    let is_cut = |name: &str| {
        if registered.iter().any(|known| known == name) {
            return false;
        }
        let of_registered = registered.iter().any(|known| is_part(name, known));
        let known = NAMES.iter().any(|known| known.name == name);
        let of_known = NAMES.iter().any(|known| is_part(name, known.name));
        of_registered || !known && of_known
    };
    entries.retain(|entry| !matches!(&entry.event, Event::Switched(name) if is_cut(name)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rest_of_a_prefix_is_taken_off_the_first_line() {
        let skewed = "Clocksource 'tsc' skewed 1 ns";
        for left in ["rce:        ", "keeping watchdog: ", "3456] ", "0.123456] "] {
            assert_eq!(without_cut_prefix(&format!("{left}{skewed}")), Some(skewed), "{left}");
        }
        for other in ["clocksource: x", "host: x", "Re: tsc: x", "a] x", "x"] {
            assert_eq!(without_cut_prefix(other), None, "{other}");
        }
    }

    #[test]
    fn figures_that_agree_as_far_as_they_go_may_lack_digits() {
        for part in [8, 80, 8_020, 8_020_123, 802_012_345] {
            assert!(may_lack_digits(8_020_123_456, part), "{part}");
        }
        assert!(!may_lack_digits(57_471_994_482, 502_738_831));
        assert!(!may_lack_digits(8_020_123_456, 8_020_123_449));
    }
}
