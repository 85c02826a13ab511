//! No emulator outlives the testbed, however it ends. A script that sleeps replaces the emulator,
//! so neither QEMU nor a kernel is needed.

#![allow(clippy::unwrap_used, reason = "a test may end where something is missing")]

use clocksmith_testbed::arch::Arch;
use clocksmith_testbed::qemu::process::Guest;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Tells this program, started once more by a test, to be the runner that is killed.
const RUNNER: &str = "CLOCKSMITH_TESTBED_TEST_RUNNER";

/// Starts a guest from a thread that ends at once, and stays. Does nothing unless the variable is
/// set.
#[test]
fn runner() {
    let Some(directory) = std::env::var_os(RUNNER).map(PathBuf::from) else { return };
    let place = directory.clone();
    let start = move || Guest::start(Arch::Amd64, &[], &place).unwrap();
    let _guest = std::thread::spawn(start).join().unwrap();
    std::fs::write(directory.join("started"), "").unwrap();
    std::thread::sleep(Duration::from_secs(60));
}

struct Stage {
    directory: tempfile::TempDir,
    runner: Child,
}

impl Stage {
    fn new() -> Stage {
        let directory = tempfile::tempdir().unwrap();
        let emulator = directory.path().join(Arch::Amd64.qemu());
        let pid = directory.path().join("pid");
        let script = format!("#!/bin/sh\necho $$ >'{}'\nexec sleep 60\n", pid.display());
        std::fs::write(&emulator, script).unwrap();
        std::fs::set_permissions(&emulator, PermissionsExt::from_mode(0o755)).unwrap();
        let path = std::env::var("PATH").unwrap_or_default();
        let runner = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "runner"])
            .env(RUNNER, directory.path())
            .env("PATH", format!("{}:{path}", directory.path().display()))
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        Stage { directory, runner }
    }

    fn emulator(&self) -> String {
        let file = self.directory.path().join("pid");
        let read = || std::fs::read_to_string(&file).ok().filter(|text| text.ends_with('\n'));
        assert!(wait(|| read().is_some()), "the emulator did not start");
        assert!(wait(|| self.directory.path().join("started").exists()));
        read().unwrap().trim().to_string()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = self.runner.kill();
        let _ = self.runner.wait();
    }
}

fn wait(mut until: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + Duration::from_secs(20);
    while Instant::now() < end {
        if until() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

/// Whether the process runs; one that is dead and not yet waited for does not.
fn runs(pid: &str) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid).join("stat"));
    stat.is_ok_and(|stat| {
        let state = stat.rsplit_once(')').map(|(_, rest)| rest.trim_start().starts_with('Z'));
        stat.contains("(sleep)") && state == Some(false)
    })
}

#[test]
fn a_killed_runner_takes_its_emulator_along() {
    let mut stage = Stage::new();
    let emulator = stage.emulator();
    assert!(wait(|| runs(&emulator)), "the emulator is not there");
    stage.runner.kill().unwrap();
    assert!(wait(|| !runs(&emulator)), "the emulator {emulator} outlives its runner");
}

/// The kernel takes the thread that starts a process for its parent.
#[test]
fn an_emulator_outlives_the_thread_that_asked_for_it() {
    let stage = Stage::new();
    let emulator = stage.emulator();
    assert!(wait(|| runs(&emulator)));
    std::thread::sleep(Duration::from_millis(500));
    assert!(runs(&emulator), "the emulator ended with the thread that asked for it");
}
