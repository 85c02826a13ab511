//! A wall clock that was set back while a log was written: the dates before its lines go back, and the kernel's time
//! stamps continue.

use super::{Page, discipline};
use crate::log::times;
use crate::wall::{Remark, TimeSource, What};

/// Seconds of the kernel's stamps within which two lines follow each other: more may be of another boot.
const NEXT_S: f64 = 120.0;
/// Seconds after a boot in which the clock is set for the first time, and its zone is.
const BOOTS_S: f64 = 120.0;
/// Seconds by which a date goes back that is not out of order alone.
const BACK_S: f64 = 60.0;
/// Time zones, and the end of summer time, are multiples of that.
const ZONE_S: f64 = 900.0;
/// A step of more is that to another year, or a file of another time.
const MOST_S: f64 = 300.0 * 86_400.0;

/// Looks at the dates and the stamps of all lines.
pub(super) fn look(page: &mut Page<'_>) {
    let mut last: Option<(f64, f64)> = None;
    for number in 0..page.len() {
        let (Some(stamp), Some(date)) = times(page.line(number)) else { continue };
        if let Some((stamp_before, date_before)) = last.replace((stamp, date))
            && let Some(by_s) = back(stamp_before, stamp, date_before, date)
        {
            let what = What::SetBack { by_s };
            let remark = Remark { what, program: "the log", source: page.source(number) };
            discipline::add(
                page,
                number,
                TimeSource { remarks: vec![remark], ..TimeSource::default() },
            );
            return;
        }
    }
}

/// By how much the date went back between two lines of one boot.
fn back(stamp_before: f64, stamp: f64, date_before: f64, date: f64) -> Option<f64> {
    let passed = stamp - stamp_before;
    let by_s = date_before + passed - date;
    let zones = (by_s / ZONE_S).round() * ZONE_S;
    ((0.0..=NEXT_S).contains(&passed)
        && stamp_before > BOOTS_S
        && (BACK_S..MOST_S).contains(&by_s)
        && (by_s - zones).abs() > BACK_S)
        .then_some(by_s)
}

#[cfg(test)]
mod tests {
    use crate::paste::Pasted;
    use crate::wall::What;

    fn read(text: &str) -> Option<f64> {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let told = Pasted::read(&lines, "text").told;
        told.source.value()?.remarks.iter().find_map(|one| match one.what {
            What::SetBack { by_s } => Some(by_s.round()),
            _ => None,
        })
    }

    fn two(first: &str, second: &str) -> String {
        let [a, b] = [first, second].map(|text| text.split_once(' ').unwrap_or_default());
        format!(
            "Feb  9 {} vm kernel: [{}] usb 1: x\nFeb  9 {} vm kernel: [{}] usb 2: x\n",
            a.0, a.1, b.0, b.1
        )
    }

    #[test]
    fn date_that_goes_back_while_the_stamps_go_on_is_a_clock_that_was_set() {
        assert_eq!(read(&two("09:27:28 29017.000000", "01:36:55 29020.000000")), Some(28_236.0));
        for (other, why) in [
            (two("09:27:28 29017.000000", "09:27:20 29020.000000"), "out of order"),
            (two("09:27:28 29017.000000", "08:27:31 29020.000000"), "the end of summer time"),
            (two("09:27:28 29017.000000", "01:36:55 12.000000"), "another boot"),
            (two("09:27:28 17.000000", "01:36:55 20.000000"), "the first setting"),
            (two("09:27:28 29017.000000", "01:36:55 39020.000000"), "another file"),
            (two("01:36:55 29017.000000", "09:27:28 29020.000000"), "a machine that slept"),
        ] {
            assert_eq!(read(&other), None, "{why}");
        }
    }
}
