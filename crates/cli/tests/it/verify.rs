//! `verify` on this machine: its document, its codes, its file, and the use that `why` makes of it. Nothing here
//! depends on the machine being good or idle.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::signals::{send, with_default_signals};
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Output};

fn run(args: &[&str], state: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_clocksmith"))
        .args(args)
        .env("XDG_STATE_HOME", state)
        .output()
        .unwrap()
}

fn valid(name: &str, text: &[u8]) -> Value {
    let value: Value = serde_json::from_slice(text).unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../schemas/{name}.json"));
    let schema = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(&value).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(value["schema"], name);
    value
}

fn is_code_of(value: &Value, out: &Output) -> bool {
    let code = match value["verdict"].as_str().unwrap() {
        "trusted" => 0,
        "not-trusted" => 1,
        _ => 3,
    };
    out.status.code() == Some(code)
}

#[test]
fn the_document_is_valid_and_the_code_is_that_of_the_verdict() {
    let dir = tempfile::tempdir().unwrap();
    let out = run(&["verify", "--json", "--duration", "700ms", "--no-save"], dir.path());
    let value = valid("clocksmith.verify.v1", &out.stdout);
    assert!(out.stdout.starts_with(b"{\n  \"schema\": \"clocksmith.verify.v1\""));
    assert!(is_code_of(&value, &out), "{value:#}");
    assert_eq!(value["kept"], Value::Null);
    for field in ["machine", "kernel", "method", "detectable", "pairs", "steps", "frequencies"] {
        assert!(value.get(field).is_some(), "{field}");
    }
    let cpus = value["method"]["cpus"].as_array().unwrap().len();
    assert_eq!(value["pairs"].as_array().unwrap().len(), cpus * (cpus - 1) / 2);
    assert!(value["method"]["seconds"].as_f64().unwrap() < 10.0);
}

#[test]
fn the_text_fits_into_80_columns() {
    let dir = tempfile::tempdir().unwrap();
    let out = run(&["verify", "--duration", "500ms", "--no-save"], dir.path());
    let text = String::from_utf8(out.stdout).unwrap();
    assert!(text.contains("detectable"), "{text}");
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{line:?}");
    }
    let out = run(&["verify", "--duration", "200ms", "--no-save", "--quiet"], dir.path());
    assert!(String::from_utf8(out.stdout).unwrap().lines().count() <= 3);
}

#[test]
fn one_processor_has_no_pairs() {
    let dir = tempfile::tempdir().unwrap();
    let args = ["verify", "--json", "--duration", "300ms", "--no-save", "--cpus", "0"];
    let value = valid("clocksmith.verify.v1", &run(&args, dir.path()).stdout);
    assert_eq!(value["pairs"], json!([]));
    let several = value["method"]["machine_cpus"].as_array().unwrap().len() > 1;
    assert_eq!(value["method"]["partial"], several, "{value:#}");
    if several && value["verdict"] == "trusted" {
        assert_eq!(value["confidence"], "low");
        assert!(value["headline"].as_str().unwrap().contains("on CPUs 0 of 0"), "{value:#}");
    }
}

#[test]
fn cpus_that_are_not_there_are_wrong_usage() {
    let dir = tempfile::tempdir().unwrap();
    let begun = std::time::Instant::now();
    for args in [
        &["verify", "--cpus", "65000", "--duration", "1m"][..],
        &["verify", "--cpus", "0-65000", "--duration", "1m"],
        &["bench", "--cpu", "65000"],
    ] {
        let out = run(args, dir.path());
        assert_eq!(out.status.code(), Some(2), "{args:?}");
        let error = String::from_utf8(out.stderr).unwrap();
        assert!(error.contains("--cpu") && error.contains("65000"), "{error}");
        assert!(out.stdout.is_empty());
    }
    // Before any measurement: a single one would take its whole minute.
    assert!(begun.elapsed() < std::time::Duration::from_secs(60));
}

#[test]
fn a_long_watch_has_a_line_for_each_round() {
    let dir = tempfile::tempdir().unwrap();
    let args = ["verify", "--json", "--soak", "--duration", "400ms", "--no-save"];
    let out = run(&args, dir.path());
    let lines: Vec<&[u8]> = out.stdout.split(|b| *b == b'\n').filter(|l| !l.is_empty()).collect();
    assert!(!lines.is_empty());
    for (round, line) in (1..).zip(lines) {
        assert_eq!(valid("clocksmith.verify.v1", line)["rounds"], round);
    }
}

/// The state of a user who is not root; root's lies at a place that tests leave alone.
#[test]
fn the_result_is_kept_for_why() {
    let dir = tempfile::tempdir().unwrap();
    if rustix::process::geteuid().is_root() {
        return;
    }
    let out = run(&["verify", "--json", "--duration", "300ms"], dir.path());
    let value = valid("clocksmith.verify.v1", &out.stdout);
    let path = dir.path().join("clocksmith/verify.json");
    assert_eq!(value["kept"], path.to_str().unwrap());
    let out = run(&["why", "--json", "--no-measure"], dir.path());
    let why = valid("clocksmith.why.v1", &out.stdout);
    assert_eq!(why["verified"]["verdict"], value["verdict"]);
    assert_eq!(why["verified"]["source"], path.to_str().unwrap());
}

