//! The dates before the lines of a log: those of one form are compared, in the order of the lines.

use super::disorder::{self, Step as Order};
use super::wall;

/// Seconds by which a clock steps forward without a sign that it was set.
const JUMP_S: f64 = 120.0;
/// Seconds by which lines are out of order.
const DISORDER_S: f64 = 5.0;
/// Seconds by which a clock is set back to another zone, or by a program.
const DAY_S: f64 = 86_400.0;
/// Seconds beyond which a step is that of a clock that was never set.
const MONTH_S: f64 = 31.0 * DAY_S;
/// Maximum numbers of forms, and of runs of one form.
const FORMS: usize = 16;
const RUNS: usize = 256;
/// Bytes of a line that are searched for a time of day.
const FRONT: usize = 160;

/// What is known about the step to a date.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    /// Whether a line near it reports that the clock is set.
    pub(super) is_set: bool,
    /// Whether the lines follow each other.
    pub(super) is_next: bool,
}

/// Lines whose dates have one form.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Form {
    name: String,
    runs: Vec<Run>,
}

/// Lines whose dates increase.
#[derive(Clone, Debug, PartialEq)]
struct Run {
    first: f64,
    last: f64,
    /// Whether it continues the run before it, and the clock was set between them.
    goes_on: bool,
}

/// Whether the beginning of a line has a time of day.
pub(super) fn has_time(line: &str) -> bool {
    let line = line.as_bytes();
    line[..line.len().min(FRONT)].windows(6).any(|bytes| {
        bytes[0].is_ascii_digit()
            && bytes[1].is_ascii_digit()
            && bytes[2] == b':'
            && bytes[3].is_ascii_digit()
            && bytes[4].is_ascii_digit()
            && bytes[5] == b':'
    })
}

/// The form of the date before a line: each number is `0`, and each name `a`. The file before it is left out.
pub(super) fn form(line: &str) -> Option<String> {
    let date = wall::date(line)?;
    let behind_file = date.rfind('/').and_then(|slash| {
        let (file, rest) = date[slash..].split_once(':')?;
        file.contains(|c: char| c.is_ascii_alphabetic()).then_some(rest)
    });
    let mut form = String::new();
    for c in behind_file.unwrap_or(date).trim_start().chars() {
        let class = match c {
            _ if c.is_ascii_digit() => '0',
            _ if c.is_alphabetic() => 'a',
            _ if c.is_whitespace() => ' ',
            _ => c,
        };
        if !(form.ends_with(class) && matches!(class, '0' | 'a' | ' ')) {
            form.push(class);
        }
    }
    Some(form)
}

/// Adds the next date.
pub(super) fn take(forms: &mut Vec<Form>, name: &str, date: f64, step: Step) {
    let form = match forms.iter().position(|form| form.name == name) {
        Some(place) => &mut forms[place],
        None if forms.len() == FORMS => return,
        None => {
            forms.push(Form { name: name.to_owned(), runs: Vec::new() });
            let last = forms.len() - 1;
            &mut forms[last]
        }
    };
    let Some(run) = form.runs.last_mut() else {
        form.runs.push(Run { first: date, last: date, goes_on: false });
        return;
    };
    let passed = date - run.last;
    let goes_on = match passed {
        _ if (-DISORDER_S..0.0).contains(&passed) => return,
        _ if passed >= 0.0 && !jumps(run.last, date, step) => {
            run.last = date;
            return;
        }
        _ if passed >= 0.0 => true,
        _ if passed >= -DAY_S => step.is_next && step.is_set,
        // A new year.
        _ => disorder::step(run.last, date) == Order::Later,
    };
    if form.runs.len() == RUNS {
        form.runs.remove(0);
    }
    form.runs.push(Run { first: date, last: date, goes_on });
}

/// Whether a clock was set between two dates, so that the time between them is not known.
fn jumps(then: f64, now: f64, step: Step) -> bool {
    now - then > JUMP_S && (step.is_set || now - then > MONTH_S || disorder::is_unset(then))
}

/// Seconds from a date to the last one, without the steps of a clock that was set. A text that is not whole may have
/// the date before its first run.
pub(super) fn seconds_behind(forms: &[Form], name: &str, date: f64, is_whole: bool) -> Option<f64> {
    let runs = &forms.iter().find(|form| form.name == name)?.runs;
    let has = |run: &Run| (run.first - DISORDER_S..=run.last).contains(&date);
    let (place, begun) = match runs.iter().rposition(has) {
        Some(place) => (place, date),
        None => {
            let first = runs.first().filter(|run| !is_whole && date < run.first)?;
            let step = Step { is_set: false, is_next: true };
            (0, if jumps(date, first.first, step) { first.first } else { date })
        }
    };
    let further = runs[place + 1..].iter().take_while(|run| run.goes_on);
    Some(runs[place].last - begun + further.map(|run| run.last - run.first).sum::<f64>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn form_is_the_date_without_its_figures_and_its_file() {
        for (line, wanted) in [
            ("Oct 10 23:51:01 lap kernel: x", "a 0 0:0:0"),
            ("Oct  1 03:51:01 lap kernel: x", "a 0 0:0:0"),
            ("/var/log/kern.log.1:Oct  1 03:51:01 lap kernel: x", "a 0 0:0:0"),
            ("[Wed Aug 21 01:46:41 2024] tsc: x", "[a a 0 0:0:0"),
            ("2024-10-11T09:12:40.123456+02:00 lap kernel: x", "0-0-0a0:0:0"),
            ("2024/10/11 09:12:40 lap kernel: x", "0/0/0 0:0:0"),
        ] {
            assert_eq!(form(line).as_deref(), Some(wanted), "{line}");
            assert!(has_time(line));
        }
        assert_eq!(form("[    1.000000] rtc: 08:49:26"), None);
    }

    #[test]
    fn seconds_are_those_of_the_last_run_with_the_date() {
        let next = Step { is_set: false, is_next: true };
        let set = Step { is_set: true, is_next: true };
        let mut forms = Vec::new();
        for (date, step) in [(1000.0, next), (1100.0, next), (400.0, set), (450.0, next)] {
            take(&mut forms, "f", date, step);
        }
        assert_eq!(seconds_behind(&forms, "f", 1040.0, true), Some(110.0));
        assert_eq!(seconds_behind(&forms, "f", 440.0, true), Some(10.0));
        assert_eq!(seconds_behind(&forms, "g", 440.0, true), None);
        // The beginning of a long text was not read.
        assert_eq!(seconds_behind(&forms, "f", 10.0, true), None);
        assert_eq!(seconds_behind(&forms, "f", 10.0, false), Some(1140.0));
    }
}
