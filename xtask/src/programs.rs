//! Test programs, two at a time: many of them wait most of the time, and `cargo test` runs one after the other.

use crate::call::call;
use crate::context::{Context, WORKSPACE};
use crate::step::{Done, Stop};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Programs at a time. More would disturb those that measure.
const AT_A_TIME: usize = 2;

/// Tests of a program at a time. Many wait for a time to pass, or for another process.
const THREADS: &str = "4";

/// Failed tests that are run once more, at most: more are no accident of a busy machine.
const ONCE_MORE: usize = 8;

/// A compiled test program.
#[derive(Debug, Eq, PartialEq)]
struct Program {
    executable: PathBuf,
    /// The directory of its crate, in which it runs.
    directory: PathBuf,
}

/// Runs all test programs of the workspace, and the tests in its documentation.
pub(crate) fn run(context: &Context) -> Done {
    let listed = call("cargo test --no-run --message-format json-render-diagnostics")
        .args(WORKSPACE)
        .hidden()
        .answer(context)?;
    let mut programs: Vec<Program> = listed.text.lines().filter_map(program).collect();
    if !listed.good() || programs.is_empty() {
        return Err(Stop::fail("cargo names no test program"));
    }
    // The largest have the most tests, and are not to be the last.
    let size =
        |program: &Program| std::fs::metadata(&program.executable).map_or(0, |found| found.len());
    programs.sort_by_key(|program| std::cmp::Reverse(size(program)));
    let limit = context.limit(None)?;
    let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| {
                while let Some(program) = programs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let (good, text) = program.run(limit, None);
                    say!("-- {}\n{}", program.name(), text.trim_end());
                    if let Ok(mut results) = results.lock() {
                        results.push((program, good, text));
                    }
                }
            });
        }
    });
    let results = results.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    let before = context.tests();
    for (_, _, text) in &results {
        context.count(text);
    }
    let mut bad: Vec<String> =
        results.iter().filter(|(_, good, _)| !good).map(|(program, ..)| program.name()).collect();
    if !bad.is_empty() && once_more(context, limit, &results) {
        context.forgive(before);
        bad.clear();
    }
    let ended_early = results.iter().filter(|(_, good, text)| *good && !is_whole(text));
    bad.extend(
        ended_early.map(|(program, ..)| format!("{} (ended before its last test)", program.name())),
    );
    say!("-- documentation");
    let documented = call("cargo test --doc --no-fail-fast").args(WORKSPACE).answer(context)?;
    if !documented.good() {
        bad.push("documentation".to_owned());
    }
    if results.len() != programs.len() {
        return Err(Stop::fail("a test program was not run"));
    }
    if bad.is_empty() {
        Ok(())
    } else {
        Err(Stop::fail(format!("tests failed in {}", bad.join(", "))))
    }
}

/// Runs the tests that failed once more, alone: some measure this machine, which others may have disturbed. Whether all
/// of them pass; the end of the run names them.
fn once_more(context: &Context, limit: Option<u64>, results: &[(&Program, bool, String)]) -> bool {
    let bad = || results.iter().filter(|(_, good, _)| !good);
    let tests: Vec<(&Program, &str)> =
        bad().flat_map(|(program, _, text)| failed(text).map(|name| (*program, name))).collect();
    // A program that ended without a word is not one that failed by chance.
    if tests.len() > ONCE_MORE || bad().any(|(_, _, text)| failed(text).next().is_none()) {
        return false;
    }
    tests.iter().all(|(program, test)| {
        let (good, text) = program.run(limit, Some(test));
        let name = format!("{} {test}", program.name());
        say!("-- once more, alone: {name}\n{}", text.trim_end());
        let good = good && text.contains("test result: ok. 1 passed");
        if good {
            context.unsteady.borrow_mut().push(format!("{name}: failed, and passed alone"));
        }
        good
    })
}

/// Whether a program that ended well says what became of each of its tests: one that a test ends says nothing. A program
/// that counts no tests has its own way to fail.
fn is_whole(text: &str) -> bool {
    let numbers = |line: &str| -> usize {
        let words = line.split([' ', ';']).filter(|word| !word.is_empty());
        words.filter_map(|word| word.parse::<usize>().ok()).sum()
    };
    let begun = text.lines().find(|line| {
        line.strip_prefix("running ")
            .is_some_and(|rest| rest.ends_with(" tests") || rest == "1 test")
    });
    begun.is_none_or(|begun| {
        text.lines().any(|line| {
            line.strip_prefix("test result: ")
                .and_then(|rest| rest.split("; finished").next())
                .and_then(|rest| rest.rsplit_once("; ").map(|(counted, _filtered)| counted))
                .is_some_and(|counted| numbers(counted) == numbers(begun))
        })
    })
}

/// The names of failed tests in what a program printed.
fn failed(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... FAILED"))
}

impl Program {
    /// Its crate and its name, without the hash.
    fn name(&self) -> String {
        let file = self.executable.file_name().unwrap_or_default().to_string_lossy();
        let name = file.rsplit_once('-').map_or(&*file, |(name, _)| name);
        let directory = self.directory.file_name().unwrap_or_default().to_string_lossy();
        format!("{directory}/{name}")
    }

