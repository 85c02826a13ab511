//! The read cost here and now, and on a fast clock. An edge: reads clocks.

mod own;
mod span;

pub use own::OwnCosts;
pub use span::{BESIDE, Span};

use crate::clock::{Api, ClockId};
use clocksmith_measure::loops::{self, Function};
use clocksmith_measure::sampler::{Sampler, Samples};
use clocksmith_raw::vdso_elf;
use serde::Serialize;
use std::time::Duration;

/// The read cost of one function, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cost {
    /// Through the C library, which uses the vDSO where it can.
    pub library_ns: Option<f64>,
    /// By a system call.
    pub syscall_ns: Option<f64>,
    /// How many times as long the system call takes where it is slow as where it is fast; 0 if it was not measured.
    #[serde(skip)]
    pub unevenness: f64,
}

/// Below this share of the system call's cost, a read through the library made none.
const CHEAPER: f64 = 0.6;

impl Cost {
    /// Whether the vDSO serves it in user space; `None` if the costs do not show it.
    #[must_use]
    pub fn in_user_space(self) -> Option<bool> {
        Some(self.library_ns? < CHEAPER * self.syscall_ns?)
    }
}

/// An ordered clock read as a multiple of a plain read of the counter: 20 to 24 ns against 10 ns on
/// processors of 2021 (AMD family 25, `rdtscp` and `lfence; rdtsc`).
const ORDERED: f64 = 2.4;

/// The least part of a plain read of the counter that samples find: 5.2 to 5.9 ns of 9.9 in loops that compute as well (AMD
/// family 25).
const BESIDE_OTHERS: f64 = 0.45;

/// The same after a slower instruction: the processor reads the counter while it waits for an atomic addition, and
/// samples found 0.6 ns of 9.9 (AMD family 25).
const BEHIND_SLOWER: f64 = 0.05;

/// The time that the vDSO's functions spend inside the vDSO, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Served {
    /// `clock_gettime` of a clock that reads the counter.
    pub fine: Option<Span>,
    /// `clock_gettime` of a coarse clock.
    pub coarse: Option<Span>,
    /// `gettimeofday`.
    pub gettimeofday: Option<Span>,
    /// `time`.
    pub time: Option<Span>,
}

/// The costs of a machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Costs {
    /// Of `clock_gettime`, by clock.
    pub clocks: Vec<(ClockId, Cost)>,
    /// Of `gettimeofday`.
    pub gettimeofday: Cost,
    /// Of `time`.
    pub time: Cost,
    /// The part of a vDSO call that is spent inside the vDSO, where samples see it; empty if it was not measured.
    pub served: Served,
    /// Of the counter itself.
    pub counter_ns: Option<f64>,
    /// Of this project's clock, in the order of other reads.
    pub fast_ns: Option<f64>,
    /// Whether that clock is not served here, so that its cost is concluded from the counter's.
    pub fast_assumed: bool,
    /// Of this project's clock at the last tick.
    pub coarse_ns: Option<f64>,
    /// The length of a tick, in nanoseconds.
    pub tick_ns: Option<f64>,
}

impl Costs {
    /// Returns the time of a read inside the vDSO, where samples see it. If it was not measured, the call itself may
    /// be most of a cheap read.
    #[must_use]
    pub fn served(&self, api: Api, clock: Option<ClockId>) -> Option<Span> {
        let library = self.of(api, clock).library_ns?;
        let clock = clock.unwrap_or(ClockId::MONOTONIC);
        let measured = match api {
            Api::ClockGettime if clock.is_coarse() => self.served.coarse,
            // One function serves all of them, except clocks with a rate of their own.
            Api::ClockGettime => self.served.fine.map(|span| {
                let monotonic = self.of(api, Some(ClockId::MONOTONIC)).library_ns;
                let factor = monotonic.map_or(1.0, |ns| library / ns);
                span.scaled(if factor.is_finite() { factor } else { 1.0 })
            }),
            Api::Gettimeofday => self.served.gettimeofday,
            Api::Time => self.served.time,
            Api::Rdtsc | Api::Rdtscp => None,
        };
        Some(measured.unwrap_or_else(|| Span::of_loops(library, span::CALL, library)))
    }

