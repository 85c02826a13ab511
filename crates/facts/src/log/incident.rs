//! The watchdog's figures, put together and turned into seconds.
//!
//! One demotion is several lines: the verdict, the two counters, the skew, the cross check. An
//! [`Incident`] holds them together; [`Incident::decode`] does the arithmetic that nobody does by
//! hand: cycles to seconds, wraps of a short reference counter, the rate that the two counters imply.

use super::event::{Event, Role};
use super::rates::{ACPI_PM_HZ, Rates, hertz};
use super::{Entry, KernelLog};
use serde::Serialize;

/// Nominal length of a watchdog interval in seconds (`WATCHDOG_INTERVAL`, `HZ >> 1`).
pub const INTERVAL_S: f64 = 0.5;
/// Lines behind the first line of an incident that can still belong to it.
const REACH: u64 = 24;

/// What made the watchdog act.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trigger {
    /// The two clocks disagreed about the length of an interval.
    Skew,
    /// Reading the reference took too long, too often.
    ReferenceSlow,
    /// Reading the clocksource itself took too long.
    ClocksourceSlow,
    /// 7.1+: counters read in order on several CPUs came back out of order.
    CpuOrder,
}

/// How far one counter went in an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Delta {
    /// Cycles, within the mask.
    pub cycles: u64,
    /// Counter mask.
    pub mask: u64,
    /// The same in nanoseconds by the kernel's own conversion (5.14+).
    pub nsec: Option<i64>,
}

/// One act of the watchdog.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Incident {
    /// The clocksource under test.
    pub clocksource: String,
    /// The reference, if a line names it.
    pub watchdog: Option<String>,
    /// What made the watchdog act.
    pub trigger: Trigger,
    /// The reference's interval.
    pub wd: Option<Delta>,
    /// The clocksource's interval.
    pub cs: Option<Delta>,
    /// Clocksource minus reference in nanoseconds, where a line states it.
    pub skew_ns: Option<i64>,
    /// Interval by the reference in nanoseconds, where a line states it.
    pub interval_ns: Option<i64>,
    /// A cross check between CPUs found some ahead of or behind others.
    pub cpus_differ: bool,
    /// Only the old one-line message was seen (no reference named, interval assumed).
    pub old_style: bool,
    /// Seconds since boot.
    pub at: Option<f64>,
    /// Indices of its lines in [`KernelLog::entries`].
    pub entries: Vec<usize>,
}

/// What the figures of an incident say.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reading {
    /// The rates differ: clocksource against reference, in parts per million of the interval.
    Skewed {
        /// Difference in parts per million.
        ppm: f64,
    },
    /// Both agree once the reference is taken to have wrapped so many times: nobody looked for that
    /// long (a stopped virtual CPU).
    ReferenceWrapped {
        /// Number of wraps.
        wraps: u32,
        /// Length of the interval in seconds.
        seconds: f64,
    },
    /// Both agree, and the interval was longer than half the reference's range: the kernel then takes
    /// the reference's interval for zero (`clocksource_delta()`, 4.5 and later) and blames the other.
    ReferenceOverran {
        /// Length of the interval in seconds.
        seconds: f64,
    },
    /// The clocksource jumped by so many seconds (negative: backwards).
    Jumped {
        /// Size of the jump in seconds.
        seconds: f64,
    },
    /// The clocksource did not move at all in the interval: one glitch, no drift.
    Stuck,
    /// The reference did not move.
    ReferenceStuck,
    /// The TSC frequency is not in the evidence, and the rate implied is one that processors have.
    PlausibleRate {
        /// Rate implied by the two counters, in Hz.
        hz: f64,
    },
    /// The figures are not there or cannot be converted.
    Unknown,
}

/// The figures of an incident in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Decoded {
    /// Interval by the reference, in seconds, without wraps.
    pub wd_seconds: Option<f64>,
    /// Interval by the clocksource, in seconds.
    pub cs_seconds: Option<f64>,
    /// What they say together.
    pub reading: Reading,
}

/// All acts of the watchdog in a log, in order.
#[must_use]
pub fn incidents(log: &KernelLog) -> Vec<Incident> {
    let mut all: Vec<Incident> = Vec::new();
    for (index, entry) in log.entries.iter().enumerate() {
        if let Some(mut new) = opens(entry) {
            // A skew line that follows its own verdict is a detail, not another incident.
            let detail = matches!(entry.event, Event::WatchdogSkewed { .. })
                && open(&mut all, log, entry)
                    .is_some_and(|i| i.clocksource == new.clocksource && i.skew_ns.is_none());
            if !detail {
                new.entries.push(index);
                all.push(new);
                continue;
            }
        }
        if let Some(incident) = open(&mut all, log, entry)
            && attach(incident, &entry.event)
        {
            incident.entries.push(index);
        }
    }
    all
}

