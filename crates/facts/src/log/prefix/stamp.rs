//! Seconds since boot, as printk writes them.

/// The stamp with which a text begins as printk writes it: `[ 1.288080]`, six digits after the
/// point.
pub(in crate::log) fn printk_stamp(text: &str) -> Option<f64> {
    let end = text.find(']').filter(|end| (9..24).contains(end))?;
    let inside = text.get(1..end).filter(|_| text.starts_with('['))?.trim_start();
    let fraction = inside.split_once('.')?.1;
    seconds(inside).filter(|_| fraction.len() == 6)
}

/// The time stamp at the beginning of a line, as `[ 9217.400000] `, and the message after it. It works on bytes, for
/// lines in which nothing else is parsed.
pub(in crate::log) fn stamp_and_message(raw: &[u8]) -> Option<(f64, &[u8])> {
    let rest = raw.strip_prefix(b"[")?;
    let end = memchr::memchr(b']', rest.get(..24.min(rest.len()))?)?;
    let stamp: f64 = std::str::from_utf8(&rest[..end]).ok()?.trim().parse().ok()?;
    (stamp >= 0.0).then(|| (stamp, rest[end + 1..].trim_ascii_start()))
}

/// The text behind a time stamp whose end was lost on a serial line: `[    0.159arch_timer: ...`.
pub(in crate::log) fn behind_damaged(text: &str) -> Option<&str> {
    let inside = text.strip_prefix('[')?.trim_start();
    let (whole, rest) = inside.split_once('.')?;
    let behind = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = rest.len() - behind.len();
    let is_number =
        !whole.is_empty() && whole.len() <= 8 && whole.bytes().all(|b| b.is_ascii_digit());
    // `[1.5s] `, `[ 0.1x]`: other programs' stamps.
    let ends = behind.bytes().take(12).any(|b| b == b']');
    (is_number
        && (1..=6).contains(&digits)
        && !ends
        && behind.starts_with(|c: char| c.is_ascii_alphabetic()))
    .then_some(behind)
}

/// `12.345678`: digits, a point, three to nine digits.
pub(super) fn seconds(text: &str) -> Option<f64> {
    // Some languages write a comma.
    let (whole, fraction) = text.split_once(['.', ','])?;
    let digits = |s: &str, max: usize| {
        !s.is_empty() && s.len() <= max && s.bytes().all(|b| b.is_ascii_digit())
    };
    if !(digits(whole, 12) && digits(fraction, 9) && fraction.len() >= 3) {
        return None;
    }
    // A text is only made where it must be: most stamps have a point.
    text.parse().ok().or_else(|| format!("{whole}.{fraction}").parse().ok())
}
