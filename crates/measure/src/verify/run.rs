//! The threads of one run, and the data that is kept between runs.

use super::analyse;
use super::deadline::{Deadline, Patience, now};
use super::exchange;
use super::locked::{Last, Seen};
use super::outcome::{Frequency, Outcome};
use super::rtc;
use super::samples::{self, Agreement, Pair, Point, Samples, Steps};
use super::series;
use super::source::{ClockId, Real, Source};
use super::tour;
use crate::interrupt;
use clocksmith_raw::exchange::{Meeting, Side};
use std::time::Duration;

/// The options of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The intended length of the run.
    pub duration: Duration,
    /// The processors to test; all that this process may run on if there is nothing.
    pub cpus: Option<Vec<u32>>,
    /// The CPUs of the machine that are online; empty if that is not known. A run that leaves some of
    /// them out is partial.
    pub machine_cpus: Vec<u32>,
    /// Claims of other sources about the counter's frequency.
    pub claims: Vec<Frequency>,
    /// Whether the kernel's current clock is made of the counter: then a wrong counter is a wrong
    /// clock.
    pub counter_is_clock: bool,
    /// How early a read of the counter may be taken although it is ordered, in nanoseconds: 0 on real
    /// processors. An emulator's read is not ordered as the instruction promises.
    pub early_ns: f64,
    /// By how much the rate of the device behind the kernel's clock may wander for a moment, as a share, if that is
    /// more than a separate device does: a hypervisor derives an HPET from its host's clock.
    pub wander: f64,
}

/// The data that is kept from one run to the next, for a long watch.
#[derive(Clone, Debug, Default)]
pub struct History {
    points: Vec<Point>,
}

/// Parts of the time for pairs at the beginning, and for the end of the run, of 16. Between them clocks are read in turn,
/// and after each clock all processors are compared again.
const PAIRS: u32 = 5;
const LAST: u32 = 3;
/// The time of a clock, divided by the time of a comparison of all processors between two clocks.
const VIGIL: u32 = 3;
/// Rounds of the tour whose pairs together connect all processors (two successive rounds of the circle method are a ring).
const RING: usize = 2;
/// Pairs are tested that often, so that a moment in which a processor was busy does not decide.
const PASSES: u32 = 3;
/// A bound that is good enough not to test a pair again, in cycles.
const GOOD: u64 = 1_500;
/// The longest time of one of the comparisons at the end of a run.
const SHORT: Duration = Duration::from_millis(60);
/// A run from which on seconds of the real-time clock are counted.
const RTC: Duration = Duration::from_secs(4);
/// Exchanges that are enough.
const ENOUGH: u64 = 1_000;
/// Threads that read clocks in turn, at most.
const READERS: usize = 64;
/// Comparisons of a clock in user space with the kernel's, on each processor and in each pass.
const AGREEMENTS: u32 = 25;
/// Stack of a thread, in bytes.
const STACK: usize = 256 << 10;

/// Measures, and judges.
#[must_use]
pub fn run<S: Source>(source: &S, options: &Options, history: &mut History) -> Outcome {
    let begun = now(source);
    let mut samples = sample(source, options);
    let threads = samples.cpus.len().min(READERS) + 2;
    // A long watch sees smaller errors of the rate: points of earlier runs come before the new ones.
    let new = std::mem::take(&mut samples.points);
    history.points.extend(new);
    while history.points.len() > 2 * series::MOST {
        history.points = series::thinned(std::mem::take(&mut history.points));
    }
    samples.points.clone_from(&history.points);
    samples.threads = threads;
    samples.seconds = now(source).saturating_sub(begun) as f64 / 1e9;
    analyse::outcome(&samples)
}

/// Measures this machine, and judges. Generic code is compiled in the crate that calls it, with that crate's
/// optimisation; this is compiled here, like all code that measures.
#[must_use]
pub fn run_here(options: &Options, history: &mut History) -> Outcome {
    run(&Real, options, history)
}

