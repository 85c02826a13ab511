//! The evidence about the wall clock: the programs that set and steer it, other clocks, and whether this guest was
//! restored.
//!
//! Contents: the parsers of the probes' texts and of programs' files. Not in this module: the decision which of
//! them is right (`clocksmith-diagnose`).

mod choice;
mod chrony;
mod chronyc;
mod clocks;
mod correction;
mod dates;
mod hosts_differ;
mod keepers;
mod moved;
mod ntpq;
mod peers;
mod places;
mod programs;
mod ptp;
mod remark;
mod source;
mod table;
mod timesync;
mod tools;

pub use choice::{Outvoted, Rejected};
pub use chrony::ChronyConfig;
pub(crate) use chronyc::TRACKING;
pub use clocks::{Clocks, HostClock, Rtc};
pub use correction::Correction;
pub use dates::{Apart, date_seconds};
pub(crate) use dates::{ahead_of_utc, date_of};
pub use keepers::{HV_UTILS, Keeper, Keepers, Role, by_name, is_program};
pub use places::Places;
pub use ptp::{Phc, PortState, PtpPort};
pub use remark::{Remark, What, known_words};
pub use source::TimeSource;
pub use tools::Tools;

use crate::Fact;
use serde::Serialize;

/// The facts about the wall clock other than the kernel's discipline ([`crate::ntp::NtpState`]).
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct WallClock {
    /// The clocks at one moment, and other clocks.
    pub clocks: Fact<Clocks>,
    /// The programs that set or steer the wall clock.
    pub keepers: Fact<Keepers>,
    /// chrony's configuration.
    pub chrony: Fact<ChronyConfig>,
    /// PTP clocks (`ptp0`), with their names.
    pub ptp: Fact<Vec<PtpClock>>,
    /// Whether there is a virtual machine generation id; `false`: the firmware's devices are known and do not include
    /// one.
    pub generation_id: Fact<bool>,
    /// The statements of a time daemon about its source, in a pasted text or a sosreport.
    pub source: Fact<TimeSource>,
    /// Seconds by which the real-time clock is ahead of the universal time in the output of timedatectl.
    pub shown_rtc_ahead_s: Fact<i64>,
    /// Whether an NTP service is active, according to timedatectl.
    pub ntp_service: Fact<bool>,
    /// Whether the real-time clock keeps local time, according to timedatectl.
    pub rtc_local: Fact<bool>,
    /// The settings of a hypervisor's tools for synchronisation.
    pub tools: Fact<Tools>,
    /// Two outputs of `date` at one moment, from two places.
    pub apart: Fact<Apart>,
}

/// A PTP clock of sysfs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PtpClock {
    /// `ptp0`.
    pub device: String,
    /// `KVM virtual PTP`, `hyperv`, or a network card's.
    pub name: String,
}

impl PtpClock {
    /// Whether it is the clock of this virtual machine's host, in UTC: `ptp_kvm_common.c`, `hv_util.c`.
    #[must_use]
    pub fn is_of_the_host(&self) -> bool {
        names_the_host(&self.name)
    }
}

/// Whether a PTP clock of this name shows the host's wall clock in UTC.
#[must_use]
pub(crate) fn names_the_host(name: &str) -> bool {
    matches!(name.trim(), "KVM virtual PTP" | "hyperv")
}
