//! The JSON documents of the contract. Fields are added, never removed or renamed.

pub(crate) mod bench;
pub(crate) mod check;
pub(crate) mod fix;
pub(crate) mod migrate;
pub(crate) mod timeline;
pub(crate) mod vm;
#[cfg(feature = "who")]
pub(crate) mod who;

use clocksmith_diagnose::Contradiction;
use clocksmith_diagnose::diagnosis::{MissingFact, Settle};
use clocksmith_diagnose::explain::Explanation;
use clocksmith_diagnose::remedies::NextStep;
use clocksmith_diagnose::{Cause, Confidence, Diagnosis, Read, Remedy, Verdict};
use clocksmith_facts::Facts;
use clocksmith_facts::tree::bundle::Manifest;
use clocksmith_kernel::Expectation;
use serde::Serialize;

/// `why --json`.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct WhyReport {
    /// Always `clocksmith.why.v1`.
    schema: &'static str,
    /// The answer in one word.
    pub(crate) verdict: Verdict,
    /// How sure the verdict is.
    pub(crate) confidence: Confidence,
    /// The answer in one sentence.
    pub(crate) headline: String,
    /// The machine's name, for `fleet`: of a bundle, or as `--host-name` gives it.
    pub(crate) host: Option<String>,
    /// When the facts were taken, in UTC (`2026-01-02T03:04:05Z`); bundles have it.
    pub(crate) taken_at: Option<String>,
    /// What is in use.
    pub(crate) clocksource: Clocksource,
    /// What the model of this kernel expects.
    pub(crate) expected: Expected,
    /// What reads cost, where measured.
    pub(crate) reads: Vec<Read>,
    /// Cost of one raw counter read in nanoseconds, where measured.
    pub(crate) counter_ns: Option<f64>,
    /// Causes, gravest first.
    pub(crate) causes: Vec<Cause>,
    /// Remedies in order of preference; refused ones last.
    pub(crate) remedies: Vec<Remedy>,
    /// Next steps on this machine, where reads are slow; empty for files and logs.
    pub(crate) next: Vec<NextStep>,
    /// What the vendor of this cloud recommends, oldest first, with the date of the text.
    pub(crate) policies: Vec<PolicyReport>,
    /// Facts that are missing.
    pub(crate) missing: Vec<MissingFact>,
    /// Where the machine and the model differ.
    pub(crate) differences: Vec<String>,
    /// What would turn an unknown verdict into an answer.
    pub(crate) settles: Vec<Settle>,
    /// Evidence that stronger evidence contradicts, and that is left out.
    pub(crate) contradictions: Vec<Contradiction>,
    /// The machine in short.
    pub(crate) machine: MachineReport,
    /// What `verify` found in this boot, less than a day ago; null if it did not run.
    pub(crate) verified: Option<VerifiedReport>,
    /// What the kernel did with its clocksources in this boot, by its log, in the log's order; empty
    /// without a log.
    pub(crate) timeline: Vec<timeline::Moment>,
    /// Every fact with its source, or the reason why it is missing; only with `-v`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) facts: Option<serde_json::Value>,
}

/// What `verify` found.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct VerifiedReport {
    /// `trusted`, `not-trusted` or `unknown`.
    pub(crate) verdict: serde_json::Value,
    /// `low`, `medium` or `high`.
    pub(crate) confidence: serde_json::Value,
    /// The CPUs that were tested.
    pub(crate) cpus: Vec<u32>,
    /// The CPUs of the machine; empty where that is not known.
    pub(crate) machine_cpus: Vec<u32>,
    /// Whether some of them were left out: the result holds for those that were tested.
    pub(crate) partial: bool,
    /// The tested CPUs for people: `0-3`, or `0 of 0-3`.
    pub(crate) scope: String,
    /// Seconds ago.
    pub(crate) age_s: u64,
    /// The clocksource that was in use.
    pub(crate) clocksource: Option<String>,
    /// The smallest offset between processors that it would have seen, in nanoseconds.
    pub(crate) detectable_offset_ns: Option<f64>,
    /// The smallest error of the counter's rate, in millionths.
    pub(crate) detectable_rate_ppm: Option<f64>,
    /// The smallest jump of the counter, in nanoseconds.
    pub(crate) detectable_jump_ns: Option<f64>,
    /// Where it was read.
    pub(crate) source: String,
}

