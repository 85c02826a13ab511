//! The report on a machine: the result of `assess`, used by every verb, and the document of `why --json`, in
//! both directions.
//!
//! Fields are added, never removed or renamed. A reader ignores unknown fields, and a field that an
//! earlier version did not write has a default. Ids of causes are added too, so a document is read as
//! `Report<String>`; every other list of words is closed.

use crate::cause::{Cause, CauseId, Confidence};
use crate::diagnosis::{Read, Verdict};
use crate::explain::Known;
use crate::policy::{PolicyAnswer, Vendor};
use crate::reconcile::Contradiction;
use crate::remedies::{NextStep, Remedy};
use crate::symptom::{ReadReport, SectionReport, SymptomReport};
use crate::timeline::Moment;
use crate::wall::WallClockReport;
use clocksmith_facts::hypervisor::Hypervisor;
use clocksmith_facts::tree::bundle::Manifest;
use clocksmith_facts::verified::Trust;
use clocksmith_facts::{Arch, Facts};
use clocksmith_kernel::Expectation;
pub use clocksmith_kernel::host::AsHost;
use clocksmith_kernel::open::OpenInput;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// The schema of the document.
pub const SCHEMA: &str = "clocksmith.why.v1";

/// The report on a machine; `why --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Report"))]
pub struct Report<Id = CauseId> {
    /// Always `clocksmith.why.v1`.
    pub schema: Cow<'static, str>,
    /// The answer in one word.
    pub verdict: Verdict,
    /// The confidence in the verdict.
    pub confidence: Confidence,
    /// The answer in one sentence.
    #[serde(default)]
    pub headline: String,
    /// The machine's name, for `fleet`: from a bundle, or from `--host-name`.
    #[serde(default)]
    pub host: Option<String>,
    /// Time at which the facts were collected, in UTC (`2026-01-02T03:04:05Z`): from a bundle, or of the
    /// machine that this program ran on.
    #[serde(default)]
    pub taken_at: Option<String>,
    /// An opaque id of the machine, for `fleet`: from a bundle, or with `--host-name`. It is derived from machine-id(5),
    /// which cannot be computed from it.
    #[serde(default)]
    pub machine_id: Option<String>,
    /// The clocksource in use.
    pub clocksource: Clocksource,
    /// The prediction of the kernel model.
    pub expected: Expected,
    /// What reads cost, where measured.
    #[serde(default)]
    pub reads: Vec<Read>,
    /// Cost of one raw counter read in nanoseconds, where measured.
    #[serde(default)]
    pub counter_ns: Option<f64>,
    /// Causes, gravest first.
    pub causes: Vec<Cause<Id>>,
    /// Remedies in order of preference; refused ones last.
    pub remedies: Vec<Remedy<Id>>,
    /// Next steps on this machine, where reads are slow; empty for files and logs.
    #[serde(default)]
    pub next: Vec<NextStep>,
    /// What the vendor of this cloud recommends, oldest first, with the date of the text.
    #[serde(default)]
    pub policies: Vec<PolicyReport>,
    /// The requirements of the vendor that `--policy` names, compared with this machine; null
    /// without that option.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<PolicyAnswer>,
    /// Facts that are missing.
    #[serde(default)]
    pub missing: Vec<MissingFact>,
    /// Where the machine and the model differ.
    #[serde(default)]
    pub differences: Vec<String>,
    /// Facts that would settle an unknown verdict.
    #[serde(default)]
    pub settles: Vec<Settle>,
    /// Evidence that was not used, because stronger evidence contradicts it.
    #[serde(default)]
    pub contradictions: Vec<Contradiction>,
    /// The machine in short.
    #[serde(default)]
    pub machine: MachineReport,
    /// What `verify` found in this boot, less than a day ago; null if it did not run.
    #[serde(default)]
    pub verified: Option<VerifiedReport>,
    /// What the kernel did with its clocksources in this boot, in the order of its log; empty without a log.
    #[serde(default)]
    pub timeline: Vec<Moment>,
    /// The state of the wall clock. Null where the evidence says nothing about it.
    #[serde(default)]
    pub wall_clock: Option<WallClockReport>,
    /// Summary of a pasted text; null for other evidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<ReadReport>,
    /// Statements of other programs in a pasted text about reading the time, and what they prove.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub symptoms: Vec<SymptomReport>,
    /// What the pages of `explain` say about the subject of a text in prose that does not show the
    /// clocksource.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known: Vec<Known>,
    /// The machines of a text that shows several, each with its diagnosis; this report is about the worst one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sections: Vec<SectionReport>,
    /// Every fact with its source, or the reason why it is missing; only with `-v`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub facts: Option<serde_json::Value>,
}

