//! What is said of lines that show a state or a refusal of a program: no sentence contradicts a likely cause, and no advice repeats
//! a command that failed.
#![allow(clippy::unwrap_used)]

use crate::common::pasted;
use clocksmith_diagnose::{CauseId, Confidence, Report};

fn said(report: &Report) -> &str {
    &report.wall_clock.as_ref().unwrap().summary
}

const NOT_SHOWN: &str = "is not in this evidence";

#[test]
fn a_likely_cause_is_not_contradicted() {
    for text in [
        "506 Cannot talk to daemon\n",
        "Feb 17 20:51:24 a systemd-timesyncd[412]: Timed out waiting for reply from 192.0.2.1:123 (ntp.example).\n",
    ] {
        let report = pasted(text);
        let is_likely = report.causes.iter().any(|cause| {
            cause.id == CauseId::WallClockUnsynchronised && cause.confidence >= Confidence::Medium
        });
        assert!(is_likely && !said(&report).contains(NOT_SHOWN), "{}", said(&report));
    }
    // A possible cause leaves it open.
    let refused = pasted("Fatal error : adjtimex(0x8001) failed : Operation not permitted\n");
    assert!(said(&refused).contains(NOT_SHOWN), "{}", said(&refused));
}

#[test]
fn a_command_that_failed_is_neither_advised_nor_asked_for() {
    let report = pasted("$ chronyc sources -v\n506 Cannot talk to daemon\n");
    let commands: Vec<&String> =
        report.remedies.iter().flat_map(|remedy| &remedy.commands).collect();
    let asked = &report.wall_clock.as_ref().unwrap().settles;
    assert!(commands.iter().any(|command| *command == "systemctl status chronyd"), "{commands:?}");
    assert!(!commands.iter().any(|command| command.contains("chronyc")), "{commands:?}");
    assert!(!asked.iter().any(|one| one.how.contains("chronyc")), "{asked:?}");
}

#[test]
fn a_capability_within_bounds_leaves_the_profile() {
    let refused = "Fatal error : adjtimex(0x8001) failed : Operation not permitted\n";
    let bounded = format!("prctl(PR_CAPBSET_READ, CAP_SYS_TIME)    = 1\n{refused}");
    assert!(said(&pasted(&bounded)).contains("although CAP_SYS_TIME is in the bounding set"));
    assert!(said(&pasted(refused)).contains("it lacks CAP_SYS_TIME"));
}

#[test]
fn a_device_that_alone_was_tried_exists() {
    let failed = "hwclock: Cannot access the Hardware Clock via any known method.\n";
    let one = format!("Trying to open: /dev/rtc0\n{failed}");
    assert!(said(&pasted(&one)).contains("the device exists"), "{}", said(&pasted(&one)));
    let three = format!("Trying to open: /dev/rtc0\nTrying to open: /dev/rtc\n{failed}");
    for text in [three.as_str(), failed] {
        assert!(said(&pasted(text)).contains("no real-time clock"), "{text}");
    }
}

#[test]
fn answers_of_a_server_say_how_far_off_the_clock_is() {
    let text = "reply from ntpserver: offset -0.000043 delay 0.000170, next query 30s\n\
                reply from ntpserver: offset -0.000035 delay 0.000204, next query 34s\n";
    let report = pasted(text);
    let said = said(&report);
    assert!(said.contains("35 us off, by the largest 43 us"), "{said}");
    assert!(!report.causes.iter().any(|cause| cause.id == CauseId::WallClockUnsynchronised));
}

#[test]
fn a_demotion_lasts_until_the_next_boot() {
    let text = "[31605.325166] clocksource: timekeeping watchdog on CPU3: Marking clocksource 'tsc' as unstable because the skew is \
                too large:\n\
                [31605.329943] clocksource:                       'hpet' wd_now: 9e9e634a wd_last: 9d74a017 mask: ffffffff\n\
                [31605.331735] clocksource:                       'tsc' cs_now: 56e68629b5a5 cs_last: 56e578fe5588 mask: \
                ffffffffffffffff\n\
                [31605.340000] clocksource: Switched to clocksource hpet\n";
    let report = pasted(text);
    let reboot = report.remedies.iter().find(|remedy| remedy.id == "reboot-to-restore");
    let reboot = reboot.filter(|remedy| remedy.refused_because.is_none()).unwrap();
    assert!(reboot.summary.contains("until the watchdog demotes it"), "{}", reboot.summary);
    // A TSC that is at fault is as wrong after the next boot.
    let warp = format!(
        "{text}[31606.0] x: y\n[31607.000000] TSC synchronization [CPU#0 -> CPU#1]:\n[31607.000001] Measured 4000 cycles TSC warp between CPUs, turning off TSC clock.\n"
    );
    assert!(!pasted(&warp).remedies.iter().any(|remedy| remedy.id == "reboot-to-restore"));
}

#[test]
fn a_daemon_that_synchronises_is_not_asked_why_it_does_not() {
    let text = "               Local time: Tue 2019-08-13 11:24:57 WEST\n           Universal time: Tue 2019-08-13 10:24:57 UTC\n\
                \x20                RTC time: Mon 2019-08-19 10:47:28\n                Time zone: Europe/Lisbon (WEST, +0100)\n\
                System clock synchronized: yes\n              NTP service: active\n          RTC in local TZ: no\n\n\
                E: Release file for http://security.example/InRelease is not valid yet (invalid for another 5d 21h 19min 52s). Updates \
                for this repository will not be applied.\n";
    let report = pasted(text);
    let asks = |remedy: &&clocksmith_diagnose::Remedy| remedy.id == "wall-ask-the-daemon";
    assert!(report.remedies.iter().find(asks).is_none(), "{:?}", report.remedies);
    assert!(report.remedies.iter().any(|remedy| remedy.id == "wall-start-a-daemon"));
}

#[test]
fn the_first_of_a_list_is_an_open_clocksource() {
    const DIR: &str = "/sys/devices/system/clocksource/clocksource0";
    let listed = format!(
        "$ uname -a\nLinux a 6.1.0-9-amd64 #1 SMP x86_64 GNU/Linux\n$ cat {DIR}/available_clocksource\nhpet acpi_pm\n"
    );
    let report = pasted(&listed);
    assert_eq!(report.clocksource.current.as_deref(), Some("hpet"), "{}", report.headline);
    assert!(report.is_clocksource_open());
    let read = pasted(&format!("{listed}$ cat {DIR}/current_clocksource\nhpet\n"));
    assert!(!read.is_clocksource_open());
}
