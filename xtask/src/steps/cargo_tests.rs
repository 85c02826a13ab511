//! Tests of what steps call cargo with: the steps run in a process of their own, where `cargo` is a script that notes it.

use crate::context::Context;
use crate::plan::find;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// Of the process that runs a step: which one.
const STEP: &str = "XTASK_TEST_STEP";

/// Notes the arguments and the flags of compilers; for scripts it knows of one crate.
const CARGO: &str = r#"#!/bin/sh
echo "cargo $* | $(env | grep FLAGS= | sort | tr '\n' ' ')" >>"$NOTES"
if [ "$1" = metadata ]; then echo '{"packages":[{"name":"x","features":[1]}]}'; fi
"#;

/// For the step clippy, which asks where its driver is.
const RUSTC: &str = "#!/bin/sh\ndirname \"$(dirname \"$0\")\"\n";

/// Which lines a step's calls of cargo leave, beside these variables.
fn calls(step: &str, variables: &[(&str, &str)]) -> Vec<String> {
    let dir = std::env::temp_dir().join(format!("xtask-cargo-{step}-{}", std::process::id()));
    let bin = dir.join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    for (name, text) in [("cargo", CARGO), ("rustc", RUSTC), ("clippy-driver", "")] {
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
        .env(STEP, step)
        .envs(variables.iter().copied())
        .stdout(Stdio::null())
        .status();
    assert!(done.unwrap().success(), "{step}");
    let notes = std::fs::read_to_string(dir.join("notes")).unwrap();
    std::fs::remove_dir_all(dir).unwrap();
    notes.lines().map(str::to_owned).collect()
}

/// How the step ends does not matter.
#[test]
fn step_of_the_environment_runs() {
    let Some(step) = std::env::var_os(STEP) else { return };
    let context = Context::new(&std::env::temp_dir(), None);
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
