//! Moments as text: RFC 3339.

use super::Timestamp;
use crate::civil::{self, Precision};
use core::fmt;
use core::str::FromStr;

const NS_PER_SECOND: u64 = 1_000_000_000;

/// A moment as text, with some digits: [`Timestamp::rfc3339`].
#[derive(Clone, Copy, Debug)]
pub struct Rfc3339Text(civil::Text);

impl Rfc3339Text {
    /// The text. ASCII.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl fmt::Display for Rfc3339Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Timestamp {
    /// As `2026-03-01T09:05:07.123Z`, with that many decimal digits of the second, which are cut
    /// off and not rounded. Nothing is allocated.
    #[must_use]
    pub fn rfc3339(&self, precision: Precision) -> Rfc3339Text {
        Rfc3339Text(civil::rfc3339(self.as_unix_nanos(), precision))
    }
}

impl fmt::Display for Timestamp {
    /// As `2026-03-01T09:05:07.123456789Z`: always nine digits, so that texts sort as moments do.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.rfc3339(Precision::Nanoseconds), f)
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A text is not a moment that a [`Timestamp`] holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NotATimestamp {
    /// It does not have the form `2026-03-01T09:05:07.123Z` or `2026-03-01T10:05:07+01:00`.
    Form,
    /// A number in it is too large or too small for its place, as in 30 February, 25:00 or a second 60: this clock does
    /// not count leap seconds.
    NoSuchTime,
    /// It is before 1970 or after July 2554.
    OutOfRange,
}

impl fmt::Display for NotATimestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Form => "the text is not a date and time such as 2026-03-01T09:05:07.123Z (RFC 3339)",
            Self::NoSuchTime => {
                "the text is a date or time that does not exist (a second 60 neither: leap seconds are not counted)"
            }
            Self::OutOfRange => "the time is before 1970 or after July 2554",
        })
    }
}

impl core::error::Error for NotATimestamp {}

impl FromStr for Timestamp {
    type Err = NotATimestamp;

    /// RFC 3339: a date, `T`, a time with any number of decimal digits of the second (those after the ninth are cut
    /// off), and `Z` or an offset such as `+01:00`. Small letters and a space instead of the `T` are accepted, as
    /// the RFC allows.
    fn from_str(text: &str) -> Result<Self, NotATimestamp> {
        let mut rest = Rest(text.as_bytes());
        let year = rest.number(4)?;
        rest.one_of(b"-")?;
        let month = rest.number(2)?;
        rest.one_of(b"-")?;
        let day = rest.number(2)?;
        rest.one_of(b"Tt ")?;
        let (hour, minute) = rest.hour_and_minute()?;
        rest.one_of(b":")?;
        let second = rest.number(2)?;
        let ns = if rest.next_is(b".") { rest.fraction()? } else { 0 };
        // The offset in minutes, added to both sides of the difference.
        let (east, west) = match rest.one_of(b"Zz+-")? {
            sign @ (b'+' | b'-') => {
                let (hours, minutes) = rest.hour_and_minute()?;
                if hours > 23 || minutes > 59 {
                    return Err(NotATimestamp::NoSuchTime);
                }
                let offset = hours * 60 + minutes;
                if sign == b'+' { (offset, 0) } else { (0, offset) }
            }
            _ => (0, 0),
        };
        if !rest.0.is_empty() {
            return Err(NotATimestamp::Form);
        }
        if hour > 23 || minute > 59 || second > 59 {
            return Err(NotATimestamp::NoSuchTime);
        }
        let days = civil::days(year, month, day).ok_or(NotATimestamp::NoSuchTime)?;
        // A day before 1970 may be in 1970 elsewhere: one day is added, and subtracted at the end.
        let days = days.ok_or(NotATimestamp::OutOfRange)?;
        let seconds = (days * 86_400 + hour * 3_600 + minute * 60 + second + west * 60)
            .checked_sub(east * 60 + 86_400)
            .ok_or(NotATimestamp::OutOfRange)?;
        let whole = seconds.checked_mul(NS_PER_SECOND).and_then(|whole| whole.checked_add(ns));
        whole.map(Self::from_unix_nanos).ok_or(NotATimestamp::OutOfRange)
    }
}

