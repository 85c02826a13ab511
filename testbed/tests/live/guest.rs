//! Functions for tests in guests: the program to test, a script's run, and its output.

#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    reason = "each test uses a part; a test may end where something is missing"
)]

use clocksmith_testbed::cache::Cache;
use clocksmith_testbed::qemu::arguments::Accel;
use clocksmith_testbed::scenario::place::{Place, Programs};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The static program: `CLOCKSMITH_STATIC`, or the one that was built last.
pub(crate) fn program() -> PathBuf {
    if let Some(path) = std::env::var_os("CLOCKSMITH_STATIC") {
        return path.into();
    }
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target"), PathBuf::from);
    target.join("x86_64-unknown-linux-musl/dist/clocksmith")
}

/// The library's reader, static: `CLOCKSMITH_READER`, or the one that was built last.
pub(crate) fn reader() -> PathBuf {
    if let Some(path) = std::env::var_os("CLOCKSMITH_READER") {
        return path.into();
    }
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target"), PathBuf::from);
    target.join("x86_64-unknown-linux-musl/release/examples/clock_reader")
}

/// Runs a script in a guest on Linux 6.1 with tsc, hpet and acpi_pm, and returns its output.
pub(crate) fn run(name: &str, script: &str, reader: Option<&Path>, patience: Duration) -> String {
    run_on("6.1", name, script, reader, patience)
}

/// The same on another kernel of the catalogue.
pub(crate) fn run_on(
    kernel: &str,
    name: &str,
    script: &str,
    reader: Option<&Path>,
    patience: Duration,
) -> String {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    let program = program();
    let programs = Programs { clocksmith: Some(&program), reader, ..Programs::default() };
    let cache = Cache::standard().unwrap();
    let place = Place::new(&cases, &cache, kernel, Accel::Tcg, &programs).unwrap();
    let (guest, _qmp) = place.stage(name, script).unwrap().start("guest", None).unwrap();
    let lines = guest.frames(patience).unwrap().get("run").unwrap().to_owned();
    println!("{lines}");
    lines
}

/// The text after `== WHAT` in a script's output.
pub(crate) fn said<'a>(lines: &'a str, what: &str) -> &'a str {
    let start = format!("== {what} ");
    lines.lines().find_map(|line| line.strip_prefix(&start)).unwrap_or_else(|| {
        panic!("the guest did not say `{what}`:\n{lines}");
    })
}
