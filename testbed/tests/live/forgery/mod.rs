//! An ordinary user writes lines into the kernel's log that look like the kernel's own: by mounts that fail in a
//! user namespace, thousands of them, and by a program without arguments. `watch` reports none of them as an
//! event and no shipped alert fires, the reports of `check` and `why` do not change, `fix` does the same as
//! without them, a true switch in the middle of them is reported, and reading them costs `watch` little more than
//! any reader. Ignored by default, because it needs QEMU, a kernel, a C compiler, promtool and the static
//! program: `cargo build --profile dist --features full -p clocksmith-cli --target x86_64-unknown-linux-musl`,
//! then `cargo test -p clocksmith-testbed --test live -- --ignored --nocapture forgery::`. `CLOCKSMITH_STATIC`
//! names another program. `./test.sh forgery` does all of it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may end where something is missing")]

mod alerts;
mod boundaries;

use super::guest::{self, said};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(400);

/// Two watches: one that looks often and reports, and one of which only the cost between two looks is measured. `cpu`
/// gives a process's CPU time so far in nanoseconds; a process has one thread here.
const SCRIPT: &str = "settle
cpu() { read -r ns rest </proc/$1/schedstat; echo $ns; }
reads() { while read -r name count; do [ $name = syscr: ] && echo $count; done </proc/$1/io; }
prom() { while read -r line; do echo \"prom $1 $line\"; done </tmp/watch.prom; }
Q='--no-listen --no-history --no-test --json'
clocksmith check -q >/tmp/before
clocksmith watch $Q --look 5s --textfile /tmp/watch.prom >/tmp/watch 2>&1 &
tells=$!
clocksmith watch $Q --look 1h >/dev/null 2>&1 &
costs=$!
sleep 8
prom 0
idle=$(cpu $costs)
calls=$(reads $costs)
sleep 10
echo \"== idle $(($(cpu $costs) - idle)) $(($(reads $costs) - calls))\"

reader odd /bin/reader
echo \"== odd $(dmesg | grep -c 'NULL argv')\"
reader forge 200 21 >/tmp/steady &
for n in 1 2 3 4; do
    sleep 5
    prom $n
done
sleep 2
echo \"== steady $(cat /tmp/steady)\"
echo \"== printed $(dmesg | grep -c 'Marking TSC unstable')\"
echo \"== before $(cat /tmp/before)\"
echo \"== check $(clocksmith check -q)\"
echo \"== why $(clocksmith why -q | head -n 1)\"
echo \"== clocksource $(cat $S/current_clocksource)\"

reader read 10 >/tmp/plain &
begun=$(cpu $costs)
calls=$(reads $costs)
echo \"== flood $(reader forge 0 10)\"
sleep 2
echo \"== cost $(($(cpu $costs) - begun)) $(($(reads $costs) - calls))\"
echo \"== plain $(cat /tmp/plain)\"
sleep 6
prom 5

reader forge 0 6 >/dev/null &
sleep 2
echo hpet >$S/current_clocksource
sleep 12
prom 6

reader forge 200 300 >/dev/null &
forger=$!
clocksmith fix --runtime-only >/tmp/fix 2>&1; echo \"== planned $? $(cat $S/current_clocksource)\"
clocksmith fix --apply --runtime-only --watch 7s >/tmp/apply 2>&1
status=$?
# On a busy host too few samples of the counter may be left; that is no matter of the log.
if grep -q 'could not prove' /tmp/apply; then
    clocksmith fix --apply --runtime-only --watch 7s --accept-unverified-counter >>/tmp/apply 2>&1
    status=$?
fi
cat /tmp/apply >>/tmp/fix
echo \"== applied $status $(cat $S/current_clocksource)\"
kill $forger
while read -r line; do echo \"fix $line\"; done </tmp/fix
sleep 8
prom 7
kill $tells $costs
while read -r line; do echo \"watch $line\"; done </tmp/watch
echo '== end'";

/// The allowed cost of a record for the watch, compared with the plain reader of the same device in
/// the same guest.
const RATIO: f64 = 3.0;

/// A static program.
fn build(dir: &Path) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("guest/forger.c");
    let target = dir.join("forger");
    let built =
        Command::new("cc").args(["-O2", "-static", "-o"]).arg(&target).arg(&source).status();
    assert!(built.unwrap().success());
    target
}