    /// Whether its tests, or one of them, are good, and what it printed.
    fn run(&self, limit: Option<u64>, test: Option<&str>) -> (bool, String) {
        let mut command = match limit {
            Some(seconds) => {
                let mut command = Command::new("timeout");
                command.arg("--kill-after=20").arg(seconds.to_string()).arg(&self.executable);
                command
            }
            None => Command::new(&self.executable),
        };
        if let Some(test) = test {
            command.args(["--exact", test]);
        }
        // As cargo does.
        command
            .current_dir(&self.directory)
            .env("CARGO_MANIFEST_DIR", &self.directory)
            .env("RUST_TEST_THREADS", THREADS)
            .stdin(Stdio::null());
        match command.output() {
            Ok(output) => {
                let text = [output.stdout, output.stderr].concat();
                (output.status.success(), String::from_utf8_lossy(&text).into_owned())
            }
            Err(error) => (false, format!("starting {}: {error}", self.executable.display())),
        }
    }
}

/// A test program that cargo reports, in one line of JSON.
fn program(line: &str) -> Option<Program> {
    if !line.starts_with("{\"reason\":\"compiler-artifact\"")
        || !line.contains(",\"test\":true},\"features\"")
    {
        return None;
    }
    let executable = field(line, "executable")?;
    let manifest = field(line, "manifest_path")?;
    Some(Program {
        executable: executable.into(),
        directory: Path::new(manifest).parent()?.to_path_buf(),
    })
}

/// A string in a line of JSON; none if it has to be unescaped, which a path of a build seldom has.
fn field<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = line.split_once(&format!("\"{name}\":\""))?;
    rest.split('"').next().filter(|text| !text.contains('\\'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"reason":"compiler-artifact","package_id":"path+file:///c/crates/who#1.0.0","manifest_path":"/c/crates/who/Cargo.toml","target":{"kind":["test"],"crate_types":["bin"],"name":"pythons","src_path":"/c/crates/who/tests/pythons.rs","edition":"2024","doc":false,"doctest":false,"test":true},"profile":{"opt_level":"0","debuginfo":1,"debug_assertions":true,"overflow_checks":true,"test":true},"features":[],"filenames":["/t/debug/deps/pythons-0a1b"],"executable":"/t/debug/deps/pythons-0a1b","fresh":true}"#;

    #[test]
    fn program_test_is_found_with_its_directory() {
        let found = program(LINE).unwrap();
        assert_eq!(found.executable, Path::new("/t/debug/deps/pythons-0a1b"));
        assert_eq!(found.directory, Path::new("/c/crates/who"));
        assert_eq!(found.name(), "who/pythons");
    }

    #[test]
    fn failed_tests_are_found_by_name() {
        let text = "test a::b ... ok\ntest a::c ... FAILED\ntest d ... ignored\n\ntest result: FAILED. 1 passed; 1 failed";
        assert_eq!(failed(text).collect::<Vec<_>>(), ["a::c"]);
    }

    #[test]
    fn program_that_ends_before_its_last_test_is_not_whole() {
        let end = "test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 4 filtered out; finished in 0.00s";
        assert!(is_whole(&format!("\nrunning 3 tests\ntest a ... ok\n\n{end}\n")));
        assert!(!is_whole("\nrunning 3 tests\ntest a ... ok\n"));
        assert!(!is_whole(&format!("\nrunning 4 tests\n{end}\n")));
        assert!(is_whole("what a program without a list of tests prints\n"));
        assert!(is_whole(
            "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s"
        ));
    }

    #[test]
    fn once_more_passes_only_if_each_failed_test_passes_alone() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = std::env::temp_dir().join(format!("xtask-once-more-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let executable = dir.join("program");
        let script = "#!/bin/sh\ncase $2 in good) echo 'test result: ok. 1 passed;';; none) echo 'test result: ok. 0 passed;';; *) exit 1;; esac\n";
        std::fs::write(&executable, script).unwrap();
        std::fs::set_permissions(&executable, std::fs::Permissions::from_mode(0o755)).unwrap();
        let program = Program { executable, directory: dir.clone() };
        let again = |names: &[&str]| {
            let context = Context::new(&dir, None);
            let text: String =
                names.iter().map(|name| format!("test {name} ... FAILED\n")).collect();
            let good = once_more(&context, None, &[(&program, false, text)]);
            (good, context.unsteady.borrow().len())
        };
        assert_eq!(again(&["good"]), (true, 1));
        assert_eq!(again(&["good", "bad"]), (false, 1));
        assert_eq!(again(&["none"]), (false, 0));
        assert_eq!(again(&["good"; ONCE_MORE + 1]), (false, 0));
        assert_eq!(again(&[]), (false, 0));
        std::fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn program_of_users_and_library_are_none() {
        let plain = LINE.replace(
            "\"overflow_checks\":true,\"test\":true",
            "\"overflow_checks\":true,\"test\":false",
        );
        assert_eq!(program(&plain), None);
        assert_eq!(
            program(
                &LINE.replace(
                    "\"executable\":\"/t/debug/deps/pythons-0a1b\"",
                    "\"executable\":null"
                )
            ),
            None
        );
        assert_eq!(program("Compiling who"), None);
    }
}
