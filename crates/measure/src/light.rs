//! The measurement that accompanies a diagnosis: short, and by behaviour rather than by name.

use crate::bench::served::Shares;
use crate::pin;
use crate::reads::{self, CLOCKS, ClockId};
use crate::sampler::{Sampler, Samples, Subject};
use clocksmith_facts::path::Path;
use clocksmith_raw::counter;
use serde::Serialize;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// The default budget.
pub const BUDGET: Duration = Duration::from_millis(300);

/// The read cost of one clock.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClockCost {
    /// The clock.
    pub clock: ClockId,
    /// Nanoseconds per read through the C library; `None` if the kernel does not have the clock, or
    /// if the batches took less time than timing them.
    pub ns: Option<f64>,
    /// Nanoseconds per read by system call.
    pub syscall_ns: Option<f64>,
    /// Share of CPU time that reads through the C library spend in the kernel, 0 to 1; `None` if
    /// the kernel did not account enough of it.
    pub system_share: Option<f64>,
    /// The path that these numbers show.
    pub path: Path,
}

/// The read cost of the counter itself.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CounterCost {
    /// The instruction; `None` on architectures where this program has none.
    pub name: Option<&'static str>,
    /// Nanoseconds per read, unordered.
    pub ns: Option<f64>,
    /// Why it was not read.
    pub why: Option<String>,
}

/// A light measurement.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LightMeasurement {
    /// The clocks.
    pub clocks: Vec<ClockCost>,
    /// The counter.
    pub counter: CounterCost,
    /// The CPU that it ran on; `None` if it could not be pinned to one.
    pub cpu: Option<u32>,
    /// Rounds of batches.
    pub rounds: usize,
    /// How long it took, in milliseconds.
    pub elapsed_ms: f64,
}

impl LightMeasurement {
    /// The cost of one clock.
    #[must_use]
    pub fn clock(&self, clock: ClockId) -> Option<&ClockCost> {
        self.clocks.iter().find(|cost| cost.clock == clock)
    }
}

/// Below this share of the system call's cost, a read did not make one.
const CHEAPER: f64 = 0.6;
/// Below this share it did not, even if some of its CPU time was counted as the kernel's: that count
/// samples a few ticks only.
const FAR_CHEAPER: f64 = 0.3;
/// Share of CPU time in the kernel that a few ticks cannot explain.
const MOSTLY_KERNEL: f64 = 0.7;
/// From this share of the system call's cost on, a read was a system call.
const EQUAL: f64 = 0.8;
/// Above this multiple of the system call's cost, a read did more than make one: a tracer or an emulator serves the
/// counter read, in the kernel's time.
const DEARER: f64 = 3.0;
/// Share of CPU time in the kernel from which a read goes there.
const KERNEL: f64 = 0.3;

/// Measures the read cost of the clocks, within about `budget` (see [`BUDGET`]). The caller's
/// thread waits meanwhile; its affinity is not touched.
#[must_use]
pub fn light(budget: Duration) -> LightMeasurement {
    let begun = Instant::now();
    // The split of CPU time is scaled by all ticks since a thread began, so each clock needs a separate thread; a
    // quarter of the budget is for them.
    let part = budget / 4 / u32::try_from(CLOCKS.len()).unwrap_or(1);
    let shares = CLOCKS.map(|clock| in_thread(move || system_share(clock, part)).flatten());
    let left = budget.saturating_sub(begun.elapsed()).min(budget * 2 / 3);
    let Some((cpu, mut sampled, counter_gap)) = in_thread(move || sample(left)) else {
        let why = Some("no thread could be started to measure in".to_owned());
        let counter = CounterCost { name: counter::INSTRUCTION, ns: None, why };
        return LightMeasurement {
            clocks: Vec::new(),
            counter,
            cpu: None,
            rounds: 0,
            elapsed_ms: 0.0,
        };
    };
    let rounds = sampled.first().map_or(0, |samples| samples.ns.len());
    let coarse = reads::resolution(ClockId::Monotonic) >= COARSE;
    let mut cost = |name: &str| {
        let at = sampled.iter().position(|samples| samples.name == name)?;
        cost_of(&sampled.swap_remove(at), coarse)
    };
    let counter_ns = cost(COUNTER);
    let clocks = CLOCKS
        .iter()
        .zip(shares)
        .map(|(clock, system_share)| {
            let ns = cost(clock.name());
            let syscall_ns = cost(&by_syscall(*clock));
            let path = judge(ns, syscall_ns, system_share, counter_ns);
            ClockCost { clock: *clock, ns, syscall_ns, system_share, path }
        })
        .collect();
    let counter = CounterCost { name: counter::INSTRUCTION, ns: counter_ns, why: counter_gap };
    LightMeasurement {
        clocks,
        counter,
        cpu,
        rounds,
        elapsed_ms: begun.elapsed().as_secs_f64() * 1e3,
    }
}

