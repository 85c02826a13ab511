//! `clocksmith fix --apply` in a guest in which the change does not hold: a user chooses another clocksource, the
//! counter is wrong before or after, reads are not faster, a signal arrives. Each time the clocksource is the
//! previous one afterwards, and the program reports that. Ignored by default, because it needs QEMU, a kernel, and
//! the static program: `cargo build --profile dist --features full -p clocksmith-cli --target
//! x86_64-unknown-linux-musl`, then `cargo test -p clocksmith-testbed --test live -- --ignored --nocapture trial::`.
//! `CLOCKSMITH_STATIC` names another program.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may end where something is missing")]

use super::guest;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(400);

/// Every part ends with `== NAME STATUS CLOCKSOURCE`, after the program's output.
const SCRIPT: &str = "settle
F=$S/current_clocksource
echo hpet >$F
say() { echo \"== $1 $2 $(cat $F)\"; }
run() {
    name=$1
    shift
    echo \"-- $name: $*\"
    \"$@\" 2>&1
    say $name $?
}
# Runs fix in the background, until the new clocksource is in use, and so many seconds more.
begin() {
    echo \"-- $1\"
    clocksmith fix --apply --runtime-only --watch 120s >/tmp/said 2>&1 &
    pid=$!
    n=0
    while [ $(cat $F) != tsc ] && [ $n -lt 600 ]; do usleep 50000; n=$((n + 1)); done
    sleep $2
    echo \"middle: $(cat $F)\"
}
end() {
    wait $pid
    status=$?
    cat /tmp/said
    say $1 $status
}

run fault-before probe fault --offset-cpu1 100000000 -- clocksmith fix --apply --runtime-only --to tsc
run fault-status clocksmith fix --status
rm /var/lib/clocksmith/verify.json

run holds clocksmith fix --apply --runtime-only --watch 7s
cp /var/lib/clocksmith/verify.json /tmp/good
run holds-status clocksmith fix --status
run undo clocksmith fix --undo
run undo-status clocksmith fix --status

# From here on what verify found is known, and not looked for again before the change.
begin another-choice 8
run status-in-between clocksmith fix --status
echo hpet >$F
end another-choice
begin term 8
kill -TERM $pid
end term
begin hup 1
kill -HUP $pid
end hup
run clean-status clocksmith fix --status

run fault-after probe fault --rate 3000 -- clocksmith fix --apply --runtime-only --to tsc
cp /tmp/good /var/lib/clocksmith/verify.json
run no-faster probe fault --rate 0 -- clocksmith fix --apply --runtime-only

cp /tmp/good /var/lib/clocksmith/verify.json
begin kill 8
kill -KILL $pid
n=0
while [ $(cat $F) != hpet ] && [ $n -lt 200 ]; do usleep 50000; n=$((n + 1)); done
end kill
run kill-status clocksmith fix --status
run kill-plan clocksmith fix --runtime-only
run kill-undo clocksmith fix --undo
run kill-after clocksmith fix --status
ls /var/lib/clocksmith
echo '== end 0 0'";

/// The output of a part, as one line; its exit status and the clocksource after it.
fn part<'a>(lines: &'a str, name: &str) -> (String, &'a str) {
    let start = format!("== {name} ");
    let mut said = String::new();
    for line in lines.lines() {
        if let Some(end) = line.strip_prefix(&start) {
            return (said, end);
        }
        if line.starts_with("-- ") {
            said.clear();
        } else {
            said.push_str(line.trim());
            said.push(' ');
        }
    }
    panic!("the guest did not say `{name}`");
}

#[test]
#[ignore = "boots a guest"]
fn change_that_does_not_hold_is_restored_in_every_case() {
    let lines = guest::run("trial", SCRIPT, None, PATIENCE);
    let lines = lines.as_str();
    let is = |name: &str, end: &str, words: &[&str]| {
        let (said, ended) = part(lines, name);
        assert_eq!(ended, end, "{name}: {said}");
        for word in words {
            assert!(said.contains(word), "{name} does not say `{word}`: {said}");
        }
    };

    is("fault-before", "1 hpet", &["Not done: choosing tsc", "--accept-time-may-go-backward"]);
    is("fault-status", "0 hpet", &["No change is in force"]);

    is("holds", "0 tsc", &["Done (change 1)", "times as fast"]);
    is("holds-status", "0 tsc", &["1 change is in force"]);
    is("undo", "0 hpet", &["hpet is in use again"]);
    is("undo-status", "0 hpet", &["No change is in force"]);

    is("status-in-between", "3 tsc", &["Another run is watching change 1 now"]);
    is("another-choice", "1 hpet", &["Everything was reverted: hpet is in use instead of tsc"]);
    is("term", "1 hpet", &["middle: tsc", "Everything was reverted: it was interrupted"]);
    is("hup", "1 hpet", &["middle: tsc", "Everything was reverted: it was interrupted"]);
    is("clean-status", "0 hpet", &["No change is in force"]);

    is("fault-after", "1 hpet", &["Everything was reverted: verify objects"]);
    is("no-faster", "1 hpet", &["Everything was reverted: reads of the time are no faster"]);

    is("kill", "137 hpet", &["middle: tsc"]);
    is("kill-status", "1 hpet", &["was applied, but the watch did not end", "fix --undo"]);
    is("kill-plan", "0 hpet", &["was never finished"]);
    is("kill-undo", "0 hpet", &["was not confirmed"]);
    is("kill-after", "0 hpet", &["No change is in force"]);
    assert_eq!(part(lines, "end").1, "0 0");
}
