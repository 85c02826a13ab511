//! Starting `clocksmith run`.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// The result of a start.
#[derive(Debug)]
pub(crate) enum Started {
    /// It ended, by itself or by a signal.
    Ended { code: i32, signal: i32, out: String, err: String, pid: u32 },
    /// The counter could not be tested.
    TooBusy,
}

pub(crate) fn run(how: &[&str], program: &Path, words: &[&str]) -> Started {
    let child = Command::new(env!("CARGO_BIN_EXE_clocksmith"))
        .args(how)
        .arg("--")
        .arg(program)
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let pid = child.id();
    let out = child.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let err = text(&out.stderr);
    let untested = ["too busy to test", "does not say that its TSC is invariant"];
    if untested.iter().any(|why| err.replace("\n ", "").contains(why)) {
        return Started::TooBusy;
    }
    Started::Ended {
        code: out.status.code().unwrap_or(-1),
        signal: out.status.signal().unwrap_or(0),
        out: text(&out.stdout),
        err,
        pid,
    }
}
