//! Programs that count their own reads in a mapped file, watched for a window: the truth must lie inside the printed
//! intervals. Writes docs/who-calibration.md when `UPDATE_CALIBRATION` is set.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may end where something is missing")]
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use clocksmith_who::account::{Estimate, Profile, profile};
use clocksmith_who::calibrate;
use clocksmith_who::session::{Options, Session, Target};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The functions, in the order of the counters, with the clock that each reads.
const FUNCTIONS: [&str; 7] = ["f_mono", "f_real", "f_boot", "f_day", "f_coarse", "f_time", "f_tsc"];
const CLOCKS: [&str; 7] = [
    "CLOCK_MONOTONIC",
    "CLOCK_REALTIME",
    "CLOCK_BOOTTIME",
    "gettimeofday",
    "CLOCK_MONOTONIC_COARSE",
    "time",
    "rdtsc",
];
/// Counters of one thread.
const ROW: usize = 8;
/// A share below is not judged: it rests on a few samples.
const SMALL: f64 = 0.02;

fn build(dir: &Path, name: &str, extra: &[&str]) -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/targets/logged.c");
    let program = dir.join(name);
    let built = Command::new("cc")
        .args(["-O2", "-pthread", "-o"])
        .arg(&program)
        .args(extra)
        .arg(source)
        .status();
    if built.is_ok_and(|status| status.success()) {
        return Some(program);
    }
    eprintln!("skipped: {name}: no cc");
    None
}

/// All counts so far, by kind.
fn counts(file: &Path) -> Option<[f64; FUNCTIONS.len()]> {
    let bytes = std::fs::read(file).ok()?;
    let words: Vec<u64> = bytes
        .chunks_exact(8)
        .filter_map(|word| Some(u64::from_le_bytes(word.try_into().ok()?)))
        .collect();
    let mut sums = [0.0; FUNCTIONS.len()];
    for row in words.chunks_exact(ROW) {
        for (sum, count) in sums.iter_mut().zip(row) {
            *sum += *count as f64;
        }
    }
    Some(sums)
}

/// A window of a program's life: the true numbers of reads by kind, the window's seconds, and the program's profile.
struct Window {
    did: [f64; FUNCTIONS.len()],
    seconds: f64,
    profile: Profile,
    gaps: Vec<String>,
    recorded: f64,
    took: f64,
}

struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The tests run one at a time: each judges its samples of a machine with two processors or more.
static ALONE: Mutex<()> = Mutex::new(());

fn watch(program: &Path, kind: &str, file: &Path, window: Duration) -> Window {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let _ = std::fs::remove_file(file);
    // Many threads take the whole machine, so they come behind this process.
    let nice = if kind == "threads" { "10" } else { "0" };
    let child = Command::new("nice")
        .args(["-n", nice])
        .arg(program)
        .arg(file)
        .args(["60", kind])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let child = Ended(child);
    let begun = Instant::now();
    while counts(file).is_none_or(|counts| counts.iter().sum::<f64>() < 1e5) {
        assert!(begun.elapsed() < Duration::from_secs(20), "{kind} does not begin");
        std::thread::sleep(Duration::from_millis(20));
    }
    let costs = calibrate::costs(Duration::from_millis(250));
    let target = Target::Processes(vec![child.0.id()]);
    let mut session = Session::start(&target, Options::PROGRAM).unwrap();
    let (before, begun) = (counts(file).unwrap(), Instant::now());
    session.record(window, || false);
    let (after, seconds) = (counts(file).unwrap(), begun.elapsed().as_secs_f64());
    let recording = session.recording();
    let mut did = [0.0; FUNCTIONS.len()];
    for ((did, after), before) in did.iter_mut().zip(after).zip(before) {
        *did = after - before;
    }
    let profile = profile(&recording, &costs);
    Window {
        did,
        seconds,
        recorded: recording.seconds,
        took: begun.elapsed().as_secs_f64(),
        gaps: recording.gaps,
        profile,
    }
}

