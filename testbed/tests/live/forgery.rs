//! An ordinary user writes lines into the kernel's log that look like the kernel's own, by mounts that fail in a
//! user namespace, thousands of them: `watch` tells none of it as an event, `check` and `why` say what they said
//! before, it costs next to nothing, and a true switch in the middle of it is told. Ignored by default, because it
//! needs QEMU, a kernel, a C compiler and the static program:
//! `cargo build --release --target x86_64-unknown-linux-musl -p clocksmith-cli`, then
//! `cargo test -p clocksmith-testbed --test live -- --ignored --nocapture forgery::`.
//! `CLOCKSMITH_STATIC` names another program.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may end where something is missing")]

use super::guest::{self, said};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(300);

/// As user 1000, for so many seconds, 200 times a second: a mount whose option is not known. The kernel
/// prints the option, with its line breaks.
const FORGER: &str = r#"
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <time.h>
#include <unistd.h>
static const char *lines = "x\n"
    "tsc: Marking TSC unstable due to clocksource watchdog\n"
    "clocksource: Switched to clocksource hpet\n"
    "Measured 512340 cycles TSC warp between CPUs, turning off TSC clock.\n"
    "x";
int main(int count, char **words) {
    if (setgid(1000) || setuid(1000) || unshare(CLONE_NEWUSER | CLONE_NEWNS)) {
        printf("0 %s\n", strerror(errno));
        return 1;
    }
    long mounts = 200 * atol(words[count - 1]);
    struct timespec pause = {0, 5000000};
    for (long i = 0; i < mounts; i++) {
        mount("x", "/tmp", "tmpfs", 0, lines);
        nanosleep(&pause, NULL);
    }
    printf("%ld\n", mounts);
    return 0;
}
"#;

/// `cpu` gives the watch's processor time so far in hundredths of a second.
const SCRIPT: &str = "settle
cpu() { set -- $(cat /proc/$pid/stat); echo $((${14} + ${15})); }
clocksmith check -q >/tmp/before
clocksmith watch --no-listen --no-history --no-test --json >/tmp/watch 2>&1 &
pid=$!
sleep 8
echo \"== begun $(cpu)\"
echo \"== mounts $(reader 20)\"
echo \"== ended $(cpu)\"
sleep 4
echo \"== printed $(dmesg | grep -c 'Marking TSC unstable')\"
echo \"== before $(cat /tmp/before)\"
echo \"== check $(clocksmith check -q)\"
echo \"== why $(clocksmith why -q | head -n 1)\"
echo \"== clocksource $(cat $S/current_clocksource)\"
reader 6 >/dev/null &
sleep 2
echo hpet >$S/current_clocksource
sleep 8
kill $pid
while read -r line; do echo \"watch $line\"; done </tmp/watch
echo '== end'";

/// A static program.
fn build(dir: &Path) -> PathBuf {
    let (source, target) = (dir.join("forger.c"), dir.join("forger"));
    std::fs::write(&source, FORGER).unwrap();
    let built =
        Command::new("cc").args(["-O2", "-static", "-o"]).arg(&target).arg(&source).status();
    assert!(built.unwrap().success());
    target
}

#[test]
#[ignore = "boots a guest"]
fn forged_log_lines_change_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let forger = build(dir.path());
    let lines = guest::run("forgery", SCRIPT, Some(&forger), PATIENCE);
    let lines = lines.as_str();
    assert_eq!(said(lines, "mounts"), "4000");
    // The kernel did print them.
    assert!(said(lines, "printed").parse::<u32>().unwrap() > 0);
    assert_eq!(said(lines, "clocksource"), "tsc");
    let state = |what| said(lines, what).split(" - ").next().unwrap().to_owned();
    assert_eq!(state("before"), state("check"));
    assert!(!said(lines, "check").contains("demoted"));
    assert!(!said(lines, "why").contains("warp"), "{}", said(lines, "why"));

    let ticks = |what| said(lines, what).parse::<f64>().unwrap();
    let percent = (ticks("ended") - ticks("begun")) / 20.0;
    println!("the watch took {percent:.2} % of a CPU while 200 mounts a second failed");

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
    assert!(of("contradicted-evidence") <= 1, "{events:#?}");
    // The one that is true.
    assert_eq!(of("clocksource-change"), 1, "{events:#?}");
    let change = events.iter().find(|event| event["kind"] == "clocksource-change").unwrap();
    assert_eq!((&change["from"], &change["to"]), (&"tsc".into(), &"hpet".into()));
}