impl VerifiedReport {
    fn new(facts: &Facts) -> Option<Self> {
        let result = facts.verified.value()?;
        Some(Self {
            verdict: serde_json::to_value(result.verdict).ok()?,
            confidence: serde_json::to_value(result.confidence).ok()?,
            cpus: result.cpus.clone(),
            machine_cpus: result.machine_cpus.clone(),
            partial: result.is_partial(),
            scope: result.scope(),
            age_s: result.age_s,
            clocksource: result.clocksource.clone(),
            detectable_offset_ns: result.detectable_offset_ns,
            detectable_rate_ppm: result.detectable_rate_ppm,
            detectable_jump_ns: result.detectable_jump_ns,
            source: facts.verified.source()?.to_string(),
        })
    }
}

/// A vendor's recommendation.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct PolicyReport {
    /// Who.
    pub(crate) who: &'static str,
    /// For which machines.
    pub(crate) machines: &'static str,
    /// What they recommend.
    pub(crate) says: &'static str,
    /// Where, and as of when.
    pub(crate) source: &'static str,
}

/// The clocksource in use.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Clocksource {
    /// Name, or null where the evidence does not say.
    pub(crate) current: Option<String>,
    /// As sysfs lists them, best first; null where the evidence does not say.
    pub(crate) available: Option<Vec<String>>,
    /// Where the name was read, or how it was concluded.
    pub(crate) source: String,
}

/// What the model expects.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Expected {
    pub(crate) current: Option<String>,
    pub(crate) available: Option<Vec<String>>,
    pub(crate) vdso: Option<bool>,
}

/// The machine in short.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct MachineReport {
    /// Kernel release.
    pub(crate) kernel: Option<String>,
    /// Kernel architecture.
    pub(crate) arch: Option<String>,
    /// Hypervisor, `none` on bare metal, null where unknown.
    pub(crate) hypervisor: Option<String>,
    /// Processor.
    pub(crate) cpu: Option<String>,
    /// Boots in the kernel log; the last one is reported.
    pub(crate) boots_in_log: Option<u32>,
    /// The log is a diff of two; the new one is reported.
    pub(crate) log_is_diff: bool,
    /// What it is as a host of guests, for `vm migrate`.
    pub(crate) as_host: AsHost,
}

/// A machine as a host of guests.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct AsHost {
    /// The TSC's frequency.
    tsc: Option<clocksmith_vm::migrate::host::Tsc>,
    /// Whether it can scale a guest's TSC.
    scaling: Option<bool>,
    /// In which way.
    hardware: Option<clocksmith_vm::migrate::scale::Hardware>,
    /// Whether its TSC is invariant, so that guests can have `invtsc`.
    invariant: Option<bool>,
}

impl AsHost {
    fn of(facts: &Facts) -> Self {
        let host = clocksmith_vm::migrate::host::facts::of_facts("", facts);
        Self {
            tsc: host.tsc,
            scaling: host.scaling,
            hardware: host.hardware,
            invariant: host.invariant,
        }
    }
}

impl WhyReport {
    /// The name of the document.
    pub(crate) fn schema(&self) -> &'static str {
        self.schema
    }

    /// Says whose bundle it is.
    pub(crate) fn named(mut self, manifest: Option<Manifest>) -> Self {
        (self.host, self.taken_at) = manifest.map(|m| (m.hostname, m.time)).unzip();
        self
    }

    /// Builds the document.
    pub(crate) fn new(
        facts: &Facts,
        expectation: &Expectation,
        diagnosis: Diagnosis,
        counter_ns: Option<f64>,
    ) -> Self {
        Self {
            schema: "clocksmith.why.v1",
            next: clocksmith_diagnose::remedies::next_steps(facts, &diagnosis),
            verdict: diagnosis.verdict,
            confidence: diagnosis.confidence,
            headline: diagnosis.headline,
            host: None,
            taken_at: None,
            clocksource: Clocksource {
                current: diagnosis.current.name,
                available: diagnosis.available,
                source: diagnosis.current.source,
            },
            expected: Expected {
                current: expectation.current.clone(),
                available: expectation.available.clone(),
                vdso: expectation.vdso,
            },
            reads: diagnosis.reads,
            counter_ns,
            causes: diagnosis.causes,
            remedies: diagnosis.remedies,
            policies: policies(facts),
            missing: diagnosis.missing,
            differences: diagnosis.differences,
            settles: diagnosis.settles,
            contradictions: diagnosis.contradictions,
            machine: MachineReport::of(facts),
            verified: VerifiedReport::new(facts),
            timeline: timeline::of(facts),
            facts: None,
        }
    }
}

