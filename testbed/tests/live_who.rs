//! `clocksmith who` and `clocksmith run` in a guest whose clocks are slow ones: `who` names the function that
//! reads and that it falls back to a system call, and `run` makes the reads cheap. Ignored by default,
//! because it needs QEMU, a kernel, a C compiler and the static program:
//! `cargo build --release --target x86_64-unknown-linux-musl -p clocksmith-cli`, then
//! `cargo test -p clocksmith-testbed --test live_who -- --ignored --nocapture`.
//! `CLOCKSMITH_STATIC` names another program.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may end where something is missing")]

mod guest;

use guest::said;
use std::process::Command;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(120);

/// Reads in known functions, four to one, for the seconds that it is told; says what a read costs.
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

#[test]
#[ignore = "boots a guest"]
fn who_reads_a_slow_clock_and_run_makes_it_fast() {
    let dir = tempfile::tempdir().unwrap();
    let (source, target) = (dir.path().join("target.c"), dir.path().join("target"));
    std::fs::write(&source, TARGET).unwrap();
    let built =
        Command::new("cc").args(["-O2", "-static", "-o"]).arg(&target).arg(&source).status();
    assert!(built.unwrap().success());
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
        // The function that reads more stands first, and how it reads stands below.
        assert!(of("hot_a") < of("hot_b"), "{table:#?}");
        // The line may be cut at the width.
        assert!(table[of("hot_a") + 1].contains("fallb"), "{table:#?}");
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
