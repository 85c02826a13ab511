//! The wall clock by the figures in a text: a daemon's measurements and log, and a real-time clock that differs widely.
#![allow(clippy::unwrap_used)]

use clocksmith_diagnose::wall::WallState;
use clocksmith_diagnose::{CauseId, Measured, Report, Severity, assess};
use clocksmith_facts::Facts;
use clocksmith_facts::log::KernelLog;
use clocksmith_facts::paste::{self, Pasted};

fn why(text: &str) -> Report {
    let mut facts = Facts::from_log(KernelLog::scan(text.as_bytes(), "text").unwrap());
    let lines = paste::lines(text.as_bytes(), "text").unwrap();
    Pasted::read(&lines, "text").complete(&mut facts);
    assess(facts, Measured::default()).report
}

fn wall(report: &Report) -> (WallState, String) {
    let wall = report.wall_clock.as_ref().unwrap();
    (wall.state, wall.summary.clone())
}

const TRACKING: &str = "$ chronyc tracking\n\
     Reference ID    : C0000201 (ntp.example)\n\
     Stratum         : 3\n\
     System time     : {time} of NTP time\n\
     Frequency       : {rate}\n\
     Skew            : 0.057 ppm\n\
     Root delay      : 0.028756578 seconds\n\
     Root dispersion : 0.002254671 seconds\n\
     Leap status     : Normal\n";

fn tracking(time: &str, rate: &str) -> Report {
    why(&TRACKING.replace("{time}", time).replace("{rate}", rate))
}

#[test]
fn offsets_and_rates_of_tracking_count() {
    let fine = tracking("0.000003 seconds slow", "12.863 ppm slow");
    assert_eq!(wall(&fine).0, WallState::Synchronised, "{}", wall(&fine).1);
    let figures = fine.wall_clock.unwrap();
    assert_eq!(figures.offset_ns, Some(3_000));
    assert_eq!(figures.frequency_ppm, Some(12.863));
    for (time, rate, word) in [
        ("1557.763061523 seconds slow", "12.863 ppm slow", "26 min slow"),
        ("3.982856 seconds fast", "74443.312 ppm fast", "74443 ppm fast"),
    ] {
        let report = tracking(time, rate);
        let (state, summary) = wall(&report);
        assert_eq!(state, WallState::Unsynchronised, "{summary}");
        assert!(summary.contains(word) && !summary.contains("is synchronised"), "{summary}");
        assert!(report.causes.iter().any(|cause| cause.severity >= Severity::Warning));
    }
    // chronyd on Linux corrects up to 10 %.
    let (state, summary) = wall(&tracking("0.000003 seconds slow", "74443.312 ppm fast"));
    assert_eq!(state, WallState::Synchronised, "{summary}");
    assert!(summary.contains("74443 ppm fast"), "{summary}");
}

#[test]
fn constants_without_a_reference_are_not_figures() {
    let text = "$ chronyc tracking\n\
         Reference ID    : 00000000 ()\n\
         Stratum         : 0\n\
         System time     : 0.000000000 seconds fast of NTP time\n\
         Root delay      : 1.000000000 seconds\n\
         Root dispersion : 1.000000000 seconds\n\
         Leap status     : Not synchronised\n\
         $ chronyc sources\n\
         MS Name/IP address         Stratum Poll Reach LastRx Last sample\n\
         ===============================================================================\n\
         ^? 192.0.2.1                     0   6     0     -     +0ns[   +0ns] +/-    0ns\n";
    let lines: Vec<&str> = text.lines().collect();
    let without = |word: &str| -> String {
        lines.iter().filter(|line| !line.contains(word)).map(|line| format!("{line}\n")).collect()
    };
    for text in [text.to_owned(), without("Reference ID"), without("Leap status")] {
        let report = why(&text);
        let (state, summary) = wall(&report);
        assert_eq!(state, WallState::Unsynchronised, "{summary}");
        assert!(!summary.contains("1.0 s off"), "{summary}");
        assert!(summary.contains("the only source of chronyd does not answer"), "{summary}");
        assert_eq!(report.wall_clock.unwrap().offset_ns, None);
    }
    let real =
        text.replace("00000000 ()", "C0000201 (ntp.example)").replace("Not synchronised", "Normal");
    assert!(wall(&why(&real)).1.contains("off by up to 1.0 s"));
}

