//! The JSON documents of the contract. Fields are added, never removed or renamed.

use clocksmith_diagnose::diagnosis::MissingFact;
use clocksmith_diagnose::{Cause, Confidence, Diagnosis, Read, Remedy, Verdict};
use clocksmith_facts::Facts;
use clocksmith_kernel::Expectation;
use schemars::JsonSchema;
use serde::Serialize;

/// `why --json`.
#[derive(Serialize, JsonSchema, Debug)]
pub(crate) struct WhyReport {
    /// Always `clocksmith.why.v1`.
    schema: &'static str,
    /// The answer in one word.
    verdict: Verdict,
    /// How sure the verdict is.
    confidence: Confidence,
    /// The answer in one sentence.
    headline: String,
    /// What is in use.
    clocksource: Clocksource,
    /// What the model of this kernel expects.
    expected: Expected,
    /// What reads cost, where measured.
    reads: Vec<Read>,
    /// Cost of one raw counter read in nanoseconds, where measured.
    counter_ns: Option<f64>,
    /// Causes, gravest first.
    causes: Vec<Cause>,
    /// Remedies in order of preference; refused ones last.
    remedies: Vec<Remedy>,
    /// Facts that are missing.
    missing: Vec<MissingFact>,
    /// Where the machine and the model differ.
    differences: Vec<String>,
    /// The machine in short.
    machine: MachineReport,
}

/// The clocksource in use.
#[derive(Serialize, JsonSchema, Debug)]
struct Clocksource {
    /// Name, or null where the evidence does not say.
    current: Option<String>,
    /// As sysfs lists them, best first; null where the evidence does not say.
    available: Option<Vec<String>>,
    /// Where the name was read, or how it was concluded.
    source: String,
}

/// What the model expects.
#[derive(Serialize, JsonSchema, Debug)]
struct Expected {
    current: Option<String>,
    available: Option<Vec<String>>,
    vdso: Option<bool>,
}

/// The machine in short.
#[derive(Serialize, JsonSchema, Debug)]
struct MachineReport {
    /// Kernel release.
    kernel: Option<String>,
    /// Kernel architecture.
    arch: Option<String>,
    /// Hypervisor, `none` on bare metal, null where unknown.
    hypervisor: Option<String>,
    /// Processor.
    cpu: Option<String>,
    /// Boots in the kernel log; the last one is reported.
    boots_in_log: Option<u32>,
}

impl WhyReport {
    /// Builds the document.
    pub(crate) fn new(
        facts: &Facts,
        expectation: &Expectation,
        diagnosis: Diagnosis,
        counter_ns: Option<f64>,
    ) -> Self {
        Self {
            schema: "clocksmith.why.v1",
            verdict: diagnosis.verdict,
            confidence: diagnosis.confidence,
            headline: diagnosis.headline,
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
            missing: diagnosis.missing,
            differences: diagnosis.differences,
            machine: MachineReport {
                kernel: facts.kernel.value().map(|k| k.release.clone()),
                arch: facts.arch.value().and_then(arch_name),
                hypervisor: facts
                    .hypervisor
                    .value()
                    .map(|h| h.as_ref().map_or("none", |h| h.kind.name()).to_owned()),
                cpu: facts.cpu.model.value().map(|m| m.name.clone()),
                boots_in_log: facts.kernel_log().map(|log| log.boots),
            },
        }
    }
}

fn arch_name(arch: &clocksmith_facts::Arch) -> Option<String> {
    serde_json::to_value(arch).ok()?.as_str().map(str::to_owned)
}

/// `predict --json`.
#[derive(Serialize, JsonSchema, Debug)]
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

#[derive(Serialize, JsonSchema, Debug)]
struct ClockReport {
    clock: String,
    vdso: Option<bool>,
    why: String,
}

#[derive(Serialize, JsonSchema, Debug)]
struct ReasonReport {
    rule: String,
    because: String,
    source: String,
}

#[derive(Serialize, JsonSchema, Debug)]
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
