//! `fleet` up to the engine: a script in its place records its input. The engine itself is tested in its own directory,
//! and both together by `fleet/test.sh`.
#![allow(clippy::unwrap_used, clippy::panic)]

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn clocksmith(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_clocksmith"));
    command.args(args).stdin(Stdio::null()).output().unwrap()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A bundle of a machine that is a fixture.
fn bundle(dir: &Path, name: &str) -> PathBuf {
    let path = dir.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let root = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../kernel/tests/fixtures/boots/linux-7.3-tsc-unstable/root"
    );
    let out = clocksmith(&["collect", "--root", root, "--output", text(&path)]);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    path
}

/// Writes an engine that records its arguments, its list of inputs and its standard input, and ends with `code`.
fn engine(dir: &Path, code: u8) -> PathBuf {
    let path = dir.join("engine");
    let script = format!(
        "#!/bin/sh\ncd '{}'\nprintf '%s\\n' \"$@\" >words\nfor last; do :; done\ntr '\\0' '\\n' <\"$last\" >list\n\
         cat >pipe\nexit {code}\n",
        text(dir)
    );
    crate::executable::make(&path, script);
    path
}

fn read(dir: &Path, name: &str) -> String {
    std::fs::read_to_string(dir.join(name)).unwrap()
}

#[test]
fn bundles_go_by_the_pipe_as_documents_and_the_rest_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path();
    // In directories of directories, in the order of their names, with one that is cut off.
    bundle(at, "in/b/two.tar.gz");
    bundle(at, "in/a/one.tar.gz");
    std::fs::write(at.join("in/c.tar.gz"), b"\x1f\x8b\x08\x00").unwrap();
    std::fs::write(at.join("in/docs.jsonl"), "{}\n").unwrap();
    let engine = engine(at, 0);
    let input = at.join("in");
    let args = ["fleet", text(&input), "--engine", text(&engine), "--rows", "7", "--json"];
    let out = clocksmith(&[&args[..], &["--sql", "-- x\nSELECT 1", "--memory", "64M"]].concat());
    assert_eq!(out.status.code(), Some(0), "{}", String::from_utf8_lossy(&out.stderr));
    let words = read(at, "words");
    for word in ["--json\n", "--rows=7\n", "--memory=64M\n", "--sql=-- x\nSELECT 1\n"] {
        assert!(words.contains(word), "{words}");
    }
    assert_eq!(read(at, "list"), format!("-\n{}\n", text(&input.join("docs.jsonl"))));
    let lines: Vec<Value> =
        read(at, "pipe").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let inputs: Vec<&str> = lines.iter().map(|line| line["input"].as_str().unwrap()).collect();
    assert!(
        inputs[0].ends_with("a/one.tar.gz")
            && inputs[1].ends_with("b/two.tar.gz")
            && inputs[2].ends_with("c.tar.gz"),
        "{inputs:?}"
    );
    // The same document as that of `why --bundle`.
    let why = clocksmith(&["why", "--json", "--bundle", inputs[0]]);
    assert_eq!(lines[0]["document"], serde_json::from_slice::<Value>(&why.stdout).unwrap());
    assert!(lines[0]["document"]["taken_at"].is_string());
    assert!(lines[2]["error"].as_str().unwrap().contains("bundle"), "{}", lines[2]);
}

#[test]
fn the_engine_decides_how_it_ends() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.jsonl");
    std::fs::write(&file, "{}\n").unwrap();
    for code in [0, 2, 3] {
        let engine = engine(dir.path(), code);
        let out = clocksmith(&["fleet", text(&file), "--engine", text(&engine)]);
        assert_eq!(out.status.code(), Some(i32::from(code)));
    }
    let out = clocksmith(&["fleet", text(&file), "--engine", "/nonexistent"]);
    assert_eq!(out.status.code(), Some(2));
}

/// An engine that does not read all of it causes neither a hang nor a broken pipe.
#[test]
fn an_engine_that_ends_early_is_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let one = bundle(dir.path(), "one.tar.gz");
    let engine = dir.path().join("engine");
    crate::executable::make(&engine, "#!/bin/sh\nexec <&-\nexit 2\n");
    let mut args = vec!["fleet", "--engine", text(&engine)];
    args.extend(std::iter::repeat_n(text(&one), 40));
    let out = clocksmith(&args);
    assert_eq!((out.status.code(), out.stderr.len()), (Some(2), 0));
}

