//! Whether a thread can read a time earlier than a time that another thread took before.
//!
//! One thread reads a clock and publishes the time; another takes the published time and then reads the clock itself.
//! That time must not be earlier.

use anyhow::{Result, anyhow, bail};
use clocksmith_clock_bench::report::Target;
use clocksmith_clock_bench::system::{counter, counter_p, pin, two_processors, vdso_ns};
use serde::Serialize;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The roles of the threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
enum Scenario {
    /// The writer publishes without a pause; the reader reads the clock each time.
    A,
    /// The writer publishes every microsecond or so.
    B,
    /// As B, and the reader reads its clock only when it sees a new time.
    C,
}

/// The reader's observations.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Steps {
    name: &'static str,
    scenario: Scenario,
    pairs: u64,
    /// Pairs with a time that the reader had not seen before.
    fresh: u64,
    backward: u64,
    /// The largest step, in the clock's unit.
    worst: u64,
}

const ORDERED: &str = "clocksmith ordered";

/// Measures all clocks; `pairs` is for the ordered clock in scenario A, the others get fewer.
pub(crate) fn run(pairs: u64, only_ordered: bool) -> Result<Vec<Steps>> {
    let few = pairs.min(2_000_000);
    let mut all = Vec::new();
    for (scenario, ordered, pairs) in
        [(Scenario::A, pairs, few), (Scenario::B, few, few), (Scenario::C, few / 5, few / 5)]
    {
        all.push(case(ORDERED, scenario, ordered, clocksmith::monotonic_ordered_ns)?);
        if only_ordered {
            continue;
        }
        all.push(case("vDSO", scenario, pairs, vdso_ns)?);
        all.push(case("rdtscp (ticks)", scenario, pairs, counter_p)?);
        all.push(case("clocksmith unordered", scenario, pairs, clocksmith::monotonic_ns)?);
        all.push(case("rdtsc (ticks)", scenario, pairs, counter)?);
        let begun = quanta::Instant::now();
        let quanta = move || (quanta::Instant::now() - begun).as_nanos() as u64;
        all.push(case("quanta", scenario, pairs, quanta)?);
    }
    Ok(all)
}

/// Keeps the reader's word apart from the writer's neighbours.
#[repr(align(128))]
struct Slot(AtomicU64);

fn case(
    name: &'static str,
    scenario: Scenario,
    pairs: u64,
    read: impl Fn() -> u64 + Copy + Sync,
) -> Result<Steps> {
    let (here, there) = two_processors()?;
    if here == there {
        bail!("there is only one processor");
    }
    let slot = Slot(AtomicU64::new(0));
    let end = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let pinned = pin(there);
            while !end.load(Ordering::Relaxed) {
                slot.0.store(read(), Ordering::Release);
                if scenario != Scenario::A {
                    let next = counter() + 2_600;
                    while counter() < next {}
                }
            }
            pinned
        });
        let steps = pin(here).map(|()| {
            while slot.0.load(Ordering::Relaxed) == 0 && !writer.is_finished() {}
            watch(name, scenario, pairs, &slot.0, read)
        });
        end.store(true, Ordering::Relaxed);
        writer.join().unwrap_or_else(|_| Err(anyhow!("the writer ended early")))?;
        steps
    })
}

#[inline(always)]
fn watch(
    name: &'static str,
    scenario: Scenario,
    pairs: u64,
    slot: &AtomicU64,
    read: impl Fn() -> u64,
) -> Steps {
    let mut steps = Steps { name, scenario, pairs, fresh: 0, backward: 0, worst: 0 };
    let (mut last, mut seen) = (0, 0);
    while seen < pairs {
        let theirs = slot.load(Ordering::Acquire);
        if scenario == Scenario::C && theirs == last {
            continue;
        }
        let ours = read();
        seen += 1;
        steps.fresh += u64::from(theirs != last);
        last = theirs;
        if ours < theirs {
            steps.backward += 1;
            steps.worst = steps.worst.max(theirs - ours);
        }
    }
    steps
}

pub(crate) fn print(all: &[Steps]) {
    println!("\ntimes earlier than one that another thread took before");
    println!("{:26}{:>4}{:>14}{:>12}{:>12}{:>10}", "", "", "pairs", "fresh", "backward", "worst");
    for steps in all {
        println!(
            "{:26}{:>4}{:>14}{:>12}{:>12}{:>10}",
            steps.name,
            format!("{:?}", steps.scenario),
            steps.pairs,
            steps.fresh,
            steps.backward,
            steps.worst
        );
    }
    println!("A: published without a pause; B: each us; C: B, read only at a new time");
}

pub(crate) fn targets(all: &[Steps]) -> Vec<Target> {
    let ordered = all.iter().filter(|steps| steps.name == ORDERED);
    ordered
        .map(|steps| {
            let name =
                format!("ordered: steps, {:?}, {:e} pairs", steps.scenario, steps.pairs as f64);
            Target::new(name, steps.backward as f64, 0.0, "")
        })
        .collect()
}