/// The clocksource in use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Clocksource {
    /// The name of the clocksource; null where the evidence does not show it.
    #[serde(default)]
    pub current: Option<String>,
    /// Available clocksources in the order of sysfs, best first; null where the evidence does not show them.
    #[serde(default)]
    pub available: Option<Vec<String>>,
    /// The file or line that names the clocksource, or how the name was concluded.
    #[serde(default)]
    pub source: String,
    /// Host and lines of the machine that this document is about, in a text that shows several machines. The others are
    /// in `sections`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub section: Option<String>,
    /// Whether the name was concluded from the list alone. A document says so in `source` only.
    #[serde(skip)]
    pub is_from_list: bool,
}

/// The prediction of the kernel model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Expected {
    /// The clocksource in use.
    #[serde(default)]
    pub current: Option<String>,
    /// Available clocksources in the order of sysfs, best first.
    #[serde(default)]
    pub available: Option<Vec<String>>,
    /// Whether CLOCK_MONOTONIC is read in user space; null where only the host decides.
    #[serde(default)]
    pub vdso: Option<bool>,
}

/// A fact that is missing and would help.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MissingFact {
    /// Name of the fact.
    pub fact: String,
    /// Why the fact is missing.
    pub why: String,
    /// How to get the fact.
    #[serde(default)]
    pub how: Option<String>,
}

/// A fact that would settle an unknown verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Settle {
    /// The name of the fact.
    pub fact: String,
    /// The command that shows the fact, on the machine of the evidence.
    pub how: String,
}

impl Settle {
    /// The name of the clocksource in use.
    pub(crate) fn in_use() -> Self {
        Self {
            fact: "clocksource in use".to_owned(),
            how: "cat /sys/devices/system/clocksource/clocksource0/current_clocksource".to_owned(),
        }
    }

    /// Whether lines without a known owner are of the reader's machine.
    pub(crate) fn whose_lines() -> Self {
        Self {
            fact: "whether your machine printed these lines".to_owned(),
            how: "journalctl -k -b | clocksmith why -".to_owned(),
        }
    }
}

/// A vendor's recommendation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PolicyReport {
    /// The vendor.
    pub who: Cow<'static, str>,
    /// The machines that the recommendation is about.
    pub machines: Cow<'static, str>,
    /// The recommendation.
    pub says: Cow<'static, str>,
    /// Source and date of the recommendation.
    pub source: Cow<'static, str>,
}

/// The result of `verify`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VerifiedReport {
    /// The worse of counter and clocks.
    pub verdict: Trust,
    /// The confidence of the result.
    #[serde(default = "least_sure")]
    pub confidence: Confidence,
    /// The CPUs that were tested.
    #[serde(default)]
    pub cpus: Vec<u32>,
    /// The CPUs of the machine; empty where that is not known.
    #[serde(default)]
    pub machine_cpus: Vec<u32>,
    /// Whether some CPUs were left out: the result is valid for the tested ones.
    #[serde(default)]
    pub partial: bool,
    /// The tested CPUs for people: `0-3`, or `0 of 0-3`.
    #[serde(default)]
    pub scope: String,
    /// Age of the result in seconds.
    #[serde(default)]
    pub age_s: u64,
    /// The clocksource that was in use.
    #[serde(default)]
    pub clocksource: Option<String>,
    /// The smallest offset between processors that would have been found, in nanoseconds.
    #[serde(default)]
    pub detectable_offset_ns: Option<f64>,
    /// The smallest error of the counter's rate that would have been found, in millionths.
    #[serde(default)]
    pub detectable_rate_ppm: Option<f64>,
    /// The smallest jump of the counter that would have been found, in nanoseconds.
    #[serde(default)]
    pub detectable_jump_ns: Option<f64>,
    /// The file of the result.
    #[serde(default)]
    pub source: String,
}

fn least_sure() -> Confidence {
    Confidence::Low
}

/// A summary of the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MachineReport {
    /// Kernel release.
    #[serde(default)]
    pub kernel: Option<String>,
    /// Kernel architecture.
    #[serde(default)]
    pub arch: Option<String>,
    /// Hypervisor, `none` on bare metal, null where unknown.
    #[serde(default)]
    pub hypervisor: Option<String>,
    /// Processor.
    #[serde(default)]
    pub cpu: Option<String>,
    /// Boots in the kernel log; the last one is reported.
    #[serde(default)]
    pub boots_in_log: Option<u32>,
    /// Whether the log is a diff of two logs; the new one is reported.
    #[serde(default)]
    pub log_is_diff: bool,
    /// Properties of the machine as a host of guests, for `vm migrate`.
    #[serde(default)]
    pub as_host: AsHost,
}