#[test]
fn an_engine_does_not_go_on_when_a_signal_ends_the_program() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, begun) = (dir.path().join("engine"), dir.path().join("pid"));
    let script =
        format!("#!/bin/sh\necho $$ >'{0}.new'\nmv '{0}.new' '{0}'\nexec sleep 60\n", text(&begun));
    crate::executable::make(&engine, script);
    let file = dir.path().join("docs.jsonl");
    std::fs::write(&file, "{}\n").unwrap();
    let mut run = Command::new(env!("CARGO_BIN_EXE_clocksmith"))
        .args(["fleet", text(&file), "--engine", text(&engine)])
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let within = |what: &dyn Fn() -> bool| {
        (0..600).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(50));
            what()
        })
    };
    assert!(within(&|| begun.exists()));
    let pid = read(dir.path(), "pid");
    let status = PathBuf::from(format!("/proc/{}/status", pid.trim()));
    let runs = || std::fs::read_to_string(&status).is_ok_and(|text| !text.contains("State:\tZ"));
    assert!(runs());
    // As `timeout` and systemd do: only to this program.
    run.kill().unwrap();
    run.wait().unwrap();
    assert!(within(&|| !runs()), "the engine goes on");
}

#[test]
fn a_signal_leaves_no_temporary_directory() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, begun) = (dir.path().join("engine"), dir.path().join("begun"));
    let script =
        format!("#!/bin/sh\ntrap '' INT TERM HUP QUIT\n: >'{}'\nexec sleep 60\n", text(&begun));
    crate::executable::make(&engine, script);
    let file = dir.path().join("docs.jsonl");
    std::fs::write(&file, "{}\n").unwrap();
    let bundle = bundle(dir.path(), "one.tar.gz");
    for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT] {
        for input in [&file, &bundle] {
            let temporary = tempfile::tempdir().unwrap();
            let mut command = Command::new(env!("CARGO_BIN_EXE_clocksmith"));
            let mut run = crate::signals::with_default_signals(&mut command)
                .args(["fleet", text(input), "--engine", text(&engine)])
                .env("TMPDIR", temporary.path())
                .stdin(Stdio::null())
                .spawn()
                .unwrap();
            while !begun.exists() {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            std::fs::remove_file(&begun).unwrap();
            assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 1);
            crate::signals::send(&run, signal);
            let status = run.wait().unwrap();
            assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(signal));
            assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0, "{signal}");
        }
    }
}

#[test]
fn without_the_engine_it_says_what_to_install() {
    // A directory in which a link to the program can be made: a copy that is still open in a child of another test
    // cannot be run.
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let file = dir.path().join("a.jsonl");
    std::fs::write(&file, "{}\n").unwrap();
    // Alone in a directory, otherwise it may lie beside an engine that was built.
    let alone = dir.path().join("clocksmith");
    std::fs::hard_link(env!("CARGO_BIN_EXE_clocksmith"), &alone).unwrap();
    let out =
        Command::new(&alone).arg("fleet").arg(&file).env("PATH", "/nonexistent").output().unwrap();
    assert_eq!(out.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&out.stderr).contains("cargo install --locked --path fleet"));
}

#[test]
fn lines_are_documents_and_need_no_engine() {
    let dir = tempfile::tempdir().unwrap();
    let good = bundle(dir.path(), "good.tar.gz");
    let bad = dir.path().join("bad.tar.gz");
    std::fs::write(&bad, b"\x1f\x8b\x08\x00").unwrap();
    let out = clocksmith(&["fleet", "--lines", text(&bad), text(&good)]);
    assert_eq!(out.status.code(), Some(0));
    let lines = String::from_utf8(out.stdout).unwrap();
    assert_eq!(lines.lines().count(), 1);
    let document: Value = serde_json::from_str(&lines).unwrap();
    assert_eq!(document["schema"], "clocksmith.why.v1");
    assert!(document["host"].is_string());
    assert!(String::from_utf8_lossy(&out.stderr).contains("bad.tar.gz"));
    assert_eq!(clocksmith(&["fleet", "--lines", text(&bad)]).status.code(), Some(2));
}

#[test]
fn what_cannot_be_an_input_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let engine = engine(dir.path(), 0);
    let empty = dir.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    let parquet = dir.path().join("x.parquet");
    std::fs::write(&parquet, "PAR1....").unwrap();
    for (input, says) in [
        (text(&empty), "without files"),
        (text(&parquet), "one table"),
        ("/nonexistent", "cannot read"),
    ] {
        let out = clocksmith(&["fleet", input, "--engine", text(&engine)]);
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(2));
        assert!(said.contains(says), "{said}");
    }
    assert_eq!(clocksmith(&["fleet", "--root", "/", "-"]).status.code(), Some(2));
}