    /// Returns the time of an instruction that reads the counter; an instruction that waits for all earlier ones is
    /// slower.
    #[must_use]
    pub fn counted(&self, api: Api) -> Option<Span> {
        let ns = self.counter_ns?;
        Some(match api {
            Api::Rdtscp => Span::of_loops(ns, 0.0, ns * ORDERED),
            _ => Span::among(ns * BESIDE_OTHERS, ns + span::OVERLAP),
        })
    }

    /// The same in a program that spends this part of its CPU time at such instructions. They may be more than their time
    /// shows, but no more than fit into the program's time one after the other.
    #[must_use]
    pub fn counted_beside(&self, api: Api, part: f64) -> Option<Span> {
        let (span, ns) = (self.counted(api)?, self.counter_ns?);
        let least = ns * part.clamp(BEHIND_SLOWER, 1.0);
        let low = if api == Api::Rdtsc { span.low.min(least) } else { span.low };
        Some(Span { low, ..span })
    }

    /// Returns the cost of a function, for a clock if it takes one. Clocks that are not measured get the cost of the
    /// CPU clocks: system calls serve all of them.
    #[must_use]
    pub fn of(&self, api: Api, clock: Option<ClockId>) -> Cost {
        match api {
            Api::Gettimeofday => self.gettimeofday,
            Api::Time => self.time,
            Api::Rdtsc | Api::Rdtscp => Cost { library_ns: self.counter_ns, ..Cost::default() },
            Api::ClockGettime => {
                let clock = clock.unwrap_or(ClockId::MONOTONIC);
                let find = |wanted| self.clocks.iter().find(|(id, _)| *id == wanted);
                find(clock)
                    .or_else(|| find(ClockId::THREAD_CPUTIME))
                    .map_or_else(Cost::default, |(_, cost)| *cost)
            }
        }
    }
}

/// Measures the costs within about `budget`, in a separate thread.
#[must_use]
pub fn costs(budget: Duration) -> Costs {
    let measured = std::thread::Builder::new()
        .name("calibrate".to_owned())
        .spawn(move || measure(budget))
        .ok()
        .and_then(|thread| thread.join().ok());
    measured.unwrap_or_default()
}

/// Costs that differ less are those of one function.
const ALIKE: f64 = 0.2;

fn measure(budget: Duration) -> Costs {
    let mut subjects = loops::both_ways(&ClockId::COMMON.map(|clock| clock.0));
    for (name, clock, function) in direct() {
        // SAFETY: a function of the vDSO of this process, with the arguments that it has.
        subjects.extend(unsafe { loops::of_function(name, function, clock.map(|clock| clock.0)) });
    }
    subjects.push(loops::empty());
    subjects.extend(loops::own());
    let sampled = Sampler { budget, ..Sampler::default() }.run(&mut subjects).samples;
    let measured = |name: &str| {
        sampled.iter().find(|samples| samples.name == name).filter(|samples| samples.is_measured())
    };
    let cost = |name: &str| measured(name)?.median();
    let both =
        |name: &str| of_both(measured(&loops::library(name)), measured(&loops::system_call(name)));
    let mut clocks: Vec<(ClockId, Cost)> =
        ClockId::COMMON.iter().map(|clock| (*clock, both(&clock.0.to_string()))).collect();
    level(&mut clocks);
    let inside = |name: &str| {
        let (apart, chained) = (cost(&loops::apart(name))?, cost(&loops::chained(name))?);
        Some(Span::of_loops(apart, cost("empty")?, chained))
    };
    let served = Served {
        fine: inside(FINE),
        coarse: inside(COARSE),
        gettimeofday: inside(DAY),
        time: inside(TIME),
    };
    let fast = clocksmith::source() <= clocksmith::Source::Vdso;
    let counter_ns = cost("counter");
    let fast_ns = cost("ordered").filter(|_| fast);
    Costs {
        clocks,
        gettimeofday: both("gettimeofday"),
        time: both("time"),
        served,
        counter_ns,
        fast_ns: fast_ns.or(counter_ns.map(|ns| ns * ORDERED)),
        fast_assumed: fast_ns.is_none() && counter_ns.is_some(),
        coarse_ns: cost("coarse"),
        tick_ns: tick(),
    }
}

