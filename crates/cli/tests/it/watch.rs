//! `watch` as it is run: its messages, signals, and the files that it leaves.
#![allow(clippy::unwrap_used, clippy::panic)]

use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(60);

struct Watch {
    child: Child,
    lines: Receiver<String>,
    _dir: tempfile::TempDir,
    dir: PathBuf,
}

/// A mirror of a machine, and a watch over it.
fn watch(more: &[&str]) -> Watch {
    let temporary = tempfile::tempdir().unwrap();
    let dir = temporary.path().to_owned();
    let sysfs = dir.join("root/sys/devices/system/clocksource/clocksource0");
    std::fs::create_dir_all(&sysfs).unwrap();
    std::fs::write(sysfs.join("available_clocksource"), "tsc hpet acpi_pm\n").unwrap();
    std::fs::write(sysfs.join("current_clocksource"), "tsc\n").unwrap();
    let (state, textfile) = (dir.join("state"), dir.join("clocksmith.prom"));
    let mut child = Command::new(env!("CARGO_BIN_EXE_clocksmith"))
        .args(["watch", "--poll", "20ms", "--look", "1s", "--listen", "127.0.0.1:0"])
        .args([Path::new("--root"), &dir.join("root"), Path::new("--state-dir"), &state])
        .args([Path::new("--textfile"), &textfile])
        .args(more)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        out.lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
    });
    Watch { child, lines, _dir: temporary, dir }
}

impl Watch {
    fn wait_for(&self, part: &str) -> String {
        let mut seen = Vec::new();
        while let Ok(line) = self.lines.recv_timeout(PATIENCE) {
            if line.contains(part) {
                return line;
            }
            seen.push(line);
        }
        panic!("no {part:?} in {seen:?}");
    }

    fn use_clocksource(&self, name: &str) {
        let file = "root/sys/devices/system/clocksource/clocksource0/current_clocksource";
        std::fs::write(self.dir.join(file), format!("{name}\n")).unwrap();
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
    let mut out = String::new();
    stream.read_to_string(&mut out).unwrap();
    out
}

#[test]
fn a_switch_is_reported_served_saved_and_written() {
    let mut watch = watch(&[]);
    let address = watch.wait_for("listening on ").rsplit(' ').next().unwrap().to_owned();
    watch.wait_for("watch started: tsc is in use");
    watch.use_clocksource("hpet");
    let line = watch.wait_for("clocksource-change: tsc -> hpet: ");
    assert!(line.ends_with("[runtime-override]"), "{line}");
    let metrics = get(&address, "/metrics");
    for part in [
        "clocksmith_events_total{kind=\"clocksource-change\"} 1\n",
        "clocksmith_last_change_info{from=\"tsc\",to=\"hpet\",cause=\"runtime-override\"} 1\n",
        "clocksmith_verdict{verdict=\"slow\"} 1\n",
        "process_resident_memory_bytes ",
    ] {
        assert!(metrics.contains(part), "{part}\n{metrics}");
    }
    assert!(get(&address, "/").contains("tsc -&gt; hpet"));
    assert!(get(&address, "/history").contains("\"kind\":\"clocksource-change\""));
    assert!(get(&address, "/-/healthy").starts_with("HTTP/1.1 200"));
    assert!(get(&address, "/etc/passwd").starts_with("HTTP/1.1 404"));
    watch.signal(Signal::TERM);
    watch.wait_for("watch stops");
    assert_eq!(watch.child.wait().unwrap().code(), Some(0));
    let textfile = std::fs::read_to_string(watch.dir.join("clocksmith.prom")).unwrap();
    assert!(textfile.contains("clocksource=\"hpet\"} 1") && !textfile.contains("process_"));
    let history = std::fs::read_to_string(watch.dir.join("state/history.jsonl")).unwrap();
    assert_eq!(history.matches("clocksource-change").count(), 1);
}

#[test]
fn the_web_configuration_is_reloaded_and_a_bad_one_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("web.yml");
    std::fs::write(&config, "http_server_config: {}\n").unwrap();
    let watch = watch(&["--web-config", config.to_str().unwrap()]);
    let address = watch.wait_for("listening on ").rsplit(' ').next().unwrap().to_owned();
    watch.wait_for("watch started");
    assert!(get(&address, "/metrics").starts_with("HTTP/1.1 200"));
    let user =
        "basic_auth_users:\n  a: $2y$05$YWJjZGVmZ2hpamtsbW5vcOFqxZrsHg4bdwrRUM9K6T1GelbUY6CQe\n";
    std::fs::write(&config, user).unwrap();
    watch.signal(Signal::HUP);
    watch.wait_for("was reloaded");
    assert!(get(&address, "/metrics").starts_with("HTTP/1.1 401"));
    for bad in ["basic_auth_users: 5\n", "basic_auth_users:\n"] {
        std::fs::write(&config, bad).unwrap();
        watch.signal(Signal::HUP);
        watch.wait_for("the previous web configuration stays");
        assert!(get(&address, "/metrics").starts_with("HTTP/1.1 401"));
    }
}

#[test]
fn its_lines_are_documents_of_their_schema() {
    let watch = watch(&["--json"]);
    watch.wait_for("watch started");
    watch.use_clocksource("acpi_pm");
    let line = watch.wait_for("\"clocksource-change\"");
    assert!(line.starts_with("{\"schema\":\"clocksmith.watch.v1\""), "{line}");
    let schema =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/clocksmith.watch.v1.json");
    let schema = serde_json::from_str(&std::fs::read_to_string(schema).unwrap()).unwrap();
    let value = serde_json::from_str(&line).unwrap();
    assert!(jsonschema::validator_for(&schema).unwrap().is_valid(&value), "{line}");
}

#[test]
fn what_cannot_begin_says_why() {
    let run = |args: &[&str]| {
        let out = Command::new(env!("CARGO_BIN_EXE_clocksmith"))
            .arg("watch")
            .args(args)
            .output()
            .unwrap();
        (out.status.code(), String::from_utf8(out.stderr).unwrap())
    };
    for (args, what) in [
        (&["--listen", "192.0.2.1:1", "--no-history"][..], "--listen"),
        (&["--web-config", "/nonexistent", "--listen", "127.0.0.1:0"], "web configuration"),
        (&["--textfile", "/tmp/metrics"], ".prom"),
        (&["--root", "/nonexistent"], "/nonexistent"),
        (&["--poll", "1ms"], "--poll"),
    ] {
        let (code, said) = run(args);
        assert!(code == Some(2) && said.contains(what), "{args:?}: {code:?} {said}");
    }
    let json = Command::new(env!("CARGO_BIN_EXE_clocksmith"))
        .args(["watch", "--once", "--json"])
        .output()
        .unwrap();
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["schema"], "clocksmith.check.v1");
    assert!(json["points"].as_array().unwrap().len() >= 4, "{json:#}");
    let once =
        Command::new(env!("CARGO_BIN_EXE_clocksmith")).args(["watch", "--once"]).output().unwrap();
    assert!(String::from_utf8(once.stdout).unwrap().contains("\nclocksmith_state "));
}
