//! Real Java virtual machines: one that takes requests gets a request, and no other gets a signal. Without `java`,
//! skipped.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may end where something is missing")]

use clocksmith_who::watched::jvm::{self, Requests};
use clocksmith_who::watched::{Files, Process};
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

const PROGRAM: &str = "public class Wait { public static void main(String[] a) throws Exception { \
    System.out.println(\"ready\"); Thread.sleep(600000); } }";

/// A virtual machine that waits.
struct Machine {
    child: Child,
    out: BufReader<ChildStdout>,
    _dir: tempfile::TempDir,
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        for name in [".java_pid", ".attach_pid"] {
            let _ = std::fs::remove_file(at(name, self.child.id()));
        }
    }
}

fn at(name: &str, pid: u32) -> PathBuf {
    PathBuf::from(format!("/tmp/{name}{pid}"))
}

/// Starts a Java virtual machine; `None`, with a message, if there is no Java that compiles.
fn start(options: &[&str], environment: &[(&str, &str)]) -> Option<Machine> {
    start_by(Command::new("java"), options, environment)
}

fn start_by(
    mut command: Command,
    options: &[&str],
    environment: &[(&str, &str)],
) -> Option<Machine> {
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("Wait.java");
    std::fs::write(&source, PROGRAM).unwrap();
    command.args(options).arg(&source).envs(environment.iter().copied());
    let child = command.current_dir(dir.path()).stdout(Stdio::piped()).spawn();
    let Ok(mut child) = child else {
        eprintln!("skipped: no java");
        return None;
    };
    let out = BufReader::new(child.stdout.take().unwrap());
    let mut machine = Machine { child, out, _dir: dir };
    let mut line = String::new();
    machine.out.read_line(&mut line).unwrap();
    if line.trim() != "ready" {
        eprintln!("skipped: this java cannot run a source file");
        return None;
    }
    Some(machine)
}

impl Machine {
    fn ask(&self) -> Result<usize, String> {
        self.ask_as(Requests::Sure)
    }

    fn ask_as(&self, requests: Requests) -> Result<usize, String> {
        let process = Process::new(self.child.id(), &mut Files::default()).unwrap();
        jvm::ask(&process, requests).map(|map| usize::from(!map.is_empty()))
    }

    /// Ends the JVM; returns its output: a dump of its threads, if a signal came.
    fn printed(mut self) -> String {
        // Time for a dump.
        std::thread::sleep(Duration::from_millis(300));
        assert!(self.child.try_wait().unwrap().is_none(), "it was ended");
        self.child.kill().unwrap();
        let mut text = String::new();
        self.out.read_to_string(&mut text).unwrap();
        text
    }
}

#[test]
fn a_machine_that_takes_requests_names_its_functions() {
    let Some(machine) = start(&[], &[]) else { return };
    let pid = machine.child.id();
    assert_eq!(machine.ask(), Ok(1));
    assert!(!at(".attach_pid", pid).exists() && !at("perf-", pid).with_extension("map").exists());
    // The machine listens now, and needs no signal.
    assert!(at(".java_pid", pid).exists());
    assert_eq!(machine.ask(), Ok(1));
    assert!(!machine.printed().contains("thread dump"));
}

#[test]
fn a_machine_that_takes_no_requests_gets_no_signal() {
    const NO: &str = "-XX:+DisableAttachMechanism";
    let dir = tempfile::tempdir().unwrap();
    let arguments = dir.path().join("arguments");
    std::fs::write(&arguments, NO).unwrap();
    let from_file = format!("@{}", arguments.display());
    let hotspotrc = dir.path().join("hotspotrc");
    std::fs::write(&hotspotrc, "+DisableAttachMechanism\n").unwrap();
    let flags = format!("-XX:Flags={}", hotspotrc.display());
    let none: &[(&str, &str)] = &[];
    for (options, environment) in [
        (vec![NO], none),
        (vec![from_file.as_str()], none),
        (vec![flags.as_str()], none),
        (vec![], &[("JDK_JAVA_OPTIONS", NO)]),
        (vec![], &[("JAVA_TOOL_OPTIONS", NO)]),
    ] {
        let Some(machine) = start(&options, environment) else { return };
        let why = machine.ask().unwrap_err();
        let known = why.contains("started with -XX:+Disable");
        assert!(known, "{options:?} {environment:?}: {why}");
        assert!(!at(".attach_pid", machine.child.id()).exists());
        let printed = machine.printed();
        assert!(!printed.contains("thread dump"), "{options:?} {environment:?}: {printed}");
    }
}

