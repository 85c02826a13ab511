//! Measures how much being watched slows a program down: the program counts its work for each second of its CPU time,
//! with and without a watcher in turns. `cargo bench -p clocksmith-who`.
#![allow(clippy::unwrap_used, reason = "a benchmark may end where something is missing")]

use clocksmith_who::session::{Options, Session, Target};
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::Duration;

const ROUNDS: usize = 7;

/// Work for each second of CPU time.
fn run(program: &std::path::Path, watched: bool) -> f64 {
    let before = children();
    let mut child = Command::new(program).arg("1.5").stdout(Stdio::piped()).spawn().unwrap();
    if watched {
        let target = Target::Processes(vec![child.id()]);
        let mut session = Session::start(&target, Options::PROGRAM).unwrap();
        session.watch(Duration::from_secs(30), || false);
    }
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    child.wait().unwrap();
    let work: f64 =
        text.lines().filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok()).sum();
    work / (children() - before)
}

/// CPU seconds of children that have ended.
fn children() -> f64 {
    // SAFETY: a C struct of integers, for which all zeros is valid; the call fills it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

fn main() {
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("target");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/targets/target.c");
    let built = Command::new("gcc").args(["-O2", "-o"]).arg(&program).arg(source).status();
    if !built.is_ok_and(|status| status.success()) {
        println!("skipped: gcc is missing");
        return;
    }
    let mut ratios: Vec<f64> = Vec::new();
    let mut without = run(&program, false);
    for _ in 0..ROUNDS {
        let with = run(&program, true);
        let again = run(&program, false);
        ratios.push(with / f64::midpoint(without, again));
        without = again;
    }
    ratios.sort_by(f64::total_cmp);
    println!("speed while watched, as a part of the speed alone: {ratios:.4?}");
    println!("median {:.4}", ratios[ROUNDS / 2]);
}
