//! A vDSO of this project in a process, as `clocksmith run` and `who --exact` map it: which one it is, and the
//! addresses of its functions. Everything is read from the memory of the process and is not trusted.

use super::vdso::Vdso;
use crate::clock::{Api, ClockId};
use clocksmith_raw::layout::{BY_CALL, Config, FRONT, MAGIC, Mode, ORDERED};
use serde::Serialize;
use std::mem::offset_of;
use std::ops::Range;

/// The clock that `clocksmith run` gave to a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum OwnClock {
    /// A line over the counter (`clocksmith run`).
    Disciplined,
    /// The kernel's coarse clocks (`clocksmith run --source coarse`).
    Coarse,
    /// A clock that takes longer than the kernel's (`clocksmith run --as`).
    Slow,
}

impl OwnClock {
    /// Returns whether it serves a read; other reads go to the kernel's vDSO.
    #[must_use]
    pub fn serves(self, api: Api, clock: Option<ClockId>) -> bool {
        let clock = match api {
            Api::Time | Api::Rdtsc | Api::Rdtscp => return false,
            Api::Gettimeofday => return true,
            Api::ClockGettime => clock.unwrap_or(ClockId::MONOTONIC),
        };
        match self {
            Self::Coarse => matches!(clock, ClockId::MONOTONIC | ClockId::REALTIME),
            Self::Disciplined => {
                matches!(clock, ClockId::MONOTONIC | ClockId::REALTIME | ClockId::BOOTTIME)
            }
            Self::Slow => matches!(
                clock,
                ClockId::MONOTONIC
                    | ClockId::REALTIME
                    | ClockId::BOOTTIME
                    | ClockId::MONOTONIC_RAW
                    | ClockId::TAI
            ),
        }
    }

    /// Whether it passes its reads on to functions of the kernel's vDSO.
    #[must_use]
    pub fn passes_on(self) -> bool {
        matches!(self, Self::Coarse | Self::Slow)
    }

    /// In words, after the name of a program.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Disciplined => "already runs on the fast clock (clocksmith run)",
            Self::Coarse => "already runs on the coarse clock (clocksmith run --source coarse)",
            Self::Slow => {
                "runs as if its clock were slow (clocksmith run --as): costs are those of that clock"
            }
        }
    }
}

/// The settings that determine the cost of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The mode.
    pub mode: Mode,
    /// Whether reads are ordered.
    pub ordered: bool,
    /// In [`Mode::Slow`]: whether each read is a system call.
    pub by_call: bool,
    /// Nanoseconds per cycle, times 2^48.
    pub rate: u64,
    /// In [`Mode::Slow`]: the cycles that a read takes at least.
    pub least: u64,
    /// In [`Mode::Slow`]: the cycles that a read takes more.
    pub extra: u64,
}

/// The name of the vDSO on stacks.
pub const MODULE: &str = "[clocksmith]";
/// Rates that counters have: 1 MHz to 100 GHz.
const POSSIBLE: Range<u64> = 1 << 41..1_100 << 48;
/// The longest read that `run --as` accepts is a second; the rest allows for rounding to cycles.
const LONGEST_NS: f64 = 1.001e9;

impl Settings {
    /// Reads the page of settings; `None` if it is not one, or has impossible values.
    #[must_use]
    pub fn parse(page: &[u8]) -> Option<Self> {
        let long = |at: usize| -> Option<u64> {
            Some(u64::from_le_bytes(page.get(at..at.checked_add(8)?)?.try_into().ok()?))
        };
        let short = |at: usize| -> Option<u32> {
            Some(u32::from_le_bytes(page.get(at..at.checked_add(4)?)?.try_into().ok()?))
        };
        if long(offset_of!(Config, magic))? != MAGIC {
            return None;
        }
        let modes = [Mode::Pass, Mode::Count, Mode::Line, Mode::Coarse, Mode::Slow];
        let number = short(offset_of!(Config, mode))?;
        let mode = modes.into_iter().find(|mode| *mode as u32 == number)?;
        let flags = short(offset_of!(Config, flags))?;
        let rate = long(offset_of!(Config, rate))?;
        if !POSSIBLE.contains(&rate) {
            return None;
        }
        // The other clocks ignore these settings, so that the settings do not affect the cost.
        let of_slow = |at: usize| if mode == Mode::Slow { long(at) } else { Some(0) };
        let settings = Self {
            mode,
            ordered: flags & ORDERED != 0,
            by_call: flags & BY_CALL != 0,
            rate,
            least: of_slow(offset_of!(Config, least))?,
            extra: of_slow(offset_of!(Config, extra))?,
        };
        let longest = settings.ns(settings.least).max(settings.ns(settings.extra));
        (longest <= LONGEST_NS).then_some(settings)
    }

