//! `clocksmith watch` for half an hour in a guest whose processors are busy reading the time, while its clocksource is
//! switched at random: each switch is reported, once and in order, and memory does not grow. Prints the figures.
//! Ignored by default, because it needs QEMU, a kernel, a C compiler, the static program, and patience:
//! `cargo build --profile dist --features full -p clocksmith-cli --target x86_64-unknown-linux-musl`, then
//! `cargo test -p clocksmith-testbed --test live -- --ignored --nocapture soak::`. `CLOCKSMITH_SOAK_MINUTES` is the
//! duration (30), `CLOCKSMITH_SOAK_PACE` the seconds between two switches (15), `CLOCKSMITH_STATIC` the path of another
//! program. `./test.sh soak` does all of it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test may end where something is missing"
)]

use super::guest;
use serde_json::Value;
use std::time::Duration;

/// KiB by which the private memory of the watch may grow from the first third to the last, after a sixth of the time
/// for it to settle. The least of each is compared: a client being served takes some for a moment.
const NOISE_KIB: u64 = 40;
/// Events that a watch keeps in memory. The watch finds as many when it starts, so that its memory is full from
/// the start.
const KEPT: u64 = 500;

/// Uptimes are in seconds with two places. A switch's is taken before it, an event's when it has been read from the
/// watch, so their difference is no less than the delay.
const SCRIPT: &str = r#"settle
ifconfig lo 127.0.0.1 up
mkdir -p /tmp/state
up() { read -r now _ </proc/uptime; }
words="a line of the length that the text of an event has, or the reason that is given for one, which is about as long"
n=0
while [ $n -lt KEPT ]; do
    echo "{\"time\":$n,\"kind\":\"state-change\",\"state\":\"ok\",\"text\":\"$words\",\"from\":\"tsc\",\"to\":\"acpi_pm\",\"reason\":{\"cause\":\"runtime-override\",\"text\":\"$words\",\"evidence\":\"$words\"}}"
    n=$((n + 1))
done >/tmp/state/history.jsonl
sh -c 'echo $$ >/tmp/pid; exec clocksmith watch --json --state-dir /tmp/state' 2>/tmp/err | while read -r line; do
    up
    echo "== event $now $line"
done &
until wget -q -O /dev/null http://127.0.0.1:9988/-/healthy; do usleep 200000; done
pid=$(cat /tmp/pid)
echo "== kept $(wget -q -O - http://127.0.0.1:9988/history | wc -l)"
probe reader --threads 2 >/dev/null 2>&1 &
load=$!
scraped=0
sample() {
    set -- $(sed -n 's/^\(Rss\|Private_Dirty\|Anonymous\): *\([0-9]*\) kB/\2/p' /proc/$pid/smaps_rollup)
    rss=$1 dirty=$2 own=$3
    set -- $(sed 's/.*) //' /proc/$pid/stat)
    echo "== sample $now $rss $dirty $own $((${12} + ${13})) $(ls /proc/$pid/fd | wc -l) $(ls /proc/$pid/task | wc -l) $scraped"
}
up
begun=${now%.*} next_scrape=0 next_sample=60 next_switch=5 switches=0
while up; past=$((${now%.*} - begun)); [ $past -lt SECONDS ] || [ $switches -lt WANTED ]; do
    if [ $past -ge $next_sample ]; then
        sample
        next_sample=$((next_sample + 60))
    fi
    if [ $past -ge $next_scrape ]; then
        for path in metrics history ""; do wget -q -O /dev/null http://127.0.0.1:9988/$path && scraped=$((scraped + 1)); done
        next_scrape=$((next_scrape + 15))
    fi
    if [ $past -ge $next_switch ]; then
        read -r from <$S/current_clocksource
        to=$from
        while [ $to = $from ]; do
            case $((RANDOM % 3)) in 0) to=tsc ;; 1) to=hpet ;; *) to=acpi_pm ;; esac
        done
        up
        echo $to >$S/current_clocksource
        echo "== switch $now $from $to"
        switches=$((switches + 1))
        next_switch=$((past + 1 + RANDOM % (2 * PACE - 1)))
    fi
    usleep 300000
