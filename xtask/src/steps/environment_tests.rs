//! Tests of what scripts have of the environment (`packaging/environment.sh`), and of `python/pytest.sh` with an interpreter that
//! only prints.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// These change what a tool answers.
const WITHOUT: &[&str] = &[
    "PYTHONOPTIMIZE",
    "PYTHONINSPECT",
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONWARNINGS",
    "PYTHONSTARTUP",
    "PYTHONSAFEPATH",
    "PYTHON_GIL",
    "PIP_TARGET",
    "PIP_NO_DEPS",
    "PIP_DRY_RUN",
    "PYTEST_ADDOPTS",
    "PYTEST_PLUGINS",
    "PY_COLORS",
    "FORCE_COLOR",
    "CLICOLOR_FORCE",
    "BASH_ENV",
    "POSIXLY_CORRECT",
    "GREP_OPTIONS",
    "MAKEFLAGS",
    "GNUMAKEFLAGS",
    "MAKEFILES",
    "NODE_OPTIONS",
    "PERL5OPT",
    "RUBYOPT",
    "LUA_INIT_5_4",
    "RUSTFMT",
    "CARGO_ALIAS_DENY",
    "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER",
    "UPDATE_SCHEMAS",
    "DESTDIR",
];

/// These say where something is, or how it is compiled.
const WITH: &[&str] = &[
    "PYTHON",
    "PYTHON_TOOLS",
    "PYTHON_VERSION",
    "PYTHONUSERBASE",
    "PYTHONHASHSEED",
    "PIP_INDEX_URL",
    "PIP_CERT",
    "PIP_CACHE_DIR",
    "CFLAGS",
    "CMAKE_GENERATOR",
    "LD_LIBRARY_PATH",
    "JAVA_TOOL_OPTIONS",
    "GOFLAGS",
    "RUSTFLAGS",
    "https_proxy",
];

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// What a script prints after it has sourced the file, and what is named on the way.
fn after(script: &str, variables: &BTreeMap<&str, &str>) -> (String, String) {
    let script = format!(". packaging/environment.sh; {script}");
    let mut bash = Command::new("bash");
    bash.args(["-euo", "pipefail", "-c", &script, "dir/name"]).current_dir(top());
    let done = bash.envs(variables).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success(), "{said}");
    (String::from_utf8_lossy(&done.stdout).into_owned(), said)
}

#[test]
fn environment_of_scripts_has_nothing_that_changes_answers() {
    // An empty one is enough for some.
    for value in ["/nonexistent", ""] {
        let variables = WITHOUT.iter().chain(WITH).map(|name| (*name, value)).collect();
        let (has, said) = after("env", &variables);
        let has = |name: &str| has.lines().any(|line| line == format!("{name}={value}"));
        let is_named = |name: &str| said.split_whitespace().any(|word| word == name);
        for name in WITHOUT {
            assert!(!has(name) && is_named(name), "{name}={value}: {said}");
        }
        for name in WITH {
            assert!(has(name) && !is_named(name), "{name}={value}: {said}");
        }
        assert!(said.contains("name: without "), "{said}");
    }
    let (again, said) = after(". packaging/environment.sh; env", &BTreeMap::new());
    assert!(again.contains("PYTHONUTF8=1\n"), "{again}");
    assert_eq!(said.lines().count(), usize::from(said.contains("without")), "{said}");
}

#[test]
fn number_of_cases_is_not_nothing() {
    for (value, is_kept) in [("0", false), ("", false), ("00", false), ("7", true), ("x", true)] {
        for name in ["PROPTEST_CASES", "FUZZ_SECONDS", "CASES"] {
            let (has, said) = after("env", &BTreeMap::from([(name, value)]));
            assert_eq!(
                has.contains(&format!("{name}={value}\n")),
                is_kept,
                "{name}={value}: {has}"
            );
            assert_eq!(said.contains(name), !is_kept, "{name}={value}: {said}");
        }
    }
}

#[test]
fn environment_of_scripts_has_no_functions_and_options_of_a_shell() {
    let variables = BTreeMap::from([
        ("BASH_FUNC_grep%%", "() { echo of the user; }"),
        ("SHELLOPTS", "braceexpand:hashall:noglob"),
    ]);
    let (said, _) = after("echo x | grep x; bash -c 'echo $-; echo y | grep y'", &variables);
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!((lines[0], lines[2]), ("x", "y"), "{said}");
    assert!(!lines[1].contains('f'), "{said}");
}

#[test]
fn environment_is_that_of_each_script_that_is_called_by_hand() {
    for script in ["test.sh", ".ci/run", "python/test.sh", "python/pytest.sh", "fleet/test.sh"] {
        let text = std::fs::read_to_string(top().join(script)).unwrap();
        let sources =
            |line: &str| line.starts_with(". ") && line.ends_with("packaging/environment.sh");
        assert!(text.lines().any(sources), "{script}");
    }
}

/// How `python/pytest.sh` ends with an interpreter that prints a text, and what it says itself.
fn pytest(text: &str, code: i32) -> (Option<i32>, String) {
    use std::os::unix::fs::OpenOptionsExt as _;
    let dir = tempdir();
    let (python, script) =
        (dir.join("python"), format!("#!/bin/sh\ncat <<'E'\n{text}\nE\nexit {code}\n"));
    let mut options = std::fs::OpenOptions::new();
    let file = options.write(true).create_new(true).mode(0o755).open(&python);
    std::io::Write::write_all(&mut file.unwrap(), script.as_bytes()).unwrap();
    let done =
        Command::new("bash").arg(top().join("python/pytest.sh")).arg(python).output().unwrap();
    std::fs::remove_dir_all(dir).unwrap();
    (done.status.code(), String::from_utf8_lossy(&done.stderr).into_owned())
}

/// A new directory.
fn tempdir() -> PathBuf {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let dir = std::env::temp_dir().join(format!("xtask-pytest-{}-{number}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

#[test]
fn pytest_is_good_only_if_all_tests_ran_and_one_passed() {
    for (text, code, words) in [
        ("..\nskipped: x\ncounted: 2 of 2 tests ran, 1 passed\n1 passed, 1 skipped in 0.1s", 0, ""),
        ("counted: 2 of 2 tests ran, 1 passed", 1, "the tests failed"),
        ("counted: 2 of 2 tests ran, 1 passed", 77, "the tests failed"),
        ("failed: x\ncounted: 2 of 2 tests ran, 1 passed", 0, "the tests failed"),
        ("counted: 1 of 3 tests ran, 1 passed\n1 passed in 0.1s", 0, "1 of 3 tests ran"),
        ("counted: 1 of 1 tests ran, 0 passed\n1 skipped in 0.1s", 0, "no test passed"),
        ("3 passed in 0.1s", 0, "the run ended before the tests were counted"),
        ("", 0, "the run ended before the tests were counted"),
    ] {
        let (ended, said) = pytest(text, code);
        assert_eq!(ended, Some(i32::from(!words.is_empty())), "{text}: {said}");
        assert!(said.contains(words), "{text}: {said}");
    }
}
