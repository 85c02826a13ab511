//! What people type who meet the program for the first time: the wrong kind of file, another tool's options, a bundle in
//! place of a log.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic)]

use serde_json::Value;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const LOG: &str = "\
[    0.000000] Linux version 6.1.0-13-amd64 (debian-kernel@lists.debian.org)
[    0.000000] Command line: root=/dev/vda1 clocksource=hpet
[    1.000000] clocksource: hpet: mask: 0xffffffff max_cycles: 0xffffffff, max_idle_ns: 19112604467 ns
[    2.000000] clocksource: Switched to clocksource hpet
";

fn clocksmith(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_clocksmith"))
        .args(words)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

fn out(ran: &Output) -> String {
    String::from_utf8(ran.stdout.clone()).unwrap()
}

fn said(ran: &Output) -> String {
    String::from_utf8(ran.stderr.clone()).unwrap()
}

fn file(dir: &Path, name: &str, content: &str) -> String {
    let path = dir.join(name);
    std::fs::write(&path, content).unwrap();
    path.to_str().unwrap().to_owned()
}

/// A mirror of a machine, with or without its kernel log.
fn mirror(dir: &Path, log: Option<&str>) -> String {
    let root = dir.join("root");
    let sysfs = root.join("sys/devices/system/clocksource/clocksource0");
    std::fs::create_dir_all(&sysfs).unwrap();
    std::fs::create_dir_all(root.join("proc")).unwrap();
    std::fs::write(sysfs.join("current_clocksource"), "tsc\n").unwrap();
    std::fs::write(sysfs.join("available_clocksource"), "tsc hpet acpi_pm\n").unwrap();
    std::fs::write(root.join("proc/version"), "Linux version 6.1.0-13-amd64 (a@b)\n").unwrap();
    if let Some(log) = log {
        std::fs::write(root.join("dmesg"), log).unwrap();
    }
    root.to_str().unwrap().to_owned()
}

#[test]
fn bundle_is_read_as_one_whichever_option_names_it() {
    let dir = tempfile::tempdir().unwrap();
    let root = mirror(dir.path(), None);
    let bundle = dir.path().join("b.tar.gz").to_str().unwrap().to_owned();
    let ran = clocksmith(&["collect", "--root", &root, "-o", &bundle]);
    assert!(ran.status.success(), "{}", said(&ran));
    assert!(!out(&ran).contains("kernel log,"), "{}", out(&ran));
    let wanted = out(&clocksmith(&["why", "--bundle", &bundle]));
    assert!(wanted.contains("tsc hpet acpi_pm"), "{wanted}");
    assert_eq!(out(&clocksmith(&["why", &bundle])), wanted);
    assert_eq!(out(&clocksmith(&["why", "--log", &bundle])), wanted);
    let predicted = out(&clocksmith(&["predict", "--bundle", &bundle]));
    assert_eq!(out(&clocksmith(&["predict", "--log", &bundle])), predicted);
    let piped = |words: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_clocksmith"))
            .args(words)
            .stdin(File::open(&bundle).unwrap())
            .output()
            .unwrap()
    };
    assert_eq!(out(&piped(&["why", "--bundle", "-"])), wanted);
    let ran = piped(&["why", "-"]);
    assert_eq!(ran.status.code(), Some(2));
    assert!(said(&ran).contains("`clocksmith why --bundle -`"), "{}", said(&ran));
}

#[test]
fn packed_log_is_still_a_log() {
    let dir = tempfile::tempdir().unwrap();
    let log = file(dir.path(), "a.log", LOG);
    let tar = dir.path().join("a.tar").to_str().unwrap().to_owned();
    let packed =
        Command::new("tar").args(["-cf", &tar, "-C"]).arg(dir.path()).arg("a.log").status();
    assert!(packed.unwrap().success());
    let text = out(&clocksmith(&["why", "-q", &log]));
    assert_eq!(out(&clocksmith(&["why", "-q", &tar])), text);
    let ran = clocksmith(&["why", "--bundle", &log]);
    assert!(said(&ran).contains("`clocksmith why FILE` reads a log"), "{}", said(&ran));
}

