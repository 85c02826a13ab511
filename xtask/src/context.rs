//! A step's view of the run.

use crate::call::{Call, call};
use crate::limit::StepLimit;
use crate::scratch::Guard;
use crate::skips::Skips;
use crate::step::{Step, Stop};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// The same crates and features in every cargo command, so that each crate is compiled once.
pub(crate) const WORKSPACE: &str = "--workspace --all-features --locked";

/// Sums of the lines in which test programs count.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Tests {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
}

/// A step's view of the run.
pub(crate) struct Context {
    /// Where cargo compiles.
    pub(crate) target: PathBuf,
    /// A directory of this run.
    pub(crate) dir: PathBuf,
    /// The short form of the step is wanted.
    pub(crate) short: Cell<bool>,
    /// When everything must be over.
    pub(crate) end: Option<Instant>,
    /// Parts of the present step that need not be repeated when it is tried once more.
    done: RefCell<BTreeSet<String>>,
    /// The list that the first try of the present step leaves for the second.
    pub(crate) again: RefCell<String>,
    tests: Cell<Tests>,
    /// Tests that skipped themselves, also in steps beside each other.
    pub(crate) skips: Arc<Mutex<Skips>>,
    /// The name of the present step.
    step: Cell<&'static str>,
    /// Tests that failed, and passed when they were run once more.
    pub(crate) unsteady: RefCell<Vec<String>>,
    /// Seconds beyond the budget that the user requested.
    pub(crate) asked: Cell<u64>,
    /// How much slower than the machine of the table this one was before the present step.
    pub(crate) slowness: Cell<f64>,
    /// Ends processes in other process groups when this program is ended.
    pub(crate) guard: Guard,
    /// When the present step is ended; none outside of steps.
    limit: Cell<Option<StepLimit>>,
}

impl Context {
    pub(crate) fn new(dir: &Path, end: Option<Instant>) -> Context {
        let target = std::env::var_os("CARGO_TARGET_DIR")
            .map_or_else(|| PathBuf::from("target"), PathBuf::from);
        Context {
            target,
            dir: dir.to_path_buf(),
            short: Cell::new(false),
            end,
            done: RefCell::default(),
            again: RefCell::default(),
            tests: Cell::default(),
            skips: Arc::default(),
            step: Cell::default(),
            unsteady: RefCell::default(),
            asked: Cell::new(0),
            slowness: Cell::new(1.0),
            guard: Guard::default(),
            limit: Cell::new(None),
        }
    }

    /// The view of a step that runs beside others.
    pub(crate) fn beside(&self) -> Context {
        let mut beside = Context::new(&self.dir, self.end);
        beside.guard = self.guard.clone();
        beside.skips = Arc::clone(&self.skips);
        beside.slowness.set(self.slowness.get());
        beside
    }

    /// Discards the remains of the last step. The limit of this one begins.
    pub(crate) fn begin_step(&self, step: &Step, short: bool, budget: u64) {
        self.limit.set(Some(StepLimit::new(step.name, budget, self.slowness.get())));
        self.step.set(step.name);
        self.short.set(short);
        self.asked.set(0);
        self.done.borrow_mut().clear();
        self.again.borrow_mut().clear();
    }

    /// A part of a step, which is not repeated if only a later part failed.
    pub(crate) fn part(
        &self,
        name: &str,
        run: impl FnOnce() -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        if self.done.borrow().contains(name) {
            say!("-- {name}: was good the first time");
            return Ok(());
        }
        say!("-- {name}");
        run()?;
        self.done.borrow_mut().insert(name.to_owned());
        Ok(())
    }

    /// Another try of the present step, which has as much time as the first.
    pub(crate) fn try_again(&self) {
        self.limit.set(self.limit.get().map(StepLimit::again));
    }

    /// The limit of the present step, with what the user requested.
    pub(crate) fn step_limit(&self) -> Option<StepLimit> {
        self.limit.get().map(|limit| limit.with(self.asked.get()))
    }

    /// Fails when the time of the whole run is over.
    pub(crate) fn has_time(&self) -> Result<(), Stop> {
        if self.end.is_some_and(|end| Instant::now() >= end) {
            return Err(Stop::fail("the time of the whole run is over"));
        }
        Ok(())
    }

    /// Adds up cargo's own summaries, one for each test program, and the tests that skipped themselves.
    pub(crate) fn count(&self, text: &str) {
        if let Ok(mut skips) = self.skips.lock() {
            skips.count(self.step.get(), text);
        }
        let mut tests = self.tests.get();
        for line in text.lines().filter(|line| line.starts_with("test result:")) {
            tests.passed += number_before(line, "passed");
            tests.failed += number_before(line, "failed");
            tests.skipped += number_before(line, "ignored");
        }
        self.tests.set(tests);
    }

    /// Adds the counts of another context.
    pub(crate) fn add(&self, more: Tests) {
        let tests = self.tests.get();
        self.tests.set(Tests {
            passed: tests.passed + more.passed,
            failed: tests.failed + more.failed,
            skipped: tests.skipped + more.skipped,
        });
    }

    /// Failures since then are tried once more, and no longer count.
    pub(crate) fn forgive(&self, before: Tests) {
        self.tests.set(Tests { failed: before.failed, ..self.tests.get() });
    }

    pub(crate) fn tests(&self) -> Tests {
        self.tests.get()
    }

    /// The debug program.
    pub(crate) fn program(&self) -> PathBuf {
        self.target.join("debug/clocksmith")
    }

    /// The program that runs in any guest, as packages have it.
    pub(crate) fn static_program(&self) -> PathBuf {
        // From the top: tests run in the directories of their crates.
        let path = self.target.join("packages/x86_64/clocksmith");
        std::path::absolute(&path).unwrap_or(path)
    }

    /// The library's reader that runs in any guest.
    pub(crate) fn clock_reader(&self) -> PathBuf {
        let path = self.target.join("x86_64-unknown-linux-musl/release/examples/clock_reader");
        std::path::absolute(&path).unwrap_or(path)
    }

    pub(crate) fn testbed(&self, arguments: &str) -> Call {
        let program = self.target.join("debug/testbed").display().to_string();
        call(&program).args("--cases testbed/cases").args(arguments)
    }
}

fn number_before(line: &str, word: &str) -> u64 {
    let words: Vec<&str> = line.split([' ', ';']).collect();
    let at = words.iter().position(|found| *found == word);
    at.and_then(|at| words.get(at.checked_sub(1)?)?.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn count_two_summaries_are_added() {
        let context = Context::new(Path::new("/nonexistent"), None);
        let line = "test result: ok. 3 passed; 1 failed; 2 ignored; 0 measured; 9 filtered out; finished in 0.1s\n";
        context.count(&format!("test a ... ok\n{line}\n{line}"));
        assert_eq!(context.tests(), Tests { passed: 6, failed: 2, skipped: 4 });
    }

    #[test]
    fn part_after_a_failure_only_the_failed_one_is_repeated() {
        let context = Context::new(Path::new("/nonexistent"), None);
        let runs = Cell::new(0);
        let step = |second: bool| {
            context.part("first", || {
                runs.set(runs.get() + 1);
                Ok(())
            })?;
            context.part("second", || if second { Ok(()) } else { Err(Stop::fail("busy")) })
        };
        assert!(step(false).is_err());
        assert!(step(true).is_ok());
        assert_eq!(runs.get(), 1);
        context.begin_step(crate::plan::find("fmt").unwrap(), false, 20);
        assert!(step(true).is_ok());
        assert_eq!(runs.get(), 2);
    }
}
