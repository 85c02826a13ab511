//! The clocks, each as nanoseconds from some origin.

use anyhow::{Context, Result, bail};
use clocksmith::Source;
use clocksmith_clock_bench::bracket::{self, Offset};
use clocksmith_clock_bench::system::vdso_ns;
use fast_clock::tsc::Tsc;
use fast_clock::wrapping_u64::{U64Calibration, WrappingU64Time};
use fast_clock::{Clock as _, DurationCalibration as _, Time as _};
use std::time::{Duration, Instant};

/// A clock that can be compared with the kernel's.
pub(crate) struct Clock {
    pub(crate) name: &'static str,
    /// Compares the two clocks, in this number of brackets.
    pub(crate) offset: Box<dyn Fn(usize) -> Offset>,
}

impl Clock {
    fn new(name: &'static str, read: impl Fn() -> u64 + 'static) -> Self {
        Self { name, offset: Box::new(move |brackets| bracket::offset(brackets, &read)) }
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    duration.as_nanos() as u64
}

/// The clocks that a process measures: this library uses only one source at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Set {
    /// This library by the kernel's page, and the other clocks.
    Page,
    /// This library with its own line.
    Line,
}

pub(crate) const BY_PAGE: &str = "clocksmith vvar";
pub(crate) const BY_LINE: &str = "clocksmith line";

/// Those clocks.
pub(crate) fn of(set: Set) -> Result<Vec<Clock>> {
    match set {
        Set::Line => {
            clocksmith::restrict(Source::Disciplined);
            Ok(vec![Clock::new(BY_LINE, clocksmith::monotonic_ns)])
        }
        Set::Page => {
            let source = clocksmith::source();
            if source != Source::Vvar {
                bail!("the kernel's page does not serve here: {source}");
            }
            let mut clocks = vec![
                Clock::new("vDSO (control)", vdso_ns),
                Clock::new(BY_PAGE, clocksmith::monotonic_ns),
                Clock::new("clocksmith ordered", clocksmith::monotonic_ordered_ns),
            ];
            clocks.extend(others()?);
            Ok(clocks)
        }
    }
}

fn others() -> Result<Vec<Clock>> {
    let std = Instant::now();
    let quanta = quanta::Instant::now();
    let minstant = minstant::Instant::now();
    let fastant = fastant::Instant::now();
    // As its documentation recommends.
    let tsc = Tsc::try_new_assume_stable().ok().context("no TSC")?;
    let (calibration, _) = U64Calibration::new_with_std_instant(&tsc, Duration::from_millis(100));
    let first = tsc.now();
    let coarse = coarsetime::Instant::now();
    Ok(vec![
        Clock::new("std", move || nanoseconds(std.elapsed())),
        Clock::new("quanta", move || nanoseconds(quanta.elapsed())),
        Clock::new("minstant", move || nanoseconds(minstant.elapsed())),
        Clock::new("fastant", move || nanoseconds(fastant.elapsed())),
        Clock::new("fast-clock", move || {
            calibration.convert_to_ns(WrappingU64Time::instant_sub(tsc.now(), first))
        }),
        Clock::new("coarsetime", move || coarse.elapsed().as_nanos()),
    ])
}
