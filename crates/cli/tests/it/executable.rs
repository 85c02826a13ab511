//! Programs that tests make and start.

#![allow(clippy::unwrap_used)]

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Makes a program with this content.
///
/// Another process writes it: a file that this one holds open for writing would be open for writing in each child that
/// another test forks at that moment, and the kernel would refuse to start it (`ETXTBSY`) until that child's `execve`.
pub(crate) fn make(path: &Path, content: impl AsRef<[u8]>) {
    let mut shell = Command::new("/bin/sh")
        .args(["-c", "cat >\"$1\" && chmod 755 \"$1\"", "sh"])
        .arg(path)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    shell.stdin.take().unwrap().write_all(content.as_ref()).unwrap();
    assert!(shell.wait().unwrap().success(), "{}", path.display());
}