/// Nanoseconds a call; `None` if the batches do not show it. With a coarse clock most batches take
/// no time and some a whole tick, so the mean is used there.
fn cost_of(samples: &Samples, coarse: bool) -> Option<f64> {
    if coarse {
        samples.mean().filter(|_| samples.is_measured_on_average())
    } else {
        samples.median().filter(|_| samples.is_measured())
    }
}

const COUNTER: &str = "counter";
/// A clock with larger steps than this counts ticks.
const COARSE: Duration = Duration::from_micros(100);

fn by_syscall(clock: ClockId) -> String {
    format!("{} by system call", clock.name())
}

/// The path of a clock's reads, from all data of a light measurement: the only place where figures become
/// a path. A read that costs as much as a system call made one, unless the counter alone costs as much:
/// then the counter traps, and the vDSO may be used nevertheless. The split of CPU time distinguishes the
/// two; a short measurement has none, because the kernel counts only whole ticks.
#[must_use]
pub fn judge(
    ns: Option<f64>,
    syscall_ns: Option<f64>,
    system_share: Option<f64>,
    counter_ns: Option<f64>,
) -> Path {
    let path = verdict(ns, syscall_ns, system_share);
    let traps = counter_ns.zip(ns).is_some_and(|(counter, ns)| counter >= TRAPPING * ns);
    if path == Path::Syscall && system_share.is_none() && traps { Path::Unknown } else { path }
}

/// Share of a read's cost above which the counter read in it may be most of it.
const TRAPPING: f64 = 0.5;

/// The path of a clock's reads. Where cost and split of CPU time contradict each other, neither is
/// used.
pub(crate) fn verdict(ns: Option<f64>, syscall_ns: Option<f64>, system_share: Option<f64>) -> Path {
    let (Some(ns), Some(syscall_ns)) = (ns, syscall_ns) else { return Path::Unknown };
    let in_kernel = system_share.map(|share| share > KERNEL);
    let mostly_kernel = system_share.is_some_and(|share| share.is_nan() || share > MOSTLY_KERNEL);
    let usable = syscall_ns.is_finite() && syscall_ns > 0.0 && ns.is_finite();
    match ns / syscall_ns {
        _ if !usable => Path::Unknown,
        ratio if ratio > DEARER => Path::Unknown,
        ratio if ratio < CHEAPER && in_kernel != Some(true) => Path::Vdso,
        ratio if ratio < FAR_CHEAPER && !mostly_kernel => Path::Vdso,
        ratio if ratio >= CHEAPER && in_kernel == Some(true) => Path::Syscall,
        ratio if ratio >= EQUAL && in_kernel.is_none() => Path::Syscall,
        // As expensive as the system call, and spent in user space: a counter that traps (a
        // hypervisor's, an emulated one) costs as much as a system call. Then the vDSO may be used
        // nevertheless.
        _ => Path::Unknown,
    }
}

/// Runs in a fresh thread, so that the caller's affinity and CPU time are not involved.
pub(crate) fn in_thread<R: Send + 'static>(work: impl FnOnce() -> R + Send + 'static) -> Option<R> {
    std::thread::Builder::new().name("measure".to_owned()).spawn(work).ok()?.join().ok()
}

/// The share of CPU time that reads of a clock through the C library spend in the kernel.
fn system_share(clock: ClockId, wall: Duration) -> Option<f64> {
    if !reads::read(clock) {
        return None;
    }
    Shares::measure(wall, |times| {
        for _ in 0..times {
            black_box(reads::read(clock));
        }
    })
    .ok()
    .map(|shares| shares.system)
}

type Measured = (Option<u32>, Vec<Samples>, Option<String>);

