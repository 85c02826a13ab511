//! Python functions are named in every version that is installed here, of pyenv and of the distribution, by the
//! function that runs: not its caller, and not one that ran before. The program counts its own reads.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may end where something is missing")]

mod counted;

use counted::{Counted, sources, watch};
use std::path::{Path, PathBuf};

/// How far an interval may miss the truth: a few do by chance.
const OFF: f64 = 0.06;

/// Interpreters by the version that their names state; of pyenv and of the distribution.
fn pythons() -> Vec<(String, PathBuf)> {
    let mut directories = vec![PathBuf::from("/usr/bin"), PathBuf::from("/usr/local/bin")];
    let home = std::env::var_os("HOME").unwrap_or_default();
    let versions = std::fs::read_dir(PathBuf::from(home).join(".pyenv/versions"));
    directories.extend(versions.into_iter().flatten().flatten().map(|one| one.path().join("bin")));
    let names = std::iter::once("2.7".to_owned()).chain((6..30).map(|minor| format!("3.{minor}")));
    let only = std::env::var("PYTHONS").ok();
    let mut found: Vec<(String, PathBuf)> = names
        .flat_map(|name| {
            let program = format!("python{name}");
            directories.iter().map(move |directory| (name.clone(), directory.join(&program)))
        })
        .filter(|(name, path)| path.exists() && only.as_ref().is_none_or(|only| only == name))
        .collect();
    found.sort();
    found
}

fn run(python: &Path, extra: &[&str]) -> Option<Counted> {
    let mut words = vec![python.into()];
    words.extend(extra.iter().map(std::ffi::OsString::from));
    words.push(sources().join("functions.py").into());
    watch(&words, "2.5")
}

#[test]
#[ignore = "takes a minute: ./test.sh agreement"]
fn each_version_names_the_function_that_runs() {
    let source = include_str!("targets/functions.py");
    let (mut wrong, mut all) = (Vec::new(), (0, 0));
    for (name, python) in pythons() {
        let Some(seen) = run(&python, &[]) else { return };
        let (line, off, rows) = seen.compare(OFF);
        all = (all.0 + rows.0, all.1 + rows.1);
        println!("{}:{line} {}", python.display(), seen.recording.gaps.join("; "));
        wrong.extend(off.into_iter().map(|off| format!("{name}: {off}")));
        let frames = seen.recording.stacks.iter().flat_map(|stack| stack.frames.iter());
        let mut lines: Vec<(&str, u32)> = frames
            .filter_map(|frame| Some((&*frame.name, frame.place.as_ref()?)))
            .filter(|(_, place)| place.file.ends_with("functions.py"))
            .map(|(name, place)| (name, place.line))
            .collect();
        lines.sort_unstable();
        lines.dedup();
        // Each line that is named has a read.
        for (function, line) in &lines {
            let text = source.lines().nth((*line as usize).wrapping_sub(1)).unwrap_or("");
            let reads = ["mono()", "time.time()"].iter().any(|read| text.contains(read));
            if !reads {
                wrong.push(format!("{name}: {function}: line {line}: {text}"));
            }
        }
        if lines.is_empty() {
            wrong.push(format!("{name}: no line"));
        }
    }
    println!("{} of {} rows hold the truth", all.0, all.1);
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(all.0 * 100 >= all.1 * 85, "{} of {} rows hold the truth", all.0, all.1);
}

/// Without symbols, except those that extension modules need: as in distributions.
#[test]
#[ignore = "takes a minute: ./test.sh agreement"]
fn each_stripped_version_names_the_function_that_runs() {
    let dir = tempfile::tempdir().unwrap();
    let mut wrong = Vec::new();
    for (name, python) in pythons() {
        let python = python.canonicalize().unwrap();
        let (Some(home), Some(file)) = (python.ancestors().nth(2), python.file_name()) else {
            continue;
        };
        let copy = dir.path().join(file);
        let stripped =
            std::process::Command::new("strip").arg("-o").arg(&copy).arg(&python).status();
        if !stripped.is_ok_and(|status| status.success()) {
            eprintln!("skipped: no strip");
            return;
        }
        let mut home = std::ffi::OsString::from(home);
        home = [std::ffi::OsString::from("PYTHONHOME="), home].into_iter().collect();
        let words = ["env".into(), home, copy.into(), sources().join("functions.py").into()];
        let Some(seen) = watch(&words, "1.5") else { return };
        let (line, off, _) = seen.compare(2.0 * OFF);
        println!("stripped {name}:{line} {}", seen.recording.gaps.join("; "));
        wrong.extend(off.into_iter().map(|off| format!("{name}: {off}")));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
#[ignore = "takes a few seconds: ./test.sh agreement"]
fn map_of_functions_leaves_nothing_missing() {
    for (name, python) in pythons() {
        let minor: Option<u32> = name.strip_prefix("3.").and_then(|minor| minor.parse().ok());
        if minor.is_some_and(|minor| minor >= 12) {
            let Some(seen) = run(&python, &["-X", "perf"]) else { return };
            assert!(seen.share("f_mono").0 > 0.0, "{name}: {:?}", seen.profile.functions);
            let gaps = seen.recording.gaps.join("; ");
            assert!(!gaps.contains("-X perf"), "{name}: {gaps}");
        }
    }
}
