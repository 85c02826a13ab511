//! `clocksmith bench --every-clocksource` in a guest with three clocksources: the results, and that the
//! clocksource is restored, even when the program is killed in the middle. Ignored by default, because it
//! needs QEMU, a kernel, and the static program:
//! `cargo build --profile dist --features full -p clocksmith-cli --target x86_64-unknown-linux-musl`,
//! then `cargo test -p clocksmith-testbed --test live -- --ignored --nocapture sweep::`.
//! `CLOCKSMITH_STATIC` names another program.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may end where something is missing")]

use super::guest::{self, said};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(240);

/// Runs it to its end, and then once more for each signal, sent as soon as another clocksource is in use.
const SCRIPT: &str = "settle
F=$S/current_clocksource
before=$(cat $F)
echo \"== before $before\"
clocksmith bench --every-clocksource --threads 1 --csv /tmp/a.csv >/dev/null; echo \"== status $?\"
cat /tmp/a.csv
echo \"== whole $(cat $F)\"
for signal in KILL TERM ABRT; do
    clocksmith bench --every-clocksource --threads 1 -q >/dev/null 2>&1 &
    pid=$!
    n=0
    while [ \"$(cat $F)\" = \"$before\" ] && [ $n -lt 900 ]; do usleep 50000; n=$((n + 1)); done
    echo \"== middle $signal $(cat $F)\"
    kill -$signal $pid
    n=0
    while [ \"$(cat $F)\" != \"$before\" ] && [ $n -lt 200 ]; do usleep 50000; n=$((n + 1)); done
    echo \"== after $signal $(cat $F)\"
done
echo '== end'";

#[test]
#[ignore = "boots a guest"]
fn clocksource_is_restored_in_every_case() {
    let lines = guest::run("sweep", SCRIPT, None, PATIENCE);
    let lines = lines.as_str();

    assert_eq!(said(lines, "before"), "tsc");
    assert_eq!(said(lines, "status"), "0");
    assert_eq!(said(lines, "whole"), "tsc");
    for signal in ["KILL", "TERM", "ABRT"] {
        assert_ne!(said(lines, &format!("middle {signal}")), "tsc");
        assert_eq!(said(lines, &format!("after {signal}")), "tsc");
    }

    // The story of the slow clocksources: they are system calls, many times more expensive; coarse ones
    // are not.
    let header: Vec<&str> =
        lines.lines().find(|line| line.starts_with("clocksource,")).unwrap().split(',').collect();
    let column = |name: &str| header.iter().position(|title| *title == name).unwrap();
    let cell = |source: &str, name: &str, title: &str| {
        let start = format!("{source},{name},");
        let line = lines.lines().find(|line| line.starts_with(&start)).unwrap();
        line.split(',').nth(column(title)).unwrap().to_owned()
    };
    let ns =
        |source: &str, name: &str| -> f64 { cell(source, name, "throughput_ns").parse().unwrap() };
    let (fine, coarse) = ("CLOCK_MONOTONIC/libc", "CLOCK_MONOTONIC_COARSE/libc");
    assert_eq!(cell("tsc", fine, "path"), "vdso");
    for slow in ["hpet", "acpi_pm"] {
        let times = ns(slow, fine) / ns("tsc", fine);
        println!(
            "{slow}: {times:.1} times tsc; coarse {:.2} times",
            ns(slow, coarse) / ns("tsc", coarse)
        );
        assert_eq!(cell(slow, fine, "path"), "syscall");
        assert!(times > 3.0, "{slow} costs {times} times as much as tsc");
        assert!(ns(slow, coarse) < 3.0 * ns("tsc", coarse), "{slow}: the coarse clock is not");
    }
}
