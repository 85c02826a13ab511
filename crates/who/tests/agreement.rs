//! Programs in every language with a known mix of reads from known functions: the report must match
//! their reads. Writes docs/who-agreement.md when `UPDATE_AGREEMENT` is set.
//!
//! A language whose tools are not here is skipped, with a message.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may end where something is missing")]

use clocksmith_who::account::{Profile, profile};
use clocksmith_who::calibrate;
use clocksmith_who::session::{Options, Session, Target};
use clocksmith_who::spawn::Waiting;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// How long each program runs, in seconds; the table is made with more.
const SECONDS: &str = "4";
/// Samples a second: enough to distinguish shares on a busy machine.
const FREQUENCY: u64 = 2997;
/// Least samples of reads for a verdict.
const ENOUGH: f64 = 1500.0;
/// How far a share may be off.
const OFF: f64 = 0.03;

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/targets")
}

/// Builds a program; `None`, with a message, if the tool is not here.
fn build(name: &str, tool: &str, arguments: &[&str]) -> Option<()> {
    let done = Command::new(tool).args(arguments).current_dir(sources()).output();
    match done {
        Ok(done) if done.status.success() => Some(()),
        Ok(done) => {
            let why = String::from_utf8_lossy(&done.stderr).into_owned();
            // A compiler without this target is a missing tool; a program that does not build is not.
            assert!(why.contains("can't find crate for `std`"), "{name}: {why}");
            eprintln!("skipped: {name}: {tool} lacks the target");
            None
        }
        Err(error) => {
            eprintln!("skipped: {name}: {tool}: {error}");
            None
        }
    }
}

/// The programs that can be built or run here: name and command.
fn programs(dir: &Path) -> Vec<(&'static str, Vec<String>)> {
    let at = |name: &str| dir.join(name).to_str().unwrap().to_owned();
    let source = |name: &str| sources().join(name).to_str().unwrap().to_owned();
    let words = |list: &[&str]| list.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
    let mut all = Vec::new();
    let mut add = |name, built: Option<()>, command: Vec<String>| {
        if built.is_some() {
            all.push((name, command));
        }
    };
    let to = at("c");
    add("C, dynamic", build("C", "gcc", &["-O2", "-o", &to, "target.c"]), vec![to.clone()]);
    let to = at("c-static");
    let built = build("static C", "gcc", &["-O2", "-static", "-o", &to, "target.c"]);
    add("C, static", built, vec![to.clone()]);
    let to = at("cc");
    add("C++", build("C++", "g++", &["-O2", "-o", &to, "target.cc"]), vec![to.clone()]);
    let to = at("rs");
    let built = build("Rust", "rustc", &["-O", "--edition", "2024", "-o", &to, "target.rs"]);
    add("Rust, glibc", built, vec![to.clone()]);
    let to = at("rs-musl");
    let target = "x86_64-unknown-linux-musl";
    let flags = ["-O", "--edition", "2024", "--target", target, "-o", &to, "target.rs"];
    add("Rust, musl, static", build("musl", "rustc", &flags), vec![to.clone()]);
    let to = at("go");
    add("Go, static", build("Go", "go", &["build", "-o", &to, "target.go"]), vec![to.clone()]);
    let built = build("Java", "javac", &["-d", dir.to_str().unwrap(), "Target.java"]);
    let mut java =
        words(&["java", "-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,Target::hot*"]);
    java.extend(["-cp".to_owned(), dir.to_str().unwrap().to_owned(), "Target".to_owned()]);
    add("Java", built, java);
    let node =
        ["node", "--perf-basic-prof", "--no-turbo-inlining", "--interpreted-frames-native-stack"];
    let mut node = words(&node);
    node.push(source("target.js"));
    add("Node", build("Node", "node", &["--version"]), node);
    let probe = "import sys; print(sys.executable)";
    match Command::new("python3").args(["-c", probe]).output() {
        Ok(out) if out.status.success() => {
            let python = String::from_utf8(out.stdout).unwrap().trim().to_owned();
            add("Python", Some(()), vec![python, source("target.py")]);
        }
        _ => eprintln!("skipped: Python"),
    }
    all
}