#[test]
fn a_machine_that_would_end_at_a_signal_listens_already() {
    let Some(machine) = start(&["-Xrs"], &[]) else { return };
    assert_eq!(machine.ask(), Ok(1));
    assert!(!machine.printed().contains("thread dump"));
}

#[test]
fn a_machine_that_did_not_answer_once_gets_no_signal() {
    let Some(machine) = start(&[], &[]) else { return };
    std::fs::write(at(".attach_pid", machine.child.id()), "").unwrap();
    let why = machine.ask().unwrap_err();
    assert!(why.contains("an earlier request"), "{why}");
    assert!(!at(".java_pid", machine.child.id()).exists());
    assert!(!machine.printed().contains("thread dump"));
}

#[test]
fn machine_with_request_in_its_directory_gets_no_signal() {
    let Some(machine) = start(&[], &[]) else { return };
    let pid = machine.child.id();
    std::fs::write(format!("/proc/{pid}/cwd/.attach_pid{pid}"), "").unwrap();
    let why = machine.ask().unwrap_err();
    assert!(why.contains("working directory"), "{why}");
    assert!(!at(".attach_pid", pid).exists() && !at(".java_pid", pid).exists());
    assert!(!machine.printed().contains("thread dump"));
}

#[test]
fn machine_in_another_user_namespace_gets_no_signal() {
    let can = Command::new("unshare").args(["-U", "true"]).status();
    if !can.is_ok_and(|status| status.success()) {
        eprintln!("skipped: no user namespaces");
        return;
    }
    let mut unshare = Command::new("unshare");
    unshare.args(["-U", "java"]);
    let Some(machine) = start_by(unshare, &[], &[]) else { return };
    let why = machine.ask().unwrap_err();
    assert!(why.contains("user namespace"), "{why}");
    assert!(!at(".attach_pid", machine.child.id()).exists());
    assert!(!machine.printed().contains("thread dump"));
}

