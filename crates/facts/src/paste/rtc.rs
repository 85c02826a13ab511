//! The real-time clock beside the wall clock: `/sys/class/rtc/rtc0/time` or `/proc/driver/rtc`, and an output of `date` near it.

use super::{Page, Reader, prompt};
use crate::Fact;
use crate::utc::days_since_1970;
use crate::wall::{ahead_of_utc, date_of, date_seconds};

pub(super) const READER: Reader =
    Reader { name: "real-time clock", words: &["rtc/rtc", "rtc_time"], read };

/// Lines before and after the reading in which the output of `date` is.
const NEAR: usize = 8;
/// Lines between the two fields of `/proc/driver/rtc`.
const FIELDS: usize = 3;
const DAY_S: i64 = 86_400;

fn read(page: &mut Page<'_>, at: usize) -> usize {
    let Some((time, date, end)) = field(page, at).or_else(|| file(page, at)) else { return 0 };
    let Some(shown) = wall(page, at, end) else { return 0 };
    let of_day = shown.rem_euclid(DAY_S);
    let ahead = match date {
        Some(days) => days * DAY_S + time - shown,
        // The nearest one: a clock that is off by half a day needs its date.
        None => (time - of_day + DAY_S / 2).rem_euclid(DAY_S) - DAY_S / 2,
    };
    page.told.rtc_ahead_s = Fact::known(ahead, page.source(end - 1));
    end - at
}

/// `rtc_time : 13:19:03`, and `rtc_date : 2020-05-10` below it: the time of day, the days since 1970, and the end.
fn field(page: &Page<'_>, at: usize) -> Option<(i64, Option<i64>, usize)> {
    let value = |line: usize, name: &str| {
        let (left, right) = page.line(line).trim().split_once(':')?;
        (left.trim() == name).then_some(right.trim())
    };
    let time = time_of_day(value(at, "rtc_time")?)?;
    let date = (at + 1..at + FIELDS).find_map(|line| Some((days(value(line, "rtc_date")?)?, line)));
    Some((time, date.map(|(days, _)| days), date.map_or(at, |(_, line)| line) + 1))
}

/// A command with the file `time`, and its output.
fn file(page: &Page<'_>, at: usize) -> Option<(i64, Option<i64>, usize)> {
    let line = page.line(at).trim();
    let is_file = |name: &str| {
        line.split_ascii_whitespace()
            .next_back()
            .is_some_and(|path| path.contains("rtc/rtc") && path.rsplit('/').next() == Some(name))
    };
    let is_command = line
        .split_ascii_whitespace()
        .any(|word| word == "cat" || word.ends_with("$cat") || word.ends_with("#cat"));
    (is_command && is_file("time")).then_some(())?;
    let time = time_of_day(page.line(at + 1).trim())?;
    // `cat .../rtc0/date` above or below it.
    let of = |line: usize| {
        let asks = page.line(line).contains("rtc/rtc") && page.line(line).trim().ends_with("/date");
        asks.then(|| days(page.line(line + 1).trim())).flatten()
    };
    let below = of(at + 2);
    let above = || at.checked_sub(2).and_then(of);
    Some((time, below.or_else(above), if below.is_some() { at + 4 } else { at + 2 }))
}

/// The output of `date` near a reading, in seconds since 1970.
fn wall(page: &Page<'_>, at: usize, end: usize) -> Option<i64> {
    let near = (at.saturating_sub(NEAR)..at).rev().chain(end..page.len().min(end + NEAR));
    near.filter(|line| {
        let command = prompt::read(page.line(*line))
            .map_or_else(|| bare(page.line(*line)), |found| found.command);
        date_of(command) == Some(None)
    })
    .find_map(|line| {
        let (seconds, zone) = date_seconds(page.line(line + 1))?;
        Some(seconds - ahead_of_utc(zone)?)
    })
}

/// The command behind a prompt of any form that ends with a sign and a blank.
fn bare(line: &str) -> &str {
    let line = line.trim();
    match line.rfind(['$', '#', '%']) {
        Some(at) if !line[..at].contains(' ') || line.starts_with('[') => line[at + 1..].trim(),
        _ => line,
    }
}

/// `13:19:03`
fn time_of_day(text: &str) -> Option<i64> {
    let mut parts = text.split(':').map(|part| part.parse::<i64>().ok());
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    let sane = (0..24).contains(&hour) && (0..60).contains(&minute) && (0..=60).contains(&second);
    (sane && parts.next().is_none()).then_some(hour * 3600 + minute * 60 + second)
}

/// The days since 1970 of `2020-05-10`.
fn days(text: &str) -> Option<i64> {
    let mut parts = text.split('-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let sane =
        (1970..=9999).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    (sane && parts.next().is_none()).then(|| days_since_1970(year, month, day))
}

#[cfg(test)]
mod tests {
    use crate::paste::Pasted;

    fn ahead(text: &str) -> Option<i64> {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        Pasted::read(&lines, "text").told.rtc_ahead_s.value().copied()
    }

    #[test]
    fn real_time_clock_is_compared_with_a_date_near_it() {
        let rtc = "$ cat /sys/class/rtc/rtc0/time\n13:19:03\n";
        let date = "$ date\nSun May 10 09:14:47 EDT 2020\n";
        assert_eq!(ahead(&format!("{rtc}{date}")), Some(256));
        assert_eq!(ahead(&format!("{date}{rtc}")), Some(256));
        assert_eq!(
            ahead(
                "box:/sys$ cat class/rtc/rtc0/time\n13:19:03\nbox:/sys$ date\nSun May 10 09:14:47 EDT 2020\n"
            ),
            Some(256)
        );
        let dated = "$ cat /sys/class/rtc/rtc0/date\n2020-05-12\n";
        assert_eq!(ahead(&format!("{dated}{rtc}{date}")), Some(2 * 86_400 + 256));
        let proc = "rtc_time\t: 13:19:03\nrtc_date\t: 2020-05-10\nalrm_time\t: 00:00:00\n";
        assert_eq!(ahead(&format!("{date}$ cat /proc/driver/rtc\n{proc}")), Some(256));
    }

    #[test]
    fn real_time_clock_without_a_date_or_with_an_unknown_zone_shows_no_difference() {
        let rtc = "$ cat /sys/class/rtc/rtc0/time\n13:19:03\n";
        assert_eq!(ahead(rtc), None);
        assert_eq!(ahead(&format!("{rtc}$ date\nSun May 10 09:14:47 CST 2020\n")), None);
        assert_eq!(ahead(&format!("{rtc}it said Sun May 10 09:14:47 EDT 2020\n")), None);
    }
}
