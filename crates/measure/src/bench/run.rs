//! The measurement as a whole.

use super::distribution::{Distribution, Timer, counter_step, single_calls};
use super::plan::Plan;
use super::resolution;
use super::row::{ClockId, LibraryRead, Row, Via, What};
use super::scaling::{self, Scaling};
use super::served::{Served, Shares};
use super::shape::{Loops, Shape};
use super::stats::Estimate;
use super::vdso::Vdso;
use crate::light::verdict;
use crate::sampler::{Sampled, Sampler, Samples, Subject};
use crate::{pin, reads};
use clocksmith_raw::counter;
use std::time::{Duration, Instant};

/// The present stage of the measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The three costs, in batches.
    Costs,
    /// Single calls.
    Singles,
    /// The split of CPU time.
    Shares,
    /// Several threads.
    Threads,
    /// Separate processes, for comparisons.
    Starts,
    /// Waits.
    Timers,
}

/// Gets the present stage and its progress (0 to 1) from time to time; returns whether to continue.
pub type Watch<'a> = dyn Fn(Stage, f64) -> bool + Sync + 'a;

/// The results of one row.
#[derive(Clone, Debug)]
pub struct RowResult {
    /// The row.
    pub row: Row,
    /// Why this read does not exist here.
    pub missing: Option<String>,
    /// The costs, in the order of [`Shape::ALL`], without the loop; `None` if the batches took
    /// less time than timing them.
    pub costs: [Option<Estimate>; 3],
    /// Calls in each batch of the first loop.
    pub calls: u32,
    /// Batches of each loop.
    pub batches: usize,
    /// The path that served it.
    pub served: Served,
    /// The split of its CPU time.
    pub shares: Option<Shares>,
    /// Why that is not known.
    pub no_shares: Option<String>,
    /// Single calls.
    pub distribution: Option<Distribution>,
    /// The smallest step seen, in nanoseconds.
    pub resolution_ns: Option<f64>,
    /// The step that the kernel claims (`clock_getres`), in nanoseconds; `None` if it claims none.
    pub claimed_step_ns: Option<u64>,
    /// The share of batches that took more than a quarter longer than the lower quartile, 0 to 1.
    pub disturbed: Option<f64>,
}

impl RowResult {
    fn of(row: Row) -> Self {
        Self {
            row,
            missing: None,
            costs: [None; 3],
            calls: 0,
            batches: 0,
            served: Served::Unknown,
            shares: None,
            no_shares: None,
            distribution: None,
            resolution_ns: None,
            claimed_step_ns: claimed_step(row),
            disturbed: None,
        }
    }

    /// The cost in one of the loops.
    #[must_use]
    pub fn cost(&self, shape: Shape) -> Option<Estimate> {
        self.costs[shape as usize]
    }
}

/// Returns the step that the kernel claims for the clock of a row, in nanoseconds.
fn claimed_step(row: Row) -> Option<u64> {
    let id = match row.what {
        What::Clock(id) => id,
        What::Library(LibraryRead::MonotonicCoarse) => ClockId::MonotonicCoarse,
        What::Gettimeofday | What::Time | What::Counter(_) | What::Library(_) => return None,
    };
    u64::try_from(reads::resolution(id).as_nanos()).ok()
}

/// The results of a measurement.
#[derive(Clone, Debug)]
pub struct Bench {
    /// The CPU that it ran on, or why it could not be bound to one.
    pub cpu: Result<u32, String>,
    /// The rows.
    pub rows: Vec<RowResult>,
    /// The cost of timing a batch, in nanoseconds, already subtracted.
    pub timing_ns: f64,
    /// The cost of one turn of each loop without a read, in nanoseconds, already subtracted.
    pub loops_ns: [Option<Estimate>; 3],
    /// The cost of timing a single call (median), in nanoseconds, already subtracted.
    pub single_timing_ns: Option<f64>,
    /// How single calls are timed.
    pub timer: Timer,
    /// The step of their timer, in nanoseconds: no figure of a single call is finer.
    pub single_step_ns: f64,
    /// Ticks of the counter in a nanosecond.
    pub ticks_per_ns: Option<f64>,
    /// Rounds of batches.
    pub rounds: usize,
    /// Several threads.
    pub scaling: Vec<Scaling>,
    /// Why some threads could not be started, so that [`Bench::scaling`] lacks rows.
    pub unstarted: Option<String>,
    /// Whether everything was measured.
    pub complete: bool,
    /// How long it took.
    pub elapsed: Duration,
}

