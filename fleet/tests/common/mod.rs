//! The program in tests: runs of it, and its documents.

use serde_json::Value;
use std::process::{Command, Output, Stdio};

/// Runs the program.
pub fn program(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_clocksmith-fleet"))
        .args(args)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// The document of a run that ends well.
pub fn answer(args: &[&str]) -> Value {
    let out = program(&[&["--json"], args].concat());
    assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
    serde_json::from_slice(&out.stdout).unwrap()
}
