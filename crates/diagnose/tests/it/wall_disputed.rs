//! A wall clock that a source keeps and other figures of the same text contradict, or only bound.
#![allow(clippy::unwrap_used)]

use clocksmith_diagnose::wall::WallState;
use clocksmith_diagnose::{CauseId, Measured, Report, assess};
use clocksmith_facts::Facts;
use clocksmith_facts::log::KernelLog;
use clocksmith_facts::paste::{self, Pasted};

fn why(text: &str) -> Report {
    let mut facts = Facts::from_log(KernelLog::scan(text.as_bytes(), "text").unwrap());
    let lines = paste::lines(text.as_bytes(), "text").unwrap();
    Pasted::read(&lines, "text").complete(&mut facts);
    assess(facts, Measured::default()).report
}

fn state(report: &Report) -> (WallState, &str) {
    let wall = report.wall_clock.as_ref().unwrap();
    (wall.state, &wall.summary)
}

fn is_faulty(report: &Report) -> bool {
    report.causes.iter().any(|cause| cause.id == CauseId::WallClockUnsynchronised)
}

#[test]
fn source_that_chronyd_selects_and_rejects_does_not_show_a_synchronised_clock() {
    let selected = "Nov 11 21:56:32 unu chronyd[379]: Selected source GPS\n";
    let rejected = "Nov 11 21:56:40 unu chronyd[379]: Detected falseticker GPS\n";
    for text in
        [format!("{selected}{rejected}"), format!("{rejected}{selected}{rejected}{selected}")]
    {
        let report = why(&text);
        let (state, said) = state(&report);
        assert_eq!(state, WallState::Unknown, "{said}");
        assert!(said.contains("rejects it again") && is_faulty(&report), "{said}");
        assert!(!report.headline.contains("is synchronised"), "{}", report.headline);
    }
    assert_eq!(state(&why(selected)).0, WallState::Synchronised);
}

#[test]
fn source_that_all_other_servers_contradict_does_not_show_a_synchronised_clock() {
    let table = "$ chronyc sources\n\
        MS Name/IP address         Stratum Poll Reach LastRx Last sample\n\
        ===============================================================================\n\
        #* GPS                           0   4   377    12  -1806us[-1922us] +/-  452us\n\
        ^? time.example                  2   6   377    42    -70ms[  -69ms] +/-   21ms\n\
        ^? lax.example                   2   6   377    43    -59ms[  -59ms] +/-   36ms\n\
        ^? 192.0.2.7                     0   6     0     -     +0ns[   +0ns] +/-    0ns\n";
    let report = why(table);
    let (seen, said) = state(&report);
    assert_eq!(seen, WallState::Unknown, "{said}");
    assert!(said.contains("all 2 servers") && said.contains("59 ms to 70 ms slow"), "{said}");
    let agree =
        table.replace("-70ms[  -69ms]", "-2ms[  -2ms]").replace("-59ms[  -59ms]", "-3ms[  -3ms]");
    assert_eq!(state(&why(&agree)).0, WallState::Synchronised);
}

#[test]
fn bound_of_an_error_is_no_error() {
    let tracking = "$ chronyc tracking\nReference ID    : C0000201 (ntp.example)\n\
        System time     : 0.000000000 seconds slow of NTP time\nFrequency       : 0.000 ppm slow\n\
        Residual freq   : +5.205 ppm\nSkew            : 1000000.000 ppm\n\
        Root dispersion : 3849.691650391 seconds\nLeap status     : Normal\n";
    let report = why(tracking);
    let (seen, said) = state(&report);
    assert_eq!(seen, WallState::Unknown, "{said}");
    assert!(!said.contains("is wrong, although") && said.contains("up to 64 min"), "{said}");
    assert!(said.contains("above 16 s"), "{said}");
    let old = why(&tracking.replace("1000000.000 ppm", "0.100 ppm"));
    assert!(state(&old).1.contains("has not answered for a long time"), "{}", state(&old).1);
    let off = why(&tracking.replace("0.000000000 seconds slow", "12.5 seconds slow"));
    assert!(
        state(&off).1.contains("The wall clock is wrong")
            || state(&off).1.contains("the wall clock is wrong"),
        "{}",
        state(&off).1
    );
}

#[test]
fn timesyncd_without_a_server_has_asked_nobody() {
    let text = "$ timedatectl timesync-status\n       Server: n/a (n/a)\nPoll interval: 0 (min: 32s; max 34min 8s)\n Packet count: 0\n";
    let report = why(text);
    assert!(state(&report).1.contains("asked no server"), "{}", state(&report).1);
}

#[test]
fn real_time_clock_that_stands_still_has_nothing_to_do_with_the_hpet() {
    let still = why("hwclock: Timed out waiting for time change.\n");
    let said = state(&still).1;
    assert!(
        said.contains("did not change") && !said.contains("taken over its interrupt"),
        "{said}"
    );
    let tick = why("hwclock: select() to /dev/rtc0 to wait for clock tick timed out\n");
    assert!(state(&tick).1.contains("interrupt did not come"), "{}", state(&tick).1);
}

#[test]
fn slow_clock_beside_fast_ones_in_a_table_says_nothing_of_the_clocksource() {
    let row = |id: &str, ns: f64| {
        format!(
            "Clock ID {id}, resolution 1.000000 ns\n2774342 calls of clock_gettime() per second, {ns} ns per call\n\n"
        )
    };
    let text = row("CLOCK_REALTIME", 40.1)
        + &row("CLOCK_MONOTONIC", 41.8)
        + &row("CLOCK_MONOTONIC_RAW", 360.4)
        + &row("CLOCK_BOOTTIME", 377.2);
    let report = why(&text);
    assert!(!report.headline.contains("bypass the vDSO"), "{}", report.headline);
    let raw = report.symptoms.iter().find(|one| one.says.contains("RAW")).unwrap();
    assert!(raw.proves.contains("5.3"), "{raw:?}");
}
