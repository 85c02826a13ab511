//! The document of `clocksmith why --json`, as far as the tables need it. What is not needed is skipped,
//! what was added later may be missing.

use serde::Deserialize;
use thiserror::Error;

/// The schema of what is read.
pub const WHY: &str = "clocksmith.why.v1";

/// The schema of what `clocksmith fleet` passes on: a document with the name of its input, or the reason
/// why that has none.
pub const INPUT: &str = "clocksmith.fleet-input.v1";

/// Why a text gives no row.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DocumentError {
    /// No JSON, or JSON that lacks what every report has.
    #[error("{0}")]
    Broken(String),
    /// Another document of this program.
    #[error("it is a document {0}; give those of `clocksmith why --json`")]
    OtherDocument(String),
    /// One of a later version of this program.
    #[error("it is a document {0}, which is newer than this program")]
    Newer(String),
    /// JSON of something else.
    #[error("it is JSON, but no document of `clocksmith why --json` (\"schema\" is missing)")]
    NoSchema,
    /// What `clocksmith fleet` could not use.
    #[error("{0}")]
    Unusable(String),
}

/// The answer in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Fast, and nothing speaks against it.
    Ok,
    /// Every read is a system call.
    Slow,
    /// Time may be wrong or go backwards.
    Untrustworthy,
    /// The evidence does not say.
    Unknown,
}

impl Verdict {
    /// As it is written.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Slow => "slow",
            Self::Untrustworthy => "untrustworthy",
            Self::Unknown => "unknown",
        }
    }
}

/// How much a cause matters, the gravest last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; nothing is wrong.
    Info,
    /// Time is slow to read, or a choice has no effect.
    Warning,
    /// Time may be wrong or go backwards.
    Critical,
}

impl Severity {
    /// As it is written.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Critical => "critical",
        }
    }
}

/// `why --json`.
#[derive(Debug, Deserialize)]
pub struct Why {
    /// The answer in one word.
    pub verdict: Verdict,
    /// `low`, `medium` or `high`.
    pub confidence: String,
    /// The machine's name; bundles have it.
    #[serde(default)]
    pub host: Option<String>,
    /// When the facts were taken, in UTC; bundles have it.
    #[serde(default)]
    pub taken_at: Option<String>,
    /// What is in use.
    pub clocksource: Clocksource,
    /// What the model of the kernel expects.
    pub expected: Expected,
    /// What reads cost.
    #[serde(default)]
    pub reads: Vec<Read>,
    /// Nanoseconds a read of the bare counter.
    #[serde(default)]
    pub counter_ns: Option<f64>,
    /// Causes, gravest first.
    pub causes: Vec<Cause>,
    /// Remedies in order of preference.
    pub remedies: Vec<Remedy>,
    /// The machine in short.
    #[serde(default)]
    pub machine: Machine,
    /// What `verify` found.
    #[serde(default)]
    pub verified: Option<Verified>,
}

/// The clocksource in use.
#[derive(Debug, Deserialize)]
pub struct Clocksource {
    /// Its name.
    #[serde(default)]
    pub current: Option<String>,
    /// What sysfs lists.
    #[serde(default)]
    pub available: Option<Vec<String>>,
}

/// What the model expects.
#[derive(Debug, Deserialize)]
pub struct Expected {
    /// Its name.
    #[serde(default)]
    pub current: Option<String>,
    /// Whether the vDSO would serve it.
    #[serde(default)]
    pub vdso: Option<bool>,
}

/// The cost of one clock.
#[derive(Debug, Deserialize)]
pub struct Read {
    /// `CLOCK_MONOTONIC` and so on.
    pub clock: String,
    /// `vdso`, `syscall` or `unknown`.
    pub path: String,
    /// Nanoseconds a read, median.
    #[serde(default)]
    pub ns: Option<f64>,
    /// Nanoseconds of the same read by a system call.
    #[serde(default)]
    pub syscall_ns: Option<f64>,
}

/// A cause.
#[derive(Debug, Deserialize)]
pub struct Cause {
    /// Stable id; later versions have more of them.
    pub id: String,
    /// How much it matters.
    pub severity: Severity,
    /// `low`, `medium` or `high`.
    pub confidence: String,
}

/// A remedy.
#[derive(Debug, Deserialize)]
pub struct Remedy {
    /// Stable id.
    pub id: String,
    /// Where it acts: `program`, `runtime`, `boot`, `hypervisor`, `firmware`.
    pub layer: String,
    /// Why it is refused.
    #[serde(default)]
    pub refused_because: Option<String>,
    /// The causes that it answers.
    #[serde(rename = "for")]
    pub causes: Vec<String>,
}

