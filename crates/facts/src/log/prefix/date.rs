//! Dates and times of day as syslog, journald, build servers, consoles and users write them, in any order and in
//! any language.

/// A date that was removed from the beginning of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dated<'a> {
    /// The text after it.
    pub(super) after: &'a str,
    /// Whether the date has the name of a month, as syslog and journald write it before `HOST PROGRAM: `.
    pub(super) month: bool,
    /// Whether it is of `dmesg --time-format=iso`: a comma before the fraction, and a zone after it.
    pub(super) of_dmesg: bool,
    /// Whether it is one word with a fraction and a zone in figures (`2024-03-05T07:25:40.123456+00:00`), as rsyslog
    /// writes it.
    pub(super) of_rsyslog: bool,
}

/// One part of a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// `07:25`, `07:25:40.123456`.
    Time,
    /// `2024-03-05T07:25:40`.
    DateAndTime,
    /// `1709623540.123456`.
    Epoch,
    /// `2024-03-05`, `03/05/2024`, `05.03.2024`, `03-05`.
    Date,
    Year,
    Day,
    /// The name of a month or of a day of the week.
    Name,
    /// `AM`.
    Half,
    Zone,
    /// The `@` of Kibana.
    At,
}

const ZONES: [&str; 32] = [
    "Z", "UTC", "GMT", "CET", "CEST", "EST", "EDT", "CST", "CDT", "MST", "MDT", "PST", "PDT",
    "MSK", "IST", "JST", "BST", "EET", "EEST", "WET", "WEST", "AEST", "AEDT", "ACST", "AWST",
    "NZST", "NZDT", "HKT", "KST", "SGT", "BRT", "SAST",
];

/// Maximum number of parts of a date: `Tue 5 Mar 2024 07:25:40 AM CET`.
const PARTS: usize = 8;

/// Removes a date that has at least the time of day.
pub(super) fn take(text: &str) -> Option<Dated<'_>> {
    let mut rest = text.trim_start();
    let mut seen: Vec<Part> = Vec::with_capacity(PARTS);
    let (mut of_dmesg, mut of_rsyslog) = (false, false);
    while seen.len() < PARTS {
        let end = rest.find([' ', '\t']).unwrap_or(rest.len());
        let token = &rest[..end];
        let timed =
            seen.iter().any(|part| matches!(part, Part::Time | Part::DateAndTime | Part::Epoch));
        // The colon that ends a date: `05.03.2024 07:25:40: `.
        let (bare, last) = match token.strip_suffix(':') {
            Some(bare) => (bare, true),
            None => (token, false),
        };
        let Some(part) = part(bare, timed).filter(|part| fits(&seen, *part, timed)) else { break };
        if last && !(timed || matches!(part, Part::Time | Part::DateAndTime)) {
            return None;
        }
        of_dmesg |= matches!(part, Part::Time | Part::DateAndTime) && fraction_of_dmesg(bare);
        of_rsyslog |= part == Part::DateAndTime
            && bare.split_once('.').is_some_and(|(_, rest)| rest.contains(['+', '-']));
        seen.push(part);
        rest = rest[end..].trim_start();
        if last {
            break;
        }
    }
    let has = |part: Part| seen.contains(&part);
    // A name belongs to a date only if there is also a day.
    let whole = has(Part::DateAndTime)
        || has(Part::Epoch)
        || has(Part::Time)
            && (!has(Part::Name) || has(Part::Day) || has(Part::Date))
            && (!has(Part::Day) || has(Part::Name));
    let month = has(Part::Name) && has(Part::Day);
    whole.then_some(Dated { after: rest, month, of_dmesg, of_rsyslog })
}

/// Whether a part may follow the earlier parts.
fn fits(seen: &[Part], part: Part, timed: bool) -> bool {
    let count = seen.iter().filter(|other| **other == part).count();
    match part {
        Part::Time => !timed,
        Part::DateAndTime | Part::Epoch => !timed && seen.iter().all(|part| *part == Part::Name),
        Part::Half | Part::Zone => timed && count == 0,
        Part::Name => !timed && count < 2,
        Part::Year => count == 0 && (!timed || seen.contains(&Part::Day)),
        Part::Date | Part::Day | Part::At => !timed && count == 0,
    }
}

/// The kind of a word; `timed`: after the time of day.
fn part(token: &str, timed: bool) -> Option<Part> {
    let first = token.chars().next()?;
    if token.len() > 40 {
        return None;
    }
    if timed {
        if ["AM", "PM", "am", "pm", "a.m.", "p.m."].contains(&token) {
            return Some(Part::Half);
        }
        if ZONES.contains(&token) || is_offset(token) {
            return Some(Part::Zone);
        }
        return is_year(token).then_some(Part::Year);
    }
    if first.is_ascii_digit() {
        let plain = token.trim_end_matches(',');
        if is_time(plain) {
            return Some(Part::Time);
        }
        if is_date_and_time(plain) {
            return Some(Part::DateAndTime);
        }
        if is_date(plain) {
            return Some(Part::Date);
        }
        if is_year(plain) {
            return Some(Part::Year);
        }
        let digits = plain.trim_end_matches('.');
        if digits.len() <= 2 && digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Some(Part::Day);
        }
        let (whole, fraction) = plain.split_once('.').unwrap_or((plain, "0"));
        let is_number =
            |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if (10..=13).contains(&whole.len())
            && whole.starts_with('1')
            && is_number(whole)
            && is_number(fraction)
        {
            return Some(Part::Epoch);
        }
        // `3月`, `3월`.
        return plain.ends_with(['\u{6708}', '\u{c6d4}']).then_some(Part::Name);
    }
    if token == "@" {
        return Some(Part::At);
    }
    let name = token.trim_end_matches([',', '.']);
    let is_name =
        !name.is_empty() && name.chars().count() <= 12 && name.chars().all(char::is_alphabetic);
    is_name.then_some(Part::Name)
}

