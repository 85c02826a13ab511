//! `clocksmith who` and `clocksmith run` in a guest whose clocks are slow: `who` names the function that reads, reports
//! that its reads fall back to a system call, and counts these calls one by one, and `run` makes the reads cheap.
//! Ignored by default, because it needs QEMU, a kernel, a C compiler and the static program:
//! `cargo build --profile dist --features full -p clocksmith-cli --target x86_64-unknown-linux-musl`, then
//! `cargo test -p clocksmith-testbed --test live -- --ignored --nocapture who::`. `CLOCKSMITH_STATIC` names another
//! program.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may end where something is missing")]

use super::guest::{self, said};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(120);

/// Reads in known functions, four to one, for the given number of seconds; prints the read cost.
const TARGET: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static struct timespec now;
__attribute__((noinline)) static void hot_a(void) { clock_gettime(CLOCK_MONOTONIC, &now); __asm__(""); }
__attribute__((noinline)) static void hot_b(void) { clock_gettime(CLOCK_REALTIME, &now); __asm__(""); }
static double read_now(void) {
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}
int main(int count, char **words) {
    double begun = read_now(), passed = 0, reads = 0;
    while (passed < atof(words[count - 1])) {
        for (int i = 0; i < 400; i++) { hot_a(); hot_a(); hot_a(); hot_a(); hot_b(); reads += 5; }
        passed = read_now() - begun;
    }
    printf("ns %.1f\n", passed * 1e9 / reads);
    return 0;
}
"#;

const SCRIPT: &str = "settle
for source in hpet acpi_pm; do
    echo $source >$S/current_clocksource
    echo \"== clocksource $source $(cat $S/current_clocksource)\"
    reader 1000 >/dev/null &
    pid=$!
    clocksmith who -p $pid --duration 4s >/tmp/who 2>&1; echo \"== status $source $?\"
    kill $pid
    while read -r line; do echo \"who $source $line\"; done </tmp/who
    echo \"== plain $source $(reader 1)\"
    echo \"== fast $source $(clocksmith run --source coarse -- reader 1 2>&1)\"
done
echo '== end'";

/// A static program.
fn build(dir: &Path, text: &str) -> PathBuf {
    let (source, target) = (dir.join("target.c"), dir.join("target"));
    std::fs::write(&source, text).unwrap();
    let built = Command::new("cc")
        .args(["-O2", "-static", "-pthread", "-o"])
        .arg(&target)
        .arg(&source)
        .status();
    assert!(built.unwrap().success());
    target
}

#[test]
#[ignore = "boots a guest"]
fn who_reads_a_slow_clock_and_run_makes_it_fast() {
    let dir = tempfile::tempdir().unwrap();
    let target = build(dir.path(), TARGET);
    let lines = guest::run("who", SCRIPT, Some(&target), PATIENCE);
    let lines = lines.as_str();
    for source in ["hpet", "acpi_pm"] {
        assert_eq!(said(lines, &format!("clocksource {source}")), source);
        assert_eq!(said(lines, &format!("status {source}")), "0");
        let start = format!("who {source} ");
        let table: Vec<&str> = lines.lines().filter_map(|line| line.strip_prefix(&start)).collect();
        let of = |name: &str| {
            let row = table.iter().position(|line| line.ends_with(name) && line.contains(" s "));
            row.unwrap_or_else(|| panic!("{source}: {name} is not in the table:\n{table:#?}"))
        };
        // The function that reads more is first, and the path of its reads is below it.
        assert!(of("hot_a") < of("hot_b"), "{table:#?}");
        // The line may be cut at the width.
        assert!(table[of("hot_a") + 1].contains("fall"), "{table:#?}");
        assert!(table.iter().any(|line| line.contains(&format!("clocksource {source}"))));
        let ns = |what: &str| -> f64 {
            let text = said(lines, &format!("{what} {source}"));
            let ns = text.strip_prefix("ns ").and_then(|ns| ns.trim().parse().ok());
            ns.unwrap_or_else(|| panic!("{what} {source}: {text}"))
        };
        let times = ns("plain") / ns("fast");
        println!("{source}: {:.0} ns, with run {:.0} ns", ns("plain"), ns("fast"));
        assert!(times >= 5.0, "{source}: run makes reads {times:.1} times cheaper only");
    }
}

