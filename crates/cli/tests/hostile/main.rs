//! Hostile machines: every text that another machine may have written has sequences that a terminal, a shell or a
//! parser could act on; every verb reads it, in every form of output. None of these sequences may reach the
//! output.
//!
//! `CLOCKSMITH_HOSTILE_SECONDS=1200` for a long run, `CLOCKSMITH_HOSTILE_SEED=N` for other machines; a fault names the
//! seed of its machine.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod machines;
mod program;

use machines::{Dice, evil};
use program::{Run, on_terminal, run, try_command, without_colours};
use serde_json::Value;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

/// Machines of a run without `CLOCKSMITH_HOSTILE_SECONDS`.
const MACHINES: u64 = 8;

/// The machines' first seed.
fn seed() -> u64 {
    std::env::var("CLOCKSMITH_HOSTILE_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1)
}

fn words(words: &[&str], paths: &[&Path]) -> Vec<OsString> {
    let words = words.iter().map(OsString::from);
    words.chain(paths.iter().map(|path| path.as_os_str().to_owned())).collect()
}

/// A word of the command line: it ends at the first zero.
fn argument(dice: &mut Dice) -> String {
    evil(dice).replace('\0', "")
}

/// The runs of a machine: words, and whether the output is JSON.
fn runs(dir: &Path, dice: &mut Dice) -> Vec<(Vec<OsString>, bool)> {
    let root = dir.join("root");
    machines::machine(&root, dice);
    let files = machines::files(&dir.join("files"), dice);
    let (bundle, log) = (dir.join("bundle.tar.gz"), root.join("dmesg"));
    let mut all = vec![(words(&["collect", "--quiet", "--root"], &[&root]), false)];
    all[0].0.extend(words(&["--output"], &[&bundle]));
    for (verb, path) in [
        (&["why", "--root"] as &[&str], &root),
        (&["why", "--bundle"], &bundle),
        (&["why", "--log"], &log),
        (&["predict", "--root"], &root),
        (&["predict", "--log"], &log),
        (&["check", "--root"], &root),
        (&["fix", "--root"], &root),
        (&["watch", "--once", "--no-history", "--root"], &root),
    ] {
        all.push((words(verb, &[path]), false));
        let json = words(&["--json"], &[]).into_iter().chain(words(verb, &[path]));
        all.push((json.collect(), true));
    }
    for (verb, path) in [
        (&["why", "-v", "--root"] as &[&str], &root),
        (&["why", "-q", "--root"], &root),
        (&["why", "--html", "-", "--root"], &root),
        (&["check", "--format", "npd", "--root"], &root),
        (&["check", "--format", "tap", "--root"], &root),
        (&["check", "--format", "prometheus", "--root"], &root),
        (&["fix", "--format", "ansible", "--root"], &root),
        (&["collect", "--root"], &root),
        (&["fleet", "--lines"], &bundle),
        (&["vm", "migrate", "--to"], &root),
    ] {
        all.push((words(verb, &[path]), false));
    }
    for file in &files {
        all.push((words(&["vm", "lint"], &[file]), false));
        all.push((words(&["vm", "fix"], &[file]), false));
        all.push((words(&["--json", "vm", "lint"], &[file]), true));
        all.push((words(&["vm", "migrate", "--to"], &[file]), false));
    }
    // The command line itself: a name may come from a list that another person made.
    let (one, two) = (argument(dice), argument(dice));
    all.push((words(&["explain", "--", &one], &[]), false));
    all.push((words(&["explain", "--json", "--", &one], &[]), true));
    all.push((words(&["predict", "--blank", &format!("--set={one}")], &[]), false));
    all.push((words(&["predict", "--blank", &format!("--cmdline=clocksource={two}")], &[]), false));
    all.push((words(&["predict", "--blank", &format!("--kernel={two}")], &[]), false));
    all.push((words(&["check", &format!("--{one}"), &two], &[]), false));
    all.push((words(&["vm", "lint", &format!("./{two}")], &[]), false));
    all.push((words(&["why", &format!("--log=./{one}")], &[]), false));
    all
}

/// Checks a document, besides: it is one document, and its commands are commands.
fn document(dir: &Path, run: &Run) -> Result<usize, String> {
    if run.code == Some(2) && run.stdout.is_empty() {
        return Ok(0);
    }
    let document: Value = serde_json::from_str(&run.stdout)
        .map_err(|error| format!("no JSON: {error}: {}", run.stdout))?;
    let mut commands = BTreeSet::new();
    gather(&document, &mut commands);
    for command in &commands {
        try_command(dir, command)?;
    }
    Ok(commands.len())
}

/// Collects all commands for a shell in a document.
fn gather(value: &Value, commands: &mut BTreeSet<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| gather(item, commands)),
        Value::Object(fields) => {
            for (name, field) in fields {
                if name == "commands" {
                    let words = field.as_array().into_iter().flatten().filter_map(Value::as_str);
                    commands.extend(words.map(str::to_owned));
                }
                gather(field, commands);
            }
        }
        _ => {}
    }
}

