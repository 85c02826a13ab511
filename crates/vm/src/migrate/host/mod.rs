//! The properties of a host: its TSC's frequency, whether the TSC is invariant, whether it can be scaled for guests. An
//! unknown property stays unknown, and names the source that would settle it.
//!
//! This module has the record and its readers: `virsh capabilities` ([`capabilities`]), the labels of a KubeVirt node
//! ([`node`]), our own facts ([`facts`]).

pub mod capabilities;
pub mod facts;
pub mod node;

pub use clocksmith_kernel::host::{AsHost, Hardware, MAX_HZ, MIN_HZ, Tsc};
use serde::Serialize;
use thiserror::Error;

/// A host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Host {
    /// Its name, otherwise that of its file.
    pub name: String,
    /// Its counter.
    pub tsc: Option<Tsc>,
    /// Whether its processor and kernel scale a guest's TSC.
    pub scaling: Option<bool>,
    /// The processor's way to do it, if the vendor is known.
    pub hardware: Option<Hardware>,
    /// Whether its TSC is invariant (CPUID 8000_0007 EDX bit 8): guests can have `invtsc`.
    pub invariant: Option<bool>,
    /// What is not known, and what would settle it.
    pub missing: Vec<Missing>,
}

/// Something that is not known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Missing {
    /// What.
    pub fact: &'static str,
    /// What would settle it.
    pub how: String,
}

/// The reason why a file describes no host.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HostError {
    /// The file is of none of the kinds.
    #[error(
        "it is neither the output of `virsh capabilities`, nor nodes of Kubernetes (kubectl get \
         nodes -o json or yaml), nor `clocksmith why --json`, nor a bundle of `clocksmith collect`"
    )]
    Kind,
    /// The file is of a known kind, but has an error.
    #[error("{0}")]
    Broken(String),
    /// The file has no host.
    #[error("{0}")]
    Empty(String),
    /// A host without a TSC.
    #[error("it is a host with {0} processors, which have no TSC; this is about x86")]
    Foreign(String),
    /// A frequency that no processor has.
    #[error(
        "a TSC frequency of {0} is not one that a processor has: it is given in Hz, such as \
         2500000000"
    )]
    Frequency(String),
}

impl Host {
    /// Creates a host without any known property.
    #[must_use]
    pub fn unknown(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            tsc: None,
            scaling: None,
            hardware: None,
            invariant: None,
            missing: Vec::new(),
        }
    }

    /// Creates a host from its known properties; `how` names the source that would settle the others.
    fn of(name: impl Into<String>, known: AsHost, how: &str) -> Self {
        let AsHost { tsc, scaling, hardware, invariant } = known;
        Self { tsc, scaling, hardware, invariant, ..Self::unknown(name) }.settle(how)
    }

    /// Lists the unknown properties; `how` names the source that would settle them.
    fn settle(mut self, how: &str) -> Self {
        let mut missing = |known: bool, fact: &'static str| {
            if !known {
                self.missing.push(Missing { fact, how: how.to_owned() });
            }
        };
        missing(self.tsc.is_some_and(|tsc| tsc.slack_khz == 0), "TSC frequency");
        missing(self.scaling.is_some(), "TSC scaling");
        missing(self.invariant.is_some(), "invariant TSC");
        self
    }

    /// Returns the scaling hardware that is assumed for figures: AMD's has fewer fractional bits, so it is the worse
    /// one.
    #[must_use]
    pub(crate) fn hardware_or_coarser(&self) -> Hardware {
        self.hardware.unwrap_or(Hardware::Svm)
    }
}

/// Parses a frequency in Hz. Hosts keep it in kHz, truncated.
///
/// # Errors
/// Returns an error if the text is not a number, or not a frequency that a TSC can have.
pub fn frequency(text: &str) -> Result<u64, HostError> {
    let hz: u64 = text.trim().parse().map_err(|_| {
        let shown: String = clocksmith_facts::visible::line(text).chars().take(40).collect();
        HostError::Frequency(format!("\"{shown}\""))
    })?;
    if (MIN_HZ..=MAX_HZ).contains(&hz) {
        Ok(hz)
    } else {
        Err(HostError::Frequency(format!("{hz} Hz")))
    }
}

fn exact(hz: u64) -> Option<Tsc> {
    Some(Tsc { khz: u32::try_from(hz / 1000).ok()?, slack_khz: 0 })
}

/// Reads hosts from a text, whose kind is recognised by its beginning. `name` is used for a host without a name.
///
/// # Errors
/// Returns an error if the text is of no known kind, or has no host.
pub fn parse(name: &str, text: &str) -> Result<Vec<Host>, HostError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    match text.trim_start().as_bytes().first() {
        Some(b'<') => capabilities::parse(name, text).map(|host| vec![host]),
        Some(b'{') => match facts::parse_report(name, text)? {
            Some(host) => Ok(vec![host]),
            None => node::parse_json(text),
        },
        Some(_) => node::parse_yaml(text),
        None => Err(HostError::Empty("it is empty".to_owned())),
    }
}

#[cfg(test)]
mod tests;
