//! Runs steps: skips, second tries, budgets, and the counts at the end.

use crate::USAGE;
use crate::context::Context;
use crate::load::{Judgement, Mark, Spent, slowness};
use crate::may_skip::MaySkip;
use crate::needs::Need;
use crate::plan::{CI_END, Plan, latest_begin};
use crate::scratch::Scratch;
use crate::step::{Done, Step, Stop};
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

/// The summary at the end.
#[derive(Default)]
struct Report {
    ok: usize,
    failed: Vec<String>,
    skipped: Vec<String>,
    /// For want of time: the name, and the reason.
    not_run: Vec<(&'static str, String)>,
    slow: Vec<String>,
}

/// Seconds that cargo may fetch before the first step. What is then missing, the steps fetch, or say.
const FETCH: u64 = 600;

struct Runner {
    context: Context,
    report: Report,
    /// The work that steps share, and its result.
    made: BTreeMap<&'static str, Done>,
    /// How much slower than the machine of the table this one was a moment ago.
    slowness: f64,
    /// Seconds of all steps, as they were, and as they would have been on that machine.
    seconds: (f64, f64),
    /// Seconds beyond the budgets that the user requested, of all steps.
    asked: u64,
    strict: bool,
    /// What may be missing even under `strict`.
    may_skip: MaySkip,
    /// Whether time may be short for a step of the turn even under `strict`.
    may_not_run: bool,
}

/// Runs all steps of a plan, and prints their results.
pub(crate) fn run(plan: &Plan) -> ExitCode {
    let begun = begun();
    // Unusable settings are refused before anything is made.
    let ready = || -> Result<_, String> {
        let may_skip = MaySkip::of_environment()?;
        crate::settings::check(&plan.all(), |name| std::env::var_os(name))?;
        let slowness = slowness().map_err(|error| {
            format!("starting a thread on each processor: {error}; see `ulimit -u`")
        })?;
        Ok((may_skip, slowness, Scratch::new(&std::env::temp_dir())?))
    };
    let (may_skip, slowness, (scratch, guard)) = match ready() {
        Ok(ready) => ready,
        Err(why) => {
            eprintln!("test.sh: {why}");
            return ExitCode::from(USAGE);
        }
    };
    let end = plan.turn_said.as_ref().map(|_| begun + Duration::from_secs(CI_END));
    let mut context = Context::new(&scratch.dir, end);
    context.guard = guard;
    let mut runner = Runner::new(context, slowness);
    runner.strict = is_set("STRICT");
    runner.may_skip = may_skip;
    runner.may_not_run = is_set("MAY_NOT_RUN");
    if runner.slowness > 1.05 {
        say!("budgets times {:.1}: this machine is so much slower now", runner.slowness);
    }
    if let Some(said) = &plan.turn_said {
        say!("{said}");
    }
    if !plan.whole.is_empty() {
        say!("no short form, so whole: {}", plan.whole.join(", "));
    }
    runner.fetch();
    let mark = Mark::now();
    let mut steps = plan.steps.as_slice();
    while let Some(((step, short), later)) = steps.split_first() {
        let beside = steps.iter().take_while(|(step, _)| step.beside).count();
        if beside > 1 {
            runner.beside(&steps[..beside]);
            steps = &steps[beside..];
        } else {
            runner.step(step, *short);
            steps = later;
        }
    }
    for step in &plan.turn {
        // A step is not started if it would probably be ended in the middle.
        let latest = latest_begin(step, &runner.made, runner.slowness);
        let elapsed = begun.elapsed().as_secs();
        if elapsed > latest {
            say!("\n== {}: not run", step.name);
            let reason = format!(
                "{}: {elapsed} s are over; it would have had to begin before {latest} s",
                step.name
            );
            runner.report.not_run.push((step.name, reason));
        } else {
            runner.step(step, false);
        }
    }
    if let Some(budget) = plan.budget {
        runner.total(&mark, begun, budget.saturating_add(runner.asked), plan.turn_said.is_some());
    }
    let code = runner.finish(begun);
    scratch.end(runner.context.guard);
    code
}

/// Whether a switch of the environment is on.
pub(crate) fn is_set(name: &str) -> bool {
    let value = std::env::var(name).unwrap_or_default().to_lowercase();
    !matches!(value.as_str(), "" | "0" | "no" | "off" | "false")
}

/// Returns when the run began; continuous integration provides it, because the installation of tools is part of its
/// time.
fn begun() -> Instant {
    let now = Instant::now();
    let before = std::env::var("CLOCKSMITH_TEST_ELAPSED").ok().and_then(|text| text.parse().ok());
    now.checked_sub(Duration::from_secs(before.unwrap_or(0))).unwrap_or(now)
}

impl Runner {
    fn new(context: Context, slowness: f64) -> Runner {
        Runner {
            context,
            report: Report::default(),
            made: BTreeMap::new(),
            slowness,
            seconds: (0.0, 0.0),
            asked: 0,
            strict: false,
            may_skip: MaySkip::default(),
            may_not_run: false,
        }
    }