/// The cost of one function by both paths. A system call is slower for a while after the kernel has switched to the
/// thread: a CPU-time clock takes 510 or 800 ns on a busy machine, and the median of some batches is either. So its
/// cost lies between the quartiles, and the account allows for both.
fn of_both(library: Option<&Samples>, call: Option<&Samples>) -> Cost {
    let between = |samples: &Samples| {
        let (fast, slow) = (samples.quantile(0.25)?, samples.quantile(0.75)?);
        (fast > 0.0).then(|| ((fast * slow).sqrt(), slow / fast))
    };
    let of_call = call.and_then(between);
    let cost = Cost {
        library_ns: library.and_then(Samples::median),
        syscall_ns: of_call.map(|(ns, _)| ns).or(call.and_then(Samples::median)),
        unevenness: of_call.map_or(0.0, |(_, ratio)| ratio),
    };
    match library.and_then(between) {
        Some((ns, ratio)) if cost.in_user_space() == Some(false) => {
            Cost { library_ns: Some(ns), unevenness: cost.unevenness.max(ratio), ..cost }
        }
        _ => cost,
    }
}

/// The vDSO reads its fine clocks by one function (`do_hres`, `lib/vdso/gettimeofday.c`, since 5.3; before, one for
/// each, alike): small differences are random, and get the median.
fn level(clocks: &mut [(ClockId, Cost)]) {
    let fine = |clock: ClockId, cost: &Cost| {
        !clock.is_coarse() && !clock.is_cpu_time() && cost.in_user_space() == Some(true)
    };
    let mut costs: Vec<f64> = clocks
        .iter()
        .filter(|(clock, cost)| fine(*clock, cost))
        .filter_map(|(_, cost)| cost.library_ns)
        .collect();
    costs.sort_by(f64::total_cmp);
    let Some(middle) = costs.get(costs.len() / 2).copied() else { return };
    for (clock, cost) in clocks {
        if fine(*clock, cost)
            && let Some(ns) = &mut cost.library_ns
            && (*ns - middle).abs() < ALIKE * middle
        {
            *ns = middle;
        }
    }
}

const FINE: &str = "clock_gettime fine";
const COARSE: &str = "clock_gettime coarse";
const DAY: &str = "gettimeofday";
const TIME: &str = "time";

/// Returns the functions of this process's vDSO, each with the clock that it is to read.
fn direct() -> Vec<(&'static str, Option<ClockId>, Function)> {
    let text = crate::watched::guard::text("/proc/self/maps", u64::MAX).unwrap_or_default();
    let maps = crate::watched::maps::parse(&text);
    let begin = maps.iter().find(|mapping| mapping.name == "[vdso]").map(|m| m.range.start);
    let image = crate::watched::vdso::own_image();
    let exports = image.as_deref().and_then(|image| vdso_elf::exports(image).ok());
    let function = |name| {
        let offset = vdso_elf::function(exports.as_deref()?, name)?;
        let address = usize::try_from(begin?.checked_add(offset)?).ok()?;
        // SAFETY: the address of a function that the vDSO exports by this name, whose arguments are at most two words.
        Some(unsafe { std::mem::transmute::<usize, Function>(address) })
    };
    let all = [
        (FINE, Some(ClockId::MONOTONIC), "clock_gettime"),
        (COARSE, Some(ClockId::MONOTONIC_COARSE), "clock_gettime"),
        (DAY, None, "gettimeofday"),
        (TIME, None, "time"),
    ];
    all.into_iter().filter_map(|(name, clock, of)| Some((name, clock, function(of)?))).collect()
}

