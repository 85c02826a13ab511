//! Costs of operations, in interleaved batches.
//!
//! One call of a fast clock takes less time than the timing, so calls are timed in batches of about
//! 20 us. The operations take turns (A B C A B C ...), so that a disturbance of the machine affects
//! all of them equally. The result is the median of the batches, which a disturbed batch does not
//! move.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// The most calls in one batch; an operation that takes no time at all ends there.
const MAX_CALLS: u32 = 1 << 22;

/// A batch takes at least that many times as long as timing it.
const WORTH_TIMING: u32 = 8;

/// Calls that a batch gets even when the budget is already used up: fewer calls of a fast clock would
/// take less time than timing them.
const LEAST_CALLS: u32 = 256;

/// An operation to be measured.
pub struct Subject<'a> {
    /// Its name.
    pub name: String,
    /// Runs the operation that many times.
    run: Box<dyn FnMut(u32) + 'a>,
}

impl<'a> Subject<'a> {
    /// An operation that comes as a loop: `run` does it that many times.
    pub fn looping(name: impl Into<String>, run: impl FnMut(u32) + 'a) -> Self {
        Self { name: name.into(), run: Box::new(run) }
    }

    /// An operation; its result is kept from being optimised away.
    pub fn new<R>(name: impl Into<String>, mut operation: impl FnMut() -> R + 'a) -> Self {
        let run = Box::new(move |calls| {
            for _ in 0..calls {
                black_box(operation());
            }
        });
        Self { name: name.into(), run }
    }
}

/// The parameters of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampler {
    /// The intended length of one batch.
    pub batch: Duration,
    /// The limit for the whole measurement; it ends after the round in which that time is up.
    pub budget: Duration,
    /// The most rounds.
    pub rounds: usize,
    /// Calls in each batch, instead of as many as fit into `batch`.
    pub calls: Option<u32>,
}

impl Default for Sampler {
    fn default() -> Self {
        Self {
            batch: Duration::from_micros(20),
            budget: Duration::from_millis(200),
            rounds: 100_000,
            calls: None,
        }
    }
}

/// Rounds that are measured even when the budget is already used up.
const LEAST_ROUNDS: usize = 3;

/// The measurements of one operation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Samples {
    /// Its name.
    pub name: String,
    /// Calls in each batch.
    pub calls: u32,
    /// Nanoseconds per call, of each batch, sorted.
    pub ns: Vec<f64>,
    /// The same in the order in which they were taken.
    pub in_order: Vec<f64>,
    /// The time for timing a batch, in nanoseconds (already subtracted).
    pub overhead_ns: f64,
}

impl Samples {
    /// The value below which the share `q` (0 to 1) of the batches is; `None` without batches.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Option<f64> {
        let last = self.ns.len().checked_sub(1)?;
        // In range: q is clamped, and there are far fewer than 2^52 batches.
        let index = (last as f64 * q.clamp(0.0, 1.0)).round() as usize;
        self.ns.get(index).copied()
    }

    /// The median.
    #[must_use]
    pub fn median(&self) -> Option<f64> {
        self.quantile(0.5)
    }

    /// Whether the batches took long enough for a result: half of them lasted at least half as long
    /// as their timing. A clock that does not advance, or an emulated counter, gives batches that
    /// seem to take no time at all; that is not a measurement.
    #[must_use]
    pub fn is_measured(&self) -> bool {
        self.median().is_some_and(|ns| outlasts(ns * f64::from(self.calls), self.overhead_ns))
    }

    /// As [`Samples::is_measured`], for the mean.
    #[must_use]
    pub fn is_measured_on_average(&self) -> bool {
        self.mean().is_some_and(|ns| outlasts(ns * f64::from(self.calls), self.overhead_ns))
    }

    /// The mean, for clocks so coarse that a batch measures either nothing or a whole tick.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (!self.ns.is_empty()).then(|| self.ns.iter().sum::<f64>() / self.ns.len() as f64)
    }
}

/// Whether a batch of that many nanoseconds is a measurement of its calls, and not of its timing.
fn outlasts(batch_ns: f64, overhead_ns: f64) -> bool {
    batch_ns.is_finite() && batch_ns > 0.0 && batch_ns >= overhead_ns / 2.0
}

/// The results of a [`Sampler`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sampled {
    /// One for each operation, in their order.
    pub samples: Vec<Samples>,
    /// The time for timing an empty batch, in nanoseconds (already subtracted).
    pub overhead_ns: f64,
    /// Number of rounds.
    pub rounds: usize,
}