impl Report {
    /// The same report with the machine and the time of a bundle.
    #[must_use]
    pub fn of_bundle(mut self, manifest: Option<Manifest>) -> Self {
        let Some(manifest) = manifest else { return self };
        self.host = Some(manifest.hostname);
        self.taken_at = Some(manifest.time);
        self.machine_id = manifest.machine_id;
        self
    }
}

impl<Id> Report<Id> {
    /// Whether the evidence leaves open that another clocksource is in use than the one that the report names: it was
    /// concluded from a list or from a log, and not read.
    #[must_use]
    pub fn is_clocksource_open(&self) -> bool {
        const OPEN: [OpenInput; 3] = [OpenInput::Choice, OpenInput::LogEnd, OpenInput::LostLine];
        // If all in the list are as slow, nothing needs to be settled, and the name was still not read.
        self.clocksource.is_from_list
            || self
                .settles
                .iter()
                .any(|settle| OPEN.iter().any(|input| input.name() == settle.fact))
    }

    /// The cost of a read of CLOCK_MONOTONIC in nanoseconds, where measured.
    #[must_use]
    pub fn monotonic_ns(&self) -> Option<f64> {
        self.read("CLOCK_MONOTONIC")?.ns
    }

    /// The measurement of one clock.
    #[must_use]
    pub fn read(&self, clock: &str) -> Option<&Read> {
        self.reads.iter().find(|read| read.clock == clock)
    }
}

impl Clocksource {
    /// The clocksource as sysfs shows it.
    #[must_use]
    pub fn of(facts: &Facts) -> Self {
        let current = facts.current_clocksource();
        Self {
            current: current.value().map(|name| (*name).to_owned()),
            available: facts.available_clocksources().map(<[String]>::to_vec),
            source: current.source().map_or_else(String::new, ToString::to_string),
            section: None,
            is_from_list: false,
        }
    }
}

impl Expected {
    pub(crate) fn of(expectation: &Expectation) -> Self {
        Self {
            current: expectation.current.clone(),
            available: expectation.available.clone(),
            vdso: expectation.vdso,
        }
    }
}

impl VerifiedReport {
    pub(crate) fn of(facts: &Facts) -> Option<Self> {
        let result = facts.verified.value()?;
        Some(Self {
            verdict: result.verdict,
            confidence: result.confidence,
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

impl MachineReport {
    /// The summary of the machine that the facts describe.
    #[must_use]
    pub fn of(facts: &Facts) -> Self {
        Self {
            kernel: facts.kernel.value().map(|k| k.release.clone()),
            arch: match (facts.arch.value(), facts.width_open) {
                (Some(Arch::X86_64), true) => Some("x86 (32-bit or 64-bit)".to_owned()),
                (Some(arch), true) => {
                    arch_name(arch).map(|name| format!("{name} (32-bit or 64-bit)"))
                }
                (arch, _) => arch.and_then(arch_name),
            },
            hypervisor: facts
                .hypervisor
                .value()
                .map(|h| h.as_ref().map_or_else(|| "none".to_owned(), Hypervisor::name)),
            cpu: facts.cpu.model.value().map(|m| m.name.clone()),
            boots_in_log: facts.kernel_log().map(|log| log.boots),
            log_is_diff: facts.kernel_log().is_some_and(|log| log.is_diff),
            as_host: AsHost::of(facts),
        }
    }

    /// The number of boots in the log, in words, if there are several. Without a banner nothing shows that they are of
    /// one machine.
    #[must_use]
    pub fn boots(&self) -> Option<String> {
        let boots = self.boots_in_log.filter(|boots| *boots > 1)?;
        let of = if self.kernel.is_none() { ", perhaps of several machines" } else { "" };
        Some(format!("contains {boots} boots{of}; this report is about the last one"))
    }
}

/// The recommendations of the cloud in which this machine is rented.
pub(crate) fn policies(facts: &Facts) -> Vec<PolicyReport> {
    let Some(vendor) = facts.cloud.value().and_then(|cloud| Vendor::of_cloud(*cloud)) else {
        return Vec::new();
    };
    vendor.recommendations()
}

fn arch_name(arch: &Arch) -> Option<String> {
    serde_json::to_value(arch).ok()?.as_str().map(str::to_owned)
}
