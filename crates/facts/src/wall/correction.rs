//! Log lines of time daemons: that the clock is wrong, that it was set, whether a source is followed.

use super::TimeSource;
use crate::Source;
use serde::Serialize;

/// A correction of the wall clock.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Correction {
    /// The program that found it: `chronyd`, `ntpdate`, `ntpd`.
    pub program: &'static str,
    /// Seconds by which the clock was behind; negative: ahead.
    pub by_s: f64,
    /// Whether a line states that the clock was set by this amount.
    pub set: bool,
    /// Whether the daemon later followed a source again, by the last line about that.
    pub followed: bool,
    /// The line.
    pub source: Source,
}

/// Of `<sys/timex.h>`: the state of a clock that is not synchronised, and the status bit that says so.
const TIME_ERROR: i32 = 5;
const STA_UNSYNC: i64 = 0x40;
/// Seconds from which on the offset of a reply is a finding.
const FOUND_S: f64 = 0.5;
/// Maximum number of stored corrections of one text.
const MOST: usize = 64;

impl Correction {
    /// Adds the correction to those of the same text: a line about setting the clock belongs to the error found before.
    pub(super) fn join(self, all: &mut Vec<Self>) {
        let found = |one: &&mut Self| {
            !one.set && one.program == self.program && (one.by_s - self.by_s).abs() < 0.01
        };
        if let Some(one) = all.iter_mut().rev().find(found).filter(|_| self.set) {
            one.set = true;
        } else if all.len() < MOST {
            all.push(self);
        }
    }
}

impl TimeSource {
    /// Parses a line of a daemon's log.
    ///
    /// Sources: `REF_SetReference()` and `REF_SetUnsynchronised()` in chrony's reference.c, `SRC_SelectSource()` in its
    /// sources.c; ntpdate.c and ntp_loopfilter.c, ntp_proto.c of the reference implementation.
    #[must_use]
    pub fn of_log(line: &str, source: &Source) -> Option<Self> {
        let correction = |program, by_s: Option<f64>, set| {
            let by_s = by_s.filter(|by| by.is_finite())?;
            let one = Correction { program, by_s, set, followed: false, source: source.clone() };
            Some(Self { daemon: daemon(program), corrections: vec![one], ..Self::default() })
        };
        let logged = |program, follows| {
            Some(Self { daemon: daemon(program), logged: Some(follows), ..Self::default() })
        };
        if let Some(rest) = behind(line, "System clock wrong by ") {
            // With -q it sets the clock and ends; with -Q it prints `(ignored)`.
            let set = rest.contains("(step)") || rest.contains("(slew)");
            return correction("chronyd", seconds(rest, "seconds"), set);
        }
        if let Some(rest) = behind(line, "System clock was stepped by ") {
            return correction("chronyd", seconds(rest, "seconds"), true);
        }
        // chrony's `initstepslew`: `System's initial offset : 12.5 seconds slow of true (step)`.
        if let Some(rest) = behind(line, "System's initial offset : ") {
            let by_s = seconds(rest, "seconds")
                .map(|by| if rest.contains(" slow of true") { by } else { -by });
            return correction("chronyd", by_s, rest.contains("(step)"));
        }
        // `process_clock_state()` of systemd's time-wait-sync.c: the return value of adjtimex(2), and the status bits.
        if let Some(rest) = behind(line, "adjtime state ") {
            let (state, rest) = rest.split_once(" status ")?;
            let state: i32 = state.parse().ok()?;
            let status = i64::from_str_radix(rest.split(' ').next()?, 16).ok()?;
            let logged = Some(state != TIME_ERROR && status & STA_UNSYNC == 0);
            return Some(Self { logged, ..Self::default() });
        }
        // ntpd's event (`report_event()` in ntp_control.c), NTPsec's `CLOCK: time stepped by`, and what ntpd prints with -q.
        let of = |program: &str| line.contains(program);
        for (words, unit) in
            [(" clock_step ", "s"), ("CLOCK: time stepped by ", ""), ("ntpd: time set ", "s")]
        {
            if let Some(rest) = behind(line, words) {
                return correction("ntpd", seconds(rest, unit), true);
            }
        }
        // set_freq() in ntp_loopfilter.c: the required correction, and the permitted one.
        if let Some(rest) = behind(line, "frequency error ")
            && rest.contains(" PPM exceeds tolerance ")
        {
            let frequency_ppm =
                Some(rest.split(' ').next()?.parse().ok().filter(|ppm: &f64| ppm.is_finite())?);
            return Some(Self {
                daemon: "ntpd",
                frequency_ppm,
                asked_ppm: frequency_ppm.into_iter().collect(),
                ..Self::default()
            });
        }
        // ntpd_settime() of OpenNTPD: `set local clock to DATE (offset 3600.1s)`.
        if let Some(rest) = behind(line, "set local clock to ") {
            let figure = behind(rest, "(offset ")?.split("s)").next()?;
            return correction("ntpd", figure.parse().ok(), true);
        }
        // OpenNTPD slews; BusyBox's ntpd (`step_time()`, `recv_and_process_peer_pkt()`) also says what a reply finds.
        if let Some(rest) = behind(line, "adjusting local clock by ") {
            return correction("ntpd", rest.split('s').next()?.trim().parse().ok(), false);
        }
        if let Some(rest) = behind(line, "setting time to ")
            && of("ntpd")
        {
            let figure = behind(rest, "(offset ")?.split("s)").next()?;
            return correction("ntpd", figure.parse().ok(), true);
        }
        if let Some(rest) = behind(line, "reply from ")
            && let Some(figure) = behind(rest, ": offset:")
            && of("ntpd")
        {
            let by_s: f64 = figure.split(' ').next()?.parse().ok()?;
            let found = correction("ntpd", Some(by_s).filter(|by| by.abs() >= FOUND_S), false);
            let found = found.unwrap_or(Self { daemon: "ntpd", ..Self::default() });
            return Some(Self { answering: 1, ..found });
        }
        if let Some(rest) = behind(line, "step time server ") {
            return correction("ntpdate", seconds(behind(rest, " offset ")?, "sec"), true);
        }
        if let Some(reason) = behind(line, "Can't synchronise: ") {
            let no_majority = reason.starts_with("no majority");
            return logged("chronyd", false).map(|told| Self { no_majority, ..told });
        }
        if ["Selected source ", "Detected falseticker "].iter().any(|words| line.contains(words)) {
            return Self::of_choice(line, source);
        }
        if of("ntpd[") || of("ntpd:") {
            if let Some(rest) = behind(line, "time reset ") {
                return correction("ntpd", seconds(rest, "s"), true);
            }
            if of("synchronisation lost") || of("synchronization lost") {
                return logged("ntpd", false);
            }
            if behind(line, "synchronized to ").is_some_and(|rest| rest.contains("stratum")) {
                return logged("ntpd", true);
            }
        }
        Self::of_remark(line, source)
    }
}