fn numbers<const N: usize>(
    text: &str,
    separator: char,
    widths: [std::ops::RangeInclusive<usize>; N],
) -> bool {
    let mut parts = text.split(separator);
    let all = widths.iter().all(|width| {
        parts.next().is_some_and(|part| {
            width.contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
        })
    });
    all && parts.next().is_none()
}

/// `07:25`, `7:25:40`, `07:25:40.123456`, `07:25:40,123`, `07:25:40+01:00`, `07:25:40Z`.
fn is_time(text: &str) -> bool {
    let text = text.strip_suffix('Z').unwrap_or(text);
    let text = match text.rfind(['+', '-']) {
        Some(at) if is_offset(&text[at..]) => &text[..at],
        _ => text,
    };
    let (whole, fraction) = text.split_once(['.', ',']).unwrap_or((text, "0"));
    let is_fraction =
        (1..=9).contains(&fraction.len()) && fraction.bytes().all(|byte| byte.is_ascii_digit());
    let minutes = numbers(whole, ':', [1..=2, 2..=2]) && whole.len() == text.len();
    is_fraction && (minutes || numbers(whole, ':', [1..=2, 2..=2, 2..=2]))
}

fn is_date_and_time(text: &str) -> bool {
    let split = text
        .get(..10)
        .zip(text.get(11..))
        .filter(|_| matches!(text.as_bytes()[10], b'T' | b't' | b'_'));
    split.is_some_and(|(date, time)| is_date(date) && is_time(time))
}

/// `2024-03-05`, `2024/03/05`, `3/5/24`, `05.03.2024`, `03-05`.
fn is_date(text: &str) -> bool {
    ['-', '/', '.'].iter().any(|separator| {
        numbers(text, *separator, [4..=4, 1..=2, 1..=2])
            || numbers(text, *separator, [1..=2, 1..=2, 2..=4])
                && (*separator != '.' || text.len() >= 8)
    }) || numbers(text, '-', [2..=2, 2..=2])
}

fn is_year(text: &str) -> bool {
    text.len() == 4
        && (text.starts_with("19") || text.starts_with("20"))
        && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// `+0100`, `+01:00`, `-05`.
fn is_offset(text: &str) -> bool {
    text.strip_prefix(['+', '-']).is_some_and(|offset| {
        numbers(offset, ':', [2..=2, 2..=2])
            || matches!(offset.len(), 2 | 4) && offset.bytes().all(|b| b.is_ascii_digit())
    })
}

fn fraction_of_dmesg(token: &str) -> bool {
    token.split_once(',').is_some_and(|(_, rest)| rest.contains(['+', '-']))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn dates_of_all_kinds_are_taken_off() {
        for date in [
            "07:25",
            "7:25:40",
            "07:25:40.123456",
            "7:25:40 PM",
            "07:25:40,123",
            "07:25:40:",
            "2024-03-05 07:25:40",
            "2024-03-05T07:25:40.123456+01:00",
            "2024-03-05T07:25:40Z:",
            "2024-03-05 07:25:40.000000000 +0000",
            "2024/03/05 07:25:40",
            "03/05/2024 07:25:40 AM",
            "05.03.2024, 07:25:40:",
            "03-05 07:25:40.123",
            "Mar  5 07:25:40",
            "Mar 05 07:25:40.123456",
            "mars 05 07:25:40",
            "3\u{6708} 05 07:25:40",
            "Mar  5 2024 07:25:40",
            "2024 Mar  5 07:25:40",
            "5 Mar 2024 07:25:40",
            "Tue Mar  5 07:25:40 2024",
            "Tue Mar  5 07:25:40 UTC 2024",
            "Tue 2024-03-05 07:25:40 CET",
            "Mar 5, 2024 @ 07:25:40.123",
            "5. M\u{e4}rz 07:25:40",
            "1709623540.123456",
            "1709623540123",
        ] {
            let line = format!("{date} tsc: x");
            let taken = take(&line);
            assert_eq!(taken.map(|dated| dated.after), Some("tsc: x"), "{date}");
        }
        assert!(take("2024-03-05T07:25:40,123456+00:00 x").is_some_and(|dated| dated.of_dmesg));
        assert!(take("Mar  5 07:25:40 web kernel: x").is_some_and(|dated| dated.month));
    }

    #[test]
    fn messages_are_no_dates() {
        for message in [
            "TSC found unstable",
            "CPU 3 is up",
            "Booting 2 CPUs",
            "rtc_cmos 00:04: alarms",
            "pci 0000:00:1f.0: x",
            "Linux version 5.10",
            "2599.998 MHz",
            "12: tsc: x",
            "3 tsc: x",
            "PM: suspend entry",
            "May 5 be",
            "00:1f.2 x",
            "1.2.3.4 x",
        ] {
            assert_eq!(take(message), None, "{message}");
        }
        // A word of the kernel is not a zone.
        assert_eq!(take("07:25:40 TSC found").map(|dated| dated.after), Some("TSC found"));
    }

    proptest! {
        #[test]
        fn any_text_is_taken_off_or_not(line in "(\\PC|[0-9:.,@ -]){0,60}") {
            if let Some(dated) = take(&line) {
                prop_assert!(line.ends_with(dated.after));
            }
        }
    }
}
