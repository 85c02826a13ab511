//! The output of the model.

use serde::Serialize;

/// One step of the chain of rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// Short name of the rule.
    pub rule: String,
    /// The conclusion of the rule for this machine, with its evidence.
    pub because: String,
    /// The kernel function, and the versions in which the rule holds.
    pub source: String,
}

/// An input that was not known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Assumed {
    /// Name of the fact.
    pub fact: String,
    /// The value assumed.
    pub value: String,
    /// The reason for this value.
    pub why: String,
}

/// A clocksource that the model expects to be registered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Candidate {
    /// Name.
    pub name: String,
    /// Rating; 0 is unstable.
    pub rating: i32,
    /// Whether it is valid for high resolution, so that it is listed in one-shot mode.
    pub hres: bool,
    /// Whether the vDSO can read it.
    pub vdso: bool,
}

/// Whether the TSC is usable; if not, the reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TscState {
    /// Not an x86 kernel.
    NotX86,
    /// The CPU has no TSC, or the hypervisor hides it.
    NotPresent,
    /// Usable.
    Usable {
        /// Whether the watchdog watches it.
        watched: bool,
    },
    /// The kernel does not register the TSC because of `notsc`.
    NotRegistered,
    /// Marked unstable: the argument of `mark_tsc_unstable()`.
    Unstable {
        /// The kernel's reason.
        reason: String,
        /// The mark was observed, not derived from static facts.
        observed: bool,
    },
}

/// Whether one clock id is served by the vDSO.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VdsoClock {
    /// `CLOCK_MONOTONIC` and so on.
    pub clock: String,
    /// Served without a system call; `None`: only the host or the process decides.
    pub vdso: Option<bool>,
    /// The reason.
    pub why: String,
}

/// The expected behaviour of Linux on a machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Expectation {
    /// The clocksource in use, once the boot has settled.
    pub current: Option<String>,
    /// The clocksources that sysfs lists, best first.
    pub available: Option<Vec<String>>,
    /// Whether CLOCK_MONOTONIC is served without a system call; `None` if only the host decides.
    pub vdso: Option<bool>,
    /// Whether each clock id is served by the vDSO.
    pub clocks: Vec<VdsoClock>,
    /// Whether the tick is one-shot.
    pub tick_oneshot: bool,
    /// Every clocksource that registers, best first, listed or not.
    pub candidates: Vec<Candidate>,
    /// The TSC.
    pub tsc: TscState,
    /// The chain of rules.
    pub reasons: Vec<Reason>,
    /// The assumed inputs.
    pub assumed: Vec<Assumed>,
    /// Questions that static facts cannot answer, each with the evidence that would answer it.
    pub undecided: Vec<String>,
    /// Events that may change the outcome while the machine runs.
    pub at_risk: Vec<Reason>,
}

impl Expectation {
    pub(crate) fn empty() -> Self {
        Self {
            current: None,
            available: None,
            vdso: None,
            clocks: Vec::new(),
            tick_oneshot: true,
            candidates: Vec::new(),
            tsc: TscState::NotX86,
            reasons: Vec::new(),
            assumed: Vec::new(),
            undecided: Vec::new(),
            at_risk: Vec::new(),
        }
    }

    pub(crate) fn reason(
        &mut self,
        rule: &str,
        because: impl Into<String>,
        source: impl Into<String>,
    ) {
        self.reasons.push(Reason {
            rule: rule.to_owned(),
            because: because.into(),
            source: source.into(),
        });
    }
}
