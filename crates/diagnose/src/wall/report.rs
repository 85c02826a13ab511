//! What the report says of the wall clock.

use crate::report::Settle;
use serde::{Deserialize, Serialize};

/// How the wall clock is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum WallState {
    /// The kernel or a time daemon says that it is synchronised.
    Synchronised,
    /// The kernel or a time daemon says that it is not.
    Unsynchronised,
    /// It is behind the host's clock, or behind the real-time clock of this virtual machine.
    Stale,
    /// The evidence does not say.
    #[default]
    Unknown,
}

impl WallState {
    /// As it is written: `synchronised`, `unsynchronised`, `stale`, `unknown`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Synchronised => "synchronised",
            Self::Unsynchronised => "unsynchronised",
            Self::Stale => "stale",
            Self::Unknown => "unknown",
        }
    }
}

/// The wall clock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WallClockReport {
    /// How it is.
    pub state: WallState,
    /// The same in one or two sentences.
    #[serde(default)]
    pub summary: String,
    /// The programs that steer it, `none` where all processes were seen and none is known to do so; null where the
    /// evidence does not say.
    #[serde(default)]
    pub disciplined_by: Option<String>,
    /// What sets or steers it, as far as it was seen.
    #[serde(default)]
    pub keepers: Vec<KeeperReport>,
    /// Whether every process was seen; otherwise more may keep it than `keepers` says.
    #[serde(default)]
    pub all_seen: bool,
    /// Whether the kernel says that it is synchronised (`STA_UNSYNC` is clear).
    #[serde(default)]
    pub kernel_synchronised: Option<bool>,
    /// The kernel's bound of the error, in microseconds; 16000000 is its limit.
    #[serde(default)]
    pub maxerror_us: Option<i64>,
    /// The kernel's estimate of the error, in microseconds.
    #[serde(default)]
    pub esterror_us: Option<i64>,
    /// What is still to be slewed, in nanoseconds.
    #[serde(default)]
    pub offset_ns: Option<i64>,
    /// The correction of the frequency, in parts per million.
    #[serde(default)]
    pub frequency_ppm: Option<f64>,
    /// Whether the rate is steered as far as the kernel allows.
    #[serde(default)]
    pub at_limit: bool,
    /// TAI less UTC in seconds, as the kernel was told; 0 where nothing told it.
    #[serde(default)]
    pub tai_s: Option<i64>,
    /// How far it is behind the host's clock or the real-time clock, in seconds (negative: ahead); null where neither
    /// can be read.
    #[serde(default)]
    pub behind_s: Option<f64>,
    /// What it is behind of: `ptp0`, `rtc_cmos`.
    #[serde(default)]
    pub behind_of: Option<String>,
    /// Whether this guest was restored from a snapshot, or is a copy, in this boot; null where the evidence does not
    /// say.
    #[serde(default)]
    pub restored: Option<bool>,
    /// Its last step; null where none was seen. Only `watch` sees steps as they happen.
    #[serde(default)]
    pub last_step: Option<StepReport>,
    /// What would settle what is open.
    #[serde(default)]
    pub settles: Vec<Settle>,
}

/// Something that sets or steers the wall clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KeeperReport {
    /// The program, or the driver.
    pub name: String,
    /// `steers`, `sets` (on occasions), `open` (its settings decide), `watches`.
    pub role: String,
    /// Where it was seen.
    #[serde(default)]
    pub source: String,
}

/// A step of the wall clock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StepReport {
    /// By how much it was set, in milliseconds; negative: back.
    pub by_ms: f64,
    /// When, in seconds since 1970 by the clock that was set.
    #[serde(default)]
    pub at: Option<f64>,
    /// Where it was seen.
    #[serde(default)]
    pub source: String,
}
