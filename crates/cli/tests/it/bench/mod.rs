//! `bench` from outside: its document and files, wrong usage, interruption, and the clocksource that is
//! put back. The kernel's files are a directory of the test's own: nothing here changes this machine.
#![allow(clippy::unwrap_used, clippy::panic)]

mod compare;
mod exports;
mod page;
mod sweep;

use std::path::Path;
use std::process::{Command, Output};

/// `clocksmith bench`, as short as it can be.
fn bench(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_clocksmith"));
    command.arg("bench").args(args).env("NO_COLOR", "1");
    command
}

fn run(args: &[&str]) -> Output {
    bench(args).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// A document, valid against its schema.
fn document(bytes: &[u8]) -> serde_json::Value {
    let value: serde_json::Value = serde_json::from_slice(bytes).unwrap();
    let schemas = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas");
    let schema = std::fs::read_to_string(schemas.join("clocksmith.bench.v1.json")).unwrap();
    let schema = serde_json::from_str(&schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(&value).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:?}");
    assert!(text(bytes).starts_with("{\n  \"schema\": \"clocksmith.bench.v1\""));
    value
}

#[test]
fn wrong_usage_is_reported_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("former.json");
    std::fs::write(&file, "{\"schema\": \"clocksmith.why.v1\"}").unwrap();
    let file = file.to_str().unwrap();
    let cases: [(&[&str], &str); 9] = [
        (&["--root", "/"], "cannot be measured"),
        (&["--like", "P9"], "clock-timing"),
        (&["--threads", "0"], "from 1 to"),
        (&["--gain", "-1"], "--gain"),
        (&["--gain", "0"], "above 0"),
        (&["--baseline", "/nowhere"], "cannot read the earlier run"),
        (&["--baseline", file], "not an earlier run"),
        (&["--count", "5"], "--like"),
        (&["--like", "P1", "--count", "0"], "0 is not in"),
    ];
    for (args, expected) in cases {
        let out = run(args);
        let error = text(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{args:?}: {error}");
        assert!(error.contains(expected), "{args:?}: {error}");
        assert!(out.stdout.is_empty(), "{args:?}");
    }
}
