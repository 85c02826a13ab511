//! Clocksource and clockevent devices of sysfs.

use serde::Serialize;

/// One `/sys/devices/system/clocksource/clocksourceN`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ClocksourceDevice {
    /// Number N.
    pub index: u32,
    /// `current_clocksource`; empty if the evidence lacks that file.
    pub current: String,
    /// `available_clocksource`, best first; empty if the evidence lacks that file.
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

impl ClocksourceDevice {
    /// From the directory's name (`clocksource0`) and the text of its two files.
    #[must_use]
    pub fn parse(directory: &str, current: &str, available: &str) -> Option<Self> {
        Some(Self {
            index: directory.strip_prefix("clocksource")?.parse().ok()?,
            // A name is one line; a second line would be printed as a separate line.
            current: current.trim().lines().next().unwrap_or_default().to_owned(),
            available: available.split_ascii_whitespace().map(str::to_owned).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_kept() {
        let device =
            ClocksourceDevice::parse("clocksource0", "tsc\n", "tsc hpet acpi_pm \n").unwrap();
        assert_eq!((device.index, device.current.as_str()), (0, "tsc"));
        assert_eq!(device.available, ["tsc", "hpet", "acpi_pm"]);
        assert!(ClocksourceDevice::parse("power", "", "").is_none());
        let two = ClocksourceDevice::parse("clocksource0", "tsc\ndemotion: hpet\n", "").unwrap();
        assert_eq!(two.current, "tsc");
    }
}
