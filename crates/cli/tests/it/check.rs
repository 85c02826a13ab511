//! `check` as monitoring systems run it: exit codes, the first line, every form.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::Path;
use std::process::Command;

struct Ran {
    code: i32,
    out: String,
}

fn check(args: &[&str]) -> Ran {
    let out =
        Command::new(env!("CARGO_BIN_EXE_clocksmith")).arg("check").args(args).output().unwrap();
    Ran { code: out.status.code().unwrap(), out: String::from_utf8(out.stdout).unwrap() }
}

/// A mirror of a machine with these clocksources, and this kernel log.
fn mirror(current: &str, available: &str, log: Option<&str>) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let sysfs = dir.path().join("sys/devices/system/clocksource/clocksource0");
    std::fs::create_dir_all(&sysfs).unwrap();
    std::fs::write(sysfs.join("current_clocksource"), format!("{current}\n")).unwrap();
    std::fs::write(sysfs.join("available_clocksource"), format!("{available}\n")).unwrap();
    std::fs::create_dir_all(dir.path().join("proc")).unwrap();
    let version = "Linux version 6.1.0-13-amd64 (debian-kernel@lists.debian.org)\n";
    std::fs::write(dir.path().join("proc/version"), version).unwrap();
    if let Some(log) = log {
        std::fs::write(dir.path().join("dmesg"), log).unwrap();
    }
    dir
}

fn on(dir: &Path, more: &[&str]) -> Ran {
    let args: Vec<&str> =
        ["--root", dir.to_str().unwrap()].into_iter().chain(more.iter().copied()).collect();
    let ran = check(&args);
    let first = ran.out.lines().next().unwrap_or_default().to_owned();
    if !more.contains(&"json") && !more.contains(&"prometheus") {
        assert!(first.chars().count() < 80, "{first}");
    }
    ran
}

const DEMOTED: &str = "\
[    0.000000] Linux version 6.1.0-13-amd64 (debian-kernel@lists.debian.org)
[    1.000000] clocksource: Switched to clocksource tsc
[   60.000000] clocksource: timekeeping watchdog on CPU1: Marking clocksource 'tsc' as unstable because the skew is too large:
[   60.000001] clocksource:                       'hpet' wd_nsec: 512000000 wd_now: 9c5d0440 wd_last: 9bf64291 mask: ffffffff
[   60.000002] clocksource:                       'tsc' cs_nsec: 522000000 cs_now: 2000000000 cs_last: 1fa2c7a680 mask: ffffffffffffffff
[   60.000003] tsc: Marking TSC unstable due to clocksource watchdog
[   60.000009] clocksource: Switched to clocksource hpet
";

#[test]
fn each_state_has_its_code_and_its_word() {
    let healthy = mirror("tsc", "tsc hpet acpi_pm", None);
    let fallen = mirror("hpet", "hpet acpi_pm", Some(DEMOTED));
    for (ran, code, word) in [
        (on(healthy.path(), &[]), 0, "OK"),
        (on(fallen.path(), &[]), 1, "WARNING"),
        (on(fallen.path(), &["--demoted", "critical"]), 2, "CRITICAL"),
        (on(fallen.path(), &["--slow", "ok", "--demoted", "ok"]), 0, "OK"),
        (on(healthy.path(), &["--expect", "kvm-clock,hyperv_clocksource_tsc_page"]), 2, "CRITICAL"),
        (on(healthy.path(), &["--expect", "kvm-clock,tsc"]), 0, "OK"),
        (on(healthy.path(), &["--warn-cost", "50"]), 3, "UNKNOWN"),
        (on(healthy.path(), &["-c", "50"]), 3, "UNKNOWN"),
        (on(healthy.path(), &["--timeout", "0"]), 3, "UNKNOWN"),
        (on(healthy.path(), &["--timeout", "100"]), 0, "OK"),
        (on(Path::new("/nonexistent"), &[]), 3, "UNKNOWN"),
    ] {
        assert_eq!(ran.code, code, "{}", ran.out);
        assert!(ran.out.starts_with(&format!("CLOCKSMITH {word} - ")), "{}", ran.out);
    }
    let line = on(fallen.path(), &["-q"]).out;
    // One interval, without the TSC's frequency, does not show which clock was wrong.
    assert_eq!(line, "CLOCKSMITH WARNING - hpet is slow (insufficient-evidence)\n");
}