fn sample<S: Source>(source: &S, options: &Options) -> Samples {
    let allowed = source.counter_allowed();
    let mut samples = Samples {
        counter_gap: allowed.err(),
        claims: options.claims.clone(),
        counter_is_clock: options.counter_is_clock,
        early_ns: options.early_ns,
        wander: options.wander,
        machine_cpus: options.machine_cpus.clone(),
        ..Samples::default()
    };
    let counter = samples.counter_gap.is_none();
    if counter && let Some(hz) = source.kernel_hz() {
        samples.user_clock_is_counter = true;
        // NTP's steering is in it, at one moment of the run.
        samples.claims.push(Frequency {
            source: "the kernel's numbers for its clock in user space".to_owned(),
            hz,
            doubt_ppm: 600.0,
            decisive: true,
            steered: true,
            independent: false,
            measured_ppm: None,
        });
    }
    let wanted = options.cpus.clone().unwrap_or_else(|| source.cpus());
    for cpu in wanted {
        match in_thread(|| source.pin(cpu)) {
            Ok(()) => samples.cpus.push(cpu),
            Err(why) => samples.unpinned.push((cpu, why)),
        }
    }
    samples.confirmed = source.confirmed();
    let begun = now(source);
    let end = Deadline::after(source, options.duration);
    std::thread::scope(|scope| {
        let has_rtc = counter && options.duration >= RTC && source.rtc_seconds().is_some();
        let edges = has_rtc.then(|| {
            let builder = std::thread::Builder::new().stack_size(STACK);
            builder.spawn_scoped(scope, move || rtc::take(source, end)).ok()
        });
        let cpu = samples.cpus.first().copied();
        let drift = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, move || {
            let pinned = cpu.filter(|cpu| source.pin(*cpu).is_ok());
            (pinned, series::take(source, counter, end))
        });
        if counter {
            pairs(source, &mut samples, options.duration * PAIRS / 16, (begun, end));
        } else {
            alone(source, &mut samples);
        }
        let last = options.duration * LAST / 16;
        let middle = end.left(source).saturating_sub(last);
        clocks(source, &mut samples, counter, middle, (begun, end));
        if counter && samples.cpus.len() > 1 {
            samples.ending = true;
            // Pairs that were too busy before get half of the remaining time; all pairs share the end of the run.
            pairs(source, &mut samples, end.left(source) / 2, (begun, end));
            loop {
                let left = end.left(source);
                vigil(source, &mut samples, left.min(SHORT), (begun, end));
                if left <= SHORT {
                    break;
                }
            }
        }
        if let Ok(drift) = drift
            && let Ok((cpu, points)) = drift.join()
        {
            samples.points_cpu = cpu;
            samples.points = points;
        }
        if let Some(edges) = edges.flatten()
            && let Ok(edges) = edges.join()
        {
            samples.claims.extend(rtc::claim(&edges));
        }
    });
    samples.cut_short = interrupt::breaks();
    samples
}

/// Runs in a fresh thread, so that the caller's affinity is not touched.
fn in_thread<R: Send>(work: impl FnOnce() -> Result<R, String> + Send) -> Result<R, String> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work);
        let thread = thread.map_err(|error| format!("no thread could be started: {error}"))?;
        thread.join().unwrap_or_else(|_| Err("its thread failed".to_owned()))
    })
}

/// Every pair of processors, in up to [`PASSES`] passes.
fn pairs<S: Source>(
    source: &S,
    samples: &mut Samples,
    budget: Duration,
    (begun, end): (i64, Deadline),
) {
    let rounds = tour::rounds(&samples.cpus);
    let end = end.sooner(source, budget);
    if rounds.is_empty() {
        alone(source, samples);
    }
    for pass in 0..PASSES {
        let wanted: Vec<Vec<(u32, u32)>> = rounds
            .iter()
            .map(|round| {
                let missing = |(one, other): &&(u32, u32)| !is_good(&samples.pairs, *one, *other);
                round.iter().filter(missing).copied().collect()
            })
            .collect();
        let busy = wanted.iter().filter(|round| !round.is_empty()).count();
        let busy = u32::try_from(busy).unwrap_or(u32::MAX);
        let mut left = busy;
        for round in wanted.iter().filter(|round| !round.is_empty()) {
            let time = end.left(source) / left.max(1) / (PASSES - pass);
            left -= 1;
            keep(samples, meet(source, round, time, begun));
        }
    }
}

