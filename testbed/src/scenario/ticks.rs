//! Readings of a guest's clocks, as `probe watch` prints them.

use crate::qemu::process::Guest;
use anyhow::{Context, Result};
use serde::Serialize;
use std::time::Duration;

/// How long a guest may take to say what it is waited for.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// One reading; all clocks are in nanoseconds, the counter in its cycles.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Tick {
    /// CLOCK_MONOTONIC_RAW
    pub raw: i64,
    /// CLOCK_MONOTONIC
    pub monotonic: i64,
    /// CLOCK_REALTIME
    pub real: i64,
    /// The TSC.
    pub tsc: i64,
}

impl Tick {
    /// Reads a line, if it is one.
    pub fn parse(line: &str) -> Option<Tick> {
        let text = line.trim().trim_start_matches('|').strip_prefix("tick ")?;
        let value = |name: &str| {
            let mut words = text.split(' ');
            words.find_map(|word| word.strip_prefix(name)?.strip_prefix('=')?.parse::<i64>().ok())
        };
        Some(Tick {
            raw: value("raw")?,
            monotonic: value("monotonic")?,
            real: value("real")?,
            tsc: value("tsc")?,
        })
    }

    /// The guest's next one.
    pub fn next(guest: &Guest) -> Result<Tick> {
        let line = guest.wait_for("tick raw=", PATIENCE)?;
        Tick::parse(&line).with_context(|| format!("the guest's line `{line}` is no reading"))
    }

    /// What passed between an earlier reading and this one.
    pub fn since(self, earlier: Tick) -> Passed {
        Passed {
            raw: self.raw - earlier.raw,
            monotonic: self.monotonic - earlier.monotonic,
            real: self.real - earlier.real,
            tsc: self.tsc - earlier.tsc,
        }
    }
}

/// What passed on each clock between two readings.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Passed {
    /// On CLOCK_MONOTONIC_RAW.
    pub raw: i64,
    /// On CLOCK_MONOTONIC.
    pub monotonic: i64,
    /// On CLOCK_REALTIME.
    pub real: i64,
    /// On the TSC, in cycles.
    pub tsc: i64,
}

impl Passed {
    /// How much faster CLOCK_MONOTONIC ran than CLOCK_MONOTONIC_RAW, in millionths.
    pub fn slew(self) -> f64 {
        if self.raw == 0 { 0.0 } else { (self.monotonic - self.raw) as f64 / self.raw as f64 * 1e6 }
    }

    /// Seconds on CLOCK_MONOTONIC.
    pub fn seconds(self) -> f64 {
        self.monotonic as f64 / 1e9
    }

    /// Cycles of the TSC per second of CLOCK_MONOTONIC_RAW.
    pub fn rate(self) -> f64 {
        self.tsc as f64 / (self.raw as f64 / 1e9)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_readings_and_readings_differences() {
        let first = Tick::parse("|tick raw=1000000 monotonic=5 real=7 tsc=100\r\n").unwrap();
        let second = Tick::parse("tick raw=2000000 monotonic=1000505 real=9 tsc=300").unwrap();
        let passed = second.since(first);
        assert_eq!((passed.raw, passed.monotonic, passed.real), (1_000_000, 1_000_500, 2));
        assert!((passed.slew() - 500.0).abs() < 1e-6);
        assert!((passed.rate() - 200_000.0).abs() < 1e-6);
        assert_eq!(Tick::parse("tick raw=1 monotonic=2"), None);
        assert_eq!(Tick::parse("tock"), None);
    }
}
