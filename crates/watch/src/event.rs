//! Events of the clocks, as the history keeps them.

use crate::judge::State;
use serde::{Deserialize, Serialize};

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The watch started.
    Started,
    /// Another clocksource came into use.
    ClocksourceChange,
    /// The list of available clocksources changed.
    AvailableChange,
    /// The kernel demoted a clocksource, according to its log.
    Demotion,
    /// The read cost changed clearly.
    CostChange,
    /// Counters or clocks went backwards, or differ between processors.
    Warp,
    /// The machine was stopped, or its clocks could not be read for a while.
    Stall,
    /// The state changed.
    StateChange,
    /// The kernel log reports an event that sysfs contradicts: it did not happen.
    ContradictedEvidence,
    /// The wall clock was set.
    WallClockStep,
    /// The kernel reports the wall clock as synchronised, or no longer does.
    WallClockSync,
    /// This guest was restored from a snapshot, copied, paused or moved.
    Restored,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 12] = [
        Self::Started,
        Self::ClocksourceChange,
        Self::AvailableChange,
        Self::Demotion,
        Self::CostChange,
        Self::Warp,
        Self::Stall,
        Self::StateChange,
        Self::ContradictedEvidence,
        Self::WallClockStep,
        Self::WallClockSync,
        Self::Restored,
    ];

    /// Returns the name in labels: `clocksource-change`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Started => "started",
            Self::ClocksourceChange => "clocksource-change",
            Self::AvailableChange => "available-change",
            Self::Demotion => "demotion",
            Self::CostChange => "cost-change",
            Self::Warp => "warp",
            Self::Stall => "stall",
            Self::StateChange => "state-change",
            Self::ContradictedEvidence => "contradicted-evidence",
            Self::WallClockStep => "wall-clock-step",
            Self::WallClockSync => "wall-clock-sync",
            Self::Restored => "restored",
        }
    }

    /// Returns the title in the page.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Started => "Watch began",
            Self::ClocksourceChange => "Clocksource changed",
            Self::AvailableChange => "Available clocksources changed",
            Self::Demotion => "Clocksource demoted",
            Self::CostChange => "Cost of a read changed",
            Self::Warp => "Clocks disagree",
            Self::Stall => "Stall",
            Self::StateChange => "State changed",
            Self::ContradictedEvidence => "Log contradicts sysfs",
            Self::WallClockStep => "Wall clock set",
            Self::WallClockSync => "Wall clock synchronised, or not",
            Self::Restored => "Guest restored or paused",
        }
    }
}

/// The reason for an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reason {
    /// Id of a cause for `clocksmith explain`; `None` if it is not known.
    pub cause: Option<String>,
    /// The reason in a sentence.
    pub text: String,
    /// The evidence: a line of the kernel log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
}

/// One event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Event {
    /// Seconds since 1970.
    pub time: f64,
    /// The kind of the event.
    pub kind: Kind,
    /// The severity of the event.
    pub state: State,
    /// One line for people.
    pub text: String,
    /// The previous state, where it has a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The present state, where it has a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The reason for the event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// Identity of the boot; with `Kind::Started`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot: Option<String>,
}

impl Event {
    /// An event without further fields.
    #[must_use]
    pub fn new(time: f64, kind: Kind, state: State, text: impl Into<String>) -> Self {
        Self {
            time,
            kind,
            state,
            text: text.into(),
            from: None,
            to: None,
            reason: None,
            boot: None,
        }
    }

    /// Returns one line for a log: the event and its reason.
    #[must_use]
    pub fn line(&self) -> String {
        match &self.reason {
            Some(reason) => {
                let id = reason.cause.as_ref().map_or_else(String::new, |id| format!(" [{id}]"));
                format!("{}: {}{id}", self.text, reason.text)
            }
            None => self.text.clone(),
        }
    }
}
