//! One thread against two at once: whether reads disturb each other.

use anyhow::Result;
use clocksmith_clock_bench::report::median;
use clocksmith_clock_bench::system::{counter, pin, two_processors, vdso_ns};
use serde::Serialize;
use std::hint::black_box;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

const CALLS: u32 = 2_000;

/// Nanoseconds per read, back to back.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Pair {
    pub(crate) name: &'static str,
    pub(crate) one: f64,
    pub(crate) two: f64,
}

/// Measures some clocks in this way; empty if there is only one processor.
pub(crate) fn measure(rounds: u32) -> Result<Vec<Pair>> {
    let (first, second) = two_processors()?;
    if first == second {
        return Ok(Vec::new());
    }
    Ok(vec![
        pair("rdtsc", second, rounds, counter)?,
        pair("vDSO MONOTONIC", second, rounds, vdso_ns)?,
        pair("std Instant::now", second, rounds, Instant::now)?,
        pair("clocksmith monotonic", second, rounds, clocksmith::monotonic_ns)?,
        pair("clocksmith monotonic ordered", second, rounds, clocksmith::monotonic_ordered_ns)?,
        pair("clocksmith monotonic coarse", second, rounds, clocksmith::monotonic_coarse_ns)?,
        pair("quanta now", second, rounds, quanta::Instant::now)?,
        pair("coarsetime now", second, rounds, coarsetime::Instant::now)?,
    ])
}

const IDLE: u32 = 0;
const BUSY: u32 = 1;
const END: u32 = 2;

fn pair<R>(
    name: &'static str,
    other: usize,
    rounds: u32,
    read: impl Fn() -> R + Copy + Sync,
) -> Result<Pair> {
    let (wanted, is) = (AtomicU32::new(IDLE), AtomicU32::new(END));
    let (mut ones, mut twos) = (Vec::new(), Vec::new());
    std::thread::scope(|scope| {
        let helper = scope.spawn(|| {
            let pinned = pin(other);
            loop {
                let now = wanted.load(Ordering::Relaxed);
                is.store(now, Ordering::Relaxed);
                match now {
                    BUSY => batch(read),
                    // Asleep: a pause would keep the other half of the core busy, if it is one.
                    IDLE => std::thread::sleep(Duration::from_micros(50)),
                    _ => return pinned,
                }
            }
        });
        for _ in 0..rounds {
            for (state, batches) in [(IDLE, &mut ones), (BUSY, &mut twos)] {
                wanted.store(state, Ordering::Relaxed);
                while is.load(Ordering::Relaxed) != state && !helper.is_finished() {
                    std::thread::sleep(Duration::from_micros(20));
                }
                batch(read);
                for _ in 0..4 {
                    let begun = Instant::now();
                    batch(read);
                    batches.push(begun.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS));
                }
            }
        }
        wanted.store(END, Ordering::Relaxed);
        helper.join().unwrap_or_else(|_| Err(anyhow::anyhow!("the other thread ended early")))
    })?;
    Ok(Pair { name, one: median(&ones), two: median(&twos) })
}

#[inline(always)]
fn batch<R>(read: impl Fn() -> R) {
    for _ in 0..CALLS {
        black_box(read());
    }
}
