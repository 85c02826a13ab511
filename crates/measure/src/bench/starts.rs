//! One start of a program: the costs of every row in a separate process.
//!
//! Two processes on an unchanged machine differ by more than the batches of one show: by the addresses of code and
//! stack, and by other activity of the machine. So runs are compared by starts. A start keeps the lower quartile of its
//! batches: a disturbance of a batch only ever adds to it.

use super::row::Row;
use super::shape::{Loops, Shape};
use super::stats::{Estimate, median};
use super::vdso::Vdso;
use crate::pin;
use crate::sampler::{Sampled, Sampler, Samples, Subject};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The share of batches below the figure that a start keeps.
pub const QUANTILE: f64 = 0.25;
/// How long a start of all rows measures.
pub const EACH: Duration = Duration::from_millis(250);

/// The measurement of one process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Start {
    /// One turn of a loop of additions, which reads no clock, in nanoseconds: the control of the processor's speed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_ns: Option<f64>,
    /// Throughput of the rows that could be measured.
    pub rows: Vec<StartRow>,
}

/// One row of a start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StartRow {
    /// `CLOCK_MONOTONIC/libc` and so on.
    pub name: String,
    /// The lower quartile of the batches, in nanoseconds a read, without the loop.
    pub ns: f64,
    /// The median, in nanoseconds a read, without the loop.
    pub median_ns: f64,
}

impl Start {
    /// The row of that name.
    #[must_use]
    pub fn row(&self, name: &str) -> Option<&StartRow> {
        self.rows.iter().find(|row| row.name == name)
    }

    /// An earlier run that kept no starts: its medians, as one start.
    #[must_use]
    pub fn of_medians(rows: &[(String, Estimate)], work: Option<Estimate>) -> Self {
        let row = |(name, cost): &(String, Estimate)| StartRow {
            name: name.clone(),
            ns: cost.ns,
            median_ns: cost.ns,
        };
        Self { work_ns: work.map(|work| work.ns), rows: rows.iter().map(row).collect() }
    }
}

/// Measures the rows for this long, bound to a CPU if one is named. Runs in a separate process, because a binding
/// stays. `burden` is a number of percent by which every row but the counter's does more than it counts: a known
/// change, for tests.
///
/// # Errors
/// Returns the reason if the thread cannot be bound.
pub fn one(rows: &[Row], cpu: Option<u32>, budget: Duration, burden: u32) -> Result<Start, String> {
    if let Some(cpu) = cpu {
        pin::to(cpu)?;
    }
    let vdso = Vdso::find();
    let loops: Vec<(String, Loops)> =
        rows.iter().filter_map(|row| Some((row.name(), Loops::of(*row, &vdso).ok()?))).collect();
    let empty = Loops::empty();
    let looping = |loops, shape| Subject::looping("", move |times| Loops::run(loops, shape, times));
    let mut subjects = vec![looping(&empty, Shape::Throughput), looping(&empty, Shape::InWork)];
    for (name, loops) in &loops {
        let burden = if name.ends_with("/counter") { 0 } else { u64::from(burden) };
        subjects.push(Subject::looping("", move |times| {
            let more = u64::from(times) * burden / 100;
            loops.run(Shape::Throughput, times.saturating_add(u32::try_from(more).unwrap_or(0)));
        }));
    }
    let sampled = Sampler { budget, ..Sampler::default() }.run(&mut subjects);
    Ok(of(&loops.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>(), &sampled))
}

/// The samples of the empty loop, of the additions, and of the rows, as a start.
fn of(names: &[String], sampled: &Sampled) -> Start {
    let Some(([empty, work], rows)) = sampled.samples.split_first_chunk::<2>() else {
        return Start::default();
    };
    let low = |samples: &Samples| samples.quantile(QUANTILE);
    let less = |figure: Option<f64>, empty: Option<f64>| Some((figure? - empty?).max(0.0));
    let row = |(name, samples): (&String, &Samples)| {
        let measured = samples.is_measured();
        Some(StartRow {
            name: name.clone(),
            ns: less(low(samples), low(empty)).filter(|_| measured)?,
            median_ns: less(samples.median(), empty.median())?,
        })
    };
    Start {
        work_ns: low(work).filter(|ns| *ns > 0.0 && work.is_measured()),
        rows: names.iter().zip(rows).filter_map(row).collect(),
    }
}

/// The figures of a row over starts, as one: the median, and the range.
#[must_use]
pub fn over(starts: &[Start], name: &str) -> Option<Estimate> {
    let figures: Vec<f64> =
        starts.iter().filter_map(|start| start.row(name).map(|row| row.ns)).collect();
    let ns = median(&figures)?;
    let low = figures.iter().copied().fold(ns, f64::min);
    Some(Estimate { ns, low, high: figures.iter().copied().fold(ns, f64::max) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::row::{ClockId, Instruction, Via};

    #[test]
    fn one_thread_has_every_row_that_can_be_read() {
        let rows = [
            Row::counter(Instruction::Plain),
            Row::clock(ClockId::Monotonic, Via::Libc),
            Row::clock(ClockId::Monotonic, Via::Syscall),
        ];
        let budget = Duration::from_millis(20);
        let start = std::thread::scope(|scope| {
            scope.spawn(|| one(&rows, None, budget, 0)).join().unwrap().unwrap()
        });
        assert!(start.rows.len() >= 2 && start.work_ns.is_some_and(|ns| ns > 0.0), "{start:?}");
        assert!(start.rows.iter().all(|row| row.ns.is_finite() && row.median_ns.is_finite()));
        assert!(one(&rows, Some(u32::MAX), budget, 0).is_err());
    }

    #[test]
    fn over_is_the_median_of_the_starts() {
        let start = |ns: f64| Start {
            work_ns: None,
            rows: vec![StartRow { name: "a".to_owned(), ns, median_ns: ns }],
        };
        let starts = [start(3.0), start(1.0), start(2.0)];
        assert_eq!(over(&starts, "a"), Some(Estimate { ns: 2.0, low: 1.0, high: 3.0 }));
        assert_eq!(over(&starts, "b"), None);
    }
}
