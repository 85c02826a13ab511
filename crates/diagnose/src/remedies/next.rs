//! Next steps after the verdict: the affected programs, the help without a reboot, the permanent help.

use crate::causes::against_tsc;
use crate::{Cause, Verdict};
use clocksmith_facts::{Facts, Origin};
use serde::{Deserialize, Serialize};

/// A next step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NextStep {
    /// The question that the step answers, or its effect.
    pub what: String,
    /// The command; replace words in capitals.
    pub command: String,
}

fn step(what: &str, command: &str) -> NextStep {
    NextStep { what: what.to_owned(), command: command.to_owned() }
}

/// The next steps on this machine, if reads are slow and the facts are those of the machine that the
/// program runs on.
pub(crate) fn next_steps(facts: &Facts, verdict: Verdict, causes: &[Cause]) -> Vec<NextStep> {
    if verdict != Verdict::Slow || !matches!(facts.origin, Origin::Live) {
        return Vec::new();
    }
    let mut steps = vec![step("which programs read the time here", "sudo clocksmith who --all")];
    if against_tsc(causes).is_none() {
        steps.push(step(
            "a fast clock for one program, without a reboot",
            "clocksmith run -- PROGRAM",
        ));
    }
    steps.push(step("a plan that makes reads fast permanently", "sudo clocksmith fix"));
    steps
}
