//! Steps that use one processor each run beside each other.

use crate::context::{Context, Tests};
use crate::output;
use crate::step::{Done, Step, Stop};
use std::path::Path;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Instant;

/// Steps at a time.
const AT_A_TIME: usize = 2;

/// How a step ended.
pub(crate) struct Ran {
    pub(crate) done: Done,
    /// Seconds on the wall.
    pub(crate) wall: f64,
    /// Its output, with that of the commands that it called.
    pub(crate) lines: Vec<u8>,
    pub(crate) tests: Tests,
}

/// Runs steps, each with whether its short form is wanted, and reports in their order. `dir` and `end` are those of
/// [`Context`].
pub(crate) fn run(steps: &[(&'static Step, bool)], dir: &Path, end: Option<Instant>) -> Vec<Ran> {
    let waiting = Mutex::new(steps.iter().enumerate());
    let work = || {
        let mut ran = Vec::new();
        loop {
            let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((place, (step, short))) = next else { return ran };
            let context = Context::new(dir, end);
            context.begin_step(*short);
            let begun = Instant::now();
            let (done, lines) = output::keep(|| (step.run)(&context));
            let wall = begun.elapsed().as_secs_f64();
            ran.push((place, Ran { done, wall, lines, tests: context.tests() }));
        }
    };
    let mut ran: Vec<(usize, Ran)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_A_TIME.min(steps.len())).map(|_| scope.spawn(work)).collect();
        workers.into_iter().filter_map(|worker| worker.join().ok()).flatten().collect()
    });
    ran.sort_by_key(|(place, _)| *place);
    let mut ran = ran.into_iter().peekable();
    let lost = || Ran {
        done: Err(Stop::fail("its thread panicked: see the lines above")),
        wall: 0.0,
        lines: Vec::new(),
        tests: Tests::default(),
    };
    (0..steps.len())
        .map(|place| ran.next_if(|(found, _)| *found == place).map_or_else(lost, |(_, ran)| ran))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::call;
    use crate::step::Tier;

    const fn step(name: &'static str, run: fn(&Context) -> Done) -> Step {
        Step {
            name,
            what: "",
            tier: Tier::Default,
            emulated: false,
            beside: true,
            seconds: 1,
            budget: 2,
            short: None,
            needs: &[],
            uses: &[],
            run,
        }
    }

    static WAITS: Step = step("waits", |context| {
        call("sleep 0.5").run(context)?;
        call("echo test result: ok. 3 passed; 0 failed; 1 ignored").run(context)
    });
    static FAILS: Step = step("fails", |context| call("false").run(context));
    static SAYS: Step = step("says", |context| {
        say!("short: {}", context.short.get());
        Ok(())
    });

    #[test]
    fn run_each_step_has_its_own_lines_and_result_in_order() {
        let dir = std::env::temp_dir();
        let ran = run(&[(&WAITS, false), (&FAILS, false), (&SAYS, true)], &dir, None);
        let lines: Vec<_> = ran.iter().map(|ran| String::from_utf8_lossy(&ran.lines)).collect();
        assert_eq!(lines[1..], ["", "short: true\n"]);
        assert!(lines[0].starts_with("test result: ok. 3 passed"), "{lines:?}");
        let good: Vec<bool> = ran.iter().map(|ran| ran.done.is_ok()).collect();
        assert_eq!(good, [true, false, true]);
        assert_eq!(ran[0].tests, Tests { passed: 3, failed: 0, skipped: 1 });
        assert!(ran[0].wall > 0.4);
    }
}
