//! The part of `clocksmith why --json` that the testbed reads.

use super::choice;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The parts of an answer that can be right or wrong.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Answer {
    /// The current clocksource.
    pub current: String,
    /// The available ones.
    pub available: Vec<String>,
    /// `ok`, `slow` and so on.
    pub verdict: String,
    /// The ids of the causes.
    pub causes: BTreeSet<String>,
    /// How a read of CLOCK_MONOTONIC was served, where it was measured.
    pub path: Option<String>,
    /// The cost of such a read in nanoseconds, where it was measured.
    pub ns: Option<f64>,
}

#[derive(Deserialize)]
struct Why {
    verdict: String,
    clocksource: Option<Clocksource>,
    causes: Vec<Cause>,
    reads: Vec<Read>,
}

#[derive(Deserialize)]
struct Clocksource {
    current: String,
    #[serde(default)]
    available: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct Cause {
    id: String,
}

#[derive(Deserialize)]
struct Read {
    clock: String,
    path: String,
    ns: Option<f64>,
}

impl Answer {
    /// Reads the JSON of `why`.
    pub fn of_why(json: &str) -> Result<Answer> {
        let why: Why = serde_json::from_str(json).context("it does not say what was expected")?;
        let source = why.clocksource.context("it does not know the clocksource")?;
        let read = why.reads.into_iter().find(|read| read.clock == "CLOCK_MONOTONIC");
        Ok(Answer {
            current: source.current,
            available: source.available.unwrap_or_default(),
            verdict: why.verdict,
            causes: why.causes.into_iter().map(|cause| cause.id).collect(),
            path: read.as_ref().map(|read| read.path.clone()),
            ns: read.and_then(|read| read.ns),
        })
    }

    /// How the answer about the same machine's bundle differs. Costs and paths of reads are not
    /// compared: nothing is measured there.
    pub fn differences(&self, outside: &Answer) -> Vec<String> {
        let mut list = Vec::new();
        if choice(self) != choice(outside) {
            list.push(format!("outside, `why --bundle` says {}", choice(outside)));
        }
        if self.verdict != outside.verdict {
            list.push(format!(
                "outside, `why --bundle` gives the verdict {}, inside it is {}",
                outside.verdict, self.verdict
            ));
        }
        if self.causes != outside.causes {
            list.push(format!(
                "outside, `why --bundle` gives the causes {:?}, inside they are {:?}",
                outside.causes, self.causes
            ));
        }
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOW: &str = r#"{"verdict": "slow", "clocksource": {"current": "hpet",
        "available": ["hpet", "acpi_pm"], "source": "x"}, "causes": [{"id": "tsc-unsynchronized"}],
        "reads": [{"clock": "CLOCK_MONOTONIC", "path": "syscall", "ns": 900.5}]}"#;

    #[test]
    fn an_answer_is_read_and_compared() {
        let inside = Answer::of_why(SLOW).unwrap();
        assert_eq!((inside.current.as_str(), inside.ns), ("hpet", Some(900.5)));
        let mut outside = inside.clone();
        outside.ns = None;
        assert!(inside.differences(&outside).is_empty());
        outside.verdict = "ok".into();
        outside.causes.clear();
        outside.available.pop();
        assert_eq!(inside.differences(&outside).len(), 3);
    }

    #[test]
    fn no_answer_is_an_error() {
        assert!(Answer::of_why("").is_err());
        assert!(Answer::of_why(&SLOW.replace("clocksource", "other")).is_err());
    }
}
