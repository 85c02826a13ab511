//! What the machine says of its wall clock: who sets and steers it, what else knows the time, and whether this guest was
//! restored.
//!
//! What lives here: the parsers of the texts that the probes give and of the files that programs keep. What must not:
//! which of them is right (`clocksmith-diagnose`).

mod chrony;
mod chronyc;
mod clocks;
mod correction;
mod dates;
mod hosts_differ;
mod keepers;
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

pub use chrony::ChronyConfig;
pub(crate) use chronyc::TRACKING;
pub use clocks::{Clocks, HostClock, Rtc};
pub use correction::Correction;
pub use dates::{Apart, date_seconds};
pub(crate) use dates::{ahead_of_utc, date_of};
pub use keepers::{HV_UTILS, Keeper, Keepers, Role, by_name, is_program};
pub use places::Places;
pub use ptp::{Phc, PortState, PtpPort};
pub use remark::{Remark, What};
pub use source::TimeSource;
pub use tools::Tools;

use crate::Fact;
use serde::Serialize;

/// What is known of the wall clock beside the kernel's discipline ([`crate::ntp::NtpState`]).
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct WallClock {
    /// The clocks of one moment, and what else knows the time.
    pub clocks: Fact<Clocks>,
    /// What sets or steers the wall clock.
    pub keepers: Fact<Keepers>,
    /// chrony's configuration.
    pub chrony: Fact<ChronyConfig>,
    /// PTP clocks (`ptp0`), with their names.
    pub ptp: Fact<Vec<PtpClock>>,
    /// Whether there is a virtual machine generation id; `false`: the firmware's devices are known and it is not one of
    /// them.
    pub generation_id: Fact<bool>,
    /// What a time daemon says of its source, in a pasted text or a sosreport.
    pub source: Fact<TimeSource>,
    /// How far the real-time clock is ahead of the universal time in the output of timedatectl, in seconds.
    pub shown_rtc_ahead_s: Fact<i64>,
    /// Whether a service of NTP is active, by timedatectl.
    pub ntp_service: Fact<bool>,
    /// Whether the real-time clock keeps local time, by timedatectl.
    pub rtc_local: Fact<bool>,
    /// What a hypervisor's tools say of their own synchronisation.
    pub tools: Fact<Tools>,
    /// Two outputs of `date` of one moment, from two places.
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
    /// Whether it is the clock of the host, in UTC, of this virtual machine: `ptp_kvm_common.c`, `hv_util.c`.
    #[must_use]
    pub fn is_of_the_host(&self) -> bool {
        names_the_host(&self.name)
    }
}

/// Whether a PTP clock of this name shows the host's wall clock in UTC.
#[must_use]
pub fn names_the_host(name: &str) -> bool {
    matches!(name.trim(), "KVM virtual PTP" | "hyperv")
}
