//! The document and the files.

use super::{document, run, text};

/// One long run serves several questions.
#[test]
fn all_that_one_run_gives() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (csv, markdown, html) = (file("a.csv"), file("a.md"), file("a.html"));
    let out = run(&[
        "--json",
        "--like",
        "p4",
        "--count",
        "1000",
        "--threads",
        "1,3",
        "--duration",
        "2s",
        "--gain",
        "1e6",
        "--csv",
        &csv,
        "--markdown",
        &markdown,
        "--html",
        &html,
    ]);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    let value = document(&out.stdout);
    assert_eq!(value["complete"], true);
    assert!(value["method"]["rounds"].as_u64().unwrap() >= 3);
    let rows = value["rows"].as_array().unwrap();
    let row = |name: &str| rows.iter().find(|row| row["name"] == name).unwrap();
    assert_eq!(rows.len(), 40);

    // On every machine the system call enters the kernel, and the coarse clock is not slower.
    let ns = |name: &str| row(name)["costs"]["throughput"]["ns"].as_f64().unwrap();
    assert_eq!(row("CLOCK_MONOTONIC/syscall")["path"], "syscall");
    assert!(ns("CLOCK_MONOTONIC_COARSE/libc") < ns("CLOCK_MONOTONIC/syscall"));
    let ratio = &row("CLOCK_MONOTONIC/vdso")["ratio_to_vdso_monotonic"];
    if ratio.is_object() {
        assert_eq!(ratio["ratio"], 1.0);
    }
    for row in rows.iter().filter(|row| row["distribution"].is_object()) {
        let d = &row["distribution"];
        let figure = |name: &str| d[name].as_f64().unwrap();
        assert!(figure("min") <= figure("p50") && figure("p999") <= figure("max"), "{row}");
        assert!(d["calls"].as_u64().unwrap() > 0);
    }

    assert_eq!(value["method"]["threads"], serde_json::json!([1, 3]));
    // Two functions in three threads each.
    let loops = value["like"]["loops"].as_array().unwrap();
    assert_eq!(loops.len(), 6);
    assert!(loops.iter().all(|one| one["count"] == 1000));
    let ways = value["gain"]["ways"].as_array().unwrap();
    assert!(ways.iter().any(|way| way["name"] == "clocksmith monotonic_ns"));

    let csv = std::fs::read_to_string(csv).unwrap();
    let columns = |line: &str| line.split(',').count();
    let header = csv.lines().next().unwrap();
    assert_eq!(csv.lines().count(), 41);
    // Only the reasons of missing rows have commas in them.
    let whole = csv.lines().filter(|line| !line.contains('"'));
    assert!(whole.clone().count() > 20 && whole.clone().all(|l| columns(l) == columns(header)));

    let markdown = std::fs::read_to_string(markdown).unwrap();
    assert!(markdown.contains("| CLOCK_MONOTONIC |") && markdown.contains("## Several threads"));

    // An earlier run: a comparison of a run with itself shows no difference.
    let former = file("former.json");
    std::fs::write(&former, &out.stdout).unwrap();
    let out = run(&[
        "--baseline",
        &former,
        "--threads",
        "1",
        "--duration",
        "2s",
        "--like",
        "P1",
        "--count",
        "1000",
        "--gain",
        "200000",
        "-v",
    ]);
    let shown = text(&out.stdout);
    assert!(shown.contains("of 40 rows: no difference"), "{shown}");
    assert!(shown.contains("run 1000 times,  total "), "{shown}");
    // The name of a file may be long.
    let too_wide: Vec<&str> =
        shown.lines().filter(|line| line.chars().count() > 80 && !line.contains(&former)).collect();
    assert!(too_wide.is_empty(), "{too_wide:#?}");
    assert!(!shown.contains('\x1b'));

    super::page::check(&html);
}

#[test]
fn bench_cpu_unknown_is_wrong_usage() {
    let out = run(&["--cpu", "1023", "--threads", "1"]);
    assert_eq!(out.status.code(), Some(2));
    let shown = text(&out.stderr);
    assert!(shown.contains("1023"), "{shown}");
}