    /// The clock; `None` for a vDSO that gives every read to the kernel's.
    #[must_use]
    pub fn clock(&self) -> Option<OwnClock> {
        match self.mode {
            Mode::Pass | Mode::Count => None,
            Mode::Line => Some(OwnClock::Disciplined),
            Mode::Coarse => Some(OwnClock::Coarse),
            Mode::Slow => Some(OwnClock::Slow),
        }
    }

    /// Cycles of the counter, in nanoseconds.
    #[must_use]
    pub fn ns(&self, cycles: u64) -> f64 {
        cycles as f64 * self.rate as f64 / (1u64 << 48) as f64
    }
}

/// The vDSO of this project in one process.
#[derive(Clone, Debug)]
pub struct Ours {
    /// Where it is, and its functions.
    pub vdso: Vdso,
    /// Its settings.
    pub settings: Settings,
}

impl Ours {
    /// The clock; `None` if every read goes to the kernel's vDSO.
    #[must_use]
    pub fn clock(&self) -> Option<OwnClock> {
        self.settings.clock()
    }

    /// The function that a stack shows to have been called: the outermost one of this vDSO.
    #[must_use]
    pub fn api(&self, stack: &[u64]) -> Option<Api> {
        let own = stack.iter().rev().find(|address| self.vdso.range.contains(address))?;
        self.vdso.exact_function(*own)?.api
    }
}

/// Where the settings of a vDSO that begins at an address are.
#[must_use]
pub fn settings_of(begin: u64) -> Option<u64> {
    begin.checked_sub(FRONT as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn page(mode: u32, flags: u32, rate: u64) -> Vec<u8> {
        let mut page = vec![0; size_of::<Config>()];
        page[..8].copy_from_slice(&MAGIC.to_le_bytes());
        page[8..12].copy_from_slice(&mode.to_le_bytes());
        page[12..16].copy_from_slice(&flags.to_le_bytes());
        let at = offset_of!(Config, rate);
        page[at..at + 8].copy_from_slice(&rate.to_le_bytes());
        page
    }

    #[test]
    fn parse_settings_of_each_mode_gives_its_clock() {
        let of =
            |mode: Mode| Settings::parse(&page(mode as u32, ORDERED, 1 << 47)).unwrap().clock();
        assert_eq!(of(Mode::Count), None);
        assert_eq!(of(Mode::Line), Some(OwnClock::Disciplined));
        assert_eq!(of(Mode::Coarse), Some(OwnClock::Coarse));
        assert_eq!(of(Mode::Slow), Some(OwnClock::Slow));
        assert_eq!(Settings::parse(&page(9, 0, 1 << 47)), None);
        // A rate that no counter has.
        assert_eq!(Settings::parse(&page(2, 0, 0)), None);
        assert_eq!(Settings::parse(&page(2, 0, u64::MAX)), None);
        assert_eq!(Settings::parse(&[0; 4096]), None);
    }

    #[test]
    fn parse_costs_are_those_of_a_slow_clock_alone_and_at_most_a_second() {
        let of = |mode: Mode, least: u64, extra: u64| {
            let mut page = page(mode as u32, 0, 1 << 48);
            for (at, value) in
                [(offset_of!(Config, least), least), (offset_of!(Config, extra), extra)]
            {
                page[at..at + 8].copy_from_slice(&value.to_le_bytes());
            }
            Settings::parse(&page)
        };
        assert_eq!(of(Mode::Line, u64::MAX, u64::MAX), of(Mode::Line, 0, 0));
        assert_eq!(of(Mode::Slow, 1_000_000_000, 5).unwrap().least, 1_000_000_000);
        assert_eq!(of(Mode::Slow, 2_000_000_000, 0), None);
        assert_eq!(of(Mode::Slow, 0, u64::MAX), None);
    }

    #[test]
    fn serves_by_clock() {
        let gettime = |own: OwnClock, clock| own.serves(Api::ClockGettime, Some(clock));
        assert!(gettime(OwnClock::Disciplined, ClockId::BOOTTIME));
        assert!(!gettime(OwnClock::Disciplined, ClockId::TAI));
        assert!(!gettime(OwnClock::Coarse, ClockId::BOOTTIME));
        assert!(gettime(OwnClock::Slow, ClockId::TAI));
        assert!(!gettime(OwnClock::Slow, ClockId::THREAD_CPUTIME));
        assert!(!OwnClock::Slow.serves(Api::Time, None));
        assert!(OwnClock::Coarse.serves(Api::Gettimeofday, None));
    }

    proptest! {
        #[test]
        fn parse_any_page_is_some_or_none(mut bytes: Vec<u8>, magic: bool) {
            if magic && bytes.len() >= 8 {
                bytes[..8].copy_from_slice(&MAGIC.to_le_bytes());
            }
            let _ = Settings::parse(&bytes).map(|settings| settings.ns(settings.least));
        }
    }
}