/// The incident that a line can still belong to.
fn open<'a>(all: &'a mut [Incident], log: &KernelLog, entry: &Entry) -> Option<&'a mut Incident> {
    let last = all.last_mut()?;
    let first = log.entries.get(*last.entries.first()?)?;
    (entry.line.saturating_sub(first.line) <= REACH).then_some(last)
}

fn opens(entry: &Entry) -> Option<Incident> {
    let mut incident = Incident {
        clocksource: "tsc".to_owned(),
        watchdog: None,
        trigger: Trigger::Skew,
        wd: None,
        cs: None,
        skew_ns: None,
        interval_ns: None,
        cpus_differ: false,
        old_style: false,
        at: entry.at,
        entries: Vec::new(),
    };
    match &entry.event {
        Event::WatchdogMarked { name, .. } => incident.clocksource.clone_from(name),
        Event::WatchdogVerdict { name, inter_cpu } => {
            incident.clocksource.clone_from(name);
            if *inter_cpu {
                incident.trigger = Trigger::CpuOrder;
                incident.cpus_differ = true;
            }
        }
        Event::WatchdogOld { name, delta_ns } => {
            incident.clocksource.clone_from(name);
            incident.skew_ns = Some(*delta_ns);
            incident.old_style = true;
        }
        Event::WatchdogSkewed { name, skew_ns, watchdog, interval_ns } => {
            incident.clocksource.clone_from(name);
            incident.watchdog = Some(watchdog.clone());
            incident.skew_ns = Some(*skew_ns);
            incident.interval_ns = Some(*interval_ns);
        }
        Event::ReadbackDelay { name, marks: true, .. } => {
            if name.starts_with("tsc") {
                incident.trigger = Trigger::ClocksourceSlow;
            } else {
                incident.trigger = Trigger::ReferenceSlow;
                incident.watchdog = Some(name.clone());
            }
        }
        _ => return None,
    }
    Some(incident)
}

/// Adds a detail line; says whether the line belongs to the incident.
fn attach(incident: &mut Incident, event: &Event) -> bool {
    match event {
        Event::WatchdogDetail { role, name, nsec, now, last, mask } => {
            let delta = Delta { cycles: now.wrapping_sub(*last) & mask, mask: *mask, nsec: *nsec };
            match role {
                Role::Watchdog => {
                    incident.watchdog = Some(name.clone());
                    incident.wd = Some(delta);
                }
                Role::Clocksource => incident.cs = Some(delta),
            }
        }
        Event::WatchdogSkewed { skew_ns, watchdog, interval_ns, .. } => {
            incident.watchdog = Some(watchdog.clone());
            incident.skew_ns = Some(*skew_ns);
            incident.interval_ns = Some(*interval_ns);
        }
        Event::WatchdogInterval { role, name, ns } => {
            let nsec = i64::try_from(*ns).ok();
            let delta = Delta { cycles: 0, mask: 0, nsec };
            match role {
                Role::Watchdog => {
                    incident.watchdog = Some(name.clone());
                    incident.wd = Some(delta);
                }
                Role::Clocksource => incident.cs = Some(delta),
            }
        }
        Event::CrossCheckSkew { .. } | Event::WatchdogCpuOrder => incident.cpus_differ = true,
        Event::WatchdogCurrent(_) | Event::CrossCheck | Event::TscUnstable(_) => {}
        _ => return false,
    }
    true
}

impl Incident {
    /// Does the arithmetic.
    #[must_use]
    pub fn decode(&self, rates: &Rates) -> Decoded {
        let wd_name = self.watchdog.as_deref().unwrap_or("");
        let wd_hz = rates.hz(wd_name);
        let wd_seconds = self
            .wd
            .and_then(|delta| seconds(delta, wd_hz))
            .or_else(|| self.interval_ns.map(from_ns));
        let cs_seconds = self
            .cs
            .and_then(|delta| seconds(delta, rates.hz(&self.clocksource)))
            .or_else(|| Some(wd_seconds? + from_ns(self.skew_ns?)));
        let period =
            wd_hz.zip(self.wd).and_then(|(hz, wd)| wrap_period(wd.mask, hz)).or_else(|| {
                match wd_name {
                    "acpi_pm" => wrap_period(0xff_ffff, ACPI_PM_HZ),
                    "hpet" => wrap_period(0xffff_ffff, rates.hpet),
                    _ => None,
                }
            });
        let reading = self.reading(wd_seconds, cs_seconds, period, rates);
        Decoded { wd_seconds, cs_seconds, reading }
    }

