//! `who --exact`: the counts are those that a program reports of itself.
#![cfg(all(feature = "who", target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may end where something is missing")]

use serde_json::Value;
use std::path::Path;
use std::process::Command;

const C: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static void *reads(void *unused) {
    struct timespec time;
    for (int i = 0; i < 100000; i++) clock_gettime(CLOCK_MONOTONIC, &time);
    return unused;
}
int main(int count, char **words) {
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], 0, reads, 0);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
    struct timeval day;
    struct timespec now;
    for (int i = 0; i < 1234; i++) gettimeofday(&day, 0);
    for (int i = 0; i < 77; i++) (void)time(0);
    for (int i = 0; i < 55; i++) clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    if (!fork()) {
        for (int i = 0; i < 500; i++) clock_gettime(CLOCK_REALTIME, &now);
        for (int i = 0; i < 9; i++) clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
        _exit(0);
    }
    wait(0);
    if (count > 1) execv("/bin/true", words);
    return 5;
}
"#;

const GO: &str = r#"
package main
import ("os"; "strconv"; "time")
func main() {
    n, _ := strconv.Atoi(os.Args[1])
    for i := 0; i < n; i++ { _ = time.Now() }
}
"#;

/// Runs `who`; returns the status and the document, or nothing if this machine cannot be watched.
fn who(command: &[&str]) -> Option<(i32, Value)> {
    let out = Command::new(env!("CARGO_BIN_EXE_clocksmith"))
        .args(["who", "--exact", "--json", "--"])
        .args(command)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&out.stderr);
    if out.stdout.is_empty() && text.contains("perf_event") {
        eprintln!("skipped: {text}");
        return None;
    }
    let document = serde_json::from_slice(&out.stdout).unwrap_or_else(|_| panic!("{text}"));
    Some((out.status.code().unwrap(), document))
}

/// Calls by clock or, if there is none, by function.
fn calls(document: &Value, name: &str) -> u64 {
    let rows = document["exact"].as_array().unwrap_or_else(|| panic!("{}", document["gaps"]));
    let row = rows.iter().find(|row| match row["clock"].as_str() {
        Some(clock) => clock == name,
        None => row["api"] == name,
    });
    row.map_or(0, |row| row["calls"].as_u64().unwrap())
}

fn gaps(document: &Value) -> String {
    document["gaps"].to_string()
}

fn build(dir: &Path, extra: &[&str]) -> Option<String> {
    let (source, program) = (dir.join("reads.c"), dir.join("reads"));
    std::fs::write(&source, C).unwrap();
    let built =
        Command::new("cc").args(extra).args(["-pthread", "-o"]).arg(&program).arg(&source).status();
    if !built.is_ok_and(|status| status.success()) {
        eprintln!("skipped: no cc");
        return None;
    }
    Some(program.to_str().unwrap().to_owned())
}

#[test]
fn counts_are_those_of_the_program() {
    for extra in [&["-static"][..], &[]] {
        let dir = tempfile::tempdir().unwrap();
        let Some(program) = build(dir.path(), extra) else { return };
        let Some((status, document)) = who(&[&program]) else { return };
        assert_eq!(status, 5);
        for (name, did) in [
            ("CLOCK_MONOTONIC", 300_000),
            ("gettimeofday", 1234),
            ("time", 77),
            ("CLOCK_PROCESS_CPUTIME_ID", 55),
            ("CLOCK_REALTIME", 500),
            ("CLOCK_MONOTONIC_COARSE", 9),
        ] {
            assert_eq!(calls(&document, name), did, "{extra:?} {name}: {}", document["exact"]);
        }
        let summary = &document["exact_summary"];
        assert_eq!(summary["processes"], 2);
        assert_eq!(summary["calls"], 300_000 + 1234 + 77 + 55 + 500 + 9);
        // Nearly all come in loops; a clock that is coarse, or has no coarse sibling, is not a candidate.
        let coarse = &summary["coarse"]["reads"];
        let candidates = coarse.as_u64().unwrap();
        assert!(candidates > 200_000 && candidates <= 300_000 + 1234 + 500, "{summary}");
        assert!(!gaps(&document).contains("exec"), "{}", gaps(&document));

        // A process that becomes another program loses its counts, which is reported; its child's are there.
        let Some((status, document)) = who(&[&program, "and then"]) else { return };
        assert_eq!(status, 0);
        assert_eq!(calls(&document, "CLOCK_REALTIME"), 500);
        assert_eq!(calls(&document, "gettimeofday"), 0);
        assert!(gaps(&document).contains("1 more program was run"), "{}", gaps(&document));
    }
}

