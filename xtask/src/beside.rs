//! Steps that use one processor each run beside each other.

use crate::context::{Context, Tests};
use crate::output;
use crate::step::{Done, Step, Stop};
use std::panic::{AssertUnwindSafe, catch_unwind};
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
    pub(crate) lines: String,
    pub(crate) tests: Tests,
}

/// Runs steps, each with whether its short form is wanted, and reports in their order.
pub(crate) fn run(steps: &[(&'static Step, bool)], context: &Context) -> Vec<Ran> {
    let contexts = steps.iter().map(|(step, short)| (*step, *short, context.beside()));
    let waiting = Mutex::new(contexts.enumerate().collect::<Vec<_>>().into_iter());
    let work = || {
        let mut ran = Vec::new();
        loop {
            let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((place, (step, short, context))) = next else { return ran };
            ran.push((place, one(step, short, &context)));
        }
    };
    let mut ran: Vec<(usize, Ran)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_A_TIME.min(steps.len())).map(|_| scope.spawn(work)).collect();
        workers.into_iter().filter_map(|worker| worker.join().ok()).flatten().collect()
    });
    ran.sort_by_key(|(place, _)| *place);
    ran.into_iter().map(|(_, ran)| ran).collect()
}

/// One that panics has failed, and the next one runs.
fn one(step: &Step, short: bool, context: &Context) -> Ran {
    context.begin_step(step, short, step.budget_of(short));
    let begun = Instant::now();
    let (done, lines) = output::keep(|| catch_unwind(AssertUnwindSafe(|| (step.run)(context))));
    let panicked = |_| Err(Stop::fail("it panicked: see the lines above"));
    let wall = begun.elapsed().as_secs_f64();
    Ran { done: done.unwrap_or_else(panicked), wall, lines, tests: context.tests() }
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
        let context = Context::new(&std::env::temp_dir(), None);
        let ran = run(&[(&WAITS, false), (&FAILS, false), (&SAYS, true)], &context);
        let lines: Vec<_> = ran.iter().map(|ran| ran.lines.as_str()).collect();
        assert_eq!(lines[1..], ["", "short: true\n"]);
        assert!(lines[0].starts_with("test result: ok. 3 passed"), "{lines:?}");
        let good: Vec<bool> = ran.iter().map(|ran| ran.done.is_ok()).collect();
        assert_eq!(good, [true, false, true]);
        assert_eq!(ran[0].tests, Tests { passed: 3, failed: 0, skipped: 1 });
        assert!(ran[0].wall > 0.4);
    }

    fn panics(_: &Context) -> Done {
        say!("a line");
        panic!("as it must");
    }
    static PANICS: Step = step("panics", panics);

    #[test]
    fn run_a_step_that_panics_has_failed_and_the_others_keep_their_results() {
        let context = Context::new(&std::env::temp_dir(), None);
        let steps = [(&SAYS, true), (&PANICS, false), (&SAYS, false), (&SAYS, true)];
        let ran = run(&steps, &context);
        let lines: Vec<_> = ran.iter().map(|ran| ran.lines.as_str()).collect();
        assert_eq!(lines, ["short: true\n", "a line\n", "short: false\n", "short: true\n"]);
        let good: Vec<bool> = ran.iter().map(|ran| ran.done.is_ok()).collect();
        assert_eq!(good, [true, false, true, true]);
    }
}