    fn reading(
        &self,
        wd: Option<f64>,
        cs: Option<f64>,
        period: Option<f64>,
        rates: &Rates,
    ) -> Reading {
        if self.old_style {
            return self.skew_ns.map_or(Reading::Unknown, |ns| old_reading(from_ns(ns), rates));
        }
        let stuck = self.cs.is_some_and(|d| d.mask != 0 && d.cycles == 0)
            || self
                .skew_ns
                .zip(self.interval_ns)
                .is_some_and(|(skew, len)| len > 0 && skew == -len);
        if stuck {
            return Reading::Stuck;
        }
        if let Some(seconds) = self.overran(rates) {
            return Reading::ReferenceOverran { seconds };
        }
        match (wd, cs) {
            (Some(wd), Some(cs)) => compared(wd, cs, period),
            (Some(wd), None) => self.implied(wd, period),
            _ => Reading::Unknown,
        }
    }

    /// Length of the interval, if the reference went further than half its range and the two raw
    /// counters agree. `clocksource_delta()` in `kernel/time/timekeeping_internal.h` returns 0 when
    /// the top bit of the masked difference is set: with the 24-bit PM timer from 2.34 s on.
    fn overran(&self, rates: &Rates) -> Option<f64> {
        let (wd, cs) = (self.wd?, self.cs?);
        let hz = rates.hz(self.watchdog.as_deref()?)?;
        if wd.mask == 0 || wd.mask > u64::from(u32::MAX) || wd.cycles <= wd.mask >> 1 {
            return None;
        }
        let seconds = hertz(wd.cycles) / hz;
        let implied = hertz(cs.cycles) / seconds;
        let agrees = match rates.hz(&self.clocksource) {
            Some(hz) => (implied / hz - 1.0).abs() < 0.02,
            None => (0.6e9..=6.5e9).contains(&implied),
        };
        agrees.then_some(seconds)
    }

    /// Without the TSC's frequency: the rate that the two counters imply, with wraps of the
    /// reference if it takes them to be plausible.
    fn implied(&self, wd: f64, period: Option<f64>) -> Reading {
        let Some(cs) = self.cs.filter(|d| d.mask != 0) else { return Reading::Unknown };
        let cycles = cs.signed();
        if cycles < 0.0 {
            return Reading::Jumped { seconds: cycles / 3e9 };
        }
        if wd <= 0.0 && period.is_none() {
            return Reading::ReferenceStuck;
        }
        let plausible = |hz: f64| (0.6e9..=6.5e9).contains(&hz);
        let direct = cycles / wd;
        if plausible(direct) {
            return Reading::PlausibleRate { hz: direct };
        }
        if direct > 6.5e9 {
            let wraps = (1..=WRAPS_BELIEVED)
                .find(|n| period.is_some_and(|p| plausible(cycles / (wd + p * f64::from(*n)))));
            return match (wraps, period) {
                (Some(wraps), Some(period)) if period < 60.0 => {
                    Reading::ReferenceWrapped { wraps, seconds: wd + period * f64::from(wraps) }
                }
                // 3 GHz stands for "a rate that processors have": only the order matters here.
                _ => Reading::Jumped { seconds: cycles / 3e9 - wd },
            };
        }
        Reading::Skewed { ppm: (direct / 3e9 - 1.0) * 1e6 }
    }
}

/// More wraps than this of a short reference counter are not believed to be a stopped virtual CPU.
const WRAPS_BELIEVED: u32 = 6;

fn compared(wd: f64, cs: f64, period: Option<f64>) -> Reading {
    let difference = cs - wd;
    if wd <= 0.0 {
        return Reading::ReferenceStuck;
    }
    if let Some(period) = period {
        let wraps = (difference / period).round();
        let rest = (difference - wraps * period).abs();
        if wraps >= 1.0 && wraps <= f64::from(WRAPS_BELIEVED) && rest < 0.02 * cs.max(1.0) {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            return Reading::ReferenceWrapped { wraps: wraps as u32, seconds: cs };
        }
    }
    if cs < 0.0 || difference.abs() > 1.0 && difference.abs() > wd {
        return Reading::Jumped { seconds: difference };
    }
    Reading::Skewed { ppm: difference / wd * 1e6 }
}

