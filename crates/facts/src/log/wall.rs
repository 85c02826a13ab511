//! The date and the time of day before a line, as a number that increases with time: it shows the order of lines, and
//! the minimum time for which a log continues after a line.

use super::prefix::strip;
use super::released::month;

/// Seconds of the date and the time of day before a line. If a date has no year, or a month in an unknown
/// language, the rest is used: within one log that is the same for all lines. Months count as 31 days.
pub(super) fn seconds(line: &str) -> Option<f64> {
    of_date(front(line)?)
}

/// The text before a line up to the seconds of its date.
pub(super) fn date(line: &str) -> Option<&str> {
    let front = front(line)?;
    front.get(..time_of_day(front)?.0 + TIME)
}

/// The length of `08:49:26`.
const TIME: usize = 8;

/// The text before the message of a line.
fn front(line: &str) -> Option<&str> {
    let line = line.trim_end();
    let front = strip(line).front(line)?;
    Some(front.get(..front.len().min(96)).unwrap_or(front))
}

/// Seconds of a date with a time of day, as [`seconds`] counts them.
pub(super) fn of_date(front: &str) -> Option<f64> {
    let (time_at, of_day) = time_of_day(front)?;
    let date = &front[..time_at];
    let (year, month, day) = iso(date).unwrap_or_else(|| named(front, time_at));
    let days = (f64::from(year) * 12.0 + f64::from(month)) * 31.0 + f64::from(day);
    Some(days * 86_400.0 + of_day)
}

/// `08:49:26.123456`: where it begins, and its seconds.
fn time_of_day(front: &str) -> Option<(usize, f64)> {
    let two = |at: usize| -> Option<u32> {
        let digits = front.get(at..at + 2)?;
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
    };
    let colon = |at: usize| front.as_bytes().get(at) == Some(&b':');
    let begins = |at: &usize| {
        let free = at.checked_sub(1).is_none_or(|before| {
            front.as_bytes().get(before).is_none_or(|byte| !byte.is_ascii_digit())
        });
        free && colon(at + 2) && colon(at + 5) && front.is_char_boundary(*at)
    };
    (0..front.len()).filter(begins).find_map(|at| {
        let (hours, minutes, seconds) = (two(at)?, two(at + 3)?, two(at + 6)?);
        let rest = front.get(at + TIME..)?;
        let part: String = rest
            .strip_prefix(['.', ','])
            .unwrap_or("")
            .chars()
            .take_while(char::is_ascii_digit)
            .take(9)
            .collect();
        let part: f64 = format!("0.{part}0").parse().ok()?;
        let half = rest.trim_start();
        let hours = match (hours, half.starts_with("PM"), half.starts_with("AM")) {
            (1..=11, true, _) => hours + 12,
            (12, _, true) => 0,
            _ => hours,
        };
        Some((at, f64::from(hours * 3600 + minutes * 60 + seconds) + part))
    })
}

/// `2024-03-05`, `2024/03/05`.
fn iso(date: &str) -> Option<(u32, u32, u32)> {
    let date = date.trim_end_matches(['T', 't', '_', ' ']);
    let date = date.get(date.len().checked_sub(10)?..)?;
    let mut parts = date.split(['-', '/']).map(|part| part.parse::<u32>().ok());
    let found = (parts.next()??, parts.next()??, parts.next()??);
    (found.0 > 1900 && (1..=12).contains(&found.1) && (1..=31).contains(&found.2)).then_some(found)
}

/// `Wed Sep  9 08:37:21 2020`, `apr 09 08:49:26`: missing parts are 0.
fn named(front: &str, time_at: usize) -> (u32, u32, u32) {
    let words = || front.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let before =
        || front[..time_at].split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let number = |word: &str, length: usize| {
        (word.len() <= length).then(|| word.parse::<u32>().ok()).flatten()
    };
    let year = words().find_map(|word| number(word, 4).filter(|year| (1970..2100).contains(year)));
    let day = before().filter_map(|word| number(word, 2)).next_back();
    (year.unwrap_or(0), u32::from(before().find_map(month).unwrap_or(0)), day.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn seconds_of_dates_grow_with_time() {
        for pair in [
            ["apr 09 08:49:25 pc kernel: x", "apr 09 08:49:26 pc kernel: x"],
            ["Sep 30 23:59:59 pc kernel: x", "Oct  1 00:00:00 pc kernel: x"],
            [
                "2024-03-05T07:25:40.5+01:00 pc kernel: x",
                "2024-03-05T07:25:40.75+01:00 pc kernel: x",
            ],
            ["[Wed Dec 22 08:37:21 2021] tsc: x", "[Thu Jan  6 00:00:01 2022] tsc: x"],
        ] {
            let [first, second] = pair.map(|line| seconds(line).unwrap());
            assert!(first < second, "{pair:?}");
        }
        assert_eq!(seconds("[    1.000000] rtc: 08:49:26"), None);
        assert_eq!(seconds("clocksource: Switched to clocksource tsc"), None);
    }
}
