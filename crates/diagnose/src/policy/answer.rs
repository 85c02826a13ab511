//! What a vendor asks of one machine, as `why --policy` reports it.

use super::{Cited, when::Needed};
use crate::report::Settle;
use serde::{Deserialize, Serialize};

/// Whether a machine is as it is asked to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Conformity {
    /// It is.
    Yes,
    /// It is supported, and the vendor prefers something else.
    Tolerated,
    /// It is not.
    No,
    /// The vendor asks nothing of such a machine.
    AsksNothing,
    /// The evidence does not say.
    Unknown,
}

impl Conformity {
    /// As it is written: `yes`, `tolerated`, `no`, `asks-nothing`, `unknown`.
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

    /// Of several demands on one machine: what is known to be wrong outweighs what is open, and that what is fine.
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

/// What a vendor asks of this machine's clocksource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PolicyAnswer {
    /// The vendor, as `--policy` takes it.
    pub vendor: String,
    /// Its name.
    pub name: String,
    /// Whether this machine is as it is asked to be.
    pub conforms: Conformity,
    /// The same in one sentence.
    pub summary: String,
    /// What is asked; several where there are several purposes, or where the evidence allows several.
    #[serde(default)]
    pub asks: Vec<AskedReport>,
    /// What was asked of such a machine before, latest first.
    #[serde(default)]
    pub before: Vec<EarlierReport>,
    /// Kernels that the vendor says to avoid, of which this one is or may be one.
    #[serde(default)]
    pub kernels: Vec<KernelReport>,
    /// Where it contradicts the measurement, or what this program finds.
    #[serde(default)]
    pub contradictions: Vec<String>,
    /// Facts that the evidence lacks and the answer depends on.
    #[serde(default)]
    pub settles: Vec<Settle>,
}

/// What one rule asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AskedReport {
    /// The machines that the rule is about.
    pub machines: String,
    /// What the rule is for, where it is for one program only.
    #[serde(default)]
    pub purpose: Option<String>,
    /// Clocksources of which any is right; empty where the rule says that nothing is asked.
    #[serde(default)]
    pub preferred: Vec<String>,
    /// Clocksources that are supported, where another one is preferred.
    #[serde(default)]
    pub tolerated: Vec<String>,
    /// Processor flags that are asked for as well where the TSC is in use.
    #[serde(default)]
    pub flags: Vec<String>,
    /// False where the evidence does not say whether this machine is one of those.
    pub applies: bool,
    /// Whether this machine is as this rule asks.
    pub conforms: Conformity,
    /// The day from which on it is known to be stated.
    pub since: String,
    /// Where.
    pub stated: Stated,
}

/// What was asked before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EarlierReport {
    /// The machines that the rule was about.
    pub machines: String,
    /// What it asked, in words.
    pub asked: String,
    /// The day from which on it is known to have been stated.
    pub since: String,
    /// The day on which another rule took its place.
    pub until: String,
    /// Where.
    pub stated: Stated,
}

/// Kernels that the vendor says to avoid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelReport {
    /// Which ones.
    pub kernels: String,
    /// What is wrong with them.
    pub fault: String,
    /// False where the evidence does not say whether this kernel is one of those.
    pub applies: bool,
    /// The day from which on it is known to be stated.
    pub since: String,
    /// Where.
    pub stated: Stated,
}

/// Where something is stated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stated {
    /// The text.
    pub text: String,
    /// Its date, as it was read.
    pub dated: String,
    /// Where it is cited second-hand: the text that was read.
    #[serde(default)]
    pub read_in: Option<String>,
    /// Few of its own words; null where they are data.
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

    /// In one line.
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
