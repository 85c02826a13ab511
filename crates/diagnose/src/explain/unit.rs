//! Dates that come from a present time in a wrong unit: as many milliseconds as there are seconds since 1970 are a date in
//! its January.

/// The days of January 1970 on which the milliseconds of the years 2013 to 2030 fall.
const DAYS: std::ops::RangeInclusive<u32> = 16..=22;

/// Whether a text in small letters has such a date.
pub(super) fn tells(small: &str) -> bool {
    small.match_indices("1970").any(|(at, year)| {
        let before = &small[..at];
        let after = &small[at + year.len()..];
        let day = if let Some(rest) = after.strip_prefix(['-', '/', '.']) {
            // 1970-01-19
            let mut numbers = rest.split(['-', '/', '.']);
            let month = numbers.next().map(|month| month.trim_start_matches('0'));
            numbers.next().filter(|_| month == Some("1")).map(digits_at_start)
        } else {
            // 19.01.1970, 19 Jan 1970, January 19, 1970, Jan 19 13:05:10 UTC 1970
            let words: Vec<&str> = before
                .rsplit(|c: char| !c.is_alphanumeric() && c != ':')
                .filter(|word| !word.is_empty())
                .take(5)
                .collect();
            let month = words.iter().position(|word| matches!(*word, "01" | "jan" | "january"));
            month.and_then(|place| {
                let beside = [place.checked_sub(1), Some(place + 1)];
                let days = beside.into_iter().flatten().filter_map(|at| words.get(at).copied());
                days.map(digits_at_start).find(|day| !day.is_empty())
            })
        };
        day.and_then(|day| day.parse().ok()).is_some_and(|day: u32| DAYS.contains(&day))
    })
}

fn digits_at_start(word: &str) -> &str {
    let end = word.find(|c: char| !c.is_ascii_digit()).unwrap_or(word.len());
    &word[..end]
}

#[cfg(test)]
mod tests {
    use super::super::of_wall_clock;
    use super::super::wall_pages::UNIT;
    use super::tells;

    #[test]
    fn present_times_in_a_wrong_unit() {
        for text in [
            "the rows are dated 1970-01-19t13:05:10",
            "with the date 1970/01/20",
            "it prints 21.01.1970 in all columns",
            "mon jan 19 13:05:10 utc 1970",
            "january 20, 1970",
            "20 jan 1970",
        ] {
            assert!(tells(text), "{text}");
        }
        assert_eq!(of_wall_clock("Kafka writes timestamps of 1970-01-19, NTP is fine")[0], UNIT);
    }

    #[test]
    fn other_dates() {
        for text in [
            "thu jan  1 00:00:00 utc 1970",
            "1970-01-01",
            "sat feb 28 08:07:23 utc 1970",
            "19 december 1970",
            "in 1970",
            "1970-02-19",
            "",
        ] {
            assert!(!tells(text), "{text}");
        }
    }
}
