//! `check --json` and `watch --json`.

use clocksmith_diagnose::policy::PolicyAnswer;
use clocksmith_diagnose::report::{Clocksource, MachineReport, MissingFact};
use clocksmith_diagnose::{Assessment, Cause, Read, Verdict};
use clocksmith_watch::event::Event;
use clocksmith_watch::{Judgement, State, Thresholds};
use serde::Serialize;

/// `check --json`, or `check --format json`.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct CheckReport {
    /// Always `clocksmith.check.v1`.
    schema: &'static str,
    /// `ok`, `warning`, `critical` or `unknown`.
    pub(crate) state: State,
    /// The exit code: 0, 1, 2 or 3.
    pub(crate) code: u8,
    /// The line for people, shorter than 80 characters.
    pub(crate) line: String,
    /// The points that were checked.
    pub(crate) points: Vec<clocksmith_watch::Point>,
    /// The thresholds that were used.
    pub(crate) thresholds: Thresholds,
    /// The diagnosis in one word; null if there is none.
    pub(crate) verdict: Option<Verdict>,
    /// The diagnosis in one sentence; null if there is none.
    pub(crate) headline: Option<String>,
    /// The clocksource in use; null if the machine could not be read.
    pub(crate) clocksource: Option<Clocksource>,
    /// The measured read costs.
    pub(crate) reads: Vec<Read>,
    /// Causes, gravest first.
    pub(crate) causes: Vec<Cause>,
    /// Facts that are missing.
    pub(crate) missing: Vec<MissingFact>,
    /// The requirements of the vendor that `--policy` names, compared with this machine; null without that option.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) policy: Option<PolicyAnswer>,
    /// A summary of the machine; null if it could not be read.
    pub(crate) machine: Option<MachineReport>,
    /// Duration of the check, in milliseconds.
    pub(crate) elapsed_ms: f64,
}

impl CheckReport {
    /// Builds the document.
    pub(crate) fn new(
        assessment: Option<Assessment>,
        judgement: &Judgement,
        thresholds: Thresholds,
        elapsed_ms: f64,
    ) -> Self {
        let mut report = Self {
            schema: "clocksmith.check.v1",
            state: judgement.state,
            code: judgement.state.code(),
            line: judgement.line.clone(),
            points: judgement.points.clone(),
            thresholds,
            verdict: None,
            headline: None,
            clocksource: None,
            reads: Vec::new(),
            causes: Vec::new(),
            missing: Vec::new(),
            policy: None,
            machine: None,
            elapsed_ms,
        };
        if let Some(Assessment { report: seen, .. }) = assessment {
            report.verdict = Some(seen.verdict);
            report.headline = Some(seen.headline);
            report.clocksource = Some(seen.clocksource);
            report.reads = seen.reads;
            report.causes = seen.causes;
            report.missing = seen.missing;
            report.policy = seen.policy;
            report.machine = Some(seen.machine);
        }
        report
    }
}

/// A line of `watch --json`.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct WatchLine {
    /// Always `clocksmith.watch.v1`.
    schema: &'static str,
    /// The severity of the event.
    state: State,
    /// One line for people.
    text: String,
    /// The event; null for a message about the watch itself.
    event: Option<Event>,
}

impl WatchLine {
    /// Builds the line.
    pub(crate) fn new(state: State, text: &str, event: Option<&Event>) -> Self {
        let schema = "clocksmith.watch.v1";
        Self { schema, state, text: text.to_owned(), event: event.cloned() }
    }
}