/// The old one-line message: only the difference is known; the interval is the nominal one.
fn old_reading(difference: f64, rates: &Rates) -> Reading {
    for (mask, hz) in [(0xff_ffff_u64, ACPI_PM_HZ), (0xffff_ffff, rates.hpet)] {
        let Some(period) = wrap_period(mask, hz) else { continue };
        let wraps = (difference / period).round();
        if (1.0..=f64::from(WRAPS_BELIEVED)).contains(&wraps)
            && (difference - wraps * period).abs() < 0.02 * period
        {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            let wraps = wraps as u32;
            return Reading::ReferenceWrapped { wraps, seconds: difference + INTERVAL_S };
        }
    }
    if difference.abs() > 1.5 {
        Reading::Jumped { seconds: difference }
    } else {
        Reading::Skewed { ppm: difference / INTERVAL_S * 1e6 }
    }
}

fn seconds(delta: Delta, hz: Option<f64>) -> Option<f64> {
    delta.nsec.map(from_ns).or_else(|| {
        (delta.mask != 0).then_some(())?;
        Some(delta.signed() / hz?)
    })
}

impl Delta {
    /// The cycles as a number: a 64-bit counter that went back has wrapped into the upper half.
    fn signed(self) -> f64 {
        #[allow(clippy::cast_possible_wrap)]
        match self.mask {
            u64::MAX => from_ns(self.cycles as i64) * 1e9,
            _ => hertz(self.cycles),
        }
    }
}

#[allow(clippy::cast_precision_loss)]
fn from_ns(ns: i64) -> f64 {
    ns as f64 / 1e9
}

fn wrap_period(mask: u64, hz: f64) -> Option<f64> {
    (mask != 0 && mask < u64::from(u32::MAX) + 1).then(|| (hertz(mask) + 1.0) / hz)
}

#[cfg(test)]
mod tests {
    use super::super::rates::HPET_HZ;
    use super::*;

    fn decode(text: &str) -> (Incident, Decoded) {
        let log = KernelLog::scan(text.as_bytes(), "log").unwrap();
        let rates = Rates::of(&log);
        let incident = incidents(&log).into_iter().next().expect("an incident");
        let decoded = incident.decode(&rates);
        (incident, decoded)
    }

    #[test]
    fn a_wrapped_pm_timer_is_recognised_without_the_tsc_frequency() {
        let (incident, decoded) = decode(
            "[  384.2] clocksource: timekeeping watchdog: Marking clocksource 'tsc' as unstable, \
             because the skew is too large:\n\
             [  384.3] \t'acpi_pm' wd_now: 8d5199 wd_last: 60e92e mask: ffffff\n\
             [  384.4] \t'tsc' cs_now: 1981c973dc9 cs_last: 1940283c820 mask: ffffffffffffffff\n",
        );
        assert_eq!(incident.watchdog.as_deref(), Some("acpi_pm"));
        match decoded.reading {
            Reading::ReferenceWrapped { wraps: 1, seconds } => {
                assert!((seconds - 5.500).abs() < 0.001, "{seconds}");
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_jump_of_hours_is_a_jump() {
        let (_, decoded) = decode(
            "[1346249.931484] clocksource: timekeeping watchdog on CPU17: Marking clocksource 'tsc' \
             as unstable because the skew is too large:\n\
             [1346249.931486] clocksource: 'hpet' wd_now: 9c5d0440 wd_last: 9bf64291 mask: ffffffff\n\
             [1346249.931487] clocksource: 'tsc' cs_now: 103b19f57d0eb5 cs_last: fc461fd0ba3a6 mask: \
             ffffffffffffffff\n",
        );
        assert!(matches!(decoded.reading, Reading::Jumped { seconds } if seconds > 10_000.0));
    }

    #[test]
    fn old_deltas() {
        let rates = Rates { tsc: None, hpet: HPET_HZ };
        assert!(matches!(old_reading(4.6869, &rates), Reading::ReferenceWrapped { wraps: 1, .. }));
        assert!(
            matches!(old_reading(-0.1316, &rates), Reading::Skewed { ppm } if ppm < -200_000.0)
        );
        assert!(matches!(old_reading(-8.59, &rates), Reading::Jumped { .. }));
    }

    #[test]
    fn one_interval_of_nothing_is_a_glitch() {
        let (_, decoded) = decode(
            "Sep 11 07:03:06 kernel: clocksource: Clocksource 'tsc' skewed -485515617 ns (-485 ms) \
             over watchdog 'acpi_pm' interval of 485515617 ns (485 ms)\n\
             Sep 11 07:03:06 kernel: tsc: Marking TSC unstable due to clocksource watchdog\n",
        );
        assert_eq!(decoded.reading, Reading::Stuck);
    }
}