/// The numbers that a script said.
fn numbers(lines: &str, what: &str) -> Vec<f64> {
    let words = said(lines, what).split_whitespace();
    words.map(|word| word.parse().unwrap_or_else(|_| panic!("{what}: {word}"))).collect()
}

#[test]
#[ignore = "boots a guest"]
fn forged_log_lines_change_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let forger = build(dir.path());
    let lines = guest::run("forgery", SCRIPT, Some(&forger), PATIENCE);
    let lines = lines.as_str();
    let steady = numbers(lines, "steady")[0];
    assert!(steady > 1_000.0, "{steady} mounts in 20 s");
    // The kernel did print them, the one without arguments too.
    assert!(numbers(lines, "printed")[0] > 0.0);
    assert_eq!(said(lines, "odd"), "1");
    assert_eq!(said(lines, "clocksource"), "tsc");
    let state = |what| said(lines, what).split(" - ").next().unwrap().to_owned();
    assert_eq!(state("before"), state("check"));
    assert!(!said(lines, "check").contains("demoted"));
    assert!(!said(lines, "why").contains("warp"), "{}", said(lines, "why"));

    // `fix` is not held back by them.
    let fix: Vec<&str> = lines.lines().filter_map(|line| line.strip_prefix("fix ")).collect();
    assert_eq!(said(lines, "planned"), "0 hpet", "{fix:#?}");
    assert_eq!(said(lines, "applied"), "0 tsc", "{fix:#?}");
    assert!(fix.iter().any(|line| line.contains("Done (change 1)")), "{fix:#?}");

    cost(lines);
    events(lines);
    let seen = alerts::samples(lines);
    assert_eq!(seen.len(), 8);
    // Not before the true switch, and then the one that is true.
    assert_eq!(alerts::firing(&seen[..6]), Vec::<String>::new());
    assert_eq!(alerts::firing(&seen[..7]), ["ClocksourceChanged", "ClockSlow"]);
}

/// The share of a CPU is printed only: an emulated CPU is ten to twenty times slower, and the host is busy. The
/// other work and reads of the watch are the same as when the log was quiet.
fn cost(lines: &str) {
    let [idle, other] = numbers(lines, "idle")[..] else { panic!("idle") };
    let [cost, calls] = numbers(lines, "cost")[..] else { panic!("cost") };
    let [records, plain, lost] = numbers(lines, "plain")[..] else { panic!("the plain reader") };
    let flood = numbers(lines, "flood")[0];
    // The flood and two seconds more.
    let read = calls - other * 1.2;
    let each = (cost - idle * 1.2).max(0.0) / read;
    println!(
        "{flood} mounts in 10 s; the watch read {read:.0} records for {each:.0} ns each, a plain reader {records} \
         for {:.0} ns ({lost} gaps); of a CPU the watch took {:.2} %, the plain reader {:.2} %; idle, {:.2} %",
        plain / records,
        cost / 12e7,
        plain / 1e8,
        idle / 1e8
    );
    assert!(flood > 2_000.0 && records > 1_000.0 && read > 100.0);
    assert!(each <= RATIO * plain / records, "{:.1} times a plain reader", each * records / plain);
}

fn events(lines: &str) {
    let events: Vec<serde_json::Value> = lines
        .lines()
        .filter_map(|line| serde_json::from_str(line.strip_prefix("watch ")?).ok())
        .filter(|line: &serde_json::Value| !line["event"].is_null())
        .map(|line| line["event"].clone())
        .collect();
    let of = |kind: &str| events.iter().filter(|event| event["kind"] == kind).count();
    for kind in ["demotion", "warp", "available-change"] {
        assert_eq!(of(kind), 0, "{kind}: {events:#?}");
    }
    // The host may stall the guest, but no line of the log may be evidence of a stall.
    let said = |event: &&serde_json::Value| event["reason"]["evidence"].is_string();
    assert_eq!(events.iter().filter(|event| event["kind"] == "stall").filter(said).count(), 0);
    assert!(of("contradicted-evidence") <= 1, "{events:#?}");
    // The true events: a manual switch, and the one by `fix`.
    let changes = events.iter().filter(|event| event["kind"] == "clocksource-change");
    let changes: Vec<_> = changes.map(|change| (&change["from"], &change["to"])).collect();
    let (tsc, hpet) = (&"tsc".into(), &"hpet".into());
    assert_eq!(changes, [(tsc, hpet), (hpet, tsc)], "{events:#?}");
}
