//! The work of a measurement, and the distribution of its time. Pure.

use super::row::Row;
use super::scaling;
use std::time::Duration;

/// The rows to measure, and for how long.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The rows.
    pub rows: Vec<Row>,
    /// The CPU to run on; `None` is the one that this runs on already.
    pub cpu: Option<u32>,
    /// Time for the costs of all rows together.
    pub costs: Duration,
    /// Time for each row's split of CPU time; zero for none.
    pub shares: Duration,
    /// Single calls of each row; 0 for none.
    pub singles: usize,
    /// The most time for each row's single calls.
    pub singles_limit: Duration,
    /// Numbers of threads to compare.
    pub threads: Vec<usize>,
    /// Time for each row with each number of threads.
    pub threads_each: Duration,
}

impl Plan {
    /// Everything, in about ten seconds.
    #[must_use]
    pub fn everything(threads: Vec<usize>) -> Self {
        Self {
            rows: Row::all(),
            cpu: None,
            costs: Duration::from_millis(5_000),
            shares: Duration::from_millis(40),
            singles: 100_000,
            singles_limit: Duration::from_millis(40),
            threads,
            threads_each: Duration::from_millis(60),
        }
    }

    /// Everything within this time: each part gets its share of it. Below two seconds the split of CPU time and
    /// several threads are left out; the rest shows the same rows.
    #[must_use]
    pub fn within(self, time: Duration) -> Self {
        let share = |part: f64| time.mul_f64(part);
        let rows = u32::try_from(self.rows.len()).unwrap_or(u32::MAX).max(1);
        if time < Duration::from_secs(2) {
            return Self {
                costs: share(0.5),
                shares: Duration::ZERO,
                singles: 2_000,
                singles_limit: share(0.12) / rows,
                threads: Vec::new(),
                threads_each: Duration::ZERO,
                ..self
            };
        }
        let runs = self.threads.len().max(1) * scaling::ROWS.len();
        let runs = u32::try_from(runs).unwrap_or(u32::MAX);
        let none = self.shares.is_zero();
        Self {
            costs: share(0.5),
            shares: if none { Duration::ZERO } else { share(0.2) / rows },
            singles_limit: share(0.12) / rows,
            threads_each: share(0.08) / runs,
            ..self
        }
    }

    /// A few rows, in about two seconds: for one of several clocksources.
    #[must_use]
    pub fn few() -> Self {
        Self {
            rows: Row::few(),
            costs: Duration::from_millis(1_200),
            threads: Vec::new(),
            ..Self::everything(Vec::new())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn within_shares_out_no_more_than_there_is() {
        for ms in [200, 1_150, 3_000, 20_000] {
            let time = Duration::from_millis(ms);
            let plan = Plan::everything(vec![1, 2]).within(time);
            let rows = u32::try_from(plan.rows.len()).unwrap();
            let runs = u32::try_from(plan.threads.len() * scaling::ROWS.len()).unwrap();
            let sum =
                plan.costs + (plan.shares + plan.singles_limit) * rows + plan.threads_each * runs;
            assert!(sum <= time, "{ms}: {plan:?}");
            assert!(plan.costs >= time / 3 && (ms < 2_000) == plan.threads.is_empty());
        }
    }
}
