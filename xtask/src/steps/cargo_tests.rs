//! Tests of what steps call cargo with: the steps run in a process of their own, where `cargo` is a script that notes it.

use crate::context::Context;
use crate::plan::find;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Of the process that runs a step: which one.
const STEP: &str = "XTASK_TEST_STEP";

/// Whether it is the short form.
const SHORT: &str = "XTASK_TEST_SHORT";

/// Notes the arguments and the flags of compilers; for scripts it knows of one crate.
const CARGO: &str = r#"#!/bin/sh
echo "cargo $* | $(env | grep FLAGS= | sort | tr '\n' ' ')" >>"$NOTES"
if [ "$1" = metadata ]; then echo '{"packages":[{"name":"x","features":[1]}]}'; fi
if [ "$1" = "$LACKS" ]; then exit 1; fi
"#;

/// For the step python, which makes an environment with it, and calls maturin there.
const PYTHON: &str = r#"#!/bin/sh
case $* in *'-m venv '*) mkdir -p "$3/bin"; cp "$0" "$3/bin/python"; cp "$0" "$3/bin/maturin" ;; esac
"#;

/// For the step clippy, which asks where its driver is.
const RUSTC: &str = "#!/bin/sh\ndirname \"$(dirname \"$0\")\"\n";

/// Which lines a step's calls of cargo leave, beside these variables.
fn calls(step: &str, variables: &[(&str, &str)]) -> Vec<String> {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let dir = std::env::temp_dir().join(format!("xtask-cargo-{}-{number}", std::process::id()));
    let bin = dir.join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    let programs = [
        ("cargo", CARGO),
        ("rustc", RUSTC),
        ("clippy-driver", "#!/bin/sh\n"),
        ("fake-python", PYTHON),
    ];
    for (name, text) in programs {
        std::fs::write(bin.join(name), text).unwrap();
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(bin.join(name), mode).unwrap();
    }
    let path = std::env::join_paths(
        std::iter::once(bin).chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    let mut child = Command::new(std::env::current_exe().unwrap());
    for (name, _) in std::env::vars_os() {
        if crate::flags::is_flags(&name) {
            child.env_remove(name);
        }
    }
    let done = child
        .args(["--exact", "steps::cargo_tests::step_of_the_environment_runs"])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
        .env("PATH", path.unwrap())
        .env("NOTES", dir.join("notes"))
        .env("PYTHON", "fake-python")
        .env(STEP, step)
        .envs(variables.iter().copied())
        .stdout(Stdio::null())
        .status();
    assert!(done.unwrap().success(), "{step}");
    // A script without its tools calls nothing.
    let notes = std::fs::read_to_string(dir.join("notes")).unwrap_or_default();
    std::fs::remove_dir_all(dir).unwrap();
    notes.lines().map(str::to_owned).collect()
}

/// How the step ends does not matter.
#[test]
fn step_of_the_environment_runs() {
    let Some(step) = std::env::var_os(STEP) else { return };
    let context = Context::new(&std::env::temp_dir(), None);
    context.short.set(std::env::var_os(SHORT).is_some());
    let _ = (find(step.to_str().unwrap()).unwrap().run)(&context);
}

#[test]
fn steps_that_run_tests_of_cargo_show_which_skip_themselves() {
    for step in ["clock", "targets", "miri", "tsan", "who-calibration", "crash", "agreement"] {
        let calls = calls(step, &[]);
        let tests: Vec<&String> = calls.iter().filter(|call| call.contains(" test ")).collect();
        assert!(!tests.is_empty(), "{step}: {calls:?}");
        for call in tests {
            let (_, arguments) = call.split_once(" -- ").expect("no arguments for libtest");
            let shows = arguments.contains("--show-output") || arguments.contains("--nocapture");
            assert!(shows, "{step}: {call}");
        }
    }
}

#[test]
fn python_without_a_component_is_skipped() {
    for (lacks, name) in [("fmt", "rustfmt"), ("clippy", "clippy")] {
        let calls = calls("python", &[("LACKS", lacks)]);
        assert_eq!(
            calls.last().map(|call| call.contains(&format!("cargo {lacks} --version"))),
            Some(true),
            "{calls:?}"
        );
        assert!(
            crate::needs::of(find("python").unwrap()).iter().any(|need| need.word() == Some(name))
        );
    }
}

#[test]
fn steps_that_judge_warnings_or_set_flags_have_none_of_the_environment() {
    let names = ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_RUSTFLAGS"];
    let more = ["RUSTDOCFLAGS", "CARGO_ENCODED_RUSTDOCFLAGS", "CARGO_TARGET_X_RUSTFLAGS"];
    let mut flags: Vec<_> = names.iter().chain(&more).map(|name| (*name, "-Aall")).collect();
    flags.push((SHORT, "1"));
    for (step, words, own) in [
        ("clippy", "--all-targets", ""),
        ("doc", "doc --no-deps", "RUSTDOCFLAGS=-D warnings "),
        ("no-default-features", "--no-default-features -p clocksmith-cli", ""),
        ("clock", "--profile loom", "RUSTFLAGS=--cfg clocksmith_loom "),
        (
            "targets",
            "--target x86_64-unknown-linux-gnu",
            "RUSTFLAGS=-C target-feature=+crt-static ",
        ),
        ("tsan", "-Zbuild-std", "RUSTFLAGS=-Zsanitizer=thread "),
        ("python", "clippy --quiet", ""),
        ("fleet", "test --quiet", ""),
        // cargo-fuzz sets its own.
        ("fuzz", "fuzz run", ""),
    ] {
        let calls = calls(step, &flags);
        let call = calls.iter().find(|call| call.contains(words)).unwrap();
        // An empty one stands before the flags in a configuration of cargo.
        let (_, has) = call.split_once(" | ").unwrap();
        let of = |name: &str| own.strip_prefix(name).map_or("", str::trim_end);
        let (docs, rust) = (of("RUSTDOCFLAGS="), of("RUSTFLAGS="));
        assert_eq!(has, format!("RUSTDOCFLAGS={docs} RUSTFLAGS={rust} "), "{step}: {call}");
    }
    // The whole form is a script.
    flags.pop();
    for call in calls("no-default-features", &flags) {
        assert!(!call.contains("-Aall"), "{call}");
    }
    // Who measures what tests reach, or sets a linker, has these flags in all other steps.
    assert!(calls("crash", &flags)[0].contains("CARGO_BUILD_RUSTFLAGS=-Aall"));
}
