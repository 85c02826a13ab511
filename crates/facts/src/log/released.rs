//! When kernels were released: none is older than its release, so that the date of a log bounds its kernel from above.

use super::prefix::strip;
use crate::version::Version;

/// Month and year of releases, some of each year, the oldest first.
const RELEASES: [(u16, u8, Version); 34] = [
    (2006, 9, Version::new(2, 6, 18)),
    (2007, 4, Version::new(2, 6, 21)),
    (2008, 4, Version::new(2, 6, 25)),
    (2008, 10, Version::new(2, 6, 27)),
    (2009, 6, Version::new(2, 6, 30)),
    (2009, 12, Version::new(2, 6, 32)),
    (2010, 8, Version::new(2, 6, 35)),
    (2011, 3, Version::new(2, 6, 38)),
    (2011, 7, Version::new(3, 0, 0)),
    (2012, 3, Version::new(3, 3, 0)),
    (2012, 12, Version::new(3, 7, 0)),
    (2013, 6, Version::new(3, 10, 0)),
    (2014, 3, Version::new(3, 14, 0)),
    (2014, 12, Version::new(3, 18, 0)),
    (2015, 8, Version::new(4, 2, 0)),
    (2016, 5, Version::new(4, 6, 0)),
    (2016, 12, Version::new(4, 9, 0)),
    (2017, 7, Version::new(4, 12, 0)),
    (2018, 1, Version::new(4, 15, 0)),
    (2018, 8, Version::new(4, 18, 0)),
    (2019, 3, Version::new(5, 0, 0)),
    (2019, 7, Version::new(5, 2, 0)),
    (2020, 1, Version::new(5, 5, 0)),
    (2020, 8, Version::new(5, 8, 0)),
    (2020, 12, Version::new(5, 10, 0)),
    (2021, 8, Version::new(5, 14, 0)),
    (2022, 1, Version::new(5, 16, 0)),
    (2022, 7, Version::new(5, 19, 0)),
    (2023, 2, Version::new(6, 2, 0)),
    (2023, 8, Version::new(6, 5, 0)),
    (2024, 3, Version::new(6, 8, 0)),
    (2024, 11, Version::new(6, 12, 0)),
    (2025, 7, Version::new(6, 16, 0)),
    (2026, 6, Version::new(7, 1, 0)),
];

/// Months from the first candidate of a release to the release.
const CANDIDATE_MONTHS: u32 = 2;

/// Clocks that were never set show years before these kernels.
const PLAUSIBLE_FROM: u16 = 2006;

/// The oldest listed release whose first candidate is younger than the date.
pub(super) fn not_yet((year, month): (u16, u8)) -> Option<Version> {
    let months = |year: u16, month: u8| u32::from(year) * 12 + u32::from(month);
    let date = months(year, month) + CANDIDATE_MONTHS;
    let later = |release: &&(u16, u8, Version)| months(release.0, release.1) > date;
    RELEASES.iter().find(later).map(|release| release.2)
}

/// Year and month of the date before a line, if it has both.
pub(super) fn date(line: &str) -> Option<(u16, u8)> {
    let front = strip(line).front(line)?;
    let front = front.get(..front.len().min(64))?;
    let words =
        || front.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let year = words().find_map(|word| {
        // `2025-06-03T16:08:54` splits before the day's `T`.
        let year: u16 = word.parse().ok().filter(|_| word.len() == 4)?;
        (PLAUSIBLE_FROM..2100).contains(&year).then_some(year)
    })?;
    let named = words().find_map(month);
    let iso = || {
        let at = front.find(&format!("{year}-"))? + 5;
        front.get(at..at + 2)?.parse::<u8>().ok().filter(|month| (1..=12).contains(month))
    };
    Some((year, named.or_else(iso)?))
}

/// The number of a month by the beginning of its English name.
pub(super) fn month(word: &str) -> Option<u8> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    MONTHS
        .iter()
        .position(|name| name.eq_ignore_ascii_case(word))
        .and_then(|at| u8::try_from(at + 1).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn date_in_front_of_a_line_is_read_and_one_in_a_message_is_not() {
        let tsc = "tsc: Detected 1996.250 MHz processor";
        for (line, wanted) in [
            (format!("[Wed Sep  9 08:37:21 2020] {tsc}"), Some((2020, 9))),
            (format!("2021-06-03T16:08:54+02:00 web kernel: {tsc}"), Some((2021, 6))),
            (format!("Sep 11 07:03:06 web kernel: {tsc}"), None),
            (format!("[Thu Jan  1 00:00:12 1970] {tsc}"), None),
            (
                format!(
                    "DMI: a\":\"kernel\",\"MESSAGE\":[116,3{}2,116,120]}}",
                    "\u{fffd}".repeat(65)
                ),
                None,
            ),
            ("[    1.000000] rtc_cmos 00:01: setting system clock to 2009-11-26".to_owned(), None),
        ] {
            assert_eq!(date(&line), wanted, "{line}");
        }
    }

    #[test]
    fn not_yet_is_younger_than_the_date_and_its_candidates() {
        assert_eq!(not_yet((2020, 9)), Some(Version::new(5, 10, 0)));
        // 5.10-rc1 is of October.
        assert_eq!(not_yet((2020, 10)), Some(Version::new(5, 14, 0)));
        assert_eq!(not_yet((2026, 11)), None);
        assert!(RELEASES.is_sorted_by_key(|release| (release.0, release.1)));
        assert!(RELEASES.is_sorted_by_key(|release| release.2));
    }
}
