//! What a read costs here and now, and what it would cost on a fast clock. An edge: reads clocks.

use crate::clock::{Api, ClockId};
use clocksmith_measure::sampler::{Sampler, Subject};
use serde::Serialize;
use std::time::Duration;

/// The cost of one way to read, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cost {
    /// Through the C library, which uses the vDSO where it can.
    pub library_ns: Option<f64>,
    /// By a system call.
    pub syscall_ns: Option<f64>,
}

/// Below this share of the system call's cost, a read through the library made none.
const CHEAPER: f64 = 0.6;

impl Cost {
    /// Whether the vDSO serves it in user space; `None` where the costs do not tell.
    #[must_use]
    pub fn in_user_space(self) -> Option<bool> {
        Some(self.library_ns? < CHEAPER * self.syscall_ns?)
    }
}

/// An ordered clock read as a multiple of a plain read of the counter: 20 to 24 ns against 10 ns on
/// processors of 2021 (AMD family 25, `rdtscp` and `lfence; rdtsc`).
const ORDERED: f64 = 2.4;

/// The costs of a machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Costs {
    /// Of `clock_gettime`, by clock.
    pub clocks: Vec<(ClockId, Cost)>,
    /// Of `gettimeofday`.
    pub gettimeofday: Cost,
    /// Of `time`.
    pub time: Cost,
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
    /// The cost of a function, for a clock if it takes one. Clocks that are not measured cost what the
    /// CPU clocks cost: they are all answered by system calls.
    #[must_use]
    pub fn of(&self, api: Api, clock: Option<ClockId>) -> Cost {
        match api {
            Api::Gettimeofday => self.gettimeofday,
            Api::Time => self.time,
            Api::Rdtsc | Api::Rdtscp => Cost { library_ns: self.counter_ns, syscall_ns: None },
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

/// Measures the costs within about `budget`, in a thread of its own.
#[must_use]
pub fn costs(budget: Duration) -> Costs {
    let measured = std::thread::Builder::new()
        .name("calibrate".to_owned())
        .spawn(move || measure(budget))
        .ok()
        .and_then(|thread| thread.join().ok());
    measured.unwrap_or_default()
}

fn measure(budget: Duration) -> Costs {
    let mut subjects: Vec<Subject<'_>> = Vec::new();
    for clock in ClockId::COMMON {
        let id = clock.0;
        if clock_gettime(id) {
            subjects.push(Subject::new(format!("library {id}"), move || clock_gettime(id)));
        }
        subjects.push(Subject::new(format!("call {id}"), move || {
            let mut time = [0 as libc::c_long; 2];
            syscall2(libc::SYS_clock_gettime, libc::c_long::from(id), &mut time)
        }));
    }
    subjects.push(Subject::new("library gettimeofday", || {
        let mut time = libc::timeval { tv_sec: 0, tv_usec: 0 };
        // SAFETY: the pointer is to a live, exclusively borrowed value of the right type.
        unsafe { libc::gettimeofday(&raw mut time, std::ptr::null_mut()) }
    }));
    // SAFETY: a null pointer is allowed.
    subjects.push(Subject::new("library time", || unsafe { libc::time(std::ptr::null_mut()) }));
    #[cfg(target_arch = "x86_64")]
    {
        subjects.push(Subject::new("call gettimeofday", || {
            let mut time = [0 as libc::c_long; 2];
            // SAFETY: the pointer is to two live, exclusively borrowed longs; the zone may be null.
            unsafe { libc::syscall(libc::SYS_gettimeofday, time.as_mut_ptr(), 0usize) }
        }));
        // SAFETY: a null pointer is allowed.
        subjects
            .push(Subject::new("call time", || unsafe { libc::syscall(libc::SYS_time, 0usize) }));
    }
    if clocksmith_measure::reads::counter_allowed().is_ok() {
        subjects.push(Subject::new("counter", clocksmith_raw::counter::read));
    }
    subjects.push(Subject::new("ordered", clocksmith::monotonic_ordered_ns));
    subjects.push(Subject::new("coarse", clocksmith::monotonic_coarse_ns));
    let sampled = Sampler { budget, ..Sampler::default() }.run(&mut subjects).samples;
    let cost = |name: &str| {
        let samples = sampled.iter().find(|samples| samples.name == name)?;
        samples.median().filter(|_| samples.is_measured())
    };
    let both = |name: &str| Cost {
        library_ns: cost(&format!("library {name}")),
        syscall_ns: cost(&format!("call {name}")),
    };
    let clocks = ClockId::COMMON.iter().map(|clock| (*clock, both(&clock.0.to_string()))).collect();
    let fast = clocksmith::source() <= clocksmith::Source::Vdso;
    let counter_ns = cost("counter");
    let fast_ns = cost("ordered").filter(|_| fast);
    Costs {
        clocks,
        gettimeofday: both("gettimeofday"),
        time: both("time"),
        counter_ns,
        fast_ns: fast_ns.or(counter_ns.map(|ns| ns * ORDERED)),
        fast_assumed: fast_ns.is_none() && counter_ns.is_some(),
        coarse_ns: cost("coarse"),
        tick_ns: tick(),
    }
}

fn clock_gettime(id: i32) -> bool {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live, exclusively borrowed value of the right type.
    unsafe { libc::clock_gettime(id, &raw mut time) == 0 }
}

fn syscall2(number: libc::c_long, argument: libc::c_long, time: &mut [libc::c_long; 2]) -> bool {
    // SAFETY: the call writes two longs to the pointer, which is to two live ones.
    unsafe { libc::syscall(number, argument, time.as_mut_ptr()) == 0 }
}

/// The length of a tick: the resolution of the clocks that move with it.
fn tick() -> Option<f64> {
    let mut step = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live, exclusively borrowed value of the right type.
    let result = unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &raw mut step) };
    (result == 0 && step.tv_nsec > 0).then_some(step.tv_nsec as f64)
}
