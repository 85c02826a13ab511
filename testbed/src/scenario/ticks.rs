//! Readings of a guest's clocks, as `probe watch` prints them.

use crate::qemu::process::Guest;
use anyhow::Result;
use serde::Serialize;
use std::time::{Duration, Instant};

/// How long a guest may take for an expected line.
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
    /// Reads a line, if it is one. Loading a snapshot cuts a line anywhere, so the beginning of
    /// another line may precede this one. Two halves of different lines are not a line.
    pub fn parse(line: &str) -> Option<Tick> {
        let (_, text) = line.trim().rsplit_once("tick ")?;
        let value = |name: &str| {
            let mut words = text.split(' ');
            words.find_map(|word| word.strip_prefix(name)?.strip_prefix('=')?.parse::<i64>().ok())
        };
        let tick = Tick {
            raw: value("raw")?,
            monotonic: value("monotonic")?,
            real: value("real")?,
            tsc: value("tsc")?,
        };
        (value("xor")? == tick.xor()).then_some(tick)
    }

    /// The mark that the guest adds to a reading, to show that the line is whole.
    pub fn xor(self) -> i64 {
        self.raw ^ self.monotonic ^ self.real ^ self.tsc
    }

    /// The guest's next one.
    pub fn next(guest: &Guest) -> Result<Tick> {
        let end = Instant::now() + PATIENCE;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if let Some(tick) = Tick::parse(&guest.wait_for("tick raw=", left)?) {
                return Ok(tick);
            }
        }
    }

    /// The time between an earlier reading and this one.
    pub fn since(self, earlier: Tick) -> Passed {
        Passed {
            raw: self.raw - earlier.raw,
            monotonic: self.monotonic - earlier.monotonic,
            real: self.real - earlier.real,
            tsc: self.tsc - earlier.tsc,
        }
    }
}

/// The time on each clock between two readings.
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
        let line = |raw: i64, monotonic: i64, real: i64, tsc: i64| {
            let xor = Tick { raw, monotonic, real, tsc }.xor();
            format!("tick raw={raw} monotonic={monotonic} real={real} tsc={tsc} xor={xor}")
        };
        let (one, two) = (line(1_000_000, 5, 7, 100), line(2_000_000, 1_000_505, 9, 300));
        let first = Tick::parse(&format!("|{one}\r\n")).unwrap();
        let second = Tick::parse(&two).unwrap();
        let passed = second.since(first);
        assert_eq!((passed.raw, passed.monotonic, passed.real), (1_000_000, 1_000_500, 2));
        assert!((passed.slew() - 500.0).abs() < 1e-6);
        assert!((passed.rate() - 200_000.0).abs() < 1e-6);
        assert_eq!(Tick::parse(&format!("t{two}")), Some(second));
        assert_eq!(Tick::parse(&format!("{}{two}", &one[..20])), Some(second));
        assert_eq!(Tick::parse(&format!("{}{}", &one[..14], &two[14..])), None);
        assert_eq!(Tick::parse("tick raw=1 monotonic=2"), None);
        assert_eq!(Tick::parse("tock"), None);
    }
}