#[test]
fn a_fast_clocksource_does_not_hide_a_wrong_wall_clock() {
    let boot = "[    0.000000] Linux version 5.15.0-generic (b@h) (x86_64-linux-gnu-gcc 11) #1 SMP\n\
                [    1.790171] clocksource: Switched to clocksource tsc\n\
                [   15.200000] EXT4-fs (sda1): mounted filesystem with ordered data mode\n";
    let text =
        TRACKING.replace("{time}", "3.98 seconds fast").replace("{rate}", "74443.312 ppm fast");
    let report = why(&format!("{boot}{text}"));
    assert!(!report.headline.contains("Nothing to fix"), "{}", report.headline);
}

fn shown(universal: &str, rtc: &str, rest: &str) -> Report {
    why(&format!(
        "$ timedatectl\n\
         \x20              Local time: {universal} UTC\n\
         \x20          Universal time: {universal} UTC\n\
         \x20                RTC time: {rtc}\n\
         \x20               Time zone: UTC (UTC, +0000)\n{rest}"
    ))
}

#[test]
fn a_real_time_clock_days_away_is_named_on_any_machine() {
    let yes = "System clock synchronized: yes\n              NTP service: active\n";
    let report = shown("Tue 2026-08-11 10:24:57", "Mon 2026-08-17 10:47:28", yes);
    let (state, summary) = wall(&report);
    assert_eq!(state, WallState::Unknown, "{summary}");
    assert!(summary.contains("6.0 days behind"), "{summary}");
    assert!(report.wall_clock.unwrap().behind_s.is_some_and(|s| s > 500_000.0));
    // In local time, and a drift of minutes.
    for rtc in ["Tue 2026-08-11 12:24:58", "Tue 2026-08-11 10:29:00"] {
        let report = shown("Tue 2026-08-11 10:24:57", rtc, yes);
        assert_eq!(wall(&report).0, WallState::Synchronised, "{rtc}");
    }
}

#[test]
fn the_service_that_timedatectl_shows_is_used() {
    let time = "Tue 2026-08-11 10:24:57";
    for (service, word) in [("inactive", "is not active"), ("active", "is active, but has not")] {
        let rest = format!("System clock synchronized: no\n              NTP service: {service}\n");
        let (state, summary) = wall(&shown(time, time, &rest));
        assert_eq!(state, WallState::Unsynchronised);
        assert!(summary.contains(word) && !summary.contains("may correct it"), "{summary}");
    }
    let rest = "System clock synchronized: no\n\
                $ journalctl -u chronyd\n\
                Mar 29 05:08:55 host chronyd[741]: Selected source 192.0.2.1\n";
    let (state, summary) = wall(&shown(time, time, rest));
    assert_eq!(state, WallState::Unknown);
    assert!(summary.contains("according to its log, chronyd follows a source"), "{summary}");
}

#[test]
fn corrections_in_logs_are_read() {
    let report = why("Sep 19 04:20:34 pc chronyd[329]: System clock wrong by 124.099253 seconds\n\
         Sep 19 08:09:19 pc chronyd[329]: System clock wrong by 63297.185604 seconds\n");
    let (state, summary) = wall(&report);
    assert_eq!(state, WallState::Unknown);
    assert!(summary.contains("17.6 h behind") && summary.contains("worst of 2"), "{summary}");
    let report =
        why("chronyd[1]: System clock wrong by 31939.769192 seconds, adjustment started\n\
         chronyd[1]: System clock was stepped by 31939.769192 seconds\n");
    assert!(wall(&report).1.contains(", and set it"), "{}", wall(&report).1);
    let step = report.wall_clock.unwrap().last_step.unwrap();
    assert!((step.by_ms - 31_939_769.192).abs() < 1.0);
    // A step belongs to its finding, and a source that is followed since is no question to the daemon.
    let report =
        why("h chronyd[7]: System clock wrong by -3600.250000 seconds, adjustment started\n\
         h chronyd[7]: System clock was stepped by -3600.250000 seconds\n\
         h chronyd[7]: Can't synchronise: no selectable sources\n\
         h chronyd[7]: Selected source 192.0.2.1\n\
         h chronyd[7]: System clock wrong by 1.500000 seconds, adjustment started\n\
         h chronyd[7]: Selected source 192.0.2.2\n");
    let summary = wall(&report).1;
    assert!(
        summary.contains("worst of 2 such findings, and set it; the last one found 1.5 s behind"),
        "{summary}"
    );
    assert!(summary.contains("follows a source"), "{summary}");
    let warns = |report: &Report| {
        report.causes.iter().any(|cause| {
            cause.id == CauseId::WallClockUnsynchronised && cause.severity >= Severity::Warning
        })
    };
    assert!(!warns(&report) && report.remedies.is_empty(), "{:#?}", report.remedies);
    let open = why("h chronyd[7]: Selected source 192.0.2.1\n\
         h chronyd[7]: System clock wrong by 1.500000 seconds, adjustment started\n");
    assert!(warns(&open), "{:#?}", open.causes);
    // A query sets nothing.
    let report = why("# ntpdate -q 192.0.2.1\n\
         server 192.0.2.1, stratum 2, offset 7.578599, delay 0.04713\n\
         5 Jun 17:08:58 ntpdate[15558]: step time server 192.0.2.1 offset 7.508745 sec\n");
    assert!(wall(&report).1.contains("no line says that it was set"), "{}", wall(&report).1);
    let report = why("Nov 18 17:37:18 host ntpd[1058]: synchronisation lost\n");
    assert_eq!(wall(&report).0, WallState::Unsynchronised);
}

