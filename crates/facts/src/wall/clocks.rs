//! The clocks of one moment: the wall clock, the clock since boot, the real-time clock, the host's clock.

use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// The clocks of one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Clocks {
    /// `CLOCK_REALTIME` in nanoseconds.
    pub realtime_ns: i64,
    /// `CLOCK_BOOTTIME` in nanoseconds.
    pub boottime_ns: i64,
    /// `CLOCK_MONOTONIC` in nanoseconds.
    pub monotonic_ns: i64,
    /// The real-time clock, if there is one that can be read.
    pub rtc: Option<Rtc>,
    /// The host's wall clock, if a PTP clock shows it.
    pub host: Option<HostClock>,
}

/// A real-time clock.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rtc {
    /// The driver: `rtc_cmos`.
    pub name: String,
    /// How far it is ahead of `CLOCK_REALTIME`, in nanoseconds, taken as UTC. It counts whole seconds, so the error is up
    /// to a second.
    pub ahead_ns: i64,
    /// It keeps local time, by `/etc/adjtime`.
    pub local: bool,
}

/// The host's wall clock.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostClock {
    /// `ptp0`.
    pub device: String,
    /// How far it is ahead of `CLOCK_REALTIME`, in nanoseconds.
    pub ahead_ns: i64,
    /// The reading lay between two of `CLOCK_REALTIME` that were so far apart, in nanoseconds: the error of `ahead_ns`.
    pub window_ns: i64,
}

impl Clocks {
    /// Seconds since the machine was started, with those in which it slept.
    #[must_use]
    pub fn up_s(&self) -> f64 {
        // Less than 2^53 ns is 104 days; beyond, the rounding is far below a second.
        #[allow(clippy::cast_precision_loss)]
        let seconds = self.boottime_ns as f64 / 1e9;
        seconds
    }

    /// Parses `name: value` lines as [`Clocks`] displays them.
    ///
    /// # Errors
    /// Returns an error that names a missing field.
    pub fn parse(text: &str) -> Result<Self, String> {
        let fields: BTreeMap<&str, &str> = text
            .lines()
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.trim(), value.trim()))
            .collect();
        let number = |name: &str| fields.get(name).and_then(|value| value.parse::<i64>().ok());
        let needed = |name: &str| number(name).ok_or_else(|| format!("no field {name:?}"));
        let word =
            |name: &str| fields.get(name).map_or_else(String::new, |text| (*text).to_owned());
        Ok(Self {
            realtime_ns: needed("realtime_ns")?,
            boottime_ns: needed("boottime_ns")?,
            monotonic_ns: needed("monotonic_ns")?,
            rtc: number("rtc_ahead_ns").map(|ahead_ns| Rtc {
                name: word("rtc_name"),
                ahead_ns,
                local: word("rtc_local") == "yes",
            }),
            host: number("host_ahead_ns").map(|ahead_ns| HostClock {
                device: word("host_device"),
                ahead_ns,
                window_ns: number("host_window_ns").unwrap_or(0),
            }),
        })
    }
}

impl fmt::Display for Clocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { realtime_ns, boottime_ns, monotonic_ns, rtc, host } = self;
        writeln!(f, "realtime_ns: {realtime_ns}\nboottime_ns: {boottime_ns}")?;
        writeln!(f, "monotonic_ns: {monotonic_ns}")?;
        if let Some(Rtc { name, ahead_ns, local }) = rtc {
            let local = if *local { "yes" } else { "no" };
            writeln!(f, "rtc_name: {name}\nrtc_ahead_ns: {ahead_ns}\nrtc_local: {local}")?;
        }
        if let Some(HostClock { device, ahead_ns, window_ns }) = host {
            writeln!(f, "host_device: {device}\nhost_ahead_ns: {ahead_ns}")?;
            writeln!(f, "host_window_ns: {window_ns}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn text_survives(clocks: (i64, i64, i64), rtc: Option<(i64, bool)>, host: Option<(i64, i64)>) {
            let clocks = Clocks {
                realtime_ns: clocks.0,
                boottime_ns: clocks.1,
                monotonic_ns: clocks.2,
                rtc: rtc.map(|(ahead_ns, local)| Rtc { name: "rtc_cmos".into(), ahead_ns, local }),
                host: host.map(|(ahead_ns, window_ns)| HostClock {
                    device: "ptp0".into(), ahead_ns, window_ns,
                }),
            };
            prop_assert_eq!(Clocks::parse(&clocks.to_string()), Ok(clocks));
        }

        #[test]
        fn any_text(text in "[a-z_:0-9 \n-]{0,160}") {
            let _ = Clocks::parse(&text);
        }
    }

    #[test]
    fn parse_without_a_clock_says_which() {
        assert!(Clocks::parse("realtime_ns: 1\n").unwrap_err().contains("boottime_ns"));
    }
}
