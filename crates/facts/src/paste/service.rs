//! A time daemon that does not run, by `systemctl status`; the kernel's discipline, by the metrics of node_exporter.

use super::{Page, Reader, discipline};
use crate::Fact;
use crate::ntp::NtpState;
use crate::wall::{Remark, TimeSource, What};

pub(super) const STATUS: Reader = Reader {
    name: "systemctl status",
    words: &["Active: inactive", "Active: failed"],
    read: status,
};

pub(super) const METRICS: Reader =
    Reader { name: "node_exporter", words: &["node_timex_sync_status"], read: metrics };

/// Units of time daemons, with the program.
const UNITS: [(&str, &str); 9] = [
    ("systemd-timesyncd", "systemd-timesyncd"),
    ("chronyd", "chronyd"),
    ("chrony", "chronyd"),
    ("ntpd", "ntpd"),
    ("ntp", "ntpd"),
    ("ntpsec", "ntpd"),
    ("openntpd", "ntpd"),
    ("phc2sys", "phc2sys"),
    ("ptp4l", "ptp4l"),
];
/// Lines of the output above and below the state of a unit.
const AROUND: usize = 8;

/// The unit of a heading: `● chronyd.service - NTP client/server`.
fn unit(line: &str) -> Option<&'static str> {
    let name = line.split_ascii_whitespace().find_map(|word| word.strip_suffix(".service"))?;
    UNITS.into_iter().find(|(unit, _)| *unit == name).map(|(_, program)| program)
}

fn is_heading(line: &str) -> bool {
    line.contains(".service -")
}

/// The program of the unit whose state a line has.
fn program_at(page: &Page<'_>, at: usize) -> Option<&'static str> {
    let mut above = (at.saturating_sub(AROUND)..at).rev().map(|number| page.line(number));
    above.find(|line| is_heading(line)).and_then(unit)
}

/// Whether the text shows the unit of another time daemon that runs: then the first one need not.
fn another_runs(page: &Page<'_>, program: &str) -> bool {
    (0..page.len())
        .filter(|number| page.line(*number).trim_start().starts_with("Active: active (running)"))
        .any(|number| program_at(page, number).is_some_and(|other| other != program))
}

fn status(page: &mut Page<'_>, at: usize) -> usize {
    if !page.line(at).trim_start().starts_with("Active: ") {
        return 0;
    }
    let Some(program) = program_at(page, at) else { return 0 };
    if another_runs(page, program) {
        return 1;
    }
    let mut condition = None;
    let mut has_ended = false;
    for number in at + 1..page.len().min(at + 1 + AROUND) {
        let line = page.line(number);
        if is_heading(line) || page.is_prompt(number) {
            break;
        }
        // `Process: 612 ExecStart=... (code=exited, status=0/SUCCESS)`: it ran, and nothing failed.
        has_ended |= line.contains("code=exited, status=0/SUCCESS");
        // `└─ ConditionVirtualization=no was not met`
        if let Some((head, _)) = line.split_once(" was not met") {
            condition = head
                .split_ascii_whitespace()
                .next_back()
                .map(|word| word.chars().take(80).collect());
        }
    }
    let was_stopped = has_ended && condition.is_none() && page.line(at).contains("inactive");
    let what = if was_stopped { What::Ended } else { What::NotRunning { condition } };
    let remark = Remark { what, program, source: page.source(at) };
    discipline::add(page, at, TimeSource { remarks: vec![remark], ..TimeSource::default() });
    1
}

/// Lines around the state among which the other metrics of the same machine are.
const METRICS_WITHIN: usize = 120;

/// `node_timex_sync_status{instance="a"} 1`: the labels of the metric, and its figure.
fn metric<'a>(line: &'a str, name: &str) -> Option<(&'a str, f64)> {
    let rest = line.trim().strip_prefix(name)?;
    let (labels, figure) = match rest.strip_prefix('{') {
        Some(rest) => rest.split_once('}')?,
        None => ("", rest),
    };
    if !figure.starts_with([' ', '\t']) {
        return None;
    }
    let figure = figure.split_ascii_whitespace().next()?.parse().ok()?;
    Some((labels, figure)).filter(|(_, figure): &(&str, f64)| figure.is_finite())
}