#[test]
fn program_that_loads_the_library_alone_gets_no_signal() {
    let settings = Command::new("java").args(["-XshowSettings:properties", "-version"]).output();
    let settings = settings.map(|out| String::from_utf8_lossy(&out.stderr).into_owned());
    let home = settings.ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.trim().strip_prefix("java.home = "))?;
        Some(PathBuf::from(line).join("lib/server/libjvm.so"))
    });
    let Some(library) = home.filter(|library| library.exists()) else {
        eprintln!("skipped: no java");
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let (source, program) = (dir.path().join("load.c"), dir.path().join("load"));
    std::fs::write(
        &source,
        "#include <dlfcn.h>\n#include <stdio.h>\n#include <unistd.h>\n#include <signal.h>\n\
         static void quit(int signal) { _exit(signal); }\n\
         int main(int n, char **words) {\n    if (n < 2 || !dlopen(words[1], RTLD_NOW)) return 1;\n\
         signal(SIGQUIT, quit);\n    puts(\"ready\");\n    fflush(stdout);\n    sleep(600);\n    return 0;\n}\n",
    )
    .unwrap();
    let built = Command::new("cc").arg("-o").args([&program, &source]).arg("-ldl").status();
    if !built.is_ok_and(|status| status.success()) {
        eprintln!("skipped: no cc");
        return;
    }
    let mut command = Command::new(&program);
    let mut child = command.arg(&library).stdout(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    out.read_line(&mut String::new()).unwrap();
    let machine = Machine { child, out, _dir: dir };
    let why = machine.ask().unwrap_err();
    assert!(why.contains("not java"), "{why}");
    machine.printed();
}

/// A library that replaces the action of SIGQUIT a moment after the machine has begun, by one that ends the program.
const FOREIGN: &str = "#include <pthread.h>\n#include <signal.h>\n#include <string.h>\n#include <unistd.h>\n\
    static void quit(int signal) { _exit(signal); }\n\
    static void *later(void *x) { sleep(1); signal(SIGQUIT, quit); return x; }\n\
    __attribute__((constructor)) static void begin(void) { pthread_t t; pthread_create(&t, 0, later, 0); }\n";

#[test]
fn machine_with_code_that_is_not_its_jdks_gets_no_signal_unless_it_is_wished() {
    let dir = tempfile::tempdir().unwrap();
    let (source, library) = (dir.path().join("other.c"), dir.path().join("libother.so"));
    std::fs::write(&source, FOREIGN).unwrap();
    let mut cc = Command::new("cc");
    let built = cc.args(["-shared", "-fPIC", "-o"]).args([&library, &source]).arg("-lpthread");
    if !built.status().is_ok_and(|status| status.success()) {
        eprintln!("skipped: no cc");
        return;
    }
    let preload = [("LD_PRELOAD", library.to_str().unwrap())];
    let Some(machine) = start(&[], &preload) else { return };
    std::thread::sleep(Duration::from_millis(1500));
    let why = machine.ask().unwrap_err();
    assert!(why.contains("libother.so") && why.contains("--attach"), "{why}");
    assert!(!at(".attach_pid", machine.child.id()).exists());
    machine.printed();
    // The same library, with the user's option that declares its action harmless: it is not.
    let Some(mut machine) = start(&[], &preload) else { return };
    std::thread::sleep(Duration::from_millis(1500));
    assert!(machine.ask_as(Requests::Wished).is_err());
    assert_eq!(machine.child.wait().unwrap().code(), Some(libc::SIGQUIT));
    // A machine that already listens needs no signal.
    let options = ["-XX:+StartAttachListener"];
    let Some(machine) = start(&options, &preload) else { return };
    assert_eq!(machine.ask(), Ok(1));
    machine.printed();
}

#[test]
fn what_a_killed_run_left_is_removed_by_the_next_one() {
    let Some(machine) = start(&[], &[]) else { return };
    let pid = machine.child.id();
    let map = at("perf-", pid).with_extension("map");
    // A request for the process that had this id before, and a map that was not read.
    std::fs::write(at(".attach_pid", pid), format!("clocksmith another-boot {pid} 1\n")).unwrap();
    std::fs::write(&map, "1 1 x\n").unwrap();
    std::fs::set_permissions(&map, std::os::unix::fs::PermissionsExt::from_mode(0o1600)).unwrap();
    let file = std::fs::File::options().append(true).open(&map).unwrap();
    file.set_modified(std::time::SystemTime::now() - Duration::from_secs(60)).unwrap();
    assert_eq!(machine.ask(), Ok(1));
    assert!(!at(".attach_pid", pid).exists() && !map.exists());
    assert!(!machine.printed().contains("thread dump"));
}

#[test]
fn a_stopped_machine_gets_no_signal() {
    let Some(machine) = start(&[], &[]) else { return };
    let pid = i32::try_from(machine.child.id()).unwrap();
    // SAFETY: sends a signal to a process of this test that was not waited for.
    let signal = |number| assert_eq!(unsafe { libc::kill(pid, number) }, 0);
    signal(libc::SIGSTOP);
    std::thread::sleep(Duration::from_millis(100));
    let why = machine.ask().unwrap_err();
    assert!(why.contains("stopped"), "{why}");
    signal(libc::SIGCONT);
    assert!(!machine.printed().contains("thread dump"));
}

#[test]
fn a_map_that_is_a_fifo_is_refused_at_once() {
    let child = Command::new("sleep").arg("100").spawn().unwrap();
    let pid = child.id();
    let mut sleeper = Sleeper(child, None);
    let map = at("perf-", pid).with_extension("map");
    assert!(Command::new("mkfifo").arg(&map).status().unwrap().success());
    sleeper.1 = Some(map);
    let why = jvm::written_map(pid, &mut jvm::Written::default()).unwrap_err();
    assert!(why.contains("a FIFO"), "{why}");
}

struct Sleeper(Child, Option<PathBuf>);

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
        if let Some(map) = &self.1 {
            let _ = std::fs::remove_file(map);
        }
    }
}
