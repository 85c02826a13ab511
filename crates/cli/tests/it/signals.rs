//! Signals, whatever the parent has left of them: a verb ends by them, and learns of its children.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const PROGRAM: &str = env!("CARGO_BIN_EXE_clocksmith");
/// Longer than this is a hang, on any machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A program whose parent has blocked, or ignores, a signal.
fn inheriting(blocked: Option<i32>, ignored: Option<i32>) -> Command {
    let mut command = Command::new(PROGRAM);
    let hook = move || {
        // SAFETY: system calls alone, on a set that lives through them.
        unsafe {
            if let Some(signal) = blocked {
                let mut set: libc::sigset_t = std::mem::zeroed();
                libc::sigemptyset(&raw mut set);
                libc::sigaddset(&raw mut set, signal);
                libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
            }
            if let Some(signal) = ignored {
                libc::signal(signal, libc::SIG_IGN);
            }
        }
        Ok(())
    };
    // SAFETY: the hook makes system calls alone.
    unsafe { command.pre_exec(hook) };
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Sends a signal until the process ends; how it ended.
fn ended_by(child: &mut std::process::Child, target: i32, signal: i32) -> std::process::ExitStatus {
    let begun = Instant::now();
    loop {
        std::thread::sleep(Duration::from_millis(300));
        // SAFETY: sends a signal to a process of this test that was not waited for.
        unsafe { libc::kill(target, signal) };
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if begun.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("signal {signal} did not end it");
        }
    }
}

fn fifo(dir: &tempfile::TempDir) -> String {
    let path = dir.path().join("fifo");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    path.to_str().unwrap().to_owned()
}

#[test]
fn blocked_signals_end_every_verb() {
    let dir = tempfile::tempdir().unwrap();
    let fifo = fifo(&dir);
    let verbs: [&[&str]; 4] = [
        &["why", "--log", &fifo],
        &["vm", "lint", &fifo],
        &["verify", "--duration", "1h", "--no-save"],
        &["watch", "--no-listen", "--no-history"],
    ];
    for verb in verbs {
        for signal in [libc::SIGINT, libc::SIGTERM] {
            let mut child = inheriting(Some(signal), None).args(verb).spawn().unwrap();
            let pid = i32::try_from(child.id()).unwrap();
            let status = ended_by(&mut child, pid, signal);
            let orderly = status.code().is_some();
            assert!(status.signal() == Some(signal) || orderly, "{verb:?}: {status}");
        }
    }
}

#[test]
fn first_process_of_a_container_ends_by_signals() {
    let script = "exec unshare -pf --mount-proc --kill-child \"$@\"";
    let works = |command: &mut Command| command.output().is_ok_and(|out| out.status.success());
    if !works(Command::new("sh").args(["-c", script, "sh", "true"])) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let fifo = fifo(&dir);
    let verbs: [&[&str]; 4] = [
        &["why", "--log", &fifo],
        &["vm", "lint", &fifo],
        &["verify", "--duration", "1h", "--no-save"],
        &["verify", "--soak", "--no-save"],
    ];
    for verb in verbs {
        for signal in [libc::SIGINT, libc::SIGTERM] {
            let mut command = Command::new("sh");
            command.args(["-c", script, "sh", PROGRAM]).args(verb);
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            let mut child = command.spawn().unwrap();
            let children = format!("/proc/{0}/task/{0}/children", child.id());
            let begun = Instant::now();
            let first = loop {
                let text = std::fs::read_to_string(&children).unwrap_or_default();
                if let Some(pid) = text.split_whitespace().next().and_then(|pid| pid.parse().ok()) {
                    break pid;
                }
                assert!(begun.elapsed() < PATIENCE);
                std::thread::sleep(Duration::from_millis(10));
            };
            let status = ended_by(&mut child, first, signal);
            // `unshare` ends as its child does.
            assert!(
                status.code().is_some_and(|code| code == 128 + signal || code < 4),
                "{verb:?}: {status}"
            );
        }
    }
}

#[test]
fn ignored_end_of_children_changes_no_exit_code() {
    let code = |arguments: &[&str]| {
        let mut command = inheriting(None, Some(libc::SIGCHLD));
        let output = command.args(arguments).stderr(Stdio::piped()).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    assert_eq!(code(&["run", "--", "sh", "-c", "exit 7"]).0, Some(7));
    if cfg!(feature = "who") {
        let (status, said) = code(&["who", "-q", "--", "sh", "-c", "exit 7"]);
        assert!(status == Some(7) || said.contains("perf_event"), "{status:?} {said}");
    }
}

#[test]
fn limit_of_file_sizes_is_an_error_that_names_the_file() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("root")).unwrap();
    std::fs::write(dir.path().join("root/dmesg"), "[    0.000000] Linux version 6.1.0 (a@b) #1\n")
        .unwrap();
    let out = dir.path().join("out.tar.gz");
    let script = format!(
        "ulimit -f 0; exec {PROGRAM} collect --root {0}/root --output {1}",
        dir.path().display(),
        out.display()
    );
    let output = Command::new("sh").args(["-c", &script]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said} {}", output.status);
    assert!(said.contains("out.tar.gz") && said.contains("File too large"), "{said}");
    assert!(!out.exists());
    // A child of this program has the signal as it was.
    let script =
        format!("{PROGRAM} run -- sh -c 'ulimit -f 0; exec sh -c \"echo x >{}\"'", out.display());
    let status = Command::new("sh").args(["-c", &script]).stderr(Stdio::null()).status().unwrap();
    assert_eq!((status.code(), status.signal()), (Some(128 + libc::SIGXFSZ), None));
}
