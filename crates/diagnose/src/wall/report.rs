//! The wall clock in the report.

use crate::report::Settle;
use serde::{Deserialize, Serialize};

/// The state of the wall clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum WallState {
    /// Synchronised, as the kernel or a time daemon reports.
    Synchronised,
    /// Not synchronised, as the kernel or a time daemon reports.
    Unsynchronised,
    /// Behind the host's clock, or behind the real-time clock of this virtual machine.
    Stale,
    /// The evidence does not show it.
    #[default]
    Unknown,
}

impl WallState {
    /// The state as text: `synchronised`, `unsynchronised`, `stale`, `unknown`.
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

/// The state of the wall clock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WallClockReport {
    /// The state in one word.
    pub state: WallState,
    /// The state in one or two sentences.
    #[serde(default)]
    pub summary: String,
    /// Whether phc2sys holds the wall clock at the time of a network card's clock.
    #[serde(skip)]
    pub(crate) held_at_card: bool,
    /// The programs that steer the wall clock; `none` where all processes were seen and none is known to do so; null
    /// where the evidence does not show it.
    #[serde(default)]
    pub disciplined_by: Option<String>,
    /// The programs and drivers that set or steer it, as far as they could be seen.
    #[serde(default)]
    pub keepers: Vec<KeeperReport>,
    /// Whether all processes could be seen; otherwise programs that steer the clock may be missing in `keepers`.
    #[serde(default)]
    pub all_seen: bool,
    /// Whether the kernel reports the wall clock as synchronised (`STA_UNSYNC` is clear).
    #[serde(default)]
    pub kernel_synchronised: Option<bool>,
    /// The kernel's bound of the error, in microseconds; 16000000 is its limit.
    #[serde(default)]
    pub maxerror_us: Option<i64>,
    /// The kernel's estimate of the error, in microseconds.
    #[serde(default)]
    pub esterror_us: Option<i64>,
    /// The offset that is still to be slewed, in nanoseconds.
    #[serde(default)]
    pub offset_ns: Option<i64>,
    /// The correction of the frequency, in parts per million.
    #[serde(default)]
    pub frequency_ppm: Option<f64>,
    /// Whether the rate is at the limit that the kernel allows.
    #[serde(default)]
    pub at_limit: bool,
    /// TAI minus UTC in seconds, as set in the kernel; 0 where no program set it.
    #[serde(default)]
    pub tai_s: Option<i64>,
    /// How far the wall clock is behind the host's clock or the real-time clock, in seconds (negative: ahead); null
    /// where neither can be read.
    #[serde(default)]
    pub behind_s: Option<f64>,
    /// The clock that the wall clock is compared with: `ptp0`, `rtc_cmos`.
    #[serde(default)]
    pub behind_of: Option<String>,
    /// Whether this guest was restored from a snapshot, or is a copy, in this boot; null where the evidence does not
    /// show it.
    #[serde(default)]
    pub restored: Option<bool>,
    /// The last step of the wall clock; null where none was seen. Only `watch` sees steps as they happen.
    #[serde(default)]
    pub last_step: Option<StepReport>,
    /// Facts that would answer the open questions.
    #[serde(default)]
    pub settles: Vec<Settle>,
}

/// A program or driver that sets or steers the wall clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KeeperReport {
    /// The name of the program or driver.
    pub name: String,
    /// `steers`, `sets` (on occasions), `open` (its settings decide), `watches`.
    pub role: String,
    /// The file or line that shows it.
    #[serde(default)]
    pub source: String,
}

/// A step of the wall clock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StepReport {
    /// Size of the step in milliseconds; negative if the clock was set back.
    pub by_ms: f64,
    /// Time of the step in seconds since 1970, by the new time.
    #[serde(default)]
    pub at: Option<f64>,
    /// The evidence for the step.
    #[serde(default)]
    pub source: String,
}