/// On any machine, a read takes more than nothing, and less than a second.
#[test]
fn ranges_of_monitoring_plugins_are_those_of_the_read_cost() {
    let ok = check(&["-w", "1000000000", "-c", "~:1000000000"]);
    let warning = check(&["-w", "@0:1000000000"]);
    let critical = check(&["-w", "1", "--critical", "1000000000:"]);
    if ok.code == 3 || !ok.out.contains("clock_monotonic=") {
        eprintln!("skipped: reads cannot be measured here");
        return;
    }
    assert!(warning.out.contains("[WARNING] cost: "), "{}", warning.out);
    assert!(ok.out.contains("[OK] cost: ") && ok.out.contains("s;1;~:1;0"), "{}", ok.out);
    assert_eq!(critical.code, 2, "{}", critical.out);
    assert!(critical.out.contains("the range is 1000000000: ns"), "{}", critical.out);
}

#[test]
fn wrong_usage_is_unknown_and_not_critical() {
    for args in [&["--no-such-option"][..], &["--format", "xml"], &["-w", "cheap"], &["extra"]] {
        let ran = check(args);
        assert_eq!(ran.code, 3, "{args:?}");
        assert!(ran.out.starts_with("CLOCKSMITH UNKNOWN - usage: "), "{}", ran.out);
        assert!(ran.out.trim_end().chars().count() < 80);
    }
    assert_eq!(check(&["--help"]).code, 0);
}

/// Monitoring Plugins Development Guidelines, "Plugin Options": `-V` and `-h` are reserved, and a range may begin below zero.
#[test]
fn reserved_options_and_negative_ranges_are_those_of_the_guidelines() {
    for option in ["-V", "--version"] {
        let ran = check(&[option]);
        assert_eq!(ran.code, 0, "{}", ran.out);
        assert!(ran.out.trim_end().ends_with(env!("CARGO_PKG_VERSION")), "{}", ran.out);
    }
    let ran = check(&["-w", "-10:1000000000", "-c", "-1:"]);
    assert!(!ran.out.contains("usage"), "{}", ran.out);
}

#[test]
fn node_problem_detector_knows_three_codes() {
    let healthy = mirror("tsc", "tsc hpet acpi_pm", None);
    let fallen = mirror("hpet", "hpet acpi_pm", Some(DEMOTED));
    let npd = |dir: &Path, more: &[&str]| {
        let ran = on(dir, &[&["--format", "npd"], more].concat());
        assert_eq!(ran.out.lines().count(), 1);
        ran.code
    };
    assert_eq!(npd(healthy.path(), &[]), 0);
    assert_eq!(npd(fallen.path(), &[]), 1);
    assert_eq!(npd(fallen.path(), &["--slow", "critical"]), 1);
    assert_eq!(npd(Path::new("/nonexistent"), &[]), 3);
}

#[test]
fn tap_has_a_plan_and_a_line_for_each_point() {
    let fallen = mirror("hpet", "hpet acpi_pm", Some(DEMOTED));
    let out = on(fallen.path(), &["--format", "tap"]).out;
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[0], "TAP version 13");
    assert_eq!(lines[1], format!("1..{}", lines.len() - 2));
    assert!(lines.iter().any(|line| line.starts_with("not ok 3 - reads: hpet is slow")), "{out}");
    assert!(lines.iter().any(|line| line.starts_with("not ok 4 - demotion")), "{out}");
    let blind = on(Path::new("/nonexistent"), &["--format", "tap"]).out;
    assert!(blind.contains("# SKIP"), "{blind}");
}

#[test]
fn metrics_have_the_labels_of_node_exporter() {
    let fallen = mirror("hpet", "hpet acpi_pm", Some(DEMOTED));
    let out = on(fallen.path(), &["--format", "prometheus"]).out;
    for line in [
        "clocksmith_state 1",
        "clocksmith_clocksource_current_info{device=\"0\",clocksource=\"hpet\"} 1",
        "clocksmith_clocksource_available_info{device=\"0\",clocksource=\"acpi_pm\"} 1",
        "clocksmith_verdict{verdict=\"slow\"} 1",
        "clocksmith_cause_info{cause=\"tsc-skew\",severity=\"warning\"} 1",
        "clocksmith_kernel_log_readable 1",
    ] {
        assert!(out.lines().any(|found| found == line), "{line}\n{out}");
    }
}

#[test]
fn performance_data_follows_the_first_bar() {
    let out = check(&[]).out;
    let (text, data) = out.split_once(" | ").unwrap();
    assert!(!text.contains('|') && !data.contains('|'));
    let first = data.split_whitespace().next().unwrap();
    let value = first.strip_prefix("clock_monotonic=").unwrap().split('s').next().unwrap();
    assert!(value.parse::<f64>().unwrap() > 0.0, "{first}");
}