/// ntpdate runs once: a different program follows a source.
fn daemon(program: &'static str) -> &'static str {
    if program == "ntpdate" { "" } else { program }
}

fn behind<'a>(line: &'a str, words: &str) -> Option<&'a str> {
    Some(&line[line.find(words)? + words.len()..])
}

/// A figure before its unit: `-0.261271 s`.
fn seconds(text: &str, unit: &str) -> Option<f64> {
    let mut words = text.split_ascii_whitespace();
    let figure = words.next()?.parse().ok()?;
    if unit.is_empty() {
        return Some(figure);
    }
    let word = words.next()?.trim_end_matches([',', '.']);
    (word == unit).then_some(figure)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn read(lines: &[&str]) -> TimeSource {
        let mut all = TimeSource::default();
        for line in lines {
            all.add(TimeSource::of_log(line, &Source("log".into())).unwrap());
        }
        all
    }

    #[test]
    fn corrections_of_logs_have_their_signs() {
        let found = read(&[
            "Sep 19 08:09:19 pc chronyd[329]: System clock wrong by 63297.185604 seconds, adjustment started",
            "chronyd[329]: System clock was stepped by 63297.185604 seconds",
            "20 Sep 10:46:30 ntpdate[4830]: step time server 192.0.2.1 offset +92854.955337 sec",
            "Nov 19 09:54:11 pc ntpd[1058]: time reset -0.261271 s",
            "Nov 20 09:54:11 pc ntpd[1058]: 0.0.0.0 c61c 0c clock_step +3601.250000 s",
            "2026-02-01T10:00:00 ntpd[5]: CLOCK: time stepped by -7.500000",
            "ntpd[6]: set local clock to Thu Nov  5 10:00:00 UTC 2026 (offset 12.500000s)",
        ]);
        let all: Vec<(&str, f64, bool)> =
            found.corrections.iter().map(|c| (c.program, c.by_s, c.set)).collect();
        assert_eq!(
            all,
            [
                ("chronyd", 63_297.185_604, true),
                ("ntpdate", 92_854.955_337, true),
                ("ntpd", -0.261_271, true),
                ("ntpd", 3601.25, true),
                ("ntpd", -7.5, true),
                ("ntpd", 12.5, true),
            ]
        );
    }

    #[test]
    fn of_log_what_chronyd_does_with_its_option_for_one_correction() {
        let set = |line: &str| read(&[line]).corrections[0].set;
        assert!(set("2026-03-02T10:11:12Z System clock wrong by -31.500000 seconds (step)"));
        assert!(set("System clock wrong by 0.002000 seconds (slew)"));
        assert!(!set("2026-03-02T10:11:12Z System clock wrong by -31.500000 seconds (ignored)"));
        assert!(!set("chronyd[3]: System clock wrong by -31.500000 seconds"));
    }

    #[test]
    fn of_log_what_chronyd_finds_at_its_start_and_what_the_kernel_says() {
        let found =
            read(&["chronyd: System's initial offset : 61.500000 seconds slow of true (step)"]);
        let one = &found.corrections[0];
        assert_eq!((one.program, one.by_s, one.set), ("chronyd", 61.5, true));
        let found = read(&["System's initial offset : 0.250000 seconds fast of true (slew)"]);
        assert_eq!((found.corrections[0].by_s, found.corrections[0].set), (-0.25, false));
        let lines = [
            "systemd-time-wait-sync[7]: adjtime state 5 status 40 time Mon 2024-01-01 00:00:00.1 UTC",
            "systemd-time-wait-sync[7]: adjtime state 0 status 2001 time Mon 2024-01-01 00:01:00.1 UTC",
        ];
        assert_eq!(read(&lines[..1]).logged, Some(false));
        assert_eq!(read(&lines).logged, Some(true));
    }

    #[test]
    fn of_log_what_other_daemons_find_and_set() {
        let found = read(&[
            "ntpd: reply from 192.0.2.1: offset:+30.250000 delay:0.019047 status:0x24",
            "ntpd: setting time to 2026-02-03 04:05:06.177 (offset +30.250000s)",
            "ntpd: reply from 192.0.2.1: offset:+0.000200 delay:0.019047 status:0x24",
            "Feb  3 04:05:06 gw ntpd[8]: adjusting local clock by -95.500000s",
        ]);
        let all: Vec<(f64, bool)> =
            found.corrections.iter().map(|one| (one.by_s, one.set)).collect();
        assert_eq!((all, found.answering), (vec![(30.25, true), (-95.5, false)], 1));
    }

    #[test]
    fn of_log_a_frequency_that_ntpd_may_not_set_is_the_clocks_rate() {
        let found = read(&["ntpd[9]: frequency error 612 PPM exceeds tolerance 500 PPM"]);
        assert_eq!((found.daemon, found.frequency_ppm), ("ntpd", Some(612.0)));
    }

    #[test]
    fn a_source_that_is_followed_counts_for_what_was_found_before_it() {
        let found = read(&[
            "chronyd[7]: System clock wrong by -3600.250000 seconds, adjustment started",
            "chronyd[7]: System clock wrong by 1.500000 seconds, adjustment started",
            "chronyd[7]: System clock was stepped by -3600.250000 seconds",
            "chronyd[7]: Selected source 192.0.2.1",
            "chronyd[7]: System clock wrong by 0.900000 seconds, adjustment started",
        ]);
        let all: Vec<(bool, bool)> =
            found.corrections.iter().map(|one| (one.set, one.followed)).collect();
        assert_eq!(all, [(true, true), (false, true), (false, false)]);
    }

    #[test]
    fn of_log_without_a_majority_the_sources_disagree_until_one_is_followed() {
        let lines =
            ["chronyd[7]: Can't synchronise: no majority", "chronyd[7]: Selected source 192.0.2.1"];
        assert!(read(&lines[..1]).sources_disagree() && !read(&lines).sources_disagree());
        assert!(
            !read(&["chronyd[7]: Can't synchronise: no selectable sources"]).sources_disagree()
        );
    }

    #[test]
    fn the_last_line_says_whether_a_source_is_followed() {
        let lines = [
            "chronyd[741]: Selected source 192.0.2.1",
            "chronyd[741]: Can't synchronise: no selectable sources",
        ];
        assert_eq!(read(&lines).logged, Some(false));
        assert_eq!(read(&lines[..1]).logged, Some(true));
        for line in ["He selected source code", "Selected source file", "the time reset 3 s later"]
        {
            assert_eq!(TimeSource::of_log(line, &Source("log".into())), None, "{line}");
        }
    }
}