impl MachineReport {
    /// From the facts.
    pub(crate) fn of(facts: &Facts) -> Self {
        Self {
            kernel: facts.kernel.value().map(|k| k.release.clone()),
            arch: facts.arch.value().and_then(arch_name),
            hypervisor: facts
                .hypervisor
                .value()
                .map(|h| h.as_ref().map_or("none", |h| h.kind.name()).to_owned()),
            cpu: facts.cpu.model.value().map(|m| m.name.clone()),
            boots_in_log: facts.kernel_log().map(|log| log.boots),
            log_is_diff: facts.kernel_log().is_some_and(|log| log.is_diff),
            as_host: AsHost::of(facts),
        }
    }
}

/// The recommendations of the cloud that this machine is rented from.
fn policies(facts: &Facts) -> Vec<PolicyReport> {
    use clocksmith_facts::hypervisor::Cloud;
    let who = match facts.cloud.value() {
        Some(Cloud::Ec2Xen | Cloud::Ec2Nitro) => "AWS",
        Some(Cloud::Azure) => "Microsoft",
        _ => return Vec::new(),
    };
    clocksmith_diagnose::remedies::table::POLICIES
        .iter()
        .filter(|policy| policy.who == who)
        .map(|p| PolicyReport { who: p.who, machines: p.machines, says: p.says, source: p.source })
        .collect()
}

fn arch_name(arch: &clocksmith_facts::Arch) -> Option<String> {
    serde_json::to_value(arch).ok()?.as_str().map(str::to_owned)
}

/// `predict --json`.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct PredictReport {
    /// Always `clocksmith.predict.v1`.
    schema: &'static str,
    /// The clocksource that the kernel would use.
    current: Option<String>,
    /// What sysfs would list, best first.
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
    /// What static facts cannot tell.
    undecided: Vec<String>,
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
    pub(crate) fn new(expectation: &Expectation) -> Self {
        let e = expectation.clone();
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
            reasons: e
                .reasons
                .into_iter()
                .map(|r| ReasonReport { rule: r.rule, because: r.because, source: r.source })
                .collect(),
            assumed: e
                .assumed
                .into_iter()
                .map(|a| AssumedReport { fact: a.fact, value: a.value, why: a.why })
                .collect(),
            undecided: e.undecided,
        }
    }
}

/// `collect --json`.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct CollectReport {
    /// Always `clocksmith.collect.v1`.
    schema: &'static str,
    /// The file that was written.
    pub(crate) file: String,
    /// Its size in bytes.
    pub(crate) bytes: u64,
    /// What went in.
    pub(crate) files: Vec<CollectedFile>,
    /// What was wanted and could not be read.
    pub(crate) missing: Vec<MissingFact>,
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
        }
    }
}

/// `explain --json`.
#[derive(Serialize, Debug)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct ExplainReport {
    /// Always `clocksmith.explain.v1`.
    schema: &'static str,
    /// What was asked.
    pub(crate) query: String,
    /// What is known about it; empty if nothing.
    pub(crate) explanations: Vec<Explanation>,
    /// Close words and messages, if nothing is known.
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

    /// The published schemas are those of the types: `UPDATE_SCHEMAS=1 cargo test -p clocksmith-cli
    /// --all-features` writes them anew.
    #[test]
    fn published_schemas_are_current() {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas");
        let all = [
            ("clocksmith.bench.v1", schemars::schema_for!(bench::BenchReport)),
            ("clocksmith.vm-migrate.v1", schemars::schema_for!(migrate::MigrateReport)),
            ("clocksmith.check.v1", schemars::schema_for!(check::CheckReport)),
            ("clocksmith.watch.v1", schemars::schema_for!(check::WatchLine)),
            ("clocksmith.who.v1", schemars::schema_for!(who::WhoReport)),
            ("clocksmith.why.v1", schemars::schema_for!(WhyReport)),
            ("clocksmith.predict.v1", schemars::schema_for!(PredictReport)),
            ("clocksmith.collect.v1", schemars::schema_for!(CollectReport)),
            ("clocksmith.fleet.v1", schemars::schema_for!(clocksmith_fleet::report::FleetReport)),
            ("clocksmith.fix.v1", schemars::schema_for!(fix::FixReport)),
            ("clocksmith.verify.v1", schemars::schema_for!(crate::verify::report::VerifyReport)),
            ("clocksmith.vm-lint.v1", schemars::schema_for!(vm::LintReport)),
            ("clocksmith.vm-fix.v1", schemars::schema_for!(vm::FixReport)),
            ("clocksmith.run.v1", schemars::schema_for!(crate::run::report::RunReport)),
            ("clocksmith.explain.v1", schemars::schema_for!(ExplainReport)),
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
