//! `who` on a program that `run` has started: its reads are counted correctly, and it gets no advice to run as it
//! already runs.
#![cfg(all(feature = "who", target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may end where something is missing")]

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

fn build(dir: &Path) -> Option<String> {
    let program = dir.join("reads");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/who_run/reads.c");
    let built = Command::new("cc").args(["-O1", "-o"]).arg(&program).arg(source).status();
    if !built.is_ok_and(|status| status.success()) {
        eprintln!("skipped: no cc");
        return None;
    }
    Some(program.to_str().unwrap().to_owned())
}

/// Watches the program under `run` for a part of its life; its own count of reads in a second of CPU time, and the document.
fn watched(run: &[&str]) -> Option<(f64, Value)> {
    let dir = tempfile::tempdir().unwrap();
    let program = build(dir.path())?;
    let child = Command::new(env!("CARGO_BIN_EXE_clocksmith"))
        .arg("run")
        .args(run)
        .args(["--", &program, "3"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Until it is the program.
    let comm = format!("/proc/{}/comm", child.id());
    for _ in 0..300 {
        match std::fs::read_to_string(&comm) {
            Ok(name) if name.trim() == "reads" => break,
            _ => std::thread::sleep(Duration::from_millis(10)),
        }
    }
    let who = Command::new(env!("CARGO_BIN_EXE_clocksmith"))
        .args(["who", "--json", "--duration", "1s", "-p", &child.id().to_string()])
        .output()
        .unwrap();
    let out = child.wait_with_output().unwrap();
    let (text, refused) =
        (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    let words: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [reads, seconds] = words[..] else {
        eprintln!("skipped: {refused}");
        return None;
    };
    let why = String::from_utf8_lossy(&who.stderr);
    if who.stdout.is_empty() && why.contains("perf_event") {
        eprintln!("skipped: {why}");
        return None;
    }
    Some((reads / seconds, serde_json::from_slice(&who.stdout).unwrap_or_else(|_| panic!("{why}"))))
}

fn judge(run: &[&str], clock: &str) {
    let Some((did, document)) = watched(run) else { return };
    // The truth is of the program's whole life, and in CPU time, of which it had more or less from second to second.
    let of = |pointer: &str| document.pointer(pointer).and_then(Value::as_f64).unwrap();
    let did = did * of("/totals/cpu_seconds") / of("/method/seconds");
    let found = &document["totals"]["reads_per_second_interval"];
    let [low, value, high] = ["low", "value", "high"].map(|end| found[end].as_f64().unwrap());
    assert_eq!(document["totals"]["reads_per_second"].as_f64(), Some(value));
    assert!(
        (low / 1.5..high * 1.5).contains(&did),
        "{run:?}: {did} reads/s, said {found}: {document:#}"
    );
    // A read of a few nanoseconds overlaps with the instructions around it; others are not that uncertain. A busy machine gives
    // few samples, and with a few dozen of them each end of an interval is as far off as their number may be.
    let root = of("/totals/read_samples").sqrt();
    let cost = if clock == "coarse" { 9.0 } else { 1.5 };
    let is_narrow = high / low < cost * (root + 3.0) / (root - 3.0);
    assert!(root < 5.0 || is_narrow, "{run:?}: {found}, {root} squared samples");
    let rows = document["rows"].as_array().unwrap();
    let of = |key: &str, value: &str| -> f64 {
        let rows = rows.iter().filter(|row| row[key] == value);
        rows.filter_map(|row| row["share_of_reads"]["value"].as_f64()).sum()
    };
    assert!(of("path", "clocksmith_run") > 0.95, "{run:?}: {rows:#?}");
    // Without a hit of a breakpoint no clock is named. A few hits may all be of the other clock, of which one read in ten is.
    let monotonic = rows.iter().find(|row| row["clock"] == "CLOCK_MONOTONIC");
    match document["method"]["hits"].as_u64().unwrap() {
        0 => assert!(monotonic.is_none(), "{rows:#?}"),
        1..10 => {}
        _ => assert!(monotonic.is_some(), "{rows:#?}"),
    }
    if let Some(monotonic) = monotonic {
        let share = |end: &str| monotonic["share_of_reads"][end].as_f64().unwrap();
        let held = (share("low") - 0.07..share("high") + 0.07).contains(&0.9);
        assert!(held, "{run:?}: {rows:#?}");
    }
    let functions = document["functions"].as_array().unwrap();
    assert_eq!(functions[0]["function"], "often", "{functions:#?}");
    for remedy in document["remedies"].as_array().unwrap() {
        let id = remedy["id"].as_str().unwrap();
        assert!(!["fix-clocksource", "run-on-fast-clock"].contains(&id), "{run:?}: {id}");
    }
    assert_eq!(document["processes"][0]["own_clock"], clock);
}

#[test]
fn who_of_a_program_with_a_slow_clock_counts_its_reads() {
    judge(&["--as", "20us"], "slow");
    judge(&["--as", "+1us"], "slow");
}

#[test]
fn who_of_a_program_on_the_fast_clock_gives_no_advice_to_run_it() {
    judge(&["--source", "disciplined"], "disciplined");
}

#[test]
fn who_of_a_program_with_a_coarse_clock_counts_its_reads() {
    judge(&["--source", "coarse"], "coarse");
}
