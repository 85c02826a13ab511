//! `collect` measures the machine, and the readers of the bundle show the measurement.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn clocksmith(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_clocksmith")).args(words).output().unwrap()
}

fn reads(bundle: &str) -> Vec<Value> {
    let out = clocksmith(&["why", "--json", "--bundle", bundle]);
    let document: Value = serde_json::from_slice(&out.stdout).unwrap();
    document["reads"].as_array().cloned().unwrap_or_default()
}

fn path(dir: &Path, name: &str) -> String {
    dir.join(name).to_str().unwrap().to_owned()
}

#[test]
fn collect_keeps_costs_that_why_shows_and_none_where_none_are_wanted() {
    let dir = tempfile::tempdir().unwrap();
    let (with, without) = (path(dir.path(), "with.tgz"), path(dir.path(), "without.tgz"));
    assert!(clocksmith(&["collect", "-o", &with]).status.success());
    assert!(clocksmith(&["collect", "--no-measure", "-o", &without]).status.success());
    let measured = reads(&with);
    let monotonic = measured.iter().find(|read| read["clock"] == "CLOCK_MONOTONIC").unwrap();
    assert!(monotonic["syscall_ns"].as_f64().unwrap() > 0.0, "{measured:?}");
    assert_eq!(reads(&without), Vec::<Value>::new());
}

#[test]
fn why_refuses_a_bundle_with_costs_that_are_none() {
    let dir = tempfile::tempdir().unwrap();
    let kept = dir.path().join("b/var/lib/clocksmith");
    std::fs::create_dir_all(&kept).unwrap();
    std::fs::create_dir_all(dir.path().join("b/proc")).unwrap();
    std::fs::write(dir.path().join("b/proc/cmdline"), "quiet\n").unwrap();
    std::fs::write(kept.join("measured.json"), "{\"counter_ns\":-3}").unwrap();
    let bundle = path(dir.path(), "b.tgz");
    let packed = Command::new("tar")
        .arg("-czf")
        .arg(&bundle)
        .arg("-C")
        .arg(dir.path().join("b"))
        .arg(".")
        .status();
    assert!(packed.unwrap().success());
    let out = clocksmith(&["why", "--bundle", &bundle]);
    let said = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(2), "{said}");
    assert!(said.contains("measured.json") && said.contains("counter"), "{said}");
}
