//! `--baseline`, `--starts`, `--only`, `--quick`: the comparison, and the exit codes.

use super::{document, run, text};
use serde_json::Value;
use std::time::{Duration, Instant};

const SHORT: [&str; 4] =
    ["--quick", "--json", "--only", "CLOCK_MONOTONIC,CLOCK_MONOTONIC_COARSE,rdtsc"];

#[test]
fn bench_quick_only_has_the_rows_that_were_named() {
    let begun = Instant::now();
    let out = run(&SHORT);
    // On an idle machine below 1.5 s; a busy one may take longer.
    assert!(begun.elapsed() < Duration::from_secs(60));
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    let value = document(&out.stdout);
    let rows = value["rows"].as_array().unwrap();
    let names: Vec<&str> = rows.iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 7, "{names:?}");
    assert!(names.contains(&"CLOCK_MONOTONIC/syscall") && names.contains(&"rdtsc/counter"));
    assert!(value["starts"].as_array().unwrap().is_empty() && value["noise"].is_object());
    let coarse = rows.iter().find(|row| row["name"] == "CLOCK_MONOTONIC_COARSE/libc").unwrap();
    let claimed = coarse["claimed_resolution_ns"].as_f64().unwrap();
    assert!(claimed >= 1e5);
    if let Some(seen) = coarse["resolution_ns"].as_f64() {
        assert!((seen - claimed).abs() < claimed / 2.0, "{coarse}");
    }
    for row in rows.iter().filter(|row| row["cpu_shares"].is_null()) {
        assert!(row["cpu_shares_missing"].is_string(), "{row}");
    }
    let (step, d) = (value["method"]["single_step_ns"].as_f64().unwrap(), &rows[0]["distribution"]);
    for name in ["min", "p50", "p99"] {
        let steps = d[name].as_f64().unwrap() / step;
        assert!(step < 0.11 || (steps - steps.round()).abs() < 1e-6, "{name}: {d} {step}");
    }
}

#[test]
fn bench_only_answers_with_what_was_asked_for() {
    for (only, wanted) in [
        ("CLOCK_REALTIME", "A read of CLOCK_REALTIME costs "),
        ("rdtsc,CLOCK_MONOTONIC", "A read of CLOCK_MONOTONIC costs "),
        ("CLOCK_BOOTTIME/syscall", "A read of CLOCK_BOOTTIME costs "),
    ] {
        let out = text(&run(&["--quick", "--only", only, "-q"]).stdout);
        assert!(out.starts_with(wanted), "{only}: {out}");
    }
}

#[test]
fn bench_of_one_path_has_its_row_in_the_table() {
    let out = text(&run(&["--quick", "--only", "CLOCK_BOOTTIME/syscall"]).stdout);
    let table = out.split("What a read costs").nth(1).unwrap_or_default();
    let row = table.lines().find(|line| line.starts_with("CLOCK_BOOTTIME "));
    assert!(row.is_some_and(|row| row.ends_with("syscall")), "{out}");
}

#[test]
fn bench_names_a_file_that_cannot_be_written_before_it_measures() {
    for name in ["--csv", "--markdown", "--html"] {
        let begun = Instant::now();
        let out = run(&["--duration", "60s", name, "/nonexistent/out"]);
        assert_eq!(out.status.code(), Some(2));
        assert!(text(&out.stderr).contains("cannot write /nonexistent/out"), "{name}");
        assert!(begun.elapsed() < Duration::from_secs(30), "{name}");
    }
}

#[test]
fn bench_baseline_distinguishes_a_change_from_none() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("before.json");
    let out = run(&[&SHORT[..], &["--starts", "5"]].concat());
    assert_eq!(document(&out.stdout)["starts"].as_array().unwrap().len(), 5);
    std::fs::write(&file, &out.stdout).unwrap();
    let file = file.to_str().unwrap();
    let compare =
        |more: &[&str]| run(&[&SHORT[..], &["--starts", "5", "--baseline", file], more].concat());
    let baseline = |bytes: &[u8]| -> Value { document(bytes)["baseline"].clone() };
    // Six times as much work in every row is slower on any machine.
    let out = compare(&["--burden", "500", "--fail-over", "100"]);
    let changed = baseline(&out.stdout);
    assert_eq!(out.status.code(), Some(1), "{changed}");
    let failed: Vec<&str> =
        changed["failed"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(failed.contains(&"CLOCK_MONOTONIC/syscall"), "{changed}");
    assert!(!failed.iter().any(|name| name.ends_with("/counter")), "{changed}");
    assert!(changed["summary"].as_str().unwrap().contains("slower"));
    // Nothing on an unchanged machine is that much slower.
    let out = compare(&["--fail-over", "400"]);
    assert_eq!(out.status.code(), Some(0), "{}", baseline(&out.stdout));
    let (before, now) = (&changed["starts_before"], &changed["starts_now"]);
    assert_eq!((before.as_u64(), now.as_u64()), (Some(5), Some(5)));
}

#[test]
fn bench_answer_of_a_comparison_is_first_also_when_quiet() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("before.json");
    std::fs::write(&file, &run(&SHORT).stdout).unwrap();
    let file = file.to_str().unwrap();
    let out =
        run(&["--quick", "--only", "CLOCK_MONOTONIC", "--starts", "3", "--baseline", file, "-q"]);
    let shown = text(&out.stdout);
    let first = shown.lines().next().unwrap();
    assert!(first.contains("slower"), "{shown}");
    assert!(shown.lines().count() < 8, "{shown}");
}

#[test]
fn bench_wrong_comparisons_are_wrong_usage() {
    let cases: [(&[&str], &str); 5] = [
        (&["--only", "CLOCK_MONOTONIK"], "there is no such clock"),
        (&["--fail-over", "5"], "--baseline"),
        (&["--starts", "0"], "--starts"),
        (&["--quick", "--duration", "5s"], "--duration"),
        (&["--starts", "1", "--baseline", "/dev/null"], "at least 3"),
    ];
    for (args, expected) in cases {
        let out = run(args);
        let error = text(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{args:?}: {error}");
        assert!(error.contains(expected) && out.stdout.is_empty(), "{args:?}: {error}");
    }
}