done
sleep 10
up
sample
kill -TERM $pid
kill $load
sleep 3
echo "== ended $([ -e /proc/$pid ] && echo no || echo yes) $switches"
cat /tmp/err"#;

/// The resources of the watch at a sample; memory in KiB.
struct Sample {
    uptime: f64,
    rss: u64,
    dirty: u64,
    anonymous: u64,
    /// CPU time since its start, in hundredths of a second.
    ticks: u64,
    files: u64,
    threads: u64,
    scraped: u64,
}

fn samples(lines: &str) -> Vec<Sample> {
    let of = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |at: usize| words[at].parse().unwrap_or_else(|_| panic!("{line}"));
        Sample {
            uptime: words[0].parse().unwrap(),
            rss: number(1),
            dirty: number(2),
            anonymous: number(3),
            ticks: number(4),
            files: number(5),
            threads: number(6),
            scraped: number(7),
        }
    };
    lines.lines().filter_map(|line| line.strip_prefix("== sample ")).map(of).collect()
}

/// Switches as `(uptime, from, to)`.
fn switches(lines: &str) -> Vec<(f64, String, String)> {
    let of = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        (words[0].parse().unwrap(), words[1].to_owned(), words[2].to_owned())
    };
    lines.lines().filter_map(|line| line.strip_prefix("== switch ")).map(of).collect()
}

/// Events as `(uptime, event)`.
fn events(lines: &str) -> Vec<(f64, Value)> {
    let of = |line: &str| {
        let (uptime, document) = line.split_once(' ').unwrap();
        let document: Value = serde_json::from_str(document).unwrap();
        // The only document that is not an event is the listening address.
        document["event"].is_object().then(|| (uptime.parse().unwrap(), document["event"].clone()))
    };
    lines.lines().filter_map(|line| line.strip_prefix("== event ")).filter_map(of).collect()
}

#[test]
#[ignore = "watches a guest for half an hour"]
fn a_watch_under_load_tells_every_switch_and_does_not_grow() {
    let setting = |name: &str, usual: u64| {
        std::env::var(name).map_or(usual, |text| text.parse().expect(name))
    };
    let minutes = setting("CLOCKSMITH_SOAK_MINUTES", 30);
    // On average; each is from one second to twice as many.
    let pace = setting("CLOCKSMITH_SOAK_PACE", 15).max(1);
    // 100 in half an hour.
    let wanted = minutes * 100 / 30;
    let script = SCRIPT
        .replace("SECONDS", &(minutes * 60).to_string())
        .replace("WANTED", &wanted.to_string())
        .replace("PACE", &pace.to_string())
        .replace("KEPT", &KEPT.to_string());
    let patience = Duration::from_secs(minutes * 90 + 180);
    judge(&guest::run_on("6.12", "soak", &script, None, patience), wanted);
}

