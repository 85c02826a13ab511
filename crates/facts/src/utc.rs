//! Times in UTC as the documents write them: `2026-01-02T03:04:05Z`.

/// Days from 0000-03-01, on which a year of 400 years begins here, to 1970-01-01.
const BEFORE_1970: u64 = 719_468;

/// Days from 1970-01-01 to a day. The month is from 1 to 12.
pub(crate) const fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    // In the calendar whose years begin in March, the leap day is the last day of its year.
    let (y, m) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 - BEFORE_1970 as i64
}

/// The time that is this many seconds after 1970 began.
#[must_use]
pub fn text(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Days since 0000-03-01 in eras of 400 years: the leap day is then the last day of its year.
    let days = days + BEFORE_1970;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let shifted = (5 * day + 2) / 153;
    let day = day - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Seconds since 1970 of a time, or of the beginning of a day (`2026-01-02`). Fractions of a second are dropped. `None`
/// for other forms, days that no month has, and times before 1970.
#[must_use]
pub fn seconds(text: &str) -> Option<u64> {
    let (date, time) = match text.split_once('T') {
        Some((date, time)) => (date, Some(time)),
        None => (text, None),
    };
    let days = days(date)?;
    let of_day = time.map_or(Some(0), of_day)?;
    days.checked_mul(86_400)?.checked_add(of_day)
}

/// Days since 1970 of `2026-01-02`.
fn days(date: &str) -> Option<u64> {
    let (year, month, day) = three(date, '-', [4, 2, 2])?;
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || day < 1 {
        return None;
    }
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    if day > last {
        return None;
    }
    let number = |part: u64| i64::try_from(part).ok();
    u64::try_from(days_since_1970(number(year)?, number(month)?, number(day)?)).ok()
}

/// Seconds of the day of `03:04:05Z`.
fn of_day(time: &str) -> Option<u64> {
    let time = time.strip_suffix('Z')?;
    let (whole, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let (hour, minute, second) = three(whole, ':', [2, 2, 2])?;
    let good = hour < 24 && minute < 60 && second <= 60 && is_number(fraction);
    // A leap second is the last second of its minute.
    good.then(|| hour * 3600 + minute * 60 + second.min(59))
}

fn three(text: &str, by: char, lengths: [usize; 3]) -> Option<(u64, u64, u64)> {
    let mut parts = text.split(by);
    let mut next = |length| {
        let part = parts.next().filter(|part| part.len() == length && is_number(part))?;
        part.parse::<u64>().ok()
    };
    let found = (next(lengths[0])?, next(lengths[1])?, next(lengths[2])?);
    parts.next().is_none().then_some(found)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn dates() {
        for (number, date) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_798_761_599, "2026-12-31T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!((text(number).as_str(), seconds(date)), (date, Some(number)));
        }
        assert_eq!(seconds("2000-02-29"), Some(951_782_400));
        assert_eq!(seconds("2000-02-29T00:00:00.125Z"), Some(951_782_400));
    }

    #[test]
    fn what_is_not_a_time_is_none() {
        for text in [
            "",
            "T",
            "Z",
            "yesterday",
            "2026-02-29",
            "2026-13-01",
            "2026-00-01",
            "2026-01-00",
            "2026-04-31T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:60:00Z",
            "2026-01-01T00:00:00",
            "2026-01-01T00:00:00+02:00",
            "2026-01-01 00:00:00Z",
            "26-01-01",
            "2026-1-1",
            "1969-12-31T23:59:59Z",
            "+026-01-01",
            "2026-01-01-01",
        ] {
            assert_eq!(seconds(text), None, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn a_time_is_read_as_it_was_written(number in 0u64..253_402_300_800) {
            prop_assert_eq!(seconds(&text(number)), Some(number));
        }

        #[test]
        fn any_text_ends(text in "[0-9TZ:.-]{0,24}") {
            let _ = seconds(&text);
        }
    }
}
