//! Times in readable form.

/// `2026-11-21 12:17:01Z`, from seconds since 1970.
#[must_use]
#[allow(clippy::cast_possible_truncation)]
pub fn utc(seconds: f64) -> String {
    let seconds = seconds.clamp(0.0, 2.5e11) as i64;
    let (days, rest) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = date(days);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}Z")
}

/// The date of a day since 1970-01-01, in the Gregorian calendar. Years begin in March here, so that
/// the leap day is the last of its year.
fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, of_month)
}

/// `3 min ago`.
#[allow(clippy::cast_possible_truncation)]
pub(super) fn ago(seconds: f64) -> String {
    match seconds.clamp(0.0, 1e12) as i64 {
        0..=1 => "just now".to_owned(),
        s @ 2..=119 => format!("{s} s ago"),
        s @ 120..=7_199 => format!("{} min ago", s / 60),
        s @ 7_200..=172_799 => format!("{} h ago", s / 3600),
        s => format!("{} days ago", s / 86_400),
    }
}

/// `24 h`, as a length.
pub(super) fn length(seconds: f64) -> String {
    match seconds {
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7_200.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.0} h", s / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn dates() {
        assert_eq!(utc(0.0), "1970-01-01 00:00:00Z");
        assert_eq!(utc(951_782_399.9), "2000-02-28 23:59:59Z");
        assert_eq!(utc(951_868_800.0), "2000-03-01 00:00:00Z");
        assert_eq!(utc(1_795_262_400.0), "2026-11-21 12:00:00Z");
        assert_eq!(ago(0.5), "just now");
        assert_eq!(ago(3_700.0), "61 min ago");
        assert_eq!(length(86_400.0), "24 h");
    }

    proptest! {
        #[test]
        fn any_time(seconds: f64) {
            prop_assert!(utc(seconds).ends_with('Z') && !ago(seconds).is_empty());
        }

        #[test]
        fn days_follow_each_other(day in 0i64..2_000_000) {
            let (a, b) = (date(day), date(day + 1));
            prop_assert!(b > a && (1..=31).contains(&a.2) && (1..=12).contains(&a.1));
        }
    }
}