#[test]
fn a_name_is_in_the_document_only_when_it_is_asked_for() {
    let document = |args: &[&str]| -> Value {
        let args = [&["why", "--json", "--no-measure"], args].concat();
        serde_json::from_slice(&clocksmith(&args).stdout).unwrap()
    };
    assert_eq!(document(&[])["host"], Value::Null);
    assert_eq!(document(&["--host-name", "web1"])["host"], "web1");
}

/// A file that is not a bundle is named in a message, even if its name is a bundle's; the other inputs are still read.
#[test]
fn lines_names_inputs_that_are_not_bundles_and_continues() {
    let dir = tempfile::tempdir().unwrap();
    bundle(dir.path(), "a.tgz");
    std::fs::write(dir.path().join("b.tgz"), "").unwrap();
    std::fs::write(dir.path().join("c.tar.gz"), "a text\n").unwrap();
    std::fs::write(dir.path().join("d.txt"), "a note\n").unwrap();
    std::fs::write(dir.path().join("e"), "PAR1").unwrap();
    let out = clocksmith(&["fleet", "--lines", text(dir.path())]);
    let said = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(0), "{said}");
    assert_eq!(String::from_utf8(out.stdout).unwrap().lines().count(), 1);
    for name in ["b.tgz", "c.tar.gz", "d.txt", "/e "] {
        assert_eq!(said.lines().filter(|line| line.contains(name)).count(), 1, "{name}: {said}");
    }
    let alone = clocksmith(&["fleet", "--lines", text(&dir.path().join("b.tgz"))]);
    assert_eq!(alone.status.code(), Some(2));
}

#[test]
fn lines_leaves_out_what_cannot_be_an_input_beside_bundles() {
    let dir = tempfile::tempdir().unwrap();
    let good = bundle(dir.path(), "good.tgz");
    let (empty, dangling, endless) =
        (dir.path().join("empty"), dir.path().join("dangling"), dir.path().join("endless"));
    std::fs::create_dir(&empty).unwrap();
    std::os::unix::fs::symlink("/nonexistent/x", &dangling).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &endless).unwrap();
    std::fs::write(dir.path().join("hosts.parquet"), "").unwrap();
    let given = [text(&empty), text(&dangling), text(&endless), text(&good)];
    for words in [&given[..], &[text(dir.path())]] {
        let out = clocksmith(&[&["fleet", "--lines"], words].concat());
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(0), "{words:?}: {said}");
        assert_eq!(out.stdout.iter().filter(|byte| **byte == b'\n').count(), 1, "{words:?}");
        assert!(said.contains("left out"), "{words:?}: {said}");
    }
}

/// As root in a directory of another user, whose links lead to files that this user may not read.
#[test]
fn directory_links_of_another_user_are_left_out() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let secret = bundle(dir.path(), "secret/b.tgz");
    let given = dir.path().join("given");
    std::fs::create_dir(&given).unwrap();
    let lines = |user: u32| {
        let link = given.join("b.tgz");
        std::os::unix::fs::symlink(&secret, &link).unwrap();
        std::os::unix::fs::lchown(&link, Some(user), None).unwrap();
        let out = clocksmith(&["fleet", "--lines", text(&given)]);
        std::fs::remove_file(&link).unwrap();
        (String::from_utf8(out.stdout).unwrap(), String::from_utf8(out.stderr).unwrap())
    };
    assert!(lines(0).0.contains("\"verdict\""));
    let (printed, said) = lines(65_534);
    assert!(!printed.contains("verdict"), "{printed}");
    assert!(said.contains("b.tgz is a link of another user (65534), and is left out"), "{said}");

    let hosts = "<capabilities><host><cpu><arch>x86_64</arch><model>EPYC</model>\
        <counter name='tsc' frequency='2994372000' scaling='no'/></cpu></host></capabilities>";
    std::fs::write(dir.path().join("h.xml"), hosts).unwrap();
    std::os::unix::fs::symlink(dir.path().join("h.xml"), given.join("h.xml")).unwrap();
    let migrate = || {
        let out = clocksmith(&["vm", "migrate", "--frequency", "3000000000", "--to", text(&given)]);
        (String::from_utf8(out.stdout).unwrap(), String::from_utf8(out.stderr).unwrap())
    };
    assert!(migrate().0.contains("2994"), "{:?}", migrate());
    std::os::unix::fs::lchown(given.join("h.xml"), Some(65_534), None).unwrap();
    let (printed, said) = migrate();
    assert!(
        !printed.contains("2994") && said.contains("a link of another user"),
        "{printed}{said}"
    );
}