/// Rows inside their intervals and all rows, by kind of row.
#[derive(Default)]
struct Held(BTreeMap<&'static str, (u32, u32)>, Vec<String>, u32, Slack);

/// How far beyond an interval the truth may be, as a factor: where one second on a busy machine is judged.
struct Slack(f64);

impl Default for Slack {
    fn default() -> Self {
        Self(1.0)
    }
}

impl Held {
    /// A row that is not printed claims nothing.
    fn judge(&mut self, what: &'static str, name: &str, truth: f64, said: Option<Estimate>) {
        let Some(said) = said else {
            self.2 += 1;
            return;
        };
        let (held, all) = self.0.entry(what).or_default();
        *all += 1;
        let slack = self.3.0;
        if (said.low / slack..=said.high * slack).contains(&truth) {
            *held += 1;
        } else {
            self.1.push(format!("{what} {name}: {truth:.4}, said {said:.3?}"));
        }
    }

    fn window(&mut self, name: &str, window: &Window) {
        let all: f64 = window.did.iter().sum();
        let profile = &window.profile;
        let said = profile.totals.reads_per_second_interval;
        // On a busy machine this thread may have come late to one of both ends.
        if (window.recorded / window.seconds - 1.0).abs() < 0.03 {
            self.judge("reads a second", name, all / window.seconds, said);
        }
        for at in 0..FUNCTIONS.len() {
            let (function, clock) = (FUNCTIONS[at], CLOCKS[at]);
            let share = window.did[at] / all;
            if share < SMALL {
                continue;
            }
            let named = format!("{name} {clock}");
            let row = profile.rows.iter().find(|row| match row.clock.as_deref() {
                Some(name) => name == clock,
                None => row.api.name() == clock,
            });
            self.judge("clock", &named, share, row.and_then(|row| row.share_of_reads));
            // One function may read several clocks.
            let row = profile.programs.iter().find(|row| row.function == function);
            if row.is_some() || !["place", "random"].iter().any(|kind| name.ends_with(kind)) {
                let named = format!("{name} {function}");
                self.judge("function", &named, share, row.and_then(|row| row.reads.share_of_reads));
            }
        }
    }
}

const KINDS: [&str; 11] = [
    "mix", "half", "seldom", "place", "random", "loops", "four", "forks", "coarse", "cheap",
    "counter",
];
/// Kinds with reads of a few nanoseconds.
const CHEAP: [&str; 3] = ["coarse", "cheap", "counter"];

#[test]
#[ignore = "takes minutes: by name"]
fn who_intervals_hold_in_93_of_100_rows() {
    let dir = tempfile::tempdir().unwrap();
    let number = |name: &str, or: u32| {
        std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(or)
    };
    let (runs, seconds) = (number("CALIBRATION_RUNS", 10), number("CALIBRATION_SECONDS", 3));
    let mut held = Held::default();
    let mut ratios: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for (name, extra) in [("dynamic", &[][..]), ("static", &["-static"])] {
        let Some(program) = build(dir.path(), name, extra) else { continue };
        let only = std::env::var("CALIBRATION_KINDS").ok();
        for kind in KINDS {
            if only.as_ref().is_some_and(|only| !only.split(',').any(|one| one == kind)) {
                continue;
            }
            for _ in 0..runs {
                let file = dir.path().join("counts");
                let window = watch(&program, kind, &file, Duration::from_secs(seconds.into()));
                held.window(&format!("{name} {kind}"), &window);
                let did = window.did.iter().sum::<f64>() / window.seconds;
                let said = window.profile.totals.reads_per_second.unwrap_or(0.0);
                ratios.entry(format!("{name} {kind}")).or_default().push(said / did);
            }
        }
    }
    let mut table = String::from(HEAD);
    for (what, (inside, all)) in &held.0 {
        let percent = f64::from(*inside) / f64::from(*all) * 100.0;
        table.push_str(&format!("| {what} | {inside} | {all} | {percent:.1} % |\n"));
    }
    table.push_str(&format!("\n{} rows were not printed: too few samples, or no hit.\n", held.2));
    table.push_str(RATIOS);
    for (name, ratios) in &mut ratios {
        ratios.sort_by(f64::total_cmp);
        let (least, most) = (ratios[0], ratios[ratios.len() - 1]);
        let median = ratios[ratios.len() / 2];
        table.push_str(&format!("| {name} | {least:.2} | {median:.2} | {most:.2} |\n"));
    }
    eprintln!("{table}\n{:#?}", held.1);
    if std::env::var_os("UPDATE_CALIBRATION").is_some() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/who-calibration.md");
        std::fs::write(page, &table).unwrap();
    }
    let (inside, all) = held.0.values().fold((0, 0), |(a, b), (c, d)| (a + c, b + d));
    assert!(!refuted(inside, all), "{inside} of {all}");
}

/// The share of rows that must hold the truth.
const PROMISED: f64 = 0.93;

/// Whether so few rows hold the truth that a program which keeps the promise would give it in fewer than 1 of 1000 runs
/// (binomial): a short run refutes a large error, a long one a small error, too.
fn refuted(inside: u32, all: u32) -> bool {
    // By logarithms: the first terms of many rows are too small for a number.
    let mut term = f64::from(all) * (1.0 - PROMISED).ln();
    let mut chance = term.exp();
    for count in 1..=inside {
        let odds = f64::from(all - count + 1) / f64::from(count) * PROMISED / (1.0 - PROMISED);
        term += odds.ln();
        chance += term.exp();
    }
    chance < 0.001
}

