//! The same reads in several threads at once: whether they slow each other down.

use super::row::{ClockId, Instruction, LibraryRead, Row, Via};
use super::run::{Stage, Watch};
use super::shape::{Loops, Shape};
use super::stats::Estimate;
use super::together::{self, Start};
use super::vdso::Vdso;
use crate::pin;
use std::io;
use std::time::{Duration, Instant};

/// The rows that are compared.
pub const ROWS: [Row; 5] = [
    Row::counter(Instruction::Plain),
    Row::library(LibraryRead::Monotonic),
    Row::clock(ClockId::Monotonic, Via::Libc),
    Row::clock(ClockId::MonotonicCoarse, Via::Libc),
    Row::clock(ClockId::Monotonic, Via::Syscall),
];

/// One row with one number of threads.
#[derive(Clone, Debug)]
pub struct Scaling {
    /// The row.
    pub row: Row,
    /// Number of threads.
    pub threads: usize,
    /// Throughput of one thread, in nanoseconds a read; the loop is included.
    pub cost: Option<Estimate>,
    /// Reads of all threads together in a second of wall time.
    pub reads_per_second: f64,
}

/// Length of a batch.
const BATCH: Duration = Duration::from_micros(20);

/// Measures the rows with this many threads, each bound to a separate CPU if there are enough. Also returns
/// whether it ran to the end.
///
/// # Errors
/// Returns an error if not all threads could be started.
pub(crate) fn scale(
    threads: usize,
    each: Duration,
    vdso: &Vdso,
    watch: &Watch<'_>,
) -> io::Result<(Vec<Scaling>, bool)> {
    let cpus = pin::allowed();
    let mut out = Vec::new();
    for (index, row) in ROWS.into_iter().enumerate() {
        let results = together::run(threads, |thread, start| {
            let cpu = cpus.get(thread % cpus.len().max(1)).copied();
            one(row, cpu, each, vdso, start)
        })?;
        out.push(merge(row, threads, each, &results));
        if !watch(Stage::Threads, (index + 1) as f64 / ROWS.len() as f64) {
            return Ok((out, false));
        }
    }
    Ok((out, true))
}

/// Measures one thread's batches: nanoseconds a read, and reads.
fn one(row: Row, cpu: Option<u32>, each: Duration, vdso: &Vdso, start: &Start) -> Vec<(f64, u64)> {
    // A thread that cannot be bound still measures.
    let _ = cpu.map(pin::to);
    let loops = Loops::of(row, vdso).ok();
    let time = |loops: &Loops, calls| {
        let begun = Instant::now();
        loops.run(Shape::Throughput, calls);
        begun.elapsed()
    };
    let mut calls = 64u32;
    if let Some(loops) = &loops {
        while calls < 1 << 20 && time(loops, calls) < BATCH {
            calls *= 2;
        }
    }
    // Every thread comes here, or the others would wait for ever.
    let together = start.wait();
    let Some(loops) = loops.filter(|_| together) else { return Vec::new() };
    let begun = Instant::now();
    let mut batches = Vec::new();
    while begun.elapsed() < each {
        let took = time(&loops, calls);
        batches.push((took.as_secs_f64() * 1e9 / f64::from(calls), u64::from(calls)));
    }
    batches
}

/// All threads' batches in the order of time, as far as that is known.
fn merge(row: Row, threads: usize, each: Duration, results: &[Vec<(f64, u64)>]) -> Scaling {
    let longest = results.iter().map(Vec::len).max().unwrap_or_default();
    let in_order: Vec<f64> = (0..longest)
        .flat_map(|index| results.iter().filter_map(move |batches| batches.get(index)))
        .map(|(ns, _)| *ns)
        .collect();
    let reads: u64 = results.iter().flatten().map(|(_, calls)| calls).sum();
    Scaling {
        row,
        threads,
        cost: Estimate::of(&in_order),
        reads_per_second: reads as f64 / each.as_secs_f64().max(1e-9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_merged_by_time() {
        let results = [vec![(1.0, 10), (3.0, 10)], vec![(2.0, 10)]];
        let merged = merge(ROWS[0], 2, Duration::from_secs(3), &results);
        assert_eq!(merged.cost.unwrap().ns, 2.0);
        assert!((merged.reads_per_second - 10.0).abs() < 1e-9);
        assert_eq!(merge(ROWS[0], 1, Duration::ZERO, &[]).cost, None);
    }

    #[test]
    fn more_threads_than_processors_end() {
        let (rows, complete) =
            scale(5, Duration::from_millis(1), &Vdso::find(), &|_, _| true).unwrap();
        assert!(complete && rows.len() == ROWS.len());
        assert!(rows.iter().all(|row| row.threads == 5));
        let (rows, complete) =
            scale(1, Duration::from_millis(1), &Vdso::find(), &|_, _| false).unwrap();
        assert!(!complete && rows.len() == 1);
    }
}
