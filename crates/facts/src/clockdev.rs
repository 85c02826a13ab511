//! Clocksource and clockevent devices of sysfs.

use serde::Serialize;

/// One `/sys/devices/system/clocksource/clocksourceN`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ClocksourceDevice {
    /// Number N.
    pub index: u32,
    /// `current_clocksource`.
    pub current: String,
    /// `available_clocksource`, best first.
    pub available: Vec<String>,
}

/// One `/sys/devices/system/clockevents/clockeventN` (or `broadcast`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ClockeventDevice {
    /// Directory name.
    pub name: String,
    /// `current_device`.
    pub device: String,
}
