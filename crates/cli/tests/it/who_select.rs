//! `who`: which processes it watches, and its message where it may not.
#![cfg(all(feature = "who", target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may end where something is missing")]

use serde_json::Value;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

fn who(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_clocksmith")).arg("who").args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    // As one line: messages are wrapped.
    String::from_utf8_lossy(bytes).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The document, or nothing where samples cannot be taken here.
fn document(out: &Output) -> Option<Value> {
    if out.stdout.is_empty() && text(&out.stderr).contains("perf_event") {
        eprintln!("skipped: {}", text(&out.stderr));
        return None;
    }
    Some(serde_json::from_slice(&out.stdout).unwrap_or_else(|_| panic!("{}", text(&out.stderr))))
}

struct Busy(Child);

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Copies by another process: a program that this one has open for writing cannot be run, and other tests fork.
fn copy(from: &str, to: &Path) {
    assert!(Command::new("cp").arg(from).arg(to).status().unwrap().success());
}

/// A shell by another name, which is busy.
fn busy(dir: &Path, name: &str) -> Busy {
    let program = dir.join(name);
    // The first one that runs keeps its file from being written.
    if !program.exists() {
        copy("/bin/sh", &program);
    }
    let child = Command::new(program)
        .args(["-c", "while :; do :; done"])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    Busy(child)
}

#[test]
fn who_of_a_command_needs_no_dashes() {
    let out = who(&["--json", "sh", "-c", "exit 7"]);
    if document(&out).is_some() {
        assert_eq!(out.status.code(), Some(7), "{}", text(&out.stderr));
    }
    // After the command all words are its own.
    let out = who(&["--json", "sh", "-c", "exit $#", "sh", "--json", "--all"]);
    if document(&out).is_some() {
        assert_eq!(out.status.code(), Some(2), "{}", text(&out.stderr));
    }
    let out = who(&["4194304"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(text(&out.stderr).contains("who -p 4194304"), "{}", text(&out.stderr));
}

#[test]
fn who_by_name_and_user_watches_all_that_meet_both() {
    let dir = tempfile::tempdir().unwrap();
    let name = format!("qa{}", std::process::id());
    let (one, two) = (busy(dir.path(), &name), busy(dir.path(), &name));
    let user = rustix_user();
    let out = who(&["--json", "--duration", "400ms", "--name", &name, "--user", &user]);
    let Some(document) = document(&out) else { return };
    let pids: Vec<u64> = document["processes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["pid"].as_u64().unwrap())
        .collect();
    for child in [&one, &two] {
        assert!(pids.contains(&u64::from(child.0.id())), "{pids:?}");
    }
    let out = who(&["--name", &name, "--user", "54321"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(text(&out.stderr).contains("no process meets"), "{}", text(&out.stderr));
    let out = who(&["--user", "no-such-user"]);
    assert_eq!(out.status.code(), Some(2));
    assert_eq!(who(&["--name", "x", "--pid", "1"]).status.code(), Some(2));
}

fn rustix_user() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap();
    line.split_whitespace().next().unwrap().to_owned()
}

/// Missing rights are not wrong usage, and the level is named as the reason only if it is the reason.
#[test]
fn who_of_another_users_process_ends_with_3() {
    if rustix_user() != "0" {
        eprintln!("skipped: only root can become another user");
        return;
    }
    let dir = tempfile::tempdir_in("/tmp").unwrap();
    let program = dir.path().join("clocksmith");
    copy(env!("CARGO_BIN_EXE_clocksmith"), &program);
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    // One process alone: the children of this one come and go.
    let mut target = Command::new("sleep").arg("60").spawn().unwrap();
    let out = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(&program)
        .args(["who", "--duration", "200ms", "-p", &target.id().to_string()])
        .output();
    target.kill().unwrap();
    target.wait().unwrap();
    let Ok(out) = out else {
        eprintln!("skipped: no setpriv");
        return;
    };
    let error = text(&out.stderr);
    assert_eq!(out.status.code(), Some(3), "{error}");
    assert!(error.contains("another user (id 0)") && !error.contains("sysctl"), "{error}");
}