#[test]
fn figures_that_are_there_are_not_asked_for() {
    let log = "[    0.000000] Linux version 5.4.0 (b@h) (x86_64-linux-gnu-gcc 9) #1 SMP\n\
        [   10.100000] clocksource: timekeeping watchdog on CPU1: Marking clocksource 'tsc' as unstable because the skew is too large:\n\
        [   10.100000] clocksource:                       'hpet' wd_now: 1000000 wd_last: 93b0e0 mask: ffffffff\n\
        [   10.100000] clocksource:                       'tsc' cs_now: 4ab17f4e0 cs_last: 452b8b2c0 mask: ffffffffffffffff\n\
        [   10.100000] tsc: Marking TSC unstable due to clocksource watchdog\n\
        [   10.110000] clocksource: Switched to clocksource hpet\n";
    let asks = |report: &Report| {
        report.causes.iter().any(|cause| cause.summary.contains("by the frequency that chronyc"))
    };
    assert!(asks(&why(log)), "{:#?}", why(log).causes);
    let text =
        TRACKING.replace("{time}", "0.000003 seconds fast").replace("{rate}", "12.863 ppm slow");
    let given = why(&format!("{log}{text}"));
    assert!(!asks(&given));
    assert!(given.causes.iter().any(|cause| cause.summary.contains("+12.9 ppm")));
}

/// Each finding cites its line, however far apart the lines are.
#[test]
fn evidence_is_the_line_that_says_it() {
    let cited = |text: &str, words: &str| -> Vec<String> {
        let report = why(text);
        let all = report.causes.iter().flat_map(|cause| &cause.evidence);
        all.filter(|one| one.text.contains(words)).map(|one| one.source.clone()).collect()
    };
    let log = "May 12 23:31:45 a chronyd[648]: Selected source 192.0.2.1 (pool.example)\n\
               May 12 23:33:38 a chronyd[648]: Can't synchronise: no selectable sources\n";
    assert_eq!(cited(log, "chronyd follows no source"), ["text:2"]);
    let ntpd = "May 12 23:31:45 a ntpd[648]: synchronized to 192.0.2.1, stratum 2\n\
                May 12 23:33:38 a ntpd[648]: synchronisation lost\n";
    assert_eq!(cited(ntpd, "ntpd follows no source"), ["text:2"]);
    let tables = "$ chronyc tracking\n\
                  Reference ID    : 00000000 ()\n\
                  Stratum         : 0\n\
                  Leap status     : Not synchronised\n\n\
                  $ chronyc sources\n\
                  MS Name/IP address         Stratum Poll Reach LastRx Last sample\n\
                  ===============================================================================\n\
                  ^? 192.0.2.5                     0   7     0     -     +0ns[   +0ns] +/-    0ns\n";
    assert_eq!(cited(tables, "the only source of chronyd does not answer"), ["text:9"]);
    let far = tracking("2.000000000 seconds slow", "12.863 ppm slow");
    let lines: Vec<&str> = far
        .causes
        .iter()
        .flat_map(|cause| &cause.evidence)
        .filter(|one| one.text.contains("offset"))
        .map(|one| one.source.as_str())
        .collect();
    assert_eq!(lines, ["text:4"]);
}
