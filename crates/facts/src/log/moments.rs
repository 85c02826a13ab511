//! Separates boots without a banner by the moment of each boot, which is the date before a line minus its time stamp:
//! the output of `grep` over rotated log files, the newest of which comes first.

use super::banner;
use super::disorder::{Step, step};
use super::lines::text;
use super::prefix::strip;
use super::wall;
use memchr::memmem;
use std::ops::Range;

/// Seconds by which the time stamps of one boot never go back.
const BACK_S: f64 = 0.5;
/// Seconds by which the moment of one boot varies: a clock is set, and dates are truncated to a second.
const SAME_S: f64 = 300.0;
/// Maximum number of separated boots; a text with more is read unchanged.
const BOOTS: usize = 64;

/// The result of comparing the moments of the boots.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Moments {
    /// The text without the older boots after the newest one, and the number of older boots.
    Newest(Vec<u8>, u32),
    /// The line at which the moment goes back, from 1, if the text does not show whether a clock was set.
    Open(usize),
}

/// Consecutive lines of one boot.
struct Run {
    lines: Range<usize>,
    moment: f64,
    /// Whether the time stamps go back at its first line.
    begins: bool,
    number: usize,
}

/// Compares the moments of the boots of a text without a banner between them.
pub(super) fn moments(window: &[u8]) -> Option<Moments> {
    if banner::is_in(window) || memmem::find(window, b"to clocksource ").is_none() {
        return None;
    }
    let runs = runs(window)?;
    let mut newest = 0;
    let mut older = Vec::new();
    let mut open = None;
    for (at, run) in runs.iter().enumerate().skip(1) {
        let passed = run.moment - runs[newest].moment;
        if passed.abs() <= SAME_S {
            continue;
        }
        match step(runs[newest].moment, run.moment) {
            Step::Later => {
                newest = at;
                older.clear();
                open = None;
            }
            Step::Older if run.begins => older.push(at),
            Step::Older | Step::Unclear => {
                let before =
                    runs[..at].iter().rev().find_map(|run| last_choice(window, &run.lines));
                let now = last_choice(window, &run.lines);
                if open.is_none() && before.is_some() && now.is_some() && before != now {
                    open = Some(run.number);
                }
            }
        }
    }
    if let Some(number) = open {
        return Some(Moments::Open(number));
    }
    if older.is_empty() {
        return None;
    }
    let mut out = window.to_vec();
    for at in older.iter().rev() {
        let lines = runs[*at].lines.clone();
        let ends = memchr::memchr_iter(b'\n', &window[lines.clone()]).count();
        out.splice(lines, std::iter::repeat_n(b'\n', ends));
    }
    Some(Moments::Newest(out, u32::try_from(older.len()).unwrap_or(u32::MAX)))
}

/// The runs of a text. A run ends with its last line that has a date and a time stamp.
fn runs(window: &[u8]) -> Option<Vec<Run>> {
    let mut runs: Vec<Run> = Vec::new();
    let (mut at, mut number, mut last) = (0, 0, 0.0);
    while at < window.len() {
        let end = memchr::memchr(b'\n', &window[at..]).map_or(window.len(), |end| at + end + 1);
        number += 1;
        let line = text(window, at, end);
        let stamp = strip(&line).at;
        let date = stamp.and_then(|_| wall::seconds(&line));
        if let Some((stamp, date)) = stamp.zip(date) {
            let moment = date - stamp;
            let back = stamp + BACK_S < last;
            match runs.last_mut() {
                // While a machine is suspended, the time stamps stop.
                Some(run) if !back && moment + SAME_S >= run.moment => {
                    run.lines.end = end;
                    run.moment = moment;
                }
                _ => {
                    if runs.len() == BOOTS {
                        return None;
                    }
                    runs.push(Run { lines: at..end, moment, begins: back, number });
                }
            }
            last = stamp;
        }
        at = end;
    }
    Some(runs)
}

/// The clocksource of the last switch in some lines.
pub(super) fn last_choice<'a>(window: &'a [u8], lines: &Range<usize>) -> Option<&'a [u8]> {
    const SWITCH: &[u8] = b"to clocksource ";
    let lines = window.get(lines.clone())?;
    let at = memmem::rfind(lines, SWITCH)? + SWITCH.len();
    lines[at..].split(|byte| byte.is_ascii_whitespace()).next()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use crate::log::{Event, KernelLog};

    fn last(text: &str) -> String {
        let log = KernelLog::scan(text.as_bytes(), "log").unwrap();
        let name = |event: &Event| match event {
            Event::Switched(name) => Some(name.clone()),
            _ => None,
        };
        let name = log.last(name).map(|(_, name)| name).unwrap_or_default();
        if log.mixed.is_some() { "unknown".to_owned() } else { name }
    }

    fn boot(date: &str, names: [&str; 2]) -> String {
        format!(
            "{date}:00 pc kernel: [    0.900000] clocksource: Switched to clocksource tsc-early\n\
             {date}:02 pc kernel: [    2.120000] clocksource: Switched to clocksource {}\n\
             {date}:59 pc kernel: [   59.120000] clocksource: Switched to clocksource {}\n",
            names[0], names[1]
        )
    }

    #[test]
    fn boot_with_an_earlier_moment_is_older() {
        let (slow, fast) = (["tsc", "hpet"], ["tsc", "tsc"]);
        for (new, old) in [
            ("Mar 20 10:00", "Mar 14 10:00"),
            ("/var/log/kern.log:Mar 20 10:00", "/var/log/kern.log.1:Mar 14 10:00"),
            ("2024-03-20T10:00", "2024-03-14T10:00"),
        ] {
            assert_eq!(last(&format!("{}{}", boot(new, fast), boot(old, slow))), "tsc");
            assert_eq!(last(&format!("{}{}", boot(new, slow), boot(old, fast))), "hpet");
            assert_eq!(last(&format!("{}{}", boot(old, slow), boot(new, fast))), "tsc");
        }
    }

    #[test]
    fn moment_that_a_clock_may_have_wrong_tells_no_order() {
        let (slow, fast) = (["tsc", "hpet"], ["tsc", "tsc"]);
        let text = format!("{}{}", boot("Mar 20 10:00", fast), boot("Mar 20 07:00", slow));
        assert_eq!(last(&text), "unknown");
        // The time stamps increase: a clock that was set, or an older boot.
        let text = "Mar 20 10:00:00 pc kernel: [    0.900000] clocksource: Switched to clocksource tsc-early\n\
                    Mar 20 10:00:02 pc kernel: [    2.120000] clocksource: Switched to clocksource tsc\n\
                    Mar 14 10:03:35 pc kernel: [  215.840000] clocksource: Switched to clocksource hpet\n";
        assert_eq!(last(text), "unknown");
        let slept = text.replace("Mar 14", "Mar 21");
        assert_eq!(last(&slept), "hpet");
    }
}