/// Adds the results of pairs to the samples.
fn keep(samples: &mut Samples, found: Vec<(Pair, Vec<Agreement>)>) {
    for (mut found, agreements) in found {
        found.ending = samples.ending;
        samples.agreements.extend(agreements);
        let known = samples
            .pairs
            .iter_mut()
            .find(|pair| (pair.one, pair.other) == (found.one, found.other));
        match known {
            Some(known) => known.merge(found),
            None => samples.pairs.push(found),
        }
    }
}

/// All processors once more, each against two others: a counter that was right before may have changed.
fn vigil<S: Source>(
    source: &S,
    samples: &mut Samples,
    budget: Duration,
    (begun, end): (i64, Deadline),
) {
    let rounds = tour::rounds(&samples.cpus);
    let few = rounds.len().min(RING);
    // Other neighbours take their turn.
    let turn = samples.pairs.first().and_then(|pair| pair.heard).map_or(0, |heard| heard.times);
    let first = usize::try_from(turn).unwrap_or(0) % rounds.len().max(1);
    for index in 0..few {
        if end.is_over(source) {
            return;
        }
        let Some(round) = rounds.get((first + index) % rounds.len().max(1)) else { return };
        let time = budget / u32::try_from(few).unwrap_or(1).max(1);
        keep(samples, meet(source, round, time, begun));
    }
}

fn is_good(pairs: &[Pair], one: u32, other: u32) -> bool {
    pairs.iter().filter(|pair| (pair.one, pair.other) == (one, other)).any(|pair| {
        let short = |ticks: Option<i64>| ticks.is_some_and(|ticks| ticks.unsigned_abs() <= GOOD);
        pair.exchanges >= ENOUGH
            && pair.locked.handovers >= ENOUGH
            && short(pair.there)
            && short(pair.back)
    })
}

/// Runs one round: disjoint pairs at the same time.
fn meet<S: Source>(
    source: &S,
    round: &[(u32, u32)],
    time: Duration,
    begun: i64,
) -> Vec<(Pair, Vec<Agreement>)> {
    std::thread::scope(|scope| {
        let talks: Vec<_> = round
            .iter()
            .map(|(one, other)| {
                let builder = std::thread::Builder::new().stack_size(STACK);
                let talk =
                    builder.spawn_scoped(scope, move || talk(source, (*one, *other), time, begun));
                (*one, *other, talk)
            })
            .collect();
        let of = |(one, other, talk): (u32, u32, std::io::Result<_>)| {
            let failed = |why: String| {
                let pair = Pair { trouble: Some(why), ..Pair::new(one, other) };
                (pair, Vec::new())
            };
            let talk: std::thread::ScopedJoinHandle<'_, (Pair, Vec<Agreement>)> = match talk {
                Ok(talk) => talk,
                Err(error) => return failed(format!("no thread could be started: {error}")),
            };
            talk.join().unwrap_or_else(|_| failed("a thread failed".to_owned()))
        };
        talks.into_iter().map(of).collect()
    })
}

/// The results of one side of a pair.
struct Heard {
    side: Side,
    seen: Seen,
    agreement: Agreement,
}

