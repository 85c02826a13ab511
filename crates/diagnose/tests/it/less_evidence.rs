//! Less evidence makes a verdict unknown, and never another definite one: every log of the repository is cut, searched
//! and thinned out, and each reduction may only claim what the whole log proves.

#![allow(clippy::unwrap_used)]

use clocksmith_diagnose::{CauseId, Measured, Verdict, assess};
use clocksmith_facts::Facts;
use clocksmith_facts::log::KernelLog;
use std::fs;
use std::path::{Path, PathBuf};

/// The claims about a text.
struct Said {
    verdict: Verdict,
    /// The clocksource in use, if it is final.
    current: Option<String>,
    /// Whether a user changed the clocksource in the course of the text.
    by_hand: bool,
}

fn said(text: &str) -> Option<Said> {
    let log = KernelLog::scan(text.as_bytes(), "log").ok()?;
    let seen = assess(Facts::from_log(log), Measured::default()).report;
    let by_hand = seen.causes.iter().any(|cause| cause.id == CauseId::RuntimeOverride);
    let passing = ["at the end of this log", "or tsc, if the line about it"]
        .iter()
        .any(|words| seen.headline.contains(words));
    Some(Said {
        verdict: seen.verdict,
        current: seen.clocksource.current.filter(|_| !passing),
        by_hand,
    })
}

/// Boots with a clocksource whose name is the beginning of another one's, which registers later or not at all.
const BOOTS: [(&str, &str); 3] = [
    (
        "tsc-early and tsc",
        "[    0.000000] Linux version 6.1.0 (x@y) (gcc 12) #1 SMP\n\
         [    0.086040] clocksource: tsc-early: mask: 0xffffffffffffffff max_cycles: 0x24090c9bc00, max_idle_ns: 440795288559 ns\n\
         [    0.290043] clocksource: Switched to clocksource tsc-early\n\
         [    1.700171] tsc: Refined TSC clocksource calibration: 2496.000 MHz\n\
         [    1.760171] clocksource: tsc: mask: 0xffffffffffffffff max_cycles: 0x23fa772cf26, max_idle_ns: 440795269835 ns\n\
         [    1.790171] clocksource: Switched to clocksource tsc\n\
         [   15.200000] EXT4-fs (sda1): mounted filesystem with ordered data mode\n",
    ),
    (
        "kvm-clock, tsc-early and tsc",
        "[    0.000000] Linux version 5.4.0 (x@y) (gcc 9) #1 SMP\n\
         [    0.000000] Hypervisor detected: KVM\n\
         [    0.086040] clocksource: tsc-early: mask: 0xffffffffffffffff max_cycles: 0x1fb633008a4, max_idle_ns: 440795292230 ns\n\
         [    0.590043] clocksource: Switched to clocksource kvm-clock\n\
         [    1.200000] tsc: Refined TSC clocksource calibration: 2199.997 MHz\n\
         [    1.260171] clocksource: tsc: mask: 0xffffffffffffffff max_cycles: 0x1fb6328d05a, max_idle_ns: 440795256800 ns\n\
         [    1.293547] clocksource: Switched to clocksource tsc\n\
         [   15.200000] EXT4-fs (sda1): mounted filesystem with ordered data mode\n",
    ),
    (
        "timer1 and timer",
        "[    0.000000] Linux version 6.1.0 (x@y) (arm-linux-gnueabihf-gcc 12) #1\n\
         [    0.000100] clocksource: timer1: mask: 0xffffffff max_cycles: 0xffffffff, max_idle_ns: 1911260446275 ns\n\
         [    0.000200] clocksource: timer: mask: 0xffffffff max_cycles: 0xffffffff, max_idle_ns: 79635851949 ns\n\
         [    0.090000] clocksource: Switched to clocksource timer\n\
         [   15.200000] EXT4-fs (mmcblk0p1): mounted filesystem with ordered data mode\n",
    ),
];

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
    found.extend(BOOTS.map(|(name, text)| (PathBuf::from(name), text.to_owned())));
    found.sort();
    found
}

/// The parts of a log that users paste.
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
    }
    // Removes each line about clocks, and some of the others.
    let of_clocks = |line: &str| line.contains("clocksource") || line.contains("tsc: ");
    for (without, line) in lines.iter().enumerate() {
        if without % step != 0 && !of_clocks(line) {
            continue;
        }
        let rest: Vec<&str> =
            lines.iter().enumerate().filter(|(at, _)| *at != without).map(|(_, l)| *l).collect();
        all.push((format!("without line {}", without + 1), join(&rest)));
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
fn verdict_and_clocksource_of_part_of_log_are_unknown_or_those_of_whole() {
    let mut asked = 0;
    let mut wrong = Vec::new();
    for (path, text) in logs() {
        let Some(whole) = said(&text) else { continue };
        if whole.by_hand {
            continue;
        }
        for (what, part) in reductions(&text) {
            asked += 1;
            let Some(got) = said(&part) else { continue };
            if got.verdict != Verdict::Unknown && got.verdict != whole.verdict {
                let (got, whole) = (got.verdict, whole.verdict);
                wrong.push(format!("{}: {what}: {got:?}, whole: {whole:?}", path.display()));
            }
            if let (Some(got), Some(whole)) = (&got.current, &whole.current)
                && got != whole
            {
                wrong.push(format!("{}: {what}: {got} in use, whole: {whole}", path.display()));
            }
        }
    }
    assert!(asked > 1000, "{asked} reductions");
    assert!(wrong.is_empty(), "{} of {asked}: {:#?}", wrong.len(), &wrong[..wrong.len().min(20)]);
}
