//! The longest time that a step or a command may take: one that hangs is ended.
//!
//! A budget is judged when a step has ended; see [`crate::load`].

use crate::load::{Mark, Spent};

/// How often its budget a step may take before it is ended.
const TIMES: u64 = 3;
/// Seconds that every step may take.
const LEAST: u64 = 600;
/// How much longer than its limit something may take by the clock, where others have the machine or it is slow.
const BUSIEST: f64 = 4.0;

/// Whether a command or a step took longer than its limit would be on a quiet machine, which is in seconds of two quiet processors
/// like those of the budget.
pub(crate) fn is_over(spent: Spent, slowness: f64, seconds: f64) -> bool {
    spent.quiet(slowness) >= seconds || spent.wall >= BUSIEST * seconds
}

/// Returns the limit of a step with this budget, in seconds.
pub(crate) fn seconds(budget: u64) -> u64 {
    budget.saturating_mul(TIMES).max(LEAST)
}

/// The rule, in words.
pub(crate) fn rule() -> String {
    let least = LEAST / 60;
    format!(
        "{TIMES} times its budget, at least {least} minutes; by the clock at most {BUSIEST} times that"
    )
}

/// The limit of the step that runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StepLimit {
    name: &'static str,
    mark: Mark,
    seconds: u64,
    slowness: f64,
}

impl StepLimit {
    /// Begins now.
    pub(crate) fn new(name: &'static str, budget: u64, slowness: f64) -> StepLimit {
        StepLimit { name, mark: Mark::now(), seconds: seconds(budget), slowness }
    }

    /// The same limit for another try.
    pub(crate) fn again(self) -> StepLimit {
        StepLimit { mark: Mark::now(), ..self }
    }

    /// The limit with seconds beyond the budget that the user requested.
    pub(crate) fn with(self, asked: u64) -> StepLimit {
        StepLimit { seconds: self.seconds.saturating_add(asked.saturating_mul(TIMES)), ..self }
    }

    fn is_over(self, spent: Spent) -> bool {
        is_over(spent, self.slowness, self.seconds as f64)
    }

    /// Why the process group of the step is ended now, if it is.
    pub(crate) fn over(self, group: u32) -> Option<String> {
        self.is_over(self.mark.spent_with(group)).then(|| {
            format!(
                "took too long and was ended: the step {} may take {} s ({})",
                self.name,
                self.seconds,
                rule()
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limit_of_every_step_exceeds_its_budget() {
        for step in crate::steps::STEPS {
            assert!(seconds(step.budget) >= LEAST.max(TIMES * step.budget), "{}", step.name);
        }
        assert_eq!(seconds(20), 600);
        assert_eq!(seconds(1500), 4500);
        assert_eq!(seconds(u64::MAX), u64::MAX);
    }

    #[test]
    fn limit_of_a_command_and_of_a_step_grows_with_the_load_up_to_four_times() {
        let spent = |wall, share| Spent { wall, cpu: 0.0, share };
        for (wall, share, slowness, over) in [
            (899.0, 1.0, 1.0, false),
            (901.0, 1.0, 1.0, true),
            (1700.0, 0.5, 1.0, false),
            (1700.0, 1.0, 2.0, false),
            (3599.0, 0.05, 4.0, false),
            (3601.0, 0.05, 4.0, true),
        ] {
            let spent = spent(wall, share);
            assert_eq!(is_over(spent, slowness, 900.0), over, "{spent:?}");
            // Three times its budget.
            assert_eq!(StepLimit::new("tree", 300, slowness).is_over(spent), over, "{spent:?}");
        }
    }

    #[test]
    fn over_names_the_step_and_its_limit() {
        let limit = StepLimit::new("tree", 30, 1.0);
        assert_eq!(limit.over(std::process::id()), None);
        let over = StepLimit { seconds: 0, ..limit }.over(std::process::id()).unwrap();
        assert!(over.contains("the step tree may take 0 s (3 times its budget"), "{over}");
        assert_eq!(limit.with(100).seconds, 900);
    }
}
