//! Test programs, two at a time: many of them wait most of the time, and `cargo test` runs one after the other.

mod listed;

use crate::call::call;
use crate::context::Context;
use crate::kept::{Kept, PIECE};
use crate::limit::{StepLimit, is_over};
use crate::load::Mark;
use crate::running::{close, has_ended};
use crate::scratch::Guard;
use crate::settings::cases;
use crate::skips::Skips;
use crate::step::{Done, Stop};
use std::io::{BufRead as _, BufReader, Read};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Seconds for all of them, with the default number of cases of property tests.
pub(crate) const BUDGET: u64 = 240;

/// Programs at a time. More would disturb those that measure.
const AT_A_TIME: usize = 2;

/// Tests of a program at a time. Many wait for a time to pass, or for another process.
const THREADS: &str = "4";

/// How often its budget the documentation may take by the clock.
const BUSY: f64 = 3.0;

/// The largest number of failed tests that are run once more: more failures are not due to a busy machine.
const ONCE_MORE: usize = 8;

/// The exit code of a libtest program of which a test failed.
const FAILED_TESTS: i32 = 101;

/// The end of libtest's line about a test that is slow, or hangs.
const SLOW: &str = " has been running for over 60 seconds";

/// How often it is looked whether a program has ended.
const LOOK: Duration = Duration::from_millis(20);

/// A compiled test program.
#[derive(Debug, Eq, PartialEq)]
struct Program {
    executable: PathBuf,
    /// The directory of its crate, in which it runs.
    directory: PathBuf,
}

/// How long a program may run.
#[derive(Clone, Copy)]
struct Limit<'a> {
    /// Seconds on the quiet machine of the table.
    quiet: f64,
    slowness: f64,
    /// When the whole run is over.
    end: Option<Instant>,
    /// Of the whole step.
    step: Option<StepLimit>,
    guard: &'a Guard,
}

/// How a program ended.
struct Ran {
    good: bool,
    /// Its exit code.
    code: Option<i32>,
    /// The seconds after which it was ended, if it was.
    late: Option<u64>,
    text: String,
}

