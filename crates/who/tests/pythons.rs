//! Of Python 3.11 the functions are named; of every other version that is here it is said that they cannot be, and
//! what would help: the layout of one version read in another would name anything. pyenv's versions are found, and
//! those of the distribution.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may end where something is missing")]

use clocksmith_who::session::{Options, Session, Target};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::Duration;

const READS: &str = "
import time
def hot_a():
    for _ in range(1000): time.monotonic()
while True: hot_a()
";

/// Ends the program with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Interpreters by the version that their names state.
fn pythons() -> Vec<(u32, PathBuf)> {
    let mut directories = vec![PathBuf::from("/usr/bin"), PathBuf::from("/usr/local/bin")];
    let home = std::env::var_os("HOME").unwrap_or_default();
    let versions = std::fs::read_dir(PathBuf::from(home).join(".pyenv/versions"));
    directories.extend(versions.into_iter().flatten().flatten().map(|one| one.path().join("bin")));
    let mut found: Vec<(u32, PathBuf)> = (6..30)
        .flat_map(|minor| {
            let name = format!("python3.{minor}");
            directories.iter().map(move |directory| (minor, directory.join(&name)))
        })
        .filter(|(_, path)| path.exists())
        .collect();
    found.dedup_by_key(|(minor, _)| *minor);
    found
}

/// The functions that were named, and what could not be.
fn seen(python: &PathBuf, extra: &[&str]) -> Option<(Vec<String>, String)> {
    let running = Running(Command::new(python).args(extra).args(["-c", READS]).spawn().unwrap());
    std::thread::sleep(Duration::from_millis(500));
    let target = Target::Processes(vec![running.0.id()]);
    let mut session = match Session::start(&target, Options::PROGRAM) {
        Ok(session) => session,
        Err(why) => {
            eprintln!("skipped: {why}");
            return None;
        }
    };
    session.watch(Duration::from_millis(1500), || false);
    session.stop();
    let recording = session.recording();
    let frames = recording.stacks.iter().flat_map(|stack| stack.frames.iter());
    Some((frames.map(|frame| frame.name.to_string()).collect(), recording.gaps.join("\n")))
}

#[test]
#[ignore = "takes half a minute: ./test.sh agreement"]
fn each_version_is_named_or_said_not_to_be() {
    for (minor, python) in pythons() {
        let Some((names, gaps)) = seen(&python, &[]) else { return };
        let named = names.iter().any(|name| name.contains("hot_a"));
        let refused = gaps.contains(&format!("functions of Python 3.{minor} are named only"));
        println!("{}: named {named}, refused {refused}", python.display());
        assert_eq!((named, refused), (minor == 11, minor != 11), "{minor}: {gaps}: {names:?}");
        if minor >= 12 {
            // With a map they are, and nothing is missing.
            let Some((names, gaps)) = seen(&python, &["-X", "perf"]) else { return };
            assert!(names.iter().any(|name| name.contains("hot_a")), "{minor}: {names:?}");
            assert!(!gaps.contains("-X perf"), "{minor}: {gaps}");
        }
    }
}