fn metrics(page: &mut Page<'_>, at: usize) -> usize {
    const NAME: &str = "node_timex_sync_status";
    let Some((labels, state)) = metric(page.line(at), NAME) else { return 0 };
    // Of several machines, none is the one in question.
    let several = page
        .lines()
        .iter()
        .any(|line| metric(line, NAME).is_some_and(|(other, _)| other != labels));
    if several || page.told.ntp.is_known() {
        return 0;
    }
    let around = at.saturating_sub(METRICS_WITHIN)..page.len().min(at + METRICS_WITHIN);
    let figure = |name: &str| {
        around
            .clone()
            .find_map(|number| metric(page.line(number), name).filter(|(of, _)| *of == labels))
    };
    #[allow(clippy::cast_possible_truncation)]
    let scaled = |name: &str, by: f64| figure(name).map(|(_, value)| (value * by).round() as i64);
    let told = NtpState {
        maximum_error_us: scaled("node_timex_maxerror_seconds", 1e6),
        estimated_error_us: scaled("node_timex_estimated_error_seconds", 1e6),
        offset_ns: scaled("node_timex_offset_seconds", 1e9),
        status: scaled("node_timex_status", 1.0),
        frequency_ppm: figure("node_timex_frequency_adjustment_ratio")
            .map(|(_, ratio)| (ratio - 1.0) * 1e6),
        ..NtpState::only(state > 0.5)
    };
    page.told.ntp = Fact::known(told, page.source(at));
    1
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use crate::paste::Pasted;
    use crate::wall::What;

    fn read(text: &str) -> Pasted {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        Pasted::read(&lines, "text")
    }

    #[test]
    fn daemon_that_does_not_run_is_named_with_its_condition() {
        let text = "● systemd-timesyncd.service - Network Time Synchronization\n   Loaded: loaded\n   Active: inactive (dead)\n\
                    Condition: start condition failed at Tue\n           └─ ConditionVirtualization=!container was not met\n";
        let told = read(text).told.source.value().cloned().unwrap();
        let condition = Some("ConditionVirtualization=!container".to_owned());
        assert_eq!(told.remarks[0].program, "systemd-timesyncd");
        assert_eq!(told.remarks[0].what, What::NotRunning { condition });
        let ended = "● systemd-timesyncd.service - Network Time Synchronization\n   Active: inactive (dead) since Mon; 2min ago\n\
                     Process: 612 ExecStart=/lib/systemd/systemd-timesyncd (code=exited, status=0/SUCCESS)\n";
        let told = |text: &str| read(text).told.source.value().cloned().unwrap();
        assert_eq!(told(ended).remarks[0].what, What::Ended);
        let failed = ended.replace("inactive (dead)", "failed");
        assert_eq!(told(&failed).remarks[0].what, What::NotRunning { condition: None });
        let running = "● chronyd.service - NTP\n   Active: active (running)\n";
        assert!(
            !read(&format!("{ended}$ systemctl status chronyd\n{running}")).told.source.is_known()
        );
        assert!(!read(&format!("{running}\n{ended}")).told.source.is_known());
        for other in [
            "● sshd.service - SSH\n   Active: inactive (dead)\n",
            "   Active: inactive (dead)\n",
            "● chronyd.service - NTP\n   Active: active (running)\n",
        ] {
            assert!(!read(other).told.source.is_known(), "{other}");
        }
    }

    #[test]
    fn metrics_are_the_state_of_one_machine() {
        let text =
            "node_timex_maxerror_seconds 16\nnode_timex_status 64\nnode_timex_sync_status 0\n";
        let state = *read(text).told.ntp.value().unwrap();
        assert!(!state.synchronized);
        assert_eq!((state.maximum_error_us, state.status), (Some(16_000_000), Some(64)));
        let two =
            "node_timex_sync_status{instance=\"a\"} 1\nnode_timex_sync_status{instance=\"b\"} 0\n";
        assert!(!read(two).told.ntp.is_known());
        assert!(!read("node_timex_sync_status is 0 or 1\n").told.ntp.is_known());
    }
}
