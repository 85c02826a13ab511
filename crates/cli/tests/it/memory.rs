//! Memory use with hostile machines: files far larger than any machine has, and bundles of them.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic)]

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// The most memory that a verb may take, in MiB.
const MOST: i64 = 150;
/// Larger than any file of a bundle may be.
const LARGE: usize = 60 << 20;
/// Enough lines to exceed [`MOST_OF_LINES`] if each took a pointer and a length.
const LINES: usize = 6 << 20;
const MOST_OF_LINES: i64 = 100;

/// The words of a verb whose memory is wanted, a line each.
const WORDS: &str = "CLOCKSMITH_MEMORY_OF";

/// Returns the exit code of a verb, and its peak memory, in MiB.
///
/// A new program's peak begins with that of the program before it in the same process (`begin_new_exec()`), which
/// includes all memory of the tests that run at the same time. So another, small process starts it.
fn peak(words: &[&str]) -> (i32, i64) {
    let asked = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "memory::of_a_verb_that_another_test_wants", "--nocapture"])
        .env(WORDS, words.join("\n"))
        .output()
        .unwrap();
    let answer = String::from_utf8(asked.stdout).unwrap();
    let line = answer.lines().find_map(|line| line.split_once("peak ")).unwrap().1;
    let (code, peak) = line.split_once(' ').unwrap();
    (code.parse().unwrap(), peak.parse().unwrap())
}

// `wait4` waits for it and returns the memory.
#[allow(clippy::zombie_processes)]
#[test]
fn of_a_verb_that_another_test_wants() {
    let Ok(words) = std::env::var(WORDS) else { return };
    let child = Command::new(env!("CARGO_BIN_EXE_clocksmith"))
        .args(words.lines())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut status = 0;
    // SAFETY: zeros are a value of this structure of integers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: waits for a child that was not waited for; the pointers are to live values.
    unsafe { libc::wait4(child.id() as i32, &raw mut status, 0, &raw mut usage) };
    println!("\npeak {} {}", libc::WEXITSTATUS(status), usage.ru_maxrss / 1024);
}

#[test]
fn text_of_millions_of_lines_takes_a_bounded_amount_of_memory() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log");
    let banner = b"[    0.000000] Linux version 6.1.0\n";
    for (line, count) in
        [(&b"a\n"[..], (2 << 20) + 100), (b"a\n", (2 << 20) - 100), (b"\n", (4 << 20) - 100)]
    {
        std::fs::write(&path, [banner, &line.repeat(count)[..]].concat()).unwrap();
        let (code, peak) = peak(&["why", "--log", path.to_str().unwrap()]);
        assert_eq!(code, 3);
        assert!(peak < MOST, "{peak} MiB for {count} lines");
    }
}

/// A copy of a machine that is a fixture, with large files in place of some.
fn machine(dir: &Path, large: &[&str], content: &[u8], length: usize) {
    let fixture = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../kernel/tests/fixtures/boots/linux-7.3-tsc-unstable/root"
    );
    let copied = Command::new("cp").arg("-r").arg(fixture).arg(dir).status().unwrap();
    assert!(copied.success());
    for name in large {
        let path = dir.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut file = std::fs::File::create(path).unwrap();
        for _ in 0..length / content.len() {
            file.write_all(content).unwrap();
        }
    }
}

const FILES: [&str; 6] =
    ["dmesg", "proc/cpuinfo", "proc/cmdline", "proc/version", "var/log/kern.log", "proc/1/cgroup"];

#[test]
fn large_files_of_a_machine_take_a_bounded_amount_of_memory() {
    let dir = tempfile::tempdir().unwrap();
    let cases = [(b'\n', LINES, MOST_OF_LINES), (b'A', LARGE, MOST)];
    for (number, (fill, length, most)) in cases.into_iter().enumerate() {
        let root = dir.path().join(format!("root{number}"));
        machine(&root, &FILES[..6 - 4 * number], &vec![fill; 1 << 20], length);
        let (root, bundle) = (root.to_str().unwrap(), dir.path().join(format!("{number}.tgz")));
        let bundle = bundle.to_str().unwrap();
        for words in [
            &["collect", "--root", root, "-o", bundle][..],
            &["why", "--bundle", bundle],
            &["why", "--root", root],
        ] {
            let (code, peak) = peak(words);
            assert!(code == 0 || code == 1 || code == 3, "{words:?}: {code}");
            assert!(peak <= most, "{words:?}: {peak} MiB");
        }
    }
}

#[test]
fn a_large_bundle_takes_a_bounded_amount_of_memory() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("root");
    machine(&root, &FILES, &vec![b'\n'; 1 << 20], LARGE);
    let bundle = dir.path().join("b.tgz");
    let packed =
        Command::new("tar").arg("-czf").arg(&bundle).arg("-C").arg(&root).arg(".").status();
    assert!(packed.unwrap().success());
    let bundle = bundle.to_str().unwrap();
    for words in [
        &["why", "--bundle", bundle][..],
        &["predict", "--bundle", bundle],
        &["fleet", "--lines", bundle, bundle, bundle],
    ] {
        let (code, peak) = peak(words);
        assert_eq!(code, 2, "{words:?}");
        assert!(peak <= MOST, "{words:?}: {peak} MiB");
    }
}

#[test]
fn script_of_many_substitutions_takes_a_bounded_amount_of_memory() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.sh");
    std::fs::write(&path, format!("#!/bin/sh\nqemu-system-x86_64 {}", "$(".repeat(400_000)))
        .unwrap();
    for more in [&[][..], &["--kind", "qemu"]] {
        let words = [&["vm", "lint", path.to_str().unwrap()][..], more].concat();
        let (code, peak) = peak(&words);
        assert!(code == 2 && peak < MOST, "{words:?}: {code}, {peak} MiB");
    }
}