/// The rest of a text.
struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    /// A number of exactly that many digits.
    fn number(&mut self, digits: usize) -> Result<u64, NotATimestamp> {
        let (number, rest) = self.0.split_at_checked(digits).ok_or(NotATimestamp::Form)?;
        if !number.iter().all(u8::is_ascii_digit) {
            return Err(NotATimestamp::Form);
        }
        self.0 = rest;
        Ok(number.iter().fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0')))
    }

    fn hour_and_minute(&mut self) -> Result<(u64, u64), NotATimestamp> {
        let hour = self.number(2)?;
        self.one_of(b":")?;
        Ok((hour, self.number(2)?))
    }

    fn next_is(&mut self, one: &[u8]) -> bool {
        self.one_of(one).is_ok()
    }

    fn one_of(&mut self, these: &[u8]) -> Result<u8, NotATimestamp> {
        let (first, rest) = self.0.split_first().ok_or(NotATimestamp::Form)?;
        if !these.contains(first) {
            return Err(NotATimestamp::Form);
        }
        self.0 = rest;
        Ok(*first)
    }

    /// One digit or more, as nanoseconds.
    fn fraction(&mut self) -> Result<u64, NotATimestamp> {
        let digits = self.0.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits == 0 {
            return Err(NotATimestamp::Form);
        }
        let kept = digits.min(9);
        let number = self.number(kept)?;
        self.0 = self.0.get(digits - kept..).unwrap_or_default();
        Ok((kept..9).fold(number, |number, _| number * 10))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parsed(text: &str) -> Result<u64, NotATimestamp> {
        text.parse().map(|moment: Timestamp| moment.as_unix_nanos())
    }

    #[test]
    fn texts_are_moments_or_say_why_not() {
        let march = 1_772_355_907_123_000_000;
        for text in [
            "2026-03-01T09:05:07.123Z",
            "2026-03-01t09:05:07.123z",
            "2026-03-01 09:05:07.123000000999Z",
            "2026-03-01T10:05:07.123+01:00",
            "2026-02-28T23:20:07.123-09:45",
            "2026-03-01T09:05:07.123-00:00",
        ] {
            assert_eq!(parsed(text), Ok(march), "{text}");
        }
        assert_eq!(parsed("1970-01-01T00:00:00Z"), Ok(0));
        // In Greenland it is still 1969.
        assert_eq!(parsed("1969-12-31T21:00:00-03:00"), Ok(0));
        assert_eq!(parsed("2554-07-21T23:34:33.709551615Z"), Ok(u64::MAX));
        for text in [
            "1969-12-31T23:59:59.999Z",
            "1970-01-01T00:59:59+01:00",
            "1969-12-30T23:59:59-23:59",
            "0000-01-01T00:00:00Z",
            "2554-07-21T23:34:33.709551616Z",
            "9999-12-31T23:59:59Z",
        ] {
            assert_eq!(parsed(text), Err(NotATimestamp::OutOfRange), "{text}");
        }
        for text in [
            "2026-00-01T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-02-29T00:00:00Z",
            "2100-02-29T00:00:00Z",
            "2026-01-00T00:00:00Z",
            "2026-04-31T00:00:00Z",
            "2026-03-01T24:00:00Z",
            "2026-03-01T00:60:00Z",
            "2016-12-31T23:59:60Z",
            "2026-03-01T00:00:00+24:00",
        ] {
            assert_eq!(parsed(text), Err(NotATimestamp::NoSuchTime), "{text}");
        }
        for text in [
            "",
            "now",
            "2026-03-01",
            "2026-03-01T09:05:07",
            "2026-03-01T09:05Z",
            "26-03-01T09:05:07Z",
            "2026-03-01T09:05:07.Z",
            "2026-03-01T09:05:07Z ",
            "2026-03-01T09:05:07+0100",
            "+2026-03-01T09:05:07Z",
            "2026-03-01T09:05:07,5Z",
            "２026-03-01T09:05:07Z",
        ] {
            assert_eq!(parsed(text), Err(NotATimestamp::Form), "{text}");
        }
        assert!(NotATimestamp::NoSuchTime.to_string().contains("leap seconds"));
    }

    #[test]
    fn widths_and_digits_are_those_that_are_asked_for() {
        let moment = Timestamp::from_unix_nanos(1_772_355_907_123_456_789);
        assert_eq!(format!("{moment}"), "2026-03-01T09:05:07.123456789Z");
        assert_eq!(format!("{moment:?}"), "2026-03-01T09:05:07.123456789Z");
        let short = moment.rfc3339(Precision::Seconds);
        assert_eq!(
            format!("{short:>22}|{short:<22}|"),
            "  2026-03-01T09:05:07Z|2026-03-01T09:05:07Z  |"
        );
        assert_eq!(moment.rfc3339(Precision::Milliseconds).as_str(), "2026-03-01T09:05:07.123Z");
    }

    proptest! {
        #[test]
        fn texts_return(ns: u64, minutes in -1439i64..1440) {
            let moment = Timestamp::from_unix_nanos(ns);
            prop_assert_eq!(moment.to_string().parse(), Ok(moment));
            // The same moment at another place.
            let seconds = moment.as_unix_seconds().saturating_add_signed(minutes * 60);
            let there = Timestamp::from_unix_nanos(seconds.saturating_mul(NS_PER_SECOND));
            let text = there.rfc3339(Precision::Seconds).to_string();
            let sign = if minutes < 0 { '-' } else { '+' };
            let offset = format!("{sign}{:02}:{:02}", minutes.abs() / 60, minutes.abs() % 60);
            let expected = (there.as_unix_seconds() as i64 - minutes * 60).checked_mul(1_000_000_000);
            if let Some(expected) = expected.and_then(|ns| u64::try_from(ns).ok()) {
                prop_assert_eq!(parsed(&text.replace('Z', &offset)), Ok(expected));
            }
        }

        #[test]
        fn any_text_is_a_moment_or_an_error(text in "\\PC{0,40}", almost in "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]{0,12})?(Z|[+-][0-9]{2}:[0-9]{2})") {
            let _ = parsed(&text);
            let _ = parsed(&almost);
        }
    }
}
