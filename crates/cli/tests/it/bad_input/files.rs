//! Files that a command line names, or that lie in a directory that it names: no device is opened, no file in a
//! directory is waited for, and a file that is read as a whole has a limit.

use super::{directory, file, refuses, run};
use std::os::unix::fs::symlink;
use std::path::Path;

const DEVICE: &str = "a device, not a regular file";
const NODE: &str = r#"{"kind":"Node","metadata":{"name":"one","labels":{"cpu-timer.node.kubevirt.io/tsc-frequency":"2000000000"}}}"#;

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The verbs that read a file as a whole; the last word is its name.
const WHOLE: [&[&str]; 5] = [
    &["vm", "migrate", "--frequency", "2000000000", "--to"],
    &["vm", "migrate", "--to", "/nonexistent", "--to"],
    &["bench", "--baseline"],
    &["vm", "lint"],
    &["vm", "fix"],
];

#[test]
fn device_is_not_opened_by_any_link() {
    let dir = directory();
    let link = dir.path().join("link");
    symlink("/dev/zero", &link).unwrap();
    for name in ["/dev/zero", "/dev/ptmx", text(&link)] {
        for verb in [WHOLE[0], WHOLE[2]] {
            refuses(name, &[verb, &[name]].concat(), &[name, DEVICE]);
        }
        refuses(name, &["why", "--log", name], &[name, DEVICE]);
        refuses(name, &["fleet", "--lines", name], &[name, DEVICE]);
        for verb in [WHOLE[3], WHOLE[4]] {
            let outcome = run(&[verb, &[name]].concat());
            assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
            assert!(outcome.stderr.contains(DEVICE), "{}", outcome.stderr);
        }
    }
}

#[test]
fn special_files_in_a_directory_are_left_out_and_named() {
    let dir = directory();
    let at = |name: &str| dir.path().join(name);
    std::fs::write(at("node.json"), NODE).unwrap();
    let made = std::process::Command::new("mkfifo").arg(at("pipe")).status().unwrap();
    assert!(made.success());
    symlink("pipe", at("to-pipe")).unwrap();
    symlink("/dev/zero", at("zero")).unwrap();
    let outcome = run(&["vm", "migrate", "--frequency", "2000000000", "--to", text(dir.path())]);
    assert_ne!(outcome.code, Some(2), "{}", outcome.stderr);
    assert!(outcome.stdout.contains("one"), "{}", outcome.stdout);
    for (name, kind) in [("pipe", "a FIFO"), ("to-pipe", "a FIFO"), ("zero", "a device")] {
        let words = format!("{name} is {kind}, and is left out");
        assert!(outcome.stderr.contains(&words), "{words}: {}", outcome.stderr);
    }
    let outcome = run(&["fleet", "--lines", text(dir.path())]);
    assert!(outcome.stderr.contains("pipe is not a regular file"), "{}", outcome.stderr);
}

#[test]
fn file_without_end_is_refused_before_it_is_read() {
    let (_dir, path) = file("sparse", b"");
    std::fs::File::options().write(true).open(&path).unwrap().set_len(3 << 30).unwrap();
    for verb in [WHOLE[0], WHOLE[2]] {
        refuses("sparse", &[verb, &[text(&path)]].concat(), &["sparse", "larger than"]);
    }
    let guest = ["vm", "migrate", text(&path), "--to", text(&path)];
    refuses("sparse", &guest, &["sparse", "larger than"]);
    for verb in [WHOLE[3], WHOLE[4]] {
        let outcome = run(&[verb, &[text(&path)]].concat());
        assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
        assert!(outcome.stderr.contains("more than 4 MiB"), "{}", outcome.stderr);
    }
}

#[test]
fn pipe_that_the_command_line_names_is_read() {
    let program = env!("CARGO_BIN_EXE_clocksmith");
    let script = format!(
        "{program} vm migrate --frequency 2000000000 --to <(echo '{NODE}'); \
         {program} why -q --log <(echo '[    0.000000] Linux version 6.1.0 (a@b) #1 SMP')"
    );
    let Ok(output) = std::process::Command::new("bash").args(["-c", &script]).output() else {
        return;
    };
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("one"), "{said} {}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}