    /// Dependencies, so that no step's time depends on the network.
    fn fetch(&self) {
        let begun = Instant::now();
        let fetched =
            crate::call::call("cargo fetch --locked --quiet").limit(FETCH).answer(&self.context);
        if let Ok(true) = fetched.map(|answer| answer.good()) {
            say!("dependencies: {} s", begun.elapsed().as_secs());
        } else {
            say!("dependencies: cargo could not fetch all of them; trying with what is here");
        }
    }

    fn step(&mut self, step: &'static Step, short: bool) {
        let done = self.ready(step).and_then(|()| {
            self.head(step, short);
            self.timed(step, short, step.budget_of(short))
        });
        self.note(step, done);
    }

    /// Runs steps beside each other, and prints the lines of each when all have ended.
    fn beside(&mut self, steps: &[(&'static Step, bool)]) {
        let mut ready = Vec::new();
        for (step, short) in steps {
            match self.ready(step) {
                Ok(()) => ready.push((*step, *short)),
                stop => self.note(step, stop),
            }
        }
        if ready.is_empty() {
            return;
        }
        let names: Vec<&str> = ready.iter().map(|(step, _)| step.name).collect();
        say!("\n== beside each other: {}", names.join(", "));
        let mark = Mark::now();
        self.context.slowness.set(self.slowness);
        let ran = crate::beside::run(&ready, &self.context);
        let all = mark.spent();
        let slow = self.slowness_meanwhile(all.wall);
        for ((step, short), ran) in ready.into_iter().zip(ran) {
            self.head(step, short);
            crate::output::write(ran.lines.as_bytes());
            self.context.add(ran.tests);
            let spent = Spent { wall: ran.wall, cpu: 0.0, share: all.share };
            let budget = step.budget_of(short);
            let quiet = spent.quiet(slow);
            let time = format!("{:.0} s ({quiet:.0} s if quiet, of {budget} s)", spent.wall);
            let done = self.judge(step, spent, slow, budget, &time, ran.done);
            self.note(step, done);
        }
        say!("\n-- beside each other: {:.0} s ({:.0} s of processors)", all.wall, all.cpu);
    }

    fn head(&self, step: &Step, short: bool) {
        let form = if short { ", short form" } else { "" };
        say!("\n== {}{form}: {}", step.name, step.what);
    }

    /// Checks the needs of a step, and does the work that it shares with others.
    fn ready(&mut self, step: &'static Step) -> Done {
        if let Some(reason) = step.needs.iter().find_map(|need| need.missing()) {
            return Err(Stop::skip(reason));
        }
        for used in step.uses {
            let done = match self.made.get(used.name) {
                Some(done) => done.clone(),
                None => {
                    let done = self.ready(used).and_then(|()| {
                        say!("\n== {} (shared): {}", used.name, used.what);
                        self.timed(used, false, used.budget)
                    });
                    self.made.insert(used.name, done.clone());
                    done
                }
            };
            done.map_err(|stop| match stop {
                Stop::Fail(why) => Stop::Fail(format!("{} failed: {why}", used.name)),
                skip => skip,
            })?;
        }
        Ok(())
    }

    /// Runs a step, an emulated one again if it fails, and compares its time with the budget.
    fn timed(&mut self, step: &'static Step, short: bool, budget: u64) -> Done {
        self.context.slowness.set(self.slowness);
        self.context.begin_step(step, short, budget);
        let before = self.context.tests();
        let mut mark = Mark::now();
        let mut done = (step.run)(&self.context);
        if let (true, Err(Stop::Fail(why))) = (step.emulated, &done) {
            say!("== {}: once more, because a busy host may decide how it ends: {why}", step.name);
            self.context.forgive(before);
            mark = Mark::now();
            self.context.try_again();
            done = second_try(step, why.clone(), (step.run)(&self.context), &self.context);
        }
        let spent = mark.spent();
        let slow = self.slowness_meanwhile(spent.wall);
        let quiet = spent.quiet(slow);
        let budget = budget.saturating_add(self.context.asked.get());
        self.asked = self.asked.saturating_add(self.context.asked.get());
        let time = format!(
            "{:.0} s ({:.0} s of processors; {quiet:.0} s if quiet, of {budget} s)",
            spent.wall, spent.cpu
        );
        self.judge(step, spent, slow, budget, &time, done)
    }

    /// Holds the time of a step against its budget.
    fn judge(
        &mut self,
        step: &Step,
        spent: Spent,
        slow: f64,
        budget: u64,
        time: &str,
        done: Done,
    ) -> Done {
        say!("-- {}: {time}", step.name);
        match spent.judge(slow, budget) {
            Judgement::Within => done,
            Judgement::Unjudged => {
                let share = spent.share * 100.0;
                self.report.slow.push(format!(
                    "{}: {time}; not judged, because others left {share:.0} % of the machine",
                    step.name
                ));
                done
            }
            Judgement::Over => {
                done.and_then(|()| Err(Stop::fail(format!("over its budget: {time}"))))
            }
        }
    }

    /// The slowness during a step that has just ended: other guests of a host come and go.
    fn slowness_meanwhile(&mut self, wall: f64) -> f64 {
        let before = self.slowness;
        self.slowness = slowness().unwrap_or(before);
        let slow = (before + self.slowness) / 2.0;
        self.seconds.0 += wall;
        self.seconds.1 += wall / slow;
        slow
    }

    fn note(&mut self, step: &Step, done: Done) {
        match done {
            // A script that says so by mistake, or a step whose needs do not say it.
            Err(Stop::Skip { reason, network: true })
                if !crate::needs::of(step).contains(&Need::Network) =>
            {
                say!(
                    "== {}: FAILED (it says that the network is missing, and does not need it: {reason})",
                    step.name
                );
                self.report
                    .failed
                    .push(format!("{}: no network, which it does not need: {reason}", step.name));
            }
            Ok(()) => {
                say!("== {}: ok", step.name);
                self.report.ok += 1;
            }
            Err(Stop::Skip { reason, network })
                if network || !self.strict || self.may_skip.has(step.name, &reason) =>
            {
                say!("== {}: skipped ({reason})", step.name);
                self.report.skipped.push(format!("{}: {reason}", step.name));
            }
            Err(Stop::Skip { reason, .. }) => {
                say!("== {}: FAILED, because STRICT allows no skipped step ({reason})", step.name);
                self.report.failed.push(format!("{}: skipped ({reason})", step.name));
            }
            Err(Stop::Fail(why)) => {
                say!("== {}: FAILED ({why})", step.name);
                self.report.failed.push(format!("{}: {why}", step.name));
            }
        }
    }

    /// Holds the whole run against its budget.
    fn total(&mut self, mark: &Mark, begun: Instant, budget: u64, ci: bool) {
        let spent = mark.spent();
        // Tools for continuous integration count wall-clock time.
        let tools = if ci { begun.elapsed().as_secs_f64() - spent.wall } else { 0.0 };
        let slow = if self.seconds.1 > 0.0 { self.seconds.0 / self.seconds.1 } else { 1.0 };
        let quiet = spent.quiet(slow) + tools;
        say!(
            "\n== all: {:.0} s ({:.0} s of processors; {quiet:.0} s if quiet, of {budget} s)",
            spent.wall + tools,
            spent.cpu
        );
        match spent.judge(slow, budget.saturating_sub(tools as u64)) {
            Judgement::Within => {}
            Judgement::Over => {
                self.report.failed.push(format!("all: over the budget of {budget} s"))
            }
            Judgement::Unjudged => {
                let share = spent.share * 100.0;
                self.report.slow.push(format!(
                    "all: {quiet:.0} s of {budget} s; not judged, because others left {share:.0} % of the machine"
                ));
            }
        }
    }

    fn finish(&self, begun: Instant) -> ExitCode {
        let Report { ok, failed, skipped, not_run, slow } = &self.report;
        let reasons: Vec<String> = not_run.iter().map(|(_, reason)| reason.clone()).collect();
        say!();
        let skips = self.context.skips.lock().unwrap_or_else(PoisonError::into_inner);
        for (word, lines) in [
            ("a test skipped itself", &skips.lines()),
            ("over its budget", slow),
            ("unsteady", &*self.context.unsteady.borrow()),
            ("not run", &reasons),
            ("skipped", skipped),
            ("failed", failed),
        ] {
            for line in lines {
                say!("{word}: {line}");
            }
        }
        let left =
            if not_run.is_empty() { String::new() } else { format!(", {} not run", not_run.len()) };
        let tests = self.context.tests();
        if tests != crate::context::Tests::default() {
            let themselves = match skips.sum() {
                0 => String::new(),
                some => format!("; {some} of those that passed skipped themselves"),
            };
            say!(
                "tests: {} passed, {} failed, {} skipped{themselves}",
                tests.passed,
                tests.failed,
                tests.skipped
            );
        }
        // The last line has the counts, and which steps had no time.
        let names: Vec<&str> = not_run.iter().map(|(name, _)| *name).collect();
        let names = if names.is_empty() {
            String::new()
        } else {
            format!("; NOT RUN for want of time: {}", names.join(", "))
        };
        say!(
            "steps: {ok} ok, {} failed, {} skipped{left}, {} s{names}",
            failed.len(),
            skipped.len(),
            begun.elapsed().as_secs()
        );
        if self.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }

    /// Whether nothing failed, and under `strict` each step ran that had to.
    fn is_good(&self) -> bool {
        let all_ran = self.report.not_run.is_empty() || !self.strict || self.may_not_run;
        self.report.failed.is_empty() && all_ran
    }
}

/// The result of a step that failed, for `why`, and was tried once more. What fails and is then skipped, because a network
/// has gone for example, has failed.
fn second_try(step: &Step, why: String, again: Done, context: &Context) -> Done {
    match again {
        Ok(()) => {
            let said = format!("{}: failed ({why}), and passed when it ran once more", step.name);
            context.unsteady.borrow_mut().push(said);
            Ok(())
        }
        Err(Stop::Skip { reason, .. }) => {
            Err(Stop::fail(format!("{why}; the second time it was skipped: {reason}")))
        }
        failed => failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::find;
    use crate::step::Tier;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn network_that_a_step_does_not_need_cannot_be_missing() {
        for (name, good) in [("tree", false), ("advisories", true), ("python", true)] {
            let mut runner = runner();
            runner.note(find(name).unwrap(), Err(Stop::no_network("nothing answers")));
            assert_eq!(runner.report.failed.is_empty(), good, "{name}");
            assert_eq!(runner.report.skipped.len(), usize::from(good), "{name}");
        }
    }

    const fn emulated(name: &'static str, run: fn(&Context) -> Done) -> Step {
        Step {
            name,
            what: "",
            tier: Tier::All,
            emulated: true,
            beside: false,
            seconds: 1,
            budget: 20,
            short: None,
            needs: &[],
            uses: &[],
            run,
        }
    }

    fn runner() -> Runner {
        Runner::new(Context::new(&std::env::temp_dir(), None), 1.0)
    }

    /// How often a step of the next test has run.
    static TRIES: AtomicUsize = AtomicUsize::new(0);
    static LOSES_THE_NETWORK: Step =
        emulated("loses", |_| match TRIES.fetch_add(1, Ordering::Relaxed) {
            0 => Err(Stop::fail("the verdict is wrong")),
            _ => Err(Stop::no_network("the packages could not be fetched")),
        });
    static AGAINS: AtomicUsize = AtomicUsize::new(0);
    static PASSES_AGAIN: Step = emulated("again", |_| {
        if AGAINS.fetch_add(1, Ordering::Relaxed) == 0 { Err(Stop::fail("busy")) } else { Ok(()) }
    });

    #[test]
    fn step_that_fails_and_is_then_skipped_has_failed() {
        let mut runner = runner();
        runner.step(&LOSES_THE_NETWORK, false);
        assert_eq!(TRIES.load(Ordering::Relaxed), 2);
        assert!(runner.report.skipped.is_empty());
        let failed = runner.report.failed.join("\n");
        assert!(failed.contains("the verdict is wrong"), "{failed}");
        assert!(failed.contains("the second time it was skipped"), "{failed}");
    }

    #[test]
    fn step_that_passes_the_second_time_is_named_as_unsteady() {
        let mut runner = runner();
        runner.step(&PASSES_AGAIN, false);
        assert_eq!((runner.report.ok, runner.report.failed.len()), (1, 0));
        let unsteady = runner.context.unsteady.borrow().join("\n");
        assert_eq!(unsteady, "again: failed (busy), and passed when it ran once more");
    }

    #[test]
    fn step_that_had_no_time_is_a_failure_under_strict() {
        let mut runner = runner();
        assert!(runner.is_good());
        runner.report.not_run.push(("packages", "packages: late".to_owned()));
        assert!(runner.is_good());
        runner.strict = true;
        assert!(!runner.is_good());
        runner.may_not_run = true;
        assert!(runner.is_good());
    }
}
