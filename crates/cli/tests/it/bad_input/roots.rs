//! `--root`: directories that mirror no machine.

use super::{User, directory, refused, refuses, run_as};
use std::fs;
use std::os::unix::fs::PermissionsExt;

#[test]
fn what_mirrors_no_machine_is_refused() {
    let dir = directory();
    let path = dir.path().to_str().unwrap();
    refuses("empty", &["--root", path], &[path, "none of proc/version", "clocksmith collect"]);
    refuses("empty", &["predict", "--root", path], &[path, "none of proc/version"]);
    fs::create_dir_all(dir.path().join("proc")).unwrap();
    fs::write(dir.path().join("proc/version"), "").unwrap();
    fs::write(dir.path().join("unrelated"), "x").unwrap();
    refuses("nothing in it", &["--root", path], &[path]);
    refuses("not there", &["--root", "/nonexistent"], &["cannot read /nonexistent"]);
    let file = dir.path().join("unrelated");
    refuses("a file", &["--root", file.to_str().unwrap()], &["is a file", "--bundle", "--log"]);
}

#[test]
fn files_that_lead_elsewhere_are_not_followed_out_of_the_root() {
    let dir = directory();
    fs::create_dir_all(dir.path().join("proc")).unwrap();
    for (name, target) in [("version", "/proc/version"), ("cmdline", "../../../../../proc/cmdline")]
    {
        std::os::unix::fs::symlink(target, dir.path().join("proc").join(name)).unwrap();
    }
    refuses("links out", &["--root", dir.path().to_str().unwrap()], &["mirror"]);
}

#[test]
fn unreadable_files_are_named() {
    let dir = directory();
    let proc = dir.path().join("proc");
    fs::create_dir_all(&proc).unwrap();
    let version = proc.join("version");
    fs::write(&version, "Linux version 6.1.0 (x@y) #1 SMP\n").unwrap();
    fs::set_permissions(&version, fs::Permissions::from_mode(0o000)).unwrap();
    // Root may read everything, so another user has to try.
    let user = if rustix::process::geteuid().is_root() { User::Nobody } else { User::Me };
    if user == User::Nobody && !everybody_may_run() {
        eprintln!("skipped: nobody else may run {}", env!("CARGO_BIN_EXE_clocksmith"));
        return;
    }
    let path = dir.path().to_str().unwrap();
    for arguments in [&["--root", path][..], &["--root", path, "--json"]] {
        let outcome = run_as(user, arguments, |_| Ok(()));
        refused("unreadable", &outcome, &[path, "proc/version", "permission denied", "root"]);
    }
    let log = version.to_str().unwrap();
    let outcome = run_as(user, &["--log", log], |_| Ok(()));
    refused("an unreadable log", &outcome, &["cannot open", log, "ermission denied"]);
}

/// Returns whether the program lies where a user without rights can reach it.
fn everybody_may_run() -> bool {
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_clocksmith"));
    program.ancestors().all(|path| {
        path.as_os_str().is_empty()
            || fs::metadata(path).is_ok_and(|meta| meta.permissions().mode() & 0o001 != 0)
    })
}

#[test]
fn line_breaks_in_names_do_not_add_lines() {
    let dir = tempfile::tempdir().unwrap();
    let name = "a\nDone (change 9): everything is fine.";
    let file = dir.path().join(name);
    std::fs::write(&file, "nothing\n").unwrap();
    let file = file.to_str().unwrap();
    for arguments in [
        vec!["why", "--log", file],
        vec!["why", "--bundle", file],
        vec!["why", "--root", file],
        vec!["vm", "lint", file],
        vec!["vm", "migrate", file, file],
        vec!["vm", "migrate", file, "--to", file],
        vec!["fleet", "--lines", dir.path().to_str().unwrap()],
    ] {
        let out = std::process::Command::new(env!("CARGO_BIN_EXE_clocksmith"))
            .args(&arguments)
            .output()
            .unwrap();
        for stream in [&out.stdout, &out.stderr] {
            let text = String::from_utf8_lossy(stream);
            assert!(!text.contains("\nDone"), "{arguments:?}: {text}");
        }
    }
    // An entry of a boot loader.
    let entries = dir.path().join("boot/loader/entries");
    std::fs::create_dir_all(&entries).unwrap();
    let kernel = "title x\nlinux /vmlinuz\noptions root=/dev/sda1 clocksource=hpet\n";
    std::fs::write(entries.join(format!("{name}.conf")), kernel).unwrap();
    std::fs::create_dir_all(dir.path().join("proc")).unwrap();
    std::fs::write(dir.path().join("proc/cmdline"), "clocksource=hpet\n").unwrap();
    let root = dir.path().to_str().unwrap();
    let remove = ["fix", "--root", root, "--param", "-clocksource"];
    let out =
        std::process::Command::new(env!("CARGO_BIN_EXE_clocksmith")).args(remove).output().unwrap();
    for stream in [&out.stdout, &out.stderr] {
        let text = String::from_utf8_lossy(stream);
        assert!(!text.contains("\nDone"), "{text}");
    }
}
