//! `--every-clocksource` on files of our own, ended in every way: the clocksource is always put back.

use super::{bench, document, text};
use crate::signals::{send, with_default_signals};
use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);

fn files(current: &str, available: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("current_clocksource"), format!("{current}\n")).unwrap();
    fs::write(dir.path().join("available_clocksource"), format!("{available} \n")).unwrap();
    dir
}

fn current(dir: &Path) -> String {
    fs::read_to_string(dir.join("current_clocksource")).unwrap().trim().to_owned()
}

fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < PATIENCE, "{what} did not happen");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Starts a sweep and waits until another clocksource is in use.
fn in_the_middle(dir: &Path) -> Child {
    let directory = dir.to_str().unwrap();
    let mut command =
        bench(&["--json", "--every-clocksource", "--threads", "1", "--duration", "1s"]);
    let child = with_default_signals(&mut command)
        .args(["--clocksource-directory", directory])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for("the switch", || current(dir) == "hpet");
    child
}

#[test]
fn a_sweep_measures_each_and_puts_the_first_back() {
    let dir = files("tsc", "tsc hpet jiffies");
    let out = bench(&["--json", "--every-clocksource", "--threads", "1", "--duration", "1s"])
        .args(["--clocksource-directory", dir.path().to_str().unwrap()])
        .output()
        .unwrap();
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    assert_eq!(current(dir.path()), "tsc");
    let value = document(&out.stdout);
    let sources = value["clocksources"].as_array().unwrap();
    let names: Vec<&str> = sources.iter().map(|s| s["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["tsc", "hpet", "jiffies"]);
    assert!(sources[0]["ratio_to_original"]["ratio"] == 1.0);
    assert!(sources[2]["not_measured_because"].as_str().unwrap().contains("counts ticks"));
}

#[test]
fn killed_in_the_middle() {
    let dir = files("tsc", "tsc hpet acpi_pm");
    let mut child = in_the_middle(dir.path());
    send(&child, libc::SIGKILL);
    child.wait().unwrap();
    wait_for("the return of tsc", || current(dir.path()) == "tsc");
    // The guardian has the other end of this pipe; it ends when the guardian does.
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(said.contains("tsc is in use again"), "{said}");
}

#[test]
fn a_program_that_aborts_in_the_middle() {
    let dir = files("tsc", "tsc hpet acpi_pm");
    let mut child = in_the_middle(dir.path());
    // The effect of a panic in a release build.
    send(&child, libc::SIGABRT);
    child.wait().unwrap();
    wait_for("the return of tsc", || current(dir.path()) == "tsc");
}

#[test]
fn interrupted_in_the_middle_keeps_what_was_measured() {
    for wish in [libc::SIGINT, libc::SIGTERM] {
        let dir = files("tsc", "tsc hpet acpi_pm");
        let child = in_the_middle(dir.path());
        send(&child, wish);
        let out = child.wait_with_output().unwrap();
        assert_eq!(out.status.code(), Some(3), "{}", text(&out.stderr));
        assert_eq!(current(dir.path()), "tsc");
        let value = document(&out.stdout);
        assert_eq!(value["complete"], false);
        assert!(value["rows"].as_array().unwrap().iter().any(|r| r["distribution"].is_object()));
        assert!(value["clocksources"].as_array().unwrap().len() < 3);
    }
}

#[test]
fn what_cannot_be_put_back_is_not_left() {
    for (name, why) in [("tsc-early", "calibrating"), ("refined-jiffies", "does not return to it")]
    {
        let dir = files(name, "tsc hpet");
        let out = bench(&["--every-clocksource"])
            .args(["--clocksource-directory", dir.path().to_str().unwrap()])
            .output()
            .unwrap();
        assert_eq!(out.status.code(), Some(2));
        assert!(text(&out.stderr).contains(why), "{}", text(&out.stderr));
        assert_eq!(current(dir.path()), name);
    }
}