/// A run on one CPU leaves a full result of this boot in its place; so it does not become a proof for
/// `run` and `fix`.
#[test]
fn partial_result_does_not_replace_a_full_one() {
    use std::os::unix::process::CommandExt;
    let dir = tempfile::tempdir().unwrap();
    let read = |path: &str| std::fs::read_to_string(path).unwrap();
    let online = read("/sys/devices/system/cpu/online");
    if !online.contains(['-', ',']) {
        return;
    }
    let mut full = result();
    full["boot_id"] = json!(read("/proc/sys/kernel/random/boot_id").trim());
    let uptime = read("/proc/uptime");
    full["uptime_s"] = json!(uptime.split('.').next().unwrap().parse::<u64>().unwrap());
    for field in ["verdict", "counter", "clocks"] {
        full[field] = json!("trusted");
    }
    full["findings"] = json!([]);
    let path = dir.path().join("clocksmith/verify.json");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, full.to_string()).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_clocksmith"));
    command.env("XDG_STATE_HOME", dir.path());
    command.args(["verify", "--json", "--duration", "300ms", "--cpus", "0"]);
    if rustix::process::geteuid().is_root() {
        // Root's result lies at a place that tests leave alone.
        for path in [dir.path(), path.parent().unwrap(), &path] {
            std::os::unix::fs::chown(path, Some(65_534), Some(65_534)).unwrap();
        }
        command.uid(65_534).gid(65_534);
    }
    let Ok(out) = command.output() else { return };
    let value = valid("clocksmith.verify.v1", &out.stdout);
    if value["verdict"] == "not-trusted" {
        return;
    }
    assert_eq!(value["kept"], Value::Null, "{value:#}");
    let why = value["not_kept"].as_str().unwrap();
    assert!(why.contains("tested more CPUs (") && why.contains("this one 0 of "), "{why}");
    assert_eq!(read(path.to_str().unwrap()), full.to_string());
}

#[test]
fn why_shows_which_cpus_were_tested() {
    let mut one = result();
    one["cpus"] = json!([0]);
    one["machine_cpus"] = json!([0, 1]);
    let dir = root_with(&one);
    let report = why(dir.path(), &[]);
    assert_eq!(report["verified"]["scope"], "0 of 0-1", "{report:#}");
    assert_eq!(report["verified"]["partial"], true);
    let text = run(&["why", "--root", dir.path().to_str().unwrap()], dir.path()).stdout;
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("verified    CPUs 0 of 0-1: not trusted"), "{text}");
}

/// A recorded boot in which `verify` found a fault ten minutes ago.
fn root_with(result: &Value) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let sys = "sys/devices/system/clocksource/clocksource0";
    write(&format!("{sys}/current_clocksource"), "tsc\n");
    write(&format!("{sys}/available_clocksource"), "tsc hpet acpi_pm\n");
    write("proc/version", "Linux version 6.1.0-18-amd64 (x) #1 SMP\n");
    write("proc/sys/kernel/random/boot_id", "b-1\n");
    write("proc/uptime", "1000.10 1.0\n");
    write("run/clocksmith/verify.json", &result.to_string());
    dir
}

fn result() -> Value {
    json!({
        "schema": "clocksmith.verify-result.v1", "version": "0", "boot_id": "b-1",
        "uptime_s": 400, "time_s": 1, "kernel": null, "machine": null, "clocksource": "tsc",
        "cpus": [0, 1], "verdict": "not-trusted", "confidence": "high",
        "counter": "not-trusted", "clocks": "not-trusted", "detectable_offset_ns": 90.0,
        "detectable_rate_ppm": 12.0, "detectable_jump_ns": 900.0,
        "findings": [{"id": "counter-offset", "fault": true, "summary": "counters are apart"}],
    })
}

fn why(root: &Path, more: &[&str]) -> Value {
    let args = [&["why", "--json", "--root", root.to_str().unwrap()], more].concat();
    valid("clocksmith.why.v1", &run(&args, root).stdout)
}

#[test]
fn a_fault_that_was_found_makes_time_untrustworthy() {
    let dir = root_with(&result());
    let report = why(dir.path(), &[]);
    assert_eq!(report["verdict"], "untrustworthy", "{report:#}");
    assert_eq!(report["causes"][0]["id"], "verify-found-fault");
    assert_eq!(report["causes"][0]["severity"], "critical");
    assert_eq!(report["verified"]["age_s"], 600);
    let text = run(&["why", "--root", dir.path().to_str().unwrap()], dir.path()).stdout;
    let text = String::from_utf8(text).unwrap();
    assert!(
        text.contains("verified    CPUs 0-1: not trusted (high confidence, offsets over 90 ns)"),
        "{text}"
    );

    // A bundle holds it too.
    let file = dir.path().join("bundle.tar.gz");
    let root = dir.path().to_str().unwrap();
    run(&["collect", "--root", root, "--output", file.to_str().unwrap()], dir.path());
    let out = run(&["why", "--json", "--bundle", file.to_str().unwrap()], dir.path());
    let bundled = valid("clocksmith.why.v1", &out.stdout);
    assert_eq!(bundled["verdict"], "untrustworthy");
    assert_eq!(bundled["verified"]["age_s"], 600);
}