/// The length of a tick: the resolution of the clocks that move with it.
fn tick() -> Option<f64> {
    let mut step = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live, exclusively borrowed value of the right type.
    let result = unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &raw mut step) };
    (result == 0 && step.tv_nsec > 0).then_some(step.tv_nsec as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn level_gives_fine_clocks_of_the_vdso_one_cost() {
        let cost = |library, call| Cost {
            library_ns: Some(library),
            syscall_ns: Some(call),
            ..Cost::default()
        };
        let mut clocks = [
            (ClockId::MONOTONIC, cost(20.0, 200.0)),
            (ClockId::REALTIME, cost(22.0, 200.0)),
            (ClockId::BOOTTIME, cost(21.0, 200.0)),
            // By system call, as before 5.3; coarse; of CPU time.
            (ClockId::MONOTONIC_RAW, cost(210.0, 200.0)),
            (ClockId::MONOTONIC_COARSE, cost(6.0, 200.0)),
            (ClockId::THREAD_CPUTIME, cost(300.0, 290.0)),
        ];
        level(&mut clocks);
        let costs: Vec<_> = clocks.iter().filter_map(|(_, cost)| cost.library_ns).collect();
        assert_eq!(costs, [21.0, 21.0, 21.0, 210.0, 6.0, 300.0]);
    }

    #[test]
    fn counted_holds_what_samples_find_of_a_plain_read() {
        let costs = Costs { counter_ns: Some(9.9), ..Costs::default() };
        let (plain, ordered) = (costs.counted(Api::Rdtsc).unwrap(), costs.counted(Api::Rdtscp));
        for found in [5.2, 5.9, 9.9, 11.0] {
            assert!(plain.low < found && found < plain.high, "{found}: {plain:?}");
        }
        assert!(plain.low < plain.ns && plain.ns < plain.high);
        assert!(ordered.unwrap().high > 20.0 && Costs::default().counted(Api::Rdtsc).is_none());
    }

    #[test]
    fn counted_beside_other_work_may_be_more_reads_than_their_time_shows() {
        let costs = Costs { counter_ns: Some(10.0), ..Costs::default() };
        let of = |api, part| costs.counted_beside(api, part).unwrap();
        let alone = of(Api::Rdtsc, 0.9);
        assert_eq!(Some(alone), costs.counted(Api::Rdtsc));
        // If they take a tenth of the time, ten times as many would fill it.
        let (some, few) = (of(Api::Rdtsc, 0.1), of(Api::Rdtsc, 0.001));
        assert!((some.low - 1.0).abs() < 1e-9 && (few.low - 0.5).abs() < 1e-9, "{some:?} {few:?}");
        assert_eq!((some.ns, few.high), (alone.ns, alone.high));
        // One that waits for all instructions before it takes its time.
        assert_eq!(Some(of(Api::Rdtscp, 0.001)), costs.counted(Api::Rdtscp));
    }

    #[test]
    fn of_both_allows_for_fast_and_slow_system_calls() {
        let samples = |ns: &[f64]| Samples { ns: ns.to_vec(), ..Samples::default() };
        // Whether most of the batches were fast or slow is random.
        let mostly_fast = samples(&[510.0, 512.0, 515.0, 520.0, 800.0, 810.0]);
        let mostly_slow = samples(&[508.0, 512.0, 790.0, 800.0, 803.0, 810.0]);
        let cost = of_both(Some(&mostly_fast), Some(&mostly_slow));
        let inside = |ns: Option<f64>| ns.is_some_and(|ns| (600.0..680.0).contains(&ns));
        assert!(inside(cost.library_ns) && inside(cost.syscall_ns), "{cost:?}");
        assert!((1.5..1.6).contains(&cost.unevenness), "{cost:?}");
        // A read in user space is not one of these.
        let fine = samples(&[21.0, 22.0, 22.0, 22.0, 30.0, 90.0]);
        let cost = of_both(Some(&fine), Some(&mostly_slow));
        assert_eq!((cost.library_ns, cost.in_user_space()), (Some(22.0), Some(true)));
        assert_eq!(of_both(None, None), Cost::default());
    }
}
