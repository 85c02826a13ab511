//! The whole that each row is a part of, and the shares and rates of a sum of cells in it. Pure.

use super::estimate::Estimate;
use super::sum::Sum;
use crate::recording::Recording;

/// All CPU time, all reads and the wall time of a recording.
pub(super) struct Whole {
    /// CPU seconds.
    pub(super) cpu: f64,
    /// Samples.
    pub(super) samples: f64,
    /// Seconds of wall time.
    pub(super) wall: f64,
    /// All reads.
    pub(super) reads: Sum,
}

impl Whole {
    /// The whole of a recording whose reads are these.
    pub(super) fn of(recording: &Recording, reads: Sum) -> Self {
        Self {
            cpu: recording.all.ns as f64 * 1e-9,
            samples: recording.all.samples as f64,
            wall: recording.seconds.max(1e-9),
            reads,
        }
    }

    /// The share of all reads, 0 to 1; `split` if hits divided the samples of a place among clocks.
    fn share_of_reads(&self, sum: &Sum, split: bool) -> Option<Estimate> {
        let (part, whole) = (sum.calls()?, self.reads.calls().filter(|calls| calls.value > 0.0)?);
        let value = part.value / whole.value;
        // What no sample met is as uncertain as the number of its calls.
        let share = match sum.samples > 0.0 {
            true => sum.share(value, self.reads.samples, split),
            false => Estimate { value, low: value, high: value },
        };
        let (down, up) = part.beside(whole.minus(part));
        Some(share.widened(down, up).within_one())
    }

    /// Reads in a second of wall time.
    pub(super) fn per_second(&self, sum: &Sum, split: bool) -> Option<Estimate> {
        let calls = sum.calls()?;
        let (down, up) = calls.relative();
        Some(sum.number(calls.value / self.wall, self.samples, split).widened(down, up))
    }

    /// The share of the CPU time, 0 to 1.
    pub(super) fn cpu_share(&self, sum: &Sum, split: bool) -> Estimate {
        let value = if self.cpu > 0.0 { sum.seconds / self.cpu } else { 0.0 };
        let share = sum.share(value, self.samples, split);
        let samples = sum.samples.max(1e-9);
        let (down, up) = if split { sum.uneven } else { (0.0, 0.0) };
        share.widened(down / samples, up / samples).within_one()
    }
}

/// The shares and the rate of a sum of cells.
pub(super) struct Figures {
    pub(super) share_of_reads: Option<Estimate>,
    pub(super) cpu_share: Estimate,
    pub(super) per_second: Option<Estimate>,
}

impl Whole {
    /// The figures of a sum; the reads of `also` may be of it, so the upper bounds grow by theirs.
    pub(super) fn figures(&self, sum: &Sum, also: Option<&Sum>, split: bool) -> Figures {
        let share = |sum: &Sum| self.share_of_reads(sum, split);
        let rate = |sum: &Sum| self.per_second(sum, split);
        let cpu_share = |sum: &Sum| self.cpu_share(sum, split);
        Figures {
            share_of_reads: or_also(share(sum), also.and_then(share)).map(Estimate::within_one),
            cpu_share: or_also(Some(cpu_share(sum)), also.map(cpu_share))
                .unwrap_or_default()
                .within_one(),
            per_second: or_also(rate(sum), also.and_then(rate)),
        }
    }
}

/// An estimate whose reads may also be a part of these: the upper bound grows by theirs.
fn or_also(row: Option<Estimate>, more: Option<Estimate>) -> Option<Estimate> {
    row.map(|row| Estimate { high: row.high + more.map_or(0.0, |more| more.high), ..row })
}
