//! What stands before a kernel message: time stamps, log levels, caller fields, journald and syslog
//! headers, mail quoting.

/// A line without its prefix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stripped<'a> {
    /// The message proper.
    pub(crate) message: &'a str,
    /// Seconds since boot, from a printk time stamp.
    pub(crate) at: Option<f64>,
    /// `Some(true)`: a prefix that only kernel messages have; `Some(false)`: the header names
    /// another program; `None`: no prefix at all.
    pub(crate) kernel: Option<bool>,
}

/// Takes the prefixes off a line, however many there are.
pub(crate) fn strip(line: &str) -> Stripped<'_> {
    let mut rest = line.trim_end();
    let mut out = Stripped { message: rest, at: None, kernel: None };
    for _ in 0..12 {
        rest = rest.trim_start();
        let Some(next) = step(rest, &mut out) else { break };
        rest = next;
    }
    if out.kernel.is_none()
        && let Some((at, message)) = embedded_stamp(rest)
    {
        out.at = Some(at);
        out.kernel = Some(true);
        rest = message;
    }
    out.message = rest;
    out
}

/// One prefix taken off, or `None` when the rest is the message.
fn step<'a>(rest: &'a str, out: &mut Stripped<'a>) -> Option<&'a str> {
    match *rest.as_bytes().first()? {
        b'>' | b'|' => Some(&rest[1..]),
        b'<' => level(rest),
        b'[' => bracket(rest, out),
        b'M' if rest.starts_with("MESSAGE=") => Some(&rest[8..]),
        b'k' => kern_word(rest, out),
        b'0'..=b'9' => iso_date(rest).and_then(|after| header(after, out)),
        b'A'..=b'Z' => syslog_date(rest)
            .and_then(|after| header(after, out))
            .or_else(|| host_kernel(rest, out)),
        _ => host_kernel(rest, out),
    }
}

/// `<6>` or `<30>`.
fn level(rest: &str) -> Option<&str> {
    let end = rest.find('>').filter(|end| (2..=4).contains(end))?;
    rest[1..end].bytes().all(|b| b.is_ascii_digit()).then(|| &rest[end + 1..])
}

/// `[    1.234567]`, `[ T0]`, `[    C1]`, `[Wed Dec 22 08:37:21 2021]`; not `[Firmware Bug]`.
fn bracket<'a>(rest: &'a str, out: &mut Stripped<'a>) -> Option<&'a str> {
    let end = rest.find(']').filter(|end| *end < 48)?;
    let inside = rest[1..end].trim();
    let after = &rest[end + 1..];
    let bare = inside.trim_start_matches('<').trim_end_matches('>').trim();
    if let Some(at) = seconds(bare) {
        out.at = Some(at);
        out.kernel = Some(true);
        return Some(after);
    }
    let caller = inside.len() > 1
        && matches!(inside.as_bytes()[0], b'T' | b'C')
        && inside[1..].bytes().all(|b| b.is_ascii_digit());
    if caller {
        return Some(after);
    }
    let date = inside.len() >= 14
        && inside.matches(':').count() >= 2
        && inside.bytes().all(|b| b.is_ascii_alphanumeric() || b" :.,+-".contains(&b))
        && !inside.starts_with("Firmware");
    if date {
        out.kernel = Some(true);
        return Some(after);
    }
    // `dmesg -d`: `[<    0.000012>]` was handled above; `[  +0.000012]`:
    if inside.starts_with('+') && seconds(&inside[1..]).is_some() {
        out.kernel = Some(true);
        return Some(after);
    }
    None
}

/// `12.345678`: digits, a point, three to nine digits.
fn seconds(text: &str) -> Option<f64> {
    let (whole, fraction) = text.split_once('.')?;
    let digits = |s: &str, max: usize| {
        !s.is_empty() && s.len() <= max && s.bytes().all(|b| b.is_ascii_digit())
    };
    if digits(whole, 12) && digits(fraction, 9) && fraction.len() >= 3 {
        text.parse().ok()
    } else {
        None
    }
}

