//! Boots that are not in the order of time: files of a log rotation and boots of a journal with the newest
//! first, and the parts of a dump in pstore.

use super::banner;
use super::lines::text;
use super::prefix::strip;
use super::wall;
use memchr::memmem;

const DAY_S: f64 = 86_400.0;
/// Seconds by which a clock is set back without a word: one that is kept in a file begins at its last state.
const SET_BACK_S: f64 = 120.0;
/// If dates without a year step back by more than this many days, a new year began. Each month counts as 31 days here.
const NEW_YEAR_DAYS: f64 = 340.0;
/// Days below which such a step does not lead to a new year: from December to May it is one of seven months.
const SAME_YEAR_DAYS: f64 = 100.0;
/// Days beyond which a date is that of a clock that was never set.
const UNSET_DAYS: f64 = 372.0;
/// Days of years from which on a date has one.
const YEARS_DAYS: f64 = 1900.0 * 372.0;

/// How the first date of a boot follows that of another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Later,
    Older,
    /// A clock that was set, one that was not, or a boot that is older.
    Unclear,
}

/// How a date follows another one, both as [`wall::seconds`] counts them.
pub(super) fn step(then: f64, now: f64) -> Step {
    let back = (then - now) / DAY_S;
    let has_year = |date: f64| date / DAY_S >= YEARS_DAYS;
    let unset = is_unset(now);
    if then - now <= SET_BACK_S || !has_year(then) && !has_year(now) && back > NEW_YEAR_DAYS {
        return Step::Later;
    }
    let most = if has_year(now) { UNSET_DAYS } else { SAME_YEAR_DAYS };
    if has_year(then) != has_year(now) || unset || back <= 1.0 || back > most {
        return Step::Unclear;
    }
    Step::Older
}

/// Whether a date is the first of January, where a clock without a battery begins.
pub(super) fn is_unset(date: f64) -> bool {
    let of_year = (date / DAY_S).floor() % UNSET_DAYS;
    (32.0..=33.0).contains(&of_year)
}

/// The text without the lines of boots after the newest one that are older by their dates, and how
/// many those boots are.
pub(super) fn without_older(window: &[u8]) -> Option<(Vec<u8>, u32)> {
    let mut boots: Vec<(usize, f64)> = Vec::new();
    for at in memmem::find_iter(window, banner::BEGIN.as_bytes()) {
        let start = memchr::memrchr(b'\n', &window[..at]).map_or(0, |end| end + 1);
        let end = memchr::memchr(b'\n', &window[at..]).map_or(window.len(), |end| at + end);
        let line = text(window, start, end);
        if !banner::is(strip(&line).message) {
            continue;
        }
        let date = wall::seconds(&line)?;
        if boots.last().is_none_or(|(before, _)| *before != start) {
            boots.push((start, date));
        }
    }
    let mut newest = *boots.first()?;
    let mut older = Vec::new();
    for (number, (start, date)) in boots.iter().enumerate().skip(1) {
        match step(newest.1, *date) {
            Step::Later => {
                newest = (*start, *date);
                older.clear();
            }
            Step::Older => {
                let end = boots.get(number + 1).map_or(window.len(), |next| next.0);
                older.push(*start..end);
            }
            Step::Unclear => return None,
        }
    }
    let first = older.first()?.start;
    let mut out = window[..first].to_vec();
    for part in &older {
        for line in window[part.clone()].split_inclusive(|byte| *byte == b'\n') {
            let shown = text(line, 0, line.len());
            let is_dated = wall::seconds(&shown);
            // A clock that is set during the boot.
            if is_dated.is_some_and(|date| step(newest.1, date) != Step::Older) {
                return None;
            }
            if is_dated.is_some() {
                out.extend(line.iter().filter(|byte| **byte == b'\n'));
            } else {
                out.extend_from_slice(line);
            }
        }
    }
    Some((out, u32::try_from(older.len()).unwrap_or(u32::MAX)))
}

/// The heads of the parts of a dump: `Oops#1 Part2`.
fn part(line: &str) -> Option<(&str, u32)> {
    const REASONS: [&str; 8] =
        ["Panic", "Oops", "Emergency", "Shutdown", "Restart", "Halt", "Poweroff", "Unknown"];
    let (dump, number) = line.trim().split_once(" Part")?;
    let (reason, count) = dump.split_once('#')?;
    let known = REASONS.contains(&reason) && count.bytes().all(|byte| byte.is_ascii_digit());
    known.then_some((dump, number.parse().ok()?))
}