/// Runs a program and returns its own counts and the observations.
fn watch(
    command: &[String],
    seconds: &str,
    out: &Path,
) -> (Vec<(String, f64)>, Profile, Vec<String>) {
    let costs = calibrate::costs(Duration::from_millis(250));
    // The program's own count goes to a file, by a shell that it replaces. Node writes a log where it is started.
    let directory = out.parent().unwrap().display();
    let script = format!("cd {directory} && exec \"$@\" > {}", out.display());
    let shell = ["sh", "-c", &script, "sh"].map(OsString::from).into_iter();
    let words: Vec<OsString> =
        shell.chain(command.iter().map(OsString::from)).chain([OsString::from(seconds)]).collect();
    let waiting = Waiting::new(&words, false).unwrap();
    let options = Options { frequency: FREQUENCY, ..Options::PROGRAM };
    let mut session = Session::start(&Target::Command(waiting.pid()), options).unwrap();
    let mut running = waiting.go().unwrap();
    while running.ended().unwrap().is_none() {
        session.watch(Duration::from_millis(50), || false);
    }
    session.stop();
    let recording = session.recording();
    let text = std::fs::read_to_string(out).unwrap();
    let counts: Vec<(String, f64)> = text
        .lines()
        .filter_map(|line| {
            let (name, count) = line.rsplit_once(' ')?;
            Some((name.to_owned(), count.parse().ok()?))
        })
        .collect();
    (counts, profile(&recording, &costs), recording.gaps)
}

#[test]
#[ignore = "takes a minute: ./test.sh agreement"]
fn every_language_is_understood() {
    if Command::new("true").status().is_err() || !cfg!(target_arch = "x86_64") {
        eprintln!("skipped: x86-64 only");
        return;
    }
    let seconds = std::env::var("AGREEMENT_SECONDS").unwrap_or_else(|_| SECONDS.to_owned());
    let dir = tempfile::tempdir().unwrap();
    let mut table = String::from(HEAD);
    let mut wrong = Vec::new();
    for (name, command) in programs(dir.path()) {
        let (counts, profile, gaps) = watch(&command, &seconds, &dir.path().join("out"));
        let all: f64 = counts.iter().map(|(_, count)| count).sum();
        assert!(all > 0.0, "{name}: it has counted nothing");
        for (function, count) in &counts {
            let truth = count / all;
            let found = profile.functions.iter().find(|row| row.function.contains(function));
            let share =
                found.and_then(|row| row.reads.share_of_reads).map_or(0.0, |share| share.value);
            let shown = found.map_or("not found", |row| row.function.as_str());
            let clocks = found.map_or_else(String::new, |row| row.reads.clocks.join(", "));
            table.push_str(&format!(
                "| {name} | {function} | {:.1} % | {:.1} % | {:+.1} | `{shown}` | {clocks} |\n",
                truth * 100.0,
                share * 100.0,
                (share - truth) * 100.0
            ));
            let enough = profile.totals.read_samples as f64 >= ENOUGH;
            // With fewer samples the random error alone exceeds the required accuracy.
            let allowed = if enough { OFF } else { 3.0 * OFF };
            if found.is_none() || (share - truth).abs() > allowed {
                wrong.push(format!(
                    "{name}: {function}: {truth:.3} is reported as {share:.3}; {gaps:?}"
                ));
            }
        }
        eprintln!("{name}: {} samples of reads", profile.totals.read_samples);
    }
    eprintln!("{table}");
    if std::env::var_os("UPDATE_AGREEMENT").is_some() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/who-agreement.md");
        std::fs::write(page, &table).unwrap();
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

const HEAD: &str = "\
# Reports of `who`, compared with the programs' own counts

The test programs make a known mix of reads from known functions, and count their own calls (the column *did*). The
columns *reported*, *named* and *clocks* show what `who` found by sampling and breakpoints; *points off* is the
difference in percentage points. An empty cell in *clocks* means that `who` names no clock for that function. Written by
`UPDATE_AGREEMENT=1 AGREEMENT_SECONDS=10 cargo test -p clocksmith-who --test agreement -- --ignored`. Java and Node run
with inlining off for these functions: a runtime's map has no names of inlined functions.

| program | function | did | reported | points off | named | clocks |
|---|---|---|---|---|---|---|
";