/// `kernel: ` and `kern  :info  : ` (`dmesg -x`).
fn kern_word<'a>(rest: &'a str, out: &mut Stripped<'a>) -> Option<&'a str> {
    if let Some(after) = rest.strip_prefix("kernel:") {
        out.kernel = Some(true);
        return Some(after);
    }
    if let Some(after) = rest.strip_prefix("kern") {
        let mut parts = after.splitn(3, ':');
        if parts.next()?.trim().is_empty() && parts.next()?.trim().len() <= 6 {
            out.kernel = Some(true);
            return parts.next();
        }
    }
    host_kernel(rest, out)
}

/// `HOST kernel: ` or `kernel[123]: ` behind a date or a stamp; another program's name is a verdict.
fn header<'a>(after: &'a str, out: &mut Stripped<'a>) -> Option<&'a str> {
    let after = after.trim_start();
    let colon = after.find(": ").or_else(|| after.ends_with(':').then(|| after.len() - 1));
    let bracket = after.find('[');
    // A printk stamp directly behind the date: `2025-06-03T16:08:54 [    0.000000] ...`.
    if bracket.is_some_and(|at| after[..at].trim().is_empty()) {
        return Some(after);
    }
    let colon = colon?;
    let names: Vec<&str> = after[..colon].split_whitespace().collect();
    if names.len() > 3 {
        return Some(after);
    }
    let ident = names.last()?;
    let is_kernel = *ident == "kernel" || ident.starts_with("kernel[") || *ident == "vmunix";
    out.kernel = Some(is_kernel);
    Some(&after[(colon + 1).min(after.len())..])
}

/// `HOST kernel: ` without a date (journald's short-monotonic, after the stamp).
fn host_kernel<'a>(rest: &'a str, out: &mut Stripped<'a>) -> Option<&'a str> {
    let space = rest.find(' ').filter(|space| *space <= 64)?;
    let after = rest[space + 1..].strip_prefix("kernel:")?;
    if rest[..space].contains([':', '=', '\'', '"']) {
        return None;
    }
    out.kernel = Some(true);
    Some(after)
}

/// `Sep 11 07:03:06 `.
fn syslog_date(rest: &str) -> Option<&str> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let bytes = rest.as_bytes();
    if bytes.len() < 16 || !bytes.is_ascii_prefix(16) || !MONTHS.contains(&&rest[..3]) {
        return None;
    }
    let shape = bytes[3] == b' ' && bytes[6] == b' ' && bytes[9] == b':' && bytes[12] == b':';
    (shape && bytes[15] == b' ').then(|| &rest[16..]).or_else(|| {
        // `Sep 11 07:03:06.123456 host kernel: ...`
        let end = rest[15..].find(' ')? + 15;
        (shape && bytes[15] == b'.' && end < 28).then(|| &rest[end + 1..])
    })
}

/// `2025-06-03T16:08:54.123456+00:00 ` or `2025-06-03 16:08:54 `.
fn iso_date(rest: &str) -> Option<&str> {
    let bytes = rest.as_bytes();
    if bytes.len() < 20 || !bytes.is_ascii_prefix(20) {
        return None;
    }
    let shape = bytes[4] == b'-'
        && bytes[7] == b'-'
        && matches!(bytes[10], b'T' | b' ' | b't')
        && bytes[13] == b':'
        && bytes[16] == b':';
    if !shape {
        return None;
    }
    let end = rest[19..].find([' ', '\t']).map_or(rest.len(), |at| at + 19);
    (end < 48).then(|| rest[end..].trim_start())
}