fn sample(budget: Duration) -> Measured {
    let cpu = pin::here().ok();
    let mut subjects = Vec::new();
    for clock in CLOCKS {
        if reads::read(clock) {
            subjects.push(Subject::new(clock.name(), move || reads::read(clock)));
        }
        if reads::read_by_syscall(clock) {
            subjects.push(Subject::new(by_syscall(clock), move || reads::read_by_syscall(clock)));
        }
    }
    let allowed = reads::counter_allowed();
    if allowed.is_ok() {
        subjects.push(Subject::new(COUNTER, counter::read));
    }
    let mut sampler = Sampler { budget, ..Sampler::default() };
    let step = reads::resolution(ClockId::Monotonic);
    if step >= COARSE {
        // Such a clock cannot time single batches. Long ones, and their mean, still distinguish a
        // read in user space from a system call; both take between 0.02 and 2 us.
        sampler.calls = Some(20_000);
    }
    (cpu, sampler.run(&mut subjects).samples, allowed.err())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn behaviour_decides() {
        let path = |ns, syscall, share| verdict(Some(ns), Some(syscall), share);
        assert_eq!(path(22.0, 250.0, Some(0.01)), Path::Vdso);
        assert_eq!(path(22.0, 250.0, None), Path::Vdso);
        assert_eq!(path(900.0, 900.0, Some(0.9)), Path::Syscall);
        assert_eq!(path(240.0, 250.0, None), Path::Syscall);
        assert_eq!(path(170.0, 250.0, Some(0.7)), Path::Syscall);
        // A tracer serves the counter: far slower than a system call, and most of the time is spent in the kernel.
        assert_eq!(path(95_000.0, 3_780.0, Some(0.9)), Path::Unknown);
        assert_eq!(path(95_000.0, 3_780.0, None), Path::Unknown);
        // A trapping counter, read in user space.
        assert_eq!(path(1400.0, 1600.0, Some(0.02)), Path::Unknown);
        // Ten ticks of a guest, four of them in the kernel.
        assert_eq!(path(43.0, 529.0, Some(0.4)), Path::Vdso);
        assert_eq!(path(250.0, 529.0, Some(0.4)), Path::Unknown);
        // Contradictions and gaps.
        assert_eq!(path(22.0, 250.0, Some(0.9)), Path::Unknown);
        assert_eq!(path(170.0, 250.0, None), Path::Unknown);
        assert_eq!(verdict(None, Some(1.0), None), Path::Unknown);
        assert_eq!(path(0.0, 0.0, None), Path::Unknown);
    }

    #[test]
    fn judge_without_shares_goes_by_the_ratio() {
        let judge = |ns, syscall, counter| judge(Some(ns), Some(syscall), None, counter);
        // kvm-clock without the stable bit, and Hyper-V's page with sequence 0, as measured in guests.
        for (ns, syscall) in [(646.5, 651.7), (722.0, 810.0), (654.0, 650.0)] {
            assert_eq!(judge(ns, syscall, Some(10.0)), Path::Syscall, "{ns} {syscall}");
            assert_eq!(judge(ns, syscall, None), Path::Syscall, "{ns} {syscall}");
        }
        // A counter that traps costs most of the read that it serves.
        assert_eq!(judge(1400.0, 1600.0, Some(1300.0)), Path::Unknown);
        assert_eq!(judge(60.0, 582.0, Some(10.0)), Path::Vdso);
        // Too far from either.
        assert_eq!(judge(450.0, 650.0, Some(10.0)), Path::Unknown);
        // With a split of CPU time, which decides.
        assert_eq!(super::judge(Some(900.0), Some(900.0), Some(0.9), Some(800.0)), Path::Syscall);
    }

    #[test]
    fn batch_below_timing_has_no_cost_and_no_path() {
        // As measured where a tracer serves every counter read and the clock moves at ticks only.
        let still = |calls| Samples {
            calls,
            ns: vec![0.0, 0.0, 0.0, 0.0, 4e6],
            overhead_ns: 0.0,
            ..Samples::default()
        };
        assert_eq!(cost_of(&still(1), false), None);
        assert_eq!(verdict(cost_of(&still(1), false), Some(300.0), None), Path::Unknown);
        assert_eq!(
            verdict(cost_of(&still(1), false), cost_of(&still(1), false), None),
            Path::Unknown
        );
        assert_eq!(cost_of(&still(1), true), Some(8e5));
        let healthy = Samples { calls: 1000, ns: vec![23.0; 9], overhead_ns: 40.0, ..still(1) };
        assert_eq!(cost_of(&healthy, false), Some(23.0));
    }

    #[test]
    fn this_machine_is_measured() {
        let before = rustix::thread::sched_getaffinity(None).unwrap();
        let measured = light(BUDGET);
        assert_eq!(rustix::thread::sched_getaffinity(None).unwrap(), before);
        assert_eq!(measured.clocks.len(), CLOCKS.len());
        for cost in &measured.clocks {
            assert!(cost.ns.unwrap() > 0.0 && cost.syscall_ns.unwrap() > 0.0, "{cost:?}");
        }
        // A coarse clock takes no counter read, so it cannot be much more expensive than the fine
        // one.
        let ns = |clock| measured.clock(clock).unwrap().ns.unwrap();
        assert!(ns(ClockId::MonotonicCoarse) < 2.0 * ns(ClockId::Monotonic), "{measured:?}");
        assert_eq!(measured.counter.ns.is_some(), measured.counter.why.is_none());
        let json = serde_json::to_value(&measured).unwrap();
        assert_eq!(json["clocks"][0]["clock"], "CLOCK_MONOTONIC");
        assert!(json["clocks"][0]["path"].is_string());
    }

    #[test]
    fn no_budget_still_gives_an_answer() {
        let measured = light(Duration::ZERO);
        assert!(measured.rounds >= 1 && measured.clocks.iter().all(|cost| cost.ns.is_some()));
    }

    proptest! {
        #[test]
        fn a_higher_cost_never_looks_more_like_the_vdso(
            ns in 0.0f64..1e4, more in 0.0f64..1e4, syscall in 1.0f64..1e4, share in proptest::option::of(0.0f64..1.0)
        ) {
            let (low, high) = (verdict(Some(ns), Some(syscall), share), verdict(Some(ns + more), Some(syscall), share));
            prop_assert!(high != Path::Vdso || low == Path::Vdso);
        }

        #[test]
        fn any_numbers(ns: Option<f64>, syscall: Option<f64>, share: Option<f64>) {
            let _ = verdict(ns, syscall, share);
        }
    }
}