impl Bench {
    /// The result of a row.
    #[must_use]
    pub fn row(&self, row: Row) -> Option<&RowResult> {
        self.rows.iter().find(|result| result.row == row)
    }

    fn nothing(why: &str) -> Self {
        Self {
            cpu: Err(why.to_owned()),
            rows: Vec::new(),
            timing_ns: 0.0,
            loops_ns: [None; 3],
            single_timing_ns: None,
            timer: Timer::Clock,
            single_step_ns: 1.0,
            ticks_per_ns: None,
            rounds: 0,
            scaling: Vec::new(),
            unstarted: None,
            complete: false,
            elapsed: Duration::ZERO,
        }
    }
}

/// A clock with larger steps than this cannot time batches of 20 us.
const COARSE: Duration = Duration::from_micros(100);

/// Measures. Runs in separate threads; the caller's thread waits, and keeps its binding.
#[must_use]
pub fn run(plan: &Plan, watch: &Watch<'_>) -> Bench {
    let begun = Instant::now();
    let vdso = Vdso::find();
    let measured = in_scope(|| one_thread(plan, &vdso, watch));
    let Some(mut bench) = measured else {
        return Bench::nothing("no thread could be started to measure in");
    };
    split_cpu_time(&mut bench, plan, &vdso, watch);
    judge(&mut bench.rows);
    for &threads in &plan.threads {
        if !bench.complete {
            break;
        }
        match scaling::scale(threads, plan.threads_each, &vdso, watch) {
            Ok((some, complete)) => {
                bench.scaling.extend(some);
                bench.complete &= complete;
            }
            Err(error) => {
                bench.unstarted = Some(format!("cannot start {threads} threads: {error}"));
                bench.complete = false;
            }
        }
    }
    bench.elapsed = begun.elapsed();
    bench
}

/// Runs in a fresh thread.
fn in_scope<R: Send>(work: impl FnOnce() -> R + Send) -> Option<R> {
    std::thread::scope(|scope| {
        std::thread::Builder::new()
            .name("bench".to_owned())
            .spawn_scoped(scope, work)
            .ok()?
            .join()
            .ok()
    })
}

/// Measures everything that a single thread can, bound to one CPU.
fn one_thread(plan: &Plan, vdso: &Vdso, watch: &Watch<'_>) -> Bench {
    let cpu = plan.cpu.map_or_else(pin::here, pin::to);
    let timer = Timer::best(cpu.is_ok());
    let clock = Clock::start();
    let (mut rows, loops): (Vec<RowResult>, Vec<Option<Loops>>) =
        plan.rows.iter().map(|row| prepare(*row, vdso)).unzip();
    let (sampled, loops_ns, mut complete) = costs(plan, &mut rows, &loops, watch);
    let ticks_per_ns = clock.ticks_per_ns();
    // Ticks without a known length are of no use.
    let timer = if ticks_per_ns.is_some() { timer } else { Timer::Clock };
    let per_ns = match timer {
        Timer::Counter => ticks_per_ns.unwrap_or(1.0),
        Timer::Clock => 1.0,
    };
    let single_step_ns = match timer {
        Timer::Counter => counter_step() as f64 / per_ns,
        Timer::Clock => step_of_the_clock().as_secs_f64() * 1e9,
    };
    let mut empties = Vec::new();
    let all = rows.len().max(1) as f64;
    for (index, (result, loops)) in rows.iter_mut().zip(&loops).enumerate() {
        let Some(loops) = loops else { continue };
        if plan.singles == 0 || !complete {
            break;
        }
        let unit = if result.row.via == Via::Counter { ticks_per_ns.unwrap_or(1.0) } else { 1.0 };
        result.resolution_ns =
            resolution::observe(loops, result.claimed_step_ns).map(|step| step as f64 / unit);
        if let Ok((costs, empty)) =
            single_calls(result.row, vdso, timer, plan.singles, plan.singles_limit)
        {
            let net = costs.iter().map(|cost| cost.saturating_sub(empty) as f64 / per_ns);
            result.distribution = Distribution::of(net, single_step_ns);
            empties.push(empty as f64 / per_ns);
        }
        complete &= watch(Stage::Singles, (index + 1) as f64 / all);
    }
    Bench {
        cpu,
        rows,
        timing_ns: sampled.overhead_ns,
        loops_ns,
        single_timing_ns: super::stats::median(&empties),
        timer,
        single_step_ns,
        ticks_per_ns,
        rounds: sampled.rounds,
        scaling: Vec::new(),
        unstarted: None,
        complete,
        elapsed: Duration::ZERO,
    }
}

