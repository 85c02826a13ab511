//! Less evidence makes a verdict unknown, and never another definite one: every log of the repository is cut, searched
//! and thinned out, and each reduction may only say what the whole log says.

#![allow(clippy::unwrap_used)]

use clocksmith_diagnose::{CauseId, Measured, Verdict, assess};
use clocksmith_facts::Facts;
use clocksmith_facts::log::KernelLog;
use std::fs;
use std::path::{Path, PathBuf};

/// The verdict on a text, and whether somebody changed the clocksource in the course of it.
fn verdict(text: &str) -> Option<(Verdict, bool)> {
    let log = KernelLog::scan(text.as_bytes(), "log").ok()?;
    let seen = assess(Facts::from_log(log), Measured::default()).report;
    let by_hand = seen.causes.iter().any(|cause| cause.id == CauseId::RuntimeOverride);
    Some((seen.verdict, by_hand))
}

fn logs() -> Vec<(PathBuf, String)> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = Vec::new();
    let folders = ["book/samples", "crates/cli/tests/fixtures", "crates/kernel/tests/fixtures"];
    let mut todo: Vec<PathBuf> = folders.iter().map(|folder| top.join(folder)).collect();
    while let Some(dir) = todo.pop() {
        for entry in fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            let is_log =
                path.extension().is_some_and(|end| end == "log") || path.ends_with("dmesg");
            if path.is_dir() {
                todo.push(path);
            } else if is_log && let Ok(text) = fs::read_to_string(&path) {
                found.push((path, text));
            }
        }
    }
    found.sort();
    found
}

/// The parts of a log that people paste.
fn reductions(text: &str) -> Vec<(String, String)> {
    let lines: Vec<&str> = text.lines().collect();
    let join = |lines: &[&str]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    let keep = |wanted: &dyn Fn(&str) -> bool| {
        join(&lines.iter().copied().filter(|line| wanted(line)).collect::<Vec<_>>())
    };
    let mut all = Vec::new();
    // Long logs are cut at some of their lines, so that the test stays short.
    let step = lines.len().div_ceil(60).max(1);
    for end in (1..lines.len()).step_by(step) {
        all.push((format!("the first {end} lines"), join(&lines[..end])));
        let without: Vec<&str> =
            lines.iter().enumerate().filter(|(at, _)| *at != end).map(|(_, line)| *line).collect();
        all.push((format!("without line {}", end + 1), join(&without)));
    }
    all.push(("no banner".to_owned(), keep(&|line| !line.contains("Linux version"))));
    for words in
        [&["clocksource"][..], &["hpet"], &["tsc", "clocksource"], &["clock"], &["acpi"], &["TSC"]]
    {
        let text = keep(&|line| words.iter().any(|word| line.contains(word)));
        all.push((format!("grep {}", words.join(" or ")), text));
    }
    all.push(("the last quarter".to_owned(), join(&lines[lines.len() - lines.len() / 4..])));
    all.push(("quoted".to_owned(), lines.iter().map(|line| format!("> {line}\n")).collect()));
    all.retain(|(_, text)| !text.is_empty());
    all
}

#[test]
fn verdict_of_part_of_log_is_unknown_or_that_of_whole() {
    let mut asked = 0;
    let mut wrong = Vec::new();
    for (path, text) in logs() {
        let Some((whole, by_hand)) = verdict(&text) else { continue };
        if by_hand {
            continue;
        }
        for (what, part) in reductions(&text) {
            asked += 1;
            let Some((got, _)) = verdict(&part) else { continue };
            if got != Verdict::Unknown && got != whole {
                wrong.push(format!("{}: {what}: {got:?}, whole: {whole:?}", path.display()));
            }
        }
    }
    assert!(asked > 1000, "{asked} reductions");
    assert!(wrong.is_empty(), "{} of {asked}: {:#?}", wrong.len(), &wrong[..wrong.len().min(20)]);
}