#[derive(Default)]
struct Sum {
    machines: u64,
    runs: u64,
    commands: usize,
    longest: Duration,
    kib: i64,
}

fn attack(seed: u64, sum: &mut Sum) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    let mut dice = Dice(seed);
    let mut faults = Vec::new();
    for (arguments, json) in runs(dir.path(), &mut dice) {
        sum.runs += 1;
        let result = run(dir.path(), &arguments).and_then(|run| {
            sum.longest = sum.longest.max(run.took);
            sum.kib = sum.kib.max(run.kib);
            if json {
                sum.commands += document(dir.path(), &run)?;
            }
            Ok(())
        });
        if let Err(fault) = result {
            faults.push(format!("seed {seed}: {arguments:?}: {fault}"));
        }
    }
    sum.machines += 1;
    faults
}

#[test]
fn hostile_machines_reach_no_terminal_and_no_shell() {
    let long = std::env::var("CLOCKSMITH_HOSTILE_SECONDS").ok();
    let end = long.map(|seconds| Duration::from_secs(seconds.parse().unwrap()));
    let (begun, first) = (Instant::now(), seed());
    let (mut sum, mut faults) = (Sum::default(), Vec::new());
    for seed in first.. {
        let over = end.map_or(sum.machines >= MACHINES, |end| begun.elapsed() >= end);
        if over || faults.len() > 20 {
            break;
        }
        faults.extend(attack(seed, &mut sum));
    }
    println!(
        "seeds {first}..{}: {} runs, {} commands tried, longest {:?}, most memory {} KiB, {:?}",
        first + sum.machines,
        sum.runs,
        sum.commands,
        sum.longest,
        sum.kib,
        begun.elapsed()
    );
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
    assert!(sum.commands > 10, "hardly any command was tried");
}

#[test]
fn hostile_machines_on_a_terminal_have_our_colours_only() {
    let first = seed();
    let mut colours = 0;
    for seed in first..first + 4 {
        let dir = tempfile::tempdir().unwrap();
        let mut dice = Dice(seed);
        for (arguments, json) in runs(dir.path(), &mut dice).into_iter().take(40) {
            // A bundle is not written to a terminal, and a message reports that; the rest is for people.
            if json || !["why", "predict", "fix", "vm"].iter().any(|verb| arguments[0] == *verb) {
                continue;
            }
            let Some(shown) = on_terminal(dir.path(), &arguments) else {
                eprintln!("skipped: no script(1)");
                return;
            };
            let (text, found) = without_colours(&shown);
            colours += found;
            program::clean("the terminal", &text)
                .unwrap_or_else(|fault| panic!("seed {seed}: {arguments:?}: {fault}"));
        }
    }
    assert!(colours > 0, "a terminal has colours");
}

#[test]
fn help_to_a_full_device_is_an_error() {
    use std::process::{Command, Stdio};
    for arguments in [
        &["--help"] as &[&str],
        &["--version"],
        &["why", "--help"],
        &["completions", "bash"],
        &["man"],
    ] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_clocksmith"))
            .args(arguments)
            .stdout(Stdio::from(full))
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
        assert!(stderr.contains("cannot write to standard output"), "{arguments:?}: {stderr}");
        // A reader that has gone away is not an error.
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let status = Command::new(env!("CARGO_BIN_EXE_clocksmith"))
            .args(arguments)
            .stdout(writer)
            .status()
            .unwrap();
        assert_eq!(status.code(), Some(0), "{arguments:?}");
    }
}