fn prepare(row: Row, vdso: &Vdso) -> (RowResult, Option<Loops>) {
    let mut result = RowResult::of(row);
    let loops = Loops::of(row, vdso).map_err(|why| result.missing = Some(why)).ok();
    (result, loops)
}

/// The three costs of all rows, in turns.
fn costs(
    plan: &Plan,
    rows: &mut [RowResult],
    loops: &[Option<Loops>],
    watch: &Watch<'_>,
) -> (Sampled, [Option<Estimate>; 3], bool) {
    let step = step_of_the_clock();
    let mut sampler = Sampler { budget: plan.costs, ..Sampler::default() };
    let mut shapes = Shape::ALL.to_vec();
    if step >= COARSE {
        // Long batches, so that a step of the clock is a small part of each; and fewer of them.
        sampler.batch = step * 10;
        shapes.truncate(1);
    }
    let empty = Loops::empty();
    let looping = |loops, shape| Subject::looping("", move |times| Loops::run(loops, shape, times));
    let mut subjects = Vec::new();
    for shape in &shapes {
        subjects.push(looping(&empty, *shape));
        subjects.extend(loops.iter().flatten().map(|loops| looping(loops, *shape)));
    }
    let mut complete = true;
    let sampled = sampler.run_while(&mut subjects, |used| {
        complete = watch(Stage::Costs, used);
        complete
    });
    drop(subjects);
    let mut loops_ns = [None; 3];
    let present = loops.iter().flatten().count();
    for (shape, samples) in shapes.into_iter().zip(sampled.samples.chunks(present + 1)) {
        let Some((empty, samples)) = samples.split_first() else { continue };
        loops_ns[shape as usize] = Estimate::of(&empty.in_order);
        let results = rows.iter_mut().zip(loops).filter(|(_, loops)| loops.is_some());
        for ((result, _), samples) in results.zip(samples) {
            result.costs[shape as usize] = net(samples, empty);
            result.batches = samples.in_order.len();
            if shape == Shape::Throughput {
                result.disturbed = disturbed(samples);
                result.calls = samples.calls;
            }
        }
    }
    (sampled, loops_ns, complete)
}

/// Returns the share of batches that took a quarter longer than the lower quartile: another task ran, or the processor
/// was slower.
fn disturbed(samples: &Samples) -> Option<f64> {
    let calm = samples.quantile(0.25).filter(|ns| *ns > 0.0)?;
    let over = samples.ns.iter().filter(|ns| **ns > calm * 1.25).count();
    Some(over as f64 / samples.ns.len() as f64)
}

/// Returns the observed step of the clock that times batches. The kernel reports the step of its timers, a whole tick
/// without high resolution, while the clock itself may well be finer.
fn step_of_the_clock() -> Duration {
    let monotonic = Row::clock(ClockId::Monotonic, Via::Libc);
    let seen = Loops::of(monotonic, &Vdso::default())
        .ok()
        .as_ref()
        .and_then(|loops| resolution::observe(loops, None));
    seen.map_or_else(|| reads::resolution(reads::ClockId::Monotonic), Duration::from_nanos)
}

fn net(samples: &Samples, empty: &Samples) -> Option<Estimate> {
    if samples.is_measured() { Estimate::beyond(&samples.in_order, &empty.in_order) } else { None }
}

/// Measures the split of each row's CPU time, each in a separate thread.
fn split_cpu_time(bench: &mut Bench, plan: &Plan, vdso: &Vdso, watch: &Watch<'_>) {
    let cpu = bench.cpu.clone().ok();
    let all = bench.rows.len().max(1) as f64;
    for (index, result) in bench.rows.iter_mut().enumerate() {
        if plan.shares.is_zero() || !bench.complete {
            let why = if bench.complete { "not measured in a short run" } else { "interrupted" };
            result.no_shares = Some(why.to_owned());
            continue;
        }
        let row = result.row;
        let asked = in_scope(|| {
            if let Some(cpu) = cpu {
                pin::to(cpu)?;
            }
            let loops = Loops::of(row, vdso)?;
            Shares::measure(plan.shares, |times| loops.run(Shape::Throughput, times))
        });
        let asked = asked.unwrap_or_else(|| Err("no thread could be started".to_owned()));
        (result.shares, result.no_shares) = match asked {
            Ok(shares) => (Some(shares), None),
            Err(why) => (None, Some(why)),
        };
        bench.complete &= watch(Stage::Shares, (index + 1) as f64 / all);
    }
}