impl Sampler {
    /// Measures the operations.
    pub fn run(&self, subjects: &mut [Subject<'_>]) -> Sampled {
        self.run_while(subjects, |_| true)
    }

    /// Does the same, as long as `go_on` returns `true`. It is called after each round, between batches, with the used
    /// share of the budget.
    pub fn run_while(
        &self,
        subjects: &mut [Subject<'_>],
        mut go_on: impl FnMut(f64) -> bool,
    ) -> Sampled {
        let begun = Instant::now();
        let timing = (0..9).map(|_| Instant::now().elapsed()).min().unwrap_or_default();
        let batch = self.batch.max(timing * WORTH_TIMING);
        // Calibration warms up code, caches and the branch predictors as well.
        let calls: Vec<u32> = subjects
            .iter_mut()
            .map(|subject| match self.calls {
                Some(calls) => {
                    (subject.run)(1);
                    calls.clamp(1, MAX_CALLS)
                }
                None => self.calibrate(subject, batch, begun),
            })
            .collect();
        let mut batches: Vec<Vec<f64>> = vec![Vec::new(); subjects.len()];
        let mut empty = Vec::new();
        let mut rounds = 0;
        while rounds < self.rounds && (rounds < LEAST_ROUNDS || begun.elapsed() < self.budget) {
            empty.push(nanoseconds(Instant::now().elapsed()));
            for ((subject, calls), batches) in subjects.iter_mut().zip(&calls).zip(&mut batches) {
                account();
                batches.push(nanoseconds(timed(subject, *calls)));
            }
            rounds += 1;
            let used = begun.elapsed().as_secs_f64() / self.budget.as_secs_f64().max(1e-9);
            if !go_on(used.min(1.0)) {
                break;
            }
        }
        empty.sort_unstable_by(f64::total_cmp);
        let overhead_ns = empty.get(empty.len() / 2).copied().unwrap_or_default();
        let samples = subjects.iter().zip(calls).zip(batches).map(|((subject, calls), batches)| {
            let per_call = |batch: f64| (batch - overhead_ns).max(0.0) / f64::from(calls);
            let in_order: Vec<f64> = batches.into_iter().map(per_call).collect();
            let mut ns = in_order.clone();
            ns.sort_unstable_by(f64::total_cmp);
            Samples { name: subject.name.clone(), calls, ns, in_order, overhead_ns }
        });
        Sampled { samples: samples.collect(), overhead_ns, rounds }
    }

    /// The number of calls that takes about as long as a batch should.
    fn calibrate(&self, subject: &mut Subject<'_>, batch: Duration, begun: Instant) -> u32 {
        let mut calls = 1u32;
        loop {
            account();
            // The shorter of two: one may be disturbed, and would end the search too early.
            let took = timed(subject, calls).min(timed(subject, calls));
            let late = calls >= LEAST_CALLS && begun.elapsed() > self.budget;
            if took >= batch || calls >= MAX_CALLS || late {
                let ratio = nanoseconds(batch) / nanoseconds(took).max(1.0);
                // At most MAX_CALLS, so the conversion is exact enough.
                let fitting = (f64::from(calls) * ratio.min(1.0)).round() as u32;
                return fitting.clamp(1, MAX_CALLS);
            }
            calls = calls.saturating_mul(2).min(MAX_CALLS);
        }
    }
}

/// Has the kernel account the CPU time so far, before a batch. It does so at each tick, and
/// whenever a CPU-time clock is read: a thread that has used up its turn then gives way. Otherwise
/// the first batch in a round that reads such a clock would wait for the other threads of a busy
/// machine, in half of the rounds.
fn account() {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live, exclusively borrowed value of the right type.
    let _ = black_box(unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) });
}

fn timed(subject: &mut Subject<'_>, calls: u32) -> Duration {
    let begun = Instant::now();
    (subject.run)(calls);
    begun.elapsed()
}

