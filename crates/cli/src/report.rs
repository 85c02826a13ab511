//! The JSON documents of the contract, except that of `why`, which is the report itself
//! (`clocksmith_diagnose::Report`). Fields are added, never removed or renamed.

pub(crate) mod bench;
pub(crate) mod check;
pub(crate) mod fix;
pub(crate) mod migrate;
pub(crate) mod vm;
#[cfg(feature = "who")]
pub(crate) mod who;

use clocksmith_diagnose::explain::Explanation;
use clocksmith_diagnose::report::MissingFact;
use clocksmith_kernel::defaults::Defaults;
use clocksmith_kernel::{Expectation, Reason};
use serde::Serialize;

/// `predict --json`.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct PredictReport {
    /// Always `clocksmith.predict.v1`.
    schema: &'static str,
    /// The clocksource that the kernel would use.
    current: Option<String>,
    /// The list of sysfs, best first.
    available: Option<Vec<String>>,
    /// Whether CLOCK_MONOTONIC would be read in user space.
    vdso: Option<bool>,
    /// The same for each clock id.
    clocks: Vec<ClockReport>,
    /// Whether the tick would be one-shot.
    tick_oneshot: bool,
    /// The chain of rules.
    reasons: Vec<ReasonReport>,
    /// Facts that were not known.
    assumed: Vec<AssumedReport>,
    /// Questions that static facts cannot answer.
    undecided: Vec<String>,
    /// Values of single assumed facts with which the result would differ.
    alternatives: Vec<AlternativeReport>,
    /// Assumed facts that change the result only together with another one.
    together: Vec<&'static str>,
    /// Events that may change the result while the machine runs.
    at_risk: Vec<ReasonReport>,
}

#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct AlternativeReport {
    /// The fact.
    fact: &'static str,
    /// The value of the fact, or the range of kernel versions.
    value: String,
    /// The clocksource that the kernel would use.
    current: Option<String>,
    /// The list of sysfs, best first.
    available: Option<Vec<String>>,
    /// Whether CLOCK_MONOTONIC would be read in user space; null where only the host decides.
    vdso: Option<bool>,
}

#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct ClockReport {
    clock: String,
    vdso: Option<bool>,
    why: String,
}

#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct ReasonReport {
    rule: String,
    because: String,
    source: String,
}

#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct AssumedReport {
    fact: String,
    value: String,
    why: String,
}

impl PredictReport {
    /// Builds the document.
    pub(crate) fn new(expectation: &Expectation, defaults: &Defaults) -> Self {
        let e = expectation.clone();
        let reason =
            |r: Reason| ReasonReport { rule: r.rule, because: r.because, source: r.source };
        Self {
            schema: "clocksmith.predict.v1",
            current: e.current,
            available: e.available,
            vdso: e.vdso,
            clocks: e
                .clocks
                .into_iter()
                .map(|c| ClockReport { clock: c.clock, vdso: c.vdso, why: c.why })
                .collect(),
            tick_oneshot: e.tick_oneshot,
            reasons: e.reasons.into_iter().map(reason).collect(),
            assumed: e
                .assumed
                .into_iter()
                .map(|a| AssumedReport { fact: a.fact, value: a.value, why: a.why })
                .collect(),
            undecided: e.undecided,
            alternatives: defaults
                .alternatives
                .iter()
                .cloned()
                .map(|other| AlternativeReport {
                    fact: other.input.name(),
                    value: other.value,
                    current: other.current,
                    available: other.available,
                    vdso: other.vdso,
                })
                .collect(),
            together: defaults.together.iter().map(|input| input.name()).collect(),
            at_risk: e.at_risk.into_iter().map(reason).collect(),
        }
    }
}

/// `collect --json`.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct CollectReport {
    /// Always `clocksmith.collect.v1`.
    schema: &'static str,
    /// The bundle that was written.
    pub(crate) file: String,
    /// Size of the bundle in bytes.
    pub(crate) bytes: u64,
    /// The files in the bundle.
    pub(crate) files: Vec<CollectedFile>,
    /// Files that could not be read.
    pub(crate) missing: Vec<MissingFact>,
    /// Kernel parameters (passwords, keys, tokens) whose values the bundle does not have: `x` takes their place.
    pub(crate) masked: Vec<String>,
}