/// A printk stamp somewhere in the first part of a line, behind a prefix nobody knows.
fn embedded_stamp(rest: &str) -> Option<(f64, &str)> {
    let mut from = 0;
    for _ in 0..4 {
        let open = from + rest.get(from..)?.find('[').filter(|at| from + at < 96)?;
        let close = open + rest[open..].find(']').filter(|len| *len < 20)?;
        if let Some(at) = seconds(rest[open + 1..close].trim()) {
            let mut out = Stripped { message: "", at: None, kernel: None };
            let mut after = rest[close + 1..].trim_start();
            while let Some(next) = step(after, &mut out) {
                after = next.trim_start();
            }
            return Some((at, after));
        }
        from = open + 1;
    }
    None
}

trait AsciiPrefix {
    fn is_ascii_prefix(&self, len: usize) -> bool;
}

impl AsciiPrefix for [u8] {
    fn is_ascii_prefix(&self, len: usize) -> bool {
        self.get(..len).is_some_and(<[u8]>::is_ascii)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(line: &str, message: &str, at: Option<f64>, kernel: Option<bool>) {
        assert_eq!(strip(line), Stripped { message, at, kernel }, "{line}");
    }

    #[test]
    fn every_prefix_that_people_paste() {
        let m = "clocksource: Switched to clocksource tsc";
        check(m, m, None, None);
        check(&format!("[    1.510663] {m}"), m, Some(1.510663), Some(true));
        check(&format!("<6>[    1.510663] {m}"), m, Some(1.510663), Some(true));
        check(&format!("[    1.510663][    T1] {m}"), m, Some(1.510663), Some(true));
        check(&format!("[    1.510663] [ T0] {m}"), m, Some(1.510663), Some(true));
        check(&format!("[    1.510663] [    C3] {m}\r"), m, Some(1.510663), Some(true));
        check(&format!("[Wed Dec 22 08:37:21 2021] {m}"), m, None, Some(true));
        check(&format!("Sep 11 07:03:06 kernel: {m}"), m, None, Some(true));
        check(
            &format!("Sep 11 07:03:06 web-1 kernel: [ 9.123456] {m}"),
            m,
            Some(9.123456),
            Some(true),
        );
        check(&format!("Sep  1 07:03:06.123456 web-1 kernel: {m}"), m, None, Some(true));
        check(&format!("2025-06-03T16:08:54.123456+02:00 web kernel: {m}"), m, None, Some(true));
        check(&format!("2025-06-03 16:08:54 [    0.250000] {m}"), m, Some(0.25), Some(true));
        check(&format!("kernel: [  384.258940] {m}"), m, Some(384.258940), Some(true));
        check(&format!("[    0.100000] web-1 kernel: {m}"), m, Some(0.1), Some(true));
        check(&format!("kern  :info  : [    0.100000] {m}"), m, Some(0.1), Some(true));
        check(&format!("> > [    0.100000] {m}"), m, Some(0.1), Some(true));
        check(&format!("MESSAGE={m}"), m, None, None);
        check(&format!("console-1: 17: [    0.100000] {m}"), m, Some(0.1), Some(true));
        check(&format!("Sep 11 07:03:06 web tuned[12]: {m}"), m, None, Some(false));
    }

    #[test]
    fn firmware_bug_is_part_of_the_message() {
        let line = "[    0.000000] [Firmware Bug]: TSC doesn't count with P0 frequency!";
        assert!(strip(line).message.starts_with("[Firmware Bug]"));
    }

    proptest! {
        #[test]
        fn never_panics_and_returns_a_part_of_the_line(line in "\\PC{0,120}") {
            let out = strip(&line);
            prop_assert!(line.contains(out.message));
        }

        #[test]
        fn stamps_survive(seconds in 0.0f64..1e9, message in "[a-z][a-z ]{0,20}[a-z]") {
            let line = format!("<4>[{seconds:12.6}] {message}");
            let out = strip(&line);
            prop_assert_eq!(out.message, message.as_str());
            prop_assert!((out.at.unwrap() - seconds).abs() < 1e-5);
        }
    }
}
