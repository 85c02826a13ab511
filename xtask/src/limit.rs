//! The longest time that a step may take: one that hangs is ended.
//!
//! A budget is judged when a step has ended; see [`crate::load`].

use crate::load::Mark;

/// How often its budget a step may take before it is ended.
const TIMES: u64 = 3;
/// Seconds that every step may take.
const LEAST: u64 = 600;

/// Returns the seconds after which a step with this budget is ended; like those of the budget they are seconds of two quiet
/// processors.
pub(crate) fn seconds(budget: u64) -> u64 {
    budget.saturating_mul(TIMES).max(LEAST)
}

/// The rule, in words.
pub(crate) fn rule() -> String {
    format!("{TIMES} times its budget, at least {} minutes", LEAST / 60)
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

    /// Why the process group of the step is ended now, if it is.
    pub(crate) fn over(self, group: u32) -> Option<String> {
        let quiet = self.mark.spent_with(group).quiet(self.slowness);
        (quiet > self.seconds as f64).then(|| {
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
    fn over_names_the_step_and_its_limit() {
        let limit = StepLimit::new("tree", 30, 1.0);
        assert_eq!(limit.over(std::process::id()), None);
        let over = StepLimit { seconds: 0, ..limit }.over(std::process::id()).unwrap();
        assert!(over.contains("the step tree may take 0 s (3 times its budget"), "{over}");
        assert_eq!(limit.with(100).seconds, 900);
    }
}
