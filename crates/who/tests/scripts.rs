//! If the functions of scripts are not named, the report states that, and how to name them.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may end where something is missing")]

mod counted;

use counted::{sources, watch};
use std::ffi::OsString;
use std::process::Command;

/// Programs of one function, `hot`, that reads the clock; the seconds are the last argument.
const PROGRAMS: [(&str, &[&str], &str, &str); 5] = [
    (
        "ruby",
        &["-e"],
        "def hot; 1000.times { Process.clock_gettime(Process::CLOCK_MONOTONIC) }; 1000; end
         e = Process.clock_gettime(Process::CLOCK_MONOTONIC) + ARGV[0].to_f; n = 0
         n += hot while Process.clock_gettime(Process::CLOCK_MONOTONIC) < e
         puts \"hot #{n}\"",
        "functions of Ruby",
    ),
    (
        "php",
        &["-r"],
        "function hot() { for ($i = 0; $i < 1000; $i++) hrtime(true); return 1000; }
         $e = hrtime(true) + 1e9 * (float)$argv[1]; $n = 0;
         while (hrtime(true) < $e) $n += hot(); echo \"hot $n\\n\";",
        "functions of PHP",
    ),
    (
        "perl",
        &["-MTime::HiRes=time", "-e"],
        "sub hot { time() for 1..1000; 1000 } my $e = time() + $ARGV[0]; my $n = 0;
         $n += hot() while time() < $e; print \"hot $n\\n\";",
        "functions of Perl",
    ),
    ("lua", &[], "", "functions of Lua"),
    (
        "node",
        &["-e"],
        "function hot() { for (let i = 0; i < 1000; i++) performance.now(); return 1000; }
         const e = performance.now() + 1000 * Number(process.argv[1]); let n = 0;
         while (performance.now() < e) n += hot(); console.log(`hot ${n}`);",
        "--perf-basic-prof",
    ),
];

#[test]
#[ignore = "takes a few seconds: ./test.sh agreement"]
fn functions_that_are_not_named_are_said_to_be_missing() {
    for (tool, options, program, expected) in PROGRAMS {
        if Command::new(tool).arg("-v").output().is_err() {
            eprintln!("skipped: {tool}");
            continue;
        }
        let mut words: Vec<OsString> = vec![tool.into()];
        if tool == "lua" {
            words.push(sources().join("target.lua").into());
        } else {
            words.extend(options.iter().map(OsString::from));
            words.push(program.into());
        }
        let Some(seen) = watch(&words, "1.5") else { return };
        let gaps = seen.recording.gaps.join("; ");
        println!("{tool}: {gaps}");
        assert!(gaps.contains(expected), "{tool}: {gaps}: {:#?}", seen.profile.functions);
    }
}

#[test]
#[ignore = "takes a few seconds: ./test.sh agreement"]
fn node_with_a_map_is_named_and_nothing_is_missing() {
    if Command::new("node").arg("-v").output().is_err() {
        eprintln!("skipped: node");
        return;
    }
    let program = PROGRAMS[4].2;
    let options = ["node", "--perf-basic-prof", "--interpreted-frames-native-stack", "-e", program];
    let Some(seen) = watch(&options.map(OsString::from), "1.5") else { return };
    let gaps = seen.recording.gaps.join("; ");
    assert!(!gaps.contains("--perf-basic-prof"), "{gaps}");
}