/// Determines the path that served each row: compared with its own system call, or with that of `CLOCK_MONOTONIC`.
fn judge(rows: &mut [RowResult]) {
    let cost = |rows: &[RowResult], row: Row| {
        let result = rows.iter().find(|result| result.row == row)?;
        result.cost(Shape::Throughput).map(|cost| cost.ns)
    };
    let monotonic = Row { what: What::Clock(ClockId::Monotonic), via: Via::Syscall };
    for index in 0..rows.len() {
        let Some(row) = rows.get(index).map(|result| result.row) else { continue };
        let own = cost(rows, Row { what: row.what, via: Via::Syscall });
        let syscall = own.or_else(|| cost(rows, monotonic));
        let ns = cost(rows, row);
        if let Some(result) = rows.get_mut(index) {
            let system = result.shares.map(|shares| shares.system);
            result.served = Served::of(row.via, verdict(ns, syscall, system));
        }
    }
}

/// The counter and the clock at one moment, to find out how long a tick is.
struct Clock {
    begun: Instant,
    ticks: Option<u64>,
}

impl Clock {
    /// Below this the length of a tick is not known well enough.
    const ENOUGH: Duration = Duration::from_millis(5);

    fn start() -> Self {
        let ticks = reads::counter_allowed().is_ok().then(counter::read);
        Self { begun: Instant::now(), ticks }
    }

    fn ticks_per_ns(&self) -> Option<f64> {
        let ticks = counter::read().checked_sub(self.ticks?).filter(|ticks| *ticks > 0)?;
        let elapsed = self.begun.elapsed();
        (elapsed >= Self::ENOUGH).then(|| ticks as f64 / (elapsed.as_secs_f64() * 1e9))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::row::Instruction;
    use std::sync::Mutex;

    fn quick() -> Plan {
        Plan {
            costs: Duration::from_millis(60),
            shares: Duration::ZERO,
            singles: 300,
            threads: vec![1, 2],
            threads_each: Duration::from_millis(2),
            ..Plan::few()
        }
    }

    #[test]
    fn this_machine_is_measured_and_the_caller_stays_where_it_is() {
        let before = pin::allowed();
        let stages = Mutex::new(Vec::new());
        let bench = run(&quick(), &|stage, done| {
            assert!((0.0..=1.0).contains(&done));
            let mut stages = stages.lock().unwrap();
            if stages.last() != Some(&stage) {
                stages.push(stage);
            }
            true
        });
        assert_eq!(pin::allowed(), before);
        assert!(bench.complete && bench.rounds >= 3 && bench.timing_ns > 0.0);
        assert_eq!(*stages.lock().unwrap(), [Stage::Costs, Stage::Singles, Stage::Threads]);
        for result in &bench.rows {
            let there = result.missing.is_none();
            assert_eq!(result.cost(Shape::Throughput).is_some(), there, "{result:?}");
            assert_eq!(result.distribution.as_ref().map(|d| d.calls), there.then_some(300));
        }
        let cost = |row| bench.row(row).unwrap().cost(Shape::Throughput).unwrap().ns;
        let syscall = cost(Row::clock(ClockId::Monotonic, Via::Syscall));
        assert!(cost(Row::clock(ClockId::MonotonicCoarse, Via::Libc)) < syscall);
        assert_eq!(
            bench.row(Row::clock(ClockId::Monotonic, Via::Syscall)).unwrap().served,
            Served::Syscall
        );
        assert_eq!(bench.scaling.len(), 2 * scaling::ROWS.len());
    }

    #[test]
    fn the_clock_is_not_coarser_than_a_tick() {
        let step = step_of_the_clock();
        assert!(!step.is_zero() && step <= Duration::from_millis(20), "{step:?}");
    }

    #[test]
    fn stopping_keeps_what_there_is() {
        let plan = Plan { costs: Duration::from_secs(60), ..quick() };
        let bench = run(&plan, &|_, _| false);
        assert!(!bench.complete && bench.rounds == 1 && bench.scaling.is_empty());
        assert!(bench.rows.iter().all(|r| r.distribution.is_none()));
        assert!(bench.row(Row::counter(Instruction::Plain)).is_some());
        assert!(bench.rows.iter().any(|r| r.cost(Shape::Throughput).is_some()));
    }

    #[test]
    fn an_impossible_cpu_is_said() {
        let plan = Plan { cpu: Some(1023), threads: Vec::new(), singles: 10, ..quick() };
        let bench = run(&plan, &|_, _| true);
        assert!(bench.cpu.unwrap_err().contains("CPU 1023"));
        assert_eq!(bench.timer, Timer::Clock);
    }
}
