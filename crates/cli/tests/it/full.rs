//! A full disk: nothing is left that looks like a result, and an error reports it.
#![allow(clippy::unwrap_used)]

use std::fs::{self, File};
use std::process::Command;

#[test]
fn collect_on_a_full_disk_leaves_nothing_behind() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("root");
    fs::create_dir_all(root.join("proc")).unwrap();
    // More than fits, even compressed.
    let mut noise = 1u64;
    let words = (0..200).map(|_| {
        noise =
            noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        format!("word{:x} ", noise >> 16)
    });
    fs::write(root.join("proc/cmdline"), words.collect::<String>()).unwrap();
    let out = dir.path().join("out");
    fs::create_dir(&out).unwrap();
    // A limit for files of a process represents the disk; it ends a process that does not ignore the signal.
    let script = "trap '' XFSZ; ulimit -f 1; exec \"$0\" collect --root \"$1\" --output \"$2\"";
    let mut limited = Command::new("/bin/sh");
    limited.args(["-c", script, env!("CARGO_BIN_EXE_clocksmith")]);
    let full = limited.arg(&root).arg(out.join("b.tar.gz")).output().unwrap();
    let said = String::from_utf8_lossy(&full.stderr).into_owned();
    assert_eq!(full.status.code(), Some(2), "{said}");
    assert!(said.contains("cannot write") && said.contains("b.tar.gz"), "{said}");
    assert_eq!(fs::read_dir(&out).unwrap().count(), 0, "{said}");
    // The next try is not hindered, and the one after it replaces nothing.
    let again = |code: i32| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_clocksmith"));
        command.args(["collect", "--root"]).arg(&root).arg("--output").arg(out.join("b.tar.gz"));
        let done = command.output().unwrap();
        assert_eq!(done.status.code(), Some(code), "{}", String::from_utf8_lossy(&done.stderr));
    };
    again(0);
    again(2);
    assert_eq!(fs::read_dir(&out).unwrap().count(), 1);
}

#[test]
fn help_and_version_to_a_full_device_fail() {
    for arguments in [&["--help"][..], &["--version"], &["fix", "--help"], &["check", "--help"]] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_clocksmith"));
        let done = command.args(arguments).stdout(full).output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        let code = if arguments[0] == "check" { 3 } else { 2 };
        assert_eq!(done.status.code(), Some(code), "{arguments:?}: {said}");
        assert!(said.contains("cannot write to standard output"), "{arguments:?}: {said}");
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_clocksmith"));
    assert!(command.arg("--version").output().unwrap().status.success());
}

#[test]
fn output_that_is_open_for_reading_only_fails() {
    for arguments in
        [&["--version"][..], &["explain", "tsc"], &["explain", "tsc", "--json"], &["man"]]
    {
        let mut command = Command::new(env!("CARGO_BIN_EXE_clocksmith"));
        let done =
            command.args(arguments).stdout(File::open("/dev/null").unwrap()).output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(
            said.contains("standard output: it is open for reading only"),
            "{arguments:?}: {said}"
        );
    }
}

/// The result of a verb does not depend on whether its output is read to the end.
#[test]
fn reader_that_ends_early_changes_no_exit_code() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("short.log");
    let text = "[    0.000000] Linux version 6.1.0 (x) x86_64\n[    0.300000] clocksource: Switched to clocksource tsc-early\n";
    fs::write(&log, text).unwrap();
    let code = |arguments: &[&str], closed: bool| {
        let (reader, writer) = std::io::pipe().unwrap();
        let kept = (!closed).then_some(reader);
        let mut command = Command::new(env!("CARGO_BIN_EXE_clocksmith"));
        let mut child = command.args(arguments).stdout(writer).spawn().unwrap();
        drop(command);
        if let Some(mut reader) = kept {
            std::io::copy(&mut reader, &mut std::io::sink()).unwrap();
        }
        child.wait().unwrap().code()
    };
    let root = dir.path().join("root");
    fs::create_dir_all(root.join("proc")).unwrap();
    fs::write(root.join("proc/cmdline"), "ro\n").unwrap();
    let (log, root) = (log.to_str().unwrap(), root.to_str().unwrap());
    for arguments in [&["why", "--log", log][..], &["explain", "no-such-word-at-all"]] {
        let read = code(arguments, false);
        assert_ne!(read, Some(0), "{arguments:?}");
        assert_eq!(code(arguments, true), read, "{arguments:?}");
    }
    let bundle = ["collect", "--root", root, "--output", "-"];
    assert_eq!((code(&bundle, false), code(&bundle, true)), (Some(0), Some(2)));
}

/// If the report of a change cannot be written, the exit code is still that of the change, and standard error says why
/// the report is missing.
#[test]
fn change_whose_report_cannot_be_written_keeps_its_exit_code() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("root");
    let entry = root.join("boot/extlinux/extlinux.conf");
    let before = "default a\nlabel a\n kernel /vmlinuz\n append root=/dev/vda1 ro\n";
    fs::create_dir_all(entry.parent().unwrap()).unwrap();
    fs::write(&entry, before).unwrap();
    let guest = dir.path().join("guest.xml");
    let bad = "<domain type='kvm'>\n  <name>a</name>\n  <clock offset='utc'>\n    <timer name='hpet' \
               present='yes'/>\n  </clock>\n</domain>\n";
    let run = |words: &str, path: &std::path::Path, full: bool| {
        let out = if full { "/dev/full" } else { "/dev/null" };
        let mut command = Command::new(env!("CARGO_BIN_EXE_clocksmith"));
        command.args(words.split(' ')).arg(path);
        let done = command.stdout(File::options().write(true).open(out).unwrap()).output().unwrap();
        (done.status.code(), String::from_utf8_lossy(&done.stderr).into_owned())
    };
    let apply = "fix --apply --json --boot cmdline --loader extlinux --param quirk=1 --root";
    let told = |(code, said): (Option<i32>, String), wanted: Option<i32>, instead: &str| {
        assert_eq!(code, wanted, "{said}");
        assert!(said.contains("cannot write to standard output"), "{said}");
        assert!(said.contains(instead), "{said}");
    };
    told(run(apply, &root, true), Some(0), "fix --status");
    assert!(fs::read_to_string(&entry).unwrap().contains("quirk=1"));
    for words in ["fix --undo --root", "fix --undo --json --root"] {
        told(run(words, &root, true), Some(0), "fix --status");
        assert_eq!(fs::read_to_string(&entry).unwrap(), before);
        assert_eq!(run(apply, &root, false).0, Some(0));
    }
    let mut codes = Vec::new();
    for full in [false, true] {
        fs::write(&guest, bad).unwrap();
        codes.push(run("vm fix --guest linux --no-backup --apply", &guest, full));
        assert_ne!(fs::read_to_string(&guest).unwrap(), bad);
    }
    let wanted = codes[0].0;
    told(codes.remove(1), wanted, "the files were written");
    // Where nothing was changed, the report is the result.
    told(run("fix --param quirk=2 --root", &root, true), Some(2), "");
}