/// A file of a bundle.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct CollectedFile {
    /// Path inside the bundle.
    pub(crate) path: String,
    /// Size in bytes.
    pub(crate) bytes: u64,
}

impl CollectReport {
    /// Builds the document.
    pub(crate) fn new(
        path: &std::path::Path,
        bytes: u64,
        summary: &clocksmith_facts::collect::Summary,
    ) -> Self {
        Self {
            schema: "clocksmith.collect.v1",
            file: path.display().to_string(),
            bytes,
            files: summary
                .files
                .iter()
                .map(|(path, bytes)| CollectedFile { path: path.clone(), bytes: *bytes })
                .collect(),
            missing: summary
                .missing
                .iter()
                .map(|gap| MissingFact {
                    fact: gap.path.clone(),
                    why: gap.missing.why.to_string(),
                    how: gap.missing.how.clone(),
                })
                .collect(),
            masked: summary.masked.clone(),
        }
    }
}

/// `explain --json`.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct ExplainReport {
    /// Always `clocksmith.explain.v1`.
    schema: &'static str,
    /// The word or the message that was looked up.
    pub(crate) query: String,
    /// The matching entries; empty if there are none.
    pub(crate) explanations: Vec<Explanation>,
    /// Similar words and messages, if no entry matches.
    pub(crate) did_you_mean: Vec<String>,
}

impl ExplainReport {
    /// Builds the document.
    pub(crate) fn new(
        query: String,
        explanations: Vec<Explanation>,
        did_you_mean: Vec<String>,
    ) -> Self {
        Self { schema: "clocksmith.explain.v1", query, explanations, did_you_mean }
    }
}

#[cfg(all(test, feature = "schema", feature = "who"))]
mod tests {
    use super::*;
    use std::path::Path;

    /// Returns the schema of the written form: it includes fields that a reader may ignore.
    fn schema<T: schemars::JsonSchema>() -> schemars::Schema {
        let settings = schemars::generate::SchemaSettings::draft2020_12().for_serialize();
        settings.into_generator().into_root_schema_for::<T>()
    }

    /// The published schemas are those of the types: `UPDATE_SCHEMAS=1 cargo test -p clocksmith-cli
    /// --all-features` writes them.
    #[test]
    fn published_schemas_are_current() {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas");
        let all = [
            ("clocksmith.bench.v1", schema::<bench::BenchReport>()),
            ("clocksmith.vm-migrate.v1", schema::<migrate::MigrateReport>()),
            ("clocksmith.check.v1", schema::<check::CheckReport>()),
            ("clocksmith.watch.v1", schema::<check::WatchLine>()),
            ("clocksmith.who.v1", schema::<who::WhoReport>()),
            ("clocksmith.why.v1", schema::<clocksmith_diagnose::Report>()),
            ("clocksmith.predict.v1", schema::<PredictReport>()),
            ("clocksmith.collect.v1", schema::<CollectReport>()),
            ("clocksmith.fleet.v1", schema::<clocksmith_fleet::report::FleetReport>()),
            ("clocksmith.fleet-changes.v1", schema::<clocksmith_fleet::changes::ChangesReport>()),
            ("clocksmith.fix.v1", schema::<fix::FixReport>()),
            ("clocksmith.verify.v1", schema::<crate::verify::report::VerifyReport>()),
            ("clocksmith.vm-rules.v1", schema::<vm::RulesReport>()),
            ("clocksmith.vm-lint.v1", schema::<vm::LintReport>()),
            ("clocksmith.vm-fix.v1", schema::<vm::FixReport>()),
            ("clocksmith.run.v1", schema::<crate::run::report::RunReport>()),
            ("clocksmith.explain.v1", schema::<ExplainReport>()),
        ];
        for (name, schema) in all {
            let text = format!("{}\n", serde_json::to_string_pretty(&schema).unwrap());
            let path = dir.join(format!("{name}.json"));
            if std::env::var_os("UPDATE_SCHEMAS").is_some() {
                std::fs::create_dir_all(&dir).unwrap();
                std::fs::write(&path, &text).unwrap();
            }
            let published = std::fs::read_to_string(&path).unwrap_or_default();
            assert_eq!(published, text, "{} is not current", path.display());
        }
    }
}
