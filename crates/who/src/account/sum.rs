//! Sums of cells, with their intervals. Pure.

use super::calls::Calls;
use super::cells::Cell;
use super::estimate::Estimate;
use std::collections::BTreeMap;

/// Sums of cells.
#[derive(Clone, Debug, Default)]
pub(super) struct Sum {
    pub(super) samples: f64,
    pub(super) seconds: f64,
    pub(super) calls: Option<Calls>,
    /// Calls, each times its cost in nanoseconds.
    pub(super) spent: f64,
    unknown: bool,
    pub(super) saving: Option<f64>,
    /// Samples less and more, by the hits that split them.
    splits: BTreeMap<usize, (f64, f64)>,
    /// The same, because reads of several clocks at one place cost differently.
    pub(super) uneven: (f64, f64),
}

impl Sum {
    pub(super) fn add(&mut self, cell: &Cell, saving: Option<f64>) {
        self.samples += cell.samples;
        self.seconds += cell.seconds;
        match cell.calls {
            Some(calls) => {
                self.calls = Some(self.calls.unwrap_or_default().plus(calls));
                self.spent += calls.value * cell.ns.unwrap_or(0.0);
            }
            None => self.unknown = true,
        }
        if let Some(saving) = saving {
            self.saving = Some(self.saving.unwrap_or(0.0) + saving);
        }
        // Splits by the same hits are wrong together, others independently.
        for (hits, down, up) in &cell.splits {
            let known = self.splits.entry(*hits).or_default();
            *known = (known.0 + down, known.1 + up);
        }
        self.uneven = (self.uneven.0 + cell.uneven.0, self.uneven.1 + cell.uneven.1);
    }

    pub(super) fn calls(&self) -> Option<Calls> {
        self.calls.filter(|_| !self.unknown)
    }

    /// The uncertainty of the split by hits, relative to the samples: down and up.
    fn split(&self) -> (f64, f64) {
        let (down, up) = self.splits.values().fold((0.0f64, 0.0f64), |(down, up), (less, more)| {
            (down.hypot(*less), up.hypot(*more))
        });
        let samples = self.samples.max(1e-9);
        (down / samples, up / samples)
    }

    /// The interval that `samples` of `all` allow, around a share.
    pub(super) fn share(&self, value: f64, all: f64, split: bool) -> Estimate {
        let (down, up) = if split { self.split() } else { (0.0, 0.0) };
        Estimate::share(self.samples, all).as_share(value).widened(down, up).within_one()
    }

    /// The same around a number.
    pub(super) fn number(&self, value: f64, all: f64, split: bool) -> Estimate {
        let (down, up) = if split { self.split() } else { (0.0, 0.0) };
        let share = Estimate::share(self.samples, all);
        let factor = if share.value > 0.0 { value / share.value } else { 0.0 };
        let scaled = share.scaled(factor);
        // The same number as in the separate figure, to the last digit.
        let (low, high) = (scaled.low.min(value), scaled.high.max(value));
        Estimate { value, low, high }.widened(down, up)
    }
}