fn talk<S: Source>(
    source: &S,
    (one, other): (u32, u32),
    time: Duration,
    run_begun: i64,
) -> (Pair, Vec<Agreement>) {
    let from = now(source).saturating_sub(run_begun);
    let (meeting, last) = (Meeting::default(), Last::default());
    let begun = Deadline::after(source, time);
    let talking = begun.sooner(source, time * 5 / 8);
    let part = |cpu: u32, me: u32| -> Result<Heard, String> {
        source.pin(cpu)?;
        let patience = || {
            let mut patience = Patience::default();
            move || patience.turn(source, talking)
        };
        let side = match me {
            0 => meeting.ask(|| source.counter(), patience),
            _ => meeting.answer(|| source.counter(), patience),
        };
        // The remaining time of the talk belongs to the lock, but never more than its own share.
        let locking = begun.sooner(source, time * 3 / 8);
        let seen = last.run(source, me, locking, || Some(source.counter()));
        let agreement = series::agreement(source, cpu, AGREEMENTS);
        Ok(Heard { side, seen, agreement })
    };
    let answered = std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().stack_size(STACK);
        let answering = builder.spawn_scoped(scope, || part(other, 1));
        let asked = part(one, 0);
        let answered = match answering {
            Ok(thread) => thread.join().unwrap_or_else(|_| Err("a thread failed".to_owned())),
            Err(error) => Err(format!("no thread could be started: {error}")),
        };
        (asked, answered)
    });
    match answered {
        (Ok(asked), Ok(answered)) => {
            let mut pair = exchange::pair(one, other, &asked.side, &answered.side);
            pair.locked = asked.seen.across;
            pair.locked.merge(answered.seen.across);
            pair.last = pair.there.zip(pair.back);
            pair.heard = pair.last.map(|_| samples::Heard::once(from));
            (pair, vec![asked.agreement, answered.agreement])
        }
        (Err(why), _) | (_, Err(why)) => {
            (Pair { trouble: Some(why), ..Pair::new(one, other) }, Vec::new())
        }
    }
}

/// Without pairs, the clock in user space is still compared on each processor.
fn alone<S: Source>(source: &S, samples: &mut Samples) {
    for cpu in samples.cpus.clone() {
        let found = in_thread(|| {
            source.pin(cpu)?;
            Ok(series::agreement(source, cpu, PASSES * AGREEMENTS))
        });
        samples.agreements.extend(found);
    }
}

/// Every clock, and the counter, by threads on all processors.
fn clocks<S: Source>(
    source: &S,
    samples: &mut Samples,
    counter: bool,
    budget: Duration,
    (begun, run_end): (i64, Deadline),
) {
    // The whole budget, even if pairs took longer than they should on a busy machine.
    let end = Deadline::after(source, budget);
    let mut wanted: Vec<Option<ClockId>> = ClockId::ALL.into_iter().map(Some).collect();
    if counter {
        wanted.push(None);
    }
    let mut left = u32::try_from(wanted.len()).unwrap_or(u32::MAX);
    for clock in wanted {
        let both = end.left(source) / left.max(1);
        let watching =
            if counter && samples.cpus.len() > 1 { both / VIGIL } else { Duration::ZERO };
        let time = both - watching;
        left -= 1;
        if clock.is_none_or(|clock| source.clock(clock).is_some()) {
            let from = now(source);
            samples.steps.push(steps(source, &samples.cpus, clock, time));
            if clock.is_none() {
                samples.turns_ns = now(source).saturating_sub(from);
            }
        }
        if !watching.is_zero() {
            vigil(source, samples, watching, (begun, run_end));
        }
    }
}

fn steps<S: Source>(source: &S, cpus: &[u32], clock: Option<ClockId>, time: Duration) -> Steps {
    let deadline = Deadline::after(source, time);
    let last = Last::default();
    let read = || match clock {
        // The bits of the signed value: differences stay right.
        Some(clock) => source.clock(clock).map(|ns| ns as u64),
        None => Some(source.counter()),
    };
    let mut seen = Seen::default();
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0u32..)
            .zip(cpus.iter().take(READERS))
            .filter_map(|(me, cpu)| {
                let (last, read) = (&last, &read);
                let builder = std::thread::Builder::new().stack_size(STACK);
                let work =
                    move || source.pin(*cpu).ok().map(|()| last.run(source, me, deadline, read));
                builder.spawn_scoped(scope, work).ok()
            })
            .collect();
        for thread in threads {
            if let Ok(Some(found)) = thread.join() {
                seen.merge(found);
            }
        }
    });
    let mut across = seen.across;
    if clock == Some(ClockId::ThreadCputime) {
        across = super::samples::Locked::default();
    }
    let claimed = clock.and_then(|clock| source.claimed_step(clock));
    Steps { clock, claimed, within: seen.within, across, smallest: seen.smallest, same: seen.same }
}