fn nanoseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e9
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cell::Cell;

    fn spin(steps: u32) -> u32 {
        (0..steps).fold(1u32, |value, step| black_box(value.wrapping_mul(31).wrapping_add(step)))
    }

    #[test]
    fn more_work_costs_more() {
        let mut subjects =
            [Subject::new("little", || spin(20)), Subject::new("much", || spin(400))];
        let sampler = Sampler { budget: Duration::from_millis(30), ..Sampler::default() };
        let sampled = sampler.run(&mut subjects);
        let median = |index: usize| sampled.samples[index].median().unwrap();
        assert!(median(1) > 2.0 * median(0), "{} {}", median(0), median(1));
        assert!(sampled.samples[0].calls > sampled.samples[1].calls);
        assert!(sampled.samples.iter().all(|s| s.ns.len() == sampled.rounds));
    }

    #[test]
    fn operations_take_turns() {
        let order = std::cell::RefCell::new(String::new());
        let done = Cell::new(false);
        let push = |name: char| {
            std::thread::sleep(Duration::from_micros(100));
            if done.get() {
                order.borrow_mut().push(name)
            }
        };
        let mut subjects = [
            Subject::new("a", || push('a')),
            Subject::new("b", || {
                push('b');
                done.set(true)
            }),
            Subject::new("c", || push('c')),
        ];
        let sampler = Sampler { budget: Duration::ZERO, rounds: 3, ..Sampler::default() };
        let sampled = sampler.run(&mut subjects);
        assert_eq!(sampled.rounds, 3);
        drop(subjects);
        assert!(order.borrow().ends_with("abcabcabc"), "{}", order.borrow());
    }

    /// The turn of a thread is over after a few milliseconds, about as long as the first operation takes.
    #[test]
    fn reads_of_cpu_time_do_not_take_the_turns_of_others() {
        let over = std::sync::atomic::AtomicBool::new(false);
        let load = std::sync::atomic::Ordering::Relaxed;
        std::thread::scope(|scope| {
            let threads = std::thread::available_parallelism().map_or(2, usize::from) * 2;
            for _ in 0..threads {
                scope.spawn(|| {
                    while !over.load(load) {
                        black_box(spin(1000));
                    }
                });
            }
            let long = || {
                let begun = Instant::now();
                while begun.elapsed() < Duration::from_micros(60) {}
            };
            let mut subjects = [Subject::new("long", long), Subject::new("cpu time", account)];
            let sampler = Sampler {
                budget: Duration::from_secs(60),
                rounds: 40,
                calls: Some(40),
                ..Sampler::default()
            };
            let sampled = sampler.run(&mut subjects);
            over.store(true, load);
            let of = |share: f64| sampled.samples[1].quantile(share).unwrap();
            assert!(of(0.7) < 5.0 * of(0.2), "{:?}", sampled.samples[1].in_order);
        });
    }

    #[test]
    fn run_while_stopped_keeps_rounds() {
        let mut subjects = [Subject::looping("nothing", |_| ())];
        let sampler = Sampler { budget: Duration::from_secs(60), ..Sampler::default() };
        let mut rounds = 0;
        let sampled = sampler.run_while(&mut subjects, |used| {
            assert!((0.0..=1.0).contains(&used));
            rounds += 1;
            rounds < 5
        });
        assert_eq!((sampled.rounds, sampled.samples[0].in_order.len()), (5, 5));
    }

    #[test]
    fn run_of_empty_operation_ends() {
        let mut subjects = [Subject::new("nothing", || ())];
        let sampler = Sampler { budget: Duration::from_millis(5), ..Sampler::default() };
        let sampled = sampler.run(&mut subjects);
        assert!(sampled.samples[0].calls >= 1 && sampled.rounds >= LEAST_ROUNDS);
        assert!(sampler.run(&mut []).samples.is_empty());
        let fixed = Sampler { calls: Some(7), rounds: 2, ..sampler };
        let sampled = fixed.run(&mut subjects);
        assert_eq!((sampled.samples[0].calls, sampled.samples[0].ns.len()), (7, 2));
    }

    #[test]
    fn batch_below_timing_is_not_measured() {
        let samples = |ns: f64, calls, overhead_ns| Samples {
            calls,
            ns: vec![ns; 5],
            overhead_ns,
            ..Samples::default()
        };
        // A fast clock in a long batch.
        assert!(samples(4.0, 5000, 30.0).is_measured());
        // A traced counter: each read takes as long as timing does.
        assert!(samples(200_000.0, 1, 200_000.0).is_measured());
        // The clock does not advance, or the little time that passed is in the noise of the timing.
        assert!(!samples(0.0, 1, 200_000.0).is_measured());
        assert!(!samples(0.0, 1, 0.0).is_measured());
        assert!(!samples(900.0, 1, 200_000.0).is_measured());
        assert!(!samples(f64::NAN, 1, 1.0).is_measured());
        assert!(!samples(0.0, 1, 1.0).is_measured_on_average());
        assert!(!Samples::default().is_measured());
    }

    proptest! {
        #[test]
        fn quantiles_are_samples_in_order(
            mut ns in proptest::collection::vec(0.0f64..1e6, 0..50), q in -1.0f64..2.0
        ) {
            ns.sort_unstable_by(f64::total_cmp);
            let samples = Samples { calls: 1, ns: ns.clone(), ..Samples::default() };
            match samples.quantile(q) {
                None => prop_assert!(ns.is_empty()),
                Some(value) => {
                    prop_assert!(ns.contains(&value));
                    prop_assert!(samples.quantile(0.0).unwrap() <= value);
                    prop_assert!(value <= samples.quantile(1.0).unwrap());
                }
            }
        }
    }
}
