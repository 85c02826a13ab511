//! `who` finds the program that waits by the wall clock, and does not flag those that only write the time of day into a
//! log.
#![cfg(all(feature = "who", target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may end where something is missing")]

use serde_json::Value;
use std::path::Path;
use std::process::{Child, Command};

/// Ends the program with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns the flags of the wall clock: function, confidence and evidence. `None` if this machine cannot be watched.
fn flagged(program: &Path, how: &str) -> Option<Vec<(String, String, String)>> {
    let running = Running(Command::new(program).arg(how).spawn().unwrap());
    let out = Command::new(env!("CARGO_BIN_EXE_clocksmith"))
        .args(["who", "--json", "--duration", "3s", "-p", &running.0.id().to_string()])
        .output()
        .unwrap();
    if out.stdout.is_empty() {
        eprintln!("skipped: {}", String::from_utf8_lossy(&out.stderr));
        return None;
    }
    let document: Value = serde_json::from_slice(&out.stdout).unwrap();
    let flags = document["flags"].as_array().unwrap();
    let text = |flag: &Value, key: &str| flag[key].as_str().unwrap().to_owned();
    let wall = flags.iter().filter(|flag| flag["kind"] == "wall-clock-for-intervals");
    Some(
        wall.map(|flag| (text(flag, "function"), text(flag, "confidence"), text(flag, "evidence")))
            .collect(),
    )
}

/// Returns whether threads can be examined and breakpoints set here.
fn may_look(program: &Path) -> bool {
    let running = Running(Command::new(program).arg("sleep").spawn().unwrap());
    std::fs::read_to_string(format!("/proc/{}/syscall", running.0.id())).is_ok()
}

#[test]
fn waits_by_the_wall_clock_are_found_and_logs_are_not() {
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("waits");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/who_waits/waits.c");
    let built =
        Command::new("cc").args(["-O1", "-pthread", "-o"]).arg(&program).arg(source).status();
    if !built.is_ok_and(|status| status.success()) {
        eprintln!("skipped: no cc");
        return;
    }
    if !may_look(&program) {
        eprintln!("skipped: /proc/PID/syscall may not be read");
        return;
    }
    // A wait with a wall-clock time; time-outs that are the rest of one. On a busy machine a look may come at a bad
    // time, so one repetition is allowed.
    for (how, function, confidence, word) in
        [("condition", "condition", "high", "futex"), ("wall", "until", "medium", "poll")]
    {
        let found = (0..3).find_map(|_| match flagged(&program, how) {
            None => Some(None),
            Some(flags) => flags.into_iter().find(|(name, ..)| name == function).map(Some),
        });
        match found {
            Some(None) => return,
            Some(Some((_, sure, evidence))) => {
                assert!(sure == confidence && evidence.contains(word), "{sure}: {evidence}");
            }
            None => panic!("{how}: not flagged"),
        }
    }
    // The same waits by CLOCK_MONOTONIC; logs beside waits of one length; a log beside such a wait by CLOCK_MONOTONIC;
    // sleep(3), which names the wall clock but does not wait for a time of it.
    for how in ["monotonic", "log", "log-monotonic", "sleep"] {
        let Some(flags) = flagged(&program, how) else { return };
        assert!(flags.is_empty(), "{how}: {flags:?}");
    }
}
