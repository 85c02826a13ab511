//! The clocks.

use crate::cost::{Clocks, Cost};
use anyhow::{Context, Result, bail};
use clocksmith::Source;
use clocksmith_clock_bench::system::{
    counter, counter_ordered, counter_p, kernel_ns, syscall_ns, vdso_ns,
};
use clocksmith_measure::sampler::Sampler;
use fast_clock::Clock as _;
use std::time::{Duration, Instant};

pub(crate) const RDTSC: &str = "rdtsc";
pub(crate) const VDSO: &str = "vDSO MONOTONIC";
pub(crate) const VDSO_COARSE: &str = "vDSO MONOTONIC_COARSE";
pub(crate) const STD_ELAPSED: &str = "std elapsed";
pub(crate) const OURS: &str = "clocksmith monotonic";
pub(crate) const OURS_ORDERED: &str = "clocksmith monotonic ordered";
pub(crate) const OURS_COARSE: &str = "clocksmith monotonic coarse";
pub(crate) const OURS_ELAPSED: &str = "clocksmith elapsed";

/// All clocks, this library by the kernel's page.
pub(crate) fn by_page(sampler: &Sampler) -> Result<Vec<Cost>> {
    let mut clocks = Clocks::default();
    common(&mut clocks);
    clocks.add("lfence; rdtsc", counter_ordered);
    clocks.add("rdtscp", counter_p);
    clocks.add("vDSO MONOTONIC_RAW", || kernel_ns(libc::CLOCK_MONOTONIC_RAW));
    clocks.add(VDSO_COARSE, || kernel_ns(libc::CLOCK_MONOTONIC_COARSE));
    clocks.add("system call", syscall_ns);
    clocks.add("std Instant::now", Instant::now);
    let begun = Instant::now();
    clocks.add(STD_ELAPSED, move || begun.elapsed());
    clocks.add(OURS, clocksmith::monotonic_ns);
    clocks.add(OURS_ORDERED, clocksmith::monotonic_ordered_ns);
    clocks.add(OURS_COARSE, clocksmith::monotonic_coarse_ns);
    clocks.add("clocksmith realtime", clocksmith::realtime_ns);
    clocks.add("clocksmith monotonic raw", clocksmith::monotonic_raw_ns);
    let begun = clocksmith::FastInstant::now();
    clocks.add(OURS_ELAPSED, move || begun.elapsed());
    let begun = clocksmith::Instant::now();
    clocks.add("clocksmith elapsed ordered", move || begun.elapsed());
    others(&mut clocks)?;
    Ok(clocks.measure(sampler))
}

/// Measures this library with another source.
pub(crate) fn by(source: Source, name: &str, sampler: &Sampler) -> Result<Vec<Cost>> {
    clocksmith::restrict(source);
    let costs = settle(source).map(|()| {
        let mut clocks = Clocks::default();
        common(&mut clocks);
        clocks.add(&format!("clocksmith {name}"), clocksmith::monotonic_ns);
        let begun = clocksmith::FastInstant::now();
        clocks.add(&format!("clocksmith {name} elapsed"), move || begun.elapsed());
        clocks.measure(sampler)
    });
    clocksmith::restrict(Source::Vvar);
    // Finds the page again before the next measurement.
    let _ = clocksmith::source();
    costs
}

/// Waits until that source is in use: the library's own line begins after a few readings.
fn settle(source: Source) -> Result<()> {
    let begun = Instant::now();
    while clocksmith::source() != source {
        if begun.elapsed() > Duration::from_secs(2) {
            bail!("{source} does not serve here: {}", clocksmith::source());
        }
    }
    Ok(())
}

/// The clocks that everything is compared with.
fn common(clocks: &mut Clocks<'_>) {
    clocks.add(RDTSC, counter);
    clocks.add(VDSO, vdso_ns);
}

fn others(clocks: &mut Clocks<'_>) -> Result<()> {
    clocks.add("quanta now", quanta::Instant::now);
    let begun = quanta::Instant::now();
    clocks.add("quanta elapsed", move || begun.elapsed());
    quanta::set_recent(begun);
    clocks.add("quanta recent", quanta::Instant::recent);
    clocks.add("minstant now (ticks)", minstant::Instant::now);
    let begun = minstant::Instant::now();
    clocks.add("minstant elapsed", move || begun.elapsed());
    clocks.add("fastant now (ticks)", fastant::Instant::now);
    let begun = fastant::Instant::now();
    clocks.add("fastant elapsed", move || begun.elapsed());
    clocks.add("coarsetime now", coarsetime::Instant::now);
    coarsetime::Instant::update();
    clocks.add("coarsetime recent", coarsetime::Instant::recent);
    let tsc = fast_clock::tsc::Tsc::try_new_assume_stable().ok().context("no TSC")?;
    clocks.add("fast-clock now (ticks)", move || tsc.now());
    Ok(())
}