/// Why the lines of a dump that pstore keeps are not in the order of time, as the end of a sentence: its first part has the
/// newest lines (`pstore_dump()` in fs/pstore/platform.c).
pub(super) fn parts(window: &[u8]) -> Option<String> {
    let mut before: Option<(String, u32)> = None;
    for at in memmem::find_iter(window, b" Part") {
        let start = memchr::memrchr(b'\n', &window[..at]).map_or(0, |end| end + 1);
        let end = memchr::memchr(b'\n', &window[at..]).map_or(window.len(), |end| at + end);
        let line = text(window, start, end);
        let Some((dump, number)) = part(&line) else { continue };
        if let Some((former, first)) = &before
            && former == dump
            && *first < number
        {
            return Some(format!(
                "part {first} of the dump {dump} comes before part {number}, and has the newer \
                 lines: put the part with the highest number first"
            ));
        }
        before = Some((dump.to_owned(), number));
    }
    None
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::log::{Event, KernelLog};

    fn scan(text: &str) -> KernelLog {
        KernelLog::scan(text.as_bytes(), "log").unwrap()
    }

    fn boot(date: &str, name: &str) -> String {
        format!(
            "{date}:00 pc kernel: [    0.000000] Linux version 6.8.0 (a@b) #1 SMP\n\
             {date}:01 pc kernel: [    1.630000] clocksource: Switched to clocksource {name}\n\
             {date}:31 pc kernel: [   31.630000] usb 1-2: USB disconnect\n"
        )
    }

    fn last(text: &str) -> String {
        let log = scan(text);
        let name = |event: &Event| match event {
            Event::Switched(name) => Some(name.clone()),
            _ => None,
        };
        let name = log.last(name).map(|(_, name)| name).unwrap_or_default();
        if log.mixed.is_some() { "unknown".to_owned() } else { name }
    }

    #[test]
    fn boot_with_the_newest_date_serves() {
        for (new, old) in [
            ("2026-11-05T08:00", "2026-11-01T08:00"),
            ("Nov  5 08:00", "Nov  1 08:00"),
            ("/var/log/kern.log:Nov  5 08:00", "/var/log/kern.log.1:Oct 31 08:00"),
        ] {
            let (hpet, tsc) = (boot(new, "hpet"), boot(old, "tsc"));
            for text in
                [format!("{hpet}{tsc}"), format!("{tsc}{hpet}"), format!("{tsc}{hpet}{tsc}")]
            {
                assert_eq!(last(&text), "hpet", "{text}");
            }
            let log = scan(&format!("{hpet}$ journalctl -k -b -1\n{tsc}"));
            assert_eq!((log.boots, log.lines, log.mixed), (2, 7, None));
            assert_eq!(log.extent.last_at, Some(31.63));
        }
        let new_year = format!("{}{}", boot("Dec 30 08:00", "tsc"), boot("Jan  1 08:00", "hpet"));
        assert_eq!(last(&new_year), "hpet");
    }

    #[test]
    fn dates_that_a_clock_may_have_wrong_tell_no_order() {
        for (one, two) in [
            // A clock that was not set, or a new year.
            ("Nov  5 12:00", "Jan  1 00:00"),
            // The next year, or a part of the same one that is older.
            ("Dec 14 12:00", "May 16 12:00"),
            ("Oct 14 12:00", "Jan  5 12:00"),
            ("2026-11-05T12:00", "2000-01-01T00:00"),
            ("2026-11-05T12:00", "2019-02-14T10:00"),
            // One that was in another zone.
            ("Nov  5 12:00", "Nov  5 08:00"),
        ] {
            let text = format!("{}{}", boot(one, "hpet"), boot(two, "tsc"));
            assert_eq!(last(&text), "unknown", "{text}");
            // It is set during the boot.
            let set = format!(
                "{text}{}:59 pc kernel: [   99.500000] clocksource: Switched to clocksource tsc\n",
                one.replace("12:00", "12:30")
            );
            assert_eq!(last(&set), "tsc", "{set}");
        }
        let close = format!("{}{}", boot("Nov  5 12:01", "hpet"), boot("Nov  5 12:00", "tsc"));
        assert_eq!(last(&close), "tsc");
    }

    #[test]
    fn first_part_of_a_dump_has_the_newest_lines() {
        let new = "<6>[ 7001.200000] clocksource: Switched to clocksource hpet\n";
        let old = "<6>[    0.000000] Linux version 6.8.0 (x) x86_64\n<6>[    1.630000] clocksource: Switched to clocksource tsc\n";
        let dump = |one: u32, first: &str, two: u32, second: &str| {
            format!("Oops#1 Part{one}\n{first}Oops#1 Part{two}\n{second}")
        };
        assert_eq!(last(&dump(1, new, 2, old)), "unknown");
        assert_eq!(last(&dump(2, old, 1, new)), "hpet");
        assert_eq!(part("see Oops#1 Part2"), None);
    }
}
