//! Traditional hand-written loops, with their counts, so that old figures can be compared with this machine.

use super::row::{ClockId, Row, Via, What};
use super::shape::{Loops, Shape};
use super::together;
use super::vdso::Vdso;
use crate::{pin, reads};
use std::io;
use std::time::{Duration, Instant};

/// The loop of a known benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// Four clock ids, 20 million reads each, by the CPU time of the process.
    ClockIds,
    /// `gettimeofday` 100 million times, by elapsed time.
    Gettimeofday,
    /// `CLOCK_MONOTONIC` 500 million times on one CPU, under `time`.
    ClockTiming,
    /// `gettimeofday` and `clock_gettime` in several threads, 100 million times each.
    Threads,
}

impl Preset {
    /// All of them.
    pub const ALL: [Self; 4] =
        [Self::ClockIds, Self::Gettimeofday, Self::ClockTiming, Self::Threads];

    /// Its short name.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::ClockIds => "P1",
            Self::Gettimeofday => "P2",
            Self::ClockTiming => "P3",
            Self::Threads => "P4",
        }
    }

    /// Its long name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ClockIds => "clock-ids",
            Self::Gettimeofday => "gettimeofday",
            Self::ClockTiming => "clock-timing",
            Self::Threads => "threads",
        }
    }

    /// Finds a loop by one of its names, in any case.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|p| name.eq_ignore_ascii_case(p.code()) || name.eq_ignore_ascii_case(p.name()))
    }

    /// Reads in each loop of the original.
    #[must_use]
    pub fn original_count(self) -> u64 {
        match self {
            Self::ClockIds => 20_000_000,
            Self::Gettimeofday | Self::Threads => 100_000_000,
            Self::ClockTiming => 500_000_000,
        }
    }

    /// The reads of its loops.
    #[must_use]
    pub fn rows(self) -> Vec<Row> {
        let gettimeofday = Row { what: What::Gettimeofday, via: Via::Libc };
        let clock = |id| Row::clock(id, Via::Libc);
        match self {
            Self::ClockIds => [
                ClockId::Realtime,
                ClockId::RealtimeCoarse,
                ClockId::Monotonic,
                ClockId::MonotonicCoarse,
            ]
            .map(clock)
            .to_vec(),
            Self::Gettimeofday => vec![gettimeofday],
            Self::ClockTiming => vec![clock(ClockId::Monotonic)],
            Self::Threads => vec![gettimeofday, clock(ClockId::Realtime)],
        }
    }
}

/// One loop that ran.
#[derive(Clone, Debug, PartialEq)]
pub struct Timed {
    /// The read that was timed.
    pub row: Row,
    /// The thread, from 0.
    pub thread: usize,
    /// Reads.
    pub count: u64,
    /// Elapsed time.
    pub real: Duration,
    /// CPU time of the thread in user space.
    pub user: Duration,
    /// CPU time of the thread in the kernel.
    pub system: Duration,
    /// Whether it ran to its end.
    pub complete: bool,
}

impl Timed {
    /// CPU time of the thread.
    #[must_use]
    pub fn cpu(&self) -> Duration {
        self.user + self.system
    }
}

/// Reads between two checks whether to continue.
const CHUNK: u32 = 1_000_000;
/// The time of a loop if the number of reads is not set.
const SECONDS: f64 = 0.7;
/// Reads from which the cost of one is guessed.
const TRIAL: u32 = 20_000;

/// Runs the loops of a preset: `count` reads each, or as many as fit into less than a second (never
/// more than the original), in `threads` threads where it has several, on `cpu` where it is bound.
///
/// # Errors
/// Returns an error if not all threads could be started.
pub fn run(
    preset: Preset,
    count: Option<u64>,
    threads: usize,
    cpu: Option<u32>,
    go_on: &(dyn Fn() -> bool + Sync),
) -> io::Result<Vec<Timed>> {
    let vdso = Vdso::find();
    let threads = if preset == Preset::Threads { threads.max(1) } else { 1 };
    let bound = preset == Preset::ClockTiming;
    let mut out = Vec::new();
    for row in preset.rows() {
        if !go_on() {
            break;
        }
        let count = count.unwrap_or_else(|| fitting(row, &vdso).min(preset.original_count()));
        let timed = together::run(threads, |thread, start| {
            if bound {
                // Where binding is refused the thread runs unbound, and its figures state that.
                let _ = cpu.map_or_else(pin::here, pin::to);
            }
            start.wait().then(|| one(row, thread, count, &vdso, go_on)).flatten()
        })?;
        out.extend(timed.into_iter().flatten());
    }
    Ok(out)
}

fn fitting(row: Row, vdso: &Vdso) -> u64 {
    let Ok(loops) = Loops::of(row, vdso) else { return 0 };
    let begun = Instant::now();
    loops.run(Shape::Throughput, TRIAL);
    let each = begun.elapsed().as_secs_f64() / f64::from(TRIAL);
    // Saturates; a round number reads better.
    let fitting = (SECONDS / each.max(1e-10)) as u64;
    let unit = 10u64.pow(fitting.max(1).ilog10());
    (fitting / unit).max(1) * unit
}

fn one(
    row: Row,
    thread: usize,
    count: u64,
    vdso: &Vdso,
    go_on: &(dyn Fn() -> bool + Sync),
) -> Option<Timed> {
    let loops = Loops::of(row, vdso).ok()?;
    let (user, system) = reads::cpu_time()?;
    let begun = Instant::now();
    let mut done = 0;
    while done < count && go_on() {
        let next = u32::try_from(count - done).unwrap_or(CHUNK).min(CHUNK);
        loops.run(Shape::Throughput, next);
        done += u64::from(next);
    }
    let real = begun.elapsed();
    let (user_after, system_after) = reads::cpu_time()?;
    Some(Timed {
        row,
        thread,
        count: done,
        real,
        user: user_after.saturating_sub(user),
        system: system_after.saturating_sub(system),
        complete: done == count,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn names() {
        for preset in Preset::ALL {
            assert_eq!(Preset::parse(preset.name()), Some(preset));
            assert_eq!(Preset::parse(&preset.code().to_lowercase()), Some(preset));
        }
        assert_eq!(Preset::parse("P5"), None);
    }

    #[test]
    fn counts_and_threads_are_kept() {
        let timed = run(Preset::Threads, Some(3_000), 3, None, &|| true).unwrap();
        assert_eq!(timed.len(), 6);
        assert!(timed.iter().all(|t| t.count == 3_000 && t.complete && !t.real.is_zero()));
        let timed = run(Preset::ClockIds, Some(1_000), 3, None, &|| true).unwrap();
        assert_eq!(timed.iter().map(|t| t.row).collect::<Vec<_>>(), Preset::ClockIds.rows());
    }

    #[test]
    fn a_long_loop_can_be_stopped() {
        let asked = AtomicU32::new(0);
        let go_on = || asked.fetch_add(1, Ordering::Relaxed) < 3;
        let timed = run(Preset::ClockTiming, Some(u64::MAX), 1, None, &go_on).unwrap();
        assert!(!timed[0].complete && timed[0].count == 2 * u64::from(CHUNK));
    }

    #[test]
    fn a_count_that_fits_is_round_and_not_zero() {
        let count = fitting(Row::clock(ClockId::Monotonic, Via::Libc), &Vdso::find());
        assert!(count >= 1000 && count.to_string().trim_end_matches('0').len() == 1);
    }
}