#[test]
fn refuted_is_what_chance_does_not_give() {
    assert!(!refuted(103, 111) && !refuted(95, 111) && refuted(90, 111));
    assert!(!refuted(0, 0) && !refuted(1, 1) && !refuted(18, 21) && refuted(0, 10));
    // The longest runs: 800 rows of 93 and of 90 %.
    assert!(!refuted(744, 800) && refuted(700, 800) && !refuted(800, 800));
}

/// Reads of a few nanoseconds overlap with the instructions around them, and the intervals allow for that: the truth
/// was outside by a factor of 4. Many runs, above, judge how many of the intervals hold it exactly.
#[test]
fn who_intervals_of_cheap_reads_hold() {
    let dir = tempfile::tempdir().unwrap();
    let Some(program) = build(dir.path(), "cheap", &[]) else { return };
    let mut held = Held { 3: Slack(1.5), ..Held::default() };
    for kind in CHEAP {
        held.window(
            kind,
            &watch(&program, kind, &dir.path().join("counts"), Duration::from_secs(1)),
        );
    }
    let (inside, all) = held.0.values().fold((0, 0), |(a, b), (c, d)| (a + c, b + d));
    assert!(inside + 3 >= all, "{inside} of {all}: {:#?}", held.1);
}

/// Children that have ended before they are looked at, as workers and commands of scripts: their reads are counted.
#[test]
fn who_of_short_lived_children_counts_their_reads() {
    let dir = tempfile::tempdir().unwrap();
    let Some(program) = build(dir.path(), "children", &[]) else { return };
    for kind in ["brief", "execs"] {
        let window = watch(&program, kind, &dir.path().join("counts"), Duration::from_secs(1));
        let did = window.did.iter().sum::<f64>() / window.seconds;
        let totals = &window.profile.totals;
        let said = totals.reads_per_second_interval.unwrap();
        eprintln!("{kind}: {did:.0} reads a second, said {said:?}; {:?}", window.gaps);
        assert!((said.low / 1.5..said.high * 1.5).contains(&did), "{kind}: {did} said {said:?}");
        assert!(said.high < 4.0 * said.low, "{kind}: {said:?}");
        let ended = window.gaps.iter().any(|gap| gap.contains("could be examined"));
        assert_eq!(ended, kind == "execs", "{:?}", window.gaps);
    }
}

/// 64 threads on a few processors are switched often: their CPU time and their reads are all there.
#[test]
fn who_of_many_threads_counts_their_time() {
    let dir = tempfile::tempdir().unwrap();
    let Some(program) = build(dir.path(), "threads", &[]) else { return };
    let window =
        watch(&program, "threads", &dir.path().join("counts"), Duration::from_millis(1500));
    let did = window.did.iter().sum::<f64>() / window.seconds;
    let said = window.profile.totals.reads_per_second.unwrap_or(0.0);
    eprintln!("{did:.0} reads a second, said {said:.0}; {:.2} s of 1.5 s", window.recorded);
    assert!((0.6..1.6).contains(&(said / did)), "{did} said {said}");
    // Hits of one moment are of several threads, each of which is a draw.
    let mut held = Held::default();
    held.window("threads", &window);
    let (inside, all) = held.0.values().fold((0, 0), |(a, b), (c, d)| (a + c, b + d));
    assert!(inside + 1 >= all, "{inside} of {all}: {:#?}", held.1);
    // The end is by a clock and not by when this thread may run.
    assert!(window.recorded < 2.5, "{} s in {} s", window.recorded, window.took);
}

const HEAD: &str = "\
# How often `who` is right

C programs, linked dynamically and statically, count each call in a mapped file while `who` watches them for three seconds, ten
times each (`crates/who/tests/targets/logged.c`: eleven kinds, among them one place that reads two clocks, loops of one
clock each, eight processes, reads of a few nanoseconds). A row is *held* if the printed interval contains the program's own
share of all reads, or number of reads a second, in the same window.
Written by `UPDATE_CALIBRATION=1 cargo test -p clocksmith-who --test calibrated -- --ignored`.
The figures are of a machine with two processors and a load of 10 to 25.

| rows | held | all | |
|---|--:|--:|--:|
";

const RATIOS: &str = "
Reads a second according to `who`, divided by those that the program counted:

| program | least | median | most |
|---|--:|--:|--:|
";