/// Reads the given number of times in each of two named threads, in the first one, and in a child; by the C library,
/// and by direct system calls. With a number, sleeps this number of seconds between starting its threads and reading.
const COUNTS: &str = r#"
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static int pause_s;
static void *reads(void *n) {
    struct timespec t;
    prctl(PR_SET_NAME, (long)n == 3000 ? "three" : "two");
    sleep(pause_s);
    for (long i = 0; i < (long)n; i++) clock_gettime(CLOCK_MONOTONIC, &t);
    return n;
}
int main(int count, char **words) {
    struct timespec t;
    struct timeval day;
    pthread_t ids[2];
    pause_s = count > 1 ? atoi(words[1]) : 0;
    pthread_create(&ids[0], 0, reads, (void *)3000);
    pthread_create(&ids[1], 0, reads, (void *)2000);
    for (int i = 0; i < 2; i++) pthread_join(ids[i], 0);
    for (int i = 0; i < 400; i++) clock_gettime(CLOCK_REALTIME, &t);
    for (int i = 0; i < 30; i++) clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    for (int i = 0; i < 55; i++) clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    for (int i = 0; i < 123; i++) gettimeofday(&day, 0);
    for (int i = 0; i < 77; i++) syscall(SYS_time, 0);
    if (!fork()) {
        for (int i = 0; i < 500; i++) syscall(SYS_clock_gettime, CLOCK_BOOTTIME, &t);
        _exit(0);
    }
    wait(0);
    return 0;
}
"#;

const COUNTING: &str = "settle
show() { while read -r line; do echo \"$1 $line\"; done <$2; }
clocksmith who --syscalls --json -- reader >/tmp/none 2>/dev/null; show none /tmp/none
mount -t tracefs nodev /sys/kernel/tracing
for source in tsc hpet; do
    echo $source >$S/current_clocksource
    clocksmith who --syscalls --json -- reader >/tmp/of 2>/dev/null; show $source /tmp/of
    reader 15 &
    pid=$!
    sleep 1
    clocksmith who --syscalls --json --duration 60s -p $pid >/tmp/of 2>/dev/null; show p-$source /tmp/of
    wait $pid
done
echo '== end'";

/// The counts are the program's true calls: by clock, by thread, with the processes that it has started; with `-p`,
/// too. A clock that the vDSO serves has no calls.
#[test]
#[ignore = "boots a guest"]
fn system_calls_are_counted_one_by_one() {
    let dir = tempfile::tempdir().unwrap();
    let target = build(dir.path(), COUNTS);
    let lines = guest::run("syscalls", COUNTING, Some(&target), 2 * PATIENCE);
    let document = |name: &str| -> Value {
        let start = format!("{name} ");
        let json: String = lines.lines().filter_map(|line| line.strip_prefix(&start)).collect();
        serde_json::from_str(&json).unwrap_or_else(|error| panic!("{name}: {error}: {json}"))
    };
    let none = document("none");
    assert!(none["system_calls"].is_null());
    assert!(none["gaps"].to_string().contains("mount -t tracefs"), "{}", none["gaps"]);
    for (name, slow) in [("tsc", false), ("hpet", true), ("p-tsc", false), ("p-hpet", true)] {
        let counted = &document(name)["system_calls"];
        let calls = |rows: &Value, what: &str| -> u64 {
            let mut rows = rows.as_array().unwrap().iter();
            let row = rows
                .find(|row| row["clock"] == what || row["clock"].is_null() && row["api"] == what);
            row.map_or(0, |row| row["calls"].as_u64().unwrap())
        };
        let through = |did: u64| if slow { did } else { 0 };
        for (what, did) in [
            ("CLOCK_MONOTONIC", through(5000)),
            ("CLOCK_REALTIME", through(400)),
            ("gettimeofday", through(123)),
            ("CLOCK_MONOTONIC_COARSE", 0),
            ("CLOCK_PROCESS_CPUTIME_ID", 55),
            ("CLOCK_BOOTTIME", 500),
            ("time", 77),
        ] {
            assert_eq!(calls(&counted["rows"], what), did, "{name} {what}: {counted}");
        }
        assert_eq!(counted["calls"], through(5000 + 400 + 123) + 55 + 500 + 77, "{name}");
        if name == "p-hpet" {
            let thread = |name: &str| -> u64 {
                let mut rows = counted["threads"].as_array().unwrap().iter();
                rows.find(|row| row["name"] == name).unwrap()["calls"].as_u64().unwrap()
            };
            assert_eq!((thread("three"), thread("two")), (3000, 2000), "{counted}");
            assert_eq!(thread("reader"), 400 + 123 + 55 + 500 + 77, "{counted}");
        }
    }
}