/// Reads by system calls that the vDSO has no part in, by four threads and a child.
const CALLS: &str = r#"
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static void *reads(void *n) {
    struct timespec t;
    for (long i = 0; i < (long)n; i++) syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
    return n;
}
int main(int count, char **words) {
    struct timespec t;
    struct timeval day;
    clockid_t own;
    pthread_t ids[3];
    for (long i = 0; i < 3; i++) pthread_create(&ids[i], 0, reads, (void *)(1000 * (i + 1)));
    for (int i = 0; i < 3; i++) pthread_join(ids[i], 0);
    for (int i = 0; i < 55; i++) clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    for (int i = 0; i < 66; i++) clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    pthread_getcpuclockid(pthread_self(), &own);
    for (int i = 0; i < 7; i++) clock_gettime(own, &t);
    for (int i = 0; i < 1234; i++) syscall(SYS_gettimeofday, &day, 0);
    for (int i = 0; i < 77; i++) syscall(SYS_time, 0);
    for (int i = 0; i < 5; i++) syscall(SYS_clock_getres, 0, &t);
    if (!fork()) {
        for (int i = 0; i < 500; i++) syscall(SYS_clock_gettime, CLOCK_REALTIME, &t);
        _exit(0);
    }
    wait(0);
    return 6;
}
"#;

/// By the kernel's tracepoints, if they may be used; otherwise the reason is reported, with a remedy.
#[test]
fn system_calls_are_counted_one_by_one() {
    let dir = tempfile::tempdir().unwrap();
    let (source, program) = (dir.path().join("calls.c"), dir.path().join("calls"));
    std::fs::write(&source, CALLS).unwrap();
    let built = Command::new("cc").args(["-pthread", "-o"]).arg(&program).arg(&source).status();
    if !built.is_ok_and(|status| status.success()) {
        eprintln!("skipped: no cc");
        return;
    }
    let out = Command::new(env!("CARGO_BIN_EXE_clocksmith"))
        .args(["who", "--syscalls", "--json", "--"])
        .arg(&program)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&out.stderr);
    if out.stdout.is_empty() && text.contains("perf_event") {
        eprintln!("skipped: {text}");
        return;
    }
    assert_eq!(out.status.code(), Some(6), "{text}");
    let document: Value = serde_json::from_slice(&out.stdout).unwrap();
    let counted = &document["system_calls"];
    if counted.is_null() {
        let gaps = gaps(&document);
        assert!(gaps.contains("system calls are not counted: "), "{gaps}");
        eprintln!("skipped: {gaps}");
        return;
    }
    let calls = |rows: &Value, name: Option<&str>, api: &str| -> u64 {
        let mut rows = rows.as_array().unwrap().iter();
        let row = rows.find(|row| row["clock"].as_str() == name && row["api"] == api);
        row.map_or(0, |row| row["calls"].as_u64().unwrap())
    };
    let rows = &counted["rows"];
    for (name, api, did) in [
        (Some("CLOCK_MONOTONIC"), "clock_gettime", 6000),
        (Some("CLOCK_REALTIME"), "clock_gettime", 500),
        (Some("CLOCK_PROCESS_CPUTIME_ID"), "clock_gettime", 55),
        (Some("CLOCK_THREAD_CPUTIME_ID"), "clock_gettime", 66),
        (None, "clock_gettime", 7),
        (None, "gettimeofday", 1234),
        (None, "time", 77),
    ] {
        assert_eq!(calls(rows, name, api), did, "{name:?} {api}: {rows}");
    }
    assert_eq!(counted["calls"], 6000 + 500 + 55 + 66 + 7 + 1234 + 77);
    assert_eq!(counted["resolution_calls"], 5);
}

#[test]
fn go_is_counted() {
    let dir = tempfile::tempdir().unwrap();
    let (source, program) = (dir.path().join("reads.go"), dir.path().join("reads"));
    std::fs::write(&source, GO).unwrap();
    let built = Command::new("go").args(["build", "-o"]).arg(&program).arg(&source).status();
    if !built.is_ok_and(|status| status.success()) {
        eprintln!("skipped: no go");
        return;
    }
    let program = program.to_str().unwrap();
    // The runtime reads the clock as well: the wall clock always as often.
    let wall = |n: &str| Some(calls(&who(&[program, n])?.1, "CLOCK_REALTIME"));
    if let (Some(none), Some(many)) = (wall("0"), wall("250000")) {
        assert_eq!(many - none, 250_000);
    }
}

#[test]
fn processes_that_are_left_behind_are_said() {
    let Some((status, document)) = who(&["sh", "-c", "sleep 3 & exit 4"]) else { return };
    assert_eq!(status, 4);
    assert!(gaps(&document).contains("still run"), "{}", gaps(&document));
}

#[test]
fn a_command_that_is_not_there() {
    let out = Command::new(env!("CARGO_BIN_EXE_clocksmith"))
        .args(["who", "--exact", "--", "/nonexistent/command"])
        .output()
        .unwrap();
    assert_eq!(out.status.code(), Some(2), "{}", String::from_utf8_lossy(&out.stderr));
}
