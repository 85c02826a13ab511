//! A time of the wall clock as text (RFC 3339), without allocation.

const NS_PER_SECOND: u64 = 1_000_000_000;

/// Digits after the decimal point of the seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Precision {
    /// None.
    Seconds,
    /// Three.
    Milliseconds,
    /// Six.
    #[default]
    Microseconds,
    /// Nine.
    Nanoseconds,
}

impl Precision {
    /// How many digits.
    pub(crate) const fn digits(self) -> usize {
        match self {
            Self::Seconds => 0,
            Self::Milliseconds => 3,
            Self::Microseconds => 6,
            Self::Nanoseconds => 9,
        }
    }
}

/// A short text: its capacity is enough for 64 bits of nanoseconds, in either form.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text {
    bytes: [u8; 32],
    length: usize,
}

impl Text {
    const fn new() -> Self {
        Self { bytes: [0; 32], length: 0 }
    }

    /// Only ever ASCII.
    pub(crate) fn as_str(&self) -> &str {
        self.bytes.get(..self.length).and_then(|t| core::str::from_utf8(t).ok()).unwrap_or("")
    }

    fn push(&mut self, byte: u8) {
        if let Some(place) = self.bytes.get_mut(self.length) {
            *place = byte;
            self.length += 1;
        }
    }

    /// The last digits of a number, with leading zeros.
    fn number(&mut self, mut number: u64, digits: usize) {
        let end = self.length + digits;
        if let Some(places) = self.bytes.get_mut(self.length..end) {
            // From the end, so that each division is by a constant.
            for place in places.iter_mut().rev() {
                *place = b'0' + (number % 10) as u8;
                number /= 10;
            }
            self.length = end;
        }
    }

    /// The digits after a second, cut off and not rounded: a time stamp is never in the future.
    fn fraction(&mut self, ns: u64, precision: Precision) {
        let unit = match precision {
            Precision::Seconds => return,
            Precision::Milliseconds => 1_000_000,
            Precision::Microseconds => 1000,
            Precision::Nanoseconds => 1,
        };
        self.push(b'.');
        self.number(ns / unit, precision.digits());
    }
}

/// `2026-03-01T09:05:07.123456Z`.
pub(crate) fn rfc3339(unix_ns: u64, precision: Precision) -> Text {
    let (seconds, ns) = (unix_ns / NS_PER_SECOND, unix_ns % NS_PER_SECOND);
    let (year, month, day) = date(seconds / 86_400);
    let second = seconds % 86_400;
    let mut text = Text::new();
    let parts = [
        (year, 4, b'-'),
        (month, 2, b'-'),
        (day, 2, b'T'),
        (second / 3600, 2, b':'),
        (second / 60 % 60, 2, b':'),
    ];
    for (number, digits, separator) in parts {
        text.number(number, digits);
        text.push(separator);
    }
    text.number(second % 60, 2);
    text.fraction(ns, precision);
    text.push(b'Z');
    text
}

/// `   7.123456s`: seconds with four places, or more if necessary.
#[cfg(any(feature = "tracing-subscriber", test))]
pub(crate) fn seconds(ns: u64, precision: Precision) -> Text {
    let whole = ns / NS_PER_SECOND;
    let digits = whole.checked_ilog10().unwrap_or(0) as usize + 1;
    let mut text = Text::new();
    for _ in digits..4 {
        text.push(b' ');
    }
    text.number(whole, digits);
    text.fraction(ns % NS_PER_SECOND, precision);
    text.push(b's');
    text
}

/// Year, month and day of a day since 1970, in the Gregorian calendar.
///
/// Days are counted from 1 March 2000 minus 400 years, so that the leap day is the last day of its
/// year, of its four years, and of its four centuries.
fn date(days: u64) -> (u64, u64, u64) {
    const FOUR_CENTURIES: u64 = 146_097;
    const CENTURY: u64 = 36_524;
    const FOUR_YEARS: u64 = 1461;
    // From 1 March 1600 to 1 January 1970.
    let days = days + 135_080;
    let (eras, days) = (days / FOUR_CENTURIES, days % FOUR_CENTURIES);
    // The last day of the four centuries belongs to the fourth, which has one more.
    let centuries = (days / CENTURY).min(3);
    let days = days - centuries * CENTURY;
    let (fours, days) = (days / FOUR_YEARS, days % FOUR_YEARS);
    let years = (days / 365).min(3);
    let day = days - years * 365;
    // Months from March on have 31, 30, 31, 30, 31 days, again and again: 153 in five.
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let year = 1600 + 400 * eras + 100 * centuries + 4 * fours + years;
    if month < 10 { (year, month + 3, day) } else { (year + 1, month - 9, day) }
}

/// Days from 31 December 1969 to that day, so that 1 January 1970 is 1; `None` inside if it is earlier than that
/// day, and outside if there is no such day.
pub(crate) fn days(year: u64, month: u64, day: u64) -> Option<Option<u64>> {
    let is_leap = year % 4 == 0 && year % 100 != 0 || year % 400 == 0;
    let length = match month {
        2 => 28 + u64::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=length).contains(&day) {
        return None;
    }
    // The other direction of `date`: years and months from March on.
    let (year, month) =
        if month < 3 { (year.checked_sub(1), month + 9) } else { (Some(year), month - 3) };
    let Some(year) = year else { return Some(None) };
    let before = 365 * year + year / 4 - year / 100 + year / 400;
    // From 1 March of the year 0 to 31 December 1969.
    Some((before + (153 * month + 2) / 5 + day - 1).checked_sub(719_467))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_day_follows_the_one_before() {
        let by = |y: u64, n| y.is_multiple_of(n);
        let is_leap = |y| by(y, 4) && !by(y, 100) || by(y, 400);
        let (mut year, mut month, mut day) = (1970, 1, 1);
        for days in 0..u64::MAX / NS_PER_SECOND / 86_400 + 1 {
            assert_eq!(date(days), (year, month, day));
            assert_eq!(super::days(year, month, day), Some(Some(days + 1)));
            let length = match month {
                2 => 28 + u64::from(is_leap(year)),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            day += 1;
            if day > length {
                (month, day) = (month + 1, 1);
            }
            if month > 12 {
                (year, month) = (year + 1, 1);
            }
        }
    }

    #[test]
    fn known_times() {
        let text = |ns, precision| rfc3339(ns, precision).as_str().to_owned();
        assert_eq!(text(0, Precision::Seconds), "1970-01-01T00:00:00Z");
        let leap = 951_827_696_987_654_321;
        assert_eq!(text(leap, Precision::Nanoseconds), "2000-02-29T12:34:56.987654321Z");
        assert_eq!(text(leap, Precision::Microseconds), "2000-02-29T12:34:56.987654Z");
        assert_eq!(text(leap, Precision::Milliseconds), "2000-02-29T12:34:56.987Z");
        assert_eq!(text(u64::MAX, Precision::Nanoseconds), "2554-07-21T23:34:33.709551615Z");
        let text = |ns, precision| seconds(ns, precision).as_str().to_owned();
        assert_eq!(text(0, Precision::Seconds), "   0s");
        assert_eq!(text(7_123_456_789, Precision::Milliseconds), "   7.123s");
        assert_eq!(text(u64::MAX, Precision::Nanoseconds), "18446744073.709551615s");
    }

    proptest! {
        #[test]
        fn texts_sort_like_times(a: u64, b: u64) {
            let text = |ns| rfc3339(ns, Precision::Nanoseconds).as_str().to_owned();
            prop_assert_eq!(text(a).cmp(&text(b)), a.cmp(&b));
            prop_assert_eq!(text(a).len(), 30);
        }
    }
}