/// Prints the guest's record of a watch, and judges it.
fn judge(lines: &str, wanted: u64) {
    let (samples, switches, events) = (samples(lines), switches(lines), events(lines));
    assert!(lines.contains("== ended yes"), "the watch does not end on request");

    println!("minute      RSS  dirty  anonymous  KiB; CPU s  files  threads  scrapes");
    let begun = samples[0].uptime - 60.0;
    for sample in &samples {
        println!(
            "{:>6.1} {:>8} {:>6} {:>10} {:>11.2} {:>6} {:>8} {:>8}",
            (sample.uptime - begun) / 60.0,
            sample.rss,
            sample.dirty,
            sample.anonymous,
            sample.ticks as f64 / 100.0,
            sample.files,
            sample.threads,
            sample.scraped
        );
    }

    // Every switch has its event, and no event is without a switch.
    let kind = |event: &Value| event["kind"].as_str().unwrap().to_owned();
    let told: Vec<&(f64, Value)> =
        events.iter().filter(|(_, event)| kind(event) == "clocksource-change").collect();
    let mut delays = Vec::new();
    for (at, (switch, (seen, event))) in switches.iter().zip(&told).enumerate() {
        assert_eq!(event["from"], switch.1.as_str(), "switch {at}: {switch:?}, {event}");
        assert_eq!(event["to"], switch.2.as_str(), "switch {at}: {switch:?}, {event}");
        assert!(event["reason"]["text"].is_string(), "no reason: {event}");
        delays.push(seen - switch.0);
    }
    delays.sort_by(f64::total_cmp);
    let at = |part: f64| delays[((delays.len() - 1) as f64 * part) as usize];
    println!(
        "{} switches, {} reported; seconds from before the switch to the event: half within {:.2}, 95 % within {:.2}, all within {:.2}",
        switches.len(),
        told.len(),
        at(0.5),
        at(0.95),
        at(1.0)
    );
    let mut others: Vec<String> = events.iter().map(|(_, event)| kind(event)).collect();
    others.sort();
    let mut kinds = others.clone();
    kinds.dedup();
    for name in kinds {
        println!("{name}: {}", others.iter().filter(|other| **other == name).count());
    }
    assert_eq!(told.len(), switches.len(), "not all were reported");
    assert!(switches.len() as u64 >= wanted, "{} switches, not {wanted}", switches.len());

    assert!(
        guest::said(lines, "kept").parse::<u64>().unwrap() >= KEPT,
        "it has not what it should keep"
    );
    let (skip, third) = (samples.len() / 6, (samples.len() / 3).max(1));
    let (first, last) = (&samples[skip..skip + third], &samples[samples.len() - third..]);
    let least = |samples: &[Sample]| samples.iter().map(|sample| sample.anonymous).min().unwrap();
    println!(
        "least anonymous memory from sample {} to {}: {} KiB, in the last {third}: {} KiB",
        skip + 1,
        skip + third,
        least(first),
        least(last)
    );
    assert!(least(last) <= least(first) + NOISE_KIB, "its own memory grows");
    let (settled, last) = (&first[0], samples.last().unwrap());
    assert!(last.files <= settled.files + 1, "open files grow");
    assert!(last.threads <= settled.threads + 1, "threads grow");
}

/// The output of a short run: two switches, both reported, changed by `change`.
fn made_up(change: impl Fn(usize, &str) -> String) -> String {
    let event = |uptime: f64, from: &str, to: &str| {
        format!(
            "== event {uptime} {{\"event\":{{\"kind\":\"clocksource-change\",\"from\":\"{from}\",\"to\":\"{to}\",\
             \"reason\":{{\"text\":\"x\"}}}}}}"
        )
    };
    let lines = [
        "== event 1.0 {\"text\":\"listening\",\"event\":null}".to_owned(),
        "== kept 501".to_owned(),
        "== switch 5.00 tsc hpet".to_owned(),
        event(5.2, "tsc", "hpet"),
        "== sample 60.00 5000 400 400 2 9 4 12".to_owned(),
        "== switch 70.00 hpet tsc".to_owned(),
        event(70.1, "hpet", "tsc"),
        "== sample 120.00 5010 410 408 4 9 4 24".to_owned(),
        "== ended yes 2".to_owned(),
    ];
    let lines: Vec<String> = lines.iter().enumerate().map(|(at, line)| change(at, line)).collect();
    lines.join("\n")
}

#[test]
fn a_good_run_is_good() {
    judge(&made_up(|_, line| line.to_owned()), 2);
}

#[test]
#[should_panic(expected = "switch 1")]
fn judge_misreported_switch_fails() {
    judge(
        &made_up(
            |at, line| {
                if at == 6 { line.replace("\"tsc\"", "\"acpi_pm\"") } else { line.to_owned() }
            },
        ),
        2,
    );
}

#[test]
#[should_panic(expected = "not all were reported")]
fn judge_unreported_switch_fails() {
    judge(&made_up(|at, line| if at == 6 { String::new() } else { line.to_owned() }), 2);
}

#[test]
#[should_panic(expected = "its own memory grows")]
fn memory_that_grows_is_noticed() {
    judge(&made_up(|_, line| line.replace("410 408", "600 598")), 2);
}