/// The machine in short.
#[derive(Debug, Default, Deserialize)]
pub struct Machine {
    /// Kernel release.
    #[serde(default)]
    pub kernel: Option<String>,
    /// Kernel architecture.
    #[serde(default)]
    pub arch: Option<String>,
    /// Hypervisor, `none` on bare metal.
    #[serde(default)]
    pub hypervisor: Option<String>,
    /// Processor.
    #[serde(default)]
    pub cpu: Option<String>,
    /// As a host of guests.
    #[serde(default)]
    pub as_host: AsHost,
}

/// A machine as a host of guests.
#[derive(Debug, Default, Deserialize)]
pub struct AsHost {
    /// The TSC's frequency.
    #[serde(default)]
    pub tsc: Option<clocksmith_vm::migrate::host::Tsc>,
    /// Whether it scales guests' TSCs.
    #[serde(default)]
    pub scaling: Option<bool>,
    /// `vmx` or `svm`.
    #[serde(default)]
    pub hardware: Option<String>,
    /// Whether its TSC is invariant.
    #[serde(default)]
    pub invariant: Option<bool>,
}

/// What `verify` found.
#[derive(Debug, Deserialize)]
pub struct Verified {
    /// `trusted`, `not-trusted` or `unknown`.
    pub verdict: String,
}

/// What stands in every document.
#[derive(Deserialize)]
struct Head {
    #[serde(default)]
    schema: Option<String>,
}

/// What `clocksmith fleet` passes on.
#[derive(Deserialize)]
struct Input {
    input: String,
    #[serde(default)]
    document: Option<Why>,
    #[serde(default)]
    error: Option<String>,
}

/// A document, and the input that it came from where that is said.
#[derive(Debug)]
pub struct Named {
    /// The name of the input.
    pub input: Option<String>,
    /// The document, or why there is none.
    pub document: Result<Why, DocumentError>,
}

/// Reads a document.
///
/// # Errors
/// It is none, or none that is understood.
pub fn parse(text: &[u8]) -> Result<Why, DocumentError> {
    match schema(text)?.as_str() {
        WHY => serde_json::from_slice(text).map_err(|error| broken(&error)),
        other => Err(foreign(other)),
    }
}

/// Reads a document, also one that `clocksmith fleet` passes on.
#[must_use]
pub fn parse_named(text: &[u8]) -> Named {
    if !matches!(schema(text).as_deref(), Ok(INPUT)) {
        return Named { input: None, document: parse(text) };
    }
    match serde_json::from_slice::<Input>(text) {
        Ok(Input { input, document: Some(why), .. }) => {
            Named { input: Some(input), document: Ok(why) }
        }
        Ok(Input { input, error, .. }) => {
            let why = error.unwrap_or_else(|| "it has no document".to_owned());
            Named { input: Some(input), document: Err(DocumentError::Unusable(why)) }
        }
        Err(error) => Named { input: None, document: Err(broken(&error)) },
    }
}

/// The document's schema. Where it stands first, as in every document of this program, the text is not
/// read twice.
fn schema(text: &[u8]) -> Result<String, DocumentError> {
    for known in [WHY, INPUT] {
        if begins(text, known) {
            return Ok(known.to_owned());
        }
    }
    let head: Head = serde_json::from_slice(text).map_err(|error| broken(&error))?;
    head.schema.ok_or(DocumentError::NoSchema)
}

fn begins(text: &[u8], schema: &str) -> bool {
    let mut rest = text;
    for part in ["{", "\"schema\"", ":", "\"", schema, "\""] {
        if part != schema {
            rest = rest.trim_ascii_start();
        }
        let Some(after) = rest.strip_prefix(part.as_bytes()) else { return false };
        rest = after;
    }
    true
}

fn foreign(schema: &str) -> DocumentError {
    let shown: String = schema.chars().filter(|c| !c.is_control()).take(40).collect();
    let version = schema.strip_prefix("clocksmith.why.v").and_then(|v| v.parse::<u32>().ok());
    if version.is_some_and(|version| version > 1) {
        DocumentError::Newer(shown)
    } else {
        DocumentError::OtherDocument(shown)
    }
}

fn broken(error: &serde_json::Error) -> DocumentError {
    let text = error.to_string();
    // The place within a line is the column alone.
    let text = text.replace(" at line 1 column ", " at column ");
    DocumentError::Broken(match error.classify() {
        serde_json::error::Category::Data => {
            format!("it is JSON, but not as `clocksmith why --json` writes it: {text}")
        }
        serde_json::error::Category::Eof => format!("it is cut off: {text}"),
        _ => format!("it is no JSON: {text}"),
    })
}
