//! A vendor's rules for one machine, as `why --policy` reports them.

use super::{Cited, when::Needed};
use crate::report::Settle;
use serde::{Deserialize, Serialize};

/// Whether a machine conforms to a rule of a vendor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Conformity {
    /// The machine conforms.
    Yes,
    /// The machine is supported, but the vendor prefers another clocksource.
    Tolerated,
    /// The machine does not conform.
    No,
    /// The vendor has no rule for such a machine.
    AsksNothing,
    /// The evidence does not show it.
    Unknown,
}

impl Conformity {
    /// The conformity as text: `yes`, `tolerated`, `no`, `asks-nothing`, `unknown`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::Tolerated => "tolerated",
            Self::No => "no",
            Self::AsksNothing => "asks-nothing",
            Self::Unknown => "unknown",
        }
    }

    /// Combines several demands on one machine: a known violation outweighs an open demand, and that outweighs
    /// conformity.
    #[must_use]
    pub(super) fn and(self, other: Self) -> Self {
        let rank = |conformity| match conformity {
            Self::AsksNothing => 0,
            Self::Yes => 1,
            Self::Tolerated => 2,
            Self::Unknown => 3,
            Self::No => 4,
        };
        if rank(other) > rank(self) { other } else { self }
    }
}

/// The rules of a vendor for this machine, and whether it conforms.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PolicyAnswer {
    /// The vendor, as `--policy` takes it.
    pub vendor: String,
    /// The name of the vendor.
    pub name: String,
    /// Whether this machine conforms.
    pub conforms: Conformity,
    /// The answer in one sentence.
    pub summary: String,
    /// The rules that apply; several where there are several purposes, or where the evidence allows several.
    #[serde(default)]
    pub asks: Vec<AskedReport>,
    /// Earlier rules for such a machine, latest first.
    #[serde(default)]
    pub before: Vec<EarlierReport>,
    /// Kernels that the vendor says to avoid, if this kernel is or may be one of them.
    #[serde(default)]
    pub kernels: Vec<KernelReport>,
    /// Contradictions between the rules and the measurement or the diagnosis.
    #[serde(default)]
    pub contradictions: Vec<String>,
    /// Missing facts on which the answer depends.
    #[serde(default)]
    pub settles: Vec<Settle>,
}

/// One rule of a vendor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AskedReport {
    /// The machines that the rule is about.
    pub machines: String,
    /// The purpose of the rule, if it is for one program only.
    #[serde(default)]
    pub purpose: Option<String>,
    /// Clocksources that the rule recommends, each equally; empty where the rule asks nothing.
    #[serde(default)]
    pub preferred: Vec<String>,
    /// Clocksources that are supported, where another one is preferred.
    #[serde(default)]
    pub tolerated: Vec<String>,
    /// Processor flags that the rule also asks for if the TSC is in use.
    #[serde(default)]
    pub flags: Vec<String>,
    /// False where the evidence does not show whether the rule is about this machine.
    pub applies: bool,
    /// Whether this machine conforms to the rule.
    pub conforms: Conformity,
    /// The earliest day on which the rule is known to be stated.
    pub since: String,
    /// Where the rule is stated.
    pub stated: Stated,
}

/// An earlier rule of a vendor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EarlierReport {
    /// The machines that the rule was about.
    pub machines: String,
    /// The rule, in words.
    pub asked: String,
    /// The earliest day on which the rule is known to be stated.
    pub since: String,
    /// The day on which another rule replaced it.
    pub until: String,
    /// Where the rule was stated.
    pub stated: Stated,
}

/// Kernels that the vendor says to avoid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelReport {
    /// The versions of these kernels.
    pub kernels: String,
    /// The fault of these kernels.
    pub fault: String,
    /// False where the evidence does not show whether this kernel is one of them.
    pub applies: bool,
    /// The earliest day on which the advice is known to be stated.
    pub since: String,
    /// Where the advice is stated.
    pub stated: Stated,
}

/// The place where a vendor states a rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stated {
    /// The title or address of the text.
    pub text: String,
    /// The date of the text when it was read.
    pub dated: String,
    /// The text that was read, if it only cites the statement.
    #[serde(default)]
    pub read_in: Option<String>,
    /// A short quotation; null where the text is data.
    #[serde(default)]
    pub words: Option<String>,
}

impl Stated {
    pub(crate) fn of(source: &Cited) -> Self {
        Self {
            text: source.text.to_owned(),
            dated: source.dated.to_owned(),
            read_in: source.read_in.map(str::to_owned),
            words: Some(source.words.to_owned()).filter(|words| !words.is_empty()),
        }
    }

    /// The statement in one line.
    #[must_use]
    pub fn line(&self) -> String {
        match &self.read_in {
            Some(other) => format!("{}, cited second-hand: {other} ({})", self.text, self.dated),
            None => format!("{} ({})", self.text, self.dated),
        }
    }
}

impl From<Needed> for Settle {
    fn from(needed: Needed) -> Self {
        Self { fact: needed.fact.to_owned(), how: needed.how.to_owned() }
    }
}