#[test]
fn a_fault_of_a_counter_that_is_not_used_is_a_note() {
    let mut result = result();
    result["clocks"] = json!("trusted");
    result["clocksource"] = json!("hpet");
    let dir = root_with(&result);
    let sys = dir.path().join("sys/devices/system/clocksource/clocksource0/current_clocksource");
    std::fs::write(sys, "hpet\n").unwrap();
    let report = why(dir.path(), &[]);
    assert_ne!(report["verdict"], "untrustworthy", "{report:#}");
    let causes = report["causes"].as_array().unwrap();
    let cause = causes.iter().find(|cause| cause["id"] == "verify-found-fault").unwrap();
    assert_eq!(cause["severity"], "info");
}

#[test]
fn a_result_of_another_boot_and_an_old_one_are_not_used() {
    let mut other = result();
    other["boot_id"] = json!("b-0");
    let dir = root_with(&other);
    let report = why(dir.path(), &[]);
    assert_eq!(report["verified"], Value::Null);
    assert_ne!(report["verdict"], "untrustworthy");
    let dir = root_with(&result());
    std::fs::write(dir.path().join("proc/uptime"), "86800.00 1.0\n").unwrap();
    assert_eq!(why(dir.path(), &[])["verified"], Value::Null);
}

#[test]
fn a_trusted_result_changes_no_verdict() {
    let mut trusted = result();
    for field in ["verdict", "counter", "clocks"] {
        trusted[field] = json!("trusted");
    }
    trusted["findings"] = json!([]);
    let report = why(root_with(&trusted).path(), &[]);
    assert_ne!(report["verdict"], "untrustworthy");
    assert_eq!(report["verified"]["verdict"], "trusted");
}

#[test]
fn verify_says_how_long_each_cpu_was_watched_and_against_what_the_rate_was_held() {
    let dir = tempfile::tempdir().unwrap();
    let out = run(&["verify", "--json", "--duration", "1s", "--no-save"], dir.path());
    let value = valid("clocksmith.verify.v1", &out.stdout);
    assert_eq!(value["complete"], true);
    let cpus = value["method"]["cpus"].as_array().unwrap();
    let watched = value["watched"].as_array().unwrap();
    assert_eq!(watched.len(), cpus.len());
    let seconds = value["method"]["seconds"].as_f64().unwrap();
    for one in watched.iter().filter(|one| one["last_s"].is_number()) {
        assert!(one["first_s"].as_f64().unwrap() <= one["last_s"].as_f64().unwrap());
        assert!(
            one["last_s"].as_f64().unwrap() <= seconds && one["comparisons"].as_u64() > Some(0)
        );
    }
    // Without a reference nothing is claimed of the rate, and the clocks are not called trusted.
    if value["rate_reference"]["source"].is_null() && value["kernel"]["clocksource"] == "tsc" {
        assert_eq!(value["detectable"]["rate_ppm"], Value::Null);
        assert_ne!(value["clocks"], "trusted");
    }
}

#[test]
fn verify_require_high_is_more_than_trusted() {
    let dir = tempfile::tempdir().unwrap();
    let args = ["verify", "--json", "--duration", "300ms", "--no-save", "--require", "high"];
    let out = run(&args, dir.path());
    let value = valid("clocksmith.verify.v1", &out.stdout);
    let code = match (value["verdict"].as_str(), value["confidence"].as_str()) {
        (Some("trusted"), Some("high")) => 0,
        (Some("not-trusted"), _) => 1,
        _ => 3,
    };
    assert_eq!(out.status.code(), Some(code), "{value:#}");
    // On one CPU of several nothing is more than low.
    let one = [&args[..], &["--cpus", "0"]].concat();
    let several = value["method"]["machine_cpus"].as_array().unwrap().len() > 1;
    assert!(run(&one, dir.path()).status.code() == Some(3) || !several);
}

#[test]
fn verify_interrupted_says_what_there_is_and_keeps_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_clocksmith"));
    let mut child = with_default_signals(&mut command)
        .args(["verify", "--json", "--duration", "120s"])
        .env("XDG_STATE_HOME", dir.path())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_secs(3));
    assert!(send(&child, libc::SIGINT));
    let mut out = Vec::new();
    std::io::Read::read_to_end(child.stdout.as_mut().unwrap(), &mut out).unwrap();
    let status = child.wait().unwrap();
    let value = valid("clocksmith.verify.v1", &out);
    assert_eq!((value["complete"].as_bool(), status.code()), (Some(false), Some(3)), "{value:#}");
    assert!(value["headline"].as_str().unwrap().starts_with("Interrupted after"), "{value:#}");
    assert_eq!(value["kept"], Value::Null);
    assert!(value["method"]["seconds"].as_f64().unwrap() < 100.0);
}