#[test]
fn collect_says_what_is_in_the_bundle_and_takes_no_directory() {
    let dir = tempfile::tempdir().unwrap();
    let root = mirror(dir.path(), Some(LOG));
    let bundle = dir.path().join("b.tar.gz").to_str().unwrap().to_owned();
    let ran = clocksmith(&["collect", "--root", &root, "-o", &bundle]);
    assert!(out(&ran).contains("It contains the kernel log,"), "{}", out(&ran));
    let ran = clocksmith(&["collect", "-o", dir.path().to_str().unwrap()]);
    assert_eq!(ran.status.code(), Some(2));
    assert!(said(&ran).contains("is a directory: name a file in it"), "{}", said(&ran));
    assert!(!said(&ran).contains("remove"), "{}", said(&ran));
    let ran = clocksmith(&["collect", "--no-measure", "-o", "/no/such/b.tar.gz"]);
    assert_eq!(said(&ran).matches("/no/such/b.tar.gz").count(), 1, "{}", said(&ran));
}

#[test]
fn errors_of_the_system_have_no_numbers() {
    let ran = clocksmith(&["run", "--", "/no/such/program"]);
    assert_eq!(ran.status.code(), Some(127));
    assert_eq!(said(&ran), "clocksmith: /no/such/program: No such file or directory\n");
}

#[test]
fn logs_and_reports_are_no_configurations() {
    let dir = tempfile::tempdir().unwrap();
    let log = file(dir.path(), "dmesg.txt", LOG);
    for verb in ["lint", "fix"] {
        let ran = clocksmith(&["vm", verb, &log]);
        assert_eq!(ran.status.code(), Some(2), "{}", out(&ran));
        assert!(said(&ran).contains("`clocksmith why "), "{}", said(&ran));
    }
    let report = out(&clocksmith(&["why", "--json", &log]));
    let report = file(dir.path(), "why.json", &report);
    assert_eq!(clocksmith(&["vm", "lint", &report]).status.code(), Some(2));
    let ran = clocksmith(&["vm", "lint", dir.path().to_str().unwrap()]);
    assert!(said(&ran).contains("no file of a known kind"), "{}", said(&ran));
}

#[test]
fn own_document_is_no_evidence() {
    let dir = tempfile::tempdir().unwrap();
    let log = file(dir.path(), "dmesg.txt", LOG);
    let document = out(&clocksmith(&["why", "--json", &log]));
    let headline = serde_json::from_str::<Value>(&document).unwrap()["headline"].clone();
    let path = file(dir.path(), "why.json", &document);
    let ran = clocksmith(&["why", &path]);
    assert_eq!(ran.status.code(), Some(2), "{}", out(&ran));
    assert!(said(&ran).contains(headline.as_str().unwrap()), "{}", said(&ran));
}

#[test]
fn explain_leads_from_a_file_to_the_verb_that_reads_it() {
    let dir = tempfile::tempdir().unwrap();
    let log = file(dir.path(), "dmesg.txt", LOG);
    let ran = clocksmith(&["explain", &log]);
    assert_eq!(ran.status.code(), Some(3));
    assert!(out(&ran).contains("To read that file: clocksmith why "), "{}", out(&ran));
    assert!(out(&clocksmith(&["explain", "-"])).contains("clocksmith why -"));
    assert!(!out(&clocksmith(&["explain", "frobnicate"])).contains("To read that file"));
}

#[test]
fn check_takes_the_options_of_monitoring_plugins_and_one_format() {
    let dir = tempfile::tempdir().unwrap();
    let root = mirror(dir.path(), None);
    let ran = clocksmith(&["check", "--root", &root, "-vvv", "--slow", "CRITICAL"]);
    assert_eq!(ran.status.code(), Some(0), "{}", out(&ran));
    let ran = clocksmith(&["check", "--root", &root, "--json", "--format", "prometheus"]);
    assert_eq!(ran.status.code(), Some(3));
    let document: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(document["state"], "unknown");
    assert!(said(&ran).contains("--json and --format prometheus"), "{}", said(&ran));
    let ran = clocksmith(&["check", "--root", &root, "--json", "--format", "json"]);
    assert_eq!(ran.status.code(), Some(0), "{}", said(&ran));
}

#[test]
fn watch_shows_an_address_that_it_takes() {
    for (given, port) in
        [(":9990", "9990"), ("localhost:9101", "9101"), ("9990", "9990"), ("x", "9988")]
    {
        let ran = clocksmith(&["watch", "--listen", given]);
        assert_eq!(ran.status.code(), Some(2));
        let wanted = format!("127.0.0.1:{port}, or 0.0.0.0:{port}");
        assert!(said(&ran).contains(&wanted), "{}", said(&ran));
    }
}
