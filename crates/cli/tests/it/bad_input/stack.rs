//! With a stack of 64 KiB and input of any nesting, every verb ends with a result or a plain error.

use super::directory;
use super::tarball::gzip;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Levels of nesting: a level of a recursion takes at least 16 bytes of the stack, a return address and its padding, so
/// that these take twice the stack.
const DEEP: usize = 8_000;

/// Files that are nested.
fn files(dir: &Path) -> Vec<PathBuf> {
    let nest = |begin: &str, open: &str, inner: &str, close: &str, end: &str| {
        format!("{begin}{}{inner}{}{end}", open.repeat(DEEP), close.repeat(DEEP))
    };
    let indented = |begin: &str| {
        let lines = (0..1500).map(|level| format!("{}a:\n", " ".repeat(level)));
        format!("{begin}{}", lines.collect::<String>())
    };
    let kubevirt = "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nspec:\n";
    let anchors: String =
        (1..3000).map(|n| format!("a{n}: &a{n} [*a{}]\n", n - 1)).collect::<String>();
    let all = [
        (
            "domain.xml",
            nest("<domain type='kvm'><name>a</name>", "<clock>", "", "</clock>", "</domain>"),
        ),
        ("open.xml", nest("<domain type='kvm'>", "<a b='c'>", "", "", "")),
        (
            "machine.vbox",
            nest(
                "<VirtualBox xmlns='http://www.virtualbox.org/'><Machine>",
                "<a>",
                "",
                "</a>",
                "</Machine></VirtualBox>",
            ),
        ),
        ("hypervisor.json", nest("{\"cpus\":", "{\"boot_vcpus\":", "1", "}", "}")),
        (
            "firecracker.json",
            nest("{\"boot-source\":{\"boot_args\":", "[", "1", "]", "},\"machine-config\":{}}"),
        ),
        ("open.json", nest("{\"machine-config\":", "[", "", "", "")),
        ("flow.yaml", nest(&format!("{kubevirt}  x: "), "[", "1", "]", "\n")),
        ("map.yaml", nest(&format!("{kubevirt}  x: "), "{a: ", "1", "}", "\n")),
        ("open.yaml", nest(&format!("{kubevirt}  x: "), "[", "", "", "")),
        ("dash.yaml", nest(&format!("{kubevirt}  x:\n   "), "- ", "1", "", "\n")),
        ("lines.yaml", indented(kubevirt)),
        ("anchors.yaml", format!("{kubevirt}  x: 1\na0: &a0 []\n{anchors}")),
        ("start.sh", nest("#!/bin/sh\nexec qemu-system-x86_64 -cpu ", "$(", "host", ")", "\n")),
        ("quotes.sh", nest("#!/bin/sh\nqemu-system-x86_64 -cpu ", "\"`", "host", "`\"", "\n")),
        ("guest.cfg", nest("type = \"pvh\"\nvcpus = 2\nx = ", "[", "1", "]", "\n")),
        (
            "guest.vmx",
            nest("config.version = \"8\"\nmonitor_control.x = \"", "${", "", "}", "\"\n"),
        ),
        ("100.conf", nest("cores: 2\nargs: -cpu host,", "+", "", "", "\n")),
        (
            "page.log",
            nest("", "<p>", "[    0.000000] tsc: Detected 2000.000 MHz processor\n", "</p>", "\n"),
        ),
        (
            "mail.log",
            nest("", "> ", "[    0.000000] tsc: Detected 2000.000 MHz processor", "", "\n"),
        ),
        ("journal.log", nest("{\"MESSAGE\":", "[", "1", "]", "}\n")),
        (
            "text.log",
            nest(
                "[    0.000000] Command line: ",
                "((",
                "clocksource=tsc",
                "))",
                "\n[    0.1] tsc: Fast TSC calibration using PIT\n",
            ),
        ),
        (
            "report.json",
            nest("{\"schema\":\"clocksmith.why.v1\",\"report\":", "{\"a\":", "1", "}", "}\n"),
        ),
    ];
    all.into_iter()
        .map(|(name, text)| {
            let path = dir.join(name);
            std::fs::write(&path, text).unwrap();
            path
        })
        .collect()
}

/// A bundle with a member deep in directories, and one that is packed again and again.
fn bundles(dir: &Path) -> [PathBuf; 2] {
    let mut tar = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(1);
    header.set_mode(0o644);
    let name = format!("{}x", "a/".repeat(1_000));
    tar.append_data(&mut header, name, b"x".as_slice()).unwrap();
    let member = tar.into_inner().unwrap();
    let mut nested = member.clone();
    for _ in 0..20 {
        nested = gzip(&nested);
    }
    let paths = [dir.join("deep.tar.gz"), dir.join("nested.tar.gz")];
    std::fs::write(&paths[0], gzip(&member)).unwrap();
    std::fs::write(&paths[1], nested).unwrap();
    paths
}

/// Runs with that stack; whether it ended by itself, and with a code of the contract.
fn small(dir: &Path, arguments: &[&str]) {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "ulimit -s 64; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_clocksmith")]);
    command.args(arguments).current_dir(dir).env("XDG_STATE_HOME", dir).stdin(Stdio::null());
    let done = command.output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    let what = format!("{arguments:?}: {:?} {said:.400}", done.status);
    assert_eq!(done.status.signal(), None, "{what}");
    assert!(matches!(done.status.code(), Some(0..=3 | 125)), "{what}");
    assert!(!said.contains("panicked") && !said.contains("overflow"), "{what}");
    if done.status.code() == Some(2) {
        assert!(!said.is_empty(), "{what}");
    }
}

#[test]
fn small_stack_every_verb_reads_deep_input() {
    let dir = directory();
    let at = dir.path();
    for path in files(at) {
        let file = path.to_str().unwrap();
        for verb in ["lint", "fix"] {
            small(at, &["vm", verb, file]);
        }
        small(at, &["vm", "migrate", file, "--to", file]);
        small(at, &["--json", "vm", "lint", file]);
        small(at, &["fleet", file]);
        small(at, &["bench", "--threads", "1", "--baseline", file]);
        if file.ends_with(".log") {
            for verb in ["why", "predict"] {
                small(at, &[verb, "--log", file]);
            }
        }
        if file.ends_with(".yaml") {
            let listen = ["watch", "--once", "--no-history", "--listen", "127.0.0.1:0"];
            small(at, &[&listen[..], &["--web-config", file]].concat());
        }
    }
    for path in bundles(at) {
        let bundle = path.to_str().unwrap();
        for verb in ["why", "predict"] {
            small(at, &[verb, "--bundle", bundle]);
        }
        small(at, &["fleet", bundle]);
    }
}

#[test]
fn small_stack_every_verb_works() {
    let dir = directory();
    let at = dir.path();
    for arguments in [
        &["--help"] as &[&str],
        &["--version"],
        &["why"],
        &["why", "--html", "-"],
        &["check"],
        &["predict"],
        &["predict", "--blank"],
        &["collect", "--output", "b.tar.gz"],
        &["collect", "--list"],
        &["fix"],
        &["fix", "--status"],
        &["watch", "--once", "--no-history"],
        &["explain", "tsc"],
        &["verify", "--duration", "300ms", "--no-save"],
        &["completions", "bash"],
        &["man", "why"],
        &["run", "true"],
        &["who", "--duration", "300ms", "--pid", "1"],
    ] {
        small(at, arguments);
    }
}