/// Runs all test programs of the workspace, and the tests in its documentation.
pub(crate) fn run(context: &Context) -> Done {
    let listed = call("cargo test --no-run --message-format json-render-diagnostics")
        .workspace()
        .hidden()
        .answer(context)?;
    let mut programs: Vec<Program> = listed.text.lines().filter_map(listed::program).collect();
    if listed.late.is_some() {
        return Err(Stop::fail(format!("cargo, which lists the test programs, {}", listed.how())));
    }
    if !listed.good() || programs.is_empty() {
        return Err(Stop::fail("cargo names no test program"));
    }
    // The largest have the most tests, and are not to be the last.
    let size =
        |program: &Program| std::fs::metadata(&program.executable).map_or(0, |found| found.len());
    programs.sort_by_key(|program| std::cmp::Reverse(size(program)));
    context.has_time()?;
    // More cases take more time; how much of it is theirs is not known.
    let budget = BUDGET.saturating_mul(cases(|name| std::env::var_os(name)));
    context.asked.set(budget - BUDGET);
    let limit = Limit {
        quiet: budget as f64,
        slowness: context.slowness.get(),
        end: context.end,
        step: context.step_limit(),
        guard: &context.guard,
    };
    let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    // By the clock: on a busy machine the budget is not much.
    let seconds = (BUSY * budget as f64 * context.slowness.get()) as u64;
    // Meanwhile: its programs are small, and the test programs wait for some of their time.
    let documented = std::thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            let started = std::thread::Builder::new().spawn_scoped(scope, || {
                while let Some(program) = programs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let ran = program.run(limit, None);
                    let name = program.name();
                    match ran.late {
                        Some(seconds) => say!(
                            "-- {name}: ended after {seconds} s, because it took too long; what it printed:\n{}",
                            ran.text.trim_end()
                        ),
                        None => say!("-- {name}\n{}", ran.text.trim_end()),
                    }
                    if let Ok(mut results) = results.lock() {
                        results.push((program, ran));
                    }
                }
            });
            if let Err(error) = started {
                say!("-- a thread could not be started: {error}");
            }
        }
        let documented = call("cargo test --doc --no-fail-fast").workspace().limit(seconds);
        documented.hidden().answer(context)
    })?;
    say!("-- documentation\n{}", documented.text.trim_end());
    let results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    let before = context.tests();
    for (_, ran) in &results {
        context.count(&ran.text);
    }
    let mut bad: Vec<String> = results
        .iter()
        .filter(|(_, ran)| !ran.good)
        .map(|(program, ran)| ran.named(program))
        .collect();
    if !bad.is_empty() && once_more(context, limit, &results) {
        context.forgive(before);
        bad.clear();
    }
    let ended_early = results.iter().filter(|(_, ran)| ran.good && !is_whole(&ran.text));
    bad.extend(
        ended_early.map(|(program, _)| format!("{} (ended before its last test)", program.name())),
    );
    if !documented.good() {
        bad.push(format!("documentation ({})", documented.how()));
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
fn once_more(context: &Context, limit: Limit<'_>, results: &[(&Program, Ran)]) -> bool {
    let bad = || results.iter().filter(|(_, ran)| !ran.good);
    let tests: Vec<(&Program, &str)> =
        bad().flat_map(|(program, ran)| failed(&ran.text).map(|name| (*program, name))).collect();
    if tests.len() > ONCE_MORE || !bad().all(|(_, ran)| ran.is_failed_test()) {
        return false;
    }
    tests.iter().all(|(program, test)| {
        let Ran { good, text, .. } = program.run(limit, Some(test));
        let name = format!("{} {test}", program.name());
        say!("-- once more, alone: {name}\n{}", text.trim_end());
        // A test that skips itself now has not passed.
        let good = good && text.contains("test result: ok. 1 passed") && !Skips::is_any(&text);
        if good {
            context.unsteady.borrow_mut().push(format!("{name}: failed, and passed alone"));
        }
        good
    })
}

/// Returns whether a program that exited with success reports the result of each of its tests: a test that ends the
/// program leaves no report. A program that counts no tests reports failures in its own way.
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

/// Returns the names of failed tests in a program's output.
fn failed(text: &str) -> impl Iterator<Item = &str> {
    let named =
        |line| -> Option<&str> { str::strip_prefix(line, "test ")?.strip_suffix(" ... FAILED") };
    text.lines().filter_map(named).map(name_of)
}

/// The name of a test, without libtest's word about one that has to panic.
fn name_of(shown: &str) -> &str {
    shown.strip_suffix(" - should panic").unwrap_or(shown)
}

/// The tests that libtest called slow, and that did not end.
fn hanging(text: &str) -> Vec<&str> {
    let slow = text.lines().filter_map(|line| line.strip_prefix("test ")?.strip_suffix(SLOW));
    let slow = slow.map(name_of);
    let ended = |name: &str| {
        let shown =
            |line: &str| Some(name_of(line.strip_prefix("test ")?.split_once(" ... ")?.0) == name);
        text.lines().any(|line| shown(line) == Some(true))
    };
    slow.filter(|name| !ended(name)).collect()
}

impl Ran {
    fn of(text: String) -> Ran {
        Ran { good: false, code: None, late: None, text }
    }

    /// Whether tests of it failed and nothing else: it came to the end of all of them, and libtest chose its exit code. One
    /// that crashed, or that was ended, has not run the rest of its tests, whatever those that failed before do alone.
    fn is_failed_test(&self) -> bool {
        self.late.is_none()
            && self.code == Some(FAILED_TESTS)
            && is_whole(&self.text)
            && failed(&self.text).next().is_some()
    }

    /// The program, and which tests hang if it was ended.
    fn named(&self, program: &Program) -> String {
        let name = program.name();
        let Some(seconds) = self.late else { return name };
        let hanging = match hanging(&self.text).as_slice() {
            [] => "it does not say in which test".to_owned(),
            tests => format!("in {}", tests.join(", ")),
        };
        format!("{name} (ended after {seconds} s, {hanging})")
    }
}

/// The output of a stream so far.
type Shared = Arc<Mutex<Kept>>;

/// Collects the output of a stream, and reports at once which test is slow.
fn keep(
    stream: Option<impl Read + Send + 'static>,
    name: String,
) -> std::io::Result<(Shared, JoinHandle<()>)> {
    let kept = Arc::new(Mutex::new(Kept::default()));
    let to = Arc::clone(&kept);
    let reader = std::thread::Builder::new().spawn(move || {
        let Some(stream) = stream else { return };
        let mut stream = BufReader::new(stream);
        let mut line = Vec::new();
        let mut read = |line: &mut Vec<u8>| stream.by_ref().take(PIECE).read_until(b'\n', line);
        while read(&mut line).is_ok_and(|bytes| bytes > 0) {
            if line.trim_ascii_end().ends_with(SLOW.as_bytes()) {
                say!("-- {name}: {}", String::from_utf8_lossy(line.trim_ascii_end()));
            }
            to.lock().unwrap_or_else(PoisonError::into_inner).add(&line);
            line.clear();
        }
    })?;
    Ok((kept, reader))
}

impl Program {
    /// Its crate and its name, without the hash.
    fn name(&self) -> String {
        let file = self.executable.file_name().unwrap_or_default().to_string_lossy();
        let name = file.rsplit_once('-').map_or(&*file, |(name, _)| name);
        let directory = self.directory.file_name().unwrap_or_default().to_string_lossy();
        format!("{directory}/{name}")
    }

    /// Runs its tests, or one of them. With all that it started it is ended at its limit.
    fn run(&self, limit: Limit<'_>, test: Option<&str>) -> Ran {
        let mut command = Command::new(&self.executable);
        if let Some(test) = test {
            command.args(["--exact", test]);
        }
        command.arg(crate::skips::SHOW);
        // As cargo does.
        command
            .current_dir(&self.directory)
            .env("CARGO_MANIFEST_DIR", &self.directory)
            .env("RUST_TEST_THREADS", THREADS)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        let mark = Mark::now();
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(error) => {
                return Ran::of(format!("starting {}: {error}", self.executable.display()));
            }
        };
        limit.guard.begin(child.id());
        // Separately, so that the output of one is not inside a line of the other.
        let readers =
            [keep(child.stdout.take(), self.name()), keep(child.stderr.take(), self.name())];
        let is_read = || readers.iter().flatten().all(|(_, reader)| reader.is_finished());
        let mut late = None;
        let mut looks = 0_u32;
        // Processes that it has started may print after its end.
        while !has_ended(&mut child) || !is_read() {
            looks += 1;
            let over = limit.end.is_some_and(|end| Instant::now() >= end)
                || (looks.is_multiple_of(16)
                    && (is_over(mark.spent_with(child.id()), limit.slowness, limit.quiet)
                        || limit.step.is_some_and(|step| step.over(child.id()).is_some())));
            if over {
                late = Some(mark.spent().wall as u64);
                break;
            }
            std::thread::sleep(LOOK);
        }
        let status = close(&mut child);
        // A process in another group may still have the pipe open.
        let closed = Instant::now();
        while !is_read() && closed.elapsed() < 10 * LOOK {
            std::thread::sleep(LOOK);
        }
        limit.guard.end(child.id());
        let mut text = String::new();
        for reader in &readers {
            match reader {
                Ok((kept, _)) => {
                    text.push_str(&kept.lock().unwrap_or_else(PoisonError::into_inner).text());
                }
                Err(error) => text.push_str(&format!("reading what it prints: {error}\n")),
            }
        }
        let text = crate::skips::without_output(&text);
        let read = readers.iter().all(Result::is_ok);
        let code = status.ok().flatten().and_then(|status| status.code());
        Ran { good: read && late.is_none() && code == Some(0), code, late, text }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::KILLS;
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;

    #[test]
    fn failed_tests_are_found_by_name() {
        let text = "test a::b ... ok\ntest a::c ... FAILED\ntest d ... ignored\n\ntest result: FAILED. 1 passed; 1 failed";
        assert_eq!(failed(text).collect::<Vec<_>>(), ["a::c"]);
        assert_eq!(failed("test a - should panic ... FAILED\n").collect::<Vec<_>>(), ["a"]);
        let slow = format!("test a{SLOW}\ntest b{SLOW}\ntest a - should panic ... ok\n");
        assert_eq!(hanging(&slow), ["b"]);
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

    /// A program that is a script.
    fn script(dir: &Path, script: &str) -> Program {
        std::fs::create_dir_all(dir).unwrap();
        let executable = dir.join("program");
        std::fs::write(&executable, script).unwrap();
        std::fs::set_permissions(&executable, std::fs::Permissions::from_mode(0o755)).unwrap();
        Program { executable, directory: dir.to_path_buf() }
    }

    /// Waits for the end of the `sleep` of which the file `child` of a directory has the number.
    fn assert_child_ends(dir: &Path) {
        let pid = std::fs::read_to_string(dir.join("child")).unwrap();
        let is_running = || {
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
            stat.is_ok_and(|stat| stat.contains("(sleep)") && !stat.contains(") Z "))
        };
        let begun = Instant::now();
        while is_running() && begun.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(LOOK);
        }
        assert!(!is_running());
    }

    #[test]
    fn program_that_leaves_a_child_behind_is_good_and_the_child_ends_with_it() {
        let dir = std::env::temp_dir().join(format!("xtask-leaves-{}", std::process::id()));
        let program = script(
            &dir,
            "#!/bin/sh\nsleep 1000 >/dev/null 2>&1 & echo $! >child; echo 'running 0 tests'\n",
        );
        let context = Context::new(&dir, None);
        let kills = KILLS.get();
        let ran = program.run(unlimited(&context), None);
        assert_eq!(KILLS.get(), kills + 1);
        assert!(ran.good && ran.text == "running 0 tests\n", "{}", ran.text);
        assert_child_ends(&dir);
        std::fs::remove_dir_all(&dir).unwrap();
    }

    fn unlimited(context: &Context) -> Limit<'_> {
        let guard = &context.guard;
        Limit { quiet: f64::INFINITY, slowness: 1.0, end: None, step: None, guard }
    }

    #[test]
    fn program_that_hangs_is_ended_with_its_children_and_named() {
        let dir = std::env::temp_dir().join(format!("xtask-hangs-{}", std::process::id()));
        let text = "#!/bin/sh\necho 'running 2 tests'\necho 'test a has been running for over 60 seconds'\n\
            echo 'test b has been running for over 60 seconds'\necho 'test b ... FAILED'\n\
            sleep 1000 & echo $! >child; echo to-err >&2; [ \"$1\" = --exact ] && [ \"$2\" = quick ] || wait\n";
        let program = script(&dir, text);
        let context = Context::new(&dir, None);
        // It hangs itself; and it ends, but leaves a child that holds its output.
        for test in [None, Some("quick")] {
            let ran = program.run(Limit { quiet: 0.1, ..unlimited(&context) }, test);
            assert!(!ran.good && ran.late.is_some());
            assert!(ran.text.contains("running 2 tests") && ran.text.contains("to-err"));
            assert_eq!(hanging(&ran.text), ["a"]);
            assert!(ran.named(&program).contains("s, in a)"), "{}", ran.named(&program));
            assert_child_ends(&dir);
            // One of its tests failed; if that test passes alone, this does not show anything about the one that hangs.
            assert!(!once_more(&context, unlimited(&context), &[(&program, ran)]));
        }
        std::fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn once_more_passes_only_if_each_failed_test_passes_alone() {
        let dir = std::env::temp_dir().join(format!("xtask-once-more-{}", std::process::id()));
        let text = "#!/bin/sh\ncase $2 in good) echo 'test result: ok. 1 passed;';; skips) echo 'skipped: too busy'; echo 'test result: ok. 1 passed;';; none) echo 'test result: ok. 0 passed;';; *) exit 1;; esac\n";
        let program = script(&dir, text);
        let again = |names: &[&str]| {
            let context = Context::new(&dir, None);
            let text: String =
                names.iter().map(|name| format!("test {name} ... FAILED\n")).collect();
            let ran = Ran { code: Some(FAILED_TESTS), ..Ran::of(text) };
            let good = once_more(&context, unlimited(&context), &[(&program, ran)]);
            (good, context.unsteady.borrow().len())
        };
        assert_eq!(again(&["good"]), (true, 1));
        assert_eq!(again(&["good", "bad"]), (false, 1));
        assert_eq!(again(&["none"]), (false, 0));
        assert_eq!(again(&["skips"]), (false, 0));
        assert_eq!(again(&["good"; ONCE_MORE + 1]), (false, 0));
        assert_eq!(again(&[]), (false, 0));
        // The rest of its tests never ran: a crash, an exit of its own, or an end by a limit.
        let begun = "running 3 tests\ntest good ... FAILED\n";
        let end = "test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n";
        let whole = format!("{begun}test a ... ok\ntest b ... ok\n{end}");
        for (code, text, passes) in [
            (Some(FAILED_TESTS), whole.as_str(), true),
            (Some(FAILED_TESTS), begun, false),
            (None, begun, false),
            (None, whole.as_str(), false),
            (Some(1), whole.as_str(), false),
        ] {
            let context = Context::new(&dir, None);
            let ran = Ran { code, ..Ran::of(text.to_owned()) };
            let good = once_more(&context, unlimited(&context), &[(&program, ran)]);
            assert_eq!(good, passes, "{code:?}: {text}");
        }
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
